"""The page about the reader of Continue."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from vacr.agents.continue_dev import reader


def render_page() -> str:
    """Return the page about Continue."""
    roles = ", ".join(
        f"{quote(role)} → {quote(kind)}" for role, kind in reader.CONTINUE_ROLES.items()
    )
    return "\n".join(
        (
            render_head(reader, "Continue"),
            "## The history\n",
            f"An item becomes an entry by the role of its message: {roles}; other roles are "
            "events. The members of the item stay in the entry, and so do the other members of "
            "the message, in `message`.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (
                        quote("message"),
                        "the entry of the item",
                        format_moves(reader.CONTINUE_MESSAGE_MOVES),
                    ),
                    (
                        "`message` with the role `tool`",
                        quote("tool-result"),
                        format_moves(reader.CONTINUE_RESULT_MOVES),
                    ),
                    (
                        quote(*reader.CONTINUE_STATE_LISTS),
                        f"{quote('tool-call')}, a child",
                        f"{format_moves(reader.CONTINUE_CALL_SHAPE)}, "
                        f"{quote('name')} ← {quote('toolCall.function.name')}",
                    ),
                    (
                        "a state with `output`",
                        f"{quote('tool-result')}, the next child",
                        "`output` ← `output`, `status` ← `status`",
                    ),
                    (
                        quote("reasoning"),
                        f"{quote('reasoning')}, a child",
                        "`content` ← `text`, `timestamp` ← `startAt`",
                    ),
                ],
            ),
            "Without `parsedArgs`, the arguments are parsed (`vacr.input-from`). Without states, "
            "the calls of the message are viewed. A `tool` message that repeats the output of a "
            "state is marked `vacr.repeats`. `promptLogs` repeats whole prompts: it is kept, and "
            "not counted.\n",
            "## Token usage\n",
            "From `message.usage`, which stays. Where a provider counts "
            f"{quote(*reader.CONTINUE_CACHE_COUNTERS)}, they are added to the input; `cached` is "
            "`cached_tokens`.\n",
            render_usage_sums(reader.CONTINUE_USAGE_SUMS),
            render_labels(
                [
                    ("`errored`, with `Error (exit code N)`", "`error`", "`N`"),
                    ("`errored` or `canceled`, with words of a refusal", "`denied`", "–"),
                    ("`errored`", "`error`", "–"),
                    ("`canceled`", "`interrupted`", "–"),
                    (
                        "`done`, and an output item has the status `Command failed with exit code "
                        "N`",
                        "`error`",
                        "`N`",
                    ),
                    (
                        "`Bash`, `done`, with the note `Command timed out after …` at its end",
                        "`timeout`",
                        "–",
                    ),
                    (
                        "`Bash`, `done`, beginning with `Command moved to background`",
                        "`running`",
                        "–",
                    ),
                    ("`Bash`, `done`, with `Stderr: ` in the text", "`success`", "–"),
                    ("`Bash`, `done`", UNKNOWN_OUTCOME_ROW, "–"),
                    ("`done`", "`success`", "–"),
                    ("another status", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("an autonomous session", *INFERRED_AS_UNKNOWN, "–"),
                    ("any other message", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`sessionId`"),
                    (quote("environment.working-dir"), "`workspaceDirectory`, without `file://`"),
                    (
                        quote("agent-meta.models"),
                        "`message.usage.model`, else `completionOptions.model` of the last prompt",
                    ),
                    (
                        "native members of `session`",
                        "all other members around the history, with `usage.totalCost`",
                    ),
                ],
            ),
        )
    )
