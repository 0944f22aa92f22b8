"""TraeX, the command line of Trae: rollouts in ~/.trae/cli/sessions.

TraeX is a version of Codex CLI, and its rollouts have the same form. Only the provider of the model
differs:

    >>> from vacr.agents.traex import AGENT
    >>> AGENT.recognises([{"type": "session_meta", "payload": {"model_provider": "trae"}}])
    1.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vacr.agents.agent import SessionStore, Source
from vacr.agents.codex import Codex, reader

if TYPE_CHECKING:
    from vacr.agents.lift import Reading

name = "traex"
formats = ("traex-jsonl",)
STORES = (SessionStore(("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"), "~/.trae/cli"),)


class TraeX(Codex):
    """Trae's command line."""

    name = name
    title = "TraeX"
    short_name = ""
    formats = formats
    stores = STORES
    hooks = None
    mcp = None

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is a rollout, if a line names Trae as the provider."""
        return reader.measure_share(sample) if any(map(reader.is_trae_line, sample)) else 0.0

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of the one conversation in a rollout."""
        yield reader.read_rollout(source, formats[0], name)


AGENT = TraeX()
