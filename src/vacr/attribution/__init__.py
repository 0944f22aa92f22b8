"""Which lines an agent wrote, provably. Step: attribute. Follows the draft on file attribution, and section 12 of its schema.

A pure function of a record, of the other records that touched the same files, and of a base: anybody can redo it and compare. `ALGORITHM` and
`VERSION` name it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.attribution.base import Base, root_of
from vacr.attribution.replay import Change, Replay
from vacr.attribution.result import file_attribution

__all__ = ["Base", "attributed", "history"]


def replayed(records: Sequence[dict[str, Any]], base: Base | None = None) -> Replay:
    """Replay records, together, in the order of their entries' times."""
    replay = Replay()
    for record in records:
        replay.run(record)
    return replay


def history(replay: Replay) -> Iterator[dict[str, Any]]:
    """Give what each applied call made, as `vacr attribute --history` prints it."""
    for change in replay.history:
        yield {
            "call-id": change.call.call_id,
            "path": change.path,
            "ranges": [list(pair) for pair in change.ranges],
            "evidence": change.evidence,
            "model-id": change.call.model,
        }
