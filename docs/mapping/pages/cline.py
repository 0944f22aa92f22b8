"""The page about the reader of Cline and Roo Code."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOST,
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
    render_usage_sums,
)
from vacr.agents.cline import reader
from vacr.agents.cline.speakers import _ANSWER_ELEMENTS, _HOST_STARTS, _PROMPT_ELEMENTS
from vacr.agents.cline.text_calls import TEXT_TOOLS
from vacr.record.message_content import BLOCK_VIEWS

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


def render_page() -> str:
    """Return the page about Cline."""
    time = f"{quote('timestamp')} ← {quote(reader.CLINE_TIME_MEMBER)}"
    says = ", ".join(
        f"{quote(said)} → {quote(kind)}" for said, kind in reader.CLINE_UI_SAYS.items()
    )
    return "\n".join(
        (
            render_head(reader, "Cline, Roo Code and Kilo Code"),
            "Tasks of Roo Code and Kilo Code have the same form, and are recognised by the state "
            "of the editor in their prompts. Their stores are "
            f"{quote('globalStorage/rooveterinaryinc.roo-cline')} and "
            f"{quote('globalStorage/kilocode.kilo-code')} in the same editors. No real session "
            "of these two was compared with its record.\n",
            "## Messages\n",
            "A message becomes a user or assistant entry by its `role`; another role is an event.\n",
            render_table(
                ("native", "members"),
                [
                    (
                        quote(reader.SESSION_FORMAT),
                        f"{format_moves(reader.CLINE_MESSAGE_SHAPE)}, {time}, "
                        f"{quote('model-id')} ← {quote('modelInfo.id')}",
                    ),
                    (
                        quote(reader.TASK_FORMAT),
                        f"{format_moves(reader.CLINE_TASK_MESSAGE_SHAPE)}, {time}, "
                        f"{quote('model-id')} ← {quote('modelInfo.modelId')}",
                    ),
                    (quote(reader.UI_FORMAT), f"{format_moves(reader.CLINE_UI_SHAPE)}, {time}"),
                ],
            ),
            f"In `{reader.UI_FORMAT}`, `say` determines the entry: {says}; everything else is an "
            "event.\n",
            render_block_views({kind: BLOCK_VIEWS[kind] for kind in _BLOCKS}),
            "## Calls and results in text\n",
            "The extension writes results, and until 2025 calls, into the text of messages. They "
            f'become children, marked `vacr.from: "{reader.FROM_TEXT}"`. A call in text has no id; '
            "its id here is its place. If a task has a call in a block, no text is a call. A text "
            "that begins with `[TOOL for '…'] Result:` is the result of the first open call of "
            f"that tool. Known tools: {quote(*sorted(TEXT_TOOLS))}.\n",
            "## Other files\n",
            render_table(
                ("file", "facts that are joined"),
                [
                    (
                        "`ID.json`, the manifest",
                        "times, model, provider, folder, branch, version, mode; messages from "
                        "before `metadata.fork.forkedAt` are marked `vacr.inherited`",
                    ),
                    (
                        "`ui_messages.json`",
                        "the times of messages without one, marked `vacr.time-from`, and the "
                        "tokens of each request",
                    ),
                    ("`task_metadata.json`", "the version of the extension"),
                    ("`history_item.json`", "the parent of a sub-task, the folder"),
                ],
            ),
            "Each of these files is also kept whole, as an event `attached-file`.\n",
            "## Token usage\n",
            f"From `metrics` in `{reader.SESSION_FORMAT}`:\n",
            render_usage_sums(reader.CLINE_USAGE_SUMS),
            f"From `metrics.tokens` in `{reader.TASK_FORMAT}`, where reads and writes of the cache "
            "are one number:\n",
            render_usage_sums(reader.CLINE_TASK_USAGE_SUMS),
            "From the requests in `ui_messages.json`, which come first:\n",
            render_usage_sums(reader.CLINE_REQUEST_USAGE_SUMS),
            render_labels(list(_list_outcome_rows()), list(_list_speaker_rows())),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "`sessionId` or `session_id`; for a task, the name of its folder, or else "
                        "the SHA-256 of the file",
                    ),
                    (
                        quote("environment.working-dir"),
                        "`cwd` of the manifest; the current directory in the first prompt of a task",
                    ),
                    (
                        "`vcs`",
                        "the branch in the manifest; commit and remote in the first prompt of a task",
                    ),
                    (
                        quote("vacr.parent"),
                        "`origin.parentThreadId` of a sub-agent; the session that a fork copied",
                    ),
                    (
                        "native members of `session`",
                        "all other members of the manifest, or around the messages",
                    ),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield "a report with an error that has `timed out after`", "`timeout`", "–"
    yield (
        "a report with `success` false; of several reports, the first such",
        "`error`",
        ("`N` of `Command exited with code N`, if the call had one operation"),
    )
    yield "reports, all with `success` true", "`success`", "–"
    yield "`Command failed with exit code N`, `… Exit code: N` (Roo Code)", "`error`", "`N`"
    yield "`Command executed successfully (exit code 0)`", "`success`", "0"
    yield '`The user denied this operation`, `Tool "X" was denied by user`', "`denied`", "–"
    yield "`The tool execution failed`, `Error …`, `Tool [X] was not executed`", "`error`", "–"
    yield "`Command is still running`, `Command timed out after`", "`running`", "–"
    yield (
        "a file that was saved, numbered lines, `Found N results`; `is_error` false",
        "`success`",
        "–",
    )
    yield "`is_error` true", "`error`", "–"
    yield (
        "anything else, such as `Command executed.` without an exit code",
        UNKNOWN_OUTCOME_ROW,
        "–",
    )


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield "`metadata.kind` is `compaction_summary`", *STATED_BY_HOST
    starts = ", ".join(quote(start) for start in _HOST_STARTS)
    yield (
        f"all texts are results, or begin with one of {starts} (in any case)",
        *INFERRED_AS_HOST,
    )
    yield (
        f"one of the elements {quote(*_ANSWER_ELEMENTS)}, alone or in a result",
        *STATED_BY_HUMAN,
        "the text of the elements",
    )
    yield (
        f"one of the elements {quote(*_PROMPT_ELEMENTS)}, or other text",
        *INFERRED_AS_HUMAN,
        "the text without the element and without the host's texts",
    )
