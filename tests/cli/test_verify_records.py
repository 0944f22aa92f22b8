"""Checks of `vacr verify` that concern records: attribution, source and version."""

import json

import pytest

from tests.attribution.claude_session import ClaudeSession
from tests.attribution.working_agent import commit, repository
from vacr.record.encoding import encode, encode_with_id

TEXT = "one\ntwo\nthree\n"
TRUST = ("--trust", "keys/signing.pub.pem")

pytestmark = pytest.mark.usefixtures("session")


@pytest.fixture
def session(tmp_path, vacr):
    """Write a session that changes and commits a line, and generate a key."""
    session = ClaudeSession()
    session.read("a.py", TEXT)
    session.edit("a.py", "two", "2")
    session.bash("git commit -qam Two && git rev-parse HEAD", "c" * 40)
    (tmp_path / "s.jsonl").write_bytes(session.native())
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    return session


@pytest.fixture
def verify_records(vacr):
    """Return a function that signs records and returns for each its outcomes by check, and the
    reason of a failure.
    """

    def run(*names, force=False, **options):
        more = ("--overwrite", "--force") if force else ("--overwrite",)
        for name in names:
            assert vacr("sign", name, "--key", "keys/signing.pem", *more).returncode == force
        given = [word for option, value in options.items() for word in (f"--{option}", value)]
        done = vacr("verify", *names, *TRUST, *given, "--format", "json")
        results = json.loads(done.out)["results"]
        assert done.returncode == (0 if all(result["verified"] for result in results) else 1)
        found = [
            ({check["name"]: check["outcome"] for check in result["checks"]}, result.get("reason"))
            for result in results
        ]
        return found if len(found) > 1 else found[0]

    return run


@pytest.mark.parametrize("to", ["v3", "v2"])
def test_attributed_record_is_verified_with_its_source(vacr, verify_records, to):
    vacr("attribute", "s.jsonl")
    vacr("convert", "s.attributed.acr.json", "--to", to, "-o", "r.acr.json")
    outcomes, reason = verify_records("r.acr.json", source="s.jsonl")
    assert (outcomes["record"], outcomes["attribution"], outcomes["source"], reason) == (
        "passed",
        "passed",
        "passed",
        None,
    )


def test_false_attribution_fails_although_signed(vacr, verify_records, tmp_path):
    vacr("attribute", "s.jsonl")
    record = json.loads((tmp_path / "s.attributed.acr.json").read_bytes())
    record["file-attribution"]["files"][0]["conversations"][0]["ranges"][0]["end-line"] = 3
    (tmp_path / "r.acr.json").write_bytes(b"".join(encode_with_id(record)))
    assert verify_records("r.acr.json")[1] == "attribution-mismatch"


def test_record_that_differs_from_its_source_fails_although_signed(vacr, verify_records, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["entries"].pop()
    (tmp_path / "r.acr.json").write_bytes(b"".join(encode_with_id(record)))
    assert verify_records("r.acr.json")[1] is None
    assert verify_records("r.acr.json", source="s.jsonl")[1] == "source-mismatch"


def test_record_of_another_vacr_version_cannot_be_compared_with_its_source(
    vacr, verify_records, tmp_path
):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["recording-agent"]["version"] = "0.0.0"
    (tmp_path / "r.acr.json").write_bytes(b"".join(encode_with_id(record)))
    assert verify_records("r.acr.json")[1] is None
    assert verify_records("r.acr.json", source="s.jsonl")[1] == "source-undecided"


def test_invalid_times_are_omitted_from_the_summary(vacr, verify_records, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["session-end"] = 2**70
    (tmp_path / "r.acr.json").write_bytes(b"".join(encode_with_id(record)))
    assert verify_records("r.acr.json")[1] is None


def test_attribution_with_a_base_is_checked_with_the_base(vacr, verify_records, tmp_path):
    folder = repository(tmp_path / "repository")
    (folder / "a.py").write_text(TEXT)
    revision = commit(folder)
    vacr("attribute", "s.jsonl", "--base", f"{folder}@{revision}")
    assert verify_records("s.attributed.acr.json")[0]["attribution"] == "not decidable"
    assert (
        verify_records("s.attributed.acr.json", base=f"{folder}@{revision}")[0]["attribution"]
        == "passed"
    )
    (folder / "a.py").write_text(TEXT + "four\n")
    assert (
        verify_records("s.attributed.acr.json", base=f"{folder}@{commit(folder)}")[0]["attribution"]
        == "not decidable"
    )


def test_records_attributed_together_are_checked_together(vacr, verify_records, tmp_path):
    other = ClaudeSession("t", start=60)
    other.read("a.py", TEXT.replace("two", "2"))
    other.edit("a.py", "three", "3")
    (tmp_path / "t.jsonl").write_bytes(other.native())
    vacr("attribute", "s.jsonl", "t.jsonl")
    names = ("s.attributed.acr.json", "t.attributed.acr.json")
    assert [verify_records(name)[0]["attribution"] for name in names] == [
        "not decidable",
        "not decidable",
    ]
    assert [outcomes["attribution"] for outcomes, _ in verify_records(*names)] == [
        "passed",
        "passed",
    ]
    assert [outcomes["attribution"] for outcomes, _ in verify_records(*reversed(names))] == [
        "passed",
        "passed",
    ]


def test_attribution_of_another_program_is_not_decidable(vacr, verify_records, tmp_path):
    vacr("attribute", "s.jsonl")
    record = json.loads((tmp_path / "s.attributed.acr.json").read_bytes())
    record["recording-agent"]["name"] = "another"
    del record["vacr"]
    (tmp_path / "r.acr.json").write_bytes(encode(record))
    outcomes, reason = verify_records("r.acr.json")
    assert (outcomes["attribution"], reason) == ("not decidable", None)


def test_record_that_json_cannot_encode_fails(vacr, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["session"]["entries"][0]["odd"] = b"\x00"
    (tmp_path / "r.acr.cbor").write_bytes(encode(record, "cbor"))
    done = vacr("sign", "r.acr.cbor", "--key", "keys/signing.pem", "--force", "-v")
    assert "but its content gives no id: /session/entries/0/odd: " in done.err
    found = vacr("validate", "r.acr.cbor").out
    assert "/session/entries/0/odd: the record was modified: a value of type bytes " in found
    done = vacr("verify", "r.acr.cbor", *TRUST, "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.out)["results"][0]["reason"] == "unreadable"


def test_record_of_a_later_version_keeps_its_summary(vacr, verify_records, tmp_path):
    vacr("record", "s.jsonl")
    record = json.loads((tmp_path / "s.acr.json").read_bytes())
    record["version"] = "3.1.0"
    (tmp_path / "r.acr.json").write_bytes(b"".join(encode_with_id(record)))
    outcomes, reason = verify_records("r.acr.json")
    assert (outcomes["metadata"], reason) == ("passed", None)


def test_version_of_any_type_can_be_signed_by_force(vacr, tmp_path):
    (tmp_path / "r.acr.cbor").write_bytes(
        encode({"version": [3], "session": {"session-start": "x"}}, "cbor")
    )
    done = vacr("sign", "r.acr.cbor", "--key", "keys/signing.pem", "--force")
    assert done.returncode == 1
    assert (tmp_path / "r.acr.cbor.cose").exists()


def test_file_named_like_a_record_must_be_a_record(vacr, verify_records, tmp_path):
    vacr("record", "s.jsonl")
    written = (tmp_path / "s.acr.json").read_bytes()
    (tmp_path / "twice.acr.json").write_bytes(written[:-1] + b',"version":"3.0.0-draft"}')
    (tmp_path / "more.acr.json").write_bytes(written + b"{}")
    names = ("twice.acr.json", "more.acr.json")
    reasons = [verify_records(name, force=True)[1] for name in names]
    assert reasons == ["not-a-record", "not-a-record"]
    (tmp_path / "more.acr.json").unlink()
    arguments = ("--key", "keys/signing.pem", "--profile", "attached", "--overwrite", "--force")
    assert vacr("sign", "twice.acr.json", *arguments).returncode == 1
    (tmp_path / "twice.acr.json").unlink()
    assert "(not-a-record)" in vacr("verify", "twice.acr.json.cose", *TRUST).err


def test_source_is_compared_only_with_records(verify_records):
    assert verify_records("s.jsonl")[1] is None
    assert verify_records("s.jsonl", source="s.jsonl")[1] == "not-a-record"


def test_statement_about_another_record_fails_in_any_case(vacr, tmp_path):
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


def test_standard_input_cannot_be_verified(vacr):
    done = vacr("verify", "-", stdin=b"{}")
    assert (done.returncode, "no statement file next to it" in done.err) == (2, True)


@pytest.mark.parametrize("option", ["--base", "--nonce"])
def test_empty_requirement_is_refused(vacr, option):
    """A script with an unset variable must not drop the requirement unnoticed."""
    assert vacr("sign", "s.jsonl", "--key", "keys/signing.pem").returncode == 0
    assert vacr("verify", "s.jsonl", *TRUST).returncode == 0
    assert vacr("verify", "s.jsonl", *TRUST, option, "").returncode == 2
