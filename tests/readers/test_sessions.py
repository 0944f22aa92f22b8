"""Every session there is: nothing lost, nothing counted twice, valid, and the native values come back."""

import importlib.util
import json

import pytest

from tests.conftest import CORPUS, native_files, record_of
from tests.readers import independent, rebuild
from vacr.schema import validate

SCORE = CORPUS.parent / "score" / "coverage.py"
FILES = [
    pytest.param(agent, path, id=f"{agent}/{path.name[-40:]}") for agent in ("claude", "codex") for path in native_files(agent)
]


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_typed_entries_agree_with_independent_counts(agent, path):
    data = path.read_bytes()
    record = record_of(data)
    metas = [value["payload"].get("id") for value in independent.values(data) if value.get("type") == "session_meta"]
    if len(set(metas)) > 1:
        pytest.skip("a fork: what it inherits is not its own; see test_codex_cli.py")
    expected = getattr(independent, agent)(data)
    expected.messages, expected.tokens = +expected.messages, +expected.tokens
    assert independent.record(record) == expected


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_the_record_is_valid(agent, path):
    del agent
    assert validate(record_of(path.read_bytes())).findings == []


@pytest.mark.parametrize(("agent", "path"), FILES)
def test_native_values_come_back(agent, path):
    del agent
    data = path.read_bytes()
    back = [value for value in rebuild.lines(record_of(data)) if not isinstance(value, bytes)]
    native = list(independent.values(data))
    assert len(back) == len(native)
    for one, two in zip(back, native, strict=True):
        assert rebuild.comparable(rebuild.without_nulls(one)) == rebuild.comparable(rebuild.without_nulls(two))


@pytest.mark.skipif(not SCORE.is_file(), reason="the scoring script is not here")
@pytest.mark.parametrize(("agent", "path"), FILES)
def test_coverage_is_complete(agent, path):
    del agent
    spec = importlib.util.spec_from_file_location("coverage_score", SCORE)
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    data = path.read_bytes()
    result = score.coverage(list(score.documents(data.decode("utf-8", "surrogatepass"))), [record_of(data)])
    assert result["kept"] == result["leaves"], json.dumps(result["lost"])
