"""Checks above the schema: what the members of a record say about each other. Step: validate.

Findings are contradictions that no recording explains: ids that are not unique, children that
disagree with the content they are views of, a session that ends before it starts, counts that
cannot be. Remarks are what real sessions do have: a parent in another file, a call that was never
answered, lines out of order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from vacr import content
from vacr.identity import made_by_vacr, ours
from vacr.model import Native
from vacr.schema.cddl import Finding
from vacr.timestamps import are_usual, milliseconds, span

LIMIT = 100

_VIEW_MEMBERS = ("type", "name", "input", "call-id", "output", "is-error", "content", "encrypted")
_VIEWED = frozenset(("tool-call", "tool-result", "reasoning"))
_MESSAGES = frozenset(("user", "assistant"))
_PARTS = (("cached", "input"), ("reasoning", "output"))

Path = tuple[int, ...]


class Semantics:
    """One pass over the entries of a session."""

    def __init__(self, base: str, *, strict_views: bool, beside: bool = False) -> None:
        """Start; `base` is the pointer of the entries, `strict_views` asks for a child for every
        viewed block.

        `beside` tells that other children may follow those.
        """
        self.base = base
        self.strict_views = strict_views
        self.beside = beside
        self.findings: list[Finding] = []
        self.remarks: list[Finding] = []
        self.ids: dict[str, Path] = {}
        self.parents: dict[str, Path] = {}
        self.calls: dict[str, Path] = {}
        self.results: dict[str, Path] = {}

    def check(self, entries: list[Native]) -> None:
        """Check the entries, then what they say about each other."""
        for index, entry in enumerate(entries):
            self.entry(entry, (index,))
        for parent, path in self.parents.items():
            if parent not in self.ids:
                self.remark(
                    path,
                    "parent-id",
                    "parents exist",
                    f"no entry has the id {short(parent)}",
                    "the parent",
                )
        for call, path in self.results.items():
            if call not in self.calls:
                self.remark(
                    path,
                    "call-id",
                    "calls and results pair",
                    f"a result of {short(call)}",
                    "its call",
                )
        for call, path in self.calls.items():
            if call not in self.results:
                self.remark(
                    path, "call-id", "calls and results pair", f"a call {short(call)}", "its result"
                )
        stamps = [entry["timestamp"] for entry in entries if "timestamp" in entry]
        self.order(stamps)

    def entry(self, entry: Native, path: Path) -> None:
        """Check one entry and its children."""
        identity = entry.get("id")
        if identity is not None:
            if identity in self.ids:
                first = self.pointer(self.ids[identity])
                self.find(
                    path,
                    "id",
                    "ids are unique",
                    f"{short(identity)}, which is the id of {first}",
                    "another id",
                )
            else:
                self.ids[identity] = path
        if type(entry.get("parent-id")) is str:
            self.parents.setdefault(entry["parent-id"], path)
        kind = entry["type"]
        if "call-id" in entry:
            if kind == "tool-call":
                self.calls.setdefault(entry["call-id"], path)
            elif kind == "tool-result":
                self.results.setdefault(entry["call-id"], path)
        if type(entry.get("token-usage")) is dict:
            self.usage(entry["token-usage"], path)
        children = entry.get("children")
        if (
            kind in _MESSAGES
            and type(entry.get("content")) is list
            and (children or self.strict_views)
        ):
            self.views(entry["content"], children or [], path)
        if children:
            for index, child in enumerate(children):
                self.entry(child, (*path, index))

    def views(self, blocks: list[Any], children: list[Native], path: Path) -> None:
        """Compare the children with what the content says."""
        expected = content.children(blocks)
        if expected == children:
            return
        seen = [(child, index) for index, child in enumerate(children) if child["type"] in _VIEWED]
        if self.strict_views and self.beside:
            seen = seen[: len(expected)]
        if self.strict_views and len(seen) != len(expected):
            self.find(
                path,
                "children",
                "children agree with content",
                f"{len(seen)} views",
                f"{len(expected)} views",
            )
            return
        pairs = zip(expected, seen, strict=True) if self.strict_views else _pairs(expected, seen)
        for view, (child, index) in pairs:
            for member in _VIEW_MEMBERS:
                if view.get(member) != child.get(member):
                    told = short(child.get(member))
                    self.find(
                        (*path, index),
                        member,
                        "children agree with content",
                        told,
                        f"{short(view.get(member))}, as in the content",
                    )

    def usage(self, usage: Native, path: Path) -> None:
        """Check that parts are not larger than what they are parts of."""
        for part, whole in _PARTS:
            if (
                type(usage.get(part)) is type(usage.get(whole)) is int
                and usage[part] > usage[whole]
            ):
                told = f"{usage[part]} {part} tokens"
                self.remark(
                    path,
                    f"token-usage/{part}",
                    "usage is sane",
                    told,
                    f"at most the {usage[whole]} of {whole}",
                )

    def order(self, stamps: list[Any]) -> None:
        """Count the places where time goes backwards."""
        # Texts of the usual form sort as the moments do.
        times: list[Any] = (
            stamps if are_usual(stamps) else [milliseconds(stamp) for stamp in stamps]
        )
        back = sum(
            1
            for one, two in itertools.pairwise(times)
            if one is not None and two is not None and two < one
        )
        if back:
            found = (
                f"{back} {'entry is' if back == 1 else 'entries are'} earlier than the one before"
            )
            self.remarks.append(Finding(self.base, "times are in order", found, "none"))

    def find(self, path: Path, member: str, rule: str, found: str, expected: str) -> None:
        """Add a finding, up to a limit."""
        if len(self.findings) < LIMIT:
            self.findings.append(Finding(f"{self.pointer(path)}/{member}", rule, found, expected))

    def remark(self, path: Path, member: str, rule: str, found: str, expected: str) -> None:
        """Add a remark, up to a limit."""
        if len(self.remarks) < LIMIT:
            self.remarks.append(Finding(f"{self.pointer(path)}/{member}", rule, found, expected))

    def pointer(self, path: Path) -> str:
        """Give the pointer of an entry."""
        return f"{self.base}/" + "/children/".join(map(str, path))


def check_record(record: Native) -> tuple[list[Finding], list[Finding]]:
    """Give the findings and the remarks about the session of a record that its schema accepts."""
    source = ours(record).get("source")
    beside = (
        type(source) is dict
        and type(source.get("format")) is str
        and source["format"] in content.BESIDE
    )
    semantics = Semantics("/session/entries", strict_views=made_by_vacr(record), beside=beside)
    return _check(semantics, record["session"], "/session")


def check_session(session: Native, base: str = "") -> tuple[list[Finding], list[Finding]]:
    """Give the findings and the remarks about a session trace that its schema accepts."""
    return _check(Semantics(f"{base}/entries", strict_views=False), session, base)


def _check(semantics: Semantics, session: Native, base: str) -> tuple[list[Finding], list[Finding]]:
    semantics.check(session["entries"])
    start, end = session.get("session-start"), session.get("session-end")
    if start is not None and end is not None:
        extent = span([start, end])
        if extent is not None and milliseconds(start) != milliseconds(extent[0]):
            semantics.findings.append(
                Finding(
                    f"{base}/session-end",
                    "times are in order",
                    short(end),
                    f"a time after the start, {short(start)}",
                )
            )
    return semantics.findings, semantics.remarks


def _pairs(
    expected: list[Native], seen: list[tuple[Native, int]]
) -> Iterator[tuple[Native, tuple[Native, int]]]:
    """Pair children with views by their call ids; what has none is another implementation's own
    affair.
    """
    views = {(view["type"], view["call-id"]): view for view in expected if "call-id" in view}
    for child, index in seen:
        view = views.get((child["type"], child.get("call-id")))
        if view is not None:
            yield view, (child, index)


def short(value: Any) -> str:
    """Show a value in a message, cut to a line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - one line of a message
