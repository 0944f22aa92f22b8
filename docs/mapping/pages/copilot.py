"""The page about the reader of GitHub Copilot CLI."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

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
)
from vacr.agents.copilot import AGENT
from vacr.agents.copilot.outcomes import ERROR_CODES, FOLLOWING_TOOLS, SHELL_TOOLS
from vacr.agents.copilot.reader import PROVIDER
from vacr.agents.copilot_events import EVENT_DATA_MOVES, EVENT_ENTRY_TYPES, REASONING_MEMBERS
from vacr.agents.copilot_members import EVENT_DATA_MEMBERS
from vacr.agents.copilot_usage import MODEL_FROM_CALL, MODEL_FROM_SESSION, USAGE_MEMBERS


def render_page() -> str:
    """Return the page about Copilot CLI."""
    events = sorted(EVENT_DATA_MEMBERS.keys() - EVENT_ENTRY_TYPES.keys())
    head = SimpleNamespace(formats=AGENT.formats, STORES=AGENT.stores)
    return "\n".join(
        (
            render_head(head, "GitHub Copilot CLI"),
            render_event_tables(),
            f"All other events keep their name as `event-type` and their `data`. Known are "
            f"{quote(*events)}.\n",
            render_usage_section(),
            render_labels(
                list(_list_outcome_rows()), list(_list_speaker_rows()), notes=[_RESOLUTION_NOTE]
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`sessionId` of the first `session.start`"),
                    (quote("session-start"), "`startTime`"),
                    (
                        quote("format"),
                        "`autonomous` if the system prompt states that nobody can answer, "
                        "otherwise left out",
                    ),
                    (
                        quote("agent-meta.model-provider"),
                        f"`{PROVIDER}`, or `unknown` if the records of calls state a key of the "
                        "user's own",
                    ),
                    (quote("agent-meta.models"), "the models of the messages"),
                    (quote("agent-meta.cli-version"), "`copilotVersion`"),
                    (quote("environment.working-dir"), "`context.cwd`"),
                    (
                        quote("vcs"),
                        "`context.headCommit`, `context.branch`, `context.repository`",
                    ),
                    (quote("vacr.parent"), "`detachedFromSpawningParentSessionId`"),
                ],
            ),
        )
    )


def render_event_tables() -> str:
    """Return the section about lines of an event log that become typed entries."""
    return "\n".join(
        (
            "## Events\n",
            "Each line is an entry with `id`, `timestamp` and `parent-id` (from `parentId`, the "
            "line before it). The type stays in `vacr.native.type`, the rest of `data` in `data`.\n",
            render_table(
                ("native type", "entry", "members of `data`"),
                [
                    (quote(kind), quote(entry), format_moves(EVENT_DATA_MOVES[kind]))
                    for kind, entry in EVENT_ENTRY_TYPES.items()
                ],
            ),
            "- `output` of a result is `result.content`, or else `error.message`, marked "
            "`vacr.output-from`.\n"
            "- `reasoningText` of a message and the first of "
            f"{quote(*REASONING_MEMBERS)} become a child of type `reasoning`.\n"
            "- A call in `toolRequests` that never started becomes a child of its message, marked "
            "`vacr.from`. All others are lines of their own.\n"
            "- Arguments that are a text of JSON are parsed into `input`; the text stays.\n"
            "- An entry of a sub-agent has `agentId`, or in older versions "
            "`data.parentToolCallId`.\n",
        )
    )


def render_usage_section() -> str:
    """Return the section about models and tokens."""
    return "\n".join(
        (
            "## Models and token usage\n",
            "A message without a `model` has the one that the results of its calls name "
            f"(`vacr.model-from`: `{MODEL_FROM_CALL}`), or else the current one of the session "
            f"(`{MODEL_FROM_SESSION}`).\n",
            "Newer versions write a `session.usage_record` for each call; it has the tokens. In "
            "older ones, a message has its `outputTokens`, and `session.shutdown` has the totals "
            "of each model since the last start, or since the session began. The tokens that no "
            "message states become a child of `session.shutdown` for each model, of type "
            "`model-usage`, marked `vacr.usage-from`.\n",
            render_table(
                ("canonical", "native"),
                [(quote(name), quote(native)) for name, native in USAGE_MEMBERS],
            ),
        )
    )


_RESOLUTION_NOTE = (
    "A command or sub-agent in the background is `running` if a later call sees its end "
    f"({quote(*sorted(FOLLOWING_TOOLS))}, `read_agent`). If only a `system.notification` tells of "
    "the end, the call has the outcome of the notice."
)


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield "`success` is false, and a `permission.completed` refuses the call", "`denied`", "–"
    yield (
        "`success` is false: the `code` of the error, "
        + ", ".join(f"{quote(code)} → {quote(status)}" for code, status in ERROR_CODES.items()),
        "as stated, else `error`",
        "–",
    )
    yield (
        f"a command ({quote(*sorted(SHELL_TOOLS))}): `shellExecution.exitCode`, or the last line "
        "of the output, `<shellId: … completed with exit code N>` or `<exited with exit code N>`",
        "`success` for 0, else `error`",
        "`N`",
    )
    yield "a command whose last line says that it still runs", "`running`", "–"
    yield "a command without either", UNKNOWN_OUTCOME_ROW, "–"
    yield "`success` is true", "`success`", "–"
    yield "none of these", UNKNOWN_OUTCOME_ROW, "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about speakers, the strongest first."""
    yield "`isAutopilotContinuation`", *STATED_BY_HOST
    yield "`source` begins with `agent-`", *STATED_BY_PARENT
    yield "`source` begins with `skill-`, `system` or another name of the host's", *STATED_BY_HOST
    yield "any other `source`", *INFERRED_AS_UNKNOWN, "–"
    yield "the message has an `agentId`", "`parent-agent`", "`inferred`", "–"
    yield "`content` is empty, and `transformedContent` has text", *INFERRED_AS_HOST
    yield "the session is autonomous", *INFERRED_AS_UNKNOWN, "–"
    yield "all others", *INFERRED_AS_HUMAN, "–"
