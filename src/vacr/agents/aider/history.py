r"""Aider's chat history, split into what Aider, the person and the model wrote.

The history is Markdown that Aider only appends to. It has no quoting: an answer of the model stands
there as it is, and may contain headings and quotes of its own. Aider ends its own lines with two
blanks, and begins them after an empty line or after another line of its own; the split relies on
both. Every byte belongs to exactly one segment, so a wrong split loses nothing.

| segment | written as |
|---|---|
| `run` | `# aider chat started at TIME`, in local time without a zone |
| `user` | `#### ` before each line of the input |
| `tool` | `> ` before the first line of each message of Aider |
| `text` | everything else: answers of the model |

>>> from vacr.agents.aider.history import split_history
>>> text = "\n# aider chat started at 2026-05-02 08:15:00\n\n> Aider v0.86.2  \n\n#### Tidy up  \n"
>>> for kind, raw in split_history(text + "\nDone.\n\n> Tokens: 3k sent, 2 received.  \n"):
...     print(kind, repr(raw))
run '\n# aider chat started at 2026-05-02 08:15:00\n\n'
tool '> Aider v0.86.2  \n'
user '\n#### Tidy up  \n'
text '\nDone.\n\n'
tool '> Tokens: 3k sent, 2 received.  \n'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

RUN, USER, TOOL, TEXT = "run", "user", "tool", "text"

RUN_HEADING = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\r?\Z")
FIRST_HEADING = re.compile(r"(?:\A|\n)# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\r?\n")
_USER_LINE = re.compile(r"####(?: .*)?  \r?\Z", re.DOTALL)
_TOOL_LINE = re.compile(r">(?: .*)?  \r?\Z", re.DOTALL)
_SURE_TOOL_LINE = re.compile(
    r"> (?:Tokens: \d|Applied edit to |Commit [0-9a-f]{7,40} |\^C|(?:Main m|M)odel: ).*  \r?\Z"
)
_OPEN_TOOL_LINE = re.compile(r"> \S")
_FAILURE_START = re.compile(r"> # \d+ SEARCH/REPLACE blocks? failed to match!\r?\Z")
_FAILURE_ENDS = ("The SEARCH section must exactly match ", "Just reply with fixed versions of ")
_FENCE = re.compile(r"(?:```|~~~)")
_MAX_MESSAGE_LINES = 2000
_MAX_HEADING_LINES = 3


def split_history(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each segment; the texts together are the whole text."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    segments = _Segments()
    position = 0
    while position < len(lines):
        if not lines[position]:
            break
        position += segments.add_line(lines, position)
    yield from segments.close()


class _Segments:
    """The segments found so far, and the one that the next line may continue."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._found: list[tuple[str, list[str]]] = []
        self._in_fence = False

    def close(self) -> Iterator[tuple[str, str]]:
        """Yield all segments."""
        for kind, lines in self._found:
            yield kind, "".join(lines)

    def add_line(self, lines: list[str], position: int) -> int:
        """Add the line at a position, or a message of several lines; return how many."""
        bare = lines[position].removesuffix("\n")
        kind = self._find_kind(bare)
        if kind == TOOL:
            count = _count_message_lines(lines, position, bare)
            self._append(TOOL, lines[position : position + count])
            return count
        self._append(kind, [lines[position]])
        if kind == TEXT and _FENCE.match(bare):
            self._in_fence = not self._in_fence
        return 1

    def _find_kind(self, bare: str) -> str:
        """Return the kind of segment that a line belongs to."""
        last = self._found[-1][0] if self._found else ""
        is_after_blank = not self._found or self._found[-1][1][-1].strip("\r\n") == ""
        if is_after_blank and RUN_HEADING.match(bare):
            return RUN
        if last == RUN and not bare.strip() and len(self._found[-1][1]) < _MAX_HEADING_LINES:
            return RUN
        if self._in_fence and not _SURE_TOOL_LINE.match(bare):
            return TEXT
        if _USER_LINE.match(bare) and (is_after_blank or last == USER):
            return USER
        if _TOOL_LINE.match(bare) and (is_after_blank or last in (TOOL, USER, RUN)):
            return TOOL
        if last in (TOOL, RUN) and _OPEN_TOOL_LINE.match(bare):
            return TOOL
        return TEXT

    def _append(self, kind: str, lines: list[str]) -> None:
        """Add lines to the last segment of their kind, or begin one.

        The empty line before a heading or an input belongs to it.
        """
        last = self._found[-1] if self._found else None
        if kind in (RUN, USER, TOOL):
            self._in_fence = False
        if last is not None and last[0] == kind and kind != RUN:
            last[1].extend(lines)
            return
        if kind == RUN and last is not None and last[0] == RUN and not lines[0].strip():
            last[1].extend(lines)
            return
        lead: list[str] = []
        if kind in (RUN, USER) and last is not None and last[0] == TEXT:
            lead = [last[1].pop()]
            if not last[1]:
                self._found.pop()
        self._found.append((kind, lead + lines))


def _count_message_lines(lines: list[str], position: int, bare: str) -> int:
    """Return how many lines a message of Aider has; only its first line is marked."""
    if _TOOL_LINE.match(bare):
        return 1
    is_failure = _FAILURE_START.match(bare) is not None
    for end in range(position + 1, min(len(lines), position + _MAX_MESSAGE_LINES)):
        line = lines[end].removesuffix("\n").removesuffix("\r")
        if RUN_HEADING.match(line) or _SURE_TOOL_LINE.match(line):
            return 1
        if line.endswith("  ") and (not is_failure or line.startswith(_FAILURE_ENDS)):
            return end - position + 1
    return 1


# --- Input of the person ---


def parse_input(raw: str) -> str:
    """Return the input of a person without the marks of its lines."""
    lines = raw.replace("\r\n", "\n").strip("\n").split("\n")
    return "\n".join(
        line.removeprefix("####").removeprefix(" ").removesuffix("  ") for line in lines
    )


def render_input(text: str) -> str:
    """Return an input as Aider writes it."""
    return "\n#### " + "  \n#### ".join(text.split("\n")) + "  \n"


# --- Messages of Aider ---


def list_messages(raw: str) -> list[str]:
    """Return the messages in a segment of Aider's own, without marks."""
    messages: list[str] = []
    is_open = False
    for line in raw.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        if is_open:
            messages[-1] += f"\n{line.removesuffix('  ')}"
        else:
            messages.append(line.removeprefix(">").removeprefix(" ").removesuffix("  "))
        is_open = not line.endswith("  ")
    return messages
