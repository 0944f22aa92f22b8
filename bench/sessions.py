"""The sessions to measure with, and the minimum that any implementation must do with them.

The sessions are real ones from ../shared/corpus, if that folder exists. Otherwise they are built
from the examples, and made as long as real ones.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"
AGENTS = {
    "claude-code": "claude",
    "codex-cli": "codex",
    "gemini-cli": "gemini",
    "opencode": "opencode",
    "cursor": "cursor",
    "cline": "cline",
    "continue": "continue",
    "droid": "droid",
    "amp": "amp",
    "pi": "pi",
    "openclaw": "openclaw",
    "qwen-code": "qwen",
    "iflow": "iflow",
    "traex": "traex",
    "kimi-code": "kimi",
    "kimi-cli": "kimi-cli",
    "swe-agent": "swe-agent",
    "mini-swe-agent": "mini-swe-agent",
    "openhands": "openhands",
    "windsurf": "windsurf",
    "copilot": "copilot",
    "copilot-vscode": "copilot-vscode",
    "visualstudio-copilot": "visualstudio-copilot",
    "grok": "grok",
    "gptme": "gptme",
    "hermes": "hermes",
    "vibe": "vibe",
}
_COMPANIONS = ("summary.json", "signals.json", "index.json", ".yaml", ".db-wal")
"""The ends of names of files that belong to a session, but are none."""
LARGE_SESSION = 100_000
_LIST_MEMBERS = ("messages", "history", "requests", "trajectory")
"""The members that hold the messages of a session in one JSON value."""
_USUAL_SESSION_SIZE = 500_000
"""The bytes of a session: those over 100 kB have 0.5 MB (Codex) to 1.1 MB (Copilot) on average."""
_USUAL_VALUE_SIZE = 1_500
"""The bytes of a line in real sessions: 960 in Pi's, 1,320 in Codex's, 2,400 in Claude Code's."""
_LONGER_TEXT = (
    "\nAnother line of the answer, as long as lines of text and of source code usually are."
)

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True)
class Session:
    """A native file."""

    name: str
    data: bytes

    @cached_property
    def values(self) -> list[bytes]:
        """The texts of its JSON values; splitting them does not count towards the minimum."""
        text = self.data.decode("utf-8", "replace")
        if not text.lstrip().startswith(("{\n", "[\n")):
            return [line for line in self.data.split(b"\n") if line]
        decoder = json.JSONDecoder()
        values = []
        position = 0
        while position < len(text):
            _, end = decoder.raw_decode(text, position)
            values.append(text[position:end].encode())
            position = end + len(text[end:]) - len(text[end:].lstrip())
        return values

    def process_minimally(self) -> None:
        """Do the minimum: decode each value, encode all of them with sorted keys, and hash that."""
        values = []
        for text in self.values:
            try:
                values.append(_decode(text))
            except msgspec.DecodeError:
                continue
        hashlib.sha256(_encode(values)).digest()

    def repeat(self, factor: int) -> Session:
        """Return a session that is `factor` times as long."""
        if factor == 1 or len(self.values) > 1:
            data = self.data if self.data.endswith(b"\n") else self.data + b"\n"
            return Session(self.name, data * factor)
        document = json.loads(self.data)
        for member in _LIST_MEMBERS:
            if isinstance(document, dict) and isinstance(document.get(member), list):
                document[member] *= factor
        return Session(self.name, json.dumps(document, ensure_ascii=False, indent=2).encode())

    def make_realistic(self) -> Session | None:
        """Return a session as long as usual ones, with texts as long as in them, or None.

        Small sessions have short texts, so that constant costs for each value would count most.
        None if this session is not JSON in one of the usual layouts.
        """
        try:
            values = [json.loads(text) for text in self.values]
        except ValueError:
            return None
        for value in values:
            lists = [value.get(member) for member in _LIST_MEMBERS if isinstance(value, dict)]
            messages = next((items for items in lists if isinstance(items, list)), [value])
            for message in messages:
                _lengthen_text(message)
        data = b"\n".join(json.dumps(value, ensure_ascii=False).encode() for value in values)
        longer = Session(f"longer {self.name}", data + b"\n")
        factor = max(1, _USUAL_SESSION_SIZE // len(data))
        return longer.repeat(factor)

    def convert_to_dump(self) -> Session | None:
        """Return an OpenCode export as a dump: each session, message and part as its own value."""
        if len(self.values) != 1:
            # A file of several indented values is a dump already.
            return self if self.data.startswith((b"{\n", b"[\n")) else None
        export = json.loads(self.data)
        pieces = [export["info"]]
        for message in export["messages"]:
            pieces += [message["info"], *message["parts"]]
        texts = [json.dumps(piece, ensure_ascii=False, indent=2) for piece in pieces]
        return Session(f"dump of {self.name}", "\n".join(texts).encode())


def _lengthen_text(value: Any) -> None:
    """Make the longest text of words in a value so long that the value has the usual size."""
    missing = _USUAL_VALUE_SIZE - len(json.dumps(value))
    holder, key, longest = None, None, ""
    stack = [value]
    while stack:
        container = stack.pop()
        members = container.items() if isinstance(container, dict) else enumerate(container)
        for name, member in members if isinstance(container, dict | list) else ():
            if isinstance(member, dict | list):
                stack.append(member)
            elif isinstance(member, str) and " " in member and len(member) > len(longest):
                holder, key, longest = container, name, member
    if holder is not None and missing > 0 and longest[:1] not in ("{", "["):
        holder[key] = longest + _LONGER_TEXT * (missing // len(_LONGER_TEXT))


def load_sessions(agent: str) -> list[Session]:
    """Return the sessions of an agent."""
    folder = CORPUS / AGENTS[agent]
    if folder.is_dir():
        paths = [path for path in sorted(folder.iterdir()) if not path.name.endswith(_COMPANIONS)]
        files = [Session(path.name, path.read_bytes()) for path in paths]
        return [session for session in files if not session.data.startswith(b"SQLite")]
    fixtures = sorted((ROOT / "tests" / "fixtures" / AGENTS[agent]).rglob("*.jsonl"))
    example = next(iter([*(ROOT / "examples").glob(f"{agent}.*"), *fixtures]))
    # Texts in real sessions are far longer than in the examples.
    data = example.read_bytes().replace(b"return sum(", b"# a longer file\\n" * 60 + b"return sum(")
    return [Session(example.name, data).repeat(20)] * 10


def compare(
    baseline: Callable[[], Any],
    work: Callable[[], Any],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Time two functions, and return the best time of each.

    They take turns, so that both run under the same conditions. For work in this process alone,
    `time.process_time` as the clock leaves out other programs on a busy machine.
    """
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, function in enumerate((baseline, work)):
            start = clock()
            function()
            best[index] = min(best[index], clock() - start)
    return best[0], best[1]


def call_with_each(function: Callable[[Any], Any], items: list[Any]) -> None:
    """Call a function with each of some items."""
    for item in items:
        function(item)
