"""`vacr evidence attest`, `vacr appraise` and `vacr verify --require-evidence`, as a user runs them."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.attested import BACKGROUND, NONCE, PASSPORT, POLICY, TRUST
from tests.conftest import EXAMPLES
from vacr import __file__ as package_file
from vacr.evidence.messages import decode_cmw
from vacr.evidence.tokens import CLAIM_AGENT, CLAIM_JOURNAL, parse_cwt
from vacr.record.encoding import encode_with_id

pytestmark = pytest.mark.component


def count_package_files():
    files = [path for path in Path(package_file).parent.rglob("*") if path.is_file()]
    return sum("__pycache__" not in path.parts for path in files)


def claims_of(path):
    return parse_cwt(decode_cmw(path.read_bytes()).value).claims


def test_evidence_next_to_a_record_is_used(vacr, ready_folder, attest, appraise):
    done = attest("--format", "json")
    report = json.loads(done.out)
    assert (report["output"], report["attester"], report["journal"]) == (
        "s.acr.json.evidence.cbor",
        "software",
        False,
    )
    assert [component["name"] for component in report["components"]] == ["vacr", "python"]
    assert report["components"][0]["files"] == count_package_files()
    assert "without a journal" in done.err
    done, report = appraise("--record", "s.acr.json", "--key", "verifier/signing.pem")
    assert (done.returncode, report["status"], report["result"]) == (
        0,
        "affirming",
        "s.acr.json.result.cbor",
    )
    assert claims_of(ready_folder / "s.acr.json.evidence.cbor")[CLAIM_AGENT] == {
        "name": "claude-code",
        "version": "2.1.72",
    }
    for options in (BACKGROUND, PASSPORT):
        done = vacr("verify", "s.acr.json", *TRUST, *options, "--format", "json")
        (result,) = json.loads(done.out)["results"]
        assert (done.returncode, result["checks"][-1]["name"], result["checks"][-1]["outcome"]) == (
            0,
            "evidence",
            "passed",
        )


@pytest.mark.usefixtures("ready_folder")
def test_missing_evidence_fails(vacr):
    for options in (BACKGROUND, PASSPORT):
        done = vacr("verify", "s.acr.json", *TRUST, *options)
        assert done.returncode == 1
        assert "no evidence or result about the recording" in done.err
    assert vacr("verify", "s.acr.json", *TRUST).returncode == 0


def test_evidence_can_be_in_the_header_of_a_statement(vacr, ready_folder, attest):
    assert attest("--into", "s.acr.json.cose", "-o", "elsewhere.cbor").returncode == 0
    assert vacr("verify", "s.acr.json", *TRUST, *BACKGROUND).returncode == 0
    assert (
        "? evidence: not checked: the policy does not require evidence"
        in vacr("verify", "s.acr.json", *TRUST).out
    )
    shown = vacr("inspect", "s.acr.json.cose").out
    assert "evidence (-75100)" in shown
    other = vacr("verify", "s.acr.json", *TRUST, *BACKGROUND[:-1], "ff" * 16)
    assert (other.returncode, "nonce" in other.err) == (1, True)
    assert (ready_folder / "elsewhere.cbor").exists()
    vacr("sign", "s.jsonl", "--key", "keys/signing.pem")
    before = (ready_folder / "s.jsonl.cose").read_bytes()
    done = attest("--into", "s.jsonl.cose")
    assert (
        done.returncode,
        "the statement and the evidence are about different files" in done.err,
    ) == (1, True)
    assert (ready_folder / "s.jsonl.cose").read_bytes() == before


def test_failed_attest_leaves_the_statement_unchanged(vacr, ready_folder, attest):
    before = (ready_folder / "s.acr.json.cose").read_bytes()
    (ready_folder / "e.cbor").touch()
    given = (
        "--record",
        "s.acr.json",
        "--nonce",
        NONCE,
        "--attester",
        "software",
        "--key",
        "keys/signing.pem",
    )
    done = vacr("attest", *given, "-o", "e.cbor", "--into", "s.acr.json.cose")
    assert (done.returncode, "exists with different content" in done.err) == (2, True)
    assert (ready_folder / "s.acr.json.cose").read_bytes() == before
    done = attest("-o", "e.cbor", "--into", "s.acr.json")
    assert (done.returncode, "s.acr.json: not a statement: " in done.err) == (3, True)
    assert ".cose" in done.err
    assert (ready_folder / "e.cbor").read_bytes() == b""


@pytest.mark.usefixtures("ready_folder")
def test_attest_reports_files_that_are_not_records(attest):
    assert "s.jsonl: not a record, " in attest(record="s.jsonl").err
    assert "s.acr.json: recorded without a journal" in attest().err


@pytest.mark.parametrize(
    ("rules", "named"),
    [("", "attester-keys"), ('attester-keys = ["keys/signing.pub.pem"]', "software-is-enough")],
)
def test_missing_parts_of_a_policy_are_named(ready_folder, attest, appraise, rules, named):
    attest()
    (ready_folder / "policy.toml").write_text(
        f'id = "x"\nreferences = ["reference.cbor"]\n{rules}\n'
    )
    done, _ = appraise()
    assert (done.returncode, named in done.err) == (1, True)


def test_evidence_of_another_record_is_refused(vacr, ready_folder, attest):
    shutil.copy(EXAMPLES / "codex-cli.jsonl", ready_folder / "t.jsonl")
    vacr("record", "t.jsonl")
    vacr("sign", "t.acr.json", "--key", "keys/signing.pem")
    attest()
    shutil.copy(
        ready_folder / "s.acr.json.evidence.cbor", ready_folder / "t.acr.json.evidence.cbor"
    )
    done = vacr("verify", ".", *TRUST, *BACKGROUND, "--format", "json")
    results = {result["file"]: result for result in json.loads(done.out)["results"]}
    assert (results["./s.acr.json"]["verified"], results["./t.acr.json"]["reason"]) == (
        True,
        "record-mismatch",
    )
    assert done.returncode == 1


def test_results_can_be_jwt_and_wrappers_json(vacr, ready_folder, attest, appraise):
    assert attest("-o", "evidence.json").returncode == 0
    assert json.loads((ready_folder / "evidence.json").read_bytes())[0].startswith(
        "application/eat+cwt; eat_profile="
    )
    done, report = appraise(
        "--key", "verifier/signing.pem", "-o", "result.jwt", evidence="evidence.json"
    )
    assert (done.returncode, report["status"]) == (0, "affirming")
    assert (ready_folder / "result.jwt").read_bytes().count(b".") == 2
    assert (
        vacr(
            "verify", "s.acr.json", *TRUST, *PASSPORT, "--evidence", "result.jwt", "--nonce", NONCE
        ).returncode
        == 0
    )
    assert (
        vacr(
            "verify",
            "s.acr.json",
            *TRUST,
            *PASSPORT,
            "--evidence",
            "result.jwt",
            "--nonce",
            "ff" * 16,
        ).returncode
        == 1
    )


def test_journal_comes_from_the_record_or_from_options(ready_folder, attest, appraise):
    record = json.loads((ready_folder / "s.acr.json").read_bytes())
    head = {"identity": "aa" * 32, "frames": 12, "head": "bb" * 32}
    record["vacr"]["inputs"] = {"journal": head}
    (ready_folder / "j.acr.json").write_bytes(b"".join(encode_with_id(record)))
    wanted = {"identity": b"\xaa" * 32, "frames": 12, "head": b"\xbb" * 32}
    assert "journal" not in attest(record="j.acr.json").err
    assert claims_of(ready_folder / "j.acr.json.evidence.cbor")[CLAIM_JOURNAL] == wanted
    assert (
        appraise("--record", "j.acr.json", evidence="j.acr.json.evidence.cbor")[1]["journal"]
        == head
    )
    (ready_folder / "head.json").write_text(json.dumps(head))
    for given in ("head.json", f"{'aa' * 32}:12:{'bb' * 32}"):
        assert attest("--journal-head", given).returncode == 0
        assert claims_of(ready_folder / "s.acr.json.evidence.cbor")[CLAIM_JOURNAL] == wanted
    assert attest("--journal-head", "aa:1:bb", record="j.acr.json").returncode == 2
    record["vacr"]["inputs"] = {"journal": {"identity": "xx"}}
    (ready_folder / "k.acr.json").write_bytes(b"".join(encode_with_id(record)))
    done = attest(record="k.acr.json")
    assert done.returncode == 3
    assert "the journal head in the record (vacr.inputs.journal) is incomplete" in done.err


def test_configuration_and_agent_are_measured(ready_folder, vacr, attest, appraise):
    (ready_folder / "vacr.toml").write_text("a = 1\n")
    (ready_folder / "agent").write_text("#!/bin/sh\n")
    (ready_folder / "agent").chmod(0o755)
    given = ("--configuration", "vacr.toml", "--agent-executable", "./agent")
    assert attest(*given).returncode == 0
    done, report = appraise()
    assert (done.returncode, report["reason"]) == (1, "measurement-unknown")
    assert (
        vacr(
            "attest",
            "--reference",
            "--configuration",
            "vacr.toml",
            "-o",
            "reference.cbor",
            "--overwrite",
        ).returncode
        == 0
    )
    done, report = appraise()
    assert (done.returncode, report["vector"]) == (
        0,
        {"file-system": 2, "configuration": 2, "hardware": 0},
    )
    assert [
        check["decided"] for check in report["checks"] if check["name"] == "agent:claude-code"
    ] == [False]
    (ready_folder / "vacr.toml").write_text("a = 2\n")
    attest(*given)
    assert appraise()[1]["reason"] == "measurement-changed"


def test_policy_can_require_signed_reference_values(ready_folder, vacr, attest, appraise):
    attest()
    with (ready_folder / "policy.toml").open("a") as file:
        file.write('reference-keys = ["verifier/signing.pub.pem"]\n')
    done, _ = appraise()
    assert (done.returncode, "not signed" in done.err) == (3, True)
    for key, code in (("keys", 3), ("verifier", 0)):
        vacr(
            "attest",
            "--reference",
            "-o",
            "reference.cbor",
            "--overwrite",
            "--key",
            f"{key}/signing.pem",
        )
        assert appraise()[0].returncode == code


def test_replayed_evidence_is_refused(ready_folder, attest, appraise):
    attest()
    done, report = appraise("--key", "verifier/signing.pem", nonce="ff" * 16)
    assert (done.returncode, report["reason"], set(report["vector"].values())) == (1, "nonce", {99})
    assert not [check for check in report["checks"] if check["tier"] == "affirming"]
    shown = json.loads(
        appraise.vacr(
            "inspect", "s.acr.json.evidence.cbor", "s.acr.json.result.cbor", "--format", "json"
        ).out
    )["files"]
    assert [item["kind"] for item in shown] == ["token", "token"]
    assert shown[0]["tokens"][0]["key-storage"] == "software"
    assert shown[1]["tokens"][0]["submods"]["vacr"]["ear_status"] == 96
    (ready_folder / "policy.toml").write_text(POLICY + "maximum-age = 0\n")
    done, _ = appraise()
    assert (done.returncode, "maximum-age is 0" in done.err) == (3, True)


def test_malformed_evidence_gets_no_verdict(ready_folder, attest, appraise):
    attest()
    appraise("--key", "verifier/signing.pem")
    whole = (ready_folder / "s.acr.json.evidence.cbor").read_bytes()
    (ready_folder / "folder").mkdir()
    cases = {
        "empty": (b"", "the file is empty"),
        "random": (hashlib.sha512(b"random").digest(), "not CBOR"),
        "cut": (whole[:-1], "not CBOR"),
        "longer": (whole + b"x", "not CBOR"),
        "json": (b'{"a": 1}', "neither a CMW record nor a tag nor a collection"),
        "text": (b"Some words.\n", "not a wrapped message (CMW)"),
        "token": (b"eyJ.x.y", "a part of the JWT"),
        "record": ((ready_folder / "s.acr.json").read_bytes(), "not a wrapped message (CMW)"),
        "statement": ((ready_folder / "s.acr.json.cose").read_bytes(), "not an attestation token"),
        "result": (
            (ready_folder / "s.acr.json.result.cbor").read_bytes(),
            "this is a result, not evidence",
        ),
        "folder": (None, "a folder, not a file"),
        "nowhere": (None, "there is no such file"),
    }
    for name, (data, message) in cases.items():
        if data is not None:
            (ready_folder / name).write_bytes(data)
        done, report = appraise(evidence=name)
        assert (name, done.returncode, report) == (name, 3, None)
        assert done.err.startswith(f"vacr: {name}: "), done.err
        assert message in done.err


def test_reference_values_of_an_agent_carry_its_name(ready_folder, vacr, attest, appraise):
    (ready_folder / "agent").write_text("#!/bin/sh\n")
    (ready_folder / "agent").chmod(0o755)
    reference_command = (
        "attest",
        "--reference",
        "--agent-executable",
        "./agent",
        "-o",
        "reference.cbor",
        "--overwrite",
    )
    for more, name in (
        ((), "agent:agent"),
        (("--record", "s.acr.json"), "agent:claude-code"),
        (("--agent", "claude-code"), "agent:claude-code"),
    ):
        names = [
            component["name"]
            for component in json.loads(vacr(*reference_command, *more, "--format", "json").out)[
                "components"
            ]
        ]
        assert names == ["vacr", "python", name]
    with (ready_folder / "policy.toml").open("a") as file:
        file.write('required = ["agent"]\n')
    attest("--agent-executable", "./agent")
    done, report = appraise()
    assert done.returncode == 0
    assert [
        check["decided"] for check in report["checks"] if check["name"] == "agent:claude-code"
    ] == [True]
    done = attest("--agent", "codex", "--agent-executable", "./agent")
    assert (done.returncode, "but the record names claude-code" in done.err) == (
        2,
        True,
    )
    (ready_folder / "agent").write_text("#!/bin/sh\n# changed\n")
    attest("--agent-executable", "./agent")
    assert appraise()[1]["reason"] == "measurement-changed"


USAGE = {
    "nothing": ("attest", "--record", "s.acr.json"),
    "a nonce that is short": (
        "attest",
        "--record",
        "s.acr.json",
        "--nonce",
        "00",
        "--attester",
        "software",
        "--key",
        "keys/signing.pem",
    ),
    "a nonce that is not a number": (
        "attest",
        "--record",
        "s.acr.json",
        "--nonce",
        "xyz",
        "--attester",
        "software",
        "--key",
        "keys/signing.pem",
    ),
    "two things": ("attest", "--reference", "--attestation-key"),
    "registers that are none": (
        "attest",
        "--record",
        "s.acr.json",
        "--nonce",
        NONCE,
        "--attester",
        "tpm",
        "--pcrs",
        "a",
    ),
    "no such executable": ("attest", "--reference", "--agent-executable", "nowhere"),
    "hardware without evidence": ("verify", "s.acr.json", *TRUST, "--require-hardware"),
    "evidence that is not asked for": (
        "verify",
        "s.acr.json",
        *TRUST,
        "--evidence-policy",
        "policy.toml",
    ),
    "neither policy nor verifier": (
        "verify",
        "s.acr.json",
        *TRUST,
        "--require-evidence",
        "affirming",
    ),
    "both": (
        "verify",
        "s.acr.json",
        *TRUST,
        *BACKGROUND,
        "--verifier-key",
        "verifier/signing.pub.pem",
    ),
    "no nonce": ("verify", "s.acr.json", *TRUST, *BACKGROUND[:-2]),
}


@pytest.mark.usefixtures("ready_folder")
def test_wrong_calls_get_a_hint(vacr):
    for name, arguments in USAGE.items():
        done = vacr(*arguments)
        assert (name, done.returncode) == (name, 2)
        assert len(done.err.splitlines()) >= 2, name


def test_keys_of_this_machine_are_the_default(ready_folder, vacr, tmp_path):
    """One key signs evidence, and another signs results."""
    done = vacr(
        "attest",
        "--record",
        "s.acr.json",
        "--nonce",
        NONCE,
        "--attester",
        "software",
        "-o",
        "evidence.cbor",
    )
    assert done.returncode == 0, done.err
    own = tmp_path / "home" / ".local" / "state" / "vacr" / "keys"
    policy = (
        'id = "p"\nreferences = ["reference.cbor"]\nattester-keys = '
        f'["{own}/signing.pub.pem"]\nsoftware-is-enough = true\n'
    )
    (ready_folder / "own.toml").write_text(policy)
    appraise = ("appraise", "evidence.cbor", "--policy", "own.toml", "--nonce", NONCE)
    done = vacr(*appraise)
    assert (done.returncode, "evidence.cbor: affirming" in done.out) == (0, True), (
        done.out + done.err
    )
    assert (own / "signing.pub.pem").read_bytes() != (own / "verifier.pub.pem").read_bytes()
    verify = (
        "verify",
        "s.acr.json",
        *TRUST,
        "--require-evidence",
        "affirming",
        "--evidence",
        "evidence.cbor.result.cbor",
    )
    assert vacr(*verify, "--verifier-key", own / "verifier.pub.pem").returncode == 0
    assert vacr(*verify, "--verifier-key", own / "signing.pub.pem").returncode == 1
    done = vacr(*appraise)
    assert (done.returncode, "--overwrite" in done.err) == (2, True)


def test_invalid_policy_gives_no_verdict(ready_folder, attest, appraise):
    attest()
    (ready_folder / "policy.toml").write_text('id = "x"\nsoftware-is-enuff = true\n')
    done, report = appraise()
    assert (done.returncode, report, "unknown rule software-is-enuff" in done.err) == (
        3,
        None,
        True,
    )
    (ready_folder / "policy.toml").write_text('id = "x"\nattester-keys = ["nowhere.pem"]\n')
    assert appraise()[0].returncode == 4
