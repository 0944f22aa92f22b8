"""A repository with a made history, and a model that knows who wrote each line.

Agents and people work in a real git repository, on one clock. Every line has its own text, so the
model knows its writer by its text alone, however git moves it. Idioms are the exception: agents
and people write the same text. The writer of an idiom is known by the lines around it.

A person types; an agent calls tools, and its session is recorded like one of Claude Code.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vacr
from tests.attribution.working_agent import Agent
from vacr.blame import BlamedLine, Repository, blame_commit, blame_file, find_repository_file

START = int(datetime(2026, 3, 14, 8, tzinfo=UTC).timestamp())
PERSON = "person"
IDIOMS = (
    "from __future__ import annotations",
    "    if error is not None:",
    "        raise ValueError(message)",
    "        return None",
    "    }",
    "# Licensed under the terms in the file LICENSE.",
)
BARE_IDIOMS = {idiom.strip() for idiom in IDIOMS}
Context = tuple[str, str, str]
"""A line between the line before it and the line after it, all without blanks around them."""
FORMATTING_HOOK = """#!/bin/sh
for file in $(git diff --cached --name-only --diff-filter=AM -- '*.py'); do
    sed -i -f "$(git rev-parse --git-dir)/format.sed" "$file"
    git add "$file"
done
"""


@dataclass
class Call:
    """A tool call of an agent, and what it wrote."""

    writer: str
    time: int
    """In whole seconds, as git stores times."""
    lines: set[str] = field(default_factory=set)
    """The lines that it wrote, without blanks around them."""
    here: bool = True
    """Whether it wrote to the repository."""


class MadeAgent(Agent):
    """An agent whose session runs on the clock of the history."""

    def __init__(self, history: MadeHistory, name: str) -> None:
        """Start a session in the repository."""
        super().__init__(history.folder, name)
        self.history = history
        self.views: dict[str, str] = {}
        """The text of each file when the agent last saw or wrote it."""

    def _add(self, kind: str, content: Any, **more: Any) -> None:
        """Record a line of the session at the current time, a fraction of a second later."""
        super()._add(kind, content, **more)
        now = datetime.fromtimestamp(self.history.now, UTC)
        self.lines[-1]["timestamp"] = now.strftime("%Y-%m-%dT%H:%M:%S.700Z")

    def call(self, tool: str, arguments: dict[str, Any], said: str, native: Any = None) -> None:
        """Record a call, and note in the model which lines it wrote."""
        super().call(tool, arguments, said, native)
        written = (arguments.get(name, "") for name in ("content", "new_string", "command"))
        text = "\n".join(written)
        path = str(arguments.get("file_path", ""))
        self.history.calls[f"toolu_{self.name}_{self.calls}"] = Call(
            self.name,
            self.history.now,
            {line.strip() for line in text.split("\n")} - {""},
            not path or path.startswith(f"{self.history.folder}{os.sep}"),
        )

    def look(self, path: str) -> None:
        """Read a file if it is not as the agent saw it last; the host demands that."""
        if self.views.get(path) != self._text(path):
            self.read(path)
            self.views[path] = self._text(path)


class MadeHistory:
    """A repository, its agents, and the truth about its lines."""

    def __init__(self, folder: Path, file: str = "app.py") -> None:
        """Create a repository with one commit of a person."""
        self.is_reformatted = False
        self.folder = folder
        self.now = START
        self.calls: dict[str, Call] = {}
        self.writers: dict[str, set[str]] = defaultdict(set)
        """The writers of each line, by its text without blanks around it."""
        self.contexts: dict[Context, set[str]] = defaultdict(set)
        """The writers of an idiom between two lines."""
        self.agents: dict[str, MadeAgent] = {}
        self.changes: dict[str, int] = {}
        """The number of the change that first wrote each line."""
        self._count = self._change_count = 0
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.git("config", "gc.auto", "0")
        self.person_writes(file, self.make_lines(6))
        self.commit("Start")
        self.tick()

    # --- time and git ---

    def tick(self, seconds: int = 60) -> None:
        """Let time pass."""
        self.now += seconds

    def git(self, *arguments: str, author_time: int | None = None) -> str:
        """Run git at the current time, and return its output."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        who = {
            f"GIT_{role}_{name}": value
            for role in ("AUTHOR", "COMMITTER")
            for name, value in (("NAME", "Mira"), ("EMAIL", "mira@example.org"))
        }
        times = {
            "GIT_AUTHOR_DATE": f"@{author_time or self.now} +0000",
            "GIT_COMMITTER_DATE": f"@{self.now} +0000",
        }
        settings = {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_EDITOR": "true",
        }
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env={**kept, **who, **times, **settings},
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str = "Change", *options: str) -> str:
        """Commit all files, and return the name of the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, *options)
        return self.git("rev-parse", "HEAD")

    def add_reindent_hook(self) -> None:
        """Let a formatter change the indentation of all files in each commit."""
        self.is_reformatted = True
        self.add_hook("s/^    /\\t/")

    def add_hook(self, program: str) -> None:
        """Let a program of sed change all files in each commit, as a formatter would."""
        (self.folder / ".git" / "format.sed").write_text(program + "\n")
        hook = self.folder / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(FORMATTING_HOOK)
        hook.chmod(0o755)

    # --- lines ---

    def make_lines(self, count: int, idiom: int | None = None) -> list[str]:
        """Return lines that nobody wrote before; with `idiom`, that idiom is in their middle.

        No two of them are alike, or one could be a changed form of the other.
        """
        lines = []
        for _ in range(count):
            self._count += 1
            word = hashlib.sha256(str(self._count).encode()).hexdigest()
            lines.append(
                f"    line_{self._count}_{word[:12]} = find_{word[12:20]}({word[20:32]!r})"
            )
        if idiom is not None:
            lines.insert((count + 1) // 2, IDIOMS[idiom % len(IDIOMS)])
        return lines

    def read(self, path: str) -> list[str]:
        """Return the lines of a file in the work tree, without their ends."""
        return (self.folder / path).read_text().split("\n")[:-1]

    def list_paths(self) -> list[str]:
        """Return the files in the work tree, sorted."""
        return sorted(
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and ".git" not in path.relative_to(self.folder).parts
        )

    def note(self, writer: str, path: str, old: list[str], first: int, count: int) -> None:
        """Note who wrote `count` lines of a file from an index on; `old` are its lines before.

        The lines around them may be idioms, whose context is now another one.
        """
        new = self.read(path)
        contexts, old_contexts = list_contexts(new), list_contexts(old)
        self._change_count += 1
        for context in contexts[first : first + count]:
            self.changes.setdefault(context[1], self._change_count)
            self.writers[context[1]].add(writer)
            self.contexts[context].add(writer)
        dropped = len(old) - (len(new) - count)
        # A dropped line that is typed again is the same line to git.
        for context in contexts[first : first + count]:
            for earlier in old_contexts[first : first + dropped]:
                if earlier[1] == context[1]:
                    self.contexts[context] |= self.contexts.get(earlier, set())
        for index in (first - 1, first + count):
            if 0 <= index < len(new):
                earlier = old_contexts[index if index < first else index - count + dropped]
                self.contexts[contexts[index]] |= self.contexts.get(earlier, set())

    def find_writers(self, lines: list[str], index: int) -> set[str]:
        """Return who may have written one of the lines of a file; an empty set if unknown."""
        context = list_contexts(lines)[index]
        if context[1] not in BARE_IDIOMS:
            return self.writers.get(context[1], set())
        return set() if self._is_ambiguous(lines, index) else self.contexts.get(context, set())

    def _is_ambiguous(self, lines: list[str], index: int) -> bool:
        """Return whether a file has the line twice with only lines of one change in between.

        Then nobody can see which of the two was there first. If a formatter changes all lines
        around them, git pairs the two as it likes.
        """
        bare = [line.strip() for line in lines]
        for other, line in enumerate(bare):
            if line == bare[index] and other != index:
                if self.is_reformatted:
                    return True
                between = bare[min(index, other) + 1 : max(index, other)]
                if len({self.changes.get(text) for text in between} - {None}) <= 1:
                    return True
        return False

    # --- people ---

    def person_writes(self, path: str, lines: list[str]) -> None:
        """Let a person type a new file."""
        (self.folder / path).write_text(join_lines(lines))
        self.note(PERSON, path, [], 0, len(lines))

    def person_inserts(self, path: str, index: int, lines: list[str], *, drop: int = 0) -> None:
        """Let a person type lines before the line with an index, and drop lines after them."""
        old = self.read(path)
        new = [*old[:index], *lines, *old[index + drop :]]
        (self.folder / path).write_text(join_lines(new))
        self.note(PERSON, path, old, index, len(lines))

    def person_moves(self, path: str, index: int, count: int, target: str) -> None:
        """Let a person move lines to the end of another file; their writers stay."""
        lines = self.read(path)
        kept = [*lines[:index], *lines[index + count :]]
        (self.folder / path).write_text(join_lines(kept))
        with (self.folder / target).open("a") as file:
            file.write(join_lines(lines[index : index + count]))

    # --- agents ---

    def agent(self, name: str = "one") -> MadeAgent:
        """Return the agent with this name; its session begins with a prompt."""
        if name not in self.agents:
            self.agents[name] = MadeAgent(self, name)
            self.agents[name].asked("Do the next task")
        return self.agents[name]

    def agent_writes(self, path: str, lines: list[str], name: str = "one") -> None:
        """Let an agent create a file."""
        agent = self.agent(name)
        agent.write(path, join_lines(lines))
        agent.views[path] = agent._text(path)
        self.note(name, path, [], 0, len(lines))

    def agent_inserts(
        self, path: str, index: int, lines: list[str], name: str = "one", *, drop: bool = False
    ) -> bool:
        """Let an agent insert lines after the line with an index, or in its place.

        Return whether it could: the line must be in the file once.
        """
        agent = self.agent(name)
        agent.look(path)
        old = self.read(path)
        anchor = old[index]
        if agent._text(path).count(f"{anchor}\n") != 1:
            return False
        kept = [] if drop else [anchor]
        agent.edit(path, f"{anchor}\n", join_lines([*kept, *lines]))
        agent.views[path] = agent._text(path)
        self.note(name, path, old, index + len(kept), len(lines))
        return True

    def agent_rewrites(self, path: str, lines: list[str], name: str = "one") -> None:
        """Let an agent write a whole existing file again, with some more lines at its end."""
        agent = self.agent(name)
        agent.look(path)
        old = self.read(path)
        agent.write(path, join_lines([*old, *lines]))
        agent.views[path] = agent._text(path)
        self.note(name, path, old, len(old), len(lines))

    def agent_copies(
        self, path: str, index: int, count: int, target: str, lines: list[str], name: str = "one"
    ) -> None:
        """Let an agent read a file, and write some of its lines before new ones to a new file.

        The writers of the copied lines stay.
        """
        agent = self.agent(name)
        agent.look(path)
        self.tick(1)
        copied = self.read(path)[index : index + count]
        agent.write(target, join_lines([*copied, *lines]))
        agent.views[target] = agent._text(target)
        self.note(name, target, copied, len(copied), len(lines))

    def agent_moves(
        self, path: str, index: int, count: int, target: str, name: str = "one"
    ) -> None:
        """Let an agent move lines of a file to the end of another one; their writers stay."""
        agent = self.agent(name)
        for file in (path, target):
            agent.look(file)
        self.tick(1)
        lines, old = self.read(path), self.read(target)
        agent.write(target, join_lines([*old, *lines[index : index + count]]))
        agent.write(path, join_lines([*lines[:index], *lines[index + count :]]))
        for file in (path, target):
            agent.views[file] = agent._text(file)

    def agent_appends_by_shell(
        self, path: str, lines: list[str], name: str = "one", *, in_sight: bool
    ) -> None:
        """Let a command of an agent append lines to a file, which are in the command or not."""
        old = self.read(path)
        text = join_lines(lines)
        with (self.folder / path).open("a") as file:
            file.write(text)
        command = f"cat >> {path} <<'EOF'\n{text}EOF" if in_sight else f"python3 make.py {path}"
        native = {"stdout": "", "stderr": "", "interrupted": False}
        self.agent(name).call("Bash", {"command": command}, "", native)
        self.note(name, path, old, len(old), len(lines))

    def agent_takes_back(self, path: str, lines: list[str], name: str = "one") -> bool:
        """Let an agent remove lines again; return whether it could."""
        agent = self.agent(name)
        agent.look(path)
        old = self.read(path)
        if agent._text(path).count(join_lines(lines)) != 1:
            return False
        agent.edit(path, join_lines(lines), "")
        agent.views[path] = agent._text(path)
        self.note(name, path, old, old.index(lines[0]), 0)
        return True

    def agent_shows_commit(self, name: str = "one") -> str:
        """Let an agent commit all files, and return the name of the commit."""
        commit = self.commit("Work of the agent")
        said = f"[main {commit[:7]}] Work of the agent\n"
        native = {"stdout": said, "stderr": "", "interrupted": False}
        command = "git add -A && git commit -m 'Work of the agent'"
        self.agent(name).call("Bash", {"command": command}, said, native)
        return commit

    def read_records(self) -> list[dict[str, Any]]:
        """Return the records of all sessions."""
        folder = self.folder.parent / f"{self.folder.name}-sessions"
        return [
            record for agent in self.agents.values() for record in vacr.read(agent.save(folder))
        ]

    # --- answers, and the truth about them ---

    def blame_file(self, path: str) -> list[BlamedLine]:
        """Return the blame of a file in the work tree."""
        return blame_file(find_repository_file(str(self.folder / path)), None, self.read_records())

    def blame_commit(self, commit: str = "HEAD") -> list[tuple[str, list[BlamedLine]]]:
        """Return the blame of the lines that a commit added, by file."""
        return blame_commit(Repository(self.folder), commit, self.read_records()).files

    def list_wrong_answers(self) -> list[str]:
        """Return what is false in the blame of every file and every commit, as sentences.

        Return an empty list if nothing is.
        """
        records = self.read_records()
        log = self.git("log", "--all", "--format=%H %ct").splitlines()
        times = {commit: int(time) for commit, time in map(str.split, log)}
        wrong = []
        for path in self.list_paths():
            blamed = blame_file(find_repository_file(str(self.folder / path)), None, records)
            lines = [line.text for line in blamed]
            for number, line in enumerate(blamed, 1):
                writers = self.find_writers(lines, number - 1)
                fault = self._find_fault(line, writers, times.get(line.commit))
                wrong += [f"{path}:{number} {line.text!r} {fault}"] if fault else []
        repository = Repository(self.folder)
        for commit, time in times.items():
            for path, blamed in blame_commit(repository, commit, records).files:
                lines = self.git("show", f"{commit}:{path}").split("\n")
                for line in blamed:
                    writers = self.find_writers(lines, line.number - 1)
                    fault = self._find_fault(line, writers, time)
                    where = f"{commit[:7]}:{path}:{line.number}"
                    wrong += [f"{where} {line.text!r} {fault}"] if fault else []
        repository.close()
        return wrong

    def _find_fault(self, line: BlamedLine, writers: set[str], time: int | None) -> str:
        """Return what is false in the blame of a line of these writers, or an empty text.

        `time` is the committer date of the commit that added the line, if it is committed.
        """
        text = line.text.strip()
        if line.type == "human" and writers and PERSON not in writers:
            return f"is called human, but {', '.join(sorted(writers))} wrote it"
        if line.type != "ai" or not text:
            return ""
        if writers == {PERSON}:
            return "is called ai, but a person typed it"
        name = line.blame.claim.call_id if line.blame is not None else ""
        call = self.calls.get(name)
        if call is None:
            return f"is called ai, but there is no call {name!r}"
        if text not in call.lines:
            return f"is called ai, but the call {name} did not write it"
        if not call.here:
            return f"is called ai, but the call {name} wrote to another project"
        if time is not None and call.time > time:
            return f"is called ai, but the call is {call.time - time} s later than the commit"
        return ""

    def list_missed_lines(self) -> list[str]:
        """Return the lines of files at the end that an agent alone wrote and blame calls otherwise.

        Idioms do not count.
        """
        records = self.read_records()
        missed = []
        for path in self.list_paths():
            place = find_repository_file(str(self.folder / path))
            for number, line in enumerate(blame_file(place, None, records), 1):
                text = line.text.strip()
                writers = self.writers.get(text, set())
                is_theirs = writers and PERSON not in writers and text not in BARE_IDIOMS
                if is_theirs and line.type != "ai":
                    missed.append(f"{path}:{number} {text!r} is called {line.type}")
        return missed


def join_lines(lines: list[str]) -> str:
    """Return lines as the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def list_contexts(lines: list[str]) -> list[Context]:
    """Return each line without blanks around it, between the lines before and after it."""
    around = ["", *(line.strip() for line in lines), ""]
    return list(zip(around, around[1:], around[2:], strict=False))
