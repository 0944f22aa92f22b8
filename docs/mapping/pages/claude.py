"""The page about the reader of Claude Code."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    STATED_BY_PARENT,
    group_names,
    list_move_rows,
    quote,
    render_block_views,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.claude_code import reader as claude_code
from vacr.agents.claude_code.outcomes import (
    _EXIT_ONE_MEANINGS,
    _FIRST_VERSION_WITH_HEADER,
    _LAUNCH_STATUSES,
    _STATUSES_BY_DENIAL,
    SHELL_TOOLS,
)
from vacr.agents.claude_code.reader import (
    CLAUDE_AUTONOMOUS_ENTRYPOINTS,
    CLAUDE_ENVELOPE_MEMBERS,
    CLAUDE_EVENT_NAMES,
    CLAUDE_EVENT_OWN_MEMBERS,
    CLAUDE_INPUT_COUNTERS,
    CLAUDE_INTERACTIVE_ENTRYPOINTS,
    CLAUDE_LINE_MOVES,
    CLAUDE_MESSAGE_MOVES,
    CLAUDE_SYNTHETIC_MODEL,
    CLAUDE_TOOL_LINES,
)
from vacr.agents.claude_code.speakers import (
    _ADDED_TAGS,
    _ATTACHMENT_TAGS,
    _CONTEXT_TAGS,
    _PAYLOAD_TAGS,
    _SPEAKERS_BY_ORIGIN,
    _SPEAKERS_BY_SOURCE,
    _SPEAKERS_BY_TURN_ORIGIN,
    _TYPED_ELEMENTS,
)
from vacr.agents.labels import HOOK, HOST, HUMAN


def render_page() -> str:
    """Return the page about Claude Code."""
    usage = [
        ("`input`", " + ".join(map(quote, CLAUDE_INPUT_COUNTERS))),
        ("`cached`", quote("cache_read_input_tokens")),
        ("`output`", quote("output_tokens")),
        (
            "`reasoning`",
            quote(
                "output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens"
            ),
        ),
    ]
    events = (
        (quote(kind), quote(CLAUDE_EVENT_NAMES.get(kind, kind)), quote(*sorted(members)))
        for kind, members in sorted(CLAUDE_EVENT_OWN_MEMBERS.items())
    )
    return "\n".join(
        (
            render_head(claude_code, "Claude Code"),
            "## Lines of type user and assistant: message entries\n",
            render_table(
                ("native", "canonical", "value"),
                [
                    (quote("type"), quote("type"), "text"),
                    (quote("timestamp"), quote("timestamp"), "timestamp"),
                    *list_move_rows(CLAUDE_LINE_MOVES),
                    *list_move_rows(CLAUDE_MESSAGE_MOVES, "message."),
                    (quote("message.usage"), quote("token-usage"), "map"),
                ],
            ),
            (
                f"A message of model `{CLAUDE_SYNTHETIC_MODEL}` was written by the client. It is "
                "marked `vacr.synthetic`, and its model and usage do not count.\n"
            ),
            "## Token usage\n",
            "The lines of one API message (`message.id`) repeat its usage. Only the line with "
            "the most output counts; it keeps its native counters next to the canonical ones.\n",
            render_table(("canonical", "native"), usage),
            "## Content blocks: children\n",
            render_block_views(),
            "## Other lines: events\n",
            "The members that place a line in the session stay on the entry "
            f"({quote(*sorted(CLAUDE_ENVELOPE_MEMBERS))}); the other members become its `data`. "
            "If a `progress` line holds a sub-agent's message, the message becomes a child of the "
            f"event. Lines of type {quote(*CLAUDE_TOOL_LINES)} become separate calls and "
            "results.\n",
            render_table(("line type", "event type", "members in data"), events),
            "A prompt that was typed while the agent worked is an attachment of type "
            "`queued_command`. It becomes a user message at its place: `content` ← "
            "`attachment.prompt`. Notices that Claude Code queues in the same way stay events, and "
            "so does a prompt that a user line repeats.\n",
            render_labels(
                list(_list_outcome_rows()), list(_list_speaker_rows()), notes=[_RESOLUTION_NOTE]
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the first `sessionId`; in a sub-agent's own file, `sessionId`/`agentId`",
                    ),
                    (
                        quote("session-start", "session-end"),
                        "the earliest and the latest timestamp",
                    ),
                    (
                        quote("format"),
                        "`interactive` for `entrypoint` "
                        f"{quote(*sorted(CLAUDE_INTERACTIVE_ENTRYPOINTS))}, `autonomous` for "
                        f"{quote(*sorted(CLAUDE_AUTONOMOUS_ENTRYPOINTS))} and in a sub-agent's own "
                        "file, otherwise left out",
                    ),
                    (
                        quote("agent-meta.model-provider"),
                        "`anthropic`, or `unknown` if no model is one of Anthropic's",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`message.model`, in order of appearance; `model-id` is the most frequent",
                    ),
                    (quote("agent-meta.model-id"), "`unknown` if no message names a model"),
                    (
                        quote("agent-meta.cli-version"),
                        "the first `version`; each entry keeps its own",
                    ),
                    (quote("environment.working-dir"), "the first `cwd`"),
                    (quote("vcs.branch"), "the first `gitBranch`"),
                ],
            ),
        )
    )


_RESOLUTION_NOTE = (
    "If a later call reads the output of a background task that ended, or stops it, the result "
    "that left the task running is `running` and names that call in `vacr.resolved-by`. If instead a "
    "notice of Claude Code (`task-notification`) states that the task ended, the result takes the "
    "status of the notice, and the exit code in its summary, and `vacr.resolved-by` is the id of the "
    "notice."
)


_INTERRUPTION = "[Request interrupted by user for tool use]"


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield (
        "a line of type `tool_result`: `is_error`, else the word in `status`",
        "`error`, `success` or by the word; otherwise unknown",
        "–",
    )
    any_code = "`N` of a first line as below, if any"
    for status, kinds in group_names(_STATUSES_BY_DENIAL):
        yield f"`toolDenialKind` {quote(*kinds)}", quote(status), any_code
    yield "`permissionDecision.decision` `reject`", "`denied`", any_code
    yield "`permissionDecision.decision` `cancelled`", "`interrupted`", any_code
    yield "`toolUseResult.interrupted`", "`interrupted`", any_code
    version = ".".join(map(str, _FIRST_VERSION_WITH_HEADER))
    header = (
        f"`is_error`, and `Exit code N` as the first line of {quote(*sorted(SHELL_TOOLS))}, "
        f"since version {version}"
    )
    yield f"{header}; the line `{_INTERRUPTION}` follows", "`interrupted`", "`N`"
    yield (
        f"{header}; `N` is 143, and a line such as `Command timed out after 2m 0s` follows",
        "`timeout`",
        "`N`",
    )
    yield f"{header}; otherwise", "`error`", "`N`"
    yield (
        (
            "`is_error` of an MCP tool, or of a shell before that version, unless `toolUseResult` "
            "is `User rejected tool use` or the error without its element `tool_use_error`: a "
            "program may have written the text"
        ),
        "`error`",
        "–",
    )
    yield (
        (
            "`is_error`, and a sentence of Claude Code about an interruption, such as "
            f"`{_INTERRUPTION}`"
        ),
        "`interrupted`",
        "–",
    )
    yield (
        (
            "`is_error`, and `toolUseResult` is `User rejected tool use`, or a sentence of Claude Code "
            "about a refusal by the user, a rule or a hook"
        ),
        "`denied`",
        "–",
    )
    yield "`is_error`, and a shell's `Command timed out after 2m 0s`", "`timeout`", "–"
    yield "`is_error` otherwise", "`error`", "–"
    yield (
        "`toolUseResult.backgroundTaskId` (this and the next rows: not of MCP tools)",
        "`running`",
        "–",
    )
    yield "`toolUseResult.timedOut`", "`timeout`", "–"
    yield (
        f"`toolUseResult.returnCodeInterpretation` {quote(*sorted(_EXIT_ONE_MEANINGS))}",
        "`error`",
        "1",
    )
    yield "`toolUseResult.success` is false", "`error`", "–"
    yield "the state of a background task that the call looked at", "its status", "`exitCode`"
    yield f"an agent with `status` {quote(*sorted(_LAUNCH_STATUSES))}", "`running`", "–"
    yield (
        "a tool at the provider: an error object, or `return_code`",
        "`error`, or by the code",
        "`return_code`",
    )
    yield "no `is_error`: Claude Code writes it on every failure", "`success`", "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    own_words = f"the words outside the elements {quote(*sorted(_ADDED_TAGS))}, if it has any"
    yield "`isCompactSummary`", *STATED_BY_HOST
    for who, kinds in group_names(_SPEAKERS_BY_ORIGIN):
        prompt = own_words if who == HUMAN else "–"
        yield f"`origin.kind` {quote(*kinds)}", quote(who), "`stated`", prompt
    yield (
        "`isMeta`, `turnCompanion`, `isVisibleInTranscriptOnly`, `sourceToolUseID`",
        *STATED_BY_HOST,
    )
    for member, speakers in (
        ("promptSource", _SPEAKERS_BY_SOURCE),
        ("turnOrigin", _SPEAKERS_BY_TURN_ORIGIN),
    ):
        for who, values in group_names(speakers):
            prompt = own_words if who == HUMAN else "–"
            yield f"`{member}` {quote(*values)}", quote(who), "`stated`", prompt
    tags = _CONTEXT_TAGS | _PAYLOAD_TAGS
    host = [tag for tag, who in tags.items() if who == HOST]
    hook = [tag for tag, who in tags.items() if who == HOOK]
    yield f"only elements of Claude Code: {quote(*sorted(host))}", "`host`", "`inferred`", "–"
    yield (
        f"only elements of hooks: {quote(*sorted(hook))}, or whole sentences such as "
        "`Stop hook feedback:` and `[command]: …` in the next line",
        "`hook`",
        "`inferred`",
        "–",
    )
    yield (
        "a whole sentence of Claude Code, such as `[Request interrupted by user]` or "
        "`Base directory for this skill: ` with an absolute path",
        "`host`",
        "`inferred`",
        "–",
    )
    yield (
        "`isSidechain`, or a message inside a `progress` line (marked `vacr.sub-agent`)",
        *STATED_BY_PARENT,
    )
    yield "a sub-agent's own file", "`parent-agent`", "`inferred`", "–"
    yield "`entrypoint` begins with `sdk-`", *INFERRED_AS_UNKNOWN, "as below"
    signs = ", ".join(f"`{tag}` as `{sign}…`" for tag, sign in _TYPED_ELEMENTS.items())
    yield (
        "a command in `command-name` and `command-args`, or typed text in "
        f"{quote(*_TYPED_ELEMENTS)}",
        *STATED_BY_HUMAN,
        f"the command as typed: `/goal fix it`; {signs}",
    )
    yield (
        "other text, with or without elements of Claude Code",
        *INFERRED_AS_HUMAN,
        "the words outside these elements and outside "
        f"{quote(*sorted(_ATTACHMENT_TAGS))}, if it has any",
    )
