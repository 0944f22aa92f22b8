"""Measurements of the recorder: its components, and the reference values to compare them with.

A component is vacr, Python, a configuration file or the agent's executable, with its SHA-256. A
component of many files has a manifest, with the SHA-256 of each file by path; its digest is the
digest of the manifest in deterministic CBOR. Evidence contains the manifest, so that a verifier can
name the files that differ.

Reference values are the measurements that a release is expected to have: a list of components in
deterministic CBOR, signed by the maker of the release or not at all. Unsigned values are as
trustworthy as the policy that names them.

    >>> from vacr.evidence.measurements import *
    >>> vacr = build_file_component("vacr", "1.0", {"__init__.py": bytes(32)})
    >>> decode_reference_values(encode_reference_values([vacr])) == [vacr]
    True
    >>> describe_manifest_differences(vacr.manifest, {})
    ['__init__.py is not expected']

The measured program reads these files itself. That shows which files are installed; only a
measurement from below could show that the running program was not changed. CoRIM has a data model
for whole platforms that could express the same reference values.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence.messages import (
    INDICATOR_REFERENCE_VALUES,
    CmwRecord,
    check_evidence_schema,
    decode_cmw,
    encode_cmw_cbor,
)
from vacr.evidence.tokens import (
    EVIDENCE_PROFILE,
    NAMED_INFO_SHA256,
    REFERENCE_VALUES_MEDIA_TYPE,
)
from vacr.files import describe_file_error
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
from vacr.version import __version__

PACKAGE_COMPONENT, PYTHON_COMPONENT, AGENT_COMPONENT_PREFIX, CONFIGURATION_COMPONENT_PREFIX = (
    "vacr",
    "python",
    "agent:",
    "configuration:",
)
"""The names of components; for agents and configuration, a name of their own follows."""

_COMPONENT_ID, _COMPONENT_DIGEST = 1, 2
_MAX_COMPONENT_DEPTH, _MAX_COMPONENT_ITEMS = 6, 64

Manifest = dict[str, bytes]
"""The SHA-256 of each file, by its path."""
_MAX_REFERENCE_DEPTH, _MAX_REFERENCE_ITEMS = 8, 200_000
_PACKAGE_FOLDER = Path(__file__).parent.parent
_BYTECODE_FOLDER = "__pycache__"


@dataclass(frozen=True, slots=True)
class Component:
    """A measured component of the recorder, or its reference value."""

    name: str
    digest: bytes
    """The SHA-256 of its file, or of its manifest."""
    version: str | None = None
    manifest: Manifest | None = None
    """Its files; None for a component of one file."""

    def encode(self) -> bytes:
        """Encode the name, the version and the digest in CBOR (RFC 10013), without the manifest."""
        versions = [] if self.version is None else [[self.version]]
        return encode_deterministic_cbor(
            {
                _COMPONENT_ID: [self.name, *versions],
                _COMPONENT_DIGEST: [NAMED_INFO_SHA256, self.digest],
            }
        )


def build_file_component(name: str, version: str | None, manifest: Manifest) -> Component:
    """Return the component of several files; its digest is the digest of the manifest."""
    return Component(name, compute_manifest_digest(manifest), version, manifest)


def compute_manifest_digest(manifest: Manifest) -> bytes:
    """Return the SHA-256 of a manifest in deterministic CBOR."""
    return hashlib.sha256(encode_deterministic_cbor(manifest)).digest()


def decode_component(data: bytes, manifests: dict[str, Manifest]) -> Component:
    """Decode a measured component, and add its manifest.

    `manifests` has the manifests by component name. A component that is not in it has none.

    Raises:
        InvalidStatement: the component is malformed, or its manifest does not match its digest.
    """
    try:
        value = decode_shortest_cbor(
            data, max_depth=_MAX_COMPONENT_DEPTH, max_items=_MAX_COMPONENT_ITEMS
        )
        (name, *versions), (algorithm, digest) = value[_COMPONENT_ID], value[_COMPONENT_DIGEST]
        version = versions[0][0] if versions else None
    except (UnreadableInput, LookupError, TypeError, ValueError) as error:
        raise InvalidStatement(
            "the evidence contains a malformed measurement", reason="evidence-malformed"
        ) from error
    if algorithm != NAMED_INFO_SHA256:
        raise InvalidStatement(
            f"the evidence does not measure component {name} with SHA-256",
            reason="evidence-malformed",
        )
    manifest = manifests.get(name)
    if manifest is not None and compute_manifest_digest(manifest) != digest:
        raise InvalidStatement(
            f"evidence: the file list of component {name} does not match its digest",
            reason="manifest-mismatch",
        )
    return Component(name, digest, version, manifest)


def describe_manifest_differences(measured: Manifest, expected: Manifest) -> list[str]:
    """Return a text for each file that differs, is missing, or is not expected, sorted by path.

    For example, `["a.py differs", "b.py is missing"]`; empty if the manifests are the same.
    """
    differences = []
    for path in sorted(measured.keys() | expected.keys()):
        if path not in measured:
            differences.append(f"{path} is missing")
        elif path not in expected:
            differences.append(f"{path} is not expected")
        elif measured[path] != expected[path]:
            differences.append(f"{path} differs")
    return differences


def measure_recording_agent() -> list[Component]:
    """Return the measured components of this recorder: the package vacr, and its Python.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    return [measure_package(_PACKAGE_FOLDER), measure_python()]


def measure_package(folder: Path) -> Component:
    """Return the component `vacr` with a manifest of all files in a folder, except compiled ones.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    manifest: Manifest = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _BYTECODE_FOLDER not in path.parts:
            manifest[path.relative_to(folder).as_posix()] = hash_file(path)
    return build_file_component(PACKAGE_COMPONENT, __version__, manifest)


def measure_python() -> Component:
    """Return the component `python`, with the digest of the running Python executable.

    Raises:
        UnreadableInput: the executable cannot be read.
    """
    # Imported here, because verification loads this module and measures nothing.
    import platform

    return Component(
        PYTHON_COMPONENT,
        hash_file(Path(os.path.realpath(sys.executable))),
        platform.python_version(),
    )


def measure_configuration(name: str) -> Component:
    """Return the component of a configuration file, such as `configuration:hooks.json`.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    return Component(f"{CONFIGURATION_COMPONENT_PREFIX}{Path(name).name}", hash_file(Path(name)))


def measure_agent(name: str, version: str | None, executable: str) -> Component:
    """Return the component `agent:NAME`, with the digest of the agent's executable.

    `executable` is a path, or a name that is looked up in PATH.

    Raises:
        UsageError: the executable does not exist.
        UnreadableInput: it cannot be read.
    """
    path = shutil.which(executable)
    if path is None:
        raise UsageError(
            f"executable not found: {executable}", hint="Name the path of the agent's executable."
        )
    return Component(
        f"{AGENT_COMPONENT_PREFIX}{name}", hash_file(Path(os.path.realpath(path))), version
    )


def hash_file(path: Path) -> bytes:
    """Return the SHA-256 of a file.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError) as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def encode_reference_values(
    components: Sequence[Component], signer: Signer | None = None, issued_at: int | None = None
) -> bytes:
    """Return components as reference values in a CMW wrapper, signed if there is a signer.

    `issued_at` is the time of signing in seconds since 1970.
    """
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
    """Return a component as a map for CBOR; a missing version or manifest is left out."""
    value: dict[str, Any] = {"name": component.name, "digest": component.digest}
    if component.version is not None:
        value["version"] = component.version
    if component.manifest is not None:
        value["manifest"] = component.manifest
    return value


def decode_reference_values(data: bytes, trusted: Sequence[PublicKey] = ()) -> list[Component]:
    """Return the components in a file of reference values.

    Without trusted keys, unsigned values are accepted, and signatures are not verified.

    Raises:
        InvalidStatement: the values are malformed, or no trusted key signed them.
    """
    wrapped = decode_cmw(data)
    if not isinstance(wrapped, CmwRecord) or wrapped.media_type != REFERENCE_VALUES_MEDIA_TYPE:
        raise InvalidStatement(
            "the file contains no reference values", reason="reference-malformed"
        )
    payload = _extract_reference_payload(wrapped.value, trusted)
    try:
        value = decode_shortest_cbor(
            payload, max_depth=_MAX_REFERENCE_DEPTH, max_items=_MAX_REFERENCE_ITEMS
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"the reference values are not valid CBOR: {error}", reason="reference-malformed"
        ) from error
    check_evidence_schema(value, "reference-values", "reference values")
    return [_parse_reference_component(component) for component in value["components"]]


def _extract_reference_payload(value: bytes, trusted: Sequence[PublicKey]) -> bytes:
    """Return the payload of signed values, or unsigned values unchanged.

    Raises:
        InvalidStatement: there are trusted keys, but none of them signed the values.
    """
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
            "the signed message contains no reference values", reason="reference-malformed"
        )
    if trusted and not any(_is_signed_by(message, key) for key in trusted):
        raise InvalidStatement(
            "the reference values are not signed by a trusted key", reason="reference-untrusted"
        )
    return message.payload


def _is_signed_by(message: Any, key: PublicKey) -> bool:
    """Return whether a key signed a parsed COSE_Sign1 message."""
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
    """Return one reference value as a component; its manifest must match its digest.

    Raises:
        InvalidStatement: the manifest does not match.
    """
    manifest = value.get("manifest")
    if manifest is not None and compute_manifest_digest(manifest) != value["digest"]:
        raise InvalidStatement(
            f"reference values: the file list of component {value['name']} does not match its "
            "digest",
            reason="reference-malformed",
        )
    return Component(value["name"], value["digest"], value.get("version"), manifest)
