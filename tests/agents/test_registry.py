"""Agents from other packages are found by entry point; sources are recognised by content."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import CORPUS, EXAMPLES, jsonl
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents, recognise_agent
from vacr.errors import UnreadableInput

READER = """
from vacr.agents import Agent, SessionBuilder, parse_json_documents

class Parrot(Agent):
    name = "parrot"
    formats = ("parrot-jsonl",)

    def recognises(self, sample):
        return sum(isinstance(value, dict) and "squawk" in value for value in sample) / len(sample)

    def read(self, source):
        session = SessionBuilder("parrot-jsonl", "parrot")
        session.session_id = "cage"
        for _, lines in parse_json_documents(source.main.data):
            entries = ({"type": "assistant", "content": line["squawk"]} for line in lines)
            session.entries.extend(entries)
        yield session.reading(source)
"""


def install(folder, name, target):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vacr.agents]\n{name} = {target}\n")


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "vacr", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_third_party_adds_a_reader_by_entry_point(tmp_path):
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    (tmp_path / "parrot_reader.py").write_text(READER)
    (tmp_path / "session.txt").write_text('{"squawk": "hello"}\n{"squawk": "again"}\n')
    done = run(tmp_path, "record", "session.txt")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "session.acr.json").read_bytes())
    assert [entry["content"] for entry in record["session"]["entries"]] == ["hello", "again"]
    assert run(tmp_path, "validate", "session.acr.json").returncode == 0
    assert "parrot" in run(tmp_path, "record", "session.txt", "--agent", "nobody").stderr


def test_reader_that_fails_to_load_is_named(tmp_path):
    install(tmp_path, "broken", "no_such_module")
    done = run(tmp_path, "record", EXAMPLES / "claude-code.jsonl")
    assert done.returncode == 3
    assert "the agent plugin 'broken' cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("agent", list(load_agents()))
def test_a_source_is_recognised_by_content_not_by_name(agent):
    (path,) = EXAMPLES.glob(f"{agent}.*")
    data = path.read_bytes()
    assert recognise_agent(Source((SourcePart("notes.txt", data),))).name == agent


def test_a_session_that_starts_with_many_broken_lines_is_recognised():
    data = (
        b"broken\n" * 100
        + b'{"other":1}\n' * 30
        + (EXAMPLES / "claude-code.jsonl").read_bytes() * 3
    )
    assert recognise_agent(Source((SourcePart("x", data),))).name == "claude-code"


OTHERS = (
    [
        path
        for path in sorted(CORPUS.glob("*/*"))
        if path.parent.name not in ("claude", "codex", "gemini", "opencode", "cursor")
    ]
    if CORPUS.is_dir()
    else []
)


@pytest.mark.skipif(not OTHERS, reason="no sessions of other agents here")
def test_sessions_of_other_agents_are_not_recognised():
    for path in OTHERS:
        with pytest.raises(UnreadableInput):
            recognise_agent(Source((SourcePart(path.name, path.read_bytes()),)))


IFLOW = {
    "uuid": "1f0e",
    "parentUuid": None,
    "sessionId": "session-1f0e77aa-3c52-4b8e-9d11-0a4c8e2f6b35",
    "type": "user",
    "message": {"role": "user", "content": "Hello"},
}
TRAE = {
    "type": "session_meta",
    "payload": {"id": "2b1c", "originator": "codex-tui", "model_provider": "trae"},
}


@pytest.mark.parametrize("line", [IFLOW, TRAE], ids=["iflow", "trae"])
def test_agents_with_a_borrowed_format_are_not_recognised(line):
    with pytest.raises(UnreadableInput):
        recognise_agent(Source((SourcePart("session.jsonl", jsonl(line, line)),)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_reported(encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = (mark + (EXAMPLES / "cursor.jsonl").read_text()).encode(encoding)
    with pytest.raises(UnreadableInput, match="UTF-16") as caught:
        recognise_agent(Source((SourcePart("session", data),)))
    assert "iconv" in str(caught.value.hint)
