"""Proofs of witnesses: strict parsing, and the attacks that verification refuses."""

import base64
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transparency.witnessed import TIME, Cosigner, WitnessedLog
from vacr.errors import InvalidStatement
from vacr.signing.cose import HEADER_RECEIPTS, HEADER_TLOG_PROOFS, parse_sign1
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign
from vacr.transparency.checkpoint import NoteSignature, sign_checkpoint
from vacr.transparency.receipt import add_receipt, build_log_entry
from vacr.transparency.tlog_proof import (
    MAX_TLOG_PROOF_SIZE,
    TlogProof,
    add_tlog_proof,
    list_tlog_proofs,
    parse_tlog_proof,
    verify_tlog_proof,
)
from vacr.transparency.tree import hash_leaf

SIGNER = KeySigner(generate_key("eddsa"))
STATEMENT = sign(b"a record", SIGNER)
LEAF = hash_leaf(build_log_entry(parse_sign1(STATEMENT)))
LOG = WitnessedLog()
LOG.fill(5)
ONE, TWO, THREE = (Cosigner(f"w{number}.example") for number in (1, 2, 3))
PROOF = LOG.proof(STATEMENT, ONE, TWO)
LOG_OF_PROOF = WitnessedLog()
LOG_OF_PROOF.fill(4)
LOG_OF_PROOF.add(STATEMENT)


def verify(proof=PROOF, *, leaf=LEAF, logs=(LOG,), witnesses=(ONE, TWO, THREE), required=2):
    return verify_tlog_proof(
        proof,
        leaf,
        [log.vkey for log in logs],
        [witness.vkey for witness in witnesses],
        required=required,
    )


def refuse(reason, *given, **settings):
    with pytest.raises(InvalidStatement) as caught:
        verify(*given, **settings)
    assert caught.value.reason == reason
    return caught.value.message


def test_proof_shows_position_size_and_witnesses():
    entry = verify()
    assert (entry.index, entry.checkpoint.size) == (6, 7)
    assert {cosignature.key for cosignature in entry.cosignatures} == {ONE.vkey, TWO.vkey}
    assert [cosignature.time for cosignature in entry.cosignatures] == [TIME, TIME]


def test_every_entry_of_small_logs_has_a_valid_proof():
    for size in range(1, 20):
        log = WitnessedLog(genesis=False)
        statements = [sign(b"%d" % number, SIGNER) for number in range(size)]
        for statement in statements:
            log.add(statement)
        for index, statement in enumerate(statements):
            proof = parse_tlog_proof(log.proof(statement, ONE).encode())
            leaf = hash_leaf(build_log_entry(parse_sign1(statement)))
            assert verify(proof, leaf=leaf, logs=[log], required=1).index == index


# --- Attacks ---


def test_proof_for_another_entry_is_refused():
    other = LOG.proof(sign(b"another record", SIGNER), ONE, TWO)
    refuse("witness-entry", other)
    refuse("witness-entry", leaf=hash_leaf(b"another"))


def test_changed_path_or_index_is_refused():
    refuse("witness-entry", replace(PROOF, path=(bytes(32), *PROOF.path[1:])))
    refuse("witness-path", replace(PROOF, path=PROOF.path[:-1]))
    refuse("witness-path", replace(PROOF, path=(*PROOF.path, bytes(32))))
    for index in range(6):
        with pytest.raises(InvalidStatement):
            verify(replace(PROOF, index=index))


def test_checkpoint_older_than_the_entry_is_refused():
    assert "older than the entry" in refuse("witness-stale", replace(PROOF, index=7))
    refuse("witness-stale", replace(PROOF, index=(1 << 63) - 1))


def test_checkpoint_of_another_origin_is_refused():
    other = WitnessedLog("other.example", LOG.note_key)
    other.fill(5)
    proof = other.proof(STATEMENT, ONE, TWO)
    assert "other.example" in refuse("witness-origin", proof)
    refuse("witness-origin", logs=())


def test_checkpoint_signed_with_another_log_key_is_refused():
    stranger = WitnessedLog()
    stranger.fill(5)
    refuse("witness-log-key", stranger.proof(STATEMENT, ONE, TWO))


def test_forged_signature_of_the_log_is_refused():
    line = NoteSignature(LOG.origin, LOG.vkey.id, bytes(64)).line.encode()
    refuse("witness-log-signature", replace(PROOF, note=PROOF.note + line))


def test_checkpoint_without_the_logs_signature_is_refused():
    text = LOG_OF_PROOF.checkpoint.text
    proof = replace(LOG_OF_PROOF.proof(STATEMENT), note=text.encode() + b"\n" + ONE.line(text))
    refuse("witness-log-key", proof, logs=[LOG_OF_PROOF], required=1)


def test_too_few_witnesses_are_refused():
    assert "2, but 3 are required" in refuse("witness-too-few", required=3)
    refuse("witness-too-few", witnesses=(ONE, THREE))
    refuse("witness-too-few", witnesses=())
    assert len(verify(witnesses=(ONE, THREE), required=1).cosignatures) == 1


def test_witness_with_two_lines_counts_once():
    text = LOG_OF_PROOF.checkpoint.text
    proof = LOG_OF_PROOF.proof(STATEMENT, ONE)
    twice = replace(proof, note=proof.note + ONE.line(text, TIME + 5))
    refuse("witness-too-few", twice, logs=[LOG_OF_PROOF])
    assert verify(twice, logs=[LOG_OF_PROOF], required=1).cosignatures[0].time == TIME + 5


def test_witness_under_two_names_counts_once():
    alias = Cosigner("alias.example", ONE.key)
    proof = LOG_OF_PROOF.proof(STATEMENT, ONE, alias)
    refuse("witness-too-few", proof, logs=[LOG_OF_PROOF], witnesses=(ONE, alias))
    assert len(verify(proof, logs=[LOG_OF_PROOF], witnesses=(ONE, alias), required=1).cosignatures)


def test_log_cannot_be_its_own_witness():
    own = Cosigner("log-as-witness.example", LOG_OF_PROOF.note_key)
    same_name = Cosigner(LOG_OF_PROOF.origin, LOG_OF_PROOF.note_key)
    proof = LOG_OF_PROOF.proof(STATEMENT, ONE, own, same_name)
    refuse("witness-too-few", proof, logs=[LOG_OF_PROOF], witnesses=(ONE, own, same_name))


def test_note_signature_of_a_witness_key_is_not_a_cosignature():
    """A witness that also signs notes did not say that the log only grew."""
    checkpoint = replace(LOG_OF_PROOF.checkpoint, origin=ONE.name)
    signature = sign_checkpoint(checkpoint, ONE.key).split(b"\n\n")[1]
    proof = LOG_OF_PROOF.proof(STATEMENT)
    refuse(
        "witness-too-few",
        replace(proof, note=proof.note + signature),
        logs=[LOG_OF_PROOF],
        required=1,
    )


def test_cosignature_of_another_checkpoint_is_refused():
    smaller = WitnessedLog(note_key=LOG.note_key)
    line = ONE.line(smaller.checkpoint.text)
    proof = LOG_OF_PROOF.proof(STATEMENT, TWO, THREE)
    stolen = replace(proof, note=proof.note + line)
    assert "forged" in refuse("witness-signature", stolen, logs=[LOG_OF_PROOF])
    assert verify(stolen, logs=[LOG_OF_PROOF], witnesses=(TWO, THREE))


def test_cosignature_with_a_changed_time_is_refused():
    text = LOG_OF_PROOF.checkpoint.text
    key_id = ONE.vkey.id
    blob = base64.b64decode(ONE.line(text).split()[-1])[4:]
    changed = NoteSignature(ONE.name, key_id, (TIME - 9).to_bytes(8, "big") + blob[8:])
    proof = LOG_OF_PROOF.proof(STATEMENT, TWO, THREE)
    note = proof.note + changed.line.encode()
    refuse("witness-signature", replace(proof, note=note), logs=[LOG_OF_PROOF])


# --- The text form ---

MALFORMED = {
    "empty": b"",
    "another version": PROOF.encode().replace(b"@v1", b"@v2"),
    "no empty line": PROOF.encode().split(b"\n\n")[0] + b"\n",
    "windows line ends": PROOF.encode().replace(b"\n", b"\r\n"),
    "no index": PROOF.encode().replace(b"index 6\n", b""),
    "index with zeros": PROOF.encode().replace(b"index 6", b"index 06"),
    "negative index": PROOF.encode().replace(b"index 6", b"index -6"),
    "huge index": PROOF.encode().replace(b"index 6", b"index 9223372036854775808"),
    "index of other digits": PROOF.encode().replace(b"index 6", "index ٦".encode()),
    "empty extra": PROOF.encode().replace(b"index", b"extra \nindex"),
    "extra not base64": PROOF.encode().replace(b"index", b"extra !\nindex"),
    "extra twice": PROOF.encode().replace(b"index", b"extra AAAA\nextra AAAA\nindex"),
    "extra after index": PROOF.encode().replace(b"index 6\n", b"index 6\nextra AAAA\n"),
    "short hash": PROOF.encode().replace(b"index 6\n", b"index 6\nAAAA\n"),
    "too many hashes": TlogProof(6, (bytes(32),) * 64, PROOF.note).encode(),
    "no checkpoint": PROOF.encode().split(b"\n\n")[0] + b"\n\n",
    "checkpoint without signature": b"\n\n".join(PROOF.encode().split(b"\n\n")[:2]) + b"\n",
    "trailing line": PROOF.encode() + b"\n",
    "too large": PROOF.encode() + b"x" * MAX_TLOG_PROOF_SIZE,
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_malformed_proof_is_refused(data):
    with pytest.raises(InvalidStatement) as caught:
        parse_tlog_proof(data)
    assert caught.value.reason == "witness-malformed"


def test_unused_bits_of_base64_are_refused():
    lines = PROOF.encode().decode().split("\n")
    assert lines[2].endswith("=")
    changed = chr(ord(lines[2][-2]) + 1)
    lines[2] = f"{lines[2][:-2]}{changed}="
    with pytest.raises(InvalidStatement):
        parse_tlog_proof("\n".join(lines).encode())


@given(
    st.integers(0, (1 << 63) - 1),
    st.lists(st.binary(min_size=32, max_size=32), max_size=63),
    st.binary(max_size=50),
)
def test_formatted_proof_parses_to_the_same(index, path, extra):
    proof = TlogProof(index, tuple(path), PROOF.note, extra)
    assert parse_tlog_proof(proof.encode()) == proof


@given(st.data())
def test_changed_proof_is_refused_or_encodes_to_the_same_bytes(data):
    """Parsing is strict: no two texts have the same meaning."""
    encoded = bytearray(PROOF.encode())
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        proof = parse_tlog_proof(bytes(encoded))
    except InvalidStatement:
        return
    assert proof.encode() == encoded


# --- In a statement ---


def test_proof_changes_neither_entry_nor_receipt():
    transparent = add_receipt(STATEMENT, LOG.receipt(STATEMENT))
    witnessed = add_tlog_proof(transparent, PROOF, [LOG.vkey])
    message = parse_sign1(witnessed)
    assert build_log_entry(message) == build_log_entry(parse_sign1(STATEMENT))
    before = parse_sign1(transparent).unprotected
    assert message.unprotected[HEADER_RECEIPTS] == before[HEADER_RECEIPTS]
    assert list_tlog_proofs(message) == [PROOF.encode()]
    assert parse_sign1(add_receipt(witnessed, LOG.receipt(STATEMENT))).unprotected[
        HEADER_TLOG_PROOFS
    ] == [PROOF.encode()]


def test_newer_proof_replaces_one_of_the_same_log_only():
    other = WitnessedLog("other.example")
    forged = WitnessedLog(LOG.origin)
    statement = STATEMENT
    for log in (other, forged, LOG_OF_PROOF):
        statement = add_tlog_proof(statement, log.proof(STATEMENT, ONE), [log.vkey])
    newer = LOG_OF_PROOF.proof(STATEMENT, ONE, TWO)
    kept = list_tlog_proofs(parse_sign1(add_tlog_proof(statement, newer, [LOG_OF_PROOF.vkey])))
    assert kept == [
        other.proof(STATEMENT, ONE).encode(),
        forged.proof(STATEMENT, ONE).encode(),
        newer.encode(),
    ]


def put(value):
    message = parse_sign1(STATEMENT)
    return replace(message, unprotected={**message.unprotected, HEADER_TLOG_PROOFS: value})


@pytest.mark.parametrize("value", [[], b"x", "x", {}, [1], ["text"], [b"x"] * 17, None])
def test_header_must_be_a_list_of_byte_strings(value):
    with pytest.raises(InvalidStatement) as caught:
        list_tlog_proofs(put(value))
    assert caught.value.reason == "witness-malformed"


def test_proofs_in_the_protected_header_are_refused():
    message = parse_sign1(STATEMENT)
    protected = replace(message, protected={**message.protected, HEADER_TLOG_PROOFS: [b"x"]})
    with pytest.raises(InvalidStatement) as caught:
        list_tlog_proofs(protected)
    assert caught.value.reason == "witness-protected"


def test_statement_has_room_for_sixteen_proofs():
    full = put([b"%d" % number for number in range(16)]).encode()
    with pytest.raises(InvalidStatement, match="already has 16"):
        add_tlog_proof(full, PROOF, [LOG.vkey])
