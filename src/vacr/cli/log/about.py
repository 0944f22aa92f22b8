"""What there is to say about a log: its name, its identity, its keys."""

from __future__ import annotations

from typing import Any

from vacr.cli.options import Voice
from vacr.log import LogFolder, LogReader, read_log_descriptions
from vacr.signing import RECEIPT_KEYS_FILE, compute_thumbprint_uri
from vacr.transparency import build_verifier_key, compute_log_identity


def build_log_document(folder: LogFolder, reading: LogReader) -> dict[str, Any]:
    """Describe a log."""
    last = read_log_descriptions(reading)[-1]
    head = reading.head()
    return {
        "folder": str(folder.path),
        "origin": last.origin,
        "identity": compute_log_identity(reading.entries(0, 1)[0]),
        "receipt-key": compute_thumbprint_uri(last.receipt_key),
        "receipt-keys-file": str(folder.path / RECEIPT_KEYS_FILE),
        "checkpoint-key": str(build_verifier_key(last.origin, last.checkpoint_key)),
        "size": head.head.size if head is not None else 0,
    }


def print_log_summary(found: dict[str, Any], voice: Voice) -> None:
    """Say it to a person."""
    voice.result(f"  origin          {found['origin']}")
    voice.result(f"  identity        {found['identity']}")
    voice.result(f"  receipt key     {found['receipt-key']}")
    voice.result(
        f"                  give {found['receipt-keys-file']} to those who verify receipts"
    )
    voice.result(f"  checkpoint key  {found['checkpoint-key']}")
