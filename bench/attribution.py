"""How long attribution takes, as a ratio to reading the session."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

from sessions import CORPUS, compare

import vacr
from vacr.attribution.attribute import attribute_records

_LINES, _EDITS = 10_000, 1_000


def attribution() -> None:
    """Compare attributing sessions with reading them: many edits of one large file, more and more
    of them, and real sessions.
    """
    for count in (_EDITS // 4, _EDITS // 2, _EDITS):
        read, work = _times(_many_edits(count))
        print(
            f"attribute            {work / read:.2f} x reading it: {count} edits of a file of "
            f"{_LINES} lines (at most 10)"
        )
    real = (
        sorted((CORPUS / "claude").glob("*"), key=lambda path: path.stat().st_size)[-5:]
        if CORPUS.is_dir()
        else []
    )
    times = [_times(path.read_bytes()) for path in real]
    if times:
        ratio = sum(work for _, work in times) / sum(read for read, _ in times)
        print(f"attribute            {ratio:.2f} x reading them: the five largest real sessions")


def _times(data: bytes) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        records: Any = list(vacr.read(path))
        return compare(lambda: list(vacr.read(path)), lambda: attribute_records(records), 3)


def _many_edits(count: int) -> bytes:
    chance = random.Random(1)  # noqa: S311 - the same session every time
    lines = [
        f"line number {number} of the file with some words in it\n" for number in range(_LINES)
    ]
    told: list[dict[str, Any]] = []
    text = "".join(lines)
    file = {
        "filePath": "/w/f.txt",
        "content": text,
        "startLine": 1,
        "numLines": _LINES + 1,
        "totalLines": _LINES + 1,
    }
    told += _call(0, "Read", {"file_path": "/w/f.txt"}, {"type": "text", "file": file})
    for number in range(1, count + 1):
        at = chance.randrange(len(lines))
        new = [
            f"edit {number} line {i} written by the agent\n" for i in range(chance.randint(1, 4))
        ]
        arguments = {"file_path": "/w/f.txt", "old_string": lines[at], "new_string": "".join(new)}
        lines[at : at + 1] = new
        told += _call(number, "Edit", arguments, {"filePath": "/w/f.txt"})
    return b"".join(json.dumps(line).encode() + b"\n" for line in told)


def _call(number: int, name: str, arguments: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    common = {
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sessionId": "s",
        "cwd": "/w",
        "version": "2.1.0",
    }
    asked = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
    return [
        {
            **common,
            "type": "assistant",
            "uuid": f"a{number}",
            "message": {"role": "assistant", "model": "m", "content": [asked]},
        },
        {
            **common,
            "type": "user",
            "uuid": f"u{number}",
            "message": {"role": "user", "content": [answer]},
            "toolUseResult": result,
        },
    ]
