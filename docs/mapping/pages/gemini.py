"""Gemini CLI."""

from __future__ import annotations

from pages.markdown import code, head, members, parts, sums, table
from vacr.readers import gemini_cli, gemini_fold, gemini_known
from vacr.readers import gemini_messages as messages


def page() -> str:
    """Describe the reader of Gemini CLI."""
    roles = ", ".join(
        f"{code(native)} → {code(entry)}" for native, entry in gemini_known.ROLES.items()
    )
    events = ", ".join(
        f"{code(native)} → {code(name)}" for native, name in gemini_cli.EVENT_NAMES.items()
    )
    return "\n".join(
        (
            head(gemini_cli, "Gemini CLI"),
            "## Messages\n",
            f"By `type`: {roles}; the native type stays in `vacr.native.type` where it differs. "
            f"{code(*sorted(gemini_known.EVENTS))} and unknown types are events.\n",
            table(
                ("native", "entry", "members"),
                [
                    (code("user"), code("user"), members(messages.MESSAGE)),
                    (code("gemini"), code("assistant"), members(messages.GEMINI)),
                    (
                        code("thoughts[]"),
                        f"{code('reasoning')}, a child",
                        members(messages.THOUGHT),
                    ),
                    (code("toolCalls[]"), f"{code('tool-call')}, a child", members(messages.CALL)),
                    (
                        "the same, with a `result`",
                        f"{code('tool-result')}, the next child",
                        (
                            f"{members(messages.RESULT)}; `is-error` where the status is "
                            f"{code(*sorted(messages.FAILED))}"
                        ),
                    ),
                ],
            ),
            "## The log (since 0.39)\n",
            f"Lines that change what was written before become events: {events}; a second "
            "header becomes "
            f"{code(gemini_cli.HEADER)}. All messages stay, in the order they were written. "
            "Those that Gemini would not show any more "
            "are marked `vacr.superseded`:\n",
            table(
                ("mark", "meaning"),
                [
                    (
                        code(gemini_fold.REPLACED),
                        "written again under the same id, which the later one has; its model, "
                        "tokens, thoughts and calls stay as "
                        "they were, so that nothing counts twice",
                    ),
                    (
                        code(gemini_fold.REWOUND),
                        "taken back by `$rewindTo`; it did happen, and its calls and tokens count",
                    ),
                    (
                        code(gemini_fold.DROPPED),
                        "no longer among the messages that `$set` or `$patch` left",
                    ),
                ],
            ),
            "Messages inside `$set.messages` follow its event and are marked `vacr.from`.\n",
            "## Saved chats\n",
            f"An array of turns, or an object that holds one in {code(*gemini_cli.HISTORIES)}: "
            "a turn is a message, by `role`; "
            f"{members(messages.TURN)}. Roles other than the entry's type stay.\n",
            parts(),
            "## Token usage\n",
            "From `tokens`, which stays as it is.\n",
            sums(messages.USAGE),
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
