"""Cursor's older transcripts in plain text, as messages with blocks. Step: read.

A line `user:` or `assistant:` opens a message; `[Thinking]`, `[Tool call] Name` and `[Tool result]
Name` open a block in it. Nothing marks where thinking ends and the answer begins, so what follows
`[Thinking]` stays with it. Every block keeps its text as it stands in the file, so that the file
comes out again; a call's parameters are read from it as well as can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.model import Native
from vacr.readers.lines import exact

ROLE = re.compile(r"^\ufeff?(user|assistant):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
SHORT = re.compile(r"^\ufeff?(user|A):[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
BLOCK = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]?", re.MULTILINE)
ROLES = {"user": "user", "assistant": "assistant", "A": "assistant"}
_PARAMETER = re.compile(r"^  ([A-Za-z0-9_.-]+): ?", re.MULTILINE)
_JSON = re.compile(r"true|false|null|-?[0-9][0-9.eE+-]*|[\[{].*[\]}]")

# The parameters that are no text: they are written as JSON. A file's contents may look like JSON
# and are text.
NOT_TEXT = frozenset(
    (
        "replace_all",
        "offset",
        "limit",
        "timeout",
        "block_until_ms",
        "required_permissions",
        "is_background",
        "-i",
        "-A",
        "-B",
    )
    + (
        "-C",
        "head_limit",
        "multiline",
        "ignore_globs",
        "todos",
        "merge",
        "readonly",
        "paths",
        "target_directories",
    )
    + ("num_results",)
)

# What the tools take: a value may hold lines that look like parameters.
PARAMETERS = {
    "Write": ("path", "contents"),
    "StrReplace": ("path", "old_string", "new_string", "replace_all"),
    "Delete": ("path",),
    "Read": ("path", "offset", "limit"),
    "ReadFile": ("path", "offset", "limit"),
    "Shell": (
        "command",
        "description",
        "working_directory",
        "timeout",
        "block_until_ms",
        "required_permissions",
        "is_background",
    ),
    "Grep": (
        "pattern",
        "path",
        "-i",
        "-A",
        "-B",
        "-C",
        "glob",
        "type",
        "output_mode",
        "head_limit",
        "multiline",
    ),
    "Glob": ("target_directory", "glob_pattern"),
    "LS": ("target_directory", "ignore_globs"),
    "TodoWrite": ("todos", "merge"),
    "WebSearch": ("search_term", "explanation"),
    "WebFetch": ("url", "explanation"),
    "Task": ("subagent_type", "description", "prompt", "model", "readonly", "resume"),
    "ReadLints": ("paths",),
    "SemanticSearch": ("query", "target_directories", "num_results"),
    "ApplyPatch": ("patch",),
}


def is_transcript(text: str) -> bool:
    """Tell whether a text begins as a transcript does."""
    text = text.lstrip("\ufeff \t\r\n")
    return (ROLE.match(text) or SHORT.match(text)) is not None


def _openings(text: str) -> Iterator[re.Match[str]]:
    """Find the lines that open messages: where the assistant is called by its name, a line `A:` is
    something that was said.
    """
    pattern = ROLE if any(match[1] == "assistant" for match in ROLE.finditer(text)) else SHORT
    return pattern.finditer(text)


def messages(text: str) -> Iterator[Native]:
    """Give the messages of a transcript: a role, the line that opens it, and blocks whose texts
    make up the rest.
    """
    for match, end in _parts(_openings(text), len(text)):
        yield {
            "role": ROLES[match[1]],
            "line": match[0],
            "content": list(_blocks(text[match.end() : end])),
        }


def before(text: str) -> str:
    """Give what stands before the first message."""
    first = next(_openings(text), None)
    return text if first is None else text[: first.start()]


def _parts(opened: Iterable[re.Match[str]], end: int) -> list[tuple[re.Match[str], int]]:
    """Give what opens each part of a text, and where the part ends."""
    found = list(opened)
    return list(zip(found, [*(match.start() for match in found[1:]), end], strict=False))


def _blocks(text: str) -> Iterator[Native]:
    opened = list(BLOCK.finditer(text))
    said = text[: opened[0].start()] if opened else text
    if said or not opened:
        yield {"type": "text", "text": said}
    for match, end in _parts(opened, len(text)):
        body = text[match.end() : end].replace("\r\n", "\n")
        if not text.startswith("[Tool call]", end):
            # An empty line stands before results and before the next message.
            body = body.removesuffix("\n")
        yield _block(match[1], text[match.start() : end], body)


def _block(kind: str, text: str, body: str) -> Native:
    """Read one block; `text` is all of it, `body` what follows the marker."""
    if kind == "Thinking":
        return {"type": "thinking", "thinking": body, "text": text}
    name, _, rest = body.partition("\n")
    if kind == "Tool result":
        return {
            "type": "tool_result",
            "content": rest.strip("\n"),
            "name": name.strip(),
            "text": text,
        }
    return {
        "type": "tool_use",
        "name": name.strip(),
        "input": parameters(name.strip(), rest),
        "text": text,
    }


def parameters(tool: str, body: str) -> Any:
    """Read the parameters of a call; a body of another form is given as the text it is."""
    known = PARAMETERS.get(tool)
    opened = [match for match in _PARAMETER.finditer(body) if known is None or match[1] in known]
    if not opened or body[: opened[0].start()].strip():
        found = exact(body.strip().encode())
        return found[0] if found else body.strip("\n")
    values: Native = {}
    for match, end in _parts(opened, len(body)):
        if match[1] in values:
            return body.strip("\n")
        text = body[match.end() : end].removesuffix("\n")
        values[match[1]] = text if known is not None and match[1] not in NOT_TEXT else _value(text)
    return values


def _value(text: str) -> Any:
    """Read a value: text stands as it is, everything else as JSON on one line."""
    found = exact(text.encode()) if _JSON.fullmatch(text) else []
    return found[0] if found else text
