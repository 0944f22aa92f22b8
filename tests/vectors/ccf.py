"""Statements with receipts in the profile of CCF, and with times as its services write them."""

from datetime import timedelta

import cbor2

from tests.transparency.ccf_ledger import CcfLedger
from tests.transparency.logs import Log
from tests.vectors.receipts import put_receipts_into
from tests.vectors.statements import NOW, Key, message

TIME = int((NOW - timedelta(days=1)).timestamp())
LATE = int((NOW + timedelta(hours=1)).timestamp())
EPOCH_TAG, TEXT_TAG = 1, 0


def tagged(time):
    return cbor2.CBORTag(EPOCH_TAG, time)


def add(vectors):
    """Add the vectors."""
    key, ledger, other = (
        Key.generate("eddsa"),
        CcfLedger(began=TIME),
        CcfLedger("other", began=TIME),
    )
    (vectors.folder / "ccf-signer.pub.pem").write_bytes(key.public_pem)
    statement = message(key, {1: -8, 4: key.thumbprint, 15: {1: "me", 2: "it"}})
    for either in (ledger, other):
        either.fill(2)
        either.index = either.add(statement)
        either.fill(3)
    small = CcfLedger("small", kind="es256", began=TIME)
    small.add(statement)
    for source, name in ((ledger, "ledger"), (other, "other-ledger"), (small, "small-ledger")):
        pem = Key(source.signer.key).public_pem
        (vectors.folder / f"ccf-{name}.pub.pem").write_bytes(pem)

    def add_receipt(name, verdict, *receipts, log="ccf-ledger.pub.pem", **policy):
        transparent = put_receipts_into(statement, list(receipts))
        trust = {"trust": ["ccf-signer.pub.pem"], "log_trust": [log], **policy}
        vectors.add(f"ccf-{name}", verdict, transparent, **trust)

    def add_proof(name, verdict, *proofs):
        encoded = [cbor2.dumps(proof) for proof in proofs]
        add_receipt(name, verdict, ledger.receipt(ledger.index, proofs=encoded))

    right = ledger.receipt(ledger.index)
    add_receipt("valid", "verified", right)
    add_receipt("valid-with-another", "verified", other.receipt(other.index), right)
    add_receipt("valid-any-entry-rule", "verified", right, entry_rule="digest")
    alone = small.receipt(0)
    small_trust = {"log": "ccf-small-ledger.pub.pem"}
    add_receipt("path-empty", "receipt-path-empty", alone, **small_trust)
    add_receipt("valid-path-empty", "verified", alone, **small_trust, lenient_receipts=True)
    add_headers(add_receipt, ledger, other)
    add_proofs(add_receipt, add_proof, ledger)
    add_times(vectors, key)


def add_headers(add_receipt, ledger, other):
    """Add headers that lack names, or name another key or tree."""
    index, header = ledger.index, ledger.header()
    for name, claims in (
        ("valid-unnamed", {"iss": None, "sub": None, "iat": None}),
        ("valid-no-issuer", {"iss": None}),
        ("valid-no-subject", {"sub": None}),
        ("valid-tagged-time", {"iat": tagged(TIME)}),
    ):
        add_receipt(name, "verified", ledger.receipt(index, header=ledger.header(**claims)))
    future = ledger.header(iat=tagged(LATE))
    add_receipt(
        "future-tagged-time", "receipt-issued-in-future", ledger.receipt(index, header=future)
    )
    unnamed = other.header(iss=None, sub=None, iat=None)
    add_receipt("unnamed-untrusted", "receipt-untrusted", other.receipt(index, header=unnamed))
    add_receipt("untrusted", "receipt-untrusted", other.receipt(index))
    stolen_kid = {**other.header(), 4: ledger.kid}
    add_receipt("kid-of-trusted", "receipt-signature", other.receipt(index, header=stolen_kid))
    text_kid = {**other.header(), 4: ledger.kid.decode()}
    add_receipt(
        "kid-of-trusted-as-text", "receipt-signature", other.receipt(index, header=text_kid)
    )
    for name, kid in (
        ("text", ledger.kid.decode()),
        ("thumbprint", Key(ledger.signer.key).thumbprint),
    ):
        add_receipt(
            f"valid-kid-of-{name}", "verified", ledger.receipt(index, header={**header, 4: kid})
        )
    as_rfc9162 = {**header, 395: 1}
    add_receipt("as-rfc9162", "receipt-malformed", ledger.receipt(index, header=as_rfc9162))
    without = {label: value for label, value in header.items() if label != 395}
    unprotected = {395: 2, 396: {-1: [cbor2.dumps(ledger.proof(index))]}}
    moved = ledger.receipt(index, header=without, unprotected=unprotected)
    add_receipt("tree-unprotected", "receipt-unprotected", moved)
    both = {396: {-1: [cbor2.dumps(ledger.proof(index))], -2: [cbor2.dumps([1, 2, []])]}}
    add_receipt("with-consistency", "receipt-malformed", ledger.receipt(index, unprotected=both))
    log = Log(began=TIME)
    log.fill(3)
    proof = cbor2.dumps([log.tree.size, 1, log.path(1)])
    add_receipt("proof-of-rfc9162", "receipt-malformed", ledger.receipt(index, proofs=[proof]))


def add_proofs(add_receipt, add_proof, ledger):
    """Add proofs of other statements, and malformed ones."""
    index = ledger.index
    leaf, path = ledger.leaf(index), ledger.path(index)
    add_receipt("of-another-statement", "receipt-entry", ledger.receipt(index + 1))
    swapped = [leaf[0], leaf[1], ledger.leaf(index + 1)[2]]
    add_proof("digest-swapped", "receipt-entry", {1: swapped, 2: path})
    own_digest = [*ledger.leaf(index + 1)[:2], leaf[2]]
    add_proof(
        "digest-in-another-leaf", "receipt-signature", {1: own_digest, 2: ledger.path(index + 1)}
    )
    changed = [leaf[0], leaf[1] + "x", leaf[2]]
    add_proof("evidence-changed", "receipt-signature", {1: changed, 2: path})
    flipped = [[not path[0][0], path[0][1]], *path[1:]]
    add_proof("side-flipped", "receipt-signature", {1: leaf, 2: flipped})
    add_proof("path-short", "receipt-signature", {1: leaf, 2: path[:-1]})
    add_proof("two-roots", "receipt-root", ledger.proof(index), {1: leaf, 2: path[:-1]})
    add_proof("valid-two-proofs", "verified", ledger.proof(index), ledger.proof(index))
    for name, proof in (
        ("no-leaf", {2: path}),
        ("no-path", {1: leaf}),
        ("more-members", {1: leaf, 2: path, 3: 1}),
        ("label-true", {True: leaf, 2: path}),
        ("leaf-of-two", {1: leaf[:2], 2: path}),
        ("hash-short", {1: [leaf[0][:31], *leaf[1:]], 2: path}),
        ("evidence-of-bytes", {1: [leaf[0], leaf[1].encode(), leaf[2]], 2: path}),
        ("side-of-number", {1: leaf, 2: [[1, path[0][1]], *path[1:]]}),
        ("sibling-long", {1: leaf, 2: [[True, bytes(33)]]}),
        ("step-of-three", {1: leaf, 2: [[True, bytes(32), 1]]}),
        ("path-too-long", {1: leaf, 2: [[True, bytes(32)]] * 65}),
        ("proof-of-text", "proof"),
    ):
        add_proof(name, "receipt-malformed", proof)
    root = ledger.receipt(index, root=bytes(32))
    add_receipt("another-root", "receipt-signature", root)


def add_times(vectors, key):
    """Add statements with tagged times."""
    trust = {"trust": ["ccf-signer.pub.pem"]}
    for name, verdict, claims in (
        ("valid-statement-of-tagged-time", "verified", {6: tagged(TIME)}),
        ("valid-statement-of-tagged-times", "verified", {4: tagged(LATE), 5: tagged(TIME + 0.5)}),
        ("statement-of-future-tagged-time", "issued-in-future", {6: tagged(LATE)}),
        ("statement-of-expired-tagged-time", "claims-expired", {4: tagged(TIME)}),
        ("statement-of-tagged-text", "claims-malformed", {6: tagged("now")}),
        ("statement-of-time-of-another-tag", "claims-malformed", {6: cbor2.CBORTag(100, TIME)}),
        ("statement-of-tag-twice", "claims-malformed", {6: tagged(tagged(TIME))}),
        ("statement-of-tagged-issuer", "claims-malformed", {1: tagged(TIME)}),
    ):
        vectors.add(f"ccf-{name}", verdict, message(key, {1: -8, 15: claims}), **trust)
