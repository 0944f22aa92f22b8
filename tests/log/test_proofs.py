"""Proofs that a log gives: for its first entry there is none until it has another."""

from contextlib import closing
from dataclasses import replace

import cbor2
import pytest

from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.folder import make
from vacr.log.fsck import check
from vacr.log.keyring import descriptions
from vacr.receipts.receipt import parse_receipt
from vacr.signing.carried import kccs
from vacr.signing.sign1 import parse


@pytest.fixture
def log(tmp_path):
    return make(str(tmp_path / "log"))


def first_entry(log):
    """Give the description of the log, as somebody who read it can send it: with the key that signed it."""
    with closing(log.reader()) as reading:
        message = parse(reading.entries(0, 1)[0])
        return replace(message, unprotected={14: kccs(descriptions(reading)[0].receipt_key)}).encode()


def test_the_only_entry_has_no_receipt(log, tmp_path):
    done = vacr("log", "prove", log.path, "--entry", "0", "-o", "0.receipt.cose", cwd=tmp_path)
    assert done.returncode == 2
    assert "the log has its first entry only" in done.stderr
    assert "From the next entry on there is one." in done.stderr
    assert not (tmp_path / "0.receipt.cose").exists()


@pytest.mark.parametrize("asked", [(), ("--async",)])
def test_the_only_entry_has_no_receipt_over_http(log, asked):
    with Running(log.path, *asked) as service:
        for path in ("/entries/0", "/entries/0/statement"):
            status, headers, body = service.get(path)
            assert (status, headers["content-type"]) == (404, "application/concise-problem-details+cbor")
            assert cbor2.loads(body)[-1] == "No Receipt Yet"
        status, headers, body = service.post(first_entry(log))
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
    assert check(log).findings.found == []
