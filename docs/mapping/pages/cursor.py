"""The page about the reader of Cursor."""

from __future__ import annotations

from collections.abc import Iterator

from pages.markdown import (
    INFERRED_AS_HOOK,
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_block_views,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.cursor import reader as cursor
from vacr.agents.cursor.databases import (
    CURSOR_BUBBLE_MOVES,
    CURSOR_BUBBLE_TYPES,
    CURSOR_CALL_MOVES,
    CURSOR_CHAT_BUBBLE_MOVES,
    CURSOR_CONTENT_MEMBERS,
    CURSOR_SECRET_MEMBERS,
)
from vacr.agents.cursor.outcomes import (
    _BACKGROUND_MEMBERS,
    _ENDED_REASONS,
    _EXIT_CODE_MEMBERS,
    _RESULT_CASES,
    _SHELL_TOOLS,
)
from vacr.agents.cursor.reader import (
    CURSOR_EVENT_TYPES,
    CURSOR_LINE_MOVES,
    CURSOR_MESSAGE_MOVES,
    CURSOR_TOOL_PARAMETERS,
)
from vacr.agents.cursor.speakers import _HOOK_ELEMENT, _HOST_ELEMENTS, _HOST_FLAGS
from vacr.agents.cursor.stores import CURSOR_AGENT_KINDS, CURSOR_BUBBLE_KIND, CURSOR_COMPOSER_KIND


def render_page() -> str:
    """Return the page about Cursor."""
    types = ", ".join(
        f"{quote(str(native))} → {quote(entry)}" for native, entry in CURSOR_BUBBLE_TYPES.items()
    )
    return "\n".join(
        (
            render_head(cursor, "Cursor"),
            "## Transcripts in JSONL\n",
            f"A line with `role` is a message: {format_moves(CURSOR_MESSAGE_MOVES)} of `message`, "
            f"{format_moves(CURSOR_LINE_MOVES)}. Other lines are events "
            f"({quote(*sorted(CURSOR_EVENT_TYPES))} are known). Transcripts contain no session id, "
            "model, times or results.\n",
            render_block_views(),
            "## Transcripts in text\n",
            f"A line {quote('user:')} or {quote('assistant:')} starts a message. Its content is a "
            "list of blocks: `text`, `thinking`, `tool_use`, `tool_result`. Each block keeps its "
            "`text` exactly as in the file, so that the file can be restored. The file does not "
            "mark the end of thinking, so an answer after it stays in the same block. Parameters "
            f"of a call are recognised by name; {quote(*CURSOR_TOOL_PARAMETERS)} have a fixed list "
            "of parameters.\n",
            "## The editor's database (`state.vscdb`)\n",
            "A conversation consists of the rows whose key has its id after the kind "
            f"({quote(CURSOR_COMPOSER_KIND, CURSOR_BUBBLE_KIND)}, "
            f"{quote(*CURSOR_AGENT_KINDS)} or any other kind), the rows of other tables with its "
            "`composerId`, and the file contents that all these rows name.\n",
            f"A bubble is a message, and `type` determines the entry: {types}. Its members are "
            f"{format_moves(CURSOR_BUBBLE_MOVES)}; in chats, "
            f"{format_moves(CURSOR_CHAT_BUBBLE_MOVES)}. Its `content` is the first of "
            f"{quote(*(name for name, _ in CURSOR_CONTENT_MEMBERS))} that is not empty, as blocks "
            "or as text. `thinking` becomes reasoning. `toolFormerData` becomes a call "
            f"({format_moves(CURSOR_CALL_MOVES)}, `input` ← `rawArgs` or `params`) and a result "
            "(`output` ← `result` or `error`). JSON inside a text is parsed; the text itself is "
            "kept only if encoding the value would not restore it. Other rows, unknown columns and "
            "rows with a repeated key become events.\n",
            "A copy of the database may lack one of the editor's two tables, `ItemTable` or "
            "`cursorDiskKV`. vacr reads the other one.\n",
            "In versions before the composer (`chatdata`), one value holds all chats, each in a tab "
            "with an id. A chat belongs to the composer with that id, if it exists. Chats without "
            "an id form a session without an id; so does a value that cannot be split without "
            "loss.\n",
            "These values belong to no conversation, and no record contains them: empty drafts; "
            "the editor's lists, windows and settings; the other members of a value with chats; "
            "contents stored by digest (`agentKv:blob`, `composer.content`) that no row of a "
            "conversation names.\n",
            "## The command line's database (`store.db`)\n",
            "The latest root names the messages, in order; each is a blob. The `role` `tool` "
            "becomes `user`. If the root names a blob again, the repetition is an entry without "
            "content, with the blob's id in `vacr.repeats`. Unfinished messages are marked "
            "`vacr.pending`. All other blobs, rows of other tables and unknown columns become "
            "events.\n",
            render_labels(
                list(_list_outcome_rows()),
                list(_list_speaker_rows()),
                unanswered="A call in a database without a result",
                notes=(
                    "A call of the editor that the user refused, and that has no result, is marked "
                    "`denied` instead.",
                ),
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the id of the conversation in a database; the name of a transcript if it "
                        "is a UUID, otherwise the SHA-256 of the file; `<parent>/<child>`, from "
                        "the folder, for the file of a sub-agent",
                    ),
                    (
                        quote("session-start", "session-end"),
                        "`createdAt`, `lastUpdatedAt` and the times of the bubbles, if present",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`modelInfo.modelName`, `modelConfig.modelName`, `lastUsedModel`, "
                        "`providerOptions.cursor.modelName`; "
                        "`unknown` if none of them exists",
                    ),
                    (
                        quote("environment.working-dir"),
                        "`workspaceIdentifier`, `workspaceUris`, or the root's folder",
                    ),
                    (quote("vacr.parent"), "`subagentInfo.parentComposerId`, or the folder"),
                    (quote("vacr.secrets"), f"pointers of {quote(*CURSOR_SECRET_MEMBERS)}"),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield "a transcript: it has no results", UNKNOWN_OUTCOME_ROW, "–"
    codes = quote(*_EXIT_CODE_MEMBERS)
    editor = "editor"
    yield (
        f"{editor}: the user's decision, `rejected`, an edit that was not accepted",
        "`denied`",
        "–",
    )
    reasons = [reason for reason in _ENDED_REASONS if isinstance(reason, str)]
    for reason in reasons:
        status = _ENDED_REASONS[reason]
        if status != "error":
            yield f"{editor}: `endedReason` `{reason}`", quote(status), codes
    yield f"{editor}: {quote(*_BACKGROUND_MEMBERS)}, without an exit code", "`running`", "–"
    yield (
        f"{editor}: an exit code of a terminal's call in {codes}, unless the `status` is `cancelled`",
        "`success` for 0, unless a row below says `error`; else `error`",
        "the code",
    )
    yield (
        f"{editor}: an `error`, an edit that was not applied, "
        f"`endedReason` `{next(reason for reason in reasons if _ENDED_REASONS[reason] == 'error')}`",
        "`error`",
        "–",
    )
    yield (
        f"{editor}: `status` `completed`, `error`, `cancelled`, `loading`",
        "`success`, `error`, `interrupted`, `running`",
        "–",
    )
    line = "command line"
    yield (
        f"{line}: `Exit code: N` above the output of {quote(*sorted(_SHELL_TOOLS))}, or a code in "
        "the result, unless the kind of the result says `denied`, `timeout` or `running`",
        "`success` for 0, else `error`",
        "`N`",
    )
    cases = ", ".join(f"`{case}` → `{status}`" for case, status in _RESULT_CASES.items())
    yield (
        f"{line}: the kind of the result (`highLevelToolCallResult`)",
        f"{cases}; `permissionDenied` of a command → `denied`; any other kind → `error`",
        "–",
    )
    yield f"{line}: `isError`", "`error` or `success`", "–"
    yield f"{line} otherwise", UNKNOWN_OUTCOME_ROW, "–"


def _list_speaker_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the evidence about user messages, the strongest first."""
    yield f"{quote(*_HOST_FLAGS)} in `providerOptions.cursor`", *STATED_BY_HOST
    yield f"only elements of Cursor: {quote(*sorted(_HOST_ELEMENTS))}", *INFERRED_AS_HOST
    yield f"only the element `{_HOOK_ELEMENT}`", *INFERRED_AS_HOOK
    yield "the conversation of a sub-agent", *STATED_BY_PARENT
    yield "the element `user_query`", *STATED_BY_HUMAN, "its text, and words after it"
    yield (
        "other text, for example a bubble of the editor",
        *INFERRED_AS_HUMAN,
        "the text after the elements, if there are any",
    )
