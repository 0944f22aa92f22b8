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


def journal_line(entry: dict) -> dict:
    """Return a line of a journal, or the facts about its session."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        if event_type == "meta" and not native:
            return data
        return ({} if event_type == "unknown" else {"type": event_type}) | data | native
    payload = entry["payload"]
    if kind == "user":
        payload["params"]["message"] = entry.pop("content")
    elif kind == "tool-result":
        payload["result"]["result"] = entry.pop("output")
    for name in ("content", "children", "timestamp", "token-usage", "call-id"):
        entry.pop(name, None)
    return entry | native
