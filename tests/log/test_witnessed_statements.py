"""Statements that carry the proof of real witnesses, from registration to verification."""

import itertools
import json
import threading
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import pytest

from tests.log.balancing import Balancer
from tests.log.commands import service as command_service
from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import SIGNER, statement
from tests.log.tiled_folder import ORIGIN, TiledTestLog, served
from tests.transparency.witnessed import Cosigner
from vacr.errors import InvalidStatement, UsageError
from vacr.log.folder import create_log
from vacr.registration.tile_reader import TiledLog
from vacr.registration.witnessing import NotWitnessedYet, ProofCollector
from vacr.signing.cose import HEADER_RECEIPTS, HEADER_TLOG_PROOFS, parse_sign1
from vacr.signing.keys import encode_public_pem, parse_public_keys
from vacr.transparency.checkpoint import (
    NOTE_KEY_COSIGNATURE,
    VerifierKey,
    parse_checkpoint,
    parse_signed_note,
    parse_verifier_key,
)
from vacr.transparency.receipt import build_log_entry
from vacr.transparency.tlog_proof import list_tlog_proofs, parse_tlog_proof
from vacr.verification.trust_store import (
    ROLE_LOG,
    ROLE_SIGNER,
    ROLE_WITNESS,
    TrustedParty,
    TrustStore,
)
from vacr.verification.trust_store_file import format_trust_store

SILENT = VerifierKey("silent.example.org", NOTE_KEY_COSIGNATURE, bytes(range(32)))


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tests.log.commands.ENVIRONMENT",
        {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"},
    )


class World:
    """A served log, its witnesses, and the trust store that names them."""

    def __init__(self, folder, running, witnesses):
        self.folder, self.running = folder, running
        self.witnesses = [parse_verifier_key(witness["key"]) for witness in witnesses]

    def write_store(self, required, *, more=(), note_key=None, name="trust.toml"):
        keys = parse_public_keys((self.folder / "log" / "receipt-keys.pem").read_bytes())
        note_key = note_key or parse_verifier_key(self.running.announced["checkpoint-key"])
        parties = [
            TrustedParty("Alice", (ROLE_SIGNER,), keys=(SIGNER.public_key,)),
            TrustedParty("Example log", (ROLE_LOG,), keys=tuple(keys), note_key=note_key),
            *(
                TrustedParty(f"Witness {number}", (ROLE_WITNESS,), note_key=key)
                for number, key in enumerate([*self.witnesses, *more], 1)
            ),
        ]
        (self.folder / name).write_bytes(format_trust_store(TrustStore(tuple(parties), required)))

    def run(self, *arguments):
        return vacr(*arguments, cwd=self.folder)

    def register(self, *arguments):
        service = ("--service", self.running.url)
        return self.run("register", *arguments, *service, "--trust-store", "trust.toml")

    def verify(self, name="a.cose", *arguments):
        done = self.run(
            "verify", name, "--trust-store", "trust.toml", "--format", "json", *arguments
        )
        (verdict,) = json.loads(done.stdout)["results"]
        return verdict

    def read(self, name="a.cose"):
        return parse_sign1((self.folder / name).read_bytes())


@contextmanager
def start_world(tmp_path, count=2, silent=False):
    log = create_log(str(tmp_path / "log"), origin="log.example")
    with Running(log.path) as running:
        key = running.announced["checkpoint-key"]
    with ExitStack() as stack:
        witnesses = [
            stack.enter_context(
                command_service("log", "witness", f"w{number}", "--log", key, cwd=tmp_path)
            ).announced
            for number in range(count)
        ]
        options = [
            part for witness in witnesses for part in ("--witness", witness["url"], witness["key"])
        ]
        if silent:
            way = stack.enter_context(Balancer(holds=True))
            options += ["--witness", way.url, str(SILENT)]
        running = stack.enter_context(Running(log.path, *options))
        (tmp_path / "a.cose").write_bytes(statement(profile="attached"))
        yield World(tmp_path, running, witnesses)


@pytest.fixture
def world(tmp_path):
    with start_world(tmp_path) as started:
        started.write_store(2)
        yield started


def test_waiting_adds_a_proof_that_verifies_offline(world):
    done = world.register("a.cose", "--wait")
    assert done.returncode == 0, done.stderr
    assert "witnesses: 2 of 2 cosigned (Witness 1, Witness 2); entry 1 of" in done.stdout
    world.running.stop()
    done = world.run("verify", "a.cose", "--trust-store", "trust.toml")
    assert done.returncode == 0, done.stderr
    assert "✓ witnesses: 2 of 2 cosigned (Witness 1, Witness 2); entry 1 of" in done.stdout
    receipt_lines = [line for line in done.stdout.splitlines() if "receipt" in line]
    assert receipt_lines[0].startswith("✓ receipt: in Example log, 20")
    assert not any("entry" in line for line in receipt_lines if line.startswith("✓"))
    assert "  not signed: the receipt names entry 1 of 2" in receipt_lines
    verdict = world.verify()
    (witnesses,) = verdict["witnesses"]
    assert (witnesses["log"], witnesses["origin"], witnesses["index"]) == (
        "Example log",
        "log.example",
        1,
    )
    assert [
        cosignature["name"]
        for cosignature in sorted(
            witnesses["cosigned"], key=lambda cosignature: cosignature["name"]
        )
    ] == [
        "Witness 1",
        "Witness 2",
    ]
    assert verdict["receipts"][0]["index"] == 1, "JSON keeps the members"


def test_statement_without_a_proof_is_refused_and_refreshed(world):
    assert world.register("a.cose").returncode == 0
    verdict = world.verify()
    assert (verdict["verified"], verdict["reason"]) == (False, "witness-missing")
    assert "--refresh" in verdict["hint"]
    before = world.read()
    assert world.register("--refresh", "a.cose", "--wait=60").returncode == 0
    assert world.verify()["verified"]
    after = world.read()
    assert build_log_entry(after) == build_log_entry(before)
    assert after.unprotected[HEADER_RECEIPTS] == before.unprotected[HEADER_RECEIPTS]
    assert after.unprotected.keys() - before.unprotected.keys() == {HEADER_TLOG_PROOFS}


def test_refreshing_replaces_the_proof(world):
    world.register("a.cose", "--wait")
    (old,) = list_tlog_proofs(world.read())
    (world.folder / "b.cose").write_bytes(statement(profile="attached"))
    world.register("b.cose", "--wait")
    done = world.register("--refresh", "a.cose", "b.cose", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [statement["state"] for statement in document["statements"]] == [
        "witnessed",
        "witnessed",
    ]
    (new,) = list_tlog_proofs(world.read())
    assert parse_tlog_proof(new).checkpoint.size > parse_tlog_proof(old).checkpoint.size
    assert world.verify()["verified"]


def test_registering_again_keeps_the_proof_and_does_not_send_it(world):
    world.register("a.cose", "--wait")
    proofs = list_tlog_proofs(world.read())
    assert world.register("a.cose", "--again").returncode == 0
    assert list_tlog_proofs(world.read()) == proofs
    sent = world.running.get("/entries/1/statement")[2]
    assert HEADER_TLOG_PROOFS not in parse_sign1(sent).unprotected


def test_output_gets_receipt_and_proof(world):
    original = (world.folder / "a.cose").read_bytes()
    done = world.register("a.cose", "--wait", "-o", "out.cose")
    assert done.returncode == 0, done.stderr
    assert (world.folder / "a.cose").read_bytes() == original
    assert world.verify("out.cose")["verified"]
    done = world.register("--refresh", "out.cose", "-o", "renewed.cose")
    assert done.returncode == 0, done.stderr
    assert world.verify("renewed.cose")["verified"]
    assert world.register("a.cose", "--wait", "-o", "-").returncode == 2


def test_proof_is_available_in_a_busy_log(world):
    """New entries arrive all the time, and cosigned checkpoints can still be fetched."""
    stop = threading.Event()

    def post():
        while not stop.wait(0.02):  # The witnesses share the processor with this loop.
            world.running.post(statement())

    thread = threading.Thread(target=post)
    thread.start()
    try:
        done = world.register("a.cose", "--wait=300")
    finally:
        stop.set()
        thread.join()
    assert done.returncode == 0, done.stderr
    assert world.verify()["verified"]


def test_too_few_witnesses_leave_the_receipt_and_exit_with_4(tmp_path):
    with start_world(tmp_path, count=1, silent=True) as world:
        world.write_store(2, more=[SILENT])
        done = world.register("a.cose", "--wait=3", "--format", "json")
        assert done.returncode == 4
        (document,) = json.loads(done.stdout)["statements"]
        assert document["state"] == "unwitnessed"
        assert "too few cosignatures" in document["error"]
        assert "--refresh" in document["hint"]
        assert document["receipt"]["index"] == 1
        assert world.verify()["reason"] == "witness-missing"
        world.write_store(1, more=[SILENT])
        done = world.register("--refresh", "a.cose", "--wait")
        assert done.returncode == 0, done.stderr
        assert world.verify()["verified"]
        world.write_store(2, more=[SILENT])
        assert world.verify()["reason"] == "witness-too-few"


def test_log_with_another_note_key_is_refused(world):
    other = Cosigner("log.example")
    note_key = VerifierKey("log.example", 1, other.vkey.public)
    world.write_store(2, note_key=note_key)
    done = world.register("a.cose", "--wait")
    assert done.returncode == 1
    assert "the log's checkpoint cannot be trusted" in done.stderr
    world.write_store(2)
    world.register("--refresh", "a.cose", "--wait")
    world.write_store(2, note_key=note_key)
    assert world.verify()["reason"] == "witness-log-key"
    world.write_store(2, note_key=VerifierKey("other.example", 1, other.vkey.public))
    assert world.verify()["reason"] == "witness-origin"


def test_proof_of_another_statement_is_refused(world):
    (world.folder / "b.cose").write_bytes(statement(profile="attached"))
    assert world.register("a.cose", "b.cose", "--wait").returncode == 0
    proofs = world.read("b.cose").unprotected[HEADER_TLOG_PROOFS]
    message = world.read()
    swapped = {**message.unprotected, HEADER_TLOG_PROOFS: proofs}
    (world.folder / "a.cose").write_bytes(replace(message, unprotected=swapped).encode())
    assert world.verify()["reason"] == "witness-entry"


def test_trust_without_a_store_requires_no_witnesses(world):
    (world.folder / "key.pem").write_bytes(encode_public_pem(SIGNER.public_key))
    world.register("a.cose", "--wait")
    done = world.run("verify", "a.cose", "--trust", "key.pem")
    assert done.returncode == 0
    assert "? witnesses: not checked: no trust store requires witnesses" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pending", "--wait"), "--pending takes no files"),
        (("--pending", "--refresh"), "--pending takes no files"),
        (("a.cose", "--wait=x"), "x"),
    ],
)
def test_refused_combinations_are_explained(tmp_path, arguments, message):
    done = vacr("register", *arguments, "--service", "http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_waiting_needs_a_store_with_witnesses(tmp_path):
    (tmp_path / "a.cose").write_bytes(statement(profile="attached"))
    (tmp_path / "trust.toml").write_text("version = 1\n")
    done = vacr(
        *("register", "a.cose", "--service", "http://127.0.0.1:9", "--wait"),
        *("--trust-store", "trust.toml"),
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "no trust store requires witnesses" in done.stderr
    assert (
        parse_sign1((tmp_path / "a.cose").read_bytes())
        .unprotected.keys()
        .isdisjoint({HEADER_RECEIPTS, HEADER_TLOG_PROOFS})
    )


# --- Logs of others: tiles and nothing else ---

ONE, TWO = Cosigner("w1.example"), Cosigner("w2.example")


class OtherLog(TiledTestLog):
    """A log of somebody else: it serves checkpoint and tiles, and issues no receipts."""

    def store(self, required=2):
        parties = [
            TrustedParty("Log", (ROLE_LOG,), keys=(SIGNER.public_key,), note_key=self.vkey),
            TrustedParty("One", (ROLE_WITNESS,), note_key=ONE.vkey),
            TrustedParty("Two", (ROLE_WITNESS,), note_key=TWO.vkey),
        ]
        return TrustStore(tuple(parties), required)

    def publish_cosigned(self, *cosigners):
        note = self.publish()
        text = parse_signed_note(note).text
        self.write("checkpoint", note + b"".join(cosigner.line(text) for cosigner in cosigners))


@pytest.fixture
def other_log(tmp_path):
    log = OtherLog(tmp_path / "public", described=False)
    with served(tmp_path / "public") as server:
        log.url = server.url
        log.server = server
        yield log


def collect(log, data, **settings):
    with closing(ProofCollector(TiledLog(log.url), log.store(), **settings)) as collector:
        return collector.collect_proof(parse_sign1(data))


@pytest.mark.parametrize(("before", "after"), [(0, 0), (3, 4), (255, 0), (256, 1), (300, 700)])
def test_entry_is_found_in_the_tiles_of_other_logs(other_log, before, after):
    data = statement()
    other_log.add(before)
    other_log.entries.append(build_log_entry(parse_sign1(data)))
    other_log.add(after)
    other_log.publish_cosigned(ONE, TWO)
    proof, verified = collect(other_log, data)
    assert (proof.index, verified.index, verified.size) == (before, before, before + after + 1)
    assert verified.origin == ORIGIN


def test_statement_that_is_not_in_the_log_is_refused(other_log):
    other_log.add(300)
    other_log.publish_cosigned(ONE, TWO)
    with pytest.raises(InvalidStatement, match="does not contain the statement") as caught:
        collect(other_log, statement())
    assert caught.value.reason == "register-not-in-log"


def test_collector_waits_until_witnesses_cosigned(other_log):
    data = statement()
    other_log.entries.append(build_log_entry(parse_sign1(data)))
    other_log.add(5)
    other_log.publish_cosigned(ONE)
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            other_log.publish_cosigned(ONE, TWO)

    assert collect(other_log, data, wait=100, sleep=sleep)[0].index == 0
    assert pauses == [0.25, 0.5, 1.0]
    other_log.publish_cosigned(TWO)
    pauses.clear()
    with pytest.raises(NotWitnessedYet, match="1, but 2 are required"):
        collect(other_log, data, wait=2, sleep=pauses.append, clock=lambda: 0)
    assert sum(pauses) == 2


def test_slow_log_does_not_extend_the_wait(other_log):
    data = statement()
    other_log.entries.append(build_log_entry(parse_sign1(data)))
    other_log.add(5)
    other_log.publish_cosigned(ONE)
    pauses, clock = [], itertools.count(step=25)
    with pytest.raises(NotWitnessedYet):
        collect(other_log, data, wait=60, sleep=pauses.append, clock=lambda: next(clock))
    assert pauses == [0.25, 0.5]  # Three responses take 75 seconds.


def test_tiles_that_contradict_the_checkpoint_are_refused(other_log):
    data = statement()
    other_log.entries.append(build_log_entry(parse_sign1(data)))
    other_log.add(5)
    other_log.publish_cosigned(ONE, TWO)
    tile = other_log.folder / "tile/0/000.p/6"
    tile.write_bytes(tile.read_bytes()[:-32] + bytes(32))
    with pytest.raises(InvalidStatement) as caught:
        collect(other_log, data)
    assert caught.value.reason == "witness-entry"


def test_forged_cosignature_in_the_checkpoint_is_refused(other_log):
    data = statement()
    other_log.entries.append(build_log_entry(parse_sign1(data)))
    other_log.add(5)
    note = other_log.publish()
    smaller = parse_checkpoint(parse_signed_note(note).text)
    forged = ONE.line(replace(smaller, size=5).text)
    other_log.write("checkpoint", note + forged + TWO.line(smaller.text))
    with pytest.raises(InvalidStatement) as caught:
        collect(other_log, data)
    assert caught.value.reason == "witness-signature"


def test_store_needs_the_note_key_of_a_log(other_log):
    store = other_log.store()
    without = replace(store, parties=store.parties[1:])
    with pytest.raises(UsageError, match="a log with a note-key"):
        ProofCollector(TiledLog(other_log.url), without)
