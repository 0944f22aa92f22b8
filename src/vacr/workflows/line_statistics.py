"""Line statistics: who wrote the lines that the commits of a range added, and how long they stay.

Each commit is blamed on its own. Its lines are counted by type of contributor, and grouped by
author, agent, model, folder and week:

    >>> import subprocess, tempfile, vacr
    >>> from vacr.blame import Repository
    >>> from vacr.workflows import build_statistics_document, collect_line_statistics
    >>> records = list(vacr.read("session.jsonl"))
    >>> folder = tempfile.TemporaryDirectory()
    >>> git = ["git", "-C", folder.name, "-c", "user.name=mira", "-c", "user.email=mira@app"]
    >>> with open(f"{folder.name}/total.py", "w") as file:
    ...     _ = file.write('from decimal import Decimal\\n\\nCENT = Decimal("0.01")\\n# Done.\\n')
    >>> for command in ["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Add total"]:
    ...     _ = subprocess.run([*git, *command], check=True)
    >>> remote = ["remote", "add", "origin", "https://example.org/mira/invoice"]
    >>> _ = subprocess.run([*git, *remote], check=True)
    >>> records[0]["vcs"] = {"type": "git", "repository": "git@example.org:mira/invoice.git"}
    >>> statistics = collect_line_statistics(Repository(folder.name), "HEAD", records)
    >>> dict(statistics.total.lines)
    {'ai': 3, 'unknown': 1}
    >>> build_statistics_document(statistics, ["author"])["groups"]["author"][0]["key"]
    'mira <mira@app>'
    >>> folder.cleanup()

Survival is counted for lines of type `ai`: how many of them the branch still has after 7, 30 and
90 days. If the branch ended before, they are too young. Lines of type `mixed` were edited before
their commit: a session wrote them, and the commit has them changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from vacr.blame import (
    AddedLines,
    BlamedLine,
    BlameRecords,
    Commit,
    Repository,
    UnreadableFile,
    blame_commits,
    count_survivors,
    list_range_commits,
)
from vacr.viewer import make_visible_line
from vacr.workflows.attribute import CONTRIBUTOR_TYPES, build_line_counts

LINE_GROUPINGS = ("author", "agent", "model", "folder", "week")
SURVIVAL_DAYS = (7, 30, 90)
_UNKNOWN = "unknown"
_MAX_PAGE_ROWS = 200

PhaseCallback = Callable[[str, int, int], None]
"""Takes the name of the current phase, the steps done, and the number of all steps."""


class LineKey(NamedTuple):
    """The groups that a line belongs to, in the order of `LINE_GROUPINGS`."""

    author: str
    """The author of the commit."""
    agent: str | None
    """The agent that wrote the line alone or in part; `None` for all other lines."""
    model: str | None
    folder: str
    """The folder of the file; `.` for the root of the repository."""
    week: str
    """The week of the commit, such as `2026-W11`."""


@dataclass(slots=True)
class Survival:
    """How many `ai` lines are still there after some days."""

    lines: int = 0
    """The lines that are old enough to tell."""
    survived: int = 0
    too_young: int = 0


@dataclass(slots=True)
class LineCounts:
    """The lines of a group."""

    lines: Counter[str] = field(default_factory=Counter)
    """By type of contributor."""
    survival: dict[int, Survival] = field(
        default_factory=lambda: {days: Survival() for days in SURVIVAL_DAYS}
    )
    """By days."""


@dataclass(slots=True)
class LineStatistics:
    """The lines that the commits of a range added."""

    range: str
    end: Commit | None
    """The last commit of the range; `None` if the range is empty."""
    commits: int = 0
    """How many commits were counted."""
    total: LineCounts = field(default_factory=LineCounts)
    groups: dict[str, dict[str | None, LineCounts]] = field(
        default_factory=lambda: {by: {} for by in LINE_GROUPINGS}
    )
    no_text: int = 0
    """How many changed files have no lines: binary files, links and submodules."""
    unreadable: list[UnreadableFile] = field(default_factory=list)


def collect_line_statistics(
    repository: Repository,
    text: str,
    records: BlameRecords,
    *,
    since: int | None = None,
    until: int | None = None,
    progress: PhaseCallback = lambda _phase, _done, _total: None,
) -> LineStatistics:
    """Count the lines that the commits of a range added, by their authors in the records.

    `text` is a range such as `main..HEAD`, or a revision with its whole history. `since` and
    `until` leave out commits that were made before or after, in seconds since 1970. The survival of
    lines is counted until the end of the range, all the same. Without commits, all counts are 0.

    Raises:
        UnreadableInput: there is no such range, or git fails.
    """
    commits = list_range_commits(repository, text)
    statistics = LineStatistics(text, commits[-1] if commits else None)
    counted = [
        commit
        for commit in commits
        if (since is None or commit.time >= since) and (until is None or commit.time <= until)
    ]
    if not counted:
        return statistics
    statistics.commits = len(counted)
    progress("replaying sessions", 0, 0)
    blamed = blame_commits(
        repository,
        [commit.name for commit in counted],
        records,
        progress=lambda done, total: progress("blaming commits", done, total),
        report_unreadable=statistics.unreadable.append,
    )
    cells: Counter[tuple[LineKey, str]] = Counter()
    cohorts: list[tuple[LineKey, int]] = []
    tracked: dict[str, dict[str, dict[int, int]]] = {}
    for commit, added in zip(counted, blamed, strict=True):
        statistics.no_text += len(added.no_text)
        own, agent_lines = _count_commit_lines(commit, added, len(cohorts))
        cells.update(own)
        cohorts += [(key, own[key, "ai"]) for key in agent_lines.keys]
        if agent_lines.files:
            tracked[commit.name] = agent_lines.files
    for (key, kind), count in cells.items():
        for counts in _find_counts(statistics, key):
            counts.lines[kind] += count
    survivors = count_survivors(
        repository,
        commits,
        tracked,
        SURVIVAL_DAYS,
        lambda done, total: progress("following lines", done, total),
    )
    for cohort, (key, count) in enumerate(cohorts):
        _add_survivors(_find_counts(statistics, key), survivors[cohort], count)
    return statistics


@dataclass(slots=True)
class _AgentLines:
    """The `ai` lines of a commit, numbered by their groups."""

    keys: list[LineKey] = field(default_factory=list)
    files: dict[str, dict[int, int]] = field(default_factory=dict)
    """By path and number: the index of the group, counted over all commits."""


def _count_commit_lines(
    commit: Commit, added: AddedLines, first: int
) -> tuple[Counter[tuple[LineKey, str]], _AgentLines]:
    """Count the lines of a commit by group and type, and number its `ai` lines by group.

    `first` is the index of its first group. `agents` has the name of the agent by record and
    session id.
    """
    cells: Counter[tuple[LineKey, str]] = Counter()
    agent_lines = _AgentLines()
    indexes: dict[LineKey, int] = {}
    week = _format_week(commit.time)
    for path, lines in added.files:
        folder = path.rpartition("/")[0] or "."
        for line in lines:
            agent, model = _find_agent_and_model(line)
            key = LineKey(commit.author, agent, model, folder, week)
            cells[key, line.type] += 1
            if line.type == "ai":
                index = indexes.setdefault(key, first + len(indexes))
                agent_lines.files.setdefault(path, {})[line.number] = index
    agent_lines.keys = list(indexes)
    return cells, agent_lines


def _find_agent_and_model(line: BlamedLine) -> tuple[str, str] | tuple[None, None]:
    """Return the agent and the model that wrote a line, alone or in part, or twice `None`.

    An agent wrote the line if a record proves it. Its name or model may still be `unknown`.
    """
    if line.blame is None or line.type == "human":
        return None, None
    claim = line.blame.claim
    return claim.agent or _UNKNOWN, claim.model or _UNKNOWN


def _format_week(seconds: int) -> str:
    """Return the ISO week of a time in UTC, such as `2026-W11`; `unknown` beyond the year 9999."""
    try:
        year, week, _ = datetime.fromtimestamp(seconds, UTC).isocalendar()
    except (OverflowError, OSError, ValueError):
        return _UNKNOWN
    return f"{year}-W{week:02}"


def _find_counts(statistics: LineStatistics, key: LineKey) -> list[LineCounts]:
    """Return the counts that a line goes into: the total, and one group of each grouping."""
    found = [statistics.total]
    for by, group in zip(LINE_GROUPINGS, key, strict=True):
        found.append(statistics.groups[by].setdefault(group, LineCounts()))
    return found


def _add_survivors(
    all_counts: Sequence[LineCounts], survivors: Sequence[int | None], count: int
) -> None:
    """Add the survivors among `count` lines, after each number of days, to some counts.

    `None` instead of a number means that the lines are too young for these days.
    """
    for days, survived in zip(SURVIVAL_DAYS, survivors, strict=True):
        for counts in all_counts:
            own = counts.survival[days]
            if survived is None:
                own.too_young += count
            else:
                own.lines += count
                own.survived += survived


# --- what people and programs get ---


def sort_line_groups(statistics: LineStatistics, by: str) -> list[tuple[str | None, LineCounts]]:
    """Return the groups of a grouping: weeks in their order, others by lines, most first.

    The group of lines without an agent or a model has the name `None`, and comes last.
    """
    groups = statistics.groups[by].items()
    if by == "week":
        return sorted(groups, key=lambda group: group[0] or "")
    return sorted(
        groups,
        key=lambda group: (group[0] is None, -group[1].lines.total(), group[0] or ""),
    )


def format_group_names(statistics: LineStatistics, by: str) -> dict[str | None, str]:
    """Return the name of each group for people.

    Authors have their email only if two of them share a name.
    """
    names = {key: f"no {by}" if key is None else key for key in statistics.groups[by]}
    if by != "author":
        return names
    shared: dict[str, list[str | None]] = defaultdict(list)
    for key, name in names.items():
        shared[name.rpartition(" <")[0]].append(key)
    return names | {keys[0]: name for name, keys in shared.items() if name and len(keys) == 1}


def build_statistics_document(statistics: LineStatistics, by: Sequence[str]) -> dict[str, Any]:
    """Return the statistics for JSON output, with the groups of these groupings."""
    end = statistics.end
    return {
        "range": statistics.range,
        "end": end.name if end is not None else None,
        "end-time": _format_time(end.time) if end is not None else None,
        "commits": statistics.commits,
        "total": _build_counts_document(statistics.total),
        "groups": {
            name: [
                {"key": key, **_build_counts_document(counts)}
                for key, counts in sort_line_groups(statistics, name)
            ]
            for name in by
        },
        "no-text": statistics.no_text,
        "unreadable": [
            {"commit": file.commit, "path": file.path, "error": file.message}
            for file in statistics.unreadable
        ],
    }


def _format_time(seconds: int) -> str | None:
    """Return a time in UTC, such as `2026-03-14T09:00:00Z`; `None` beyond the year 9999."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return None


def _build_counts_document(counts: LineCounts) -> dict[str, Any]:
    """Return the counts of a group for JSON output."""
    return {
        **build_line_counts(counts.lines),
        "edited-before-commit": counts.lines["mixed"],
        "survival": [
            {
                "days": days,
                "lines": own.lines,
                "survived": own.survived,
                "too-young": own.too_young,
            }
            for days, own in counts.survival.items()
        ],
    }


def build_statistics_page(statistics: LineStatistics, by: Sequence[str]) -> dict[str, Any]:
    """Return the statistics for the description of a page, with the names that the page expects.

    Only the first groups of each grouping go into the page; for weeks, the latest.
    """
    groups = []
    for name in by:
        names = format_group_names(statistics, name)
        rows = sort_line_groups(statistics, name)
        if name == "week":
            rows.reverse()
        groups.append(
            {
                "by": name,
                "count": len(rows),
                "rows": [
                    {"name": make_visible_line(names[key]), **_build_page_counts(counts)}
                    for key, counts in rows[:_MAX_PAGE_ROWS]
                ],
            }
        )
    return {
        "range": make_visible_line(statistics.range),
        "commits": statistics.commits,
        "total": _build_page_counts(statistics.total),
        "groups": groups,
    }


def _build_page_counts(counts: LineCounts) -> dict[str, Any]:
    """Return the counts of a group for the description of a page."""
    return {kind: counts.lines[kind] for kind in CONTRIBUTOR_TYPES} | {
        "survival": [
            {"days": days, "lines": own.lines, "survived": own.survived, "young": own.too_young}
            for days, own in counts.survival.items()
        ]
    }
