"""The page about the reader of Amp."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_block_views,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from vacr.agents.amp import reader
from vacr.agents.amp.tools import _OUTCOMES
from vacr.record.message_content import BLOCK_VIEWS

_BLOCKS = ("tool_use", "thinking", "redacted_thinking")


def render_page() -> str:
    """Return the page about Amp."""
    outcomes = [
        ("`done`, and the result has an `exitCode`", "`error`, or `success` for 0", "`exitCode`"),
        *((quote(status), quote(outcome.status), "–") for status, outcome in _OUTCOMES.items()),
        ("another status", UNKNOWN_OUTCOME_ROW, "–"),
    ]
    return "\n".join(
        (
            render_head(reader, "Amp"),
            "## Messages\n",
            "A message becomes a user or assistant entry by its `role`; another role is an "
            f"event. {format_moves(reader.AMP_MESSAGE_SHAPE)}, `timestamp` ← `meta.sentAt` of a "
            "prompt or `usage.timestamp` of an answer, `model-id` ← `usage.model`, `stop-reason` "
            "← `state.stopReason`.\n",
            render_block_views({kind: BLOCK_VIEWS[kind] for kind in _BLOCKS}),
            "A `tool_result` has a `run`: `call-id` ← `toolUseID`, `output` ← `run.result`, or "
            "`run` without a result, `status` ← `run.status`.\n",
            "## Token usage\n",
            "From `usage`, which stays:\n",
            render_usage_sums(reader.AMP_USAGE_SUMS),
            render_labels(
                outcomes,
                [
                    ("a thread with `mainThreadID`", "`parent-agent`", "`inferred`", "–"),
                    ("any other message", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id`"),
                    (quote("session-start"), "`created`"),
                    (quote("environment.working-dir"), "`env.initial.trees[0].uri`"),
                    (
                        "`vcs`",
                        "`sha`, `ref` without `refs/heads/`, and `url` of the first tree's "
                        "`repository`",
                    ),
                    (quote("vacr.parent"), "`mainThreadID`"),
                    ("native members of `session`", "all other members of the thread"),
                ],
            ),
        )
    )
