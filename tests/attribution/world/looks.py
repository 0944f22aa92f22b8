"""Reads of files, with the tools of hosts and with commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.attribution.world.files import File
from tests.attribution.world.files import diff as diff_of
from tests.attribution.world.hosts import ClaudeHost, CodexHost

if TYPE_CHECKING:
    from tests.attribution.world import Worker, World


def read(world: World, worker: Worker) -> None:
    """Read a file, or some lines of it."""
    picked = world.pick()
    if picked is None:
        return
    total = len(picked[1].shown().split("\n"))
    first = world.random.randint(1, total)
    if world.random.random() < 0.4:
        world.look(worker, picked[0], first, world.random.randint(1, total - first + 1))
    else:
        world.look(worker, picked[0])


def missing(world: World, worker: Worker) -> None:
    """Read a file that does not exist any more."""
    gone = sorted(worker.reads.keys() - world.files.keys())
    if gone and not isinstance(worker.host, CodexHost):
        claude = isinstance(worker.host, ClaudeHost)
        said = (
            "<tool_use_error>File does not exist.</tool_use_error>" if claude else "File not found."
        )
        worker.host.replace(world.random.choice(gone), "some text", world.new_text(), error=said)


def printed_lines(file: File) -> list[str]:
    """Return the lines of a file as a command prints them."""
    return re.findall(r"[^\n]*\n|[^\n]+", file.printed())


def command(world: World, worker: Worker) -> None:
    """Show lines of one or two files with a command."""
    picked = world.pick()
    if picked is None:
        return
    text, shown = _view(world, *picked)
    other = world.pick() if world.random.random() < 0.3 else None
    if other is not None:
        more, rest = _view(world, *other)
        text, shown = f"{text}; echo ---; {more}", f"{shown}---\n{rest}"
    worker.host.shell(text, shown)


def _view(world: World, path: str, file: File) -> tuple[str, str]:
    """Return a command and its output."""
    lines = printed_lines(file)
    first = world.random.randint(1, max(1, len(lines)))
    last = world.random.randint(first, first + 20)
    numbered = [f"{number:6}\t{line}" for number, line in enumerate(lines, 1)]
    listed = [line.removesuffix("\n") + "\n" for line in numbered]
    folder, _, name = path.rpartition("/")
    views = [
        (f"cat {path}", lines),
        (f"cat -n {path}", numbered),
        (f"nl -ba {path}", listed),
        (f"nl -ba {path} | sed -n '{first},{last}p'", listed[first - 1 : last]),
        (f"sed -n '{first},{last}p' {path}", lines[first - 1 : last]),
        (f"sed -n {first}p {path}", lines[first - 1 : first]),
        (f"head -n {last} {path}", lines[:last]),
        (f"head -{first} {path}", lines[:first]),
        (f"tail -n {first} {path}", lines[-first:]),
        (f"tail -n +{first} {path}", lines[first - 1 :]),
        (f"cat {path} | head -n {last} | tail -n {first}", lines[:last][-first:]),
        (
            f"cd {folder} && sed -n '{first},{last}p' {name} && cd - > /dev/null",
            lines[first - 1 : last],
        ),
        (
            f"grep -n {last} {path} || true",
            [line.strip().replace("\t", ":", 1) + "\n" for line in listed if str(last) in line[7:]],
        ),
        (f"wc -l {path}", [f"{len(lines)} {path}\n"]),
    ]
    text, shown = world.random.choice(views)
    return text, "".join(shown)


def search(world: World, worker: Worker) -> None:
    """Search all files and show single lines."""
    wanted = f"tail_{world.random.randint(0, 99)}"
    found = [
        f"{path}:{number}:{line}".removesuffix("\n")
        for path, file in sorted(world.files.items())
        for number, line in enumerate(printed_lines(file), 1)
        if wanted in line
    ]
    if isinstance(worker.host, ClaudeHost) and world.random.random() < 0.5:
        worker.host.search(wanted, found)
    else:
        command, before = world.random.choice([("grep -rn {} .", "./"), ("rg -n {}", "")])
        worker.host.shell(
            command.format(wanted),
            "".join(f"{before}{line}\n" for line in found),
            0 if found else 1,
        )


def diff(world: World, worker: Worker) -> None:
    """Show the difference from the last commit."""
    against, text = world.random.choice(
        [(world.control.index, "git diff"), (world.control.head, "git diff HEAD")]
    )
    lines = []
    for path, old in sorted(against.items()):
        new = world.files.get(path)
        hunks = diff_of(old.printed(), new.printed() if new else "") if new is not None else []
        if hunks:
            lines += [
                f"diff --git a/{path} b/{path}",
                "index 1234567..89abcde 100644",
                f"--- a/{path}",
                f"+++ b/{path}",
                *hunks,
            ]
    worker.host.shell(text, "".join(line + "\n" for line in lines))
