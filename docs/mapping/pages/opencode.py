"""The page about the reader of OpenCode."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from vacr.agents.opencode import reader as opencode
from vacr.agents.opencode.outcomes import _ABORT_ERRORS, _DENIED_STARTS, _INTERRUPTED_ERRORS
from vacr.agents.opencode.parts import (
    OPENCODE_CALL_MOVES,
    OPENCODE_CONTENT_MEMBERS,
    OPENCODE_ENCRYPTED_DETAIL_MEMBERS,
    OPENCODE_ENCRYPTED_MEMBERS,
    OPENCODE_EVENT_MEMBERS,
    OPENCODE_OUTPUT_MEMBERS,
    OPENCODE_REASONING_MOVES,
    OPENCODE_USAGE_SUMS,
)
from vacr.agents.opencode.pieces import (
    MAX_SHARED_PROJECT_BYTES,
    OPENCODE_DAMAGE_TABLE,
    OPENCODE_LATER_MESSAGE_TABLES,
)
from vacr.agents.opencode.reader import FATE_REVERTED, OPENCODE_MESSAGE_MOVES
from vacr.agents.opencode.samples import (
    SAMPLE_CALL_MOVES,
    SAMPLE_MESSAGE_LISTS,
    SAMPLE_MESSAGE_MOVES,
    SAMPLE_METADATA_MOVES,
    SAMPLE_RESPONSE_MOVES,
)
from vacr.agents.opencode.speakers import HOST_FLAGS, RUN_DENIALS
from vacr.agents.opencode.stores import OPENCODE_SESSION_TABLES, OPENCODE_SKIPPED_TABLES


def render_page() -> str:
    """Return the page about OpenCode."""
    return "\n".join(
        (
            render_head(opencode, "OpenCode"),
            "vacr reads the output of `opencode export`, the database (as the rows of one "
            "session), the storage folder (as its files), dumps of these in any order and with "
            "several sessions, and samples with `tool_calls`. Each session becomes a record.\n",
            "## Messages\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (
                        quote("info"),
                        f"{quote('user')} or {quote('assistant')}, by `role`",
                        format_moves(OPENCODE_MESSAGE_MOVES),
                    ),
                    (
                        quote("info.time.created"),
                        quote("timestamp"),
                        "milliseconds since 1970, unchanged",
                    ),
                    (f"parts {quote(*OPENCODE_CONTENT_MEMBERS)}", quote("content"), "unchanged"),
                    (
                        f"part {quote('reasoning')}",
                        f"{quote('reasoning')}, a child",
                        format_moves(OPENCODE_REASONING_MOVES),
                    ),
                    (
                        f"part {quote('tool')}",
                        f"{quote('tool-call')}, a child",
                        (
                            f"{format_moves(OPENCODE_CALL_MOVES)}, `input` ← `state.input`, `timestamp` "
                            "← `state.time.start`"
                        ),
                    ),
                    (
                        "part `tool` with an output or an error",
                        f"{quote('tool-result')}, the next child",
                        "`output` ← "
                        f"{quote(*(f'state.{name}' for name in OPENCODE_OUTPUT_MEMBERS))}, "
                        "`status`, `is-error`, "
                        "`timestamp` ← `state.time.end`; the rest of `state` stays here",
                    ),
                    (
                        f"parts {quote(*sorted(OPENCODE_EVENT_MEMBERS))}",
                        f"{quote('system-event')}, a child",
                        "`data`",
                    ),
                ],
            ),
            "Parts are sorted by their ids. If the source has another order, or a text follows "
            "another part, `vacr.order` notes where each part went. `encrypted` of reasoning is a "
            "copy of a member of the provider's metadata: "
            f"{quote(*OPENCODE_ENCRYPTED_MEMBERS)}, or "
            f"{quote(*OPENCODE_ENCRYPTED_DETAIL_MEMBERS)} in `reasoning_details`. If the member of "
            "`state` with the output does not fit its status, `vacr.output-from` names it. Messages that the user took back (`revert`) are marked "
            f"`vacr.superseded`: {quote(FATE_REVERTED)}.\n",
            "## Token usage\n",
            "The counts come from `info.tokens` of a message, a member that stays unchanged, and "
            "`info.cost`. Steps (`step-finish`) repeat them, and keep their counts in `data`.\n",
            render_usage_sums(OPENCODE_USAGE_SUMS),
            "## The database\n",
            "A session consists of its rows in `session`, `message`, `part` and every other table "
            "that names the session, and the row of its `project`. Rows of "
            f"{quote(*sorted(OPENCODE_SKIPPED_TABLES))} are never read. vacr puts the ids back that "
            f"OpenCode leaves out of `data`. Rows of {quote(*sorted(OPENCODE_LATER_MESSAGE_TABLES))} "
            "are messages if a session has no others; otherwise they are events.\n",
            "Every session id that occurs in a table counts as a session. An id that is a number is "
            "written in digits; one of bytes that are not text is written in hexadecimal (`0x…`). "
            f"Rows of {quote(*sorted(OPENCODE_SESSION_TABLES))} without a session id form one "
            "session without a name. vacr reads the tables themselves, because an index may lack "
            f"rows. An event {quote(OPENCODE_DAMAGE_TABLE)} reports a damaged table. The row of a "
            "project goes into the record of each of its sessions. If it has more than "
            f"{MAX_SHARED_PROJECT_BYTES >> 10} KiB, only the first session gets it, and the others "
            "name that session (`kept-with-session`).\n",
            "## Samples\n",
            f"A sample has a list of messages under {quote(*SAMPLE_MESSAGE_LISTS)}. Members of a "
            f"message: {format_moves(SAMPLE_MESSAGE_MOVES)}; from its `metadata`, "
            f"{format_moves(SAMPLE_METADATA_MOVES)}, and `thinking` as reasoning. Its children come "
            f"from `tool_calls` ({format_moves(SAMPLE_CALL_MOVES)}, `function.name`, the parsed "
            "`function.arguments`) and from `tool_responses` "
            f"({format_moves(SAMPLE_RESPONSE_MOVES)}).\n",
            render_labels(
                list(_list_outcome_rows()), list(_list_speaker_rows()), notes=[_RESOLUTION_NOTE]
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`info.id`"),
                    (
                        quote("session-start", "session-end"),
                        "`time.created`, and the latest time in the session",
                    ),
                    (quote("format"), "`autonomous` for a sub-agent, otherwise left out"),
                    (quote("agent-meta.cli-version"), "`version`"),
                    (
                        quote("agent-meta.models"),
                        (
                            "`modelID` of the messages; `model-provider` is the most frequent "
                            "`providerID`"
                        ),
                    ),
                    (
                        quote("environment.working-dir"),
                        "`directory`, or `path.cwd` of the first message that has it",
                    ),
                    (quote("environment.sandboxes"), "`sandboxes` of the project"),
                    (quote("vacr.parent"), "`parentID`"),
                    (
                        quote("vacr.secrets"),
                        (
                            "a pointer to the secret of a shared session; the record contains the "
                            "secret, and vacr reports it"
                        ),
                    ),
                    (
                        "native members of `session`",
                        "all other members of `info`; `project`, `todo`, `session_diff`, `session_share`",
                    ),
                ],
            ),
        )
    )


_RESOLUTION_NOTE = (
    "If a later call of `task` sees the end of a task in the background, the result that left it "
    "running names that call in `vacr.resolved-by`."
)


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    failed = "`state.status` `error`"
    yield f"{failed}, with `metadata.interrupted`", "`interrupted`", "`metadata.exit`"
    yield (
        f"{failed}, the tool of a server or a plugin: the words of its errors count only in an "
        "aborted message",
        "`error`",
        "–",
    )
    yield (
        f"{failed}, with an error that begins with {quote(*_DENIED_STARTS)}, or a dismissed "
        "question",
        "`denied`",
        "`metadata.exit`",
    )
    yield (
        f"{failed}, with the error {quote(*sorted(_INTERRUPTED_ERRORS))}, or of a cancelled task; "
        f"in an aborted message also {quote(*sorted(_ABORT_ERRORS))}",
        "`interrupted`",
        "`metadata.exit`",
    )
    yield f"{failed}, with the error of a request that timed out", "`timeout`", "`metadata.exit`"
    yield f"{failed} otherwise", "`error`", "`metadata.exit`"
    yield "the tool `invalid`; `execute` with `metadata.error`", "`error`", "–"
    yield "`bash`, `metadata.exit`: a number", "`success` for 0, else `error`", "`metadata.exit`"
    stopped = "`bash`, `metadata.exit` is null"
    yield "`bash`, `metadata.timeout`", "`timeout`", "–"
    yield "`bash`, no `metadata.exit`: the user ran the command", UNKNOWN_OUTCOME_ROW, "–"
    yield f"{stopped}; the output ends with the host's words for a timeout", "`timeout`", "–"
    yield (
        f"{stopped}; the output ends with the host's words for an abort, or the message was "
        "aborted",
        "`interrupted`",
        "–",
    )
    yield f"{stopped} otherwise", "`error`", "–"
    yield "`task` with `metadata.background`", "`running`", "–"
    yield "`state.status` `completed`", "`success`", "–"
    yield "a sample without a status", UNKNOWN_OUTCOME_ROW, "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield (
        f"all parts have a flag {quote(*HOST_FLAGS)}",
        *STATED_BY_HOST,
    )
    yield (
        "all parts have a flag, or are a `<system-reminder>` about a change of the mode",
        *INFERRED_AS_HOST,
    )
    yield "the session has a `parentID`", *STATED_BY_PARENT
    words = (
        "the person's words, if the message has other parts; a command as it was typed, where "
        "OpenCode's text shows it: skills, `/init`, `/review` and commands that run as a sub-task"
    )
    yield (
        f"the session forbids {quote(*sorted(RUN_DENIALS))}, as `opencode run` does",
        *INFERRED_AS_UNKNOWN,
        words,
    )
    yield "other text", *INFERRED_AS_HUMAN, "as above"
