"""Reference values: what a release measures as. Step: appraise.

They are a map of components in deterministic CBOR, signed by whoever made the release or not at
all; then it is the policy that vouches for them. CoRIM would say the same with a data model for
whole platforms; what is here can be moved into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence import cmw, labels, structure
from vacr.evidence.components import Component, manifest_digest
from vacr.signing import ATTACHED, Claims, sign
from vacr.signing import labels as cose
from vacr.signing.algorithms import PublicKey, verify
from vacr.signing.sign1 import parse
from vacr.signing.signers import Signer

_DEPTH, _MOST = 8, 200_000


def encode(
    components: Sequence[Component], signer: Signer | None = None, issued_at: int | None = None
) -> bytes:
    """Write reference values in their wrapper, signed where there is a signer."""
    said = {"profile": labels.PROFILE, "components": [_written(one) for one in components]}
    payload = deterministic_cbor.encode(said)
    if signer is not None:
        claims = Claims(subject=labels.PROFILE, issued_at=issued_at)
        payload = sign(
            payload, signer, profile=ATTACHED, content_type=labels.REFERENCE_VALUES, claims=claims
        )
    return cmw.encode_cbor(cmw.Record(labels.REFERENCE_VALUES, payload, cmw.REFERENCE_VALUES))


def _written(one: Component) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "digest": one.digest}
    if one.version is not None:
        said["version"] = one.version
    if one.manifest is not None:
        said["manifest"] = one.manifest
    return said


def decode(data: bytes, trusted: Sequence[PublicKey] = ()) -> list[Component]:
    """Read reference values; with keys, one of them has to have signed.

    Raises:
        InvalidStatement: they are none, or nobody who is trusted signed them.
    """
    wrapped = cmw.decode(data)
    if not isinstance(wrapped, cmw.Record) or wrapped.media_type != labels.REFERENCE_VALUES:
        raise InvalidStatement("the file holds no reference values", reason="reference-malformed")
    payload = _payload(wrapped.value, trusted)
    try:
        value = deterministic_cbor.decode_shortest(payload, max_depth=_DEPTH, most=_MOST)
    except UnreadableInput as error:
        raise InvalidStatement(
            f"reference values that are not CBOR: {error}", reason="reference-malformed"
        ) from error
    structure.check(value, "reference-values", "reference values")
    return [_component(one) for one in value["components"]]


def _payload(value: bytes, trusted: Sequence[PublicKey]) -> bytes:
    try:
        message = parse(value)
    except InvalidStatement as error:
        if trusted:
            raise InvalidStatement(
                "the reference values are not signed", reason="reference-unsigned"
            ) from error
        return value
    if message.protected.get(cose.CONTENT_TYPE) != labels.REFERENCE_VALUES or not message.payload:
        raise InvalidStatement(
            "a signed message that holds no reference values", reason="reference-malformed"
        )
    if trusted and not any(_signed(message, key) for key in trusted):
        raise InvalidStatement(
            "nobody who is trusted signed the reference values", reason="reference-untrusted"
        )
    return message.payload


def _signed(message: Any, key: PublicKey) -> bool:
    try:
        verify(
            message.protected.get(cose.ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload),
        )
    except InvalidStatement:
        return False
    return True


def _component(said: dict[str, Any]) -> Component:
    manifest = said.get("manifest")
    if manifest is not None and manifest_digest(manifest) != said["digest"]:
        raise InvalidStatement(
            f"the files of {said['name']} are not those of its digest", reason="reference-malformed"
        )
    return Component(said["name"], said["digest"], said.get("version"), manifest)
