"""Measure `vacr blame` of a file against `git blame` of the same file, by the CPU time of both.

The first run has an empty state folder, so it reads every session. The second run may use what the
first one stored there.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from processes import VACR

_FIRST_COMMIT = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
_SECONDS_BETWEEN_COMMITS = 600
_WINDOW = 40


def blame() -> None:
    """Compare blaming a file with `git blame`: of a long history, and of a very long file."""
    _compare_with_git("1,000 commits", _Shape(commits=1000, sessions=100, lines=500, added=2))
    _compare_with_git("100,000 lines", _Shape(commits=100, sessions=10, lines=1000, added=990))


@dataclass(frozen=True)
class _Shape:
    """The size of a generated history."""

    commits: int
    sessions: int
    lines: int
    """How many lines the file has at first."""
    added: int
    """How many lines each commit adds, besides one that it replaces."""


def _compare_with_git(label: str, shape: _Shape) -> None:
    """Generate a history, and print how much longer than git a first and a second run take."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        history = _GeneratedHistory(folder / "repo", shape)
        history.generate()
        size = history.write_sessions(folder / "sessions")
        file = str(folder / "repo" / "app.py")
        git_time = min(_measure_cpu("git", "-C", file[:-7], "blame", file)[0] for _ in range(3))
        command = (VACR, "blame", file, "--records", str(folder / "sessions"), "--format", "json")
        for run in ("cold", "warm"):
            seconds, output = _measure_cpu(*command, state=folder / "state")
            types = [line["contributor"]["type"] for line in json.loads(output)["lines"]]
            print(
                f"blame {run}         {seconds / git_time:7.1f} x git blame: {seconds:.2f} s CPU, "
                f"{label}, {shape.sessions} sessions of {size / 1e6:.0f} MB, {len(types)} lines, "
                f"{types.count('ai')} by agents"
            )


def _measure_cpu(*command: str, state: Path | None = None) -> tuple[float, bytes]:
    """Run a command, and return the CPU time of it and its processes, and its output.

    Python may keep the compiled modules, as it does for an installed package.
    """
    variables = os.environ | ({"VACR_STATE": str(state)} if state is not None else {})
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, output


@dataclass
class _GeneratedHistory:
    """A repository with one file, which agents and a person change in turn."""

    folder: Path
    shape: _Shape
    lines: list[str] = field(default_factory=list)
    sessions: list[list[dict[str, Any]]] = field(default_factory=list)
    count: int = 0

    def generate(self) -> None:
        """Create the repository; an agent makes every other commit."""
        chance = random.Random(1)  # noqa: S311 - seeded, so that the history is always the same
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.folder)], check=True)
        self.lines = self._make_lines(self.shape.lines)
        commits = [self._format_commit(0)]
        commits_per_session = self.shape.commits // self.shape.sessions
        for number in range(1, self.shape.commits):
            place = chance.randrange(len(self.lines))
            new = self._make_lines(1 + self.shape.added)
            if number % commits_per_session == 1:
                self.sessions.append([])
            if number % 2:
                self._add_agent_edit(number, place, new)
            self.lines[place : place + 1] = new
            commits.append(self._format_commit(number))
        importer = ["git", "-C", str(self.folder), "fast-import", "--quiet"]
        subprocess.run(importer, input=b"".join(commits), check=True)
        subprocess.run(["git", "-C", str(self.folder), "checkout", "-q", "main"], check=True)

    def write_sessions(self, folder: Path) -> int:
        """Write the sessions of the agents to files, and return their size in bytes."""
        folder.mkdir()
        size = 0
        for number, entries in enumerate(self.sessions):
            path = folder / f"session-{number}.jsonl"
            size += path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
        return size

    def _make_lines(self, count: int) -> list[str]:
        """Return lines that the file never had before."""
        first, self.count = self.count, self.count + count
        return [
            f"    amount_{number} = compute_amount(order, {number})\n"
            for number in range(first, first + count)
        ]

    def _format_commit(self, number: int) -> bytes:
        """Return the commit of the file as it is now, for `git fast-import`."""
        text = "".join(self.lines)
        when = _FIRST_COMMIT + number * _SECONDS_BETWEEN_COMMITS
        head = f"commit refs/heads/main\ncommitter Mira <mira@example.org> {when} +0000\n"
        message = f"data 6\nChange\nM 100644 inline app.py\ndata {len(text)}\n"
        return f"{head}{message}{text}\n".encode()

    def _add_agent_edit(self, number: int, place: int, new: Sequence[str]) -> None:
        """Add a read of the lines around a place to the current session, and an edit there."""
        when = _FIRST_COMMIT + number * _SECONDS_BETWEEN_COMMITS - 60
        path = str(self.folder / "app.py")
        first = max(place - _WINDOW, 0)
        shown = self.lines[first : place + _WINDOW]
        file = {
            "filePath": path,
            "content": "".join(shown),
            "startLine": first + 1,
            "numLines": len(shown),
            "totalLines": len(self.lines) + 1,
        }
        reading = {"file_path": path, "offset": first + 1, "limit": len(shown)}
        self._add_call(number, when, "Read", reading, {"type": "text", "file": file})
        self._add_call(
            number,
            when + 1,
            "Edit",
            {"file_path": path, "old_string": self.lines[place], "new_string": "".join(new)},
            {"filePath": path},
        )
        # Most of a session is output that has nothing to do with the file.
        output = "".join(f"test {index} of module {number} passed\n" for index in range(1000))
        self._add_call(number, when + 2, "Bash", {"command": "make test"}, {"stdout": output})

    def _add_call(
        self, number: int, when: int, tool: str, arguments: dict[str, Any], result: dict[str, Any]
    ) -> None:
        """Add a call of a tool and its result to the current session."""
        session = f"session-{len(self.sessions)}"
        common = {
            "timestamp": datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "sessionId": session,
            "cwd": str(self.folder),
            "version": "2.1.0",
        }
        call_id = f"{session}-{number}-{tool}"
        call = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        answer = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": result.get("stdout", "The file has been updated."),
        }
        message = {"role": "assistant", "model": "claude-opus-4-5", "content": [call]}
        self.sessions[-1] += [
            {**common, "type": "assistant", "uuid": f"{call_id}-a", "message": message},
            {
                **common,
                "type": "user",
                "uuid": f"{call_id}-u",
                "message": {"role": "user", "content": [answer]},
                "toolUseResult": result,
            },
        ]
