"""What a verifier compares evidence with, as `vacr attest` writes it: reference values, and the
attestation key of a TPM.
"""

from __future__ import annotations

import time
from typing import Any

from vacr.cli.evidence import Target
from vacr.evidence import reference
from vacr.evidence.components import Component
from vacr.evidence.tpm_structures import read_attestation_key
from vacr.signing import Signer, keys
from vacr.sources.tpm import Tpm

_REFERENCE, _ATTESTATION_KEY = "reference.cbor", "ak.pub.pem"


def write_reference(measured: list[Component], signer: Signer | None, target: Target) -> int:
    """Write what this installation measures as, signed where there is a signer."""
    data = reference.encode(measured, signer, int(time.time()) if signer is not None else None)
    names = [one.name if one.version is None else f"{one.name} {one.version}" for one in measured]
    told = (
        f"reference values of {', '.join(names)}, "
        f"{'signed' if signer is not None else 'not signed'}"
    )
    document = {"components": [component(one) for one in measured], "signed": signer is not None}
    target.write(data, _REFERENCE, "", told, document)
    return 0


def write_attestation_key(tpm: Tpm, target: Target) -> int:
    """Write the public attestation key of a TPM."""
    key = read_attestation_key(tpm.attestation_key())
    name = keys.thumbprint_uri(key.key)
    target.write(
        keys.public_pem(key.key),
        _ATTESTATION_KEY,
        "",
        name,
        {"thumbprint": name, "name": key.name.hex()},
    )
    return 0


def component(one: Component) -> dict[str, Any]:
    """Tell of something that was measured."""
    return {
        "name": one.name,
        "version": one.version,
        "sha-256": one.digest.hex(),
        "files": len(one.manifest or {}),
    }
