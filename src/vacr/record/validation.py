"""What validation says about a value. Step: validate.

Checks above the schema: what the members of a record say about each other. Step: validate.

Findings are contradictions that no recording explains: ids that are not unique, children that
disagree with the content they are views of, a session that ends before it starts, counts that
cannot be. Remarks are what real sessions do have: a parent in another file, a call that was never
answered, lines out of order.

The schemas of the record format, by version. Step: validate.

A record is checked by the schema its own `version` names: 3.* by v3.cddl, 2.* by v2.cddl, 1.* by
v1.cddl. They are compiled when first asked for.

Validation of records against their CDDL schema, and of what their members say about each other.
Step: validate.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

from vacr.cddl import CddlError, Finding, Schema, compile_cddl, describe_value
from vacr.errors import InvalidRecord, InvalidSchema
from vacr.model import JsonObject
from vacr.record.blocks import FORMATS_WITH_SEPARATE_CALLS, build_child_entries
from vacr.record.identity import get_vacr_metadata, is_made_by_vacr
from vacr.record.timestamps import are_sortable_timestamps, find_time_span, get_epoch_milliseconds


@dataclass(frozen=True)
class ValidationReport:
    """The verdict about one value: findings make it invalid; remarks are worth a look and
    do not.
    """

    rule: str
    schema: str
    findings: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __bool__(self) -> bool:
        """Be true for a valid value."""
        return self.valid

    def raise_for_errors(self) -> None:
        """Do nothing for a valid value.

        Raises:
            InvalidRecord: naming the first finding, and how many there are.
        """
        if self.findings:
            first, more = self.findings[0], len(self.findings) - 1
            raise InvalidRecord(
                f"{first.rule}: {first.found}, expected {first.expected}"
                + (f" (and {more} more)" if more else ""),
                where=first.pointer or "/",
            )


MAX_SEMANTIC_FINDINGS = 100

_VIEW_MEMBERS = ("type", "name", "input", "call-id", "output", "is-error", "content", "encrypted")
_VIEWED_TYPES = frozenset(("tool-call", "tool-result", "reasoning"))
_MESSAGE_TYPES = frozenset(("user", "assistant"))
_USAGE_PARTS = (("cached", "input"), ("reasoning", "output"))

EntryPath = tuple[int, ...]


class SemanticCheck:
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
        self.ids: dict[str, EntryPath] = {}
        self.parents: dict[str, EntryPath] = {}
        self.calls: dict[str, EntryPath] = {}
        self.results: dict[str, EntryPath] = {}

    def check(self, entries: list[JsonObject]) -> None:
        """Check the entries, then what they say about each other."""
        for index, entry in enumerate(entries):
            self.entry(entry, (index,))
        for parent, path in self.parents.items():
            if parent not in self.ids:
                self.remark(
                    path,
                    "parent-id",
                    "parents exist",
                    f"no entry has the id {shorten_value(parent)}",
                    "the parent",
                )
        for call, path in self.results.items():
            if call not in self.calls:
                self.remark(
                    path,
                    "call-id",
                    "calls and results pair",
                    f"a result of {shorten_value(call)}",
                    "its call",
                )
        for call, path in self.calls.items():
            if call not in self.results:
                self.remark(
                    path,
                    "call-id",
                    "calls and results pair",
                    f"a call {shorten_value(call)}",
                    "its result",
                )
        stamps = [entry["timestamp"] for entry in entries if "timestamp" in entry]
        self.order(stamps)

    def entry(self, entry: JsonObject, path: EntryPath) -> None:
        """Check one entry and its children."""
        identity = entry.get("id")
        if identity is not None:
            if identity in self.ids:
                first = self.pointer(self.ids[identity])
                self.find(
                    path,
                    "id",
                    "ids are unique",
                    f"{shorten_value(identity)}, which is the id of {first}",
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
            kind in _MESSAGE_TYPES
            and type(entry.get("content")) is list
            and (children or self.strict_views)
        ):
            self.views(entry["content"], children or [], path)
        if children:
            for index, child in enumerate(children):
                self.entry(child, (*path, index))

    def views(self, blocks: list[Any], children: list[JsonObject], path: EntryPath) -> None:
        """Compare the children with what the content says."""
        expected = build_child_entries(blocks)
        if expected == children:
            return
        seen = [
            (child, index) for index, child in enumerate(children) if child["type"] in _VIEWED_TYPES
        ]
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
        pairs = (
            zip(expected, seen, strict=True)
            if self.strict_views
            else _pair_by_call_id(expected, seen)
        )
        for view, (child, index) in pairs:
            for member in _VIEW_MEMBERS:
                if view.get(member) != child.get(member):
                    told = shorten_value(child.get(member))
                    self.find(
                        (*path, index),
                        member,
                        "children agree with content",
                        told,
                        f"{shorten_value(view.get(member))}, as in the content",
                    )

    def usage(self, usage: JsonObject, path: EntryPath) -> None:
        """Check that parts are not larger than what they are parts of."""
        for part, whole in _USAGE_PARTS:
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
            stamps
            if are_sortable_timestamps(stamps)
            else [get_epoch_milliseconds(stamp) for stamp in stamps]
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

    def find(self, path: EntryPath, member: str, rule: str, found: str, expected: str) -> None:
        """Add a finding, up to a limit."""
        if len(self.findings) < MAX_SEMANTIC_FINDINGS:
            self.findings.append(Finding(f"{self.pointer(path)}/{member}", rule, found, expected))

    def remark(self, path: EntryPath, member: str, rule: str, found: str, expected: str) -> None:
        """Add a remark, up to a limit."""
        if len(self.remarks) < MAX_SEMANTIC_FINDINGS:
            self.remarks.append(Finding(f"{self.pointer(path)}/{member}", rule, found, expected))

    def pointer(self, path: EntryPath) -> str:
        """Give the pointer of an entry."""
        return f"{self.base}/" + "/children/".join(map(str, path))


def list_record_findings(record: JsonObject) -> tuple[list[Finding], list[Finding]]:
    """Give the findings and the remarks about the session of a record that its schema accepts."""
    source = get_vacr_metadata(record).get("source")
    beside = (
        type(source) is dict
        and type(source.get("format")) is str
        and source["format"] in FORMATS_WITH_SEPARATE_CALLS
    )
    semantics = SemanticCheck(
        "/session/entries", strict_views=is_made_by_vacr(record), beside=beside
    )
    return _collect_findings(semantics, record["session"], "/session")


def list_session_findings(
    session: JsonObject, base: str = ""
) -> tuple[list[Finding], list[Finding]]:
    """Give the findings and the remarks about a session trace that its schema accepts."""
    return _collect_findings(SemanticCheck(f"{base}/entries", strict_views=False), session, base)


def _collect_findings(
    semantics: SemanticCheck, session: JsonObject, base: str
) -> tuple[list[Finding], list[Finding]]:
    semantics.check(session["entries"])
    start, end = session.get("session-start"), session.get("session-end")
    if start is not None and end is not None:
        extent = find_time_span([start, end])
        if extent is not None and get_epoch_milliseconds(start) != get_epoch_milliseconds(
            extent[0]
        ):
            semantics.findings.append(
                Finding(
                    f"{base}/session-end",
                    "times are in order",
                    shorten_value(end),
                    f"a time after the start, {shorten_value(start)}",
                )
            )
    return semantics.findings, semantics.remarks


def _pair_by_call_id(
    expected: list[JsonObject], seen: list[tuple[JsonObject, int]]
) -> Iterator[tuple[JsonObject, tuple[JsonObject, int]]]:
    """Pair children with views by their call ids; what has none is another implementation's own
    affair.
    """
    views = {(view["type"], view["call-id"]): view for view in expected if "call-id" in view}
    for child, index in seen:
        view = views.get((child["type"], child.get("call-id")))
        if view is not None:
            yield view, (child, index)


def shorten_value(value: Any) -> str:
    """Show a value in a message, cut to a line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 - one line of a message


SUPPORTED_MAJOR_VERSIONS = ("3", "2", "1")
_VERSION_PATTERN = re.compile(r"([0-9]+)(\..*)?", re.DOTALL)


def load_record_schema(version: str) -> Schema:
    """Give the schema that a record's `version` asks for.

    Raises:
        InvalidRecord: when that version is not supported.

    """
    return _compile_record_schema(_check_supported_version(version))


def read_schema_text(version: str) -> str:
    """Give the CDDL text of a version.

    Raises:
        InvalidRecord: when that version is not supported.

    """
    return _read_cddl_file(_check_supported_version(version))


def parse_major_version(version: object) -> str | None:
    """Give the first number of a version, whose schema it names; a record may hold anything as its
    version.
    """
    found = _VERSION_PATTERN.fullmatch(version) if isinstance(version, str) else None
    return found[1] if found else None


def _check_supported_version(version: object) -> str:
    found = parse_major_version(version)
    if found not in SUPPORTED_MAJOR_VERSIONS:
        hint = f"The versions are {', '.join(f'{major}.*' for major in SUPPORTED_MAJOR_VERSIONS)}."
        raise InvalidRecord(
            f"no schema for version {describe_value(version)}", where="/version", hint=hint
        )
    return found


def _read_cddl_file(major: str) -> str:
    return resources.files("vacr.record").joinpath(f"v{major}.cddl").read_text("utf-8")


@lru_cache(maxsize=len(SUPPORTED_MAJOR_VERSIONS))
def _compile_record_schema(major: str) -> Schema:
    return compile_cddl(_read_cddl_file(major), name=f"v{major}.cddl")


COSE_SIGN1_TAG = 18
DEFAULT_MAJOR_VERSION = "3"


def choose_rule(value: Any) -> str:
    """Tell which rule a value is meant to follow: a record, a session trace, an array of entries or
    a signed record.
    """
    if isinstance(value, list):
        return "[* entry]"
    if getattr(value, "tag", None) == COSE_SIGN1_TAG:
        return "signed-agent-record"
    if isinstance(value, dict) and "entries" in value and "version" not in value:
        return "session-trace"
    if isinstance(value, dict) and parse_major_version(value.get("version")) == "1":
        return "agent-convo-record"
    return "verifiable-agent-record"


def validate(
    value: Any, *, rule: str | None = None, schema: Schema | None = None, json: bool = True
) -> ValidationReport:
    """Check a value against a rule of a schema; without one, against what it is and the version it
    names.

    What our schemas accept is also checked for what its members say about each other.

    Raises:
        InvalidSchema: the schema has no such rule.
    """
    chosen = rule or ("" if schema else choose_rule(value))
    if schema is None:
        try:
            schema = load_record_schema(_get_named_version(value))
        except InvalidRecord as error:
            supported = " or ".join(f"{major}.*" for major in SUPPORTED_MAJOR_VERSIONS)
            finding = Finding(error.where, "verifiable-agent-record", error.message, supported)
            return ValidationReport(chosen, "", [finding])
    with report_schema_errors():
        checker = schema.checker(chosen or None, json=json)
        findings = checker.findings(value)
    remarks: list[Finding] = []
    if not findings and is_record_schema(schema):
        findings, remarks = _list_semantic_findings(value, checker.rule, schema, json=json)
    return ValidationReport(checker.rule, schema.name, findings, remarks)


@contextmanager
def report_schema_errors() -> Iterator[None]:
    """Raise errors of the CDDL compiler as errors of vacr, with the same message and hint.

    Raises:
        InvalidSchema: when the body raises CddlError.

    """
    try:
        yield
    except CddlError as error:
        raise InvalidSchema(error.message, where=error.where, hint=error.hint) from error


def is_record_schema(schema: Schema) -> bool:
    """Tell whether a schema is one of the record format's own."""
    return any(schema is load_record_schema(version) for version in SUPPORTED_MAJOR_VERSIONS)


def _get_named_version(value: Any) -> Any:
    """Give the version a record names; a part of a record names none."""
    if isinstance(value, dict) and "version" in value:
        return value["version"]
    return DEFAULT_MAJOR_VERSION


def _list_semantic_findings(
    value: Any, rule: str, schema: Schema, *, json: bool
) -> tuple[list[Finding], list[Finding]]:
    """Check what lies above the schema, by what the value is, whatever rule it was checked
    against.
    """
    kind = choose_rule(value)
    if "entry" not in schema.rules:
        # Version 1 has no session, and nothing to say about one.
        return [], []
    if kind != rule and not schema.checker(kind, json=json).matches(value):
        return [], []
    match kind:
        case "verifiable-agent-record":
            if "session" in value:
                return list_record_findings(value)
        case "session-trace":
            return list_session_findings(value)
        case "[* entry]":
            return list_session_findings({"entries": value})
    return [], []
