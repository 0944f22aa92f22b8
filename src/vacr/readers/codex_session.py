"""What only a whole Codex rollout tells: whose session it is, which model spoke, what it cost.
Step: read.
"""

from __future__ import annotations

from typing import Any

from vacr.model import USAGE_MEMBERS, Native
from vacr.readers.assemble import UNKNOWN, Session
from vacr.readers.lift import is_count, mark
from vacr.timestamps import is_timestamp

Noted = list[tuple[int, Native]]
"""Entries that were noted on the way, with their positions."""

USAGE = (
    ("input", "input_tokens"),
    ("cached", "cached_input_tokens"),
    ("output", "output_tokens"),
    ("reasoning", "reasoning_output_tokens"),
    ("total", "total_tokens"),
)
MODES = {"cli": "interactive", "vscode": "interactive", "exec": "autonomous", "mcp": "autonomous"}
_OPENAI_MODELS = ("gpt-", "o1", "o3", "o4", "codex", "chatgpt")


def describe(session: Session, meta: Native) -> None:
    """Learn about the session from its own first line."""
    for member in ("id", "session_id"):
        if session.session_id is None and type(meta.get(member)) is str:
            session.session_id = meta[member]
    session.start = meta.get("timestamp") if is_timestamp(meta.get("timestamp")) else None
    session.working_dir = _text(meta.get("cwd"))
    session.cli_version = _text(meta.get("cli_version"))
    session.provider = _text(meta.get("model_provider")) or UNKNOWN
    git = meta.get("git")
    if type(git) is dict:
        names = (
            ("revision", "commit_hash"),
            ("branch", "branch"),
            ("repository", "repository_url"),
        )
        session.vcs = {
            member: git[native] for member, native in names if type(git.get(native)) is str
        }
    _describe_origin(session, meta)


def _describe_origin(session: Session, meta: Native) -> None:
    """Learn who started the session: a person, a program, or another session."""
    origin = meta.get("source")
    if type(origin) is str:
        session.mode = MODES.get(origin)
    parent = meta.get("parent_thread_id")
    if type(origin) is dict and "subagent" in origin:
        session.mode = "autonomous"
        spawn = origin["subagent"].get("thread_spawn") if type(origin["subagent"]) is dict else None
        parent = parent or (spawn.get("parent_thread_id") if type(spawn) is dict else None)
    session.parent = _text(parent) or _text(meta.get("forked_from_id"))


def assign_models(
    session: Session, turns: Noted, assistants: Noted, copied: frozenset[int]
) -> None:
    """Give each assistant message the model of its turn."""
    contexts = [
        (index, entry["data"]) for index, entry in turns if entry["event-type"] == "turn_context"
    ]
    position, model = 0, None
    for index, entry in sorted(assistants, key=_index):
        while position < len(contexts) and contexts[position][0] < index:
            model = _text(contexts[position][1].get("model")) or model
            position += 1
        if model is not None:
            entry["model-id"] = model
    sandboxes: dict[str, None] = {}
    own = [context for index, context in contexts if index not in copied] or [
        context for _, context in contexts
    ]
    for context in own:
        if _text(context.get("model")):
            session.models[context["model"]] += 1
        session.working_dir = session.working_dir or _text(context.get("cwd"))
        policy = context.get("sandbox_policy")
        roots = policy.get("writable_roots") if type(policy) is dict else None
        sandboxes.update(
            dict.fromkeys(root for root in roots if type(root) is str)
            if type(roots) is list
            else {}
        )
    session.sandboxes = list(sandboxes)


def name_provider(session: Session) -> None:
    """Name the provider where the session does not: Codex CLI's own, unless the models are not of
    its kind.
    """
    if session.provider == UNKNOWN and all(
        model.startswith(_OPENAI_MODELS) for model in session.models
    ):
        session.provider = "openai"


def count_tokens(token_counts: Noted, copied: frozenset[int]) -> None:
    """Count each response's tokens once: Codex writes the same count again whenever its limits
    change.
    """
    total: Any = None
    for index, entry in token_counts:
        info = entry["data"].get("info")
        if type(info) is not dict or type(info.get("last_token_usage")) is not dict:
            continue
        repeats, total = info.get("total_token_usage") == total, info.get("total_token_usage")
        if repeats and total is not None:
            mark(entry)["repeats"] = True
        elif index not in copied:
            usage = info["last_token_usage"]
            counts = {
                member: count for member, native in USAGE if is_count(count := usage.get(native))
            }
            if USAGE_MEMBERS.isdisjoint(usage):
                counts |= info.pop("last_token_usage")
            entry["token-usage"] = counts


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None


def _index(noted: tuple[int, Native]) -> int:
    return noted[0]
