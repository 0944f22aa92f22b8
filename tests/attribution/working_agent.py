"""An agent that works in a real folder and records its session like Claude Code, and a git runner
without the user's configuration.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

WHO = {"NAME": "Mira", "EMAIL": "mira@example.org", "DATE": "2026-03-14T09:00:00Z"}


def git(folder: Path, *arguments: str | bytes, stdin: bytes = b"", date: str = WHO["DATE"]) -> str:
    """Run git, at a date, and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        f"GIT_{role}_{name}": value
        for role in ("AUTHOR", "COMMITTER")
        for name, value in {**WHO, "DATE": date}.items()
    }
    environment |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_EDITOR": "true",
    }
    done = subprocess.run(
        ["git", "-C", folder, *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def repository(folder: Path, *options: str) -> Path:
    """Create a repository."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", *options)
    return folder


def commit(folder: Path, message: str = "Change", *options: str, date: str = WHO["DATE"]) -> str:
    """Commit all files at a date, and return the name of the commit."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, *options, date=date)
    return git(folder, "rev-parse", "HEAD")


class Agent:
    """An agent in a folder."""

    def __init__(
        self, folder: Path, name: str = "one", model: str = "claude-opus-4-6", start: int = 0
    ) -> None:
        """Start a session, `start` seconds after midnight."""
        self.start = start
        self.folder, self.name, self.model = folder, name, model
        self.lines: list[dict[str, Any]] = []
        self.calls = 0

    @property
    def now(self) -> str:
        """The time of the last line of the session."""
        return str(self.lines[-1]["timestamp"])

    def _add(self, kind: str, content: Any, **more: Any) -> None:
        number = len(self.lines) + 1
        now = self.start + number
        seconds = f"{now // 3600:02}:{now // 60 % 60:02}:{now % 60:02}"
        common = {
            "sessionId": f"session-{self.name}",
            "cwd": str(self.folder),
            "version": "2.1.0",
            "userType": "external",
        }
        message = {"role": kind, "content": content} | (
            {"model": self.model} if kind == "assistant" else {}
        )
        stamp = {"uuid": f"{self.name}-{number}", "timestamp": f"2026-03-14T{seconds}.000Z"}
        self.lines.append({**common, "type": kind, **stamp, "message": message, **more})

    def asked(self, text: str) -> Agent:
        """Record a prompt of the user."""
        self._add("user", text)
        return self

    def call(self, tool: str, arguments: dict[str, Any], said: str, native: Any = None) -> None:
        """Record a call and its result."""
        self.calls += 1
        name = f"toolu_{self.name}_{self.calls}"
        self._add("assistant", [{"type": "tool_use", "id": name, "name": tool, "input": arguments}])
        result = [{"type": "tool_result", "tool_use_id": name, "content": said}]
        self._add("user", result, **({"toolUseResult": native} if native is not None else {}))

    def _text(self, path: str) -> str:
        return (
            (self.folder / path)
            .read_bytes()
            .decode("utf-8", "replace")
            .replace("\r\n", "\n")
            .removeprefix("\ufeff")
        )

    def read(self, path: str) -> Agent:
        """Read a whole file, as the host shows it."""
        text = self._text(path)
        shown = "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.split("\n"), 1))
        count = text.count("\n") + 1
        file = {
            "filePath": str(self.folder / path),
            "content": text,
            "numLines": count,
            "startLine": 1,
            "totalLines": count,
        }
        self.call(
            "Read", {"file_path": str(self.folder / path)}, shown, {"type": "text", "file": file}
        )
        return self

    def write(self, path: str, text: str) -> Agent:
        """Write a whole file."""
        target = self.folder / path
        native = {
            "type": "update" if target.exists() else "create",
            "filePath": str(target),
            "content": text,
        }
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        said = (
            "The file has been updated."
            if native["type"] == "update"
            else f"File created successfully at: {target}"
        )
        self.call("Write", {"file_path": str(target), "content": text}, said, native)
        return self

    def edit(self, path: str, old: str, new: str) -> Agent:
        """Replace a text that the file contains once; the host keeps the line ends of the file."""
        target = self.folder / path
        data, before, after = target.read_bytes(), old.encode(), new.encode()
        if data.count(b"\r\n"):
            before, after = before.replace(b"\n", b"\r\n"), after.replace(b"\n", b"\r\n")
        assert data.count(before) == 1
        target.write_bytes(data.replace(before, after))
        self.call(
            "Edit",
            {"file_path": str(target), "old_string": old, "new_string": new},
            "The file has been updated.",
        )
        return self

    def shell(self, command: str) -> Agent:
        """Run a command."""
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.folder, capture_output=True, check=True, text=True
        )
        native = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False}
        self.call("Bash", {"command": command}, done.stdout, native)
        return self

    def save(self, folder: Path) -> Path:
        """Write the session file of the host."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"session-{self.name}.jsonl"
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in self.lines))
        return path
