"""Cursor."""

from __future__ import annotations

from pages.markdown import code, head, members, table, views
from vacr.agents.cursor import reader as cursor
from vacr.agents.cursor.databases import (
    CURSOR_BUBBLE_MOVES,
    CURSOR_BUBBLE_TYPES,
    CURSOR_CALL_MOVES,
    CURSOR_CHAT_BUBBLE_MOVES,
    CURSOR_CONTENT_MEMBERS,
    CURSOR_SECRET_MEMBERS,
)
from vacr.agents.cursor.reader import (
    CURSOR_EVENT_TYPES,
    CURSOR_LINE_MOVES,
    CURSOR_MESSAGE_MOVES,
    CURSOR_TOOL_PARAMETERS,
)
from vacr.agents.cursor.stores import CURSOR_AGENT_KINDS, CURSOR_BUBBLE_KIND, CURSOR_COMPOSER_KIND


def page() -> str:
    """Describe the reader of Cursor."""
    types = ", ".join(
        f"{code(str(native))} → {code(entry)}" for native, entry in CURSOR_BUBBLE_TYPES.items()
    )
    return "\n".join(
        (
            head(cursor, "Cursor"),
            "## Transcripts in JSONL\n",
            f"A line with `role` is a message: {members(CURSOR_MESSAGE_MOVES)} of `message`, "
            f"{members(CURSOR_LINE_MOVES)}. Other lines are events "
            f"({code(*sorted(CURSOR_EVENT_TYPES))} are known). Transcripts name no session, no "
            "model, no times and no results.\n",
            views(),
            "## Transcripts in text\n",
            f"A line {code('user:')} or {code('assistant:')} opens a message. Its content is a "
            "list of blocks: `text`, `thinking`, "
            "`tool_use`, `tool_result`, each with its `text` as it stands in the file, so that "
            "the file can be put together again. "
            "Nothing marks the end of thinking, so an answer that follows stays with it. The "
            "parameters of a call are read by name; "
            f"for {code(*CURSOR_TOOL_PARAMETERS)} only those that they have.\n",
            "## The editor's database (`state.vscdb`)\n",
            "The rows of one conversation: all whose keys name it after their kind "
            f"({code(CURSOR_COMPOSER_KIND, CURSOR_BUBBLE_KIND)}, "
            f"{code(*CURSOR_AGENT_KINDS)} and any other), those of other tables with its "
            "`composerId`, and the file contents that they name. "
            f"A bubble is a message, by `type`: {types}; {members(CURSOR_BUBBLE_MOVES)}; in "
            f"chats {members(CURSOR_CHAT_BUBBLE_MOVES)}. Its `content` is the first "
            f"of {code(*(name for name, _ in CURSOR_CONTENT_MEMBERS))} that says something, blocks "
            "or a text. `thinking` becomes reasoning; "
            f"`toolFormerData` a call ({members(CURSOR_CALL_MOVES)}, `input` ← `rawArgs` or "
            "`params`) and a result "
            "(`output` ← `result` or `error`). JSON that is held as text is read; the text "
            "stays only where it would not come out "
            "the same again. Other rows are events, and so are columns that are not known and "
            "rows whose key is there again.\n",
            "A chat of the versions before the composer (`chatdata`) is the tab of its id out "
            "of the value with all chats, and belongs to "
            "the composer of that id if there is one. Chats without an id, and a value that "
            "cannot be taken apart without loss, are a "
            "session without an id.\n",
            "Not part of any conversation, and of no record: drafts in which nothing was said, "
            "the editor's lists, windows and settings, "
            "what a value holds beside its chats, and contents kept by digest (`agentKv:blob`, "
            "`composer.content`) that no row of it names.\n",
            "## The command line's database (`store.db`)\n",
            "The blobs that the latest root names, in order, are messages; `role` `tool` is "
            "seen as `user`. One that is named again is an "
            "entry without content, whose `vacr.repeats` is the blob's id. Messages that were "
            "being worked on are marked `vacr.pending`. "
            "All other blobs are events, and so is every row of another table and every column "
            "that is not known.\n",
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (
                        code("session-id"),
                        "the id of the database's conversation; the name of a transcript's "
                        "file where it is a UUID; else the SHA-256 "
                        "of the file. In a sub-agent's own file `<parent>/<child>`, by the folder",
                    ),
                    (
                        code("session-start", "session-end"),
                        "`createdAt`, `lastUpdatedAt` and the bubbles' times, where there are any",
                    ),
                    (
                        code("agent-meta.models"),
                        "`modelInfo.modelName`, `modelConfig.modelName`, `lastUsedModel`, "
                        "`providerOptions.cursor.modelName`; "
                        "`unknown` where none is said",
                    ),
                    (
                        code("environment.working-dir"),
                        "`workspaceIdentifier`, `workspaceUris`, or the root's folder",
                    ),
                    (code("vacr.parent"), "`subagentInfo.parentComposerId`, or the folder"),
                    (code("vacr.secrets"), f"pointers of {code(*CURSOR_SECRET_MEMBERS)}"),
                ],
            ),
        )
    )
