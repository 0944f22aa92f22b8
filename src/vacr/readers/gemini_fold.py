"""What became of each message of a Gemini CLI log. Step: read.

Since 0.39 a session is a log that Gemini folds when it resumes: a message that is written again
under its id replaces the earlier one, `$rewindTo` takes a message and all after it back,
`$set.messages` replaces them all. A record keeps every message that was written, and says of each
that the conversation no longer holds why.
"""

from __future__ import annotations

from typing import Any

from vacr.model import Native

REPLACED, REWOUND, DROPPED = "replaced", "rewound", "dropped"
"""Written again under its id; taken back by a rewind; taken out, or left out when all messages were
set anew.
"""


class Fold:
    """The conversation as Gemini would see it, while its log is read."""

    def __init__(self) -> None:
        """Start with no messages."""
        self._live: dict[str, int] = {}
        self.superseded: dict[int, str] = {}
        """By the number of a message, in order of writing: why it does not count any more."""
        self._written = 0

    def write(self, message: Any) -> int:
        """Take a message, and give its number."""
        number = self._written
        self._written += 1
        identity = message.get("id") if type(message) is dict else None
        if type(identity) is str:
            if identity in self._live:
                self.superseded[self._live[identity]] = REPLACED
            # A message that is written again keeps its place, as it does in Gemini's map.
            self._live[identity] = number
        return number

    def rewind(self, identity: Any) -> None:
        """Take a message back, and all after it; an id that nobody has takes all of them."""
        known = identity in self._live if type(identity) is str else False
        while self._live:
            last, number = self._live.popitem()
            self.superseded[number] = REWOUND
            if known and last == identity:
                break

    def remove(self, identities: Any) -> None:
        """Take some messages out."""
        for identity in identities if type(identities) is list else ():
            if type(identity) is str and identity in self._live:
                self.superseded[self._live.pop(identity)] = DROPPED

    def replace_all(self, messages: list[Any]) -> None:
        """Make room for a new list of messages, which are written next."""
        coming = {
            message.get("id")
            for message in messages
            if type(message) is dict and type(message.get("id")) is str
        }
        for identity, number in self._live.items():
            self.superseded[number] = REPLACED if identity in coming else DROPPED
        self._live.clear()


def patch_of(line: Native) -> list[Any] | None:
    """Give the messages that a line sets anew, if it does."""
    patch = line.get("$set")
    messages = patch.get("messages") if type(patch) is dict else None
    return messages if type(messages) is list else None
