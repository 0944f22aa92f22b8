"""What there is to say about a log: its name, its identity, its keys."""

from __future__ import annotations

from typing import Any

from vacr.cli.options import Voice
from vacr.log.folder import Folder
from vacr.log.keyring import descriptions
from vacr.log.storage import Reading
from vacr.receipts.description import identity_of
from vacr.receipts.notes import key_of
from vacr.signing import keys
from vacr.sources.key_files import RECEIPT_KEYS


def about(folder: Folder, reading: Reading) -> dict[str, Any]:
    """Describe a log."""
    last = descriptions(reading)[-1]
    head = reading.head()
    return {
        "folder": str(folder.path),
        "origin": last.origin,
        "identity": identity_of(reading.entries(0, 1)[0]),
        "receipt-key": keys.thumbprint_uri(last.receipt_key),
        "receipt-keys-file": str(folder.path / RECEIPT_KEYS),
        "checkpoint-key": str(key_of(last.origin, last.checkpoint_key)),
        "size": head.head.size if head is not None else 0,
    }


def tell(found: dict[str, Any], voice: Voice) -> None:
    """Say it to a person."""
    voice.result(f"  origin          {found['origin']}")
    voice.result(f"  identity        {found['identity']}")
    voice.result(f"  receipt key     {found['receipt-key']}")
    voice.result(
        f"                  give {found['receipt-keys-file']} to those who verify receipts"
    )
    voice.result(f"  checkpoint key  {found['checkpoint-key']}")
