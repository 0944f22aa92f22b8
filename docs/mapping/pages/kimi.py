"""The pages about the readers of Kimi Code and Kimi CLI."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HOOK,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from vacr.agents import kimi_cli, kimi_code
from vacr.agents.kimi_cli.context import (
    KIMI_CONTEXT_MARKS,
    KIMI_CONTEXT_MOVES,
    KIMI_CONTEXT_RESULT_MOVES,
    KIMI_CONTEXT_ROLES,
)
from vacr.agents.kimi_cli.wire import (
    KIMI_PROMPT_TYPES,
    KIMI_WIRE_CALL_MOVES,
    KIMI_WIRE_EVENT_TYPES,
    KIMI_WIRE_NAME_MOVES,
    KIMI_WIRE_OUTPUT_MOVES,
    KIMI_WIRE_PROMPT_MOVES,
    KIMI_WIRE_RESULT_MOVES,
    KIMI_WIRE_THOUGHT_MOVES,
    KIMI_WIRE_USAGE_SUMS,
)
from vacr.agents.kimi_code import _HOOK_ORIGINS, _HUMAN_ORIGINS, _SUB_AGENT_TRIGGER
from vacr.agents.kimi_code.reader import (
    KIMI_CALL_MOVES,
    KIMI_LOOP_TYPE,
    KIMI_MESSAGE_MOVES,
    KIMI_MESSAGE_ROLES,
    KIMI_MESSAGE_TYPE,
    KIMI_OUTPUT_MOVES,
    KIMI_PART_MOVES,
    KIMI_RESULT_MESSAGE_MOVES,
    KIMI_RESULT_MOVES,
    KIMI_STATE_EVENT,
    KIMI_TYPES,
    KIMI_USAGE_SUMS,
)
from vacr.agents.kimi_code.tools import _DECISIONS


def render_kimi_code_page() -> str:
    """Return the page about Kimi Code."""
    roles = ", ".join(
        f"{quote(role)} → {quote(entry)}" for role, entry in KIMI_MESSAGE_ROLES.items()
    )
    events = sorted(KIMI_TYPES - {KIMI_MESSAGE_TYPE, KIMI_LOOP_TYPE})
    return "\n".join(
        (
            render_head(kimi_code, "Kimi Code"),
            "## Lines\n",
            "Each line becomes one entry. `time` becomes `timestamp`, in milliseconds. The type of "
            "the line stays in `vacr.native.type`, and the members that no table names stay in "
            "`message` or `event`.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (
                        quote(KIMI_MESSAGE_TYPE),
                        f"by the role: {roles}",
                        f"{format_moves(KIMI_MESSAGE_MOVES)}; of a tool's message "
                        f"{format_moves(KIMI_RESULT_MESSAGE_MOVES)}. Its `toolCalls` are children, "
                        "and stay in `message` as well",
                    ),
                    (
                        f"{quote(KIMI_LOOP_TYPE)}: `content.part`",
                        f"{quote('reasoning')} for a thought, else {quote('assistant')}",
                        f"{format_moves(KIMI_PART_MOVES)}; `content` ← `part.think`, or a list "
                        "with the part",
                    ),
                    (
                        f"{quote(KIMI_LOOP_TYPE)}: `tool.call`",
                        quote("tool-call"),
                        format_moves(KIMI_CALL_MOVES),
                    ),
                    (
                        f"{quote(KIMI_LOOP_TYPE)}: `tool.result`",
                        quote("tool-result"),
                        f"{format_moves(KIMI_RESULT_MOVES)}, of `result`: "
                        f"{format_moves(KIMI_OUTPUT_MOVES)}",
                    ),
                    ("any other line", quote("system-event"), "the rest of the line in `data`"),
                    (
                        "`state.json` of a session",
                        f"the event {quote(KIMI_STATE_EVENT)}",
                        "all of it in `data`",
                    ),
                ],
            ),
            f"Known types of events: {quote(*events)}. `turn.prompt`, `turn.steer` and "
            "`agent.message.appended` repeat messages, and count for nothing.\n",
            "## Token usage\n",
            "The counts come from `usage.record`; in a file without any, from the ends of the "
            "steps. The native counters stay where they are.\n",
            render_usage_sums(KIMI_USAGE_SUMS),
            render_labels(list(_list_outcome_rows()), list(_list_speaker_rows())),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the folder of the session; without it, the SHA-256 of the file",
                    ),
                    (quote("vacr.parent"), "in the file of a sub-agent, that folder"),
                    (quote("session-start"), "`created_at` of the first line"),
                    (
                        quote("environment.working-dir"),
                        "the first `cwd`, or `environmentDisclosure.cwd`",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`model` of the requests; else of `usage.record`; else the chosen model",
                    ),
                    (quote("agent-meta.model-provider"), "the provider of most requests"),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    for decision, status in _DECISIONS.items():
        yield f"the answer to a request for a permission is {quote(decision)}", quote(status), "–"
    yield "a message of the context: it has no flag", UNKNOWN_OUTCOME_ROW, "–"
    yield "a command without `isError` that went to the background", "`running`", "–"
    yield "no `isError`", "`success`", "–"
    yield "a command, and `Command failed with exit code: N.` as its last line", "`error`", "`N`"
    yield "a command, and `Command killed by timeout (…)` as its last line", "`timeout`", "–"
    yield "a command, and `Interrupted by user` as its last line", "`interrupted`", "–"
    yield "`isError` otherwise", "`error`", "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield f"`origin.kind` is {quote(*sorted(_HUMAN_ORIGINS))}", *STATED_BY_HUMAN, "–"
    yield f"`origin.name` is {quote(_SUB_AGENT_TRIGGER)}", *STATED_BY_PARENT
    yield f"`origin.kind` is {quote(*sorted(_HOOK_ORIGINS))}", *STATED_BY_HOOK
    yield "another `origin`", *STATED_BY_HOST
    yield "no `origin`", "`human`, or `parent-agent` for a sub-agent", "`inferred`", "–"


def render_kimi_cli_page() -> str:
    """Return the page about Kimi CLI."""
    roles = ", ".join(
        f"{quote(role)} → {quote(entry)}" for role, entry in KIMI_CONTEXT_ROLES.items()
    )
    return "\n".join(
        (
            render_head(kimi_cli, "Kimi CLI"),
            "A session has a wire file, with everything that happened, and a context, with the "
            "messages that the model sees. vacr lists the wire file; it reads both.\n",
            "## Wire files\n",
            "Each line becomes one entry. The time, in seconds, becomes `timestamp` in "
            "milliseconds; the seconds stay in `vacr.native.timestamp`. The members that no table "
            "names stay in `message`.\n",
            render_table(
                ("message", "entry", "members"),
                [
                    (
                        quote(*sorted(KIMI_PROMPT_TYPES)),
                        quote("user"),
                        format_moves(KIMI_WIRE_PROMPT_MOVES),
                    ),
                    (
                        "`ContentPart` with a thought",
                        quote("reasoning"),
                        format_moves(KIMI_WIRE_THOUGHT_MOVES),
                    ),
                    ("`ContentPart`", quote("assistant"), "`content`: a list with the payload"),
                    (
                        "`ToolCall`",
                        quote("tool-call"),
                        f"{format_moves(KIMI_WIRE_CALL_MOVES)}, {format_moves(KIMI_WIRE_NAME_MOVES)}"
                        "; `input`: the arguments, with the pieces in later `ToolCallPart` lines",
                    ),
                    (
                        "`ToolResult`",
                        quote("tool-result"),
                        f"{format_moves(KIMI_WIRE_RESULT_MOVES)}, of `return_value`: "
                        f"{format_moves(KIMI_WIRE_OUTPUT_MOVES)}",
                    ),
                    (
                        "`SubagentEvent`",
                        "an event with the sub-agent's entry as its child",
                        "the child has the sub-agent's name in `vacr.sub-agent`",
                    ),
                    ("any other message", quote("system-event"), "the message in `data`"),
                ],
            ),
            f"Known types of events: {quote(*sorted(KIMI_WIRE_EVENT_TYPES))}.\n",
            "## Contexts\n",
            f"A line becomes an entry by its role: {roles}; {format_moves(KIMI_CONTEXT_MOVES)}, of "
            f"a tool's message {format_moves(KIMI_CONTEXT_RESULT_MOVES)}. Calls and thoughts are "
            "children, and stay in the entry as well. Lines with the role "
            f"{quote(*sorted(KIMI_CONTEXT_MARKS))} are events. A context has no times.\n",
            "## Token usage\n",
            "The counts come from `token_usage` of `StatusUpdate`, which stays in `data`. A "
            "context has none.\n",
            render_usage_sums(KIMI_WIRE_USAGE_SUMS),
            render_labels(list(_list_cli_outcome_rows()), list(_list_cli_speaker_rows())),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "the folder of the file"),
                    (quote("vacr.parent"), "in the folder `subagents`, the folder above it"),
                    (
                        quote("workDirHash"),
                        "the folder above the session: the MD5 of the working folder",
                    ),
                ],
            ),
        )
    )


def _list_cli_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield "`ApprovalResponse` `reject`, or the host's message about it", "`denied`", "–"
    yield "neither `is_error` nor a text in `<system>`", UNKNOWN_OUTCOME_ROW, "–"
    yield "a command that went to the background", "`running`", "–"
    yield "`is_error` is false, or the text in `<system>` states no error", "`success`", "–"
    yield "the host's message `Command failed with exit code: N.`", "`error`", "`N`"
    yield "the host's message `Command killed by timeout (…)`", "`timeout`", "–"
    yield "the host's message about an interruption", "`interrupted`", "–"
    yield "otherwise", "`error`", "–"


def _list_cli_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield "all texts are elements `system-reminder` or `system`", *INFERRED_AS_HOST
    yield "the prompt of a sub-agent in the wire file", *STATED_BY_PARENT
    yield "the file of a sub-agent", "`parent-agent`", "`inferred`", "–"
    yield "other text", *INFERRED_AS_HUMAN, "–"
