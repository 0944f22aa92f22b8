"""What was measured: components, each with a digest. Step: attest, appraise. Follows RFC 10013.

A component of many files is measured by its manifest, which has the SHA-256 of each file by its
path. The digest of the component is that of the manifest in deterministic CBOR; the manifest goes
along, so that a file that differs can be named.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from vacr.codec import deterministic_cbor
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence import labels

PACKAGE, PYTHON, AGENT, CONFIGURATION = "vacr", "python", "agent:", "configuration:"
"""The names of components; those of agents and of configuration go on with their own."""

_ID, _DIGEST = 1, 2
_DEPTH, _MOST = 6, 64

Manifest = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Component:
    """One thing that was measured."""

    name: str
    digest: bytes
    version: str | None = None
    manifest: Manifest | None = None

    def encode(self) -> bytes:
        """Write it as a measured component."""
        named: list[Any] = [self.name] if self.version is None else [self.name, [self.version]]
        return deterministic_cbor.encode({_ID: named, _DIGEST: [labels.SHA256, self.digest]})


def of_files(name: str, version: str | None, manifest: Manifest) -> Component:
    """Make the component that files are."""
    return Component(name, manifest_digest(manifest), version, manifest)


def manifest_digest(manifest: Manifest) -> bytes:
    """Give the digest of files by their manifest."""
    return hashlib.sha256(deterministic_cbor.encode(manifest)).digest()


def decode(data: bytes, manifests: dict[str, Manifest]) -> Component:
    """Read a measured component, with the manifest that goes along.

    Raises:
        InvalidStatement: it is none, or its manifest is that of something else.
    """
    try:
        value = deterministic_cbor.decode_shortest(data, max_depth=_DEPTH, most=_MOST)
        (name, *versions), (algorithm, digest) = value[_ID], value[_DIGEST]
        version = versions[0][0] if versions else None
    except (UnreadableInput, LookupError, TypeError, ValueError) as error:
        raise InvalidStatement(
            "a measured component that cannot be read", reason="evidence-malformed"
        ) from error
    if algorithm != labels.SHA256:
        raise InvalidStatement(
            f"{name} is measured by another hash than SHA-256", reason="evidence-malformed"
        )
    manifest = manifests.get(name)
    if manifest is not None and manifest_digest(manifest) != digest:
        raise InvalidStatement(
            f"the files listed of {name} are not those of its digest", reason="manifest-mismatch"
        )
    return Component(name, digest, version, manifest)


def differences(found: Manifest, expected: Manifest) -> list[str]:
    """Say which files differ, are missing, or are there and not expected."""
    said = []
    for path in sorted(found.keys() | expected.keys()):
        if path not in found:
            said.append(f"{path} is missing")
        elif path not in expected:
            said.append(f"{path} is not expected")
        elif found[path] != expected[path]:
            said.append(f"{path} differs")
    return said
