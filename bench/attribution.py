"""Measure attribution against reading the session."""

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
    """Compare attributing with reading: growing numbers of edits to one file, and real sessions."""
    for count in (_EDITS // 4, _EDITS // 2, _EDITS):
        reading, attributing = _time_session(_build_session(count))
        print(
            f"attribute            {attributing / reading:.2f} x reading it: {count} edits to a "
            f"file of {_LINES} lines (target: at most 10)"
        )
    real = (
        sorted((CORPUS / "claude").glob("*"), key=lambda path: path.stat().st_size)[-5:]
        if CORPUS.is_dir()
        else []
    )
    times = [_time_session(path.read_bytes()) for path in real]
    if times:
        reading_total = sum(reading for reading, _ in times)
        ratio = sum(attributing for _, attributing in times) / reading_total
        print(f"attribute            {ratio:.2f} x reading them: the five largest real sessions")


def _time_session(data: bytes) -> tuple[float, float]:
    """Return the seconds for reading a session, and for attributing it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        records: Any = list(vacr.read(path))
        return compare(lambda: list(vacr.read(path)), lambda: attribute_records(records), 3)


def _build_session(count: int) -> bytes:
    """Return a Claude Code session that reads a large file and edits it many times."""
    chance = random.Random(1)  # noqa: S311 - seeded, so that the session is always the same
    lines = [
        f"line number {number} of the file with some words in it\n" for number in range(_LINES)
    ]
    entries: list[dict[str, Any]] = []
    file = {
        "filePath": "/w/f.txt",
        "content": "".join(lines),
        "startLine": 1,
        "numLines": _LINES + 1,
        "totalLines": _LINES + 1,
    }
    entries += _build_call(0, "Read", {"file_path": "/w/f.txt"}, {"type": "text", "file": file})
    for number in range(1, count + 1):
        index = chance.randrange(len(lines))
        new_lines = [
            f"edit {number} line {i} written by the agent\n" for i in range(chance.randint(1, 4))
        ]
        arguments = {
            "file_path": "/w/f.txt",
            "old_string": lines[index],
            "new_string": "".join(new_lines),
        }
        lines[index : index + 1] = new_lines
        entries += _build_call(number, "Edit", arguments, {"filePath": "/w/f.txt"})
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def _build_call(
    number: int, name: str, arguments: dict[str, Any], result: Any
) -> list[dict[str, Any]]:
    """Return the two lines of a tool call: the call, and its result."""
    common = {
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sessionId": "s",
        "cwd": "/w",
        "version": "2.1.0",
    }
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    call_result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
    return [
        {
            **common,
            "type": "assistant",
            "uuid": f"a{number}",
            "message": {"role": "assistant", "model": "m", "content": [call]},
        },
        {
            **common,
            "type": "user",
            "uuid": f"u{number}",
            "message": {"role": "user", "content": [call_result]},
            "toolUseResult": result,
        },
    ]
