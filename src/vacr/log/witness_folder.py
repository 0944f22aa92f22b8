"""The folder of a witness: its key, which never leaves it, its name, and what it has seen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import UnreadableInput, UsageError
from vacr.log import durable
from vacr.log.witness_store import WitnessStore
from vacr.receipts import notes
from vacr.receipts.notes import COSIGNATURE, VerifierKey
from vacr.signing import keys
from vacr.sources.files import read_bytes
from vacr.sources.key_files import refuse_shared

_OWNER_ONLY = 0o600
_MOST = 1 << 16


@dataclass(frozen=True)
class WitnessFolder:
    """What a witness is made of."""

    path: Path
    key: ed25519.Ed25519PrivateKey
    public: VerifierKey
    store: WitnessStore


def open_folder(path: Path, name: str | None = None) -> WitnessFolder:
    """Open the folder of a witness; the first time, make it and a key.

    Raises:
        UsageError: others can read the key, or the witness has another name.
        UnreadableInput: something in it is missing or cannot be read.
    """
    private, public, database = path / "witness.pem", path / "witness.vkey", path / "witness.db"
    if name is not None:
        notes.check_name(name)
    if (path / "log.json").exists():
        hint = "Give the witness a folder of its own; better, a machine of its own."
        raise UsageError(f"there is a log at {path}", hint=hint)
    if private.exists() and not database.exists():
        hint = (
            "What it cosigned is lost, so it could cosign another past. Make a new witness, "
            "with another key, in another folder."
        )
        raise UnreadableInput(
            "there is the key of a witness, but not what it has seen", where=str(path), hint=hint
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableInput(f"cannot be written: {error.strerror}", where=str(path)) from error
    # What it has seen is there before the key is: nothing was cosigned if only the first of them
    # came to be.
    store = WitnessStore(database)
    try:
        key = _key(private)
        return WitnessFolder(path, key, _public(public, key, name), store)
    except BaseException:
        store.close()
        raise


def _key(path: Path) -> ed25519.Ed25519PrivateKey:
    if not path.exists():
        durable.write(path, keys.private_pem(ed25519.Ed25519PrivateKey.generate()), _OWNER_ONLY)
    refuse_shared(os.fspath(path))
    key = keys.load_private(read_bytes(path, _MOST))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UnreadableInput("not an Ed25519 key", where=str(path))
    return key


def _public(path: Path, key: ed25519.Ed25519PrivateKey, name: str | None) -> VerifierKey:
    """Give the name and the key as others know them, which never change."""
    if not path.exists():
        called = name or f"witness-{keys.thumbprint(key.public_key()).hex()[:16]}"
        durable.write(path, f"{notes.key_of(called, key.public_key(), COSIGNATURE)}\n".encode())
    text = read_bytes(path, _MOST).decode("utf-8", "replace").removesuffix("\n")
    try:
        found = notes.read_key(text)
    except UsageError as error:
        raise UnreadableInput(error.message, where=str(path)) from error
    if found != notes.key_of(found.name, key.public_key(), COSIGNATURE):
        raise UnreadableInput("not of the key that is beside it", where=str(path))
    if name not in (None, found.name):
        raise UsageError(
            f"the witness in {path.parent} is named {found.name}",
            hint="Its name is part of its key and stays.",
        )
    return found
