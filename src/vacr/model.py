"""The types of a record: a plain dict, described by `TypedDict` after record/v3.cddl.

Its maps are open. Members that no rule of the schema names come from the agent's own format, and
must survive every read and write. So nothing here builds, copies or converts a record: the types
only name the known members.
"""

from __future__ import annotations

from typing import Any, TypedDict

SCHEMA_VERSION = "3.0.0-draft"

JsonObject = dict[str, Any]
"""An object of an agent's own format, or an entry that is being made from one."""

Timestamp = str | int


class VcsContext(TypedDict, total=False):
    """The state of version control that a session or a record refers to."""

    type: str
    revision: str
    branch: str
    repository: str


class TokenUsage(TypedDict, total=False):
    """The counters of tokens; `input` includes `cached`, and `output` includes `reasoning`."""

    input: int
    output: int
    cached: int
    reasoning: int
    total: int
    cost: float


Entry = TypedDict(
    "Entry",
    {
        "type": str,
        "id": str,
        "parent-id": str,
        "timestamp": Timestamp,
        "content": Any,
        "model-id": str,
        "token-usage": TokenUsage,
        "stop-reason": str,
        "name": str,
        "input": Any,
        "call-id": str,
        "output": Any,
        "status": str,
        "is-error": bool,
        "encrypted": str,
        "subject": str,
        "event-type": str,
        "data": dict[str, Any],
        "children": list[Any],
        "vacr": dict[str, Any],
    },
    total=False,
)
AgentMeta = TypedDict(
    "AgentMeta",
    {
        "model-id": str,
        "model-provider": str,
        "models": list[str],
        "cli-name": str,
        "cli-version": str,
    },
    total=False,
)
Environment = TypedDict(
    "Environment", {"working-dir": str, "vcs": VcsContext, "sandboxes": list[str]}, total=False
)
SessionTrace = TypedDict(
    "SessionTrace",
    {
        "format": str,
        "session-id": str,
        "session-start": Timestamp,
        "session-end": Timestamp,
        "agent-meta": AgentMeta,
        "environment": Environment,
        "entries": list[Entry],
    },
    total=False,
)
Record = TypedDict(
    "Record",
    {
        "version": str,
        "id": str,
        "created": Timestamp,
        "session": SessionTrace,
        "file-attribution": dict[str, Any],
        "vcs": VcsContext,
        "recording-agent": dict[str, str],
        "vacr": dict[str, Any],
    },
    total=False,
)

CANONICAL_ENTRY_MEMBERS = frozenset(Entry.__annotations__)
"""Every member that the schema defines for some entry.

A native member of the same name cannot stay in the entry.
"""

TOKEN_USAGE_MEMBERS = frozenset(TokenUsage.__annotations__)
SESSION_MEMBERS = frozenset(SessionTrace.__annotations__)
