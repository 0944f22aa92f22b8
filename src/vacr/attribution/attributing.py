"""Records → records with `file-attribution`. Step: attribute."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.attribution import paths
from vacr.attribution.base import Base, root_of
from vacr.attribution.calls import Call, Step, agent_of
from vacr.attribution.derive import events_of, is_unknown
from vacr.attribution.folders import working_folder
from vacr.attribution.replay import Replay
from vacr.attribution.result import file_attribution
from vacr.attribution.revisions import newest_revision
from vacr.attribution.whereabouts import placed


@dataclass(frozen=True, slots=True)
class Wishes:
    """What no session holds: where the conversation can be read, and what it is related to, as
    pairs of type and URL.
    """

    url: str | None = None
    related: tuple[tuple[str, str], ...] = ()


def attribute(
    records: Sequence[dict[str, Any]], base: Base | None = None, wishes: Wishes | None = None
) -> list[dict[str, Any]]:
    """Give each record with its attribution; what they did to the same files is joined in the order
    of time.

    The given records are not changed.
    """
    replay, roots = replayed(records, base)
    wishes = wishes or Wishes()
    return [
        _with_attribution(record, records, number, replay, roots[number], base, wishes)
        for number, record in enumerate(records)
    ]


def replayed(
    records: Sequence[dict[str, Any]], base: Base | None = None
) -> tuple[Replay, list[str]]:
    """Replay records over a base; gives also the root of each one's paths."""
    walked = [placed(record) for record in records]
    roots = [root(record, own, base) for record, own in zip(records, walked, strict=True)]
    replay = Replay(base, roots)
    replay.run(records, walked)
    return replay, roots


def root(record: dict[str, Any], walked: Sequence[Step], base: Base | None) -> str:
    """Find the folder that a record's paths are told from: that of the base, or else where the
    session worked.
    """
    folder = working_folder(record)
    if base is None:
        return folder
    agent = agent_of(record)
    named: set[str] = set()
    for step in walked:
        if isinstance(step, Call):
            step.events = list(events_of(step, agent))
            named |= {
                paths.absolute(event.path, step.folder) for event in step.events if event.path
            }
    return root_of(base, sorted(named), folder)


def unknown_tools(replay: Replay, number: int) -> dict[str, int]:
    """Count the calls of a record that name a file and whose tools nothing is known of, by name."""
    agent = replay.agents[number]
    names = Counter(
        step.name
        for step in replay.steps[number]
        if isinstance(step, Call) and is_unknown(step, agent)
    )
    return {name: names[name] for name in sorted(names)}


def history(replay: Replay, roots: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give what each applied call made, in the order of time."""
    for change in replay.history:
        yield {
            "call-id": change.call.call_id,
            "path": paths.relative(change.path, roots[change.record]) or change.path,
            "ranges": [list(pair) for pair in change.ranges],
            "evidence": change.evidence,
            "model-id": change.call.model,
        }


def _with_attribution(
    record: dict[str, Any],
    records: Sequence[dict[str, Any]],
    number: int,
    replay: Replay,
    root: str,
    base: Base | None,
    wishes: Wishes,
) -> dict[str, Any]:
    related = [{"type": kind, "url": url} for kind, url in wishes.related] + _pull_requests(record)
    conversation: dict[str, Any] = {"url": wishes.url} if wishes.url else {}
    if related:
        conversation["related"] = related
    attribution, evidence = file_attribution(replay, number, root, conversation)
    unknown = unknown_tools(replay, number)
    if unknown:
        evidence["unknown-tools"] = unknown
    ours = {**_map(record.get("vacr")), "attribution": evidence}
    inputs: dict[str, Any] = {}
    if base is not None:
        inputs["base"] = {"type": "git", "revision": base.revision}
    if wishes.url:
        inputs["url"] = wishes.url
    if wishes.related:
        inputs["related"] = [{"type": kind, "url": url} for kind, url in wishes.related]
    if len(records) > 1:
        inputs["records"] = sorted(
            str(other.get("id", "")) for other in records if other is not record
        )
    if inputs:
        ours["inputs"] = {**_map(ours.get("inputs")), **inputs}
    made = {**record, "file-attribution": attribution, "vacr": ours}
    revision = newest_revision(replay.steps[number])
    if revision is not None:
        made["vcs"] = {"type": "git", **record.get("vcs", {}), "revision": revision}
    return made


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _pull_requests(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the pull requests that Claude Code tied to the session."""
    found = []
    for entry in record["session"].get("entries", ()):
        data = entry.get("data") if entry.get("event-type") == "pr-link" else None
        url = data.get("prUrl") if isinstance(data, dict) else None
        if isinstance(url, str) and {"type": "pull-request", "url": url} not in found:
            found.append({"type": "pull-request", "url": url})
    return found
