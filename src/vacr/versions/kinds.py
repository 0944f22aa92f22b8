"""The maps of version 2, and which members of version 3 have a place in them. Step: convert.

Follows v2.cddl and v3.cddl rule by rule; these tables say where they differ, and `Kind` moves
members by them. The record and the session need more than a table: see `from_v3` and `from_v2`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from vacr.model import Native
from vacr.schema import schema_for
from vacr.versions import attribution, extensions

EXTENSION = "vendor-ext"
FORMATS = ("interactive", "autonomous")


@dataclass(frozen=True)
class Member:
    """A member of version 2 that not every value of version 3 fits, or that is written in another
    way.
    """

    fits: Callable[[Any], bool]
    to_v2: Callable[[Any], Any] = lambda value: value
    to_v3: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Kind:
    """A map of version 2: what both versions hold alike, what moves, and what else version 3 gives
    a type to.
    """

    json: bool
    known: frozenset[str]
    members: Mapping[str, Member] = field(default_factory=dict)
    typed: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def split(self, value: Native) -> tuple[Native, Native]:
        """Part the members of a map of version 3: those with a place in version 2, as they are
        there, and the rest.
        """
        placed, rest = {}, {}
        for name, item in value.items():
            if name in self.known:
                placed[name] = item
            elif name in self.members and self.members[name].fits(item):
                placed[name] = self.members[name].to_v2(item)
            else:
                rest[name] = item
        return placed, rest

    def admits(self, rest: Native, *, placed: Native) -> bool:
        """Tell whether members could be the rest of a map of version 3; `placed` is what version 2
        has of it.
        """
        return not any(
            name in self.known
            or (name in self.members and self.members[name].fits(item))
            or (name in self.typed and not self.typed[name](item))
            or (name in placed and name != EXTENSION and name not in self.typed)
            for name, item in rest.items()
        )

    def to_v2(self, value: Native) -> Native:
        """Give a map of version 3 as version 2 has it."""
        placed, rest = self.split(value)
        if not rest:
            return placed
        extension = extensions.packed(
            rest, EXTENSION, partial(self.admits, placed=placed), json=self.json
        )
        return placed | {EXTENSION: extension}

    def to_v3(self, value: Native) -> Native:
        """Give a map of version 2 as version 3 has it."""
        result = self.raised(value)
        if EXTENSION in value:
            extension = result.pop(EXTENSION)
            opens = extensions.opens(
                extension, EXTENSION, partial(self.admits, placed=value), json=self.json
            )
            result |= extension["data"] if opens else {EXTENSION: extension}
        return result

    def raised(self, value: Native) -> Native:
        """Give the members of a map of version 2 as version 3 has them, the extension as it is."""
        return {
            name: self.members[name].to_v3(item) if name in self.members else item
            for name, item in value.items()
        }


@dataclass(frozen=True)
class Kinds:
    """All maps of version 2 that hold an extension."""

    interactive: Kind
    autonomous: Kind
    vcs: Kind
    entries: Mapping[str, Kind]


@lru_cache(maxsize=2)
def kinds(*, json: bool) -> Kinds:
    """Give the tables; `json` says whether there is one kind of number, as in `Schema.checker`."""

    def kind(
        *known: str, typed: Mapping[str, Callable[[Any], bool]] | None = None, **members: Member
    ) -> Kind:
        return Kind(
            json,
            frozenset(known),
            {name.replace("_", "-"): one for name, one in members.items()},
            typed or {},
        )

    vcs = kind("type", "revision", "branch", "repository")
    usage = kind("input", "output", "cached", "reasoning", "total", "cost")
    agent = kind("model-id", "model-provider", "models", "cli-name", "cli-version")
    environment = kind("working-dir", "sandboxes", vcs=_map(vcs))
    envelope = partial(
        kind,
        "session-start",
        "session-end",
        "entries",
        typed={"format": _is_text_or_nothing, "session-id": _is_bytes},
        format=Member(_is_format),
        session_id=_TEXT,
        agent_meta=_map(agent),
        environment=_map(environment),
    )
    entry = partial(kind, "type", "timestamp", "id", "children", session_id=_TEXT)
    is_usage = schema_for("3").checker("token-usage", json=json).matches
    payload = Member(
        _always,
        partial(extensions.packed_payload, json=json),
        partial(extensions.opened_payload, json=json),
    )
    return Kinds(
        interactive=envelope(),
        autonomous=envelope(task_description=_TEXT, task_result=_TEXT),
        vcs=vcs,
        entries={
            "user": entry(
                "content", "parent-id", typed={"model-id": _is_text, "token-usage": is_usage}
            ),
            "assistant": entry(
                "content", "parent-id", "model-id", stop_reason=_TEXT, token_usage=_map(usage)
            ),
            "tool-call": entry("call-id", "name", "input", contributor=_CONTRIBUTOR),
            "tool-result": entry("call-id", "output", "status", "is-error"),
            "reasoning": entry("content", "encrypted", "subject"),
            "system-event": entry("event-type", data=payload),
        },
    )


def _always(_: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _is_text_or_nothing(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_format(value: Any) -> bool:
    return isinstance(value, str) and value in FORMATS


def _map(kind: Kind) -> Member:
    return Member(_always, kind.to_v2, kind.to_v3)


_TEXT = Member(_is_text)
_CONTRIBUTOR = Member(
    attribution.is_contributor, attribution.contributor_to_snake, attribution.contributor_to_kebab
)
