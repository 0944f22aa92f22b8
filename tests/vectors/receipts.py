"""Statements with receipts of logs, valid and invalid; receipts are written byte by byte."""

from datetime import timedelta

import cbor2

from tests.transparency.logs import Log
from tests.vectors.certificates import Authority, certificate, days
from tests.vectors.statements import NOW, Key, message

TIME = int((NOW - timedelta(days=1)).timestamp())


class LoggedStatement:
    """A statement in a log, whose receipt can be made wrong in any part."""

    def __init__(self, key, headers=None, name="https://log.example", **settings):
        self.key = key
        self.headers = {1: key.algorithm, 4: key.thumbprint, **(headers or {})}
        self.statement = message(key, self.headers)
        self.log = Log(name, began=TIME, **settings)
        self.log.fill(2)
        self.index = self.log.add(self.statement)
        self.log.fill(3)

    @property
    def size(self):
        return self.log.tree.size

    def header(self, **odd):
        claims = {1: self.log.name, 2: "log.example", 6: TIME}
        kid = Key(self.log.signer.key).thumbprint
        return {1: self.log.signer.algorithm, 4: kid, 15: claims, 395: 1, **odd.pop("more", {})}

    def receipt(
        self,
        *,
        head=None,
        proof=None,
        kind=-1,
        proofs=None,
        unprotected=None,
        payload=None,
        root=None,
        tag=b"\xd2",
        sign=None,
    ):
        """Encode a receipt that is valid except for the arguments."""
        head = cbor2.dumps(self.header() if head is None else head)
        proof = [self.size, self.index, self.log.path(self.index)] if proof is None else proof
        listed = [cbor2.dumps(proof)] if proofs is None else proofs
        if unprotected is None:
            unprotected = {396: {kind: listed}}
        root = self.log.tree.root() if root is None else root
        signature = (sign or self.log.signer).sign(cbor2.dumps(["Signature1", head, b"", root]))
        return (
            tag
            + b"\x84"
            + cbor2.dumps(head)
            + cbor2.dumps(unprotected)
            + cbor2.dumps(payload)
            + cbor2.dumps(signature)
        )

    def with_receipts(self, *receipts):
        written = (
            receipts[0]
            if len(receipts) == 1 and not isinstance(receipts[0], bytes)
            else list(receipts)
        )
        return put_receipts_into(self.statement, written)


def put_receipts_into(statement, receipts):
    parts = list(cbor2.loads(statement).value)
    return (
        b"\xd2\x84"
        + cbor2.dumps(parts[0])
        + cbor2.dumps({394: receipts})
        + b"".join(map(cbor2.dumps, parts[2:]))
    )


def add(vectors):
    """Add statements with receipts."""
    key = Key.generate("eddsa")
    logged, other = LoggedStatement(key), LoggedStatement(key, name="https://other.example")
    (vectors.folder / "receipt-signer.pub.pem").write_bytes(key.public_pem)
    for name, registered in (("log", logged), ("other-log", other)):
        (vectors.folder / f"receipt-{name}.pub.pem").write_bytes(
            Key(registered.log.signer.key).public_pem
        )

    def add_receipt(name, verdict, *receipts, statement=None, **policy):
        policy = {
            "trust": ["receipt-signer.pub.pem"],
            "log_trust": ["receipt-log.pub.pem"],
            **policy,
        }
        vectors.add(
            f"receipt-{name}", verdict, statement or logged.with_receipts(*receipts), **policy
        )

    add_valid(add_receipt, logged, other)
    add_placements(add_receipt, logged)
    add_proofs(add_receipt, logged)
    add_headers(add_receipt, logged)
    add_signatures(add_receipt, logged, other)
    add_claims(add_receipt, logged)
    add_entry_rules(vectors, key)
    add_expired_certificates(vectors)


def add_valid(add_receipt, logged, other):
    right = logged.receipt()
    both = ["receipt-log.pub.pem", "receipt-other-log.pub.pem"]
    add_receipt("valid", "verified", right)
    add_receipt("valid-root-attached", "verified", logged.receipt(payload=logged.log.tree.root()))
    add_receipt("valid-two-logs", "verified", right, other.receipt(), log_trust=both)
    add_receipt("valid-and-one-of-unknown-log", "verified", other.receipt(), right)
    add_receipt(
        "valid-no-kid",
        "verified",
        logged.receipt(head={**logged.header(), 4: b"?"}),
        log_trust=both[::-1],
    )
    add_receipt("valid-critical", "verified", logged.receipt(head={**logged.header(), 2: [395]}))
    add_receipt("valid-no-log-trusted", "verified", right, log_trust=[])
    other_tree = logged.receipt(head={**other.header(), 395: 3})
    add_receipt("valid-and-one-of-another-tree", "verified", other_tree, right)
    add_receipt("missing", "receipt-missing", statement=logged.statement)
    add_receipt("of-unknown-log", "receipt-untrusted", other.receipt())
    add_receipt("of-unknown-log-of-another-tree", "receipt-untrusted", other_tree)
    bad = logged.receipt(root=bytes(32))
    add_receipt("two-one-bad", "receipt-signature", other.receipt(), bad, log_trust=both)
    add_receipt("two-of-one-log-one-bad", "receipt-signature", right, bad)


def add_placements(add_receipt, logged):
    """Add receipts in wrong places and wrong containers."""
    right = logged.receipt()
    add_receipt("no-list", "receipt-malformed", {1: right})
    add_receipt(
        "one-not-in-a-list",
        "receipt-malformed",
        statement=put_receipts_into(logged.statement, right),
    )
    add_receipt(
        "empty-list", "receipt-malformed", statement=put_receipts_into(logged.statement, [])
    )
    inline = cbor2.CBORTag(18, [*cbor2.loads(right).value])
    add_receipt(
        "not-a-byte-string",
        "receipt-malformed",
        statement=put_receipts_into(logged.statement, [inline]),
    )
    add_receipt("not-cbor", "receipt-malformed", b"\xff")
    add_receipt("trailing-bytes", "receipt-malformed", right + b"\x00")
    add_receipt("untagged", "receipt-untagged", logged.receipt(tag=b""))
    add_receipt("wrong-tag", "receipt-malformed", logged.receipt(tag=b"\xd1"))
    add_receipt(
        "protected",
        "receipt-protected",
        statement=message(logged.key, {**logged.headers, 394: [right]}),
    )
    add_receipt(
        "is-the-statement", "receipt-tree", logged.statement, log_trust=["receipt-signer.pub.pem"]
    )
    add_receipt("many", "receipt-malformed", *[right] * 65)


def add_proofs(add_receipt, logged):
    """Add wrong proofs."""
    size, index, path = logged.size, logged.index, logged.log.path(logged.index)
    leads_elsewhere = "receipt-signature"
    for name, verdict, proof in (
        ("of-another-entry", leads_elsewhere, [size, 1, logged.log.path(1)]),
        ("wrong-index", leads_elsewhere, [size, index ^ 1, path]),
        ("index-is-size", "receipt-index", [size, size, path]),
        ("index-past-size", "receipt-index", [size, size + 7, path]),
        ("index-negative", "receipt-index", [size, -1, path]),
        ("size-zero", "receipt-index", [0, 0, path]),
        ("other-size", "receipt-path", [size * 2 + 1, index, path]),
        ("short-path", "receipt-path", [size, index, path[:-1]]),
        ("long-path", "receipt-path", [size, index, [*path, bytes(32)]]),
        ("changed-path", leads_elsewhere, [size, index, [bytes(32), *path[1:]]]),
        ("swapped-path", leads_elsewhere, [size, index, path[::-1]]),
        (
            "path-of-short-hashes",
            "receipt-malformed",
            [size, index, [digest[:31] for digest in path]],
        ),
        ("path-of-text", "receipt-malformed", [size, index, ["x" * 32 for _ in path]]),
        ("path-of-no-list", "receipt-malformed", [size, index, b"".join(path)]),
        ("path-endless", "receipt-malformed", [2**63, index, [bytes(32)] * 65]),
        ("path-empty-in-larger-tree", "receipt-path-empty", [size, index, []]),
        ("index-of-text", "receipt-malformed", [size, str(index), path]),
        ("index-true", "receipt-malformed", [size, True, path]),
        ("index-fraction", "receipt-malformed", [size, float(index), path]),
        ("two-parts", "receipt-malformed", [size, path]),
        ("four-parts", "receipt-malformed", [size, index, path, 0]),
    ):
        add_receipt(f"proof-{name}", verdict, logged.receipt(proof=proof))
    right = cbor2.dumps([size, index, path])
    add_receipt(
        "proof-not-in-bytes", "receipt-malformed", logged.receipt(proofs=[[size, index, path]])
    )
    add_receipt("proof-none", "receipt-malformed", logged.receipt(proofs=[]))
    add_receipt("proof-no-list", "receipt-malformed", logged.receipt(proofs=right))
    add_receipt(
        "proof-trailing-bytes", "receipt-malformed", logged.receipt(proofs=[right + b"\x00"])
    )
    add_receipt("proof-twice", "verified", logged.receipt(proofs=[right, right]))
    other = cbor2.dumps([size, 1, logged.log.path(1)])
    add_receipt(
        "proofs-of-different-entries", "receipt-root", logged.receipt(proofs=[right, other])
    )
    consistency = [2, size, [bytes(32)]]
    add_receipt("of-consistency", "receipt-kind", logged.receipt(proof=consistency, kind=-2))
    add_receipt("inclusion-as-consistency", "receipt-kind", logged.receipt(kind=-2))
    add_receipt(
        "of-both-kinds",
        "receipt-kind",
        logged.receipt(unprotected={396: {-1: [right], -2: [cbor2.dumps(consistency)]}}),
    )
    add_receipt("of-no-kind", "receipt-malformed", logged.receipt(kind=-3))
    add_receipt("without-proofs", "receipt-malformed", logged.receipt(unprotected={}))
    add_receipt("root-in-payload-is-another", "receipt-root", logged.receipt(payload=bytes(32)))
    add_receipt(
        "root-in-payload-is-another-and-signed",
        "receipt-root",
        logged.receipt(payload=bytes(32), root=bytes(32)),
    )
    add_receipt(
        "signed-the-leaf-not-the-root", leads_elsewhere, logged.receipt(root=logged.statement)
    )
    add_receipt(
        "of-other-statement",
        leads_elsewhere,
        statement=put_receipts_into(
            message(logged.key, logged.headers, payload=b"other"), [logged.receipt()]
        ),
    )


def add_headers(add_receipt, logged):
    """Add wrong kinds of tree and wrong headers."""
    head = logged.header()
    proof = {396: {-1: [cbor2.dumps([logged.size, logged.index, logged.log.path(logged.index)])]}}
    without = {label: value for label, value in head.items() if label != 395}
    add_receipt("tree-missing", "receipt-tree", logged.receipt(head=without))
    add_receipt(
        "tree-unprotected",
        "receipt-unprotected",
        logged.receipt(head=without, unprotected={**proof, 395: 1}),
    )
    for name, kind in (
        ("unknown", 99),
        ("three", 3),
        ("zero", 0),
        ("of-text", "1"),
        ("true", True),
        ("fraction", 1.0),
    ):
        add_receipt(f"tree-{name}", "receipt-tree", logged.receipt(head={**head, 395: kind}))
    add_receipt("label-twice", "receipt-malformed", logged.receipt(unprotected={**proof, 395: 1}))
    add_receipt(
        "crit-unknown", "receipt-malformed", logged.receipt(head={**head, 2: [4711], 4711: 1})
    )
    without = {label: value for label, value in head.items() if label != 1}
    add_receipt("alg-missing", "receipt-alg-unknown", logged.receipt(head=without))
    add_receipt(
        "alg-unprotected",
        "receipt-unprotected",
        logged.receipt(head=without, unprotected={**proof, 1: -7}),
    )
    add_receipt("alg-of-another-key", "receipt-alg-key", logged.receipt(head={**head, 1: -8}))
    add_receipt("alg-of-another-curve", "receipt-alg-key", logged.receipt(head={**head, 1: -35}))
    add_receipt("alg-none", "receipt-alg-unknown", logged.receipt(head={**head, 1: 0}))
    add_receipt("alg-hmac", "receipt-alg-unknown", logged.receipt(head={**head, 1: 5}))


def add_signatures(add_receipt, logged, other):
    right = logged.receipt()
    changed = right[:-1] + bytes([right[-1] ^ 1])
    add_receipt("signature-changed", "receipt-signature", changed)
    add_receipt("signature-empty", "receipt-signature-length", right[:-66] + b"\x40")
    add_receipt("signature-zero", "receipt-signature-range", right[:-64] + bytes(64))
    add_receipt(
        "kid-of-trusted-log",
        "receipt-signature",
        other.receipt(head={**other.header(), 4: logged.header()[4]}),
    )
    add_receipt(
        "signed-by-the-signer",
        "receipt-alg-key",
        logged.receipt(head={**logged.header(), 1: -8}, sign=logged.key.signer),
    )


def add_claims(add_receipt, logged):
    late = int((NOW + timedelta(hours=1)).timestamp())
    right = logged.header()[15]
    for name, verdict, claims in (
        ("issued-in-future", "receipt-issued-in-future", {**right, 6: late}),
        ("iat-of-text", "receipt-claims-malformed", {**right, 6: "now"}),
        ("issuer-of-bytes", "receipt-claims-malformed", {**right, 1: b"log"}),
        ("subject-of-number", "receipt-claims-malformed", {**right, 2: 7}),
        ("label-true", "receipt-claims-malformed", {True: right[1], 2: right[2]}),
        ("valid-no-issuer", "verified", {2: right[2]}),
        ("valid-no-subject", "verified", {1: right[1]}),
        ("no-map", "receipt-claims-malformed", "log"),
        ("expired", "receipt-claims-expired", {**right, 4: late - 7200}),
        ("valid-no-time", "verified", {1: right[1], 2: right[2]}),
    ):
        add_receipt(f"claims-{name}", verdict, logged.receipt(head={**logged.header(), 15: claims}))
    without = {label: value for label, value in logged.header().items() if label != 15}
    add_receipt("valid-without-claims", "verified", logged.receipt(head=without))
    signer = Key.generate("es256").signer
    stranger = {label: value for label, value in without.items() if label != 4}
    receipt = logged.receipt(head=stranger, sign=signer)
    add_receipt("without-claims-of-unknown-log", "receipt-untrusted", receipt)


def add_entry_rules(vectors, key):
    """Add a log whose entries are digests, and a log with one entry."""
    trust = {"trust": ["receipt-signer.pub.pem"]}
    digests = LoggedStatement(key, rule="digest")
    (vectors.folder / "receipt-digest-log.pub.pem").write_bytes(
        Key(digests.log.signer.key).public_pem
    )
    trust["log_trust"] = ["receipt-digest-log.pub.pem"]
    entered = digests.with_receipts(digests.receipt())
    vectors.add("receipt-valid-digest-rule", "verified", entered, **trust, entry_rule="digest")
    vectors.add("receipt-of-another-rule", "receipt-signature", entered, **trust)
    alone = Log(genesis=False, began=TIME)
    (vectors.folder / "receipt-lone-log.pub.pem").write_bytes(Key(alone.signer.key).public_pem)
    trust["log_trust"] = ["receipt-lone-log.pub.pem"]
    statement = message(key, {1: -8})
    lone = put_receipts_into(statement, [alone.receipt(statement)])
    vectors.add("receipt-path-empty", "receipt-path-empty", lone, **trust)
    vectors.add(
        "receipt-valid-path-empty-lenient", "verified", lone, **trust, lenient_receipts=True
    )


def add_expired_certificates(vectors):
    """Add certificates that were valid only when the statement was logged, or only later."""
    key, root = Key.generate("es256"), Authority("receipt root")
    (vectors.folder / "receipt-root.pem").write_bytes(root.pem)
    for name, verdict, times in (
        ("valid-before-certificate-expired", "verified", {"until": days(-0.5)}),
        ("after-certificate-expired", "expired", {"until": days(-2)}),
        ("before-certificate", "not-yet-valid", {"since": days(-0.5)}),
    ):
        chain = certificate(key, root, **times)
        logged = LoggedStatement(key, {33: chain, 15: {1: "https://example.org", 2: "it"}})
        (vectors.folder / f"receipt-{name}.pub.pem").write_bytes(
            Key(logged.log.signer.key).public_pem
        )
        policy = {"trust": ["receipt-root.pem"], "log_trust": [f"receipt-{name}.pub.pem"]}
        vectors.add(f"receipt-{name}", verdict, logged.with_receipts(logged.receipt()), **policy)
        if verdict == "verified":
            vectors.add(
                f"receipt-{name}-unknown-log",
                "expired",
                logged.with_receipts(logged.receipt()),
                **policy | {"log_trust": []},
            )
