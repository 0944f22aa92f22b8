"""Which format a document of others is in, by what it says and never by its name. Step: import."""

from __future__ import annotations

from vacr.errors import UnreadableInput
from vacr.exchange.agent_trace.reading import documents


def format_of(data: bytes) -> str:
    """Name the format of a document.

    Raises:
        UnreadableInput: it is in none that is known.
    """
    if b"\n---\n" in data or data.startswith(b"---\n"):
        return "git-ai-notes"
    document = documents(data)[0][1]
    if isinstance(document, dict):
        if str(document.get("schema_version", "")).startswith("ATIF-"):
            return "atif"
        if {"version", "id", "timestamp", "files"} <= document.keys():
            return "agent-trace"
        if str(document.get("schema_version", "")).startswith("authorship/"):
            return "git-ai-notes"
        if {"version", "session"} <= document.keys():
            raise UnreadableInput(
                "a record already",
                hint="vacr show FILE shows it, vacr export FILE --to FORMAT writes others.",
            )
    hint = (
        "ATIF, Agent Trace and notes of git-ai are; name one with --from. A native session "
        "is recorded: vacr record FILE."
    )
    raise UnreadableInput("not in a format that is known", hint=hint)
