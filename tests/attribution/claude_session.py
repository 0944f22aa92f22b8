"""Small sessions of Claude Code, built call by call."""

from __future__ import annotations

import json
from typing import Any

import vacr

ROOT = "/home/mira/app"


class ClaudeSession:
    """A session that is built call by call."""

    def __init__(self, name: str = "s", model: str = "claude-opus-4-5", start: int = 0) -> None:
        """Start an empty session."""
        self.name, self.model, self.clock = name, model, start
        self.lines: list[dict[str, Any]] = []

    def line(self, **members: Any) -> None:
        """Add a line in the format of the host."""
        self.clock += 1
        common = {
            "uuid": f"{self.name}-{len(self.lines)}",
            "sessionId": self.name,
            "cwd": ROOT,
            "version": "2.1.0",
        }
        hours, minutes, seconds = self.clock // 3600, self.clock // 60 % 60, self.clock % 60
        stamp = f"2026-03-01T{hours:02}:{minutes:02}:{seconds:02}.000Z"
        self.lines.append({**common, "timestamp": stamp, **members})

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        output: str = "ok",
        result: Any = None,
        *,
        error: bool = False,
    ) -> str:
        """Add a tool call and its result; return the id of the call."""
        call_id = f"{self.name}-call-{len(self.lines)}"
        block: dict[str, Any] = {
            "type": "tool_use",
            "id": call_id,
            "name": tool,
            "input": arguments,
        }
        self.line(
            type="assistant", message={"role": "assistant", "model": self.model, "content": [block]}
        )
        block = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": output,
            "is_error": error,
        }
        more = {} if result is None else {"toolUseResult": result}
        self.line(type="user", message={"role": "user", "content": [block]}, **more)
        return call_id

    def read(self, path: str, text: str) -> None:
        """Add a read of a whole file."""
        lines = text.split("\n")
        file = {
            "filePath": f"{ROOT}/{path}",
            "content": text,
            "startLine": 1,
            "numLines": len(lines),
            "totalLines": len(lines),
        }
        self.call("Read", {"file_path": f"{ROOT}/{path}"}, "…", {"type": "text", "file": file})

    def edit(self, path: str, old: str, new: str, **more: Any) -> str:
        """Add a replacement of a text."""
        arguments = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new, **more}
        return self.call(
            "Edit",
            arguments,
            "The file has been updated successfully.",
            {"filePath": f"{ROOT}/{path}"},
        )

    def write(self, path: str, text: str, kind: str = "create") -> str:
        """Add a write of a whole file."""
        result = {"type": kind, "filePath": f"{ROOT}/{path}", "content": text}
        return self.call(
            "Write", {"file_path": f"{ROOT}/{path}", "content": text}, "File written.", result
        )

    def bash(self, command: str, output: str = "") -> str:
        """Add a shell command."""
        return self.call(
            "Bash",
            {"command": command},
            output,
            {"stdout": output, "stderr": "", "interrupted": False},
        )

    def native(self) -> bytes:
        """Return the bytes of the session file."""
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.lines)

    def record(self, folder: Any) -> Any:
        """Return the record of the session."""
        path = folder / f"{self.name}.jsonl"
        path.write_bytes(self.native())
        (record,) = vacr.read(path)
        return record
