"""Proofs from a log; its first entry has none until there is another."""

import json
from contextlib import closing
from dataclasses import replace

import cbor2
import pytest

from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import statement, statements
from vacr.errors import UnreadableInput
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.log.keyring import LogKeyPair, read_log_descriptions
from vacr.signing import encode_private_pem, generate_key
from vacr.signing.cose import parse_sign1
from vacr.signing.statement import build_kccs
from vacr.transparency.checkpoint import parse_checkpoint, parse_signed_note
from vacr.transparency.receipt import parse_receipt


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"))


def build_first_entry(log):
    """Return the log's own description as a statement to register, with its signing key."""
    with closing(log.reader()) as reading:
        message = parse_sign1(reading.entries(0, 1)[0])
        return replace(
            message, unprotected={14: build_kccs(read_log_descriptions(reading)[0].receipt_key)}
        ).encode()


def test_only_entry_has_no_receipt(log, tmp_path):
    done = vacr("log", "prove", log.path, "--entry", "0", "-o", "0.receipt.cose", cwd=tmp_path)
    assert done.returncode == 2
    assert "the log has only one entry" in done.stderr
    assert "The receipt exists once another entry is registered." in done.stderr
    assert not (tmp_path / "0.receipt.cose").exists()


@pytest.mark.parametrize("asked", [(), ("--async",)])
def test_only_entry_has_no_receipt_over_http(log, asked):
    with Running(log.path, *asked) as service:
        for path in ("/entries/0", "/entries/0/statement"):
            status, headers, body = service.get(path)
            assert (status, headers["content-type"]) == (
                404,
                "application/concise-problem-details+cbor",
            )
            assert cbor2.loads(body)[-1] == "No Receipt Yet"
        status, headers, body = service.post(build_first_entry(log))
        if asked:
            assert status == 303
        else:
            assert (status, cbor2.loads(body)[-1]) == (409, "No Receipt Yet")
        service.post(statement())
        while service.get("/entries/1")[0] != 200:
            pass
        for body in (service.get("/entries/0")[2], service.get("/entries/0/statement")[2]):
            assert cbor2.loads(body).tag == 18
        (proof,) = parse_receipt(service.get("/entries/0")[2]).inclusions
        assert (proof.size, proof.index, len(proof.path)) == (2, 0, 1)
        assert service.stop() == (0, "")
    assert run_fsck(log).findings.problems == []


@pytest.fixture
def log_with_proofs(log, tmp_path):
    """Return a log of six entries, the statement at 3, proofs for it and from 3 to 6, and both
    checkpoints.
    """
    given = statements(5)
    with Running(log.path) as service:
        for size, statement in enumerate(given, 2):
            service.post(statement)
            (tmp_path / f"checkpoint-{size}").write_bytes(service.wait_for_checkpoint(size))
        (tmp_path / "whole.cose").write_bytes(service.get("/entries/3/statement")[2])
    (tmp_path / "statement.cose").write_bytes(given[2])
    for name, asked in (("entry", ("--entry", 3)), ("grown", ("--consistency", 3, 6))):
        assert (
            vacr("log", "prove", log.path, *asked, "-o", f"{name}.cose", cwd=tmp_path).returncode
            == 0
        )
    return tmp_path


def run_verify(place, name, *more, key="log/receipt-keys.pem"):
    done = vacr(
        "log", "verify", f"{name}.cose", "--log-key", key, *more, "--format", "json", cwd=place
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def test_inclusion_proof_is_checked(log_with_proofs):
    for key in ("log", "log/receipt-keys.pem"):
        for statement_ in ("statement.cose", "whole.cose"):
            code, found = run_verify(log_with_proofs, "entry", "--statement", statement_, key=key)
            assert (code, found["holds"], found["entry"], found["size"]) == (0, True, 3, 6)
    (log_with_proofs / "other.cose").write_bytes(statement())
    assert run_verify(log_with_proofs, "entry", "--statement", "other.cose")[0] == 1
    create_log(str(log_with_proofs / "another"))
    assert (
        run_verify(log_with_proofs, "entry", "--statement", "statement.cose", key="another")[0] == 1
    )
    code, report = run_verify(log_with_proofs, "entry")
    assert (code, "--statement FILE" in str(report)) == (2, True)


def test_consistency_proof_is_checked(log_with_proofs):
    roots = {
        size: parse_checkpoint(
            parse_signed_note((log_with_proofs / f"checkpoint-{size}").read_bytes()).text
        ).root
        for size in (3, 6)
    }
    for older in ("checkpoint-3", roots[3].hex()):
        for newer in ((), ("--newer", "checkpoint-6"), ("--newer", roots[6].hex())):
            code, found = run_verify(log_with_proofs, "grown", "--older", older, *newer)
            assert (code, found["older"], found["newer"], found["root"]) == (
                0,
                3,
                6,
                roots[6].hex(),
            )
    for wrong in (
        ("checkpoint-4",),
        (roots[6].hex(),),
        ("checkpoint-3", "--newer", "checkpoint-5"),
        ("statement.cose",),
    ):
        code, report = run_verify(log_with_proofs, "grown", "--older", *wrong)
        assert code == 1, report
    code, report = run_verify(log_with_proofs, "grown")
    assert (code, "--older" in str(report)) == (2, True)
    assert run_verify(log_with_proofs, "grown", "--older", "nowhere")[0] == 3
    assert run_verify(log_with_proofs, "statement", "--older", "checkpoint-3")[0] == 1


def test_prove_needs_exactly_one_option(log, tmp_path):
    both = ("--entry", "0", "--consistency", "1", "2")
    for asked, problem, hint in (
        ((), "prove needs --entry or --consistency", "Add --entry N, or --consistency A B."),
        (both, "--entry and --consistency exclude each other", "Omit one of them."),
    ):
        done = vacr("log", "prove", log.path, *asked, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"vacr: {problem}\n  {hint}\n")


@pytest.mark.parametrize("algorithms", [("es256", "es256"), ("eddsa", "eddsa"), ("es256",)])
def test_log_needs_a_key_of_each_kind(tmp_path, algorithms):
    (tmp_path / "keys").mkdir()
    for number, algorithm in enumerate(algorithms):
        (tmp_path / "keys" / f"{number}.pem").write_bytes(
            encode_private_pem(generate_key(algorithm))
        )
    with pytest.raises(UnreadableInput, match="exactly two keys") as caught:
        LogKeyPair.load(tmp_path)
    assert "another folder" in caught.value.hint
