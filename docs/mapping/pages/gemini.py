"""The page about the reader of Gemini CLI."""

from __future__ import annotations

from pages.markdown import (
    format_moves,
    quote,
    render_head,
    render_part_views,
    render_table,
    render_usage_sums,
)
from vacr.agents.gemini import reader as gemini_cli
from vacr.agents.gemini.messages import (
    FATE_DROPPED,
    FATE_REPLACED,
    FATE_REWOUND,
    GEMINI_ANSWER_SHAPE,
    GEMINI_CALL_SHAPE,
    GEMINI_ENTRY_TYPES,
    GEMINI_EVENT_TYPES,
    GEMINI_FAILED_STATUSES,
    GEMINI_RESULT_MOVES,
    GEMINI_THOUGHT_SHAPE,
    GEMINI_TURN_SHAPE,
    GEMINI_USAGE_SUMS,
    GEMINI_USER_SHAPE,
)
from vacr.agents.gemini.reader import (
    GEMINI_EVENT_NAMES,
    GEMINI_HEADER_EVENT,
    GEMINI_HISTORY_MEMBERS,
)


def render_page() -> str:
    """Return the page about Gemini CLI."""
    roles = ", ".join(
        f"{quote(native)} → {quote(entry)}" for native, entry in GEMINI_ENTRY_TYPES.items()
    )
    events = ", ".join(
        f"{quote(native)} → {quote(name)}" for native, name in GEMINI_EVENT_NAMES.items()
    )
    return "\n".join(
        (
            render_head(gemini_cli, "Gemini CLI"),
            "## Messages\n",
            f"`type` determines the entry: {roles}. If the native type differs, it stays in "
            "`vacr.native.type`. "
            f"{quote(*sorted(GEMINI_EVENT_TYPES))} and unknown types are events.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (quote("user"), quote("user"), format_moves(GEMINI_USER_SHAPE)),
                    (quote("gemini"), quote("assistant"), format_moves(GEMINI_ANSWER_SHAPE)),
                    (
                        quote("thoughts[]"),
                        f"{quote('reasoning')}, a child",
                        format_moves(GEMINI_THOUGHT_SHAPE),
                    ),
                    (
                        quote("toolCalls[]"),
                        f"{quote('tool-call')}, a child",
                        format_moves(GEMINI_CALL_SHAPE),
                    ),
                    (
                        "`toolCalls[]` with a `result`",
                        f"{quote('tool-result')}, the next child",
                        (
                            f"{format_moves(GEMINI_RESULT_MOVES)}; `is-error` if the status is "
                            f"{quote(*sorted(GEMINI_FAILED_STATUSES))}"
                        ),
                    ),
                ],
            ),
            "## The log (since 0.39)\n",
            f"Lines that change earlier lines become events: {events}. A second header becomes "
            f"{quote(GEMINI_HEADER_EVENT)}. All messages stay, in the order they were written. "
            "Messages that Gemini would no longer show are marked `vacr.superseded`:\n",
            render_table(
                ("mark", "meaning"),
                [
                    (
                        quote(FATE_REPLACED),
                        "written again with the same id; the later message has the id, and this "
                        "one keeps its model, tokens, thoughts and calls in their native form, so "
                        "that they do not count twice",
                    ),
                    (
                        quote(FATE_REWOUND),
                        "taken back by `$rewindTo`; it happened, so its calls and tokens count",
                    ),
                    (
                        quote(FATE_DROPPED),
                        "removed by `$set` or `$patch`",
                    ),
                ],
            ),
            "Messages inside `$set.messages` follow its event and are marked `vacr.from`.\n",
            "## Saved chats\n",
            "A saved chat is an array of turns, or an object with such an array in "
            f"{quote(*GEMINI_HISTORY_MEMBERS)}. A turn becomes a message of the type that its "
            f"`role` names: {format_moves(GEMINI_TURN_SHAPE)}. A role that differs from the type "
            "of the entry stays.\n",
            render_part_views(),
            "## Token usage\n",
            "The counts come from `tokens`, a member that stays unchanged.\n",
            render_usage_sums(GEMINI_USAGE_SUMS),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "`sessionId`; for a saved chat without one, the SHA-256 of the file",
                    ),
                    (quote("session-start"), "`startTime`"),
                    (quote("session-end"), "the latest of the timestamps and `lastUpdated`"),
                    (quote("format"), "`autonomous` if `kind` is `subagent`, otherwise left out"),
                    (quote("agent-meta.model-provider"), "`google`"),
                    (quote("agent-meta.models"), "`model` of the messages, in order of appearance"),
                    (
                        quote("vacr.parent"),
                        "for a sub-agent, the name of the folder that holds its file",
                    ),
                    (
                        "native members of `session`",
                        (
                            "all other members of the header: `projectHash`, `summary`, `directories`, "
                            "`kind`, …"
                        ),
                    ),
                ],
            ),
        )
    )
