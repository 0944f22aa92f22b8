"""The members of OpenCode's sessions that are known. Step: read.

Seen in versions 1.1 to 1.18. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.
"""

from __future__ import annotations

SESSION = frozenset(
    (
        "id",
        "slug",
        "projectID",
        "directory",
        "path",
        "parentID",
        "title",
        "agent",
        "model",
        "version",
        "summary",
        "cost",
    )
    + ("tokens", "permission", "time", "share", "revert", "metadata", "workspaceID")
    + (
        "project_id",
        "parent_id",
        "share_url",
        "summary_additions",
        "summary_deletions",
        "summary_files",
        "summary_diffs",
    )
    + (
        "time_created",
        "time_updated",
        "time_compacting",
        "time_archived",
        "workspace_id",
        "tokens_input",
        "tokens_output",
    )
    + ("tokens_reasoning", "tokens_cache_read", "tokens_cache_write")
)
MESSAGE = frozenset(
    (
        "id",
        "sessionID",
        "role",
        "time",
        "parentID",
        "modelID",
        "providerID",
        "mode",
        "agent",
        "path",
        "cost",
        "tokens",
    )
    + (
        "finish",
        "error",
        "summary",
        "system",
        "tools",
        "format",
        "variant",
        "model",
        "structured",
        "time_created",
    )
    + ("time_updated", "metadata")
)
PART = frozenset(
    ("id", "sessionID", "messageID", "type", "metadata", "time", "time_created", "time_updated")
)
TOOL = PART | frozenset(("callID", "tool", "state"))
REASONING = PART | frozenset(("text",))
STATE = frozenset(
    ("status", "input", "output", "error", "title", "metadata", "time", "attachments", "raw")
)

# Part type → the members it has, beside those of every part.
_EVENTS = {
    "step-start": frozenset(("snapshot",)),
    "step-finish": frozenset(("reason", "snapshot", "cost", "tokens")),
    "snapshot": frozenset(("snapshot",)),
    "patch": frozenset(("hash", "files")),
    "agent": frozenset(("name", "source")),
    "retry": frozenset(("attempt", "error")),
    "compaction": frozenset(("auto", "overflow", "tail_start_id")),
    "subtask": frozenset(("prompt", "description", "agent", "model", "command")),
}
_SAID = {
    "text": frozenset(("text", "synthetic", "ignored")),
    "file": frozenset(("mime", "filename", "url", "source")),
}
EVENTS = {kind: PART | members for kind, members in _EVENTS.items()}
SAID = {kind: PART | members for kind, members in _SAID.items()}
