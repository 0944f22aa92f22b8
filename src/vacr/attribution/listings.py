"""Lines with numbers, as tools show files. Step: attribute."""

import re
from collections.abc import Iterable, Iterator

# How a listing puts the number before the line.
ARROW = re.compile(r" *(\d{1,7})(?:→|\t)")  # Claude Code's Read, `cat -n`, `nl`
BAR = re.compile(r"(\d{5})\| ")  # OpenCode's read until 2026
COLON = re.compile(r"(\d{1,7}): ")  # OpenCode's read since
FOUND = re.compile(r"(\d{1,7})[:-]")  # `grep -n` in one file, with its context

# Tools cut longer lines; what a cut line was is not known.
LONGEST = 1_900

Run = tuple[int, list[str]]


def numbered(lines: Iterable[str], form: re.Pattern[str]) -> list[Run]:
    """Gather lines that carry numbers into runs of consecutive ones."""
    runs: list[Run] = []
    for line in lines:
        found = form.match(line)
        if not found:
            continue
        number, text = int(found[1]), line[found.end() :]
        if len(text) >= LONGEST:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == number:
            runs[-1][1].append(text + "\n")
        else:
            runs.append((number, [text + "\n"]))
    return runs


def found_in(lines: Iterable[str]) -> Iterator[tuple[str, Run]]:
    """Read `path:12:text` and `path-13-text`, as `grep -n` shows several files."""
    form = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")
    path: str | None = None
    for line in lines:
        found = form.match(line)
        if found:
            path = found[1]
            yield path, (int(found[2]), [line[found.end() :] + "\n"])
        elif path is not None and line.startswith(path + "-"):
            context = re.match(r"(\d{1,7})-", line[len(path) + 1 :])
            if context:
                yield path, (int(context[1]), [line[len(path) + 1 + context.end() :] + "\n"])
