"""The page about the reader of Grok."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_block_views,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.grok import labels
from vacr.agents.grok import reader as grok
from vacr.agents.grok.reader import (
    GROK_MEMBERS,
    GROK_MESSAGE_MOVES,
    GROK_OLD_MEMBERS,
    GROK_REASONING_MOVES,
    GROK_RESULT_MOVES,
)


def render_page() -> str:
    """Return the page about Grok."""
    return "\n".join(
        (
            render_head(grok, "Grok"),
            "## Lines\n",
            render_table(
                ("type", "known members"),
                ((quote(kind), quote(*sorted(GROK_MEMBERS[kind]))) for kind in GROK_MEMBERS),
            ),
            f"A message: {format_moves(GROK_MESSAGE_MOVES)}. Its `tool_calls` stay in it, and each "
            f"becomes a child. A result: {format_moves(GROK_RESULT_MOVES)}. Reasoning: "
            f"{format_moves(GROK_REASONING_MOVES)}; its content is the text of `summary`. A "
            "`backend_tool_call` is a call of the provider's own tool. Other lines are events.\n",
            "Lines of the old form have a `role` and are messages of OpenAI chat, marked "
            f"`vacr.from: role`. Known members: {quote(*sorted(GROK_OLD_MEMBERS))}.\n",
            "## The summary\n",
            "`summary.json` states the id, the folder, the parent session, the state of git, the "
            "model and the times. It stays in the record as an attached file. So do `events.jsonl`, with "
            "the outcomes of calls, and `usage.json`, whose tokens count at the last answer, marked "
            "`vacr.usage-of`.\n",
            render_block_views(),
            render_labels(
                [
                    ("a command: `exit: N`", "`success` for 0, else `error`", "`N`"),
                    ("a task in the background", "`running`", "–"),
                    ("`Tool … was not executed: Denied by …`", "`denied`", "–"),
                    ("`User cancelled the execution for tool …`", "`interrupted`", "–"),
                    (
                        f"`tool_completed` in `{labels.EVENTS_FILE}`",
                        "`success` or `error`",
                        "–",
                    ),
                    (
                        f"another tool: a beginning of {quote(*labels.FAILURE_STARTS)}",
                        "`error`",
                        "–",
                    ),
                    (
                        f"{quote(*labels.SUCCESS_STARTS)}: the words of a success",
                        "`success`",
                        "–",
                    ),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("`synthetic_reason`, except `interjection`", *STATED_BY_HOST),
                    ("`synthetic_reason: interjection`", *STATED_BY_HUMAN, "–"),
                    ("no `synthetic_reason`", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
        )
    )
