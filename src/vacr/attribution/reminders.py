"""Files that Claude Code shows in reminders: texts in user messages, and at the end of results.
Step: attribute.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from vacr.attribution import listings, notices
from vacr.attribution.events import Event

_REMINDER = re.compile(r"^<system-reminder>(.*?)</system-reminder>", re.MULTILINE | re.DOTALL)
_LAST = re.compile(
    r"(?:\A|\n)<system-reminder>\s*(Note: (?:(?!<system-reminder>).)*?)\s*</system-reminder>\s*\Z",
    re.DOTALL,
)
_MODIFIED = re.compile(r"Note: (.+?) was modified, either by the user or by a linter\.")
_CALLED = re.compile(r"Called the Read tool with the following input: (\{.*\})\s*\Z", re.DOTALL)
_RESULT = re.compile(r"Result of calling the Read tool:\s*(.*)\Z", re.DOTALL)


def in_message(content: Any) -> Iterator[Event]:
    """Read the reminders in what a user message says."""
    path: str | None = None
    for text in _texts(content):
        if "<system-reminder>" not in text:
            continue
        for found in _REMINDER.finditer(text):
            said = found[1].strip()
            called, result = _CALLED.match(said), _RESULT.match(said)
            if called:
                path = _path(called[1])
            elif result and path is not None:
                yield from listings.listed(path, _plain(result[1]))
                path = None
            else:
                yield from _modified(said)


def at_the_end(output: str) -> Iterator[Event]:
    """Read the reminder that a result ends with."""
    found = _LAST.search(output)
    if found:
        yield from _modified(found[1])


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if (
            isinstance(block, dict)
            and block.get("type") == "text"
            and isinstance(block.get("text"), str)
        ):
            yield block["text"]


def _modified(text: str) -> Iterator[Event]:
    found = _MODIFIED.match(text)
    if found:
        yield notices.read(found[1], text[found.end() :].partition("\n")[2])


def _path(arguments: str) -> str | None:
    value = _json(arguments)
    path = value.get("file_path") if isinstance(value, dict) else None
    return path if isinstance(path, str) else None


def _plain(text: str) -> str:
    """Give a text that may be written as JSON."""
    value = _json(text) if text.startswith('"') else None
    return value if isinstance(value, str) else text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
