"""Evidence against a log: the two checkpoints that cannot both be true, kept in a file."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

from vacr.log import durable
from vacr.sources.files import read_bytes

_MOST = 100
"""So many are kept at most: who can sign checkpoints could fill a disk with them."""


def keep(beside: Path, document: dict[str, str | None]) -> Path:
    """Keep a document beside a file, as `FILE.evidence-1` and so on; what is kept already is not
    kept again.

    Raises:
        UnreadableInput: it cannot be written.
    """
    data = json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    for number in count(1):
        path = beside.with_name(f"{beside.name}.evidence-{number}")
        if not path.exists():
            durable.write(path, data)
            break
        if number == _MOST or read_bytes(path) == data:
            break
    return path
