"""Codex CLI."""

from __future__ import annotations

from pages.markdown import code, head, table
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


def page() -> str:
    """Describe the reader of Codex CLI."""
    rows = (
        (
            code(kind),
            code(item.entry_type),
            ", ".join(f"{code(move.canonical)} ← {code(move.native)}" for move in item.lift.moves)
            + (f", {code('name')} = {code(item.tool)}" if item.tool else ""),
        )
        for kind, item in CODEX_TOOL_ITEMS.items()
    )
    return "\n".join(
        (
            head(codex_cli, "Codex CLI"),
            "## Response items\n",
            "The envelope's `type` stays in `vacr.native.type`, what is left of the item in "
            "`payload`. In the older bare form the line "
            "itself is the item.\n",
            table(
                ("item type", "entry", "members"),
                [
                    (
                        code("message"),
                        f"{code('user')} or {code('assistant')}, by `role`; other roles are events",
                        ", ".join(
                            f"{code(move.canonical)} ← {code(move.native)}"
                            for move in CODEX_MESSAGE_MOVES.moves
                        ),
                    ),
                    (
                        code("reasoning"),
                        code("reasoning"),
                        (
                            "`content` ← `content` or else `summary`, `encrypted` ← "
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
            f"Every other line: its payload is the `data`, its type the `event-type` "
            f"({', '.join(f'{code(native)} → {code(name)}' for native, name in CODEX_EVENT_NAMES.items())}). Known are "
            f"{code(*sorted(CODEX_STATE_ENVELOPES))} and, as `event_msg`, "
            f"{code(*sorted(CODEX_EVENT_TYPES))}.\n",
            f"{code(*CODEX_ECHO_EVENTS)} repeat what response items say: they are marked "
            "`vacr.repeats`. Where a session has no such item "
            "at all, they are the message.\n",
            "## Token usage\n",
            (
                "On `token-count` events, from `info.last_token_usage`, once for each change of "
                "`info.total_token_usage`.\n"
            ),
            table(
                ("canonical", "native"),
                [(code(name), code(native)) for name, native in CODEX_USAGE_COUNTERS],
            ),
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (code("session-id"), "`id` of the first `session_meta`"),
                    (code("session-start"), "`timestamp` of the first `session_meta`"),
                    (
                        code("format"),
                        ", ".join(
                            f"{code(mode)} for `source` {code(name)}"
                            for name, mode in CODEX_SESSION_MODES.items()
                        )
                        + ", `autonomous` for a sub-agent, else left out",
                    ),
                    (
                        code("agent-meta.model-provider"),
                        (
                            "`model_provider`; where the session does not say, `openai`, or "
                            "`unknown` where a model is not one of theirs"
                        ),
                    ),
                    (
                        code("environment.working-dir"),
                        "`cwd` of the first `session_meta`, or of the first turn",
                    ),
                    (
                        code("agent-meta.models"),
                        "`turn_context.model`; each assistant message has the model of its turn",
                    ),
                    (code("vcs"), "`git.commit_hash`, `git.branch`, `git.repository_url`"),
                    (code("environment.sandboxes"), "`turn_context.sandbox_policy.writable_roots`"),
                    (
                        code("vacr.parent"),
                        (
                            "`parent_thread_id`, or that of `source.subagent.thread_spawn`, or "
                            "`forked_from_id`"
                        ),
                    ),
                    (
                        code("vacr.inherited"),
                        "marks the entries that a fork copied from its parent",
                    ),
                ],
            ),
        )
    )
