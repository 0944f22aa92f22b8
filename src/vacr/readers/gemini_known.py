"""The members of Gemini CLI's sessions that are known. Step: read.

Seen in versions up to 0.61. A name that is missing here costs nothing but a count in the record's
`vacr.drift`.
"""

from __future__ import annotations

SESSION = frozenset(
    (
        "sessionId",
        "projectHash",
        "startTime",
        "lastUpdated",
        "messages",
        "summary",
        "directories",
        "kind",
    )
    + ("memoryScratchpad", "activeExtensionName")
)
CHECKPOINT = frozenset(
    ("history", "authType", "clientHistory", "toolCall", "commitHash", "messageId")
)
"""What a saved chat has beside its turns."""
TURN = frozenset(("role", "parts", "id", "timestamp", "finishReason", "sessionId"))

EVENTS = frozenset(("info", "error", "warning"))
ROLES = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "function": "user",
    "tool": "user",
}
"""The type of a message, or the role of a saved turn → entry type. An entry keeps what is not its
own type.
"""

MESSAGE = frozenset(("id", "timestamp", "content", "displayContent"))
GEMINI = MESSAGE | frozenset(("thoughts", "tokens", "model", "toolCalls"))
THOUGHT = frozenset(("subject", "description", "timestamp"))
CALL = frozenset(
    (
        "id",
        "name",
        "args",
        "result",
        "status",
        "timestamp",
        "agentId",
        "displayName",
        "description",
        "resultDisplay",
    )
    + ("renderOutputAsMarkdown", "parentCallId", "approvalMode", "kind")
)
TOKENS = frozenset(("input", "output", "cached", "thoughts", "tool", "total"))
