"""What a verifier compares evidence with, as `vacr attest` writes it: reference values, and the
attestation key of a TPM.
"""

from __future__ import annotations

import time
from typing import Any

from vacr.cli.evidence import OutputTarget
from vacr.evidence import Component, Tpm, encode_reference_values, parse_attestation_key
from vacr.signing import Signer, compute_thumbprint_uri, encode_public_pem

_REFERENCE_FILE, _ATTESTATION_KEY_FILE = "reference.cbor", "ak.pub.pem"


def write_reference_values(
    measured: list[Component], signer: Signer | None, target: OutputTarget
) -> int:
    """Write what this installation measures as, signed where there is a signer."""
    data = encode_reference_values(
        measured, signer, int(time.time()) if signer is not None else None
    )
    names = [one.name if one.version is None else f"{one.name} {one.version}" for one in measured]
    told = (
        f"reference values of {', '.join(names)}, "
        f"{'signed' if signer is not None else 'not signed'}"
    )
    document = {
        "components": [build_component_document(one) for one in measured],
        "signed": signer is not None,
    }
    target.write(data, _REFERENCE_FILE, "", told, document)
    return 0


def write_attestation_key(tpm: Tpm, target: OutputTarget) -> int:
    """Write the public attestation key of a TPM."""
    key = parse_attestation_key(tpm.attestation_key())
    name = compute_thumbprint_uri(key.key)
    target.write(
        encode_public_pem(key.key),
        _ATTESTATION_KEY_FILE,
        "",
        name,
        {"thumbprint": name, "name": key.name.hex()},
    )
    return 0


def build_component_document(one: Component) -> dict[str, Any]:
    """Tell of something that was measured."""
    return {
        "name": one.name,
        "version": one.version,
        "sha-256": one.digest.hex(),
        "files": len(one.manifest or {}),
    }
