"""The sessions that are measured, and the least that any implementation must do with them.

Real sessions are taken from ../shared/corpus where it exists, else ones made of the examples, as
long as real ones.
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
}

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True)
class Session:
    """A native file."""

    name: str
    data: bytes

    @cached_property
    def values(self) -> list[bytes]:
        """The texts of its JSON values; that they are told apart is given to the floor."""
        decoder, text, found, position = (
            json.JSONDecoder(),
            self.data.decode("utf-8", "replace"),
            [],
            0,
        )
        if not text.lstrip().startswith(("{\n", "[\n")):
            return [line for line in self.data.split(b"\n") if line]
        while position < len(text):
            _, end = decoder.raw_decode(text, position)
            found.append(text[position:end].encode())
            position = end + len(text[end:]) - len(text[end:].lstrip())
        return found

    def floor(self) -> None:
        """Do the least: decode each value, encode all with sorted keys, hash."""
        values = []
        for text in self.values:
            try:
                values.append(_decode(text))
            except msgspec.DecodeError:
                continue
        hashlib.sha256(_encode(values)).digest()

    def times(self, factor: int) -> Session:
        """Give a session that is several times as long."""
        if factor == 1 or len(self.values) > 1:
            data = self.data if self.data.endswith(b"\n") else self.data + b"\n"
            return Session(self.name, data * factor)
        document = json.loads(self.data)
        document["messages"] *= factor
        return Session(self.name, json.dumps(document, ensure_ascii=False, indent=2).encode())

    def dump(self) -> Session | None:
        """Return an export of OpenCode as a dump: each session, message and part by itself."""
        if len(self.values) != 1:
            # A file of several indented values is a dump already.
            return self if self.data.startswith((b"{\n", b"[\n")) else None
        export = json.loads(self.data)
        pieces = [export["info"]]
        for message in export["messages"]:
            pieces += [message["info"], *message["parts"]]
        texts = [json.dumps(piece, ensure_ascii=False, indent=2) for piece in pieces]
        return Session(f"dump of {self.name}", "\n".join(texts).encode())


def sessions(agent: str) -> list[Session]:
    """Give the sessions of an agent."""
    folder = CORPUS / AGENTS[agent]
    if folder.is_dir():
        found = [Session(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
        return [session for session in found if not session.data.startswith(b"SQLite")]
    (example,) = (ROOT / "examples").glob(f"{agent}.*")
    # Real sessions hold far longer texts than the examples do.
    data = example.read_bytes().replace(b"return sum(", b"# a longer file\\n" * 60 + b"return sum(")
    return [Session(example.name, data).times(20)] * 10


def compare(least: Callable[[], Any], work: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Time two things in turn, so that both meet the same machine; give the best of each."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, function in enumerate((least, work)):
            start = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - start)
    return best[0], best[1]


def each(function: Callable[[Any], Any], items: list[Any]) -> None:
    """Do something with each of some items."""
    for item in items:
        function(item)
