"""Put entries and what is known about a session together into a record. Step: read. Follows the v3
schema's root types.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from vacr.content import Counts
from vacr.model import SCHEMA_VERSION, SESSION_MEMBERS, Native, Record
from vacr.readers.lift import Drift, check_timestamps, kind_of, mark
from vacr.readers.lines import Repaired, Undecodable
from vacr.readers.source import Part, Source
from vacr.timestamps import are_usual, span
from vacr.version import __version__

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Notice:
    """Something about a source that its owner should know, and the line it is about."""

    message: str
    line: int = 0
    part: str = ""


@dataclass(frozen=True)
class Reading:
    """A record, not yet identified, and what was noticed while reading it."""

    record: Record
    notices: tuple[Notice, ...] = ()


@dataclass
class Session:
    """What a reader finds out about a session, in the words of the schema."""

    format_id: str
    cli_name: str
    entries: list[Native] = field(default_factory=list)
    session_id: str | None = None
    parent: str | None = None
    inherits: bool = False
    mode: str | None = None
    start: Any = None
    end: Any = None
    models: Counts = field(default_factory=lambda: defaultdict(int))
    provider: str = UNKNOWN
    cli_version: str | None = None
    working_dir: str | None = None
    sandboxes: list[str] = field(default_factory=list)
    vcs: Native = field(default_factory=dict)
    native: Native = field(default_factory=dict)
    """What the agent says about the session that has no canonical member; it stays under its native
    name.
    """
    embedded: list[Native] = field(default_factory=list)
    """Entries that stand inside others and have times or ids of their own."""
    repaired: list[str] = field(default_factory=list)
    """What was replaced in values that hold more than an entry; their bytes are kept in an event.
    """
    secrets: list[str] = field(default_factory=list)
    """Pointers to what gives whoever reads the record a power it should not have."""
    has_usual_times: bool = False
    """All entries have timestamps of one form that sorts as text."""
    drift: Drift = field(default_factory=Drift)
    notices: list[Notice] = field(default_factory=list)

    def take_lines(self, source: Source, entry: Callable[[Native], Native]) -> None:
        """Make entries of the lines of a source, each object by the reader's own way."""
        append = self.entries.append
        for number, batch in source.main.documents():
            for document in batch:
                if type(document) is dict:
                    append(entry(document))
                else:
                    self.keep_unusual(number, document, entry)

    def keep_unusual(self, line: int, document: Any, entry: Callable[[Native], Native]) -> None:
        """Keep what is no plain object: bytes that could not be decoded, a repaired line, a value
        of another type.
        """
        if isinstance(document, Repaired):
            made = (
                entry(document.value)
                if isinstance(document.value, dict)
                else self.other(document.value)
            )
            mark(made)["repaired"] = document.reason
            self.entries.append(made)
        else:
            self.entries.append(self.unusual(line, document))

    def unusual(self, line: int, document: Any, part: str = "") -> Native:
        """Make the event that keeps bytes which could not be decoded, or a value of an unexpected
        type.

        `part` is the name of the file that they are in, where a session is of many.
        """
        if isinstance(document, Undecodable):
            where = f"{part} " if part else ""
            self.notices.append(
                Notice(f"{where}cannot be decoded: {document.reason}; kept as bytes", line, part)
            )
            event = undecodable(line, document)
            if part:
                event["data"]["file"] = part
            return event
        return self.other(document)

    def other(self, value: Any) -> Native:
        """Make an event of a value that is no object."""
        self.drift.see_type(kind_of(value))
        event = {"type": "system-event", "event-type": UNKNOWN, "data": {"value": value}}
        return {**event, "vacr": {"not-an-object": True}}

    def tidy(self) -> None:
        """See to what only all entries together tell: timestamps outside the pattern, ids that are
        not unique.
        """
        entries = self.entries + self.embedded if self.embedded else self.entries
        stamps = [entry["timestamp"] for entry in entries if "timestamp" in entry]
        # Most sessions have but usual timestamps, which need not be looked at one by one.
        self.has_usual_times = are_usual(stamps)
        if stamps and not self.has_usual_times and (odd := check_timestamps(entries)):
            told = (
                f"{len(odd)} outside the pattern, the first in entry {odd[0]}; kept in vacr.native"
            )
            self.notices.append(Notice(f"timestamps: {told}"))
        ids = [entry["id"] for entry in entries if "id" in entry]
        if len(set(ids)) != len(ids):
            _keep_first_of_each_id([entry for entry in entries if "id" in entry])

    def reading(self, source: Source, *, attached: bool = True) -> Reading:
        """Make the record; the other parts of the source are attached to the session unless they
        were read with it.
        """
        if attached:
            self.entries.extend(attached_file(part) for part in source.parts[1:])
        trace: Native = {
            "session-id": self.session_id or source.main.sha256,
            "agent-meta": self._agent_meta(),
            "entries": self.entries,
        }
        if self.mode:
            trace["format"] = self.mode
        trace.update(self._times())
        record: Native = {
            "version": SCHEMA_VERSION,
            "session": trace,
            "recording-agent": {"name": "vacr", "version": __version__},
            "vacr": {"source": {"format": self.format_id, "parts": source.manifest()}},
        }
        self._place(trace, record)
        self._fill(trace, record)
        if self.parent:
            record["vacr"]["parent"] = {"session-id": self.parent}
        if self.secrets:
            record["vacr"]["secrets"] = self.secrets
        if self.repaired:
            record["vacr"]["repaired"] = self.repaired
        if unknown := self.drift.report():
            record["vacr"]["drift"] = unknown
        return Reading(cast("Record", record), tuple(self.notices))

    def _fill(self, trace: Native, record: Native) -> None:
        """Leave the agent's own members in the session, and aside where their names mean something
        else there.
        """
        if not self.native:
            return
        native = {name: value for name, value in self.native.items() if value is not None}
        aside = {name: native.pop(name) for name in SESSION_MEMBERS.intersection(native)}
        trace.update(native)
        if aside:
            record["vacr"]["native"] = aside

    def _times(self) -> Native:
        """Say when the session began and ended: as the agent says, or by the first and the last
        time there is.
        """
        said = [stamp for stamp in (self.start, self.end) if stamp is not None]
        stamps = self._stamps() + said
        if not stamps:
            return {}
        if self.has_usual_times and are_usual([stamps[0], *said]):
            extent: tuple[Any, Any] | None = (min(stamps), max(stamps))
        else:
            extent = span(stamps)
        if extent is None:
            if not said:
                return {}
            # A day that no calendar has says nothing about order.
            extent = said[0], said[-1]
        return {
            "session-start": extent[0] if self.start is None else self.start,
            "session-end": extent[1],
        }

    def _stamps(self) -> list[Any]:
        """Give the times that the session itself names."""
        own = (
            [entry for entry in self.entries if "inherited" not in entry.get("vacr", ())]
            if self.inherits
            else self.entries
        )
        return [entry["timestamp"] for entry in own if "timestamp" in entry]

    def _agent_meta(self) -> Native:
        meta: Native = {
            "cli-name": self.cli_name,
            "model-id": UNKNOWN,
            "model-provider": self.provider,
        }
        if self.models:
            meta["model-id"] = max(self.models, key=self.models.__getitem__)
            meta["models"] = list(self.models)
        if self.cli_version:
            meta["cli-version"] = self.cli_version
        return meta

    def _place(self, trace: Native, record: Native) -> None:
        """Say where the session ran; the version control state is both the session's and the
        record's.
        """
        if self.vcs:
            record["vcs"] = {"type": "git", **self.vcs}
        if self.working_dir is not None:
            trace["environment"] = {"working-dir": self.working_dir}
            if self.vcs:
                trace["environment"]["vcs"] = record["vcs"]
            if self.sandboxes:
                trace["environment"]["sandboxes"] = self.sandboxes


def undecodable(line: int, found: Undecodable) -> Native:
    """Make the event that keeps bytes which are not what they should be."""
    data = {"line": line, "reason": found.reason, "bytes": base64.b64encode(found.data).decode()}
    return {
        "type": "system-event",
        "event-type": "undecodable",
        "data": data,
        "vacr": {"encoding": "base64"},
    }


def attached_file(part: Part) -> Native:
    """Make the event that keeps a file which belongs to the session beside its transcript."""
    data: Native = {"name": part.name}
    try:
        data["text"] = part.data.decode()
    except UnicodeDecodeError:
        data["bytes"] = base64.b64encode(part.data).decode()
    return {"type": "system-event", "event-type": "attached-file", "data": data}


def _keep_first_of_each_id(entries: list[Native]) -> None:
    """Let only the first entry of an id have it: resumed and copied sessions write some lines
    again.
    """
    seen: set[str] = set()
    for entry in entries:
        identity = entry["id"]
        if identity in seen:
            mark(entry)["repeats"] = entry.pop("id")
        seen.add(identity)
