"""Hosts that record the actions of their agents, each in its own format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.attribution.sessions import ROOT, Claude, Codex, Gemini, OpenCode
from tests.attribution.world.files import File


class Host:
    """A recorded session; `checks` when the host changes only files that the agent has read."""

    checks = False
    suffix = "jsonl"

    def read(self, path: str, file: File, first: int, count: int) -> None:
        """Show lines of a file."""
        raise NotImplementedError

    def replace(
        self, path: str, old: str, new: str, *, every: bool = False, error: str = ""
    ) -> str:
        """Replace a text; return the id of the call."""
        raise NotImplementedError

    def change(self, path: str, file: File, first: int, stop: int, new: Sequence[str]) -> str:
        """Replace lines, counted from 0; return the id of the call."""
        old = [text for text, _ in file.lines[first:stop]]
        tail = "\n" if stop < len(file.lines) or file.last_end else ""
        return self.replace(path, "\n".join(old) + tail, "\n".join(new) + (tail if new else ""))

    def write(self, path: str, text: str, *, created: bool) -> str:
        """Write a whole file; return the id of the call."""
        raise NotImplementedError

    def shell(self, command: str, printed: str = "", code: int = 0) -> str:
        """Run a command; return the id of the call."""
        raise NotImplementedError

    def data(self) -> str:
        """Return the session file of the host."""
        raise NotImplementedError


class ClaudeHost(Host):
    """Claude Code; a sub-agent writes into the same session."""

    checks = True

    def __init__(self, name: str, times: Iterator[int], main: ClaudeHost | None = None) -> None:
        self.session = main.session if main else Claude(name, times)
        self.more = {"isSidechain": True, "agentId": f"agent-{name}"} if main else {}
        self.model = f"claude-{name}"

    def _call(
        self,
        name: str,
        arguments: dict[str, Any],
        said: str,
        native: Any = None,
        *,
        error: bool = False,
    ) -> str:
        call_id = self.session.ask(name, arguments, self.model, **self.more)
        self.session.answer(call_id, said, native, error=error, **self.more)
        return str(call_id)

    def read(self, path: str, file: File, first: int, count: int) -> None:
        lines = file.shown().split("\n")
        shown = lines[first - 1 : first - 1 + count]
        told = {
            "filePath": f"{ROOT}/{path}",
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": first,
        }
        listing = "\n".join(f"{number:6}→{line}" for number, line in enumerate(shown, first))
        native = {"type": "text", "file": {**told, "totalLines": len(lines)}}
        self._call("Read", {"file_path": f"{ROOT}/{path}"}, listing, native)

    def replace(
        self, path: str, old: str, new: str, *, every: bool = False, error: str = ""
    ) -> str:
        arguments = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
        arguments |= {"replace_all": True} if every else {}
        if error:
            return self._call("Edit", arguments, error, f"Error: {error}", error=True)
        return self._call(
            "Edit",
            arguments,
            f"The file {ROOT}/{path} has been updated successfully.",
            {"filePath": path},
        )

    def write(self, path: str, text: str, *, created: bool) -> str:
        said = (
            f"File created successfully at: {ROOT}/{path}"
            if created
            else f"The file {ROOT}/{path} has been updated."
        )
        native = {
            "type": "create" if created else "update",
            "filePath": f"{ROOT}/{path}",
            "content": text,
        }
        return self._call("Write", {"file_path": f"{ROOT}/{path}", "content": text}, said, native)

    def shell(self, command: str, printed: str = "", code: int = 0) -> str:
        shown = re.sub(r"\A(?:\s*\n)+", "", printed).rstrip()
        if code:
            said = f"Exit code {code}\n{shown}"
            return self._call("Bash", {"command": command}, said, f"Error: {said}", error=True)
        return self._call(
            "Bash",
            {"command": command},
            shown,
            {"stdout": shown, "stderr": "", "interrupted": False},
        )

    def search(self, wanted: str, found: Sequence[str]) -> None:
        """Show the lines that a search found, with their files and numbers."""
        self._call(
            "Grep",
            {"pattern": wanted, "output_mode": "content", "-n": True},
            "\n".join(found) or "No matches found",
        )

    def notice(self, path: str, hunks: Sequence[str], kind: str) -> None:
        """Show changes by others, in an attachment or a reminder."""
        shown, number = [], 0
        for line in hunks:
            if found := re.match(r"@@ -(\d+)", line):
                shown += ["..."] if shown else []
                number = max(int(found[1]), 1)  # the host counts from where the hunk began before
            elif line[:1] in " +":
                shown.append(
                    f"{number}\t{line[1:]}" if kind == "attachment" else f"{number:6}→{line[1:]}"
                )
                number += 1
        if kind == "attachment":
            attachment = {
                "type": "edited_text_file",
                "filename": f"{ROOT}/{path}",
                "snippet": "\n".join(shown),
            }
            self.session.line("attachment", attachment=attachment, **self.more)
            return
        note = (
            f"Note: {ROOT}/{path} was modified, either by the user or by a linter. This "
            "change was intentional, so make sure"
        )
        text = (
            f"<system-reminder>\n{note} to take it into account:\n"
            + "\n".join(shown)
            + "\n</system-reminder>"
        )
        self.session.line(
            "user",
            message={"role": "user", "content": [{"type": "text", "text": text}]},
            **self.more,
        )

    def data(self) -> str:
        return str(self.session.data())


class CodexHost(Host):
    """Codex: uses the shell for everything but patches."""

    def __init__(self, name: str, times: Iterator[int]) -> None:
        self.session = Codex(name=name, times=times)

    def read(self, path: str, file: File, first: int, count: int) -> None:
        lines = re.findall(r"[^\n]*\n|[^\n]+", file.printed())
        whole = first == 1 and count >= len(lines)
        command = f"cat {path}" if whole else f"sed -n '{first},{first + count - 1}p' {path}"
        self.shell(command, "".join(lines[first - 1 : first - 1 + count]))

    def replace(
        self,
        path: str,
        old: str,
        new: str,
        *,
        every: bool = False,  # noqa: ARG002 - part of the interface of hosts
        error: str = "",
    ) -> str:
        return self._patch(
            path, ["@@", *(f"-{line}" for line in old.split("\n")), f"+{new}"], error
        )

    def change(self, path: str, file: File, first: int, stop: int, new: Sequence[str]) -> str:
        lines = [text for text, _ in file.lines]
        taken = [f"-{line}" for line in lines[first:stop]] + [f"+{line}" for line in new]
        around = (
            [f" {line}" for line in lines[max(0, first - 3) : first]],
            [f" {line}" for line in lines[stop : stop + 3]],
        )
        return self._patch(path, ["@@", *around[0], *taken, *around[1]])

    def _patch(self, path: str, body: Sequence[str], error: str = "") -> str:
        text = "\n".join(["*** Begin Patch", f"*** Update File: {path}", *body, "*** End Patch"])
        return self._applied(
            text, error or f"Success. Updated the following files:\nM {path}\n", 1 if error else 0
        )

    def _applied(self, text: str, said: str, code: int = 0) -> str:
        call_id = self.session.custom("apply_patch", text)
        self.session.output(call_id, f"Exit code: {code}\nWall time: 0 seconds\nOutput:\n{said}")
        return str(call_id)

    def write(self, path: str, text: str, *, created: bool) -> str:
        if created:
            added = "".join(f"+{line}\n" for line in text.removesuffix("\n").split("\n"))
            patch = f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch"
            return self._applied(patch, f"Success. Updated the following files:\nA {path}\n")
        return self.shell(f"cat > {path} <<'EOF'\n{text}EOF")

    def shell(self, command: str, printed: str = "", code: int = 0) -> str:
        return str(self.session.shell(command, printed, code))

    def data(self) -> str:
        return str(self.session.data())


class GeminiHost(Host):
    """Gemini CLI."""

    suffix = "json"

    def __init__(self, name: str, times: Iterator[int]) -> None:
        self.session = Gemini(name, times)

    def read(self, path: str, file: File, first: int, count: int) -> None:
        lines = file.shown().split("\n")
        if count == len(lines):
            self.session.call("read_file", {"file_path": path}, file.shown())
            return
        head = "\nIMPORTANT: The file content has been truncated.\nStatus: Showing lines "
        told = (
            f"{head}{first}-{first + count - 1} of {len(lines)} total lines.\nAction: Use "
            "offset.\n\n"
        )
        shown = "\n".join(lines[first - 1 : first - 1 + count])
        self.session.call(
            "read_file", {"file_path": path}, f"{told}--- FILE CONTENT (truncated) ---\n{shown}"
        )

    def replace(
        self, path: str, old: str, new: str, *, every: bool = False, error: str = ""
    ) -> str:
        arguments = {
            "file_path": path,
            "instruction": "do it",
            "old_string": old,
            "new_string": new,
        }
        arguments |= {"allow_multiple": True} if every else {}
        if error:
            return str(self.session.call("replace", arguments, error, status="error", failed=True))
        return str(self.session.call("replace", arguments, f"Successfully modified file: {path}."))

    def write(self, path: str, text: str, *, created: bool) -> str:
        said = (
            f"Successfully created and wrote to new file: {path}."
            if created
            else f"Successfully overwrote file: {path}."
        )
        return str(self.session.call("write_file", {"file_path": path, "content": text}, said))

    def shell(self, command: str, printed: str = "", code: int = 0) -> str:
        said = (
            f"Command: {command}\nDirectory: (root)\nOutput: {printed.strip() or '(empty)'}\n"
            f"Error: (none)\nExit Code: {code}\n"
        )
        said += "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 1"
        return str(self.session.call("run_shell_command", {"command": command}, said))

    def data(self) -> str:
        return str(self.session.data())


class OpenCodeHost(Host):
    """OpenCode, without the metadata of calls."""

    checks = True
    suffix = "json"

    def __init__(self, name: str, times: Iterator[int]) -> None:
        self.session = OpenCode(name, times)

    def read(self, path: str, file: File, first: int, count: int) -> None:
        lines = file.shown().split("\n")
        older = (
            lines == [""] or len(file.lines) % 2 == 0
        )  # it used to count the empty line after the last end
        lines = lines if older or lines[-1] else lines[:-1]
        stop = min(first - 1 + count, len(lines))
        form = "{:05}| {}" if older else "{}: {}"
        listing = "\n".join(
            form.format(number, line) for number, line in enumerate(lines[first - 1 : stop], first)
        )
        end = (
            f"(End of file - total {len(lines)} lines)"
            if stop == len(lines)
            else f"(Showing lines {first}-{stop})"
        )
        self.session.call(
            "read", {"filePath": f"{ROOT}/{path}"}, f"<content>\n{listing}\n\n{end}\n</content>"
        )

    def replace(
        self, path: str, old: str, new: str, *, every: bool = False, error: str = ""
    ) -> str:
        arguments = {"filePath": f"{ROOT}/{path}", "oldString": old, "newString": new}
        arguments |= {"replaceAll": True} if every else {}
        status = "error" if error else "completed"
        return str(
            self.session.call(
                "edit", arguments, error or "Edit applied successfully.", status=status
            )
        )

    def write(self, path: str, text: str, *, created: bool) -> str:
        arguments = {"filePath": f"{ROOT}/{path}", "content": text}
        return str(
            self.session.call(
                "write", arguments, "Wrote file successfully.", {"exists": not created}
            )
        )

    def shell(self, command: str, printed: str = "", code: int = 0) -> str:
        return str(self.session.call("bash", {"command": command}, printed, {"exit": code}))

    def data(self) -> str:
        return str(self.session.data())


KINDS: dict[str, Any] = {
    "claude": ClaudeHost,
    "codex": CodexHost,
    "gemini": GeminiHost,
    "opencode": OpenCodeHost,
}
