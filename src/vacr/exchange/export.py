"""The common part of every export: the request, the losses, and the rows or steps to export.

No other format can represent all of a record. Each export counts the parts that it leaves out, in
words of the record, to report them to the user:

    >>> from collections import Counter
    >>> from vacr.exchange import format_losses
    >>> format_losses(Counter({"images": 2, "events (attachment)": 5}))
    'events (attachment): 5; images: 2'

ATIF and OpenTelemetry describe a conversation as steps: a prompt, an instruction, or a call of a
model with everything that it caused. Rows belong to one call of a model if their messages have the
same native id, which an agent may split into lines, or if one message contains them. Without these
signs, an answer after a tool result is a new call.

    >>> import vacr
    >>> from vacr.exchange.export import group_rows_into_steps
    >>> from vacr.viewer import build_rows
    >>> [record] = vacr.read("session.jsonl")
    >>> for step in group_rows_into_steps(build_rows(record), record)[:2]:
    ...     print(step.source, [row.kind for row in step.rows])
    user ['user']
    agent ['reasoning', 'assistant', 'tool']
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.agents import HOOK, HOST
from vacr.errors import InvalidRecord
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import RecordEncoding, get_vacr_metadata, walk_entries
from vacr.signing import Signer
from vacr.viewer import (
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    ContentPart,
    PriceTable,
    Row,
    RowFilter,
    build_rows,
    join_texts,
    list_content_parts,
)

ExportLosses = Counter[str]
"""How many parts of a record an export leaves out, by kind, such as `attributed files`."""

# Members that are exported, counted under another name, or about the record itself.
_ACCOUNTED_RECORD_MEMBERS = frozenset(
    ("version", "id", "session", "created", "recording-agent", "file-attribution", "vcs", "vacr")
)
_URI_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")

AGENT_SOURCE = "agent"
PROMPT_SOURCE = "user"
SYSTEM_SOURCE = "system"

SYSTEM_MESSAGE_EVENT = "system-message"
"""The type of the event with an instruction of a trajectory."""

_POINTER_NUMBER = re.compile(r"/([0-9]+)")
_MESSAGE_TYPES = ("user", "assistant")
_INSTRUCTING_SPEAKERS = frozenset((HOST, HOOK))
_INSTRUCTION_ROLES = ("system", "developer")

EntryPosition = tuple[int, ...]
"""The indexes in the pointer of an entry: (14, 0) for `/session/entries/14/children/0`."""


@dataclass(frozen=True)
class ExportRequest:
    """The options of an export."""

    digest: str
    """The SHA-256 of the record's bytes; the export refers to the record by it."""
    chosen: RowFilter = field(default_factory=RowFilter)
    """The rows to export; all by default."""
    version: str | None = None
    """The version of the other format; None chooses one."""
    form: RecordEncoding = "json"
    """The encoding of the record's bytes."""
    commit: str | None = None
    """The commit that contains the record's files."""
    signer: Signer | None = None
    """The key for formats that are signed."""
    statement: bytes | None = None
    """The signed statement stored with the record."""
    prices: PriceTable | None = None
    """Prices for the cost, instead of those of the package."""
    modified: str = ""
    """How the id of a modified record contradicts its content; empty for all others."""


@dataclass(frozen=True)
class ExportedDocument:
    """The export of a record, and its losses."""

    data: bytes
    losses: ExportLosses = field(default_factory=Counter)
    left_out: int = 0
    """The number of rows that the filters left out."""


def format_losses(losses: ExportLosses, most: int = 6) -> str:
    """Describe losses in one line, the largest first; only the first `most` kinds by name.

    The other kinds are summed up at the end. Without losses, return an empty text.
    """
    ranked = sorted(losses.items(), key=lambda item: (-item[1], item[0]))
    text = "; ".join(f"{what}: {count}" for what, count in ranked[:most])
    if len(ranked) <= most:
        return text
    rest = sum(count for _, count in ranked[most:])
    return f"{text}; {len(ranked) - most} other kinds: {rest}"


# Formats of conversations


def select_rows(
    record: JsonObject, chosen: RowFilter, losses: ExportLosses
) -> tuple[list[Row], list[Row], int]:
    """Return all rows of a record, the chosen rows, and how many rows the filter left out.

    Rows that only repeat others are added to `losses` instead.

    Raises:
        InvalidRecord: `chosen` is not the default filter, and no row matches it.
    """
    every = list(build_rows(record))
    kept = list(chosen.chosen(every))
    if not kept and chosen != RowFilter():
        raise InvalidRecord(
            "no rows match the filters", hint="Try the same filters with vacr show."
        )
    repeated = sum(row.is_repeated for row in every) - sum(row.is_repeated for row in kept)
    if repeated:
        losses["entries that repeat others"] = repeated
    return every, kept, len(every) - len(kept) - repeated


def is_encrypted_reasoning(row: Row) -> bool:
    """Return whether a row is a thought that only the provider can decrypt."""
    return row.kind == REASONING_ROW and not join_texts(row.parts) and "encrypted" in row.entry


def count_encrypted_reasoning(kept: Iterable[Row], losses: ExportLosses) -> None:
    """Add each row with encrypted reasoning to the losses, even if its text is exported."""
    losses.update("sealed reasoning" for row in kept if "encrypted" in row.entry)


def count_lost_events(events: Iterable[Row], losses: ExportLosses) -> None:
    """Add events to the losses, counted by their type."""
    losses.update(f"events ({row.summary})" for row in events)


def count_lost_members(
    record: JsonObject, losses: ExportLosses, *canonical: str, about: frozenset[str]
) -> None:
    """Add the members of a record that a conversation format leaves out to the losses.

    Native members and the file attribution are always left out. `canonical` are the canonical
    members of entries that the format leaves out, too. `about` are the members about the session,
    agent, environment and version control that it keeps.
    """
    counts: ExportLosses = Counter()
    session = record["session"]
    counts["the session's own members"] = len(session.keys() - SESSION_MEMBERS)
    counts["times of the session"] = len({"session-start", "session-end"} & session.keys() - about)
    for subject, members in (
        ("agent", session.get("agent-meta", {})),
        ("environment", session.get("environment", {})),
        ("version control", record.get("vcs", {})),
    ):
        counts[f"members about the {subject}"] = len(members.keys() - about)
    counts["other members of the record"] = len(record.keys() - _ACCOUNTED_RECORD_MEMBERS)
    for entry in walk_entries(session.get("entries", ())):
        counts["the agent's own members"] += len(entry.keys() - CANONICAL_ENTRY_MEMBERS)
        counts["members of text blocks, besides the text"] += sum(
            map(_count_block_extras, (entry.get("content"), entry.get("output")))
        )
        counts.update(f"{name} of entries" for name in canonical if name in entry)
        usage = entry.get("token-usage")
        if "token-usage" not in canonical and isinstance(usage, dict):
            counts["the agent's own token counts"] += len(usage.keys() - TOKEN_USAGE_MEMBERS)
    losses.update({what: count for what, count in counts.items() if count})
    count_lost_attribution(record, losses)


def _count_block_extras(content: Any) -> int:
    """Return the number of members of text blocks, besides `type` and `text`."""
    blocks = content if isinstance(content, list) else [content]
    return sum(
        len(block.keys() - {"type", "text"})
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def count_lost_attribution(record: JsonObject, losses: ExportLosses) -> None:
    """Add the number of files that a record attributes to the losses, if it has any."""
    if files := record.get("file-attribution", {}).get("files"):
        losses["attributed files"] = len(files)


# Steps of a conversation


@dataclass
class ConversationStep:
    """A prompt, an instruction, or a call of a model, and the rows that belong to it."""

    agent: str = ""
    """The sub-agent that took the step; empty for the main agent."""
    source: str = AGENT_SOURCE
    """The speaker: AGENT_SOURCE, PROMPT_SOURCE, or SYSTEM_SOURCE for instructions."""
    call: Any = None
    """The native id or the position of the model's message; None outside of messages."""
    rows: list[Row] = field(default_factory=list)
    entries: set[EntryPosition] = field(default_factory=set)
    """The positions of the entries that may have its token usage."""
    answered: EntryPosition | None = None
    """The position of the first result of its tool calls, or None without results."""

    def add_row(self, row: Row, message: EntryPosition) -> None:
        """Add a row; `message` is the position of its message, which may have the token usage."""
        self.rows.append(row)
        self.entries.add(message)
        if row.result is not None:
            position = _parse_position(row.result.place)
            self.answered = min(self.answered or position, position)

    def sum_usage(self, record: JsonObject) -> JsonObject:
        """Return the summed token usage of the step, by member; empty if none is recorded.

        Entries that were inherited from another session do not count.
        """
        total: JsonObject = {}
        for position in sorted(self.entries):
            *_, entry = _walk_to_position(record["session"]["entries"], position)
            _add_entry_usage(entry, total)
        return total


def group_rows_into_steps(every: Iterable[Row], record: JsonObject) -> list[ConversationStep]:
    """Return the steps of a record, in order; `every` are all its rows.

    Events belong to no step, except for instructions. The token usage of an event belongs to the
    step before it.
    """
    entries = record["session"]["entries"]
    steps: list[ConversationStep] = []
    open_steps: dict[str, ConversationStep] = {}
    for row in every:
        position = _parse_position(row.place)
        message, call = _find_message(entries, position)
        current = open_steps.get(row.agent)
        if get_instructions(row) is not None:
            steps.append(ConversationStep(row.agent, SYSTEM_SOURCE, rows=[row]))
        elif row.kind == EVENT_ROW:
            if current is not None and message == position and "token-usage" in row.entry:
                current.entries.add(position)
        elif row.kind == USER_ROW:
            steps.append(ConversationStep(row.agent, PROMPT_SOURCE, rows=[row]))
            open_steps.pop(row.agent, None)
        else:
            is_result = row.kind == TOOL_ROW and not row.tool
            if current is None or (not is_result and _is_new_call(current, call, position)):
                current = open_steps[row.agent] = ConversationStep(row.agent, call=call)
                steps.append(current)
            current.add_row(row, message)
    return steps


def filter_steps(steps: Iterable[ConversationStep], kept: Iterable[Row]) -> list[ConversationStep]:
    """Remove all rows that are not in `kept` from steps, and return the steps with rows left."""
    places = {row.place for row in kept}
    remaining = []
    for step in steps:
        step.rows = [row for row in step.rows if row.place in places]
        if step.rows:
            remaining.append(step)
    return remaining


def get_instructions(row: Row) -> list[ContentPart] | None:
    """Return the instructions to the model in a row, or None if a row has none.

    Some agents, and imported trajectories, keep instructions in events. A message that the host
    or a hook wrote in the name of the user is an instruction, too.
    """
    if row.kind == USER_ROW and row.speaker in _INSTRUCTING_SPEAKERS:
        return row.parts
    data = row.entry.get("data") if row.kind == EVENT_ROW else None
    if not isinstance(data, dict):
        return None
    if row.summary == SYSTEM_MESSAGE_EVENT:
        return list_content_parts(data.get("message"))
    if row.summary == "message" and data.get("role") in _INSTRUCTION_ROLES:
        return list_content_parts(data.get("content"))
    return None


def sum_usages(usages: Iterable[JsonObject]) -> JsonObject:
    """Return the sum of token usages, member by member; empty without usages."""
    total: JsonObject = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return total


def _parse_position(pointer: str) -> EntryPosition:
    """Return the position of an entry from its JSON pointer, one index for each level.

    `/session/entries/14/children/0` becomes `(14, 0)`.
    """
    return tuple(map(int, _POINTER_NUMBER.findall(pointer)))


def _walk_to_position(entries: Any, position: EntryPosition) -> Iterator[JsonObject]:
    """Yield the top-level entry, then its child, and so on down to the entry at a position."""
    for number in position:
        yield entries[number]
        entries = entries[number].get("children", ())


def _find_message(entries: Any, position: EntryPosition) -> tuple[EntryPosition, Any]:
    """Return the position of the innermost message around an entry, and the message's identity.

    An entry may be the message itself. The identity is the native id, or else the position. For an
    entry outside of messages, return its own position and None.
    """
    home, call = position, None
    for depth, entry in enumerate(_walk_to_position(entries, position), 1):
        if entry.get("type") in _MESSAGE_TYPES:
            message = entry.get("message")
            name = message.get("id") if isinstance(message, dict) else None
            home = position[:depth]
            call = name if isinstance(name, str) else home
    return home, call


def _is_new_call(current: ConversationStep, call: Any, position: EntryPosition) -> bool:
    """Return whether an entry starts a new call of the model.

    It does if its message is another one, or, without messages, if it follows a tool result.
    """
    if call is None and current.call is None:
        return current.answered is not None and position > current.answered
    return bool(call != current.call)


def _add_entry_usage(entry: JsonObject, total: JsonObject) -> None:
    """Add the token usage of an entry and its children to `total`, except for inherited entries."""
    marks, usage = entry.get("vacr"), entry.get("token-usage")
    if isinstance(marks, dict) and marks.get("inherited"):
        return
    if isinstance(usage, dict):
        for name in TOKEN_USAGE_MEMBERS.intersection(usage):
            if isinstance(usage[name], int | float) and not isinstance(usage[name], bool):
                total[name] = total.get(name, 0) + usage[name]
    for child in entry.get("children", ()):
        _add_entry_usage(child, total)


# Formats of file attributions


def get_attributed_files(record: JsonObject, title: str) -> list[JsonObject]:
    """Return the attributed files of a record; at least one. `title` names the export format.

    Raises:
        InvalidRecord: the record attributes no files.
    """
    files: list[JsonObject] = record.get("file-attribution", {}).get("files", [])
    if not files:
        hint = "Attribute its files first: vacr attribute FILE."
        raise InvalidRecord(f"{title} needs a file attribution, and the record has none", hint=hint)
    return files


def get_attribution_details(record: JsonObject, path: str) -> JsonObject:
    """Return vacr's details about an attributed file, or an empty dict if missing or malformed."""
    details: Any = get_vacr_metadata(record)
    for name in ("attribution", "files", path):
        details = details.get(name) if isinstance(details, dict) else None
    return details if isinstance(details, dict) else {}


def count_lost_session(record: JsonObject, losses: ExportLosses) -> None:
    """Add the entries and the evidence of attributed ranges to the losses.

    Formats of file attributions leave both out.
    """
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    evidence = 0
    for file in record["file-attribution"]["files"]:
        ranges = get_attribution_details(record, file["path"]).get("ranges")
        evidence += len(ranges) if isinstance(ranges, list) else 0
    if evidence:
        losses["ranges with their evidence"] = evidence


def is_uri(text: Any) -> bool:
    """Return whether a value is text with a URI scheme, such as `https:`."""
    return isinstance(text, str) and _URI_PATTERN.fullmatch(text) is not None
