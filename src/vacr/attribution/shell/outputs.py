"""Which lines of a shell call's output are which lines of which file. Step: attribute.

A script often shows several files, with a line of `echo` between them. Each command that prints is given its part of the output
where that part is certain; what follows an unknown amount of output is found again at the next line that an `echo` printed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vacr.attribution import hunks, listings
from vacr.attribution.calls import Call
from vacr.attribution.events import DiffSeen, Event, Move, Observe
from vacr.attribution.shell.lexer import Command, Script

_CODEX_HEAD = re.compile(
    r"\A(?:Chunk ID:.*\n)?(?:Exit code: (-?\d{1,5})\n)?Wall time:.*\n(?:Process (?:exited with code (-?\d{1,5})|running.*)\n)?"
    r"(?:.*\n)??(?:.*\n)??Output:\n"
)
_CUT = re.compile(
    r"^(?:…|\.\.\.)\s?\[?\d+ (?:tokens|chars|lines|characters) (?:truncated|omitted)|^\[?\.\.\. \[?\d+ lines truncated"
    r"|<persisted-output>|^Output too large",
    re.MULTILINE,
)
_TELLING = 3  # a shorter line may be anybody's

Shows = Callable[[Sequence[str]], Iterator[Event]]


@dataclass(slots=True)
class _Part:
    """What one command prints: known lines, or at most `count` lines that `show` reads; neither means an unknown amount."""

    number: int
    literal: list[str] | None = None
    count: int | None = None
    show: Shows | None = None
    anywhere: bool = False  # its lines tell themselves apart from others


def output_of(call: Call) -> tuple[int | None, str]:
    """Give a call's exit code, where it is told, and what it printed."""
    result = call.native.get("toolUseResult")
    if isinstance(result, dict) and isinstance(result.get("stdout"), str):
        return (1 if call.state != "done" else None), result["stdout"]
    head = _CODEX_HEAD.match(call.output)
    if head:
        code = head[1] or head[2]
        return (int(code) if code else None), call.output[head.end() :]
    display = call.output
    if display.startswith("Command: ") and "\nStdout: " in display:  # Gemini CLI until 2025
        code_found = re.search(r"^Exit Code: (-?\d{1,5})$", display, re.MULTILINE)
        stdout = display.partition("\nStdout: ")[2].partition("\nStderr: ")[0]
        return (int(code_found[1]) if code_found else None), stdout
    if display.startswith("Output: "):
        return None, display.removeprefix("Output: ")
    return None, display


def shown_by(script: Script, output: str) -> dict[int, list[Event]]:
    """Give the events that the output of a script shows, by the number of the command."""
    cut = _CUT.search(output)
    if cut:
        output = output[: cut.start()].rpartition("\n")[0]
    lines = output.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    parts = list(_parts(script))
    if script.opaque:
        parts.append(_Part(-1))
    return _dealt(parts, lines)


def _dealt(parts: Sequence[_Part], lines: Sequence[str]) -> dict[int, list[Event]]:
    events: dict[int, list[Event]] = {}
    at: int | None = 0
    for i, part in enumerate(parts):
        following = parts[i + 1 :]
        if part.literal is not None:
            if at is None:
                at = _again(lines, part.literal)
            if at is None or list(lines[at : at + len(part.literal)]) != part.literal:
                return events
            at += len(part.literal)
            continue
        if part.anywhere and part.show is not None:
            events.setdefault(part.number, []).extend(part.show(lines[at or 0 :]))
        if at is None:
            continue
        end = _end(part, following, lines, at)
        if end is not None and part.show is not None and not part.anywhere:
            seen = lines[at:end]
            if not any(line.startswith(("cat: ", "sed: ", "grep: ", "head: ", "bash: ", "fatal: ")) for line in seen[:3]):
                events.setdefault(part.number, []).extend(part.show(seen))
        at = end
    return events


def _end(part: _Part, following: Sequence[_Part], lines: Sequence[str], at: int) -> int | None:
    """Find where the output of a part ends; `None` when that is not certain."""
    if not following:
        return len(lines) if part.count is None or len(lines) - at <= part.count else None
    after = following[0].literal
    if after is not None:
        if part.count is not None and list(lines[at + part.count : at + part.count + len(after)]) == after:
            return at + part.count
        found = [n for n in range(at, len(lines) - len(after) + 1) if list(lines[n : n + len(after)]) == after]
        fits = [n for n in found if part.count is None or n - at <= part.count]
        return fits[0] if len(fits) == 1 else None
    if part.show is not None and part.count is not None and at + part.count < len(lines):
        return at + part.count
    return None


def _again(lines: Sequence[str], literal: Sequence[str]) -> int | None:
    """Find a line that was printed, after an unknown amount of output; it must stand there once, and say something."""
    if not any(len(line.strip()) >= _TELLING for line in literal):
        return None
    found = [n for n in range(len(lines) - len(literal) + 1) if list(lines[n : n + len(literal)]) == list(literal)]
    return found[0] if len(found) == 1 else None


_SILENT = frozenset(["cd", "mkdir", "rm", "mv", "cp", "chmod", "export", "true", "set", "sleep", "touch", ":"])


def _parts(script: Script) -> Iterator[_Part]:
    pipelines: list[list[tuple[int, Command]]] = []
    for number, command in enumerate(script.commands):
        if command.joined == "|" and pipelines:
            pipelines[-1].append((number, command))
        else:
            pipelines.append([(number, command)])
    for pipeline in pipelines:
        part = _printed(pipeline)
        if part is not None:
            yield part


def _printed(pipeline: Sequence[tuple[int, Command]]) -> _Part | None:
    """Say what a pipeline prints; `None` for one that prints nothing."""
    number, command = pipeline[0]
    words = command.words
    name = words[0] if words else ""
    if len(pipeline) == 1 and (
        name in _SILENT or any(r.operator in (">", ">>") and r.descriptor in ("", "1") for r in command.redirects)
    ):
        return None
    if any(
        command.redirects and r.operator in (">", ">>") and r.descriptor in ("", "1")
        for _, command in pipeline[-1:]
        for r in command.redirects
    ):
        return None
    if None in words:
        return _Part(number)
    plain = [word or "" for word in words]
    if len(pipeline) == 1 and name == "echo":
        text = " ".join(plain[1:])
        known = "\\" not in text and not (len(plain) > 1 and re.fullmatch(r"-[neE]+", plain[1]))
        return _Part(number, text.split("\n")) if known else _Part(number)
    read = _FILES.get(name or "")
    part = read(number, plain) if read else None
    if part is None:
        return _Part(number)
    for _, after in pipeline[1:]:
        part = _piped(part, after)
        if part is None:
            return _Part(number)
    return part


def _piped(part: _Part, command: Command) -> _Part | None:
    words = command.words
    if words[:1] == ["head"]:
        limit = _head_count(words[1:])
        if limit is None:
            return None
        part.count = limit if part.count is None else min(limit, part.count)
        return part
    if words[:1] in (["cat"], ["less"]) and len(words) == 1:
        return part
    if words[:1] == ["sed"] and part.show is not None:
        ranges = _sed_ranges(words)
        if ranges and ranges[1] is None:
            first, last = ranges[0]
            show = part.show
            part.count = None if last is None else last - first + 1
            part.show = lambda lines: _moved(show(lines), first - 1)
            return part
    if words[:1] == ["tail"] and part.show is not None and getattr(part.show, "numbered", False):
        part.count = None
        return part
    return None


def _moved(events: Iterator[Event], by: int) -> Iterator[Event]:
    for event in events:
        if isinstance(event, Observe):
            yield Observe(event.path, event.first + by, event.lines)


def _head_count(words: Sequence[str | None]) -> int | None:
    if not words:
        return 10
    text = " ".join(word or "" for word in words)
    found = re.fullmatch(r"(?:-n ?|-)(\d{1,7})", text)
    return int(found[1]) if found else None


def _sed_ranges(words: Sequence[str | None]) -> tuple[tuple[int, int | None], str | None] | None:
    """Read `sed -n 'a,bp' [file]`."""
    rest = [word for word in words[1:] if word not in ("-n", "-e", "-E")]
    if "-n" not in words or not rest or rest[0] is None or rest[2:]:
        return None
    found = re.fullmatch(r"\s*(\d{1,7})\s*(?:,\s*(\d{1,7}|\$|\+\d{1,7}))?\s*p\s*;?\s*(?:\d{1,7}q)?", rest[0])
    if not found:
        return None
    first = int(found[1])
    last: int | None = first
    if found[2] == "$":
        last = None
    elif found[2]:
        last = first + int(found[2][1:]) if found[2].startswith("+") else int(found[2])
    return (first, last), rest[1] if rest[1:] else None


def _plain(path: str, first: int) -> Shows:
    def show(lines: Sequence[str]) -> Iterator[Event]:
        if lines:
            yield Observe(path, first, [line + "\n" for line in lines])

    return show


def _numbered(path: str, form: re.Pattern[str]) -> Shows:
    def show(lines: Sequence[str]) -> Iterator[Event]:
        for first, seen in listings.numbered(lines, form):
            yield Observe(path, first, seen)

    show.numbered = True  # type: ignore[attr-defined]
    return show


def _sed(number: int, words: Sequence[str]) -> _Part | None:
    ranges = _sed_ranges(words)
    if ranges is None or ranges[1] is None:
        return None
    (first, last), path = ranges[0], str(ranges[1])
    return _Part(number, None, None if last is None else last - first + 1, _plain(path, first))


def _cat(number: int, words: Sequence[str]) -> _Part | None:
    files = [word for word in words[1:] if not word.startswith("-")]
    options = [word for word in words[1:] if word.startswith("-")]
    if len(files) != 1 or options not in ([], ["-n"]):
        return None
    return _Part(number, None, None, _numbered(files[0], listings.ARROW) if options else _plain(files[0], 1))


def _nl(number: int, words: Sequence[str]) -> _Part | None:
    files = [word for word in words[1:] if not word.startswith("-")]
    if len(files) != 1 or "-ba" not in words:
        return None
    return _Part(number, None, None, _numbered(files[0], listings.ARROW))


def _head(number: int, words: Sequence[str]) -> _Part | None:
    if not words[1:] or words[-1].startswith("-"):
        return None
    count = _head_count(words[1:-1])
    return None if count is None else _Part(number, None, count, _plain(words[-1], 1))


def _tail(number: int, words: Sequence[str]) -> _Part | None:
    found = re.fullmatch(r"(?:-n ?)\+(\d{1,7})", " ".join(words[1:-1]))
    return _Part(number, None, None, _plain(words[-1], int(found[1]))) if found else None


def _grep(number: int, words: Sequence[str]) -> _Part | None:
    options = "".join(word[1:] for word in words[1:] if re.fullmatch(r"-[a-zA-Z0-9]+", word))
    if "n" not in options or any(letter in options for letter in "clLoqhv"):
        return None
    arguments = _arguments(words[1:])
    files = arguments[1:]
    recursive = words[0] == "rg" or "r" in options or "R" in options

    def show(lines: Sequence[str]) -> Iterator[Event]:
        several = list(listings.found_in(lines))
        single = listings.numbered(lines, listings.FOUND)
        if len(files) == 1 and single and not any(line.startswith(files[0]) for line in lines):
            for first, seen in single:
                yield Observe(files[0], first, seen)
        elif recursive or len(files) > 1:
            for path, (first, seen) in several:
                yield Observe(path, first, seen)

    show.numbered = True  # type: ignore[attr-defined]
    return _Part(number, None, None, show)


def _renamed(lines: Sequence[str]) -> Iterator[Event]:
    """Read the renames that `git status` tells of."""
    for line in lines:
        found = re.match(r"(?:R[ MD] |\s+renamed:\s+)(.+?) -> (.+)$", line)
        if found:
            yield Move(found[1].strip('"'), found[2].strip('"'), told=True)


def _arguments(words: Sequence[str]) -> list[str]:
    """Leave the options of grep and their values out."""
    found, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-A", "-B", "-C", "-m", "-g", "--glob", "-t", "--type", "--include", "--exclude", "-e"):
            skip = word != "-e"
        elif not word.startswith("-"):
            found.append(word)
    return found


def _git(number: int, words: Sequence[str]) -> _Part | None:
    if words[1:2] == ["status"]:
        return _Part(number, None, None, _renamed, anywhere=True)
    if words[1:2] != ["diff"]:
        return None
    rest = words[2:]
    arguments = rest[: rest.index("--")] if "--" in rest else rest
    if any(
        word not in ("HEAD", "--no-color", "-U3") and (not word or word.startswith("-") or ("/" not in word and "." not in word))
        for word in arguments
    ):
        return None

    def show(lines: Sequence[str]) -> Iterator[Event]:
        for path, found in hunks.files_of("\n".join(lines)):
            if path is not None:
                yield DiffSeen(path, found)

    return _Part(number, None, None, show, anywhere=True)


_FILES: dict[str, Callable[[int, Sequence[str]], _Part | None]] = {
    "sed": _sed,
    "cat": _cat,
    "nl": _nl,
    "head": _head,
    "tail": _tail,
    "grep": _grep,
    "rg": _grep,
    "git": _git,
}
