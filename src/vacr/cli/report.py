"""The report of a recording run: a line for each record, or a table by agent for a folder.

Results are printed as they come in. Only `--format json`, which prints one document, keeps them.

    >>> from vacr.cli.report import _format_drift
    >>> _format_drift({"fields": {"mood": 2, "taste": 1}})
    '2 unknown fields: mood (2), taste (1)'
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vacr.console import Voice, align_columns
from vacr.files import format_path
from vacr.workflows import RecordingOutcome, format_count, format_size

_MAX_NOTICES = 20
_MAX_NAMES = 5
COUNT_COLUMNS = (
    "records",
    "entries",
    "bytes",
    "written",
    "replaced",
    "unchanged",
    "drift",
    "notices",
)


@dataclass
class RecordingReport:
    """The results of a run, printed as they come in."""

    voice: Voice
    folder: bool
    """Whether folders are recorded: then many files are not sessions."""
    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    """The ids of the recorded sessions, unless folders are recorded."""
    agents: dict[str, Counter[str]] = field(default_factory=dict)
    drift: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    secrets: int = 0
    not_sessions: int = 0
    exit_code: int = 0
    findings: int = 0

    def add(self, outcome: RecordingOutcome) -> None:
        """Count the outcome of a task, and print its records and errors.

        In a folder, a file that is not a session is only counted.
        """
        self.findings += outcome.findings
        for record in outcome.records:
            self._add_record(record)
        if outcome.skipped and self.folder:
            self._add_skipped(
                outcome.errors[0]
                if outcome.errors
                else {"source": format_path(outcome.task.path), "error": outcome.skipped}
            )
            return
        self.exit_code = max(self.exit_code, outcome.exit_code)
        for error in outcome.errors:
            self.failed += 1
            self._keep_document(self.errors, error)
            self.voice.line({"kind": "error", **error})
            where = f"{error['where']}: " if error["where"] else ""
            self.voice.error(f"vacr: {where}{error['error']}", error["hint"])

    def _add_skipped(self, error: dict[str, Any]) -> None:
        """Count a file that is not a session; `-v` prints it with the reason."""
        self.not_sessions += 1
        document = {"source": error["source"], "reason": error["error"]}
        self._keep_document(self.skipped, document)
        self.voice.line({"kind": "skipped", **document})
        self.voice.notice(f"vacr: {error['source']}: {error['error']}", 1)

    def _keep_document(self, items: list[dict[str, Any]], item: dict[str, Any]) -> None:
        """Append an item to a list for `--format json`; other formats need no list."""
        if self.voice.format == "json":
            items.append(item)

    def _add_record(self, record: dict[str, Any]) -> None:
        """Count a record by its agent, and print it; in a folder, only with `-v`."""
        counts = self.agents.setdefault(record["agent"], Counter())
        names = [
            f"{kind[:-1]} {name}"
            for kind, names_found in record["drift"].items()
            for name in names_found
        ]
        self.drift.update(names)
        counts.update(
            {
                "records": 1,
                "entries": record["entries"],
                "bytes": record["bytes"],
                record["state"]: 1,
            }
            | {"drift": len(names), "notices": len(record["notices"]) + len(record["left-out"])}
        )
        if not self.folder:
            self.sessions.add(record["session-id"])
        self.secrets += bool(record.get("secrets"))
        document = {name: value for name, value in record.items() if name not in ("seen", "stale")}
        self._keep_document(self.records, document)
        self.voice.line({"kind": "record", **document})
        self._print_record(record, 1 if self.folder else 0)

    def _print_record(self, record: dict[str, Any], level: int) -> None:
        """Print the notices about a record, then a line about it, at a level of verbosity."""
        voice, name = self.voice, record["source"]
        for notice in record["notices"][:_MAX_NOTICES]:
            line = f":{notice['line']}" if notice["line"] else ""
            voice.notice(f"vacr: {name}{line}: {notice['message']}", level)
        if len(record["notices"]) > _MAX_NOTICES:
            more = format_count(len(record["notices"]) - _MAX_NOTICES, "more line")
            voice.notice(
                f"vacr: {name}: {more} with notices; --format json lists all of them", level
            )
        for missing in record["left-out"]:
            voice.notice(f"vacr: {missing['file']}: skipped: {missing['reason']}", level)
        if record["drift"]:
            voice.notice(f"vacr: {name}: {_format_drift(record['drift'])}; kept unchanged", level)
        if "stale" in record:
            remark = "is the sealed source of the older record. To replace it, add --seal-source."
            voice.notice(f"vacr: {record['stale']} {remark}", level)
        if record["output"] is None or voice.verbose < level:
            return
        agent = f"{record['agent']} {record['cli-version'] or ''}".rstrip()
        state = {
            "written": "",
            "unchanged": ", unchanged",
            "replaced": ", replaced an older record",
        }[record["state"]]
        sealed = ", source sealed" if record["sealed"] else ""
        entries, size = format_count(record["entries"], "entry"), format_size(record["bytes"])
        voice.result(f"{record['output']}: {agent}, {entries}, {size}{state}{sealed}")
        models = ", ".join(record["models"]) or "unknown"
        voice.notice(f"  session {record['session-id']}, models {models}, id {record['id']}", 1)

    def summary(self) -> dict[str, Any]:
        """Return the totals for JSON output: counts by agent, drift, failed and skipped files."""
        agents = {
            agent: {name: counts[name] for name in COUNT_COLUMNS}
            for agent, counts in sorted(self.agents.items())
        }
        return {
            "agents": agents,
            "drift": dict(sorted(self.drift.items())),
            "failed": self.failed,
            "skipped": self.not_sessions,
        }

    def finish(self) -> None:
        """Print the totals of a run over folders; for `--format json`, print all results."""
        document = {"records": self.records, "errors": self.errors}
        self.voice.data(
            document | ({"skipped": self.skipped, "summary": self.summary()} if self.folder else {})
        )
        if not self.folder:
            return
        self.voice.line({"kind": "summary", **self.summary()})
        if self.agents:
            for row in self._format_table():
                self.voice.result(row)
        self.print_remarks()

    def print_remarks(self) -> None:
        """Print totals that need attention, such as failures and files that are not sessions.

        Without folders, print nothing.
        """
        if not self.folder:
            return
        remarks = [format_count(self.failed, "failure")] if self.failed else []
        notices = sum(counts["notices"] for counts in self.agents.values())
        if notices:
            remarks.append(f"{format_count(notices, 'notice')} (-v shows them)")
        if self.secrets:
            remarks.append(
                f"{format_count(self.secrets, 'record')} with share links (see vacr.secrets); "
                "not scanned for other credentials"
            )
        if self.not_sessions:
            remarks.append(
                f"{format_count(self.not_sessions, 'file')} skipped: not a session (-v lists them)"
            )
        if self.drift:
            remarks.append(f"unknown to this version of vacr: {_format_top_counts(self.drift)}")
        for line in remarks:
            self.voice.result(line)

    def _format_table(self) -> list[str]:
        """Return the lines of a table: the counts of each agent, and the sum of several."""
        counted = sorted(self.agents.items())
        if len(counted) > 1:
            counted.append(("all", sum((counts for _, counts in counted), Counter())))
        rows = [["agent", *COUNT_COLUMNS]]
        for agent, counts in counted:
            rows.append(
                [
                    agent,
                    *(
                        format_size(counts[name]) if name == "bytes" else str(counts[name])
                        for name in COUNT_COLUMNS
                    ),
                ]
            )
        return align_columns(rows, right=frozenset(range(1, len(COUNT_COLUMNS) + 1)))


def _format_drift(drift: dict[str, dict[str, int]]) -> str:
    """Return the parts of a session that vacr does not know, such as `1 unknown field: mood (2)`.

    `drift` maps kinds, such as `fields`, to the names and counts of their unknown parts.
    """
    parts = []
    for kind, counts in sorted(drift.items(), reverse=True):
        count = format_count(len(counts), f"unknown {kind[:-1]}")
        parts.append(f"{count}: {_format_top_counts(counts)}")
    return "; ".join(parts)


def _format_top_counts(counts: dict[str, int]) -> str:
    """Return the five most frequent names with their counts: `mood (2), taste (1) and 3 more`."""
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = ", ".join(f"{name} ({count})" for name, count in shown[:_MAX_NAMES])
    more = len(counts) - _MAX_NAMES
    return f"{names} and {more} more" if more > 0 else names
