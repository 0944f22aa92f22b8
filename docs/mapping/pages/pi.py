"""The pages about the readers of Pi and OpenClaw, whose sessions have one form."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HOOK,
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
from vacr.agents import openclaw, pi
from vacr.agents.openclaw.speakers import _HOST_STARTS, PROVENANCE_SPEAKERS
from vacr.agents.pi.tools import _ABORTED_TEXTS, _BLOCKED_TEXT
from vacr.agents.pi_entries import (
    PI_COMMAND_ROLE,
    PI_CUSTOM_MESSAGE_SHAPE,
    PI_CUSTOM_MESSAGE_TYPE,
    PI_EVENT_MEMBERS,
    PI_EXTENSION_ROLES,
    PI_LINE_SHAPE,
    PI_ROLE_MOVES,
    PI_ROLES,
    PI_USAGE_SUMS,
)
from vacr.record.message_content import BLOCK_VIEWS


def render_page() -> str:
    """Return the page about Pi."""
    return _render(pi, "Pi", [])


def render_openclaw_page() -> str:
    """Return the page about OpenClaw."""
    starts = ", ".join(map(quote, _HOST_STARTS))
    rows = [
        (f"without facts about the sender, the text begins with {starts}", *INFERRED_AS_HOST),
        (
            "facts about the sender, the time or the message before or after the text",
            *INFERRED_AS_HUMAN,
            "the rest of the text",
        ),
    ]
    stated = [
        (f"`provenance.kind` is {quote(kind)}", quote(speaker.who), quote(speaker.basis), "–")
        for kind, speaker in PROVENANCE_SPEAKERS.items()
    ]
    rows = [*stated, *rows]
    return _render(openclaw, "OpenClaw", rows) + _DATABASE_SECTION


_DATABASE_SECTION = """
## The database

A row of `transcript_events` holds one line as text in `event_json`. It becomes the entry of that line, and its other columns stay in `vacr.event-row`. Each other row with the id of the session, and
the row of its conversation in `session_nodes`, becomes an event, marked `vacr.row`.

## Commands in the background

`exec` states the id of a command that goes on, in `details.sessionId`. A call of `process` that states its end has the outcome, and the command's `vacr.resolved-by` names that call. A command that
waits for an approval (`details.status` is `approval-pending`) has no outcome. `details.exitReason`, `details.noOutputTimedOut` and the text of an error tell timeouts and stopped commands apart.
"""


def _render(reader: ModuleType, title: str, speakers: list[tuple[str, ...]]) -> str:
    """Return a page; `speakers` are rows about texts that the program adds to prompts."""
    rows = [
        (
            f"`message` with the role {quote(role)}",
            quote(entry),
            format_moves(PI_ROLE_MOVES[role]),
        )
        for role, entry in PI_ROLES.items()
    ]
    rows.append(
        (
            quote(PI_CUSTOM_MESSAGE_TYPE),
            quote("user"),
            format_moves(PI_CUSTOM_MESSAGE_SHAPE),
        )
    )
    rows.append((quote(*PI_EVENT_MEMBERS), quote("system-event"), "the rest of the line in `data`"))
    return "\n".join(
        (
            render_head(reader, title),
            "## Lines\n",
            "Each line becomes one entry. Its type stays in `vacr.native.type`, and members of a "
            "message that no table names stay in `message`. A line of an unknown type, or a "
            "message of an unknown role, becomes an event, and counts as drift. In a fork, the "
            "entries that are older than the header are copies: they are marked "
            "`vacr.inherited`.\n",
            f"Of every line: {format_moves(PI_LINE_SHAPE)}.\n",
            render_table(("native", "entry", "members"), rows),
            "## Content\n",
            "The content stays as it is. Its calls and thoughts are children of the message.\n",
            render_block_views({kind: BLOCK_VIEWS[kind] for kind in ("thinking", "toolCall")}),
            "## Token usage\n",
            "The counts come from `usage`, which stays in `message`. `cost` is `usage.cost.total`.\n",
            render_usage_sums(PI_USAGE_SUMS),
            render_labels(_list_outcome_rows(), [*speakers, *_list_speaker_rows()]),  # type: ignore[list-item]
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the header"),
                    (quote("session-start"), "`timestamp` of the header"),
                    (quote("environment.working-dir"), "`cwd` of the header"),
                    (
                        quote("agent-meta.models"),
                        "`model` of the answers; without any, the chosen model",
                    ),
                    (quote("agent-meta.model-provider"), "the provider of most answers"),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    code = "`details.exitCode`"
    yield "`details.status` is `running`", "`running`", "–"
    yield "no `isError`, and `details.timedOut`", "`timeout`", code
    yield (
        "no `isError`, and `details.status` states a failure, or an exit code other than 0",
        "the status, or `error`",
        code,
    )
    yield "`isError` is false, or `details.status` is `completed`", "`success`", code
    yield "no `isError` and no `details.status`", UNKNOWN_OUTCOME_ROW, "–"
    yield f"the text is {quote(_BLOCKED_TEXT)}", "`denied`", "–"
    yield f"the text is {quote(*sorted(_ABORTED_TEXTS))}", "`interrupted`", "–"
    yield "a command, and the text ends with `Command exited with code N`", "`error`", "`N`"
    yield "a command, and the text ends with `Command timed out after N seconds`", "`timeout`", "–"
    yield "a command, and the text ends with `Command aborted`", "`interrupted`", "–"
    yield "`isError` otherwise", "`error`", code


def _list_speaker_rows() -> Iterator[tuple[str, ...]]:
    """Yield the evidence about user messages, the strongest first."""
    yield (
        f"the role {quote(PI_COMMAND_ROLE)}: a command that the user ran with `!`",
        *STATED_BY_HUMAN,
        "`!` and the command",
    )
    roles = quote(*sorted(PI_EXTENSION_ROLES))
    yield f"{quote(PI_CUSTOM_MESSAGE_TYPE)}, or the role {roles}", *STATED_BY_HOOK
    yield "other text", *INFERRED_AS_HUMAN, "–"
