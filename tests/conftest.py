"""What all tests share: where the fixtures are, and where real sessions may be found."""

import json
from pathlib import Path

import pytest
from hypothesis import settings

from vacr.identity import identify
from vacr.readers.registry import reader_for
from vacr.readers.source import Part, Source

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
EXAMPLES = ROOT / "examples"
CORPUS = ROOT.parent / "shared" / "corpus"

settings.register_profile("default", deadline=None, max_examples=200)
settings.load_profile("default")


def read_one(data: bytes, name: str = "session.jsonl", agent: str | None = None):
    """Read native bytes into the one reading they hold."""
    source = Source((Part(name, data),))
    (reading,) = reader_for(source, agent).read(source)
    return reading


def record_of(data: bytes, agent: str | None = None) -> dict:
    """Read native bytes into a record, through its canonical bytes, as a stranger would get it."""
    return json.loads(b"".join(identify(read_one(data, agent=agent).record)))


def jsonl(*lines) -> bytes:
    """Write native lines as the agents do."""
    return b"".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for line in lines)


def native_files(agent: str) -> list[Path]:
    """List the sessions of an agent: our own, and real ones where there are any."""
    folder = {"claude": "claude", "codex": "codex"}[agent]
    own = sorted((FIXTURES / folder).rglob("*.jsonl"))
    example = EXAMPLES / {"claude": "claude-code.jsonl", "codex": "codex-cli.jsonl"}[agent]
    real = sorted((CORPUS / folder).glob("*")) if CORPUS.is_dir() else []
    return [example, *own, *real]


@pytest.fixture(scope="session", autouse=True)
def _corpus_notice(request):
    if not CORPUS.is_dir():
        print(f"\nno real sessions at {CORPUS.name}: tests run on the project's own fixtures alone")
    del request
