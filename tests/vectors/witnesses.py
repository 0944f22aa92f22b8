"""Statements with tlog-proofs of witnesses, valid and invalid, and the trust stores for them."""

import base64
from dataclasses import replace
from datetime import timedelta

import cbor2

from tests.transparency.witnessed import Cosigner, WitnessedLog, build_store
from tests.vectors.statements import NOW, Key, message
from vacr.transparency.checkpoint import NoteSignature, sign_checkpoint
from vacr.transparency.tree import hash_leaf
from vacr.verification.trust_store_file import format_trust_store

TIME = int((NOW - timedelta(days=1)).timestamp())
RECEIPTS, PROOFS = 394, -75101


class WitnessedStatement:
    """A statement in a witnessed log, with its receipt."""

    def __init__(self, key):
        self.statement = message(key, {1: key.algorithm, 4: key.thumbprint})
        self.log = WitnessedLog(began=TIME)
        self.log.fill(3)
        self.index = self.log.add(self.statement)
        self.receipt = self.log.receipt(self.statement)
        self.log.fill(4)
        self.one, self.two, self.three = (Cosigner(f"w{n}.example") for n in (1, 2, 3))

    @property
    def text(self):
        return self.log.checkpoint.text

    def proof(self, *cosigners, time=TIME):
        """Return a proof that is valid if enough of the cosigners are trusted."""
        return self.log.proof(self.statement, *cosigners, time=time)

    def with_proofs(self, *proofs, receipt=None):
        """Return the statement with proofs; a single value that is not a proof is the header."""
        header = [
            proof if isinstance(proof, bytes | str | int) else proof.encode() for proof in proofs
        ]
        return self.with_header(header, receipt)

    def with_header(self, header, receipt=None):
        unprotected = {RECEIPTS: [receipt or self.receipt]}
        if header is not None:
            unprotected[PROOFS] = header
        parts = list(cbor2.loads(self.statement).value)
        return (
            b"\xd2\x84"
            + cbor2.dumps(parts[0])
            + cbor2.dumps(unprotected)
            + b"".join(map(cbor2.dumps, parts[2:]))
        )


def add(vectors):
    """Add statements with proofs of witnesses."""
    key = Key.generate("eddsa")
    seen = WitnessedStatement(key)
    one, two, three = seen.one, seen.two, seen.three
    (vectors.folder / "witness-signer.pub.pem").write_bytes(key.public_pem)
    (vectors.folder / "witness-log.pub.pem").write_bytes(Key(seen.log.signer.key).public_pem)
    stores = {
        "trust": build_store(seen.log, (one, two, three), 2),
        "trust-of-one": build_store(seen.log, (one, two, three), 1),
        "trust-of-none": build_store(seen.log, (one, two, three), 0),
        "trust-no-note-key": build_store(None, (one, two, three), 2),
        "trust-validity": build_store(
            seen.log, (one, two, three), 2, validity={"valid_until": NOW - timedelta(days=2)}
        ),
        "trust-log-validity": build_store(
            seen.log, (one, two, three), 2, log_validity={"valid_until": NOW - timedelta(hours=12)}
        ),
    }
    for name, store in stores.items():
        (vectors.folder / f"witness-{name}.toml").write_bytes(format_trust_store(store))

    def add_statement(name, verdict, statement, store="trust"):
        vectors.add(
            f"witness-{name}",
            verdict,
            statement,
            trust=["witness-signer.pub.pem"],
            log_trust=["witness-log.pub.pem"],
            trust_store=f"witness-{store}.toml",
        )

    def add_proof(name, verdict, *proofs, store="trust"):
        add_statement(name, verdict, seen.with_proofs(*proofs), store)

    right = seen.proof(one, two)
    add_proof("valid", "verified", right)
    add_proof("valid-all", "verified", seen.proof(three, two, one))
    add_proof("valid-extra", "verified", replace(right, extra=b"not signed"))
    add_proof("valid-one-of-three", "verified", seen.proof(three), store="trust-of-one")
    add_proof("valid-and-one-of-unknown-log", "verified", _make_other_proof(seen), right)
    stranger = Cosigner("stranger.example")
    add_proof("valid-and-unknown-witness", "verified", seen.proof(stranger, one, two))
    add_statement("valid-none-required", "verified", seen.with_header(None), "trust-of-none")
    add_proof("valid-not-checked", "verified", b"garbage", store="trust-of-none")
    add_statement("missing", "witness-missing", seen.with_header(None))
    _add_forms(add_proof, add_statement, seen, right)
    _add_attacks(add_proof, add_statement, seen, right)


def _make_other_proof(seen):
    other = WitnessedLog("other.example")
    other.fill(2)
    return other.proof(seen.statement, seen.one, seen.two, time=TIME)


def _add_forms(add_proof, add_statement, seen, right):
    """Add malformed proofs."""
    encoded = right.encode()
    for name, header in {
        "not-a-list": encoded,
        "empty-list": [],
        "map": {1: encoded},
        "too-many": [encoded] * 17,
        "text": [encoded.decode()],
        "number": [1],
    }.items():
        add_statement(f"header-{name}", "witness-malformed", seen.with_header(header))
    index = f"index {right.index}".encode()
    for name, data in {
        "empty": b"",
        "version": encoded.replace(b"@v1", b"@v2"),
        "index-zeros": encoded.replace(index, b"index 0%d" % right.index),
        "index-missing": encoded.replace(index + b"\n", b""),
        "index-huge": encoded.replace(index, b"index 9223372036854775808"),
        "line-ends": encoded.replace(b"\n", b"\r\n"),
        "extra-empty": encoded.replace(index, b"extra \n" + index),
        "extra-twice": encoded.replace(index, b"extra AAAA\nextra AAAA\n" + index),
        "hash-short": encoded.replace(index, index + b"\nAAAA"),
        "hash-unpadded": encoded.replace(b"=\n", b"\n", 1),
        "hashes-too-many": replace(right, path=(bytes(32),) * 64).encode(),
        "checkpoint-missing": encoded.split(b"\n\n")[0] + b"\n\n",
        "checkpoint-unsigned": b"\n\n".join(encoded.split(b"\n\n")[:2]) + b"\n",
        "trailing-line": encoded + b"\n",
        "too-large": encoded + b"x" * 65_536,
        "not-utf8": encoded.replace(b"w1.example", b"w1.exampl\xff"),
    }.items():
        add_proof(f"form-{name}", "witness-malformed", data)


def _add_attacks(add_proof, add_statement, seen, right):
    """Add proofs that are well-formed and do not prove it."""
    one, two, three, log = seen.one, seen.two, seen.three, seen.log
    add_proof("too-few", "witness-too-few", seen.proof(one))
    add_proof("none-cosigned", "witness-too-few", seen.proof())
    stranger = Cosigner("stranger.example")
    add_proof("of-stranger", "witness-too-few", seen.proof(one, stranger))
    twice = replace(seen.proof(one), note=seen.proof(one).note + one.line(seen.text, TIME + 5))
    add_proof("twice", "witness-too-few", twice)
    alias = Cosigner("w2.example", one.key)
    add_proof("of-one-key-under-two-names", "witness-too-few", seen.proof(one, alias))
    log_as_witness = Cosigner("w2.example", log.note_key)
    add_proof("of-the-log-itself", "witness-too-few", seen.proof(one, log_as_witness))
    add_proof("of-unknown-log", "witness-origin", _make_other_proof(seen))
    add_proof("log-without-note-key", "witness-origin", right, store="trust-no-note-key")
    impostor = WitnessedLog()
    impostor.fill(2)
    add_proof("other-log-key", "witness-log-key", impostor.proof(seen.statement, one, two))
    false_line = NoteSignature(log.origin, log.vkey.id, bytes(64)).line.encode()
    forged = replace(right, note=right.note + false_line)
    add_proof("log-signature-forged", "witness-log-signature", forged)
    unsigned = seen.text.encode() + b"\n" + one.line(seen.text, TIME) + two.line(seen.text, TIME)
    add_proof("log-signature-missing", "witness-log-key", replace(right, note=unsigned))
    bare = seen.proof(two, three)
    false_line = NoteSignature(one.name, one.vkey.id, TIME.to_bytes(8, "big") + bytes(64)).line
    add_proof(
        "signature-forged", "witness-signature", replace(bare, note=bare.note + false_line.encode())
    )
    blob = base64.b64decode(one.line(seen.text, TIME).split()[-1])[4:]
    changed = NoteSignature(one.name, one.vkey.id, (TIME - 1).to_bytes(8, "big") + blob[8:]).line
    add_proof(
        "signature-other-time",
        "witness-signature",
        replace(bare, note=bare.note + changed.encode()),
    )
    short = NoteSignature(one.name, one.vkey.id, blob[:-1]).line.encode()
    add_proof("signature-short", "witness-signature", replace(bare, note=bare.note + short))
    note_of_witness = sign_checkpoint(replace(log.checkpoint, origin=one.name), one.key)
    plain = seen.proof(two)
    add_proof(
        "signature-of-note-kind",
        "witness-too-few",
        replace(plain, note=plain.note + note_of_witness.split(b"\n\n")[1]),
    )
    future = int((NOW + timedelta(hours=1)).timestamp())
    add_proof("in-future", "witness-too-few", seen.proof(one, two, time=future))
    add_proof("at-zero", "witness-too-few", seen.proof(one, two, time=0))
    add_proof("not-trusted-any-more", "witness-too-few", right, store="trust-validity")
    late = seen.proof(one, two, time=int((NOW - timedelta(hours=1)).timestamp()))
    add_proof("log-not-trusted-any-more", "witness-log-validity", late, store="trust-log-validity")
    _add_wrong_entries(add_proof, add_statement, seen, right)


def _add_wrong_entries(add_proof, add_statement, seen, right):
    """Add proofs for other entries and other trees."""
    log = seen.log
    add_proof("stale", "witness-stale", replace(right, index=log.tree.size))
    add_proof("other-index", "witness-entry", replace(right, index=right.index ^ 1))
    add_proof("path-changed", "witness-entry", replace(right, path=(bytes(32), *right.path[1:])))
    add_proof("path-short", "witness-path", replace(right, path=right.path[:-1]))
    add_proof("path-long", "witness-path", replace(right, path=(*right.path, bytes(32))))
    add_proof("path-empty", "witness-path", replace(right, path=()))
    neighbour = replace(right, index=1, path=tuple(log.path(1)))
    add_proof("of-another-entry", "witness-entry", neighbour)
    # The log signed two trees of the same size: one in the receipt, the other in the checkpoint.
    fork = WitnessedLog(note_key=log.note_key, began=TIME)
    fork.signer = log.signer
    while fork.tree.size < log.tree.size - 1:
        fork.tree.add(hash_leaf(b"forked %d" % fork.tree.size))
    receipt = fork.receipt(seen.statement)
    add_statement("inconsistent", "witness-inconsistent", seen.with_proofs(right, receipt=receipt))
