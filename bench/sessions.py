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
}
_LIST_MEMBERS = ("messages", "history")
"""The members that hold the messages of a session in one JSON value."""

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


def load_sessions(agent: str) -> list[Session]:
    """Return the sessions of an agent."""
    folder = CORPUS / AGENTS[agent]
    if folder.is_dir():
        files = [Session(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
        return [session for session in files if not session.data.startswith(b"SQLite")]
    fixtures = sorted((ROOT / "tests" / "fixtures" / AGENTS[agent]).rglob("*.jsonl"))
    example = next(iter([*(ROOT / "examples").glob(f"{agent}.*"), *fixtures]))
    # Texts in real sessions are far longer than in the examples.
    data = example.read_bytes().replace(b"return sum(", b"# a longer file\\n" * 60 + b"return sum(")
    return [Session(example.name, data).repeat(20)] * 10


def compare(
    baseline: Callable[[], Any], work: Callable[[], Any], rounds: int
) -> tuple[float, float]:
    """Time two functions, and return the best time of each.

    They take turns, so that both run under the same conditions.
    """
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, function in enumerate((baseline, work)):
            start = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - start)
    return best[0], best[1]


def call_with_each(function: Callable[[Any], Any], items: list[Any]) -> None:
    """Call a function with each of some items."""
    for item in items:
        function(item)
