"""Codex CLI rollouts: enveloped JSONL of all versions, paginated ones, and the older bare form.
Step: read.

One line becomes one entry. Messages, calls, results and reasoning come from response items; what
Codex writes beside them for its screen (`event_msg`) stays an event, so that nothing is said or
counted twice. A fork starts with lines that it copied from its parent: they are kept and marked
`inherited`. Left out on purpose: following a fork into other files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.content import children
from vacr.model import CANONICAL_MEMBERS, Native
from vacr.readers import codex_items as items
from vacr.readers import codex_known as known
from vacr.readers import codex_session
from vacr.readers.assemble import Reading, Session
from vacr.readers.codex_forks import inherited
from vacr.readers.codex_payloads import MEMBERS as PAYLOAD_MEMBERS
from vacr.readers.collector import collector_paused
from vacr.readers.lift import is_one_of, keep_native, kind_of, mark, set_aside, without_nulls
from vacr.readers.source import Source
from vacr.readers.stores import Store
from vacr.timestamps import is_timestamp

name = "codex-cli"
formats = ("codex-jsonl",)

# Where Codex CLI keeps its sessions.
STORES = (Store(("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"), "~/.codex", "CODEX_HOME"),)

ROLES = frozenset(("user", "assistant"))
EVENT_NAMES = {"session_meta": "session-start", "token_count": "token-count"}

# Events that repeat what response items say: the member with the text, and the entry they are where
# no item says it.
ECHOES = {
    "user_message": ("message", "user"),
    "agent_message": ("message", "assistant"),
    "agent_reasoning": ("text", "reasoning"),
}
KNOWN_ITEMS = items.KNOWN_MEMBERS | {
    kind: own | items.COMMON for kind, own in known.ITEM_EVENTS.items()
}
_ENVELOPE_MARKS = {envelope: {"native": {"type": envelope}} for envelope in known.ENVELOPES}
_CODEX_TEXT = frozenset(("input_text", "output_text"))
_SET_ASIDE = CANONICAL_MEMBERS - {"timestamp"}


def recognises(sample: Sequence[Any]) -> float:
    """Tell how much of a sample of native values is Codex CLI's; bare items alone, which others
    write too, are not.
    """
    if not any(map(_is_surely_ours, sample)) or any(map(_is_trae, sample)):
        return 0.0
    return sum(1 for value in sample if _is_surely_ours(value) or _may_be_ours(value)) / len(sample)


def _is_surely_ours(value: Any) -> bool:
    """Tell whether a line can only be Codex CLI's: in its envelope, or one of the older
    form's own.
    """
    if type(value) is not dict:
        return False
    if "payload" in value:
        return is_one_of(value.get("type"), known.ENVELOPES)
    if value.get("type") == "message" and type(value.get("content")) is list:
        return any(
            type(block) is dict and is_one_of(block.get("type"), _CODEX_TEXT)
            for block in value["content"]
        )
    return value.get("record_type") == "state" or _is_header(value)


def _is_trae(value: Any) -> bool:
    """Return whether a line is of Trae's command line, which writes Codex CLI's format."""
    payload = value.get("payload") if type(value) is dict else None
    return type(payload) is dict and payload.get("model_provider") == "trae"


def _may_be_ours(value: Any) -> bool:
    return type(value) is dict and (
        is_one_of(value.get("type"), KNOWN_ITEMS) or is_one_of(value.get("role"), ROLES)
    )


def _is_header(line: Native) -> bool:
    """Tell whether a line is the first one of the older bare form."""
    return "id" in line and "timestamp" in line and ("instructions" in line or "git" in line)


def read(source: Source) -> Iterator[Reading]:
    """Read one rollout."""
    with collector_paused():
        reading = _Rollout().read(source)
    yield reading


class _Rollout:
    """One rollout on its way into a record."""

    def __init__(self) -> None:
        self.session = Session("codex-jsonl", "codex-cli")
        self.metas: list[tuple[int, Native]] = []
        self.turns: list[tuple[int, Native]] = []
        self.assistants: list[tuple[int, Native]] = []
        self.token_counts: list[tuple[int, Native]] = []
        self.noted = {
            "session_meta": self.metas,
            "turn_context": self.turns,
            "task_started": self.turns,
            "token_count": self.token_counts,
        }
        self.echoes: list[tuple[int, Native]] = []
        self.heard: dict[str, list[Any]] = {"user": [], "assistant": [], "reasoning": []}

    def read(self, source: Source) -> Reading:
        session = self.session
        session.take_lines(source, self.entry)
        self.settle()
        session.tidy()
        return session.reading(source)

    def entry(self, line: Native) -> Native:
        """Turn one line into one entry."""
        payload, envelope = line.get("payload"), line.get("type")
        if type(payload) is not dict or type(envelope) is not str:
            return self.bare(line)
        del line["payload"], line["type"]
        if not line.keys() <= known.LINE:
            self.session.drift.see_members("line", line, known.LINE)
            set_aside(line, _SET_ASIDE)
        if envelope != "response_item" or not self.item(line, payload):
            self.event(line, envelope, payload)
        if line.get("event-type") != envelope:
            # Entries with no other marks share the object that names their envelope.
            if "vacr" in line or envelope not in _ENVELOPE_MARKS:
                keep_native(line, {"type": envelope})
            else:
                line["vacr"] = _ENVELOPE_MARKS[envelope]
        return line

    def item(self, entry: Native, payload: Native) -> bool:
        """Make a typed entry of a response item, if it is one; what is left of the item stays in
        `payload`.
        """
        kind: Any = payload.get("type")
        members = KNOWN_ITEMS.get(kind) if type(kind) is str else None
        if members is None or not payload.keys() <= members:
            self.see_item(payload)
        item = items.ITEMS.get(kind) if members is not None else None
        if not (
            items.lift_call(item, payload, entry)
            if item is not None
            else self.typed(entry, payload)
        ):
            return False
        without_nulls(payload)
        entry["payload"] = payload
        return True

    def event(self, entry: Native, envelope: str, payload: Native) -> None:
        """Make an event of any other payload, which is its data."""
        kind: Any = envelope
        if envelope not in known.STATES:
            kind = payload.get("type")
            if type(kind) is not str:
                kind = envelope
            if kind not in known.EVENTS and envelope != "response_item":
                self.session.drift.see_type(
                    f"{envelope}/{_kind(payload)}" if envelope == "event_msg" else envelope
                )
        members = PAYLOAD_MEMBERS.get(kind) if envelope != "response_item" else None
        if members is not None and not payload.keys() <= members:
            self.session.drift.see_members(kind, payload, members)
        entry["type"], entry["event-type"], entry["data"] = (
            "system-event",
            EVENT_NAMES.get(kind, kind),
            payload,
        )
        if kind in self.noted:
            self.noted[kind].append((len(self.session.entries), entry))
        elif (
            kind in ECHOES and envelope == "event_msg" and type(payload.get(ECHOES[kind][0])) is str
        ):
            self.echoes.append((len(self.session.entries), entry))

    def bare(self, line: Native) -> Native:
        """Make an entry of a line without an envelope, as the oldest versions write them."""
        kind = line.get("type")
        entry: Native = {}
        known_members = KNOWN_ITEMS.get(kind) if type(kind) is str else None
        if known_members is not None and not line.keys() <= known_members | {"timestamp"}:
            self.session.drift.see_members(f"bare/{kind}", line, known_members | {"timestamp"})
        if not self.typed(entry, line):
            return self.bare_event(line, kind)
        native = {
            member: value for member, value in line.items() if member not in CANONICAL_MEMBERS
        }
        clash = {member: value for member, value in line.items() if member in CANONICAL_MEMBERS}
        if is_timestamp(clash.get("timestamp")):
            entry["timestamp"] = clash.pop("timestamp")
        if clash:
            keep_native(entry, clash)
        without_nulls(native)
        return native | entry

    def bare_event(self, line: Native, kind: Any) -> Native:
        """Make an event of a bare line: the session's header, a state, or something unknown."""
        entry: Native = {"type": "system-event", "data": line, "vacr": {"bare": True}}
        if is_timestamp(line.get("timestamp")):
            entry["timestamp"] = line.pop("timestamp")
        native = kind if type(kind) is str else line.get("record_type")
        if not self.metas and _is_header(line | entry):
            entry["event-type"] = "session-start"
            self.metas.append((len(self.session.entries), entry))
            return entry
        entry["event-type"] = native if type(native) is str else "unknown"
        if native != "state" and not is_one_of(kind, known.ITEM_EVENTS):
            self.session.drift.see_type(f"bare/{native}" if type(native) is str else kind_of(kind))
        return entry

    def see_item(self, payload: Native) -> None:
        """Count response items and members that no table names."""
        kind = payload.get("type")
        if kind is None and "role" in payload:
            kind = "message"
        members = KNOWN_ITEMS.get(kind) if type(kind) is str else None
        if members is None:
            self.session.drift.see_type(f"response_item/{_kind(payload)}")
        else:
            self.session.drift.see_members(f"response_item/{kind}", payload, members)

    def typed(self, entry: Native, native: Native) -> bool:
        """Make a message, a call, a result or reasoning of a response item, if it is one."""
        kind = native.get("type")
        if kind == "message" or (kind is None and "role" in native):
            return self.message(entry, native)
        if kind == "reasoning":
            items.lift_reasoning(native, entry)
            self.heard["reasoning"].append(entry["content"])
            return True
        if is_one_of(kind, items.ITEMS):
            return items.lift_call(items.ITEMS[kind], native, entry)
        return False

    def message(self, entry: Native, native: Native) -> bool:
        """Make a message of what the user or the assistant said; what others say is an event."""
        role = native.get("role")
        if not is_one_of(role, ROLES):
            return False
        items.MESSAGE.apply(native, entry)
        if "content" not in entry and type(native.get("message")) is str:
            entry["content"] = native.pop("message")
            mark(entry)["content-from"] = "message"
        del native["role"]
        entry["type"] = role
        drift = self.session.drift
        if views := children(entry.get("content"), drift.types, drift.members):
            entry["children"] = views
        self.heard[role].append(entry.get("content"))
        if role == "assistant":
            self.assistants.append((len(self.session.entries), entry))
        return True

    def settle(self) -> None:
        """Decide what only the whole rollout tells."""
        entries = self.session.entries
        copied = inherited(entries, self.metas, self.turns)
        self.session.inherits = bool(copied)
        for index in copied:
            mark(entries[index])["inherited"] = True
        if self.metas:
            codex_session.describe(self.session, self.metas[0][1]["data"])
        said = {who: _texts(contents) for who, contents in self.heard.items()}
        for index, entry in self.echoes:
            self.settle_echo(index, entry, said)
        codex_session.assign_models(self.session, self.turns, self.assistants, copied)
        codex_session.name_provider(self.session)
        codex_session.count_tokens(self.token_counts, copied)

    def settle_echo(self, index: int, entry: Native, said: dict[str, set[str]]) -> None:
        """Mark an event that repeats a response item; make it the message it is where no item of
        its kind exists.
        """
        payload = entry["data"]
        member, entry_type = ECHOES[payload["type"]]
        if self.heard[entry_type]:
            if payload[member] in said[entry_type]:
                mark(entry)["repeats"] = True
            return
        del entry["event-type"], entry["data"]
        entry |= {"type": entry_type, "content": payload.pop(member), "payload": payload}
        if entry_type == "assistant":
            self.assistants.append((index, entry))
        without_nulls(payload)


def _kind(payload: Native) -> str:
    kind = payload.get("type")
    return kind if type(kind) is str else kind_of(kind)


def _texts(contents: list[Any]) -> set[str]:
    """Collect what contents say, block by block and as a whole."""
    said: set[str] = set()
    for content in contents:
        if type(content) is str:
            said.add(content)
        elif type(content) is list:
            texts = [
                block["text"]
                for block in content
                if type(block) is dict and type(block.get("text")) is str
            ]
            said.update(texts)
            said.add("".join(texts))
    return said
