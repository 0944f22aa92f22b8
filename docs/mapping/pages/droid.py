"""The page about the reader of Droid."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HOST,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_block_views,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from vacr.agents.droid import reader
from vacr.record.message_content import BLOCK_VIEWS

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def render_page() -> str:
    """Return the page about Droid."""
    return "\n".join(
        (
            render_head(reader, "Droid"),
            "## Lines\n",
            "A line becomes an entry; the native type of a message, a call or a result stays in "
            "`vacr.native.type`.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (
                        "`message`",
                        "by the role of the message",
                        f"{format_moves(reader.DROID_LINE_SHAPE)}, "
                        f"{format_moves(reader.DROID_CONTENT_MOVES)} of the message",
                    ),
                    (
                        quote(*sorted(reader.DROID_EVENT_TYPES)),
                        "`system-event`",
                        format_moves(reader.DROID_EVENT_MOVES),
                    ),
                    (
                        "`message` of a stream",
                        "by its role",
                        format_moves(reader.DROID_STREAM_MESSAGE_SHAPE),
                    ),
                    (
                        "`tool_call` of a stream",
                        "`tool-call`",
                        format_moves(reader.DROID_STREAM_CALL_SHAPE),
                    ),
                    (
                        "`tool_result` of a stream",
                        "`tool-result`",
                        format_moves(reader.DROID_STREAM_RESULT_SHAPE),
                    ),
                    (
                        quote(*sorted(reader.DROID_STREAM_EVENT_TYPES)),
                        "`system-event`",
                        format_moves(reader.DROID_EVENT_MOVES),
                    ),
                ],
            ),
            "A call of a stream without a `toolCallId` takes its `id` for the call "
            "(`vacr.call-id-from`).\n",
            render_block_views({kind: BLOCK_VIEWS[kind] for kind in _BLOCKS}),
            "## Token usage\n",
            "The tokens of the whole session count at its last answer, marked `vacr.usage-of`. "
            "From `tokenUsage` of the settings:\n",
            render_usage_sums(reader.DROID_USAGE_SUMS),
            "From `usage` of the `completion` of a stream:\n",
            render_usage_sums(reader.DROID_STREAM_USAGE_SUMS),
            render_labels(
                [
                    (
                        "`exitCode` of a stream; `Error: Command failed (exit code: N)`; a last "
                        "line `[Process exited with code N]`",
                        "`error`, or `success` for 0",
                        "`N`",
                    ),
                    ("words of a refusal, such as `Error: User rejected`", "`denied`", "–"),
                    ("words of an abort", "`interrupted`", "–"),
                    ("`is_error` or `isError` true; `success` false; `Error: …`", "`error`", "–"),
                    ("`is_error` or `isError` false; `success` true", "`success`", "–"),
                    ("any other result", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("`visibility` is `user_only`", *STATED_BY_HOST),
                    (
                        "all texts are reminders, or files that a prompt names",
                        *INFERRED_AS_HOST,
                    ),
                    ("other text", *INFERRED_AS_HUMAN, "the text without those"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the first line; `session_id` of a stream"),
                    (quote("environment.working-dir"), "`cwd`"),
                    (quote("vcs.branch"), "the reminder in the first prompt"),
                    (
                        quote("agent-meta.models"),
                        "`model` of the settings or of the stream; else the name in the reminder",
                    ),
                ],
            ),
        )
    )
