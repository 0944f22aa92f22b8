"""Whether a log has gone back behind what others have seen of it. Step: register.

Who restores an older copy of the database and goes on makes another log of it: its new entries are
where others have receipts for entries that are lost. So what was last published is kept beside the
database, and compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vacr.errors import VacrError
from vacr.log.storage import Damaged, Reading
from vacr.receipts import checkpoint, notes
from vacr.receipts.description import Description
from vacr.sources.files import read_bytes

_RESTORE = (
    "Put the newest copy of the database here. If there is none, what came after it is lost: "
    "keep this log for those who have "
    "receipts of it, and make a new one with vacr log init."
)


def check_published(reading: Reading, said: Sequence[Description], path: Path) -> None:
    """Compare the checkpoint that was last published, if there is one, with the log.

    Raises:
        Damaged: the log is not what was published, or not all of it.
    """
    if not path.exists():
        return
    signers = [notes.key_of(one.origin, one.checkpoint_key) for one in said]
    try:
        published = checkpoint.open_checkpoint(read_bytes(path), *signers)
    except VacrError as error:
        told = (
            "what was published last is not by a key that the log names, so that the "
            f"database may be older: {error.message}"
        )
        raise Damaged(told, where=str(path), hint=_RESTORE) from error
    head = reading.head()
    size = head.head.size if head is not None else 0
    if published.size > size:
        told = (
            f"{published.size} entries were published, and the log has {size}: the database "
            "is older than what others have seen"
        )
        raise Damaged(told, where=str(path), hint=_RESTORE)
    signed = reading.head_until(published.size)
    if signed is None or (signed.head.size, signed.head.root) != (published.size, published.root):
        raise Damaged(
            "another root was published than the log has signed: this is another log",
            where=str(path),
            hint=_RESTORE,
        )
