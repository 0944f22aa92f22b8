"""The page about the reader of Crush."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.crush import labels
from vacr.agents.crush import reader as crush


def render_page() -> str:
    """Return the page about Crush."""
    roles = ", ".join(f"{quote(role)} → {quote(kind)}" for role, kind in crush.CRUSH_ROLES.items())
    parts = [
        (quote("tool_call"), quote("tool-call"), format_moves(crush.CRUSH_CALL_MOVES)),
        (quote("tool_result"), quote("tool-result"), format_moves(crush.CRUSH_RESULT_MOVES)),
        (
            quote("reasoning"),
            quote("reasoning"),
            f"{format_moves(crush.CRUSH_REASONING_MOVES)}, `encrypted` ← `signature`, unless it "
            "is empty",
        ),
        ("any other", quote("system-event"), "`event-type` ← `type`, `data` ← `data`"),
    ]
    return "\n".join(
        (
            render_head(crush, "Crush"),
            "## Rows\n",
            f"A row of `messages` is a message. Its `role` decides the entry: {roles}. Its moves "
            f"are {format_moves(crush.CRUSH_MESSAGE_MOVES)}, and `model-id` ← `model`, unless it is "
            "empty. `created_at` is in seconds; `timestamp` has the same time in milliseconds. "
            f"`parts` are parsed: {quote(*sorted(crush.CRUSH_CONTENT_TYPES))} are the content, "
            "each with the members of its `data`. Other parts become children; `vacr.order` keeps "
            "the order, unless the content comes first. The `reason` of a `finish` is repeated as "
            "`stop-reason` of an assistant's entry.\n",
            render_table(("part", "child", "members"), parts),
            "`input` of a call is text. JSON in it is parsed, and the text itself stays in "
            "`vacr.native.input`.\n",
            "All other rows become events after the messages, named by their table: versions of "
            f"files (`files`), files that were read (`read_files`), the version of the schema "
            f"({quote(*crush.CRUSH_DATABASE.shared)}), messages of another form.\n",
            render_labels(
                [
                    (f"`is_error`, and {quote(*labels.DENIALS)}", "`denied`", "–"),
                    (f"`is_error`, and {quote(*labels.CANCELLATIONS)}", "`interrupted`", "–"),
                    ("`is_error`", "`error`", "–"),
                    ("`bash`: a notice that the command runs in the background", "`running`", "–"),
                    (
                        "`bash`: the last line `Command was aborted before completion`",
                        "`interrupted`",
                        "–",
                    ),
                    ("`bash`: the last line `Exit code N`", "`error`", "`N`"),
                    ("`bash`: no folder of the shell below the output", UNKNOWN_OUTCOME_ROW, "–"),
                    ("`is_error` is false", "`success`", "–"),
                ],
                [
                    ("the request that Crush writes to initialise a project", *INFERRED_AS_HOST),
                    ("the session of a sub-agent", *STATED_BY_PARENT),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the session; the rest of its row are members"),
                    (quote("session-start", "session-end"), "`created_at`, `updated_at`"),
                    (quote("agent-meta.models"), "`model` of the messages"),
                    (quote("agent-meta.model-provider"), "the most frequent `provider`"),
                    (quote("vacr.parent"), "`parent_session_id`"),
                ],
            ),
        )
    )
