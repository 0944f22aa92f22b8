"""Records → records with `file-attribution`: the lines that an agent wrote, by file.

The steps of the records are replayed in the order of time; the lines that are an agent's at the end
become ranges. The schema closes the maps of `file-attribution`, so the evidence for each range is
in the member `vacr` of the record, by path and range.

    >>> import vacr
    >>> from vacr.attribution.attribute import attribute_records
    >>> (record,) = attribute_records(list(vacr.read("session.jsonl")))
    >>> (file,) = record["file-attribution"]["files"]
    >>> (conversation,) = file["conversations"]
    >>> file["path"], conversation["contributor"]["type"]
    ('total.py', 'ai')
    >>> [(lines["start-line"], lines["end-line"]) for lines in conversation["ranges"]]
    [(1, 5), (7, 7)]
    >>> record["vacr"]["attribution"]["files"]["total.py"]["ranges"][0]["evidence"]
    'recorded'
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vacr.agents import (
    SessionStep,
    ToolCall,
    dict_or_empty,
    find_record_agent,
    is_unknown_file_tool,
)
from vacr.attribution.base_files import BaseFiles, find_base_root
from vacr.attribution.base_moments import find_base_moments
from vacr.attribution.file_state import EVIDENCE_CONTENT_ONLY, LineMaker, TrackedFile
from vacr.attribution.reconcile import LineRun, list_line_runs, unattribute_reverted_lines
from vacr.attribution.replay import Replay, derive_file_actions
from vacr.attribution.session_steps import find_newest_revision, locate_session_steps
from vacr.edits import (
    DIFF_ALGORITHM,
    DIFF_VERSION,
    encode_file_text,
    make_absolute_path,
    make_relative_path,
)
from vacr.errors import PluginError

REPLAY_ALGORITHM, REPLAY_VERSION = "vacr-replay", 6
# The result depends on the agents' knowledge of their tools.
TOOLS_VERSION = 5


@dataclass(frozen=True, slots=True)
class ConversationLinks:
    """Links that the user adds: the URL of the conversation, and related resources.

    A related resource is a pair of a type and a URL, such as `("issue", "https://…/7")`.
    """

    url: str | None = None
    related: tuple[tuple[str, str], ...] = ()


def attribute_records(
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None = None,
    links: ConversationLinks | None = None,
) -> list[dict[str, Any]]:
    """Return a copy of each record with `file-attribution` and its evidence in `vacr`.

    Changes of several records to the same files are merged in the order of time. `links` are added
    to each conversation.

    Raises:
        PluginError: the plugin of an agent failed; `record` of the error is the record.
    """
    replay, roots = replay_records(records, base)
    links = links or ConversationLinks()
    attributed = []
    for number, (record, root) in enumerate(zip(records, roots, strict=True)):
        with _name_failed_record(record):
            attributed.append(_add_attribution(record, records, number, replay, root, base, links))
    return attributed


def replay_records(
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None = None,
    make_replay: Callable[[BaseFiles | None, Sequence[str]], Replay] = Replay,
) -> tuple[Replay, list[str]]:
    """Replay the sessions of records over a base.

    Return the replay and, for each record, the folder on its machine that its paths are relative
    to (see `find_session_root`). `make_replay` may make a replay that watches its own steps.

    Raises:
        PluginError: the plugin of an agent failed; `record` of the error is the record.
    """
    walked, roots = [], []
    for record in records:
        with _name_failed_record(record):
            walked.append(locate_session_steps(record))
            if base is not None:
                store_file_actions(record, walked[-1])
            roots.append(find_session_root(record, walked[-1], base))
    replay = make_replay(base, roots)
    try:
        if base is not None:
            replay.moments = find_base_moments(base, roots, records, walked)
        replay.run(records, walked)
    except PluginError as error:
        error.record = records[replay.record]
        raise
    return replay, roots


@contextmanager
def _name_failed_record(record: dict[str, Any]) -> Iterator[None]:
    """Set `record` of a `PluginError` that the block raises, and raise the error again."""
    try:
        yield
    except PluginError as error:
        error.record = record
        raise


# --- the root of a session's paths ---


def store_file_actions(record: dict[str, Any], walked: Iterable[SessionStep]) -> None:
    """Derive the file actions of all calls of a session, and store them in `events` of the calls.

    The root of the session and the replay both need them.
    """
    agent = find_record_agent(record)
    for step in walked:
        if isinstance(step, ToolCall):
            step.events = list(derive_file_actions(agent, step))


def find_session_root(
    record: dict[str, Any], walked: Iterable[SessionStep], base: BaseFiles | None
) -> str:
    """Return the folder on the session's machine that corresponds to the root of the base.

    Without a base, return the session's own folder. With a base, the files that the calls in
    `walked` name decide (see `find_base_root`); their file actions must be stored in the calls.
    """
    folder = find_record_agent(record).project_folder(record)
    if base is None:
        return folder
    named = {
        make_absolute_path(action.path, step.folder)
        for step in walked
        if isinstance(step, ToolCall)
        for action in step.events or ()
        if action.path
    }
    return find_base_root(base, sorted(named), folder)


# --- the attribution of one record ---


def _add_attribution(
    record: dict[str, Any],
    records: Sequence[dict[str, Any]],
    number: int,
    replay: Replay,
    root: str,
    base: BaseFiles | None,
    links: ConversationLinks,
) -> dict[str, Any]:
    """Return a copy of the record at index `number` with its attribution.

    The copy also names the inputs of the attribution (base, links and other records) and, in `vcs`,
    the newest commit that the session shows. `root` is the folder that the session's paths are
    relative to.
    """
    user_links = [{"type": kind, "url": url} for kind, url in links.related]
    related = user_links + _list_pull_requests(record)
    conversation: dict[str, Any] = {"url": links.url} if links.url else {}
    if related:
        conversation["related"] = related
    attribution, evidence = build_file_attribution(replay, number, root, conversation)
    unknown = count_unknown_tools(replay, number)
    if unknown:
        evidence["unknown-tools"] = unknown
    metadata = {**dict_or_empty(record.get("vacr")), "attribution": evidence}
    inputs: dict[str, Any] = {}
    if base is not None:
        inputs["base"] = {"type": "git", "revision": base.revision}
    if links.url:
        inputs["url"] = links.url
    if user_links:
        inputs["related"] = user_links
    if len(records) > 1:
        inputs["records"] = sorted(
            str(other.get("id", "")) for other in records if other is not record
        )
    if inputs:
        metadata["inputs"] = {**dict_or_empty(metadata.get("inputs")), **inputs}
    attributed = {**record, "file-attribution": attribution, "vacr": metadata}
    revision = find_newest_revision(replay.steps[number])
    if revision is not None:
        attributed["vcs"] = {"type": "git", **record.get("vcs", {}), "revision": revision}
    return attributed


def count_unknown_tools(replay: Replay, number: int) -> dict[str, int]:
    """Return how many calls of unknown tools name a file, by tool name.

    `number` is the index of the record in the replay.
    """
    agent = replay.agents[number]
    names = Counter(
        step.name
        for step in replay.steps[number]
        if isinstance(step, ToolCall) and is_unknown_file_tool(agent, step)
    )
    return {name: names[name] for name in sorted(names)}


def _list_pull_requests(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the pull requests that entries of the session link to, each once."""
    agent = find_record_agent(record)
    entries = record["session"].get("entries", ())
    urls = dict.fromkeys(agent.pull_request_url(entry) for entry in entries)
    return [{"type": "pull-request", "url": url} for url in urls if url is not None]


def build_file_attribution(
    replay: Replay, number: int, root: str, conversation: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the member `file-attribution` of one replayed record, and the evidence for it.

    `number` is the index of the record in the replay. Paths are relative to `root`; a file outside
    of `root` is only listed in the evidence, under `outside`. `conversation` has the members that
    all conversations share.
    """
    files, proofs, outside = [], {}, []
    content_only = _group_content_only_changes(replay, number)
    for tracked in sorted(replay.files.values(), key=lambda tracked: tracked.path):
        path = make_relative_path(tracked.path, root)
        unattribute_reverted_lines(tracked.file)
        ranges, proof = _build_ranges(tracked, replay.makers, number)
        content = content_only.get(tracked.path, []) + _list_lost_calls(
            tracked, replay.makers, number
        )
        if not ranges and not content:
            continue
        if path is None:
            outside.append(tracked.path)
            continue
        if ranges:
            files.append(
                {"path": path, "conversations": [_build_conversation(ranges, conversation)]}
            )
        proofs[path] = _build_file_proof(tracked, proof, content)
    evidence: dict[str, Any] = {
        "algorithm": REPLAY_ALGORITHM,
        "version": REPLAY_VERSION,
        "diff": {"algorithm": DIFF_ALGORITHM, "version": DIFF_VERSION},
        "tools": {"version": TOOLS_VERSION},
        "files": proofs,
    }
    if outside:
        evidence["outside"] = sorted(outside)
    return {"files": files}, evidence


def _build_ranges(
    tracked: TrackedFile, makers: Sequence[LineMaker], number: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the line ranges of a file that record `number` wrote, and the evidence for each.

    Lines whose numbers are uncertain are left out.
    """
    ranges, proofs = [], []
    for run in list_line_runs(tracked.file):
        maker = makers[-run.maker - 1]
        if not _has_certain_place(tracked, run) or maker.record != number:
            continue
        place = {"start-line": run.first, "end-line": run.last}
        if run.mixed_with:
            contributor = {"type": "mixed", "model-id": makers[-run.mixed_with - 1].model}
        else:
            contributor = build_contributor(maker)
        digest = hashlib.sha256(encode_file_text(run.text)).hexdigest()
        ranges.append(place | {"content-hash": digest, "contributor": contributor})
        proofs.append(place | {"evidence": maker.evidence, "entries": maker.entries})
    return ranges, proofs


def _has_certain_place(tracked: TrackedFile, run: LineRun) -> bool:
    """Return whether the line numbers of a run are certain.

    They are not if a command likely changed the file since it was last seen.
    """
    return run.fresh and not tracked.is_doubtful


def build_contributor(maker: LineMaker) -> dict[str, Any]:
    """Return the contributor of a maker's lines, such as `{"type": "ai", "model-id": "gpt-5"}`.

    A valid contributor in the entry itself takes precedence. The user has the type `human`; a
    shell command and an unknown maker have the type `unknown`.
    """
    named = maker.contributor
    if isinstance(named, dict) and named.get("type") in ("human", "ai", "mixed", "unknown"):
        model = named.get("model-id")
        return {"type": named["type"]} | ({"model-id": model} if isinstance(model, str) else {})
    if maker.kind == "ai":
        return {"type": "ai", "model-id": maker.model}
    if maker.kind == "user":
        return {"type": "human"}
    return {"type": "unknown"}


def _list_lost_calls(
    tracked: TrackedFile, makers: Sequence[LineMaker], number: int
) -> list[dict[str, Any]]:
    """Return the agent's calls of record `number` whose lines have no certain place any more.

    Each is a dictionary with `call-id` and `entries`.
    """
    numbers = dict.fromkeys(
        run.maker for run in list_line_runs(tracked.file) if not _has_certain_place(tracked, run)
    )
    lost_makers = [makers[-maker_number - 1] for maker_number in numbers]
    return [
        {"call-id": maker.call_id, "entries": maker.entries}
        for maker in lost_makers
        if maker.kind == "ai" and maker.record == number
    ]


def _build_conversation(
    ranges: list[dict[str, Any]], conversation: dict[str, Any]
) -> dict[str, Any]:
    """Return a conversation with these ranges and their most frequent contributor.

    Ranges of that contributor lose their own member `contributor`, in place.
    """
    contributors = [tuple(sorted(lines["contributor"].items())) for lines in ranges]
    common = Counter(contributors).most_common(1)[0][0]
    for lines, contributor in zip(ranges, contributors, strict=True):
        if contributor == common:
            del lines["contributor"]
    return {**conversation, "contributor": dict(common), "ranges": ranges}


def _group_content_only_changes(replay: Replay, number: int) -> dict[str, list[dict[str, Any]]]:
    """Return the calls of record `number` whose change has no known place, by file path.

    Each is a dictionary with `call-id` and `entries`.
    """
    changes: dict[str, list[dict[str, Any]]] = {}
    for change in replay.history:
        if change.evidence == EVIDENCE_CONTENT_ONLY and change.record == number:
            call = change.call
            proof = {"call-id": call.call_id, "entries": [call.entry]}
            changes.setdefault(change.path, []).append(proof)
    return changes


def _build_file_proof(
    tracked: TrackedFile, ranges: list[dict[str, Any]], content: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the evidence for one file; `content` are the calls whose lines have no known place.

    It has the SHA-256 of the file only if every byte is known, perhaps with a doubt.
    """
    text = _get_exact_text(tracked)
    proof: dict[str, Any] = {"complete": text is not None, "ranges": ranges}
    if tracked.doubt and text is not None:
        proof["doubt"] = tracked.doubt
    if text is not None:
        proof["sha-256"] = hashlib.sha256(encode_file_text(text)).hexdigest()
    if content:
        proof["content-only"] = content
    return proof


def _get_exact_text(tracked: TrackedFile) -> str | None:
    """Return the text of a file if every byte is known, or else `None`.

    Hosts replace bytes that are not UTF-8. So a replacement character that no agent wrote means
    that the bytes are unknown, unless the text is known to be exact.
    """
    text = tracked.best_text
    if text is None or "\ufffd" not in text or tracked.file.exact:
        return text
    marked = any(
        "\ufffd" in line and not maker
        for chunk in tracked.file.chunks
        for line, maker in zip(chunk.lines, chunk.makers, strict=True)
    )
    return None if marked else text


# --- other results of a replay ---


def list_changed_files(
    replay: Replay, roots: Sequence[str]
) -> Iterator[tuple[str, bytes | None, dict[str, Any]]]:
    """Yield each file that the sessions changed: its path, its bytes, and the evidence.

    The bytes are `None` if the file was deleted or not all of it is known. Paths are relative to
    the `roots` that `replay_records` returned; files outside of them are skipped. With a base, all
    files that differ from it count, also moved files and files that others changed.
    """
    changed: dict[str, tuple[int, set[str]]] = {}
    for change in replay.history:
        changed.setdefault(change.path, (change.record, set()))[1].add(change.evidence)
    for tracked in sorted(replay.files.values(), key=lambda tracked: tracked.path):
        makers = [replay.makers[-run.maker - 1] for run in list_line_runs(tracked.file)]
        record, evidence = changed.get(tracked.path, (makers[0].record if makers else 0, set()))
        path = make_relative_path(tracked.path, roots[record]) if roots else None
        if path is None:
            continue
        if tracked.gone:
            yield path, None, {"complete": True, "deleted": True, "evidence": sorted(evidence)}
            continue
        text = _get_exact_text(tracked)
        data = None if text is None else encode_file_text(text)
        if evidence or _is_changed_without_call(replay, path, data, makers):
            evidence = evidence | {maker.evidence for maker in makers}
            doubt = {"doubt": tracked.doubt} if data is not None and tracked.doubt else {}
            yield path, data, {"complete": data is not None, "evidence": sorted(evidence), **doubt}


def _is_changed_without_call(
    replay: Replay, path: str, data: bytes | None, makers: Sequence[LineMaker]
) -> bool:
    """Return whether a file has changed although no call changed it: moved, or edited by others.

    Without a base, it counts as changed if it has lines of an agent.
    """
    if replay.base is None:
        return any(maker.kind == "ai" for maker in makers)
    return data is not None and data != replay.base.read_file(path)


def list_applied_changes(replay: Replay, roots: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield call, path, line ranges, evidence and model of each change of a file, by time.

    Lines are numbered as they were right after the call. A path outside of `roots` is absolute.
    """
    for change in replay.history:
        yield {
            "call-id": change.call.call_id,
            "path": make_relative_path(change.path, roots[change.record]) or change.path,
            "ranges": [list(pair) for pair in change.ranges],
            "evidence": change.evidence,
            "model-id": change.call.model,
        }
