"""Validate records: against their CDDL schema, and for contradictions between their members.

A record is checked against the schema that its own `version` names: 3.* against v3.cddl, 2.*
against v2.cddl, 1.* against v1.cddl. A session that its schema accepts is then checked for what no
schema can express. Findings make it invalid: ids that are not unique, children that disagree with
their content, a session that ends before it starts. Remarks do not, because real sessions have
them: a parent in another file, a call that was never answered, entries out of order.

    >>> from vacr.record import validate
    >>> session = {
    ...     "session-id": "s1",
    ...     "agent-meta": {"model-id": "m", "model-provider": "p"},
    ...     "entries": [{"type": "tool-call", "name": "Read", "input": {}, "call-id": "c1"}],
    ... }
    >>> report = validate(session)
    >>> report.rule, report.valid
    ('session-trace', True)
    >>> [(remark.pointer, remark.found, remark.expected) for remark in report.remarks]
    [('/entries/0/call-id', "a call 'c1'", 'its result')]
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from vacr.cddl import CddlError, Schema, SchemaFinding, compile_cddl, describe_value
from vacr.errors import InvalidRecord, InvalidSchema
from vacr.model import JsonObject
from vacr.record.encoding import is_made_by_vacr
from vacr.record.message_content import build_child_entries
from vacr.record.timestamps import are_sortable_timestamps, find_time_span, get_epoch_milliseconds

SUPPORTED_MAJOR_VERSIONS = ("3", "2", "1")
DEFAULT_MAJOR_VERSION = "3"
"""The version that a part of a record is checked against: only whole records name theirs."""
COSE_SIGN1_TAG = 18

MAX_SEMANTIC_FINDINGS = 100
_MAX_VALUE_LENGTH = 60

_VERSION_PATTERN = re.compile(r"([0-9]+)(\..*)?", re.DOTALL)

_VIEW_MEMBERS = ("type", "name", "input", "call-id", "output", "content", "encrypted")
_VIEWED_TYPES = frozenset(("tool-call", "tool-result", "reasoning"))
_MESSAGE_TYPES = frozenset(("user", "assistant"))
_USAGE_PARTS = (("cached", "input"), ("reasoning", "output"))
"""Counters of tokens that are included in another counter."""

EntryPath = tuple[int, ...]
"""The indexes that lead from the session's entries to a child, level by level."""
FindingsAndRemarks = tuple[list[SchemaFinding], list[SchemaFinding]]
FormatQuestion = Callable[[JsonObject], bool | None]
"""Returns whether the native format of a record stores calls outside the content of messages.

The answer is None if no installed agent knows the format.
"""


@dataclass(frozen=True)
class ValidationReport:
    """The result of validating a value: findings make it invalid, remarks do not."""

    rule: str
    """The CDDL rule that the value was checked against."""
    schema: str
    """The name of the schema; empty if the value names an unsupported version."""
    findings: list[SchemaFinding] = field(default_factory=list)
    remarks: list[SchemaFinding] = field(default_factory=list)
    is_cut: bool = False
    """Whether there are more findings than the hundred in the list."""

    @property
    def valid(self) -> bool:
        """Whether the value is valid: it has no findings."""
        return not self.findings

    def __bool__(self) -> bool:
        """Return whether the value is valid."""
        return self.valid

    def raise_for_errors(self) -> None:
        """Raise an error if the value is invalid.

        Raises:
            InvalidRecord: the value has findings; the message has the first and their number.
        """
        if self.findings:
            first, more = self.findings[0], len(self.findings) - 1
            raise InvalidRecord(
                f"{first.rule}: {first.found}, expected {first.expected}"
                + (f" (and {more} more)" if more else ""),
                where=first.pointer or "/",
            )


def validate(
    value: Any,
    *,
    rule: str | None = None,
    schema: Schema | None = None,
    json: bool = True,
    has_separate_calls: FormatQuestion = lambda _: None,
) -> ValidationReport:
    """Check a value against a rule of a schema, and return all findings and remarks.

    By default, the value itself determines the rule, and its `version` the schema. `json` is True
    for a value from JSON, where 1 and 1.0 are the same number. `has_separate_calls` answers a
    question that only agents can answer; `vacr.validate` asks them.

    Raises:
        InvalidSchema: the schema has no such rule.
    """
    chosen_rule = rule or ("" if schema else choose_rule(value))
    if schema is None:
        try:
            schema = load_record_schema(_get_named_version(value))
        except InvalidRecord as error:
            supported = " or ".join(f"{major}.*" for major in SUPPORTED_MAJOR_VERSIONS)
            finding = SchemaFinding(
                error.where, "verifiable-agent-record", error.message, supported
            )
            return ValidationReport(chosen_rule, "", [finding])
    with report_schema_errors():
        checker = schema.checker(chosen_rule or None, json=json)
        # One finding more than are reported shows that there are more.
        findings = checker.findings(value, MAX_SEMANTIC_FINDINGS + 1)
    remarks: list[SchemaFinding] = []
    if not findings and is_record_schema(schema):
        findings, remarks = _check_semantics(
            value, checker.rule, schema, has_separate_calls, json=json
        )
    is_cut = len(findings) > MAX_SEMANTIC_FINDINGS
    findings = findings[:MAX_SEMANTIC_FINDINGS]
    return ValidationReport(checker.rule, schema.name, findings, remarks, is_cut)


@contextmanager
def report_schema_errors() -> Iterator[None]:
    """Turn errors of the CDDL compiler in the `with` block into errors of vacr.

    Raises:
        InvalidSchema: the block raised CddlError; message, place and hint are the same.
    """
    try:
        yield
    except CddlError as error:
        raise InvalidSchema(error.message, where=error.where, hint=error.hint) from error


def choose_rule(value: Any) -> str:
    """Return the name of the CDDL rule that a value seems to follow; the value is not checked.

    The rule is for a record, a session trace, a list of entries or a signed record. Any other value
    gets the rule of a record.
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


def _get_named_version(value: Any) -> Any:
    """Return the `version` of a record, of any type, or the default for a part of a record."""
    if isinstance(value, dict) and "version" in value:
        return value["version"]
    return DEFAULT_MAJOR_VERSION


def load_record_schema(version: str) -> Schema:
    """Return the compiled schema for the `version` of a record, such as `3` or `3.0.0-draft`.

    Raises:
        InvalidRecord: that version is not supported.
    """
    return _compile_record_schema(_check_supported_version(version))


def read_schema_text(version: str) -> str:
    """Return the CDDL text of the schema for a version, such as `3` or `3.0.0-draft`.

    Raises:
        InvalidRecord: that version is not supported.
    """
    return _read_cddl_file(_check_supported_version(version))


def is_record_schema(schema: Schema) -> bool:
    """Return whether a schema comes from `load_record_schema`, not from a user."""
    return any(schema is load_record_schema(version) for version in SUPPORTED_MAJOR_VERSIONS)


def parse_major_version(version: object) -> str | None:
    """Return the first number of a version, or None for a value that is not a version.

    For example, `3.0.0-draft` gives `3`.
    """
    match = _VERSION_PATTERN.fullmatch(version) if isinstance(version, str) else None
    return match[1] if match else None


def _check_supported_version(version: object) -> str:
    """Return the major version of a supported version.

    Raises:
        InvalidRecord: the version is not supported.
    """
    major = parse_major_version(version)
    if major not in SUPPORTED_MAJOR_VERSIONS:
        supported = ", ".join(f"{major}.*" for major in SUPPORTED_MAJOR_VERSIONS)
        raise InvalidRecord(
            f"no schema for version {describe_value(version)}",
            where="/version",
            hint=f"Supported versions: {supported}.",
        )
    return major


@lru_cache(maxsize=len(SUPPORTED_MAJOR_VERSIONS))
def _compile_record_schema(major: str) -> Schema:
    """Return the compiled schema for a supported major version, such as `3`."""
    return compile_cddl(_read_cddl_file(major), name=f"v{major}.cddl")


def _read_cddl_file(major: str) -> str:
    """Return the CDDL text for a major version, such as `3`."""
    return resources.files("vacr.record").joinpath(f"v{major}.cddl").read_text("utf-8")


def _check_semantics(
    value: Any, rule: str, schema: Schema, has_separate_calls: FormatQuestion, *, json: bool
) -> FindingsAndRemarks:
    """Return findings and remarks about contradictions that no schema can express.

    The value is checked as a record, a session or a list of entries, even if `rule` is another. The
    lists are empty for a value without entries. `json` is True for a value from JSON, False for one
    from CBOR.
    """
    kind = choose_rule(value)
    if "entry" not in schema.rules:
        # Version 1 has no session.
        return [], []
    if kind != rule and not schema.checker(kind, json=json).matches(value):
        return [], []
    match kind:
        case "verifiable-agent-record":
            if "session" in value:
                return _check_record_session(value, has_separate_calls)
        case "session-trace":
            return _check_session(value, SemanticCheck("/entries", strict_views=False), "")
        case "[* entry]":
            session = {"entries": value}
            return _check_session(session, SemanticCheck("/entries", strict_views=False), "")
    return [], []


def _check_record_session(
    record: JsonObject, has_separate_calls: FormatQuestion
) -> FindingsAndRemarks:
    """Return findings and remarks about the session of a record that its schema accepts."""
    check = SemanticCheck(
        "/session/entries",
        strict_views=is_made_by_vacr(record),
        allows_more_children=lambda: has_separate_calls(record),
    )
    return _check_session(record["session"], check, "/session")


def _check_session(session: JsonObject, check: SemanticCheck, base: str) -> FindingsAndRemarks:
    """Return findings and remarks about a session at the pointer `base`."""
    check.check_entries(session["entries"])
    start, end = session.get("session-start"), session.get("session-end")
    if start is not None and end is not None:
        span = find_time_span([start, end])
        if span is not None and get_epoch_milliseconds(start) != get_epoch_milliseconds(span[0]):
            expected = f"a time after the start, {shorten_value(start)}"
            check.findings.append(
                SchemaFinding(
                    f"{base}/session-end", "times must be in order", shorten_value(end), expected
                )
            )
    return check.findings, check.remarks


class SemanticCheck:
    """One pass over the entries of a session, looking for contradictions between them."""

    def __init__(
        self,
        base: str,
        *,
        strict_views: bool,
        allows_more_children: Callable[[], bool | None] = lambda: False,
    ) -> None:
        """Prepare a check of the entries at the pointer `base`.

        `strict_views` requires a child for every call, result and reasoning in the content, as vacr
        makes them. `allows_more_children` returns whether other children may follow, or None if
        that is unknown. It is called only if there are such children, because it may load an agent.
        """
        self._base = base
        self._strict_views = strict_views
        self._allows_more_children = cache(allows_more_children)
        self.findings: list[SchemaFinding] = []
        self.remarks: list[SchemaFinding] = []
        # Where each id was seen first.
        self._ids: dict[str, EntryPath] = {}
        self._parents: dict[str, EntryPath] = {}
        self._calls: dict[str, EntryPath] = {}
        self._results: dict[str, EntryPath] = {}

    def check_entries(self, entries: list[JsonObject]) -> None:
        """Check each entry, the references between them and their order; add to the results."""
        for index, entry in enumerate(entries):
            self._check_entry(entry, (index,))
        for parent, path in self._parents.items():
            if parent not in self._ids:
                found = f"no entry has the id {shorten_value(parent)}"
                self._add_remark(path, "parent-id", "parents must exist", found, "the parent")
        for call, path in self._results.items():
            if call not in self._calls:
                found = f"a result of {shorten_value(call)}"
                self._add_remark(path, "call-id", "calls and results must pair", found, "its call")
        for call, path in self._calls.items():
            if call not in self._results:
                found = f"a call {shorten_value(call)}"
                self._add_remark(
                    path, "call-id", "calls and results must pair", found, "its result"
                )
        self._check_order([entry["timestamp"] for entry in entries if "timestamp" in entry])

    def _check_entry(self, entry: JsonObject, path: EntryPath) -> None:
        """Check one entry and its children, and remember their ids and the ids they refer to."""
        identity = entry.get("id")
        if identity is not None:
            if identity in self._ids:
                first = self._format_pointer(self._ids[identity])
                found = f"{shorten_value(identity)}, also the id of {first}"
                self._add_finding(path, "id", "ids must be unique", found, "another id")
            else:
                self._ids[identity] = path
        if type(entry.get("parent-id")) is str:
            self._parents.setdefault(entry["parent-id"], path)
        kind = entry["type"]
        if "call-id" in entry:
            if kind == "tool-call":
                self._calls.setdefault(entry["call-id"], path)
            elif kind == "tool-result":
                self._results.setdefault(entry["call-id"], path)
        if type(entry.get("token-usage")) is dict:
            self._check_usage(entry["token-usage"], path)
        children = entry.get("children")
        if (
            kind in _MESSAGE_TYPES
            and type(entry.get("content")) is list
            and (children or self._strict_views)
        ):
            self.compare_children(entry["content"], children or [], path)
        if children:
            for index, child in enumerate(children):
                self._check_entry(child, (*path, index))

    def compare_children(
        self, blocks: list[Any], children: list[JsonObject], path: EntryPath
    ) -> None:
        """Add a finding for each child of a message that contradicts the message's content.

        `blocks` are that content, and `path` is the place of the message.
        """
        expected = build_child_entries(blocks)
        if expected == children:
            return
        views = [
            (child, index) for index, child in enumerate(children) if child["type"] in _VIEWED_TYPES
        ]
        rule = "a child must match the message it comes from"
        if self._strict_views and len(views) > len(expected):
            allowed = self._allows_more_children()
            if allowed is None:
                found = f"{len(views) - len(expected)} more children than parts of the message"
                self._add_remark(path, "children", rule, found, "an agent that knows this format")
            if allowed is not False:
                views = views[: len(expected)]
        if self._strict_views and len(views) != len(expected):
            found = f"number of calls, results and reasoning: {len(views)}"
            self._add_finding(path, "children", rule, found, f"{len(expected)}, as in the message")
            return
        pairs = (
            zip(expected, views, strict=True)
            if self._strict_views
            else _pair_by_call_id(expected, views)
        )
        for view, (child, index) in pairs:
            self._compare_flags(view, child, (*path, index))
            for member in _VIEW_MEMBERS:
                if view.get(member) != child.get(member):
                    found = shorten_value(child.get(member))
                    wanted = f"{shorten_value(view.get(member))}, as in the message"
                    self._add_finding((*path, index), member, rule, found, wanted)

    def _compare_flags(self, view: JsonObject, child: JsonObject, path: EntryPath) -> None:
        """Compare the error flag of a result with the flag of its block, if the block has one.

        A block without a flag proves nothing: a child may know better, from an exit code. A child
        without a flag is incomplete, but does not contradict its block.
        """
        stated, flag = view.get("is-error"), child.get("is-error")
        if stated is None or stated == flag:
            return
        rule = "a result must match the message it comes from"
        wanted = f"{'an error' if stated else 'a success'}, as in the message"
        if flag is None:
            self._add_remark(path, "is-error", rule, "no flag", wanted)
        elif stated is True:
            self._add_finding(path, "is-error", rule, "it claims success", wanted)

    def _check_usage(self, usage: JsonObject, path: EntryPath) -> None:
        """Add a remark for each counter of tokens that exceeds the counter that includes it."""
        for part, whole in _USAGE_PARTS:
            if (
                type(usage.get(part)) is type(usage.get(whole)) is int
                and usage[part] > usage[whole]
            ):
                found = f"{usage[part]} {part} tokens"
                expected = f"at most the {usage[whole]} of {whole}"
                rule = "a token counter must not exceed the one that includes it"
                self._add_remark(path, f"token-usage/{part}", rule, found, expected)

    def _check_order(self, stamps: list[Any]) -> None:
        """Add a remark with the number of timestamps that are earlier than the one before."""
        times: list[Any] = (
            stamps
            if are_sortable_timestamps(stamps)
            else [get_epoch_milliseconds(stamp) for stamp in stamps]
        )
        steps_back = sum(
            1
            for earlier, later in itertools.pairwise(times)
            if earlier is not None and later is not None and later < earlier
        )
        if steps_back:
            noun = "entry is" if steps_back == 1 else "entries are"
            found = f"{steps_back} {noun} earlier than the one before"
            self.remarks.append(SchemaFinding(self._base, "times must be in order", found, "none"))

    def _add_finding(
        self, path: EntryPath, member: str, rule: str, found: str, expected: str
    ) -> None:
        """Add a finding about a member of the entry at a path, up to one more than the limit.

        The extra one shows that there are more. `found` and `expected` are for people.
        """
        if len(self.findings) <= MAX_SEMANTIC_FINDINGS:
            pointer = f"{self._format_pointer(path)}/{member}"
            self.findings.append(SchemaFinding(pointer, rule, found, expected))

    def _add_remark(
        self, path: EntryPath, member: str, rule: str, found: str, expected: str
    ) -> None:
        """Add a remark about a member of the entry at a path, up to the limit."""
        if len(self.remarks) < MAX_SEMANTIC_FINDINGS:
            pointer = f"{self._format_pointer(path)}/{member}"
            self.remarks.append(SchemaFinding(pointer, rule, found, expected))

    def _format_pointer(self, path: EntryPath) -> str:
        """Return the JSON pointer of an entry, from the root of the record.

        `path` has the index of the entry on each level, so it is never empty.
        """
        return f"{self._base}/" + "/children/".join(map(str, path))


def _pair_by_call_id(
    expected: list[JsonObject], children: list[tuple[JsonObject, int]]
) -> Iterator[tuple[JsonObject, tuple[JsonObject, int]]]:
    """Yield each child with a call id that an expected entry of its type has, after that entry.

    Each item is the expected entry, then the child and its index. Other children are skipped,
    because other programs may add children as they like.
    """
    views = {(view["type"], view["call-id"]): view for view in expected if "call-id" in view}
    for child, index in children:
        view = views.get((child["type"], child.get("call-id")))
        if view is not None:
            yield view, (child, index)


def shorten_value(value: Any) -> str:
    """Return the `repr` of a value for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[: _MAX_VALUE_LENGTH - 1]}…"
