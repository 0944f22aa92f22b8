"""Amp's threads: one JSON value each, with Anthropic's blocks.

A result describes the run of its call: a status, and a result whose members depend on the tool. The
thread states the commit, the branch and the remote of its workspace.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.amp.reader import read
>>> data = b'''{"v": 3, "id": "T-1", "created": 1790000000000, "messages": [
... {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Hello"}]}]}'''
>>> (reading,) = read(Source((SourcePart("T-1.json", data),)))
>>> session = reading.record["session"]
>>> session["session-id"], session["session-start"], session["entries"][0]["messageId"]
('T-1', 1790000000000, 0)

docs/mapping/amp.md is generated from the tables. They hold the names seen in threads of 2026. A
name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from vacr.agents.agent import SessionStore, Source
from vacr.agents.anthropic_blocks import make_block_entry, move_nested_text
from vacr.agents.json_sessions import JsonSession, read_json_sessions
from vacr.agents.lift import (
    Move,
    NativeShape,
    Reading,
    SessionBuilder,
    UsageSums,
    is_count,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import is_timestamp

name = "amp"
formats = ("amp-json",)
STORES = (SessionStore(("threads/T-*.json",), "~/.local/share", "XDG_DATA_HOME", "amp"),)

# --- Known members ---

AMP_THREAD_MEMBERS = parse_names(
    """
    agentMode created creatorUserID env id mainThreadID messages meta nextMessageId relationships
    title usageLedger v ~debug
    """
)
AMP_MESSAGE_MEMBERS = parse_names(
    """
    agentMode content dtwMessageID fileMentions interrupted messageId meta parentToolUseId role
    state turnElapsedMs usage userState
    """
)

# --- Moves ---

AMP_MESSAGE_SHAPE = NativeShape(AMP_MESSAGE_MEMBERS, Move("content", "content", None))
AMP_USAGE_SUMS = UsageSums(
    ("input", ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")),
    ("cached", ("cacheReadInputTokens",)),
    ("output", ("outputTokens",)),
)
_FILE_SCHEME = "file://"
_BRANCH_PREFIX = "refs/heads/"


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is Amp's; 0 if it is empty."""
    if not sample:
        return 0.0
    return sum(map(_is_thread, sample)) / len(sample)


def _is_thread(value: Any) -> bool:
    """Return whether a value is a thread: its id, its revision, and its messages."""
    return (
        type(value) is dict
        and type(value.get("id")) is str
        and value["id"].startswith("T-")
        and type(value.get("v")) is int
        and type(value.get("messages")) is list
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each thread in a file."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Return the reader for one thread."""
        del header, messages
        return _Thread(SessionBuilder(formats[0], name))

    return read_json_sessions(source, begin, "messages")


class _Thread(JsonSession):
    """A thread on its way into a record."""

    def learn_header(self, header: JsonObject) -> None:
        """Learn about the session from the members around the messages."""
        session = self.session
        session.drift.count_members("thread", header, AMP_THREAD_MEMBERS)
        if header.get("id") and type(header["id"]) is str:
            session.session_id = header.pop("id")
        if is_count(header.get("created")):
            session.start = header["created"]
        parent = header.get("mainThreadID")
        if type(parent) is str and parent:
            session.parent, session.mode = parent, "autonomous"
        environment = header.get("env")
        initial = environment.get("initial") if type(environment) is dict else None
        if type(initial) is dict:
            self.learn_environment(initial)

    def learn_environment(self, initial: JsonObject) -> None:
        """Learn the version, the folder, and the state of the repository at the beginning."""
        session = self.session
        platform, trees = initial.get("platform"), initial.get("trees")
        if type(platform) is dict and type(platform.get("clientVersion")) is str:
            session.cli_version = platform["clientVersion"]
        tree = trees[0] if type(trees) is list and trees else None
        if type(tree) is not dict:
            return
        address, repository = tree.get("uri"), tree.get("repository")
        if type(address) is str and address.startswith(_FILE_SCHEME):
            session.working_dir = unquote(address.removeprefix(_FILE_SCHEME))
        if type(repository) is not dict:
            return
        for member, fact in (("sha", "revision"), ("ref", "branch"), ("url", "repository")):
            if type(repository.get(member)) is str and repository[member]:
                session.vcs[fact] = repository[member].removeprefix(_BRANCH_PREFIX)

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry; its results take the status of their runs."""
        session = self.session
        entry = make_block_entry(message, session, AMP_MESSAGE_SHAPE)
        if entry["type"] == "user":
            _move_time(entry, "meta", "sentAt")
            _add_statuses(entry)
        elif entry["type"] == "assistant":
            usage = entry.get("usage")
            if type(usage) is dict:
                counts = AMP_USAGE_SUMS.compute(usage)
                if counts:
                    entry["token-usage"] = counts
            _move_time(entry, "usage", "timestamp")
            move_nested_text(entry, "state", "stopReason", "stop-reason")
            model = move_nested_text(entry, "usage", "model", "model-id")
            if model is not None:
                session.models[model] += 1
        return entry


def _move_time(entry: JsonObject, holder_name: str, member: str) -> None:
    """Move a time out of an object in an entry to its timestamp."""
    holder = entry.get(holder_name)
    if type(holder) is dict and is_timestamp(holder.get(member)):
        entry["timestamp"] = holder.pop(member)


def _add_statuses(entry: JsonObject) -> None:
    """Add the status of each run to the result that views it."""
    content = entry.get("content")
    runs = [
        block.get("run")
        for block in (content if type(content) is list else ())
        if type(block) is dict and block.get("type") == "tool_result"
    ]
    results = [child for child in entry.get("children", ()) if child["type"] == "tool-result"]
    if len(runs) != len(results):
        return
    for run, child in zip(runs, results, strict=True):
        if type(run) is dict and type(run.get("status")) is str:
            child["status"] = run["status"]
