"""Gemini CLI."""

from __future__ import annotations

from pages.markdown import code, head, members, parts, sums, table
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


def page() -> str:
    """Describe the reader of Gemini CLI."""
    roles = ", ".join(
        f"{code(native)} → {code(entry)}" for native, entry in GEMINI_ENTRY_TYPES.items()
    )
    events = ", ".join(
        f"{code(native)} → {code(name)}" for native, name in GEMINI_EVENT_NAMES.items()
    )
    return "\n".join(
        (
            head(gemini_cli, "Gemini CLI"),
            "## Messages\n",
            f"By `type`: {roles}; the native type stays in `vacr.native.type` where it differs. "
            f"{code(*sorted(GEMINI_EVENT_TYPES))} and unknown types are events.\n",
            table(
                ("native", "entry", "members"),
                [
                    (code("user"), code("user"), members(GEMINI_USER_SHAPE)),
                    (code("gemini"), code("assistant"), members(GEMINI_ANSWER_SHAPE)),
                    (
                        code("thoughts[]"),
                        f"{code('reasoning')}, a child",
                        members(GEMINI_THOUGHT_SHAPE),
                    ),
                    (
                        code("toolCalls[]"),
                        f"{code('tool-call')}, a child",
                        members(GEMINI_CALL_SHAPE),
                    ),
                    (
                        "the same, with a `result`",
                        f"{code('tool-result')}, the next child",
                        (
                            f"{members(GEMINI_RESULT_MOVES)}; `is-error` where the status is "
                            f"{code(*sorted(GEMINI_FAILED_STATUSES))}"
                        ),
                    ),
                ],
            ),
            "## The log (since 0.39)\n",
            f"Lines that change what was written before become events: {events}; a second "
            "header becomes "
            f"{code(GEMINI_HEADER_EVENT)}. All messages stay, in the order they were written. "
            "Those that Gemini would not show any more "
            "are marked `vacr.superseded`:\n",
            table(
                ("mark", "meaning"),
                [
                    (
                        code(FATE_REPLACED),
                        "written again under the same id, which the later one has; its model, "
                        "tokens, thoughts and calls stay as "
                        "they were, so that nothing counts twice",
                    ),
                    (
                        code(FATE_REWOUND),
                        "taken back by `$rewindTo`; it did happen, and its calls and tokens count",
                    ),
                    (
                        code(FATE_DROPPED),
                        "no longer among the messages that `$set` or `$patch` left",
                    ),
                ],
            ),
            "Messages inside `$set.messages` follow its event and are marked `vacr.from`.\n",
            "## Saved chats\n",
            f"An array of turns, or an object that holds one in {code(*GEMINI_HISTORY_MEMBERS)}: "
            "a turn is a message, by `role`; "
            f"{members(GEMINI_TURN_SHAPE)}. Roles other than the entry's type stay.\n",
            parts(),
            "## Token usage\n",
            "From `tokens`, which stays as it is.\n",
            sums(GEMINI_USAGE_SUMS),
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (
                        code("session-id"),
                        "`sessionId`; of a saved chat without one, the SHA-256 of the file",
                    ),
                    (code("session-start"), "`startTime`"),
                    (code("session-end"), "the latest of the timestamps and `lastUpdated`"),
                    (code("format"), "`autonomous` where `kind` is `subagent`, else left out"),
                    (code("agent-meta.model-provider"), "`google`"),
                    (code("agent-meta.models"), "`model` of the messages, in order of appearance"),
                    (
                        code("vacr.parent"),
                        "of a sub-agent, the name of the folder its file lies in",
                    ),
                    (
                        "native members of `session`",
                        (
                            "all others of the header: `projectHash`, `summary`, `directories`, "
                            "`kind`, …"
                        ),
                    ),
                ],
            ),
        )
    )
