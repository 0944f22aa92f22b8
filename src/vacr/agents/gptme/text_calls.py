r"""Calls that gptme reads from the text of an answer.

gptme has three forms. In the usual one, a fence names a tool in its first line. In the second, a
line has the tool, an id and JSON. The third is XML.

A fence may have other fences in it, for example when the agent writes a Markdown file. The rules of
gptme for them changed, so that the end of such a call is not certain.

>>> from vacr.agents.gptme.text_calls import find_calls
>>> [call] = find_calls("Here it is:\n\n```save a.py\nprint(1)\n```\n")
>>> call.tool, call.input, call.is_certain
('save', {'path': 'a.py', 'content': 'print(1)'}, True)
>>> [call] = find_calls('@shell(call-7): {"command": "make"}')
>>> call.tool, call.input, call.call_id
('shell', {'command': 'make'}, 'call-7')
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from vacr.agents.lift import parse_names

FILE_TOOLS = {"save": "content", "append": "content", "patch": "patch"}
"""Tools whose fence names a path → the argument that has the text of the fence."""
CODE_TOOLS = {"shell": "command", "ipython": "code"}
"""Tools whose fence is a program → the argument that has it."""
OTHER_TOOLS = parse_names(
    """
    browser chats choice complete computer form gh lessons mcp memory morph patch_many rag read
    recall restart screenshot subagent tmux todo todoread todowrite vent vision
    """
)
FENCE_TOOLS = {
    **{name: name for name in (*FILE_TOOLS, *CODE_TOOLS, *OTHER_TOOLS)},
    **dict.fromkeys(("bash", "sh"), "shell"),
    **dict.fromkeys(("python", "py"), "ipython"),
}
"""First word of a fence → the tool. Plain code has fences, too, so that a call needs a result."""
CALL_FENCES = frozenset(("save", "append", "patch"))
"""The first words of fences that are calls even without a result."""

_FENCE_START = "```"
_FENCE = re.compile(r"(`{3,})([^`]*)")
_TOOL_LINE = re.compile(r"^@([\w.]+)\(([\w\-:.]+)\):\s*(?=\{)", re.MULTILINE)
_XML_CALL = re.compile(
    r"<tool-use>\s*<(\w+)(?:\s+\w+=(?:\"([^\"]*)\"|'([^']*)'))?\s*>(.*?)</\1>\s*</tool-use>",
    re.DOTALL,
)
_THOUGHT = re.compile(r"\A\s*<(think|thinking)>\n?(.*?)\n?</\1>", re.DOTALL)
_DECODER = json.JSONDecoder()


class TextCall(NamedTuple):
    """A call in the text of an answer."""

    tool: str
    input: Any
    call_id: str = ""
    is_certain: bool = True
    """Whether the text of the call surely is what gptme read."""
    needs_result: bool = False
    """Whether the text is a call only if a result follows."""


def split_thought(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of an answer, and the rest; both may be empty."""
    thought = _THOUGHT.match(text)
    return ("", text) if thought is None else (thought[2], text[thought.end() :])


def find_calls(text: str) -> list[TextCall]:
    """Return the calls in the text of an answer, in their order."""
    _, said = split_thought(text)
    calls = list(_find_fences(said))
    if "@" in said:
        calls += _find_tool_lines(said)
    if "<tool-use>" in said:
        calls += _find_xml_calls(said)
    return calls


def _find_fences(text: str) -> Iterator[TextCall]:
    """Yield the calls in fences; a fence without an end is not a call."""
    if _FENCE_START not in text:
        return
    lines = text.replace("\r\n", "\n").split("\n")
    next_line = 0
    for number in [at for at, line in enumerate(lines) if line.startswith(_FENCE_START)]:
        opening = _FENCE.fullmatch(lines[number]) if number >= next_line else None
        if opening is None or not opening[2].strip():
            continue
        first = number + 1
        end, is_nested = _find_fence_end(lines, first, len(opening[1]))
        if end is None:
            return
        call = _make_fence_call(opening[2].strip(), "\n".join(lines[first:end]))
        if call is not None:
            yield call._replace(is_certain=not is_nested)
        next_line = end + 1


def _find_fence_end(lines: list[str], start: int, length: int) -> tuple[int | None, bool]:
    """Return the line that ends a fence, and whether other fences are in it.

    The line is None if the fence has no end.
    """
    depth, is_nested = 1, False
    for number in range(start, len(lines)):
        line = lines[number]
        fence = _FENCE.fullmatch(line.rstrip()) if line.startswith(_FENCE_START) else None
        if fence is None or len(fence[1]) != length:
            continue
        depth += 1 if fence[2] else -1
        is_nested = is_nested or bool(fence[2])
        if not depth:
            return number, is_nested
    return None, is_nested


def _make_fence_call(head: str, body: str) -> TextCall | None:
    """Return the call of a fence, or None if its first word is not a tool."""
    word, _, rest = head.partition(" ")
    tool = FENCE_TOOLS.get(word)
    if tool is None:
        return None
    arguments: Any = {FILE_TOOLS.get(tool) or CODE_TOOLS.get(tool) or "text": body}
    if tool in FILE_TOOLS:
        arguments = {"path": rest, **arguments}
    elif rest:
        arguments["arguments"] = rest
    return TextCall(tool, arguments, needs_result=word not in CALL_FENCES)


def _find_tool_lines(text: str) -> Iterator[TextCall]:
    """Yield the calls in lines with JSON."""
    end = 0
    for start in _TOOL_LINE.finditer(text):
        if start.start() < end:
            continue
        try:
            arguments, end = _DECODER.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            return
        yield TextCall(start[1], arguments, start[2])


def _find_xml_calls(text: str) -> Iterator[TextCall]:
    """Yield the calls in XML; their text may have been read in several ways."""
    for tool, double, single, body in _XML_CALL.findall(text):
        path, said = html.unescape(double or single), html.unescape(body.strip())
        arguments = {FILE_TOOLS.get(tool) or CODE_TOOLS.get(tool) or "text": said}
        if path:
            arguments = {"path": path, **arguments}
        yield TextCall(tool, arguments, is_certain=tool not in FILE_TOOLS)
