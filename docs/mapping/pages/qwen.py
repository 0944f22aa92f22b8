"""The page about the reader of Qwen Code."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOOK,
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_part_views,
    render_table,
    render_usage_sums,
)
from vacr.agents import qwen
from vacr.agents.qwen.labels import DENIED_ERRORS, HOST_SUBTYPES, TYPED_SUBTYPE
from vacr.agents.qwen.reader import (
    QWEN_ENTRY_TYPES,
    QWEN_EVENT_NAMES,
    QWEN_EVENT_TYPE,
    QWEN_LINE_SHAPE,
    QWEN_SUBTYPES,
    QWEN_USAGE_SUMS,
)


def render_page() -> str:
    """Return the page about Qwen Code."""
    names = ", ".join(f"{quote(old)} → {quote(new)}" for old, new in QWEN_EVENT_NAMES.items())
    return "\n".join(
        (
            render_head(qwen, "Qwen Code"),
            "## Lines\n",
            f"Each line becomes one entry. Of every line: {format_moves(QWEN_LINE_SHAPE)}. The "
            "parts of a message (`message.parts`) become the content; its role stays in "
            "`message`.\n",
            render_table(
                ("native type", "entry"),
                [
                    *((quote(kind), quote(entry)) for kind, entry in QWEN_ENTRY_TYPES.items()),
                    (quote(QWEN_EVENT_TYPE), f"{quote('system-event')}, named by its subtype"),
                ],
            ),
            f"The type of a tool result or an event stays in `vacr.native.type`. {names}. The data "
            "of an event is its `systemPayload`. Known subtypes: "
            f"{quote(*sorted(QWEN_SUBTYPES))}. Events count for nothing: telemetry repeats tokens "
            "and calls, and `attribution_snapshot` is Qwen Code's own claim.\n",
            render_part_views(),
            "## Rewinds\n",
            "After a `rewind`, messages that the last line does not descend from are marked "
            "`vacr.superseded`: `rewound`. They took place, so their calls and tokens count.\n",
            "## Early chats\n",
            "Until 2025, a chat was one JSON value of [Gemini CLI's form](gemini-cli.md), with the "
            "type `qwen` for the model's messages. They become records in the same way.\n",
            "## Token usage\n",
            "The counts come from `usageMetadata`, a member that stays unchanged. If the total has "
            "the thoughts apart from the answer, `output` includes them.\n",
            render_usage_sums(QWEN_USAGE_SUMS),
            render_labels(list(_list_outcome_rows()), list(_list_speaker_rows())),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`sessionId` of the first line"),
                    (quote("environment.working-dir"), "the first `cwd`"),
                    (quote("vcs.branch"), "the first `gitBranch`"),
                    (quote("agent-meta.cli-version"), "the first `version`"),
                    (quote("agent-meta.models"), "`model` of the lines"),
                    (
                        quote("vacr.parent"),
                        "in the file of a sub-agent, `sessionId`; its own id is that and `agentId`",
                    ),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    shell = "`run_shell_command`"
    yield f"`toolCallResult.errorType` is {quote(*DENIED_ERRORS)}", "`denied`", "–"
    yield f"{shell}: `Background shell started.`", "`running`", "–"
    yield f"{shell}: `Command timed out after Nms before …`", "`timeout`", "–"
    yield "`cancelled`, with the words for a call that the user did not allow", "`denied`", "–"
    yield f"`cancelled`; {shell}: `Command was cancelled by user …`", "`interrupted`", "–"
    yield f"{shell}: `Exit Code: N` with another `N` than 0, or `Signal: N`", "`error`", "`N`"
    yield "`toolCallResult.status` is `error`", "`error`", "–"
    yield f"`toolCallResult.status` is `success`; {shell} with `Exit Code: 0`", "`success`", "0"
    yield "`response.success`, in the file of a sub-agent", "`success` or `error`", "–"
    yield "otherwise", UNKNOWN_OUTCOME_ROW, "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    subtypes = quote(*sorted(HOST_SUBTYPES))
    yield f"the subtype {subtypes}, or `externalInputKind` `notification`", *STATED_BY_HOST
    yield "`systemPayload.displayText`", *STATED_BY_HUMAN, "that text, if the message has others"
    yield "all parts are the element `qwen:user-prompt-submit-context`", *INFERRED_AS_HOOK
    yield "all parts are such elements or `system-reminder`", *INFERRED_AS_HOST
    yield "texts of the host in Gemini CLI's form", *INFERRED_AS_HOST
    yield f"the subtype {quote(TYPED_SUBTYPE)}", *STATED_BY_HUMAN, "–"
    yield "the file of a sub-agent", "`parent-agent`", "`inferred`", "–"
    yield "other text", *INFERRED_AS_HUMAN, "the text without parts of hooks and of the host"
