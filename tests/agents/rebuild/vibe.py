"""Messages and session files of Vibe, back from their records."""

from tests.agents.rebuild import chat_documents, json_sessions


def line(entry: dict) -> dict:
    """Return a message; its id is there under its native name, too."""
    if entry["type"] == "system-event":
        return entry["data"]
    entry.pop("id", None)
    return chat_documents.message(entry)


def session_file(record: dict) -> list:
    return json_sessions.values(record, "messages", "", line)
