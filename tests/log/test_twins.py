"""A flipped ECDSA signature does not make a second entry of somebody's statement.

From a signature (r, s), anybody can compute the other form (r, order - s), which is valid, too.
"""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import SIGNER, statement
from tests.transparency.logs import Log
from vacr.errors import InvalidStatement
from vacr.log import ledger as ledger_module
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.registration.client import RegistrationClient, register
from vacr.signing.cose import ALGORITHMS, flip_signature, parse_sign1
from vacr.signing.keys import KeySigner, encode_public_pem, generate_key, parse_public_keys
from vacr.signing.statement import sign
from vacr.transparency.receipt import (
    add_receipt,
    build_log_entry,
    build_twin_entry,
    parse_receipts,
)
from vacr.verification.policy import Policy
from vacr.verification.receipts import check_receipt
from vacr.verification.verifying import verify

NOW = datetime(2100, 1, 1, tzinfo=UTC)
KINDS = ("es256", "es384", "es512")
STATEMENT_TYPE = "application/scitt-statement+cose"


def flip(given):
    """Return a statement with the other form of its signature, as an attacker computes it."""
    message = parse_sign1(given)
    other = flip_signature(message.protected[1], message.signature)
    assert other != message.signature
    return replace(message, signature=other).encode()


def entry_of(given):
    return build_log_entry(parse_sign1(given))


def read_log_keys(folder):
    return parse_public_keys((folder.path / "receipt-keys.pem").read_bytes())


@pytest.mark.parametrize("kind", KINDS)
def test_twin_is_valid_and_its_twin_is_the_statement(kind):
    signer = KeySigner(generate_key(kind))
    given = sign(b"data", signer)
    policy = Policy(keys=(signer.public_key,))
    assert verify(flip(given), policy, payload=b"data", now=NOW).payload == b"data"
    assert flip(flip(given)) == given
    assert build_twin_entry(entry_of(given)) == entry_of(flip(given))


@pytest.mark.parametrize("kind", ["eddsa", "ps256", "ml-dsa-44"])
def test_other_algorithms_have_no_twins(kind):
    given = sign(b"data", KeySigner(generate_key(kind)))
    assert build_twin_entry(entry_of(given)) is None


@pytest.mark.parametrize("entry", [b"", b"a", b"\xd2\x84", b"\x84\x40\xa0\x40\x40", b"\xd2\x80"])
def test_bytes_that_are_not_a_statement_have_no_twin(entry):
    assert build_twin_entry(entry) is None


@pytest.mark.parametrize("number", [-7, -35, -36, -9, -51, -52])
def test_malformed_signatures_have_no_twin(number):
    size = {"256": 64, "384": 96, "512": 132}[ALGORITHMS[number].name[-3:]]
    for signature in (b"", bytes(size), b"\xff" * size, b"\x01" * (size - 1)):
        assert flip_signature(number, signature) is None


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_signature_makes_no_second_entry(folder, kind):
    given = sign(b"data", KeySigner(generate_key(kind)))
    keys = read_log_keys(folder)
    with closing(folder.ledger()) as ledger:
        (first,) = ledger.append([entry_of(given)])
        (second,) = ledger.append([entry_of(flip(given))])
        assert ledger.head.head.size == 2
    assert (first.new, first.twin) == (True, None)
    assert (second.position, second.new, second.twin) == (1, False, entry_of(given))
    assert check_receipt(parse_sign1(second.twin), second.receipt, keys, NOW).index == 1
    with closing(folder.ledger()) as ledger:  # after a restart
        (third,) = ledger.append([entry_of(flip(given))])
    assert (third.position, third.twin) == (1, entry_of(given))
    assert run_fsck(folder).findings.problems == []


def test_twins_in_one_batch_become_one_entry(folder):
    given = statement()
    with closing(folder.ledger()) as ledger:
        placed = ledger.append([entry_of(given), entry_of(flip(given)), entry_of(given)])
        assert ledger.head.head.size == 2
    assert [(entry.position, entry.twin) for entry in placed] == [
        (1, None),
        (1, entry_of(given)),
        (1, None),
    ]


def test_honest_second_signature_is_a_second_entry(folder):
    first, second = sign(b"data", SIGNER), sign(b"data", SIGNER)
    assert parse_sign1(first).protected_bytes == parse_sign1(second).protected_bytes
    with closing(folder.ledger()) as ledger:
        placed = ledger.append([entry_of(first), entry_of(second)])
    assert [(entry.position, entry.new, entry.twin) for entry in placed] == [
        (1, True, None),
        (2, True, None),
    ]


def test_old_log_with_both_twins_keeps_both(folder, monkeypatch):
    given = statement()
    with monkeypatch.context() as old, closing(folder.ledger()) as ledger:
        old.setattr(ledger_module, "build_twin_entry", lambda _: None)
        ledger.append([entry_of(given), entry_of(flip(given))])
        assert ledger.head.head.size == 3
    with closing(folder.ledger()) as ledger:
        placed = ledger.append([entry_of(flip(given)), entry_of(given)])
        assert ledger.head.head.size == 3
    assert [(entry.position, entry.twin) for entry in placed] == [(2, None), (1, None)]
    assert run_fsck(folder).findings.problems == []


def test_client_with_a_twin_gets_the_first_statement_with_its_receipt(tmp_path):
    log = create_log(str(tmp_path / "log"))
    given = statement()
    with Running(log.path) as service:
        assert service.post(given)[0] == 201
        status, headers, body = service.post(flip(given))
        assert (status, headers["content-type"]) == (200, STATEMENT_TYPE)
        transparent = parse_sign1(body)
        assert build_log_entry(transparent) == entry_of(given)
        (receipt,) = parse_receipts(transparent)
        assert check_receipt(transparent, receipt.message.encode(), read_log_keys(log), NOW)
        assert service.get(headers["location"])[0] == 200
        with pytest.raises(InvalidStatement) as caught:
            register(flip(given), service.url)
        assert caught.value.reason == "register-twin"


def test_twin_is_found_where_receipts_come_later(tmp_path):
    log = create_log(str(tmp_path / "log"))
    given = statement()
    with Running(log.path, "--async") as service:
        for sent in (given, flip(given)):
            result = RegistrationClient(service.url).register(sent, read_log_keys(log))
            assert result.logged.index == 1
            assert entry_of(result.add_to(sent)) == entry_of(given)
    assert run_fsck(log).findings.problems == []


def test_registering_first_with_a_flipped_signature_does_no_harm(tmp_path):
    log = create_log(str(tmp_path / "log"))
    (tmp_path / "data").write_bytes(b"data")
    mine = sign(b"data", SIGNER)
    (tmp_path / "data.cose").write_bytes(mine)
    (tmp_path / "key.pem").write_bytes(encode_public_pem(SIGNER.public_key))
    with Running(log.path) as service:
        assert service.post(flip(mine))[0] == 201  # the attacker is faster
        done = vacr("register", "data.cose", "--service", service.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    keys = ("--trust", "key.pem", "--log-key", "log/receipt-keys.pem")
    done = vacr("verify", "data", *keys, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert entry_of((tmp_path / "data.cose").read_bytes()) == entry_of(flip(mine))


def test_timestamp_of_the_other_signature_is_not_carried_over(tmp_path):
    log = create_log(str(tmp_path / "log"))
    mine = sign(b"data", SIGNER, unprotected={270: b"a timestamp of this signature"})
    (tmp_path / "data.cose").write_bytes(mine)
    with Running(log.path) as service:
        assert service.post(flip(mine))[0] == 201
        done = vacr("register", "data.cose", "--service", service.url, cwd=tmp_path)
    assert (done.returncode, "Sign again" in done.stderr) == (1, True)
    assert (tmp_path / "data.cose").read_bytes() == mine


def test_hostile_log_cannot_invalidate_the_receipts_of_another_log(tmp_path):
    """A log that answers with a flipped signature must not replace the one that others proved."""
    log = create_log(str(tmp_path / "log"))
    first = Log(began=1_700_000_000)
    first.fill(2)
    plain = sign(b"data", SIGNER)
    first.add(plain)
    mine = add_receipt(plain, first.receipt(plain), first.key)
    (tmp_path / "data.cose").write_bytes(mine)
    with Running(log.path) as service:
        assert service.post(flip(plain))[0] == 201
        done = vacr("register", "data.cose", "--service", service.url, cwd=tmp_path)
    assert (done.returncode, "the receipts of other logs" in done.stderr) == (1, True)
    assert (tmp_path / "data.cose").read_bytes() == mine
    policy = Policy(keys=(SIGNER.public_key,), log_keys=(first.key,))
    assert verify(mine, policy, payload=b"data", now=NOW).receipts
