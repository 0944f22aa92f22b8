"""Every fixture and corpus session: complete, counted once, valid, and rebuilt from its record."""

import importlib.util
import json

import pytest

from tests.agents import independent, rebuild
from tests.conftest import CORPUS, FOLDERS, native_files, records_of
from vacr import validate

SCORE = CORPUS.parent / "score" / "coverage.py"
FILES = [
    pytest.param(agent, path, id=f"{agent}/{path.name[-40:]}")
    for agent in FOLDERS
    for path in native_files(agent)
]
# The rows of a database have names of tables around them, and JSON in their texts; a history in
# Markdown has no JSON.
DOCUMENTS = [
    file
    for file in FILES
    if b'"vacr-export":' not in file.values[1].read_bytes()[:200] and file.values[0] != "aider"
]
COUNTERS = {agent: getattr(independent, agent.replace("-", "_"), None) for agent in FOLDERS} | {
    "continue": independent.continue_
}
LOGS = [pytest.param(path, id=path.name[-40:]) for path in native_files("gemini")]


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_typed_entries_agree_with_independent_counts(agent, path):
    data = path.read_bytes()
    if agent == "codex":
        metas = [
            value["payload"].get("id")
            for value in independent.values(data)
            if value.get("type") == "session_meta"
        ]
        if len(set(metas)) > 1:
            pytest.skip("a fork: inherited lines are not its own; see test_codex_cli.py")
    assert independent.record(*records_of(data)) == plain(COUNTERS[agent](data))


@pytest.mark.parametrize("path", LOGS)
def test_messages_not_superseded_are_the_folded_log(path):
    data = path.read_bytes()
    assert independent.record(*records_of(data), live=True) == plain(
        independent.gemini(data, live=True)
    )


def plain(counts):
    """Return counts without zeros and empty sets."""
    counts.messages, counts.tokens = +counts.messages, +counts.tokens
    return counts


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_records_are_valid(agent, path):
    del agent
    for record in records_of(path.read_bytes()):
        assert validate(record).findings == []


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_native_values_come_back(agent, path):
    del agent
    data = path.read_bytes()
    records = records_of(data)
    if (form := rebuild.format_of(records[0])) in rebuild.TEXTS:
        assert rebuild.TEXTS[form](*records) == data
    else:
        rebuild.assert_same(records, list(independent.documents(data)))


@pytest.mark.skipif(not SCORE.is_file(), reason="the scoring script is not here")
@pytest.mark.parametrize(("agent", "path"), DOCUMENTS)
def test_coverage_is_complete(agent, path):
    del agent
    spec = importlib.util.spec_from_file_location("coverage_score", SCORE)
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    data = path.read_bytes()
    result = score.coverage(
        list(score.documents(data.decode("utf-8", "surrogatepass"))), records_of(data)
    )
    assert result["kept"] == result["leaves"], json.dumps(result["lost"])
