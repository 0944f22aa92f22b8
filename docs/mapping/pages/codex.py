"""The page about the reader of Codex CLI."""

from __future__ import annotations

from pages.markdown import quote, render_head, render_table
from vacr.agents.codex import reader as codex_cli
from vacr.agents.codex.reader import (
    CODEX_ECHO_EVENTS,
    CODEX_EVENT_NAMES,
    CODEX_EVENT_TYPES,
    CODEX_STATE_ENVELOPES,
)
from vacr.agents.codex.rollout import (
    CODEX_MESSAGE_MOVES,
    CODEX_SESSION_MODES,
    CODEX_TOOL_ITEMS,
    CODEX_USAGE_COUNTERS,
)


def render_page() -> str:
    """Return the page about Codex CLI."""
    rows = (
        (
            quote(kind),
            quote(item.entry_type),
            ", ".join(f"{quote(move.canonical)} ← {quote(move.native)}" for move in item.lift.moves)
            + (f", {quote('name')} = {quote(item.tool)}" if item.tool else ""),
        )
        for kind, item in CODEX_TOOL_ITEMS.items()
    )
    return "\n".join(
        (
            render_head(codex_cli, "Codex CLI"),
            "## Response items\n",
            "The envelope's `type` stays in `vacr.native.type`, and the rest of the item in "
            "`payload`. In the older form without an envelope, the line itself is the item.\n",
            render_table(
                ("item type", "entry", "members"),
                [
                    (
                        quote("message"),
                        f"{quote('user')} or {quote('assistant')}, by `role`; other roles are events",
                        ", ".join(
                            f"{quote(move.canonical)} ← {quote(move.native)}"
                            for move in CODEX_MESSAGE_MOVES.moves
                        ),
                    ),
                    (
                        quote("reasoning"),
                        quote("reasoning"),
                        (
                            "`content` ← `content` or, if missing, `summary`, `encrypted` ← "
                            "`encrypted_content`"
                        ),
                    ),
                    *rows,
                ],
            ),
            (
                "The arguments of a `function_call` are parsed into `input`; their text stays in "
                "`payload.arguments`.\n"
            ),
            "## Events\n",
            f"Every other line is an event: its payload becomes `data`, its type `event-type` "
            f"({', '.join(f'{quote(native)} → {quote(name)}' for native, name in CODEX_EVENT_NAMES.items())}). Known types are "
            f"{quote(*sorted(CODEX_STATE_ENVELOPES))} and, as `event_msg`, "
            f"{quote(*sorted(CODEX_EVENT_TYPES))}.\n",
            f"{quote(*CODEX_ECHO_EVENTS)} repeat the text of response items, so they are marked "
            "`vacr.repeats`. If a session has no such items, these events are its messages.\n",
            "## Token usage\n",
            (
                "`token-count` events have it, from `info.last_token_usage`, once for each change "
                "of `info.total_token_usage`.\n"
            ),
            render_table(
                ("canonical", "native"),
                [(quote(name), quote(native)) for name, native in CODEX_USAGE_COUNTERS],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the first `session_meta`"),
                    (quote("session-start"), "`timestamp` of the first `session_meta`"),
                    (
                        quote("format"),
                        ", ".join(
                            f"{quote(mode)} for `source` {quote(name)}"
                            for name, mode in CODEX_SESSION_MODES.items()
                        )
                        + ", `autonomous` for a sub-agent, otherwise left out",
                    ),
                    (
                        quote("agent-meta.model-provider"),
                        (
                            "`model_provider`; if the session does not name it, `openai`, or "
                            "`unknown` if a model is not one of OpenAI's"
                        ),
                    ),
                    (
                        quote("environment.working-dir"),
                        "`cwd` of the first `session_meta`, or of the first turn",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`turn_context.model`; each assistant message has the model of its turn",
                    ),
                    (quote("vcs"), "`git.commit_hash`, `git.branch`, `git.repository_url`"),
                    (
                        quote("environment.sandboxes"),
                        "`turn_context.sandbox_policy.writable_roots`",
                    ),
                    (
                        quote("vacr.parent"),
                        (
                            "`parent_thread_id`, also in `source.subagent.thread_spawn`, or "
                            "`forked_from_id`"
                        ),
                    ),
                    (
                        quote("vacr.inherited"),
                        "marks the entries that a fork copied from its parent",
                    ),
                ],
            ),
        )
    )
