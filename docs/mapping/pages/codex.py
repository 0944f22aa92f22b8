"""The page about the reader of Codex CLI."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOOK,
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_status_words,
    render_table,
    render_usage_sums,
)
from vacr.agents.codex import reader as codex_cli
from vacr.agents.codex.outcomes import (
    _COMMAND_TOOLS,
    _DENIALS,
    _FAILURES,
    _OBJECT_TOOLS,
    _TIMEOUT_CODE,
)
from vacr.agents.codex.reader import (
    CODEX_ECHO_EVENTS,
    CODEX_EVENT_NAMES,
    CODEX_EVENT_TYPES,
    CODEX_STATE_ENVELOPES,
)
from vacr.agents.codex.rollout import (
    CODEX_MESSAGE_MOVES,
    CODEX_SESSION_MODES,
    CODEX_TOOL_ITEMS,
    CODEX_USAGE_SUMS,
)
from vacr.agents.codex.speakers import _EXTERNAL_TAG, _HOOK_TAG, _HOST_TAGS


def render_page() -> str:
    """Return the page about Codex CLI."""
    rows = (
        (
            quote(kind),
            quote(item.entry_type),
            ", ".join(f"{quote(move.canonical)} ← {quote(move.native)}" for move in item.lift.moves)
            + (f", {quote('name')} = {quote(item.tool)}" if item.tool else ""),
        )
        for kind, item in CODEX_TOOL_ITEMS.items()
    )
    return "\n".join(
        (
            render_head(codex_cli, "Codex CLI"),
            "## Response items\n",
            "The envelope's `type` stays in `vacr.native.type`, and the rest of the item in "
            "`payload`. In the older form without an envelope, the line itself is the item.\n",
            render_table(
                ("item type", "entry", "members"),
                [
                    (
                        quote("message"),
                        f"{quote('user')} or {quote('assistant')}, by `role`; other roles are events",
                        ", ".join(
                            f"{quote(move.canonical)} ← {quote(move.native)}"
                            for move in CODEX_MESSAGE_MOVES.moves
                        ),
                    ),
                    (
                        quote("reasoning"),
                        quote("reasoning"),
                        (
                            "`content` ← `content` or, if missing, `summary`, `encrypted` ← "
                            "`encrypted_content`"
                        ),
                    ),
                    *rows,
                ],
            ),
            (
                "The arguments of a `function_call` are parsed into `input`; their text stays in "
                "`payload.arguments`.\n"
            ),
            "## Events\n",
            f"Every other line is an event: its payload becomes `data`, its type `event-type` "
            f"({', '.join(f'{quote(native)} → {quote(name)}' for native, name in CODEX_EVENT_NAMES.items())}). Known types are "
            f"{quote(*sorted(CODEX_STATE_ENVELOPES))} and, as `event_msg`, "
            f"{quote(*sorted(CODEX_EVENT_TYPES))}.\n",
            f"{quote(*CODEX_ECHO_EVENTS)} repeat the text of response items, so they are marked "
            "`vacr.repeats`. If a session has no such items, these events are its messages. A user "
            "message whose text such an event repeats is marked `vacr.echoed`: somebody typed "
            "it.\n",
            "## Token usage\n",
            (
                "`token-count` events have it, from `info.last_token_usage`, once for each change "
                "of `info.total_token_usage`. If the total grew by another amount, as it does when "
                "a conversation is compacted, the growth counts, and `vacr.usage-from` is "
                "`total`.\n"
            ),
            render_usage_sums(CODEX_USAGE_SUMS),
            render_labels(
                list(_list_outcome_rows()), list(_list_speaker_rows()), notes=[_RESOLUTION_NOTE]
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the first `session_meta`"),
                    (quote("session-start"), "`timestamp` of the first `session_meta`"),
                    (
                        quote("format"),
                        ", ".join(
                            f"{quote(mode)} for `source` {quote(name)}"
                            for name, mode in CODEX_SESSION_MODES.items()
                        )
                        + ", `autonomous` for a sub-agent, otherwise left out",
                    ),
                    (
                        quote("agent-meta.model-provider"),
                        (
                            "`model_provider`; if the session does not name it, `openai`, or "
                            "`unknown` if a model is not one of OpenAI's"
                        ),
                    ),
                    (
                        quote("environment.working-dir"),
                        "`cwd` of the first `session_meta`, or of the first turn",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`turn_context.model`; each assistant message has the model of its turn",
                    ),
                    (quote("vcs"), "`git.commit_hash`, `git.branch`, `git.repository_url`"),
                    (
                        quote("environment.sandboxes"),
                        "`turn_context.sandbox_policy.writable_roots`",
                    ),
                    (
                        quote("vacr.parent"),
                        (
                            "`parent_thread_id`, also in `source.subagent.thread_spawn`, or "
                            "`forked_from_id`"
                        ),
                    ),
                    (
                        quote("vacr.inherited"),
                        "marks the entries that a fork copied from its parent",
                    ),
                ],
            ),
        )
    )


_RESOLUTION_NOTE = (
    "If a later call sees the end of a command or script that ran on (`write_stdin` with its "
    "`session_id`, `wait` with its `cell_id`), the result that left it running is `running` and names that "
    "call in `vacr.resolved-by`."
)


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    header = "the lines before the output of a command"
    yield (
        "the result: `aborted by user after …`, or the text `aborted`, and no event states a "
        "success; for the tool of a server, no event states an outcome",
        "`interrupted`",
        "–",
    )
    yield (
        "the result of a tool of Codex, with a refusal of Codex: a text that begins with "
        f"{quote(*_DENIALS)}, or an error with `Rejected(` or `SandboxDenied`",
        "`denied`",
        "–",
    )
    yield (
        f"exit code {_TIMEOUT_CODE}, and `command timed out after … milliseconds` follows",
        "`timeout`",
        str(_TIMEOUT_CODE),
    )
    yield (
        "an event about the call, with `exit_code`",
        "`success` for 0, else `error`; a `status` of refusal, interruption or timeout stays",
        "`exit_code`",
    )
    yield (
        f"{header}: `Exit code: N` or `Process exited with code N` "
        f"({quote(*sorted(_COMMAND_TOOLS))}), or `exit_code` in the JSON object that the first "
        "versions wrote as the output",
        "`success` for 0, else `error`",
        "`N`",
    )
    yield (
        "an event about the call, with `success`, `result.Err`, `isError`, `result.Ok` or `status`",
        f"`error` or `success`, or by the word: {render_status_words()}",
        "–",
    )
    yield f"{header}: `Process running with session ID …`", "`running`", "–"
    yield (
        "a script: `Script completed`, `failed`, `terminated`, `running with cell ID …`",
        "`success`, `error`, `interrupted`, `running`",
        "–",
    )
    yield (
        f"{quote(*sorted(_OBJECT_TOOLS))}: a JSON object or nothing; any other text is an error. A "
        "wait that ended too early (`timed_out`)",
        "`success`, `error`; `running`",
        "–",
    )
    yield (
        "`apply_patch`: `Success. Updated the following files:`; `update_plan`: `Plan updated`; "
        "`view_image` with an image",
        "`success`",
        "–",
    )
    yield (
        "the result of a tool of Codex, with a failure of Codex: a text that begins with "
        f"{quote(*_FAILURES)}; `unsupported call`",
        "`error`; `timeout` if its error is one",
        "–",
    )
    yield "`success` or `status` of the item", "by the flag or the word", "–"
    yield (
        "none of these, for example the plain output of an MCP tool",
        UNKNOWN_OUTCOME_ROW,
        "–",
    )


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    own = "the other blocks, if Codex wrote some of them"
    tags = quote(*sorted(_HOST_TAGS), f"{_EXTERNAL_TAG}…")
    yield (
        "all blocks have a `provenance` other than `user` (in `content_item_metadata`)",
        "`host`, or `hook` if they say so",
        "`stated`",
        "–",
    )
    yield f"all blocks are one of the elements {tags}", *INFERRED_AS_HOST
    yield f"all blocks are the element `{_HOOK_TAG}`", *INFERRED_AS_HOOK
    yield (
        "all blocks are another text of Codex: `# AGENTS.md instructions for …` with "
        "`<INSTRUCTIONS>`, a warning, a summary",
        *INFERRED_AS_HOST,
    )
    yield "`source.subagent` in `session_meta`", *STATED_BY_PARENT
    yield "`source.internal` in `session_meta`", *STATED_BY_HOST
    yield (
        "`source` `exec` or `mcp` in `session_meta`, or `originator` `codex_exec` without a source",
        *INFERRED_AS_UNKNOWN,
        own,
    )
    yield "`user_shell_command`: the user ran a command", *STATED_BY_HUMAN, "`!` and the command"
    yield (
        "`vacr.echoed`, an event `user_message` of a prompt, or the `provenance` `user`",
        *STATED_BY_HUMAN,
        f"{own}; without the open files that an editor puts before the request",
    )
    yield "other text", *INFERRED_AS_HUMAN, "as above"
