"""Reference values: the measurements that a release is expected to have.

They are a list of components in deterministic CBOR, signed by the maker of the release or not at
all; unsigned values are as trustworthy as the policy that names them. CoRIM has a data model for
whole platforms that could express the same.

    >>> from vacr.evidence.attester import Component
    >>> from vacr.evidence.reference_values import decode_reference_values, encode_reference_values
    >>> release = [Component("vacr", digest=bytes(32), version="1.0")]
    >>> decode_reference_values(encode_reference_values(release)) == release
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence.attester import (
    Component,
    compute_manifest_digest,
)
from vacr.evidence.cmw import INDICATOR_REFERENCE_VALUES, CmwRecord, decode_cmw, encode_cmw_cbor
from vacr.evidence.messages import check_evidence_schema
from vacr.evidence.tokens import (
    EVIDENCE_PROFILE,
    REFERENCE_VALUES_MEDIA_TYPE,
)
from vacr.record import decode_shortest_cbor, encode_deterministic_cbor
from vacr.signing import (
    ATTACHED,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    PublicKey,
    Signer,
    StatementClaims,
    parse_sign1,
    sign,
    verify_signature,
)

_MAX_REFERENCE_DEPTH, _MAX_REFERENCE_ITEMS = 8, 200_000


def encode_reference_values(
    components: Sequence[Component], signer: Signer | None = None, issued_at: int | None = None
) -> bytes:
    """Encode reference values in their wrapper, signed if there is a signer."""
    values = {
        "profile": EVIDENCE_PROFILE,
        "components": [_build_reference_value(component) for component in components],
    }
    payload = encode_deterministic_cbor(values)
    if signer is not None:
        payload = sign(
            payload,
            signer,
            profile=ATTACHED,
            content_type=REFERENCE_VALUES_MEDIA_TYPE,
            claims=StatementClaims(subject=EVIDENCE_PROFILE, issued_at=issued_at),
        )
    return encode_cmw_cbor(
        CmwRecord(REFERENCE_VALUES_MEDIA_TYPE, payload, INDICATOR_REFERENCE_VALUES)
    )


def _build_reference_value(component: Component) -> dict[str, Any]:
    value: dict[str, Any] = {"name": component.name, "digest": component.digest}
    if component.version is not None:
        value["version"] = component.version
    if component.manifest is not None:
        value["manifest"] = component.manifest
    return value


def decode_reference_values(data: bytes, trusted: Sequence[PublicKey] = ()) -> list[Component]:
    """Decode reference values; if there are trusted keys, one of them must have signed.

    Raises:
        InvalidStatement: the values are malformed, or no trusted key signed them.
    """
    wrapped = decode_cmw(data)
    if not isinstance(wrapped, CmwRecord) or wrapped.media_type != REFERENCE_VALUES_MEDIA_TYPE:
        raise InvalidStatement("the file holds no reference values", reason="reference-malformed")
    payload = _extract_reference_payload(wrapped.value, trusted)
    try:
        value = decode_shortest_cbor(
            payload, max_depth=_MAX_REFERENCE_DEPTH, most=_MAX_REFERENCE_ITEMS
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"reference values that are not CBOR: {error}", reason="reference-malformed"
        ) from error
    check_evidence_schema(value, "reference-values", "reference values")
    return [_parse_reference_component(component) for component in value["components"]]


def _extract_reference_payload(value: bytes, trusted: Sequence[PublicKey]) -> bytes:
    """Return the payload of signed values, or unsigned values as they are."""
    try:
        message = parse_sign1(value)
    except InvalidStatement as error:
        if trusted:
            raise InvalidStatement(
                "the reference values are not signed", reason="reference-unsigned"
            ) from error
        return value
    if (
        message.protected.get(HEADER_CONTENT_TYPE) != REFERENCE_VALUES_MEDIA_TYPE
        or not message.payload
    ):
        raise InvalidStatement(
            "a signed message that holds no reference values", reason="reference-malformed"
        )
    if trusted and not any(_is_signed_by(message, key) for key in trusted):
        raise InvalidStatement(
            "nobody who is trusted signed the reference values", reason="reference-untrusted"
        )
    return message.payload


def _is_signed_by(message: Any, key: PublicKey) -> bool:
    try:
        verify_signature(
            message.protected.get(HEADER_ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload),
        )
    except InvalidStatement:
        return False
    return True


def _parse_reference_component(value: dict[str, Any]) -> Component:
    manifest = value.get("manifest")
    if manifest is not None and compute_manifest_digest(manifest) != value["digest"]:
        raise InvalidStatement(
            f"the files of {value['name']} are not those of its digest",
            reason="reference-malformed",
        )
    return Component(value["name"], value["digest"], value.get("version"), manifest)
