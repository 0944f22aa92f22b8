"""`vacr convert --to v1|v2|v3`: written files, messages and refusals."""

import json

import pytest

from tests.conftest import EXAMPLES
from tests.record.test_schema_v1 import RECORD as V1
from vacr.record.encoding import encode, encode_with_id

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


@pytest.fixture
def attributed_record(vacr, tmp_path):
    """Return a record with a file attribution."""
    vacr("record", CLAUDE, "-o", "full.acr.json")
    record = json.loads((tmp_path / "full.acr.json").read_bytes())
    ranges = [{"start-line": 1, "end-line": 2, "content-hash": "ab"}]
    record["file-attribution"] = {
        "files": [{"path": "a.py", "conversations": [{"ranges": ranges}]}]
    }
    (tmp_path / "full.acr.json").write_bytes(b"".join(encode_with_id(record)))
    return "full.acr.json"


def test_conversion_to_version_2_and_back_keeps_the_bytes(vacr, tmp_path):
    vacr("record", CLAUDE, CODEX)
    for form in ("json", "cbor"):
        vacr("convert", "claude-code.acr.json", "codex-cli.acr.json", "--to", form, "-o", "in/")
        files = [f"in/{name}.acr.{form}" for name in ("claude-code", "codex-cli")]
        done = vacr("convert", *files, "--to", "v2")
        assert done.returncode == 0
        assert done.err == ""
        older = [f"{name}.v2.acr.{form}" for name in ("claude-code", "codex-cli")]
        assert [line.partition(":")[0] for line in done.out.splitlines()] == older
        assert (
            vacr("validate", *older, "--strict").returncode
            == vacr("validate", *files, "--strict").returncode
        )
        assert vacr("convert", *older, "--to", "v3", "-o", "out/").returncode == 0
        for path in files:
            assert (tmp_path / path).read_bytes() == (
                tmp_path / path.replace("in/", "out/")
            ).read_bytes()


def test_modification_is_detected_in_version_2(vacr, tmp_path):
    vacr("record", CLAUDE)
    vacr("convert", "claude-code.acr.json", "--to", "v2")
    path = tmp_path / "claude-code.v2.acr.json"
    path.write_bytes(path.read_bytes().replace(b"off by a cent", b"off by a euro"))
    done = vacr("validate", path)
    assert done.returncode == 1
    assert "the record was modified" in done.out


NAMES = [
    ("a.acr.json", "v2", "a.v2.acr.json"),
    ("a.acr.json", "v1", "a.acr.json"),
    ("a.acr.json", "v3", "a.v3.acr.json"),
    ("a.v2.acr.json", "v3", "a.acr.json"),
    ("a.v2.acr.json", "v1", "a.v2.acr.json"),
    ("a.json", "v3", "a.v3.json"),
    ("a.cbor", "v2", "a.v2.cbor"),
    ("a", "v2", "a.v2.json"),
    ("-", "v2", "stdin.v2.acr.json"),
    ("-", "v3", "stdin.acr.json"),
]


@pytest.mark.parametrize(("given", "to", "written"), NAMES)
def test_converted_records_are_named_after_their_version(vacr, tmp_path, given, to, written):
    data = encode(V1, "cbor" if given.endswith("cbor") else "json")
    if given != "-":
        (tmp_path / given).write_bytes(data)
    done = vacr("convert", given, "--to", to, stdin=data)
    assert done.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({given, written} - {"-"})
    assert vacr("validate", written).returncode == 0


@pytest.mark.parametrize(
    ("to", "output"),
    [("v2", "a.acr.cbor"), ("v3", "a.cbor"), ("cbor", "a.acr.json"), ("json", "a.cbor")],
)
def test_name_of_the_other_encoding_is_refused(vacr, tmp_path, to, output):
    vacr("record", CLAUDE)
    done = vacr("convert", "claude-code.acr.json", "--to", to, "-o", output)
    assert done.returncode == 2
    assert f"but {output} ends in ." in done.err
    assert not (tmp_path / output).exists()


def test_other_files_are_not_overwritten(vacr, tmp_path):
    (tmp_path / "a.v2.acr.json").write_bytes(encode(V1))
    (tmp_path / "a.acr.json").write_text("mine")
    refused = vacr("convert", "a.v2.acr.json", "--to", "v3")
    assert refused.returncode == 2
    assert "--overwrite" in refused.err
    assert (tmp_path / "a.acr.json").read_text() == "mine"
    assert vacr("convert", "a.v2.acr.json", "--to", "v3", "-o", "a.v2.acr.json").returncode == 2
    assert vacr("convert", "a.v2.acr.json", "--to", "v3", "--overwrite").returncode == 0


def test_version_1_and_back_through_standard_output(vacr):
    data = encode(V1)
    for version in ("v3", "v2"):
        newer = vacr("convert", "-", "--to", version, "-o", "-", stdin=data).stdout
        done = vacr("convert", "-", "--to", "v1", "-o", "-", stdin=newer)
        assert done.stdout == data
        assert done.err == ""


@pytest.mark.parametrize(
    "agent",
    ["claude-code.jsonl", "codex-cli.jsonl", "gemini-cli.jsonl", "opencode.json", "cursor.jsonl"],
)
def test_records_of_every_agent_are_valid_in_version_2(vacr, agent):
    vacr("record", EXAMPLES / agent, "-o", "a.acr.json")
    vacr("convert", "a.acr.json", "--to", "v2")
    assert vacr("validate", "a.v2.acr.json").returncode == 0


def test_losses_in_version_1_are_reported(vacr, attributed_record):
    done = vacr("convert", attributed_record, "--to", "v1")
    assert done.returncode == 0
    assert "/session/entries (20 entries)" in done.err
    conversion = json.loads(
        vacr("convert", attributed_record, "--to", "v1", "--format", "json").out
    )["records"][0]
    assert "/session/entries" in conversion["left-behind"]
    assert conversion["state"] == "unchanged"
    assert vacr("convert", attributed_record, "--to", "v1", "-q").err == ""
    assert vacr("convert", attributed_record, "--to", "v2").err == ""
    assert vacr("convert", attributed_record, "--to", "v1", "-o", "-").err == done.err


def test_version_1_needs_an_attribution(vacr, tmp_path):
    vacr("record", CLAUDE)
    done = vacr("convert", "claude-code.acr.json", "--to", "v1")
    assert done.returncode == 1
    assert "/file-attribution" in done.err
    assert "convert it to v2" in done.err
    assert not (tmp_path / "claude-code.v1.acr.json").exists()


@pytest.mark.parametrize(
    "value", [[], {}, {"version": "3.0"}, {"version": "9"}, 5, {"entries": []}]
)
def test_files_that_are_not_records_are_refused(vacr, value):
    done = vacr("convert", "-", "--to", "v2", "--format", "json", stdin=json.dumps(value).encode())
    assert done.returncode == 1
    (error,) = json.loads(done.out)["errors"]
    assert error["where"]
    assert error["hint"]


def test_integer_keys_stay_in_cbor(vacr, tmp_path):
    (tmp_path / "a.v1.acr.cbor").write_bytes(encode(V1 | {"metadata": {7: 1}}, "cbor"))
    assert vacr("convert", "a.v1.acr.cbor", "--to", "v3").returncode == 0
    refused = vacr("convert", "a.acr.cbor", "--to", "json")
    assert refused.returncode == 1
    assert "/session/vendor-ext/data" in refused.err


def test_too_deep_record_is_not_written(vacr, tmp_path):
    vacr("record", CLAUDE)
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    deep = 0
    for _ in range(398):
        deep = [deep]
    (tmp_path / "a.json").write_bytes(encode(record | {"deep": deep}))
    done = vacr("convert", "a.json", "--to", "v2")
    assert done.returncode == 1
    assert "nested deeper than" in done.err


def test_schema_of_version_1_is_shown_and_generated(vacr, tmp_path):
    assert "agent-convo-record = {" in vacr("schema", "show", "--schema", "v1").out
    (tmp_path / "a.json").write_bytes(
        vacr("schema", "generate", "--schema", "v1", "--seed", "4").stdout
    )
    assert vacr("validate", "a.json").out == "a.json: valid (agent-convo-record, schema v1)\n"


def test_unneeded_conversion_is_reported(vacr, tmp_path):
    vacr("record", CLAUDE)
    done = vacr("convert", "claude-code.acr.json", "--to", "v3")
    assert done.out.endswith("kB, unchanged\n")
    assert (
        done.err == "claude-code.acr.json: already version v3; written again without conversion\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["claude-code.acr.json"]
    done = vacr("convert", "claude-code.acr.json", "--to", "json")
    assert done.out.endswith("kB, unchanged\n")
    assert done.err == "claude-code.acr.json: already JSON; written again in canonical form\n"


def test_record_without_a_version_is_reported(vacr):
    done = vacr("convert", "-", "--to", "v2", "-o", "-", stdin=b'{"id":"x","session":{}}')
    assert done.returncode == 1
    assert 'missing member "version"' in done.err
