"""What `vacr verify` says of signed records: their attribution, their source, the versions they are
in.
"""

import json

import pytest

from tests.attribution.claude_session import ClaudeSession
from tests.attribution.working_agent import commit, repository
from vacr.record.encoding import assign_record_id, encode

TEXT = "one\ntwo\nthree\n"
TRUST = ("--trust", "keys/signing.pub.pem")

pytestmark = pytest.mark.usefixtures("told")


@pytest.fixture
def told(tmp_path, vacr):
    """A session in which a line is changed and committed, and a key."""
    told = ClaudeSession()
    told.read("a.py", TEXT)
    told.edit("a.py", "two", "2")
    told.bash("git commit -qam Two && git rev-parse HEAD", "c" * 40)
    (tmp_path / "s.jsonl").write_bytes(told.native())
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    return told


@pytest.fixture
def checked(vacr):
    """Sign records, and give what is said of each: outcomes by check, and the reason it failed."""

    def run(*names, **options):
        for name in names:
            assert vacr("sign", name, "--key", "keys/signing.pem", "--overwrite").returncode == 0
        given = [word for option, value in options.items() for word in (f"--{option}", value)]
        done = vacr("verify", *names, *TRUST, *given, "--format", "json")
        results = json.loads(done.out)["results"]
        assert done.returncode == (0 if all(one["verified"] for one in results) else 1)
        found = [
            ({one["name"]: one["outcome"] for one in result["checks"]}, result.get("reason"))
            for result in results
        ]
        return found if len(found) > 1 else found[0]

    return run


@pytest.mark.parametrize("to", ["v3", "v2"])
def test_an_attributed_record_holds_and_comes_out_of_its_source(vacr, checked, to):
    vacr("attribute", "s.jsonl")
    vacr("convert", "s.attributed.acr.json", "--to", to, "-o", "r.acr.json")
    outcomes, reason = checked("r.acr.json", source="s.jsonl")
    assert (outcomes["record"], outcomes["attribution"], outcomes["source"], reason) == (
        "passed",
        "passed",
        "passed",
        None,
    )


def test_an_attribution_that_the_record_does_not_yield_fails_whoever_signed_it(
    vacr, checked, tmp_path
):
    vacr("attribute", "s.jsonl")
    record = json.loads((tmp_path / "s.attributed.acr.json").read_bytes())
    record["file-attribution"]["files"][0]["conversations"][0]["ranges"][0]["end-line"] = 3
    (tmp_path / "r.acr.json").write_bytes(b"".join(assign_record_id(record)))
    assert checked("r.acr.json")[1] == "attribution-mismatch"


def test_a_record_that_its_source_does_not_yield_fails_whoever_signed_it(vacr, checked, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["entries"].pop()
    (tmp_path / "r.acr.json").write_bytes(b"".join(assign_record_id(record)))
    assert checked("r.acr.json")[1] is None
    assert checked("r.acr.json", source="s.jsonl")[1] == "source-mismatch"


def test_a_record_that_says_another_version_made_it_cannot_be_compared_with_a_source(
    vacr, checked, tmp_path
):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["recording-agent"]["version"] = "0.0.0"
    (tmp_path / "r.acr.json").write_bytes(b"".join(assign_record_id(record)))
    assert checked("r.acr.json")[1] is None
    assert checked("r.acr.json", source="s.jsonl")[1] == "source-undecided"


def test_what_stands_for_a_time_and_is_none_is_left_out_of_the_summary(vacr, checked, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["session-end"] = 2**70
    (tmp_path / "r.acr.json").write_bytes(b"".join(assign_record_id(record)))
    assert checked("r.acr.json")[1] is None


def test_an_attribution_made_with_a_base_is_decided_with_it(vacr, checked, tmp_path):
    folder = repository(tmp_path / "repository")
    (folder / "a.py").write_text(TEXT)
    revision = commit(folder)
    vacr("attribute", "s.jsonl", "--base", f"{folder}@{revision}")
    assert checked("s.attributed.acr.json")[0]["attribution"] == "not decidable"
    assert (
        checked("s.attributed.acr.json", base=f"{folder}@{revision}")[0]["attribution"] == "passed"
    )
    (folder / "a.py").write_text(TEXT + "four\n")
    assert (
        checked("s.attributed.acr.json", base=f"{folder}@{commit(folder)}")[0]["attribution"]
        == "not decidable"
    )


def test_records_attributed_together_are_decided_together(vacr, checked, tmp_path):
    other = ClaudeSession("t", start=60)
    other.read("a.py", TEXT.replace("two", "2"))
    other.edit("a.py", "three", "3")
    (tmp_path / "t.jsonl").write_bytes(other.native())
    vacr("attribute", "s.jsonl", "t.jsonl")
    names = ("s.attributed.acr.json", "t.attributed.acr.json")
    assert [checked(name)[0]["attribution"] for name in names] == ["not decidable", "not decidable"]
    assert [outcomes["attribution"] for outcomes, _ in checked(*names)] == ["passed", "passed"]
    assert [outcomes["attribution"] for outcomes, _ in checked(*reversed(names))] == [
        "passed",
        "passed",
    ]


def test_an_attribution_of_another_program_is_not_decided(vacr, checked, tmp_path):
    vacr("attribute", "s.jsonl")
    record = json.loads((tmp_path / "s.attributed.acr.json").read_bytes())
    record["recording-agent"]["name"] = "another"
    del record["vacr"]
    (tmp_path / "r.acr.json").write_bytes(encode(record))
    outcomes, reason = checked("r.acr.json")
    assert (outcomes["attribution"], reason) == ("not decidable", None)


def test_a_record_that_json_cannot_hold_fails(vacr, checked, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["entries"][0]["odd"] = b"\x00"
    (tmp_path / "r.acr.cbor").write_bytes(encode(record, "cbor"))
    assert checked("r.acr.cbor")[1] == "unreadable"


def test_a_record_of_a_later_version_has_the_summary_that_it_was_signed_with(
    vacr, checked, tmp_path
):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["version"] = "3.1.0"
    (tmp_path / "r.acr.json").write_bytes(b"".join(assign_record_id(record)))
    outcomes, reason = checked("r.acr.json")
    assert (outcomes["metadata"], reason) == ("passed", None)


def test_a_version_of_any_type_can_be_signed(vacr, tmp_path):
    (tmp_path / "r.acr.cbor").write_bytes(
        encode({"version": [3], "session": {"session-start": "x"}}, "cbor")
    )
    assert vacr("sign", "r.acr.cbor", "--key", "keys/signing.pem").returncode == 0


def test_what_has_the_name_of_a_record_has_to_be_one(vacr, checked, tmp_path):
    vacr("record", "s.jsonl")
    written = (tmp_path / "s.acr.json").read_bytes()
    (tmp_path / "twice.acr.json").write_bytes(written[:-1] + b',"version":"3.0.0-draft"}')
    (tmp_path / "more.acr.json").write_bytes(written + b"{}")
    assert [checked(name)[1] for name in ("twice.acr.json", "more.acr.json")] == [
        "not-a-record",
        "not-a-record",
    ]
    (tmp_path / "more.acr.json").unlink()
    arguments = ("--key", "keys/signing.pem", "--profile", "attached", "--overwrite")
    assert vacr("sign", "twice.acr.json", *arguments).returncode == 0
    (tmp_path / "twice.acr.json").unlink()
    assert "(not-a-record)" in vacr("verify", "twice.acr.json.cose", *TRUST).err


def test_a_source_is_compared_with_records_alone(checked):
    assert checked("s.jsonl")[1] is None
    assert checked("s.jsonl", source="s.jsonl")[1] == "not-a-record"


def test_a_statement_about_another_record_fails_in_capitals_too(vacr, tmp_path):
    vacr("record", "s.jsonl")
    identity = json.loads((tmp_path / "s.acr.json").read_bytes())["id"]
    for subject, code in ((f"URN:UUID:{identity.upper()}", 0), (f"URN:UUID:{identity[:-1]}", 1)):
        assert (
            vacr(
                "sign",
                "s.acr.json",
                "--key",
                "keys/signing.pem",
                "--subject",
                subject,
                "--overwrite",
            ).returncode
            == 0
        )
        assert vacr("verify", "s.acr.json", *TRUST).returncode == code


def test_a_pipe_has_nothing_beside_it(vacr):
    done = vacr("verify", "-", stdin=b"{}")
    assert (done.returncode, "no statement file next to it" in done.err) == (2, True)
