"""Keys of this machine, for whoever names none: one signs records and evidence, one signs what this
machine makes of evidence.
"""

from __future__ import annotations

from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.log import durable
from vacr.recording.files import sync_path
from vacr.signing import keys
from vacr.sources.files import read_bytes, reason_of

SIGNING = "signing"
VERIFIER = "verifier"
"""What somebody says of evidence is not to be signed by the key that the evidence is signed by."""
_OWNER_ONLY = 0o700
_OWNER_READS = 0o600


def machine_key(state: Path, name: str = SIGNING) -> str:
    """Give the file of a key of this machine's own, which is made the first time.

    Raises:
        UnreadableInput: it cannot be made, or is gone, and its public half is not.
    """
    private, public = state / "keys" / f"{name}.pem", state / "keys" / f"{name}.pub.pem"
    if public.exists() and not private.exists():
        hint = (
            f"Name another with --key. To have a new one made, move {public} away; what it "
            "signed is verified by it."
        )
        raise UnreadableInput("the key of this machine is gone", where=str(private), hint=hint)
    try:
        if not private.exists():
            private.parent.mkdir(_OWNER_ONLY, parents=True, exist_ok=True)
            durable.write(private, keys.private_pem(keys.generate("es256")), _OWNER_READS)
        if not public.exists():
            # It comes last: where it is, the disk has the other.
            sync_path(private.parent)
            durable.write(
                public, keys.public_pem(keys.load_private(read_bytes(private)).public_key())
            )
        # Whoever wrote them may have been killed before the disk had their names.
        sync_path(private.parent)
    except OSError as error:
        raise UnreadableInput(reason_of(error), where=str(private.parent)) from error
    return str(private)
