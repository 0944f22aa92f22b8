"""The readers there are, and which of them knows a source. Step: read.

A reader is a module, or any object, with the members below. Third parties add theirs under the
entry point group `vacr.readers`; a source is recognised by its content, never by its name.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from vacr.agents.agent import Source
from vacr.agents.lift import Reading
from vacr.errors import NotASession, UnreadableInput, UsageError

READER_ENTRY_POINT_GROUP = "vacr.readers"
BUILT_IN_READER_MODULES = tuple(
    f"vacr.agents.{module}.reader"
    for module in ("claude_code", "codex", "gemini", "cursor", "opencode")
)

_FIRST_SAMPLE_SIZE = 4
_LARGER_SAMPLE_SIZE = 16
_TEXT_SAMPLE_BYTES = 4096
_MIN_RECOGNISED_SHARE = 0.3
_RECORD_HINT = (
    "Check it with: vacr validate FILE. Other verbs know a record by its ending, "
    ".acr.json or .acr.cbor."
)


class Reader(Protocol):
    """What a reader of one agent's sessions has."""

    @property
    def name(self) -> str:
        """The agent, as `--agent` names it."""
        ...

    @property
    def formats(self) -> Sequence[str]:
        """The trace format ids it reads."""
        ...

    def recognises(self, sample: Sequence[Any]) -> float:
        """Tell how much of a sample of native values is this agent's, from 0 to 1; a text that is
        no JSON is one value.
        """
        ...

    def read(self, source: Source) -> Iterator[Reading]:
        """Give the records of the conversations in a source."""
        ...


@cache
def load_readers() -> dict[str, Reader]:
    """Give all readers by name: our own, then those of others.

    Raises:
        UnreadableInput: a reader of others cannot be loaded.
    """
    found = {
        reader.name: reader
        for reader in (cast("Reader", import_module(name)) for name in BUILT_IN_READER_MODULES)
    }
    for point in sorted(entry_points(group=READER_ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            reader = cast("Reader", point.load())
            found.setdefault(reader.name, reader)
        except Exception as error:
            raise UnreadableInput(
                f"the reader {point.name!r} cannot be loaded: {error}",
                hint=f"It comes from {point.value}; uninstall or update the package that has it.",
            ) from error
    return found


def find_reader(source: Source, agent: str | None = None) -> Reader:
    """Give the reader that knows a source, or the one that was asked for.

    Raises:
        UsageError: there is no reader of that name.
        NotASession: the source is empty, or of no agent that is known.
        UnreadableInput: it should be JSON, and is damaged, or it is UTF-16.
    """
    known = load_readers()
    if agent is not None:
        if agent not in known:
            raise UsageError(f"no reader for {agent!r}", hint=f"Known agents: {', '.join(known)}.")
        return known[agent]
    where = source.main.name
    head = source.main.data[:_TEXT_SAMPLE_BYTES]
    if not head.strip() and not source.main.data.strip():
        raise NotASession("empty: there is no session in it", where=where)
    if b"\0" in head and head.lstrip()[:1] not in (b"{", b"["):
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            hint = (
                "Windows PowerShell writes so. Make it UTF-8 first: iconv -f UTF-16 -t "
                "UTF-8 FILE > NEW"
            )
            raise UnreadableInput("UTF-16 text: sessions are UTF-8", where=where, hint=hint)
        hint = f"Known agents: {', '.join(known)}."
        raise NotASession(
            "not a session of an agent that is known: it is no text", where=where, hint=hint
        )
    for sample, enough in _draw_samples(source):
        best, most = None, enough
        for reader in known.values() if sample else ():
            score = reader.recognises(sample)
            if score >= 1:
                return reader
            if score > most or (best is None and score >= most):
                best, most = reader, score
        if best is not None:
            return best
    if damage := source.main.damage():
        hint = (
            "If you know whose it is, name the agent with --agent: its bytes are kept as they are."
        )
        raise UnreadableInput(f"damaged: {damage}", where=where, hint=hint)
    sample = source.main.sample(1)
    if any(isinstance(value, dict) and {"version", "session"} <= value.keys() for value in sample):
        raise NotASession("a record already, not a native session", where=where, hint=_RECORD_HINT)
    raise NotASession(
        "not a session of an agent that is known",
        where=where,
        hint=f"Known agents: {', '.join(known)}. Name one with --agent if it is one of theirs.",
    )


def _draw_samples(source: Source) -> Iterator[tuple[list[Any], float]]:
    """Give what a source is recognised by, and how much of it must be an agent's.

    Its first values, which nearly always are all of one agent; then more, then all of them, then
    its text.
    """
    yield source.main.sample(_FIRST_SAMPLE_SIZE), 1.0
    yield source.main.sample(_LARGER_SAMPLE_SIZE), _MIN_RECOGNISED_SHARE
    yield source.main.sample(), _MIN_RECOGNISED_SHARE
    yield [source.main.data[:_TEXT_SAMPLE_BYTES].decode("utf-8", "ignore")], _MIN_RECOGNISED_SHARE
