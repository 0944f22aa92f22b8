"""The page about the reader of Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOOK,
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
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
    GEMINI_RESULT_MOVES,
    GEMINI_THOUGHT_SHAPE,
    GEMINI_TURN_SHAPE,
    GEMINI_USAGE_SUMS,
    GEMINI_USER_SHAPE,
)
from vacr.agents.gemini.reader import (
    GEMINI_EVENT_NAMES,
    GEMINI_FROM_SESSION,
    GEMINI_HEADER_EVENT,
    GEMINI_HISTORY_MEMBERS,
)
from vacr.agents.gemini.speakers import _HOOK_ELEMENT, _HOST_ELEMENTS, _HOST_STARTS, _NUDGES


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
                            f"{format_moves(GEMINI_RESULT_MOVES)}; Gemini writes a call down when "
                            "it ended, so the time is the result's"
                        ),
                    ),
                ],
            ),
            "A call without a `result` keeps its status and time. Version 0.61 writes each result "
            "again, as a message to the model, and after a compression also the calls. The copies "
            "are marked `vacr.repeats` with the id of the call, and do not count.\n",
            "## The log (since 0.39)\n",
            f"Lines that change earlier lines become events: {events}. A second header becomes "
            f"{quote(GEMINI_HEADER_EVENT)}; so does the place of a first header that follows other "
            f"lines, with {quote('vacr.from')} {quote(GEMINI_FROM_SESSION)}. All messages stay, in "
            "the order they were written. Messages that Gemini would no longer show are marked "
            "`vacr.superseded`:\n",
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
            render_labels(list(_list_outcome_rows()), list(_list_speaker_rows())),
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


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    cancelled = "`cancelled`, or an error that begins with `[Operation Cancelled]`"
    yield (
        "the tool of a server, with `error`: the words of its errors count for nothing",
        "`error`",
        "–",
    )
    yield f"{cancelled}; it ends with the words for a call that the user denied", "`denied`", "–"
    yield cancelled, "`interrupted`", "–"
    yield "an error of a policy (`Tool execution denied by policy.`) or a hook", "`denied`", "–"
    yield "the error `The user aborted a request.`", "`interrupted`", "–"
    shell = "`run_shell_command`"
    yield (
        f"{shell}: `Exit Code: N` in the host's last lines, with another `N` than 0; `Signal: N`. "
        "Lines of the newer form count only if `resultDisplay` shows that the program did not "
        "print them",
        "`error`",
        "`N` of the exit code",
    )
    yield f"{shell}: `Command was automatically cancelled because it exceeded …`", "`timeout`", "–"
    yield f"{shell}: `Command was cancelled by user before …`", "`interrupted`", "–"
    yield f"{shell}: `Command injection detected: …`", "`denied`", "–"
    yield f"{shell}: `Command moved to background`, `is running in background`", "`running`", "–"
    zero = "0, if the host writes it"
    yield "`status` `error`; in a saved chat, a response with `error`", "`error`", zero
    yield f"`status` `success`; {shell} with `Exit Code: 0` and no status", "`success`", zero
    yield "a saved chat otherwise: it has no status", UNKNOWN_OUTCOME_ROW, "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield (
        f"all parts are texts of Gemini CLI: the elements {quote(*_HOST_ELEMENTS)}; files that a "
        f"prompt refers to; a list of the workspace's directories; texts that begin with "
        f"{', '.join(quote(start.strip().partition(chr(10))[0]) for start in _HOST_STARTS)}",
        *INFERRED_AS_HOST,
    )
    yield f"all parts are the element `{_HOOK_ELEMENT}`", *INFERRED_AS_HOOK
    for text in _NUDGES:
        yield f"the message is `{text}`", *INFERRED_AS_HOST
    yield "the session has the `kind` `subagent`", *STATED_BY_PARENT
    yield "`displayContent`", *STATED_BY_HUMAN, "its text: `/init`"
    yield (
        "a hint that was typed while a tool ran (`User steering update:`), or a command that was "
        "run with `!`",
        *STATED_BY_HUMAN,
        "the hint, or `!` and the command",
    )
    yield (
        "other text",
        *INFERRED_AS_HUMAN,
        "the text without parts of Gemini CLI, if there are any",
    )
