"""A simulated world that knows the writer of each line: files, agents that work on them, and people
who change them in between.

The world does not use attribution. Every new line is a unique text, so a line identifies its
writer; only people write common lines, such as empty ones. The world acts and records sessions like
the hosts of agents. Tests then compare the attribution of these sessions with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.attribution.sessions import clock
from tests.attribution.world import agents, commands, control, looks, people
from tests.attribution.world.files import BASE, HUMAN, OTHERS, SHELL, File, Line, diff
from tests.attribution.world.hosts import KINDS, ClaudeHost, Host

__all__ = ["BASE", "HUMAN", "OTHERS", "SHELL", "World"]

_FILLERS = ("", "", "}", "    return None")

_CALM: Sequence[Callable[[World, Worker], None]] = (
    *[agents.edit] * 5,
    agents.half_line,
    agents.every,
    agents.write,
    agents.create,
    agents.fail,
    agents.revert,
    looks.read,
    looks.missing,
    looks.command,
    looks.search,
    looks.diff,
    commands.here_document,
    commands.append,
    commands.move,
    commands.copy,
    commands.move_folder,
    commands.remove,
)
_AGENTS = (*_CALM, commands.script, commands.layout, control.agent)
_PEOPLE: Sequence[Callable[[World], None]] = (
    *[people.edit] * 4,
    people.create,
    people.layout,
    people.move,
    people.move_folder,
    people.remove,
    control.person,
)


@dataclass
class Worker:
    """An agent or a sub-agent, and the versions of files that its host has read.

    A text is kept only for a file that was read as a whole.
    """

    host: Host
    reads: dict[str, tuple[int, str | None]] = field(default_factory=dict)


@dataclass
class World:
    """Files and their changes; `made` has the line numbers that each call wrote, where certain."""

    seed: int
    kinds: Sequence[str] = ("claude",)
    people: float = 0.2
    notices: float = 0.5
    calm: bool = False  # no unexplained changes of files
    files: dict[str, File] = field(default_factory=dict)
    made: dict[str, tuple[str, set[int]] | None] = field(default_factory=dict)
    writers: dict[str, set[str]] = field(
        default_factory=dict
    )  # the calls that wrote the same line, one after the other
    lost: set[str] = field(
        default_factory=set
    )  # lines that came back in a way that no session shows
    texts: int = 0

    def __post_init__(self) -> None:
        """Create the files of the base."""
        self.random = Random(self.seed)  # noqa: S311 - seeded, so that a world can be repeated
        times = clock()
        hosts = [KINDS[kind](f"{kind}{number}", times) for number, kind in enumerate(self.kinds)]
        self.sessions = list(hosts)
        hosts += [
            ClaudeHost(f"sub{number}", times, host)
            for number, host in enumerate(hosts)
            if isinstance(host, ClaudeHost)
        ]
        self.workers = [Worker(host) for host in hosts]
        for number in range(self.random.randint(1, 4)):
            file = File(self.written(self.random.randint(0, 60), BASE))
            file.end = self.random.choice(["\n", "\n", "\r\n"])
            file.last_end = self.random.random() < 0.8
            file.become(file.lines, sure=True)
            file.mark = "\ufeff" if self.random.random() < 0.1 else ""
            self.files[self.random.choice(["src", "src/deep", "lib"]) + f"/f{number}.py"] = file
        self.base = {path: file.data() for path, file in self.files.items()}
        self.control = control.Control(self.files)

    def new_text(self) -> str:
        """Return a unique line."""
        self.texts += 1
        indent = "    " * self.random.randint(0, 2)
        return (
            f"{indent}line_{self.texts} = shared({self.random.randint(0, 999)}, tail_{self.texts})"
        )

    def wrote(self, text: str, *owners: str) -> None:
        """Remember that several calls wrote a line, in any layout."""
        self.writers.setdefault("".join(text.split()), set()).update(owners)

    def written(self, count: int, owner: str) -> list[Line]:
        """Return new lines, some of them common or not UTF-8."""
        lines = []
        for _ in range(count):
            text = self.new_text()
            chance = self.random.random()
            text = (
                self.random.choice(_FILLERS)
                if chance < 0.1
                else text + "  # caf\udce9"
                if chance < 0.12
                else text
            )
            lines.append((text, owner))
        return lines

    def new_path(self, suffix: str = "py") -> str:
        """Return an unused path."""
        self.texts += 1
        return self.random.choice(["src", "src/deep", "lib"]) + f"/n{self.texts}.{suffix}"

    def live(self) -> None:
        """Run one random action."""
        if self.random.random() < self.people:
            self.random.choice([people.edit] if self.calm else _PEOPLE)(self)
            return
        worker = self.random.choice(self.workers)
        self._tell(worker)
        self.random.choice(_CALM if self.calm else _AGENTS)(self, worker)

    def _tell(self, worker: Worker) -> None:
        """Add notices about files that the host read as a whole and others changed."""
        for path, (version, text) in list(worker.reads.items()):
            file = self.files.get(path)
            if (
                file is None
                or text is None
                or file.version == version
                or not isinstance(worker.host, ClaudeHost)
            ):
                continue
            if self.random.random() < self.notices:
                hunks = diff(text, file.shown(), 8)
                if hunks:
                    worker.host.notice(path, hunks, self.random.choice(["attachment", "reminder"]))
                worker.reads[path] = file.version, file.shown()

    def pick(self, fits: Callable[[File], bool] = lambda _: True) -> tuple[str, File] | None:
        """Return a random fitting file."""
        fitting = sorted(path for path, file in self.files.items() if fits(file))
        path = self.random.choice(fitting) if fitting else ""
        return (path, self.files[path]) if path else None

    def look(self, worker: Worker, path: str, first: int = 1, count: int | None = None) -> None:
        """Add a read of some or all lines of a file."""
        file = self.files[path]
        total = len(file.shown().split("\n"))
        whole = count is None
        worker.host.read(path, file, first, total if count is None else count)
        worker.reads[path] = file.version, file.shown() if whole else None
        file.sure, file.relaid = file.sure or whole, file.relaid and not whole

    def ready(self, worker: Worker, path: str) -> None:
        """Add the read that a checking host requires before a change; elsewhere it is optional."""
        file = self.files[path]
        known = worker.reads.get(path, (0,))[0] == file.version
        if known if worker.host.checks else not file.relaid and self.random.random() < 0.5:
            return
        total = len(file.shown().split("\n"))
        first = self.random.randint(1, total)
        whole = self.random.random() < 0.5 or (file.relaid and not worker.host.checks)
        window = (1, None) if whole else (first, self.random.randint(1, total - first + 1))
        self.look(worker, path, *window)

    def change(
        self, worker: Worker, path: str, call_id: str, lines: Iterable[Line], texts: Iterable[str]
    ) -> None:
        """Change a file by a call, and remember the lines of the call."""
        file, made = self.files[path], set(texts)
        file.become(list(lines), sure=True)
        self.note(path, call_id, made)
        known = worker.reads.get(path, (0, None))[1]
        worker.reads[path] = file.version, file.shown() if known is not None else None

    def note(self, path: str, call_id: str, made: set[str]) -> None:
        """Remember the lines of a call."""
        file = self.files[path]
        numbers = {number for number, (text, _) in enumerate(file.lines, 1) if text in made}
        self.made[call_id] = (path, numbers) if file.sure else None
