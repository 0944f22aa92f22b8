"""Counts from transcripts of the Agent Client Protocol."""

from tests.agents.independent.counts import Counts, documents

CHUNKS = {"agent_message_chunk": "assistant", "agent_thought_chunk": "reasoning"}
QUIET = ("plan", "usage_update", "session_info_update", "available_commands_update")
ENDED = ("completed", "failed")
TOKENS = {
    "input": ("inputTokens", "cachedReadTokens"),
    "output": ("outputTokens",),
    "cached": ("cachedReadTokens",),
}


class Transcript:
    """The counts of a transcript, and what the chunks of a text and of a history need."""

    def __init__(self):
        self.counts = Counts()
        self.asked, self.answered = set(), set()
        self.loads = set()
        """The ids of requests for an old conversation: its history is replayed, not new."""
        self.text = None
        """The kind and the message of the text that goes on."""

    def add_message(self, message: dict, side: str):
        method, params = message.get("method"), message.get("params") or {}
        if method == "session/update":
            if not self.loads:
                self.add_update(params["update"])
            return
        self.text = None
        if method == "session/load":
            self.loads.add(message["id"])
        elif method == "session/prompt":
            self.counts.messages["user"] += 1
        elif method is None and side == "agent":
            self.loads.discard(message["id"])
            result = message.get("result") or {}
            usage = result.get("usage", {})
            for name, members in TOKENS.items():
                self.counts.tokens[name] += sum(usage.get(member, 0) for member in members)
            model = result.get("models", {}).get("currentModelId")
            if model:
                self.counts.models.add(model)

    def add_update(self, update: dict):
        kind = update["sessionUpdate"]
        if kind in CHUNKS:
            is_text = update["content"]["type"] == "text"
            text = (CHUNKS[kind], update.get("messageId")) if is_text else None
            if text is None or text != self.text:
                self.add_text(CHUNKS[kind])
            self.text = text
            return
        if kind not in QUIET:
            self.text = None
        if kind == "tool_call":
            self.counts.calls += 1
            self.asked.add(update["toolCallId"])
        if kind in ("tool_call", "tool_call_update") and update.get("status") in ENDED:
            self.counts.results += 1
            self.answered.add(update["toolCallId"])

    def add_text(self, kind: str):
        if kind == "reasoning":
            self.counts.reasoning += 1
        else:
            self.counts.messages[kind] += 1


def acp(data: bytes) -> Counts:
    """Count all conversations of a transcript."""
    transcript = Transcript()
    for line in documents(data):
        if line["acp"] == "message":
            transcript.add_message(line["message"], line["from"])
        else:
            transcript.text = None
    transcript.counts.paired = len(transcript.asked & transcript.answered)
    return transcript.counts
