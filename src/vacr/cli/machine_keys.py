"""Keys of this machine, for whoever names none: one signs records and evidence, one signs what this
machine makes of evidence.
"""

from __future__ import annotations

from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.files import describe_file_error, read_bytes, sync_folder_and_parents, write_durable_file
from vacr.signing import encode_private_pem, encode_public_pem, generate_key, parse_private_key

SIGNING_KEY_NAME = "signing"
VERIFIER_KEY_NAME = "verifier"
"""What somebody says of evidence is not to be signed by the key that the evidence is signed by."""
_OWNER_ONLY_FOLDER = 0o700
_OWNER_ONLY_FILE = 0o600


def ensure_machine_key(state: Path, name: str = SIGNING_KEY_NAME) -> str:
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
            private.parent.mkdir(_OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
            write_durable_file(private, encode_private_pem(generate_key("es256")), _OWNER_ONLY_FILE)
        if not public.exists():
            # It comes last: where it is, the disk has the other.
            sync_folder_and_parents(private.parent)
            write_durable_file(
                public, encode_public_pem(parse_private_key(read_bytes(private)).public_key())
            )
        # Whoever wrote them may have been killed before the disk had their names.
        sync_folder_and_parents(private.parent)
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(private.parent)) from error
    return str(private)
