"""A world in which it is known who wrote which line: files, an agent's calls on them, and people who change them in between.

It knows nothing of how attribution works. Every line that anybody writes is a text that was never there before, so a line tells
its writer. The world acts and writes down what Claude Code would have written down; then what attribution says is compared with
what happened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

BASE, HUMAN = "base", "human"
ROOT = "/home/mira/app"


@dataclass
class File:
    """A file: its lines, each with its writer, how lines end, and whether the last one ends at all."""

    lines: list[tuple[str, str]]
    end: str = "\n"
    last_end: bool = True
    known: bool = False  # whether the agent has seen it since somebody else changed it

    def text(self) -> str:
        """Give the text on disk."""
        text = self.end.join(line for line, _ in self.lines)
        return text + self.end if self.last_end and self.lines else text

    def shown(self) -> str:
        """Give the text as the host shows it: with plain line ends."""
        return self.text().replace("\r\n", "\n")


@dataclass
class World:
    """Files and what happens to them; `session` is what the host writes down."""

    seed: int
    agents: int = 1
    files: dict[str, File] = field(default_factory=dict)
    sessions: list[list[dict[str, Any]]] = field(default_factory=list)
    texts: int = 0
    calls: int = 0
    time: int = 1_780_000_000_000

    def __post_init__(self) -> None:
        """Make some files that are there before."""
        self.random = Random(self.seed)  # noqa: S311 - seeded, so that a world can be lived again
        self.sessions = [[] for _ in range(self.agents)]
        for number in range(self.random.randint(1, 4)):
            file = File([(self.new_text(), BASE) for _ in range(self.random.randint(0, 60))])
            file.end = self.random.choice(["\n", "\n", "\r\n"])
            file.last_end = self.random.random() < 0.8
            self.files[f"src/f{number}.py"] = file
        self.base = {path: file.text().encode() for path, file in self.files.items()}

    def new_text(self) -> str:
        """Make a line that was never there."""
        self.texts += 1
        indent = "    " * self.random.randint(0, 2)
        return f"{indent}line_{self.texts} = shared({self.random.randint(0, 999)})"

    def live(self) -> int:
        """Let one thing happen."""
        acts = [
            self.read,
            self.edit,
            self.edit,
            self.edit,
            self.half_line,
            self.every,
            self.write,
            self.fail,
            self.person,
            self.move,
            self.remove,
            self.here_document,
            self.revert,
            self.search,
        ]
        return self.random.choice(acts)() or 0

    def pick(self) -> tuple[str, File] | None:
        """Choose a file."""
        return self.random.choice(sorted(self.files.items(), key=lambda item: item[0])) if self.files else None

    # What the host writes down.

    def call(self, name: str, arguments: dict[str, Any], result: str, native: Any = None, *, error: bool = False) -> str:
        """Write down a call and its result; gives the call's id."""
        self.calls += 1
        self.time += 1000
        call_id = f"toolu_{self.calls}"
        session = self.random.choice(self.sessions)
        number = self.sessions.index(session)
        stamp = self.stamp()
        common = {"sessionId": f"session-{number}", "cwd": ROOT, "version": "2.1.0", "userType": "external"}
        block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        message = {"role": "assistant", "model": f"claude-{number}", "content": [block]}
        session.append({**common, "type": "assistant", "uuid": f"a{self.calls}", "timestamp": stamp, "message": message})
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": error}
        answer = {
            **common,
            "type": "user",
            "uuid": f"u{self.calls}",
            "timestamp": stamp,
            "message": {"role": "user", "content": [block]},
        }
        if native is not None:
            answer["toolUseResult"] = native
        session.append(answer)
        return call_id

    def stamp(self) -> str:
        """Give the time as the host spells it."""
        from datetime import UTC, datetime

        return datetime.fromtimestamp(self.time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def native(self, number: int) -> bytes:
        """Give the session as the host keeps it."""
        return b"".join(json.dumps(line).encode() + b"\n" for line in self.sessions[number])

    # What may happen.

    def read(self, path: str | None = None, *, whole: bool | None = None) -> None:
        """The agent looks at a file, or at some lines of it."""
        picked = (path, self.files[path]) if path else self.pick()
        if picked is None:
            return
        path, file = picked
        lines = file.shown().split("\n")
        first, count = 1, len(lines)
        if whole is False or (whole is None and self.random.random() < 0.4):
            first = self.random.randint(1, len(lines))
            count = self.random.randint(1, len(lines) - first + 1)
        shown = lines[first - 1 : first - 1 + count]
        told = {
            "filePath": f"{ROOT}/{path}",
            "content": "\n".join(shown),
            "numLines": len(shown),
            "startLine": first,
            "totalLines": len(lines),
        }
        listing = "\n".join(f"{number:6}→{line}" for number, line in enumerate(shown, first))
        self.call("Read", {"file_path": f"{ROOT}/{path}"}, listing, {"type": "text", "file": told})
        file.known = file.known or count == len(lines)

    def ready(self) -> tuple[str, File] | None:
        """Choose a file that the agent may change: the host wants it to be read first."""
        picked = self.pick()
        if picked is None:
            return None
        path, file = picked
        if not file.known:
            self.read(path, whole=self.random.random() < 0.7)
            file.known = True
        return path, file

    def edited(self, path: str, old: str, new: str, **more: Any) -> str:
        arguments = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new, **more}
        return self.call(
            "Edit", arguments, f"The file {ROOT}/{path} has been updated successfully.", {"filePath": f"{ROOT}/{path}"}
        )

    def edit(self) -> None:
        """The agent replaces some lines by others, of which some may be the same."""
        picked = self.ready()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        first = self.random.randrange(len(file.lines))
        stop = min(len(file.lines), first + self.random.randint(1, 5))
        old = file.lines[first:stop]
        new = [one for one in old if self.random.random() < 0.5]
        for _ in range(self.random.randint(0, 4)):
            new.insert(self.random.randint(0, len(new)), (self.new_text(), ""))
        if [text for text, _ in old] == [text for text, _ in new] or (not new and stop == len(file.lines)):
            return
        tail = "\n" if stop < len(file.lines) or file.last_end else ""
        call_id = self.edited(
            path, "\n".join(text for text, _ in old) + tail, "\n".join(text for text, _ in new) + (tail if new else "")
        )
        last = file.lines[-1][0]
        file.lines[first:stop] = [(text, owner or call_id) for text, owner in new]
        if not file.last_end and file.lines[-1][0] != last:
            # A line that ends now, or no longer does, is another line.
            file.lines = [(text, call_id if text in (last, file.lines[-1][0]) else owner) for text, owner in file.lines]

    def half_line(self) -> None:
        """The agent changes a part of a line."""
        picked = self.ready()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        at = self.random.randrange(len(file.lines))
        text, _ = file.lines[at]
        name = text.strip().split(" ")[0]
        self.texts += 1
        new = f"line_{self.texts}"
        if sum(line.count(name + " =") for line, _ in file.lines) != 1:
            return
        call_id = self.edited(path, name + " =", new + " =")
        file.lines[at] = (text.replace(name + " =", new + " ="), call_id)

    def every(self) -> None:
        """The agent replaces a word wherever it stands."""
        picked = self.pick()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        self.read(path, whole=True)
        word = self.random.choice(file.lines)[0].split("=")[1].split("(")[0].strip()
        self.texts += 1
        new = f"shared{self.texts}"
        call_id = self.edited(path, f" {word}(", f" {new}(", replace_all=True)
        file.lines = [
            (text.replace(f" {word}(", f" {new}("), call_id) if f" {word}(" in text else (text, owner)
            for text, owner in file.lines
        ]

    def write(self) -> None:
        """The agent writes a whole file: a new one, or over one that it knows."""
        if self.random.random() < 0.5:
            path = f"src/n{self.texts}.py"
            lines = [self.new_text() for _ in range(self.random.randint(1, 12))]
            text = "\n".join(lines) + "\n"
            native = {"type": "create", "filePath": f"{ROOT}/{path}", "content": text}
            call_id = self.call(
                "Write", {"file_path": f"{ROOT}/{path}", "content": text}, f"File created successfully at: {ROOT}/{path}", native
            )
            self.files[path] = File([(line, call_id) for line in lines], known=True)
            return
        picked = self.pick()
        if picked is None or picked[1].end != "\n":
            return
        path, file = picked
        self.read(path, whole=True)
        new = [one for one in file.lines if self.random.random() < 0.8]
        for _ in range(self.random.randint(1, 4)):
            new.insert(self.random.randint(0, len(new)), (self.new_text(), ""))
        text = "\n".join(line for line, _ in new) + "\n"
        native = {"type": "update", "filePath": f"{ROOT}/{path}", "content": text}
        call_id = self.call(
            "Write", {"file_path": f"{ROOT}/{path}", "content": text}, f"The file {ROOT}/{path} has been updated.", native
        )
        if not file.last_end and file.lines:
            new = [(line, owner if line != file.lines[-1][0] else "") for line, owner in new]  # it ends now: another line
        file.lines, file.last_end = [(line, owner or call_id) for line, owner in new], True

    def fail(self) -> None:
        """A call of the agent fails, or is refused, and changes nothing."""
        picked = self.pick()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        text, _ = self.random.choice(file.lines)
        arguments = {"file_path": f"{ROOT}/{path}", "old_string": text, "new_string": self.new_text()}
        said = self.random.choice(
            [
                "<tool_use_error>String to replace not found in file.</tool_use_error>",
                "The user doesn't want to proceed with this tool use.",
            ]
        )
        self.call("Edit", arguments, said, f"Error: {said}", error=True)

    def person(self) -> None:
        """Somebody else changes a file, unseen; the host wants the agent to read it again."""
        picked = self.pick()
        if picked is None:
            return
        _, file = picked
        at = self.random.randint(0, len(file.lines))
        stop = min(len(file.lines), at + self.random.randint(0, 3))
        file.lines[at:stop] = [(self.new_text(), HUMAN) for _ in range(self.random.randint(0, 3))]
        file.known = False

    def revert(self) -> None:
        """The agent puts a line and back again."""
        picked = self.ready()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        at = self.random.randrange(len(file.lines))
        text, owner = file.lines[at]
        new = self.new_text()
        self.edited(path, text, new)
        call_id = self.edited(path, new, text)
        if owner not in (BASE, HUMAN):
            file.lines[at] = (text, call_id)  # an agent's line that comes back is the work of the call that brought it

    def move(self) -> None:
        """The agent gives a file another name."""
        picked = self.pick()
        if picked is None:
            return
        path, _ = picked
        to = f"src/m{self.texts}_{self.calls}.py"
        self.call("Bash", {"command": f"git mv {path} {to}"}, "", {"stdout": "", "stderr": "", "interrupted": False})
        self.files[to] = self.files.pop(path)

    def remove(self) -> None:
        """The agent removes a file."""
        if self.random.random() < 0.7 or len(self.files) < 2:
            return
        path, _ = self.pick() or ("", None)
        self.call("Bash", {"command": f"rm {path}"}, "", {"stdout": "", "stderr": "", "interrupted": False})
        del self.files[path]

    def here_document(self) -> None:
        """The agent writes a file with a here-document."""
        path = f"src/h{self.texts}.sh"
        lines = [self.new_text() for _ in range(self.random.randint(1, 6))]
        command = f"cat > {path} <<'EOF'\n" + "".join(line + "\n" for line in lines) + "EOF"
        call_id = self.call("Bash", {"command": command}, "", {"stdout": "", "stderr": "", "interrupted": False})
        self.files[path] = File([(line, call_id) for line in lines], known=True)

    def search(self) -> None:
        """The agent searches, and sees single lines."""
        picked = self.pick()
        if picked is None or not picked[1].lines:
            return
        path, file = picked
        wanted = str(self.random.randint(0, 9))
        found = [f"{path}:{number}:{text}" for number, (text, _) in enumerate(file.lines, 1) if wanted in text]
        self.call("Grep", {"pattern": wanted, "output_mode": "content", "-n": True}, "\n".join(found) or "No matches found")
