"""Statements with receipts of logs, good and bad; the receipts are written byte by byte."""

from datetime import timedelta

import cbor2

from tests.transparency.logs import Log
from tests.vectors.certificates import Authority, certificate, days
from tests.vectors.statements import NOW, Key, message

TIME = int((NOW - timedelta(days=1)).timestamp())


class Bench:
    """A log with a statement in it, whose parts can be taken apart."""

    def __init__(self, key, said=None, name="https://log.example", **settings):
        self.key, self.said = key, {1: key.algorithm, 4: key.thumbprint, **(said or {})}
        self.statement = message(key, self.said)
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
        beside=None,
        payload=None,
        root=None,
        tag=b"\xd2",
        sign=None,
    ):
        """Write a receipt: right, but for what is given."""
        head = cbor2.dumps(self.header() if head is None else head)
        proof = [self.size, self.index, self.log.path(self.index)] if proof is None else proof
        listed = [cbor2.dumps(proof)] if proofs is None else proofs
        unprotected = {396: {kind: listed}} if beside is None else beside
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
        return statement_with(self.statement, written)


def statement_with(statement, receipts):
    parts = list(cbor2.loads(statement).value)
    return (
        b"\xd2\x84"
        + cbor2.dumps(parts[0])
        + cbor2.dumps({394: receipts})
        + b"".join(map(cbor2.dumps, parts[2:]))
    )


def add(vectors):
    """Add statements with receipts."""
    key = Key.made("eddsa")
    bench, other = Bench(key), Bench(key, name="https://other.example")
    (vectors.folder / "receipt-signer.pub.pem").write_bytes(key.public_pem)
    for name, one in (("log", bench), ("other-log", other)):
        (vectors.folder / f"receipt-{name}.pub.pem").write_bytes(Key(one.log.signer.key).public_pem)

    def adding(name, verdict, *receipts, statement=None, **policy):
        asked = {
            "trust": ["receipt-signer.pub.pem"],
            "log_trust": ["receipt-log.pub.pem"],
            **policy,
        }
        vectors.add(
            f"receipt-{name}", verdict, statement or bench.with_receipts(*receipts), **asked
        )

    good(adding, bench, other)
    places(adding, bench)
    proofs(adding, bench)
    headers(adding, bench)
    signatures(adding, bench, other)
    claims(adding, bench)
    rules(vectors, key)
    certified(vectors)


def good(adding, bench, other):
    right = bench.receipt()
    both = ["receipt-log.pub.pem", "receipt-other-log.pub.pem"]
    adding("valid", "verified", right)
    adding("valid-root-attached", "verified", bench.receipt(payload=bench.log.tree.root()))
    adding("valid-two-logs", "verified", right, other.receipt(), log_trust=both)
    adding("valid-and-one-of-unknown-log", "verified", other.receipt(), right)
    adding(
        "valid-no-kid",
        "verified",
        bench.receipt(head={**bench.header(), 4: b"?"}),
        log_trust=both[::-1],
    )
    adding("valid-critical", "verified", bench.receipt(head={**bench.header(), 2: [395]}))
    adding("valid-no-log-trusted", "verified", right, log_trust=[])
    other_tree = bench.receipt(head={**other.header(), 395: 2})
    adding("valid-and-one-of-another-tree", "verified", other_tree, right)
    adding("missing", "receipt-missing", statement=bench.statement)
    adding("of-unknown-log", "receipt-untrusted", other.receipt())
    adding("of-unknown-log-of-another-tree", "receipt-untrusted", other_tree)
    bad = bench.receipt(root=bytes(32))
    adding("two-one-bad", "receipt-signature", other.receipt(), bad, log_trust=both)
    adding("two-of-one-log-one-bad", "receipt-signature", right, bad)


def places(adding, bench):
    """Where a receipt is."""
    right = bench.receipt()
    adding("no-list", "receipt-malformed", {1: right})
    adding(
        "one-not-in-a-list", "receipt-malformed", statement=statement_with(bench.statement, right)
    )
    adding("empty-list", "receipt-malformed", statement=statement_with(bench.statement, []))
    inline = cbor2.CBORTag(18, [*cbor2.loads(right).value])
    adding(
        "not-a-byte-string",
        "receipt-malformed",
        statement=statement_with(bench.statement, [inline]),
    )
    adding("not-cbor", "receipt-malformed", b"\xff")
    adding("trailing-bytes", "receipt-malformed", right + b"\x00")
    adding("untagged", "receipt-untagged", bench.receipt(tag=b""))
    adding("wrong-tag", "receipt-malformed", bench.receipt(tag=b"\xd1"))
    adding(
        "protected", "receipt-protected", statement=message(bench.key, {**bench.said, 394: [right]})
    )
    adding(
        "is-the-statement", "receipt-tree", bench.statement, log_trust=["receipt-signer.pub.pem"]
    )
    adding("many", "receipt-malformed", *[right] * 65)


def proofs(adding, bench):
    """What is proved."""
    size, index, path = bench.size, bench.index, bench.log.path(bench.index)
    leads_elsewhere = "receipt-signature"
    for name, verdict, proof in (
        ("of-another-entry", leads_elsewhere, [size, 1, bench.log.path(1)]),
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
        ("path-of-short-hashes", "receipt-malformed", [size, index, [one[:31] for one in path]]),
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
        adding(f"proof-{name}", verdict, bench.receipt(proof=proof))
    right = cbor2.dumps([size, index, path])
    adding("proof-not-in-bytes", "receipt-malformed", bench.receipt(proofs=[[size, index, path]]))
    adding("proof-none", "receipt-malformed", bench.receipt(proofs=[]))
    adding("proof-no-list", "receipt-malformed", bench.receipt(proofs=right))
    adding("proof-trailing-bytes", "receipt-malformed", bench.receipt(proofs=[right + b"\x00"]))
    adding("proof-twice", "verified", bench.receipt(proofs=[right, right]))
    other = cbor2.dumps([size, 1, bench.log.path(1)])
    adding("proofs-of-different-entries", "receipt-root", bench.receipt(proofs=[right, other]))
    consistency = [2, size, [bytes(32)]]
    adding("of-consistency", "receipt-kind", bench.receipt(proof=consistency, kind=-2))
    adding("inclusion-as-consistency", "receipt-kind", bench.receipt(kind=-2))
    adding(
        "of-both-kinds",
        "receipt-kind",
        bench.receipt(beside={396: {-1: [right], -2: [cbor2.dumps(consistency)]}}),
    )
    adding("of-no-kind", "receipt-malformed", bench.receipt(kind=-3))
    adding("without-proofs", "receipt-malformed", bench.receipt(beside={}))
    adding("root-in-payload-is-another", "receipt-root", bench.receipt(payload=bytes(32)))
    adding(
        "root-in-payload-is-another-and-signed",
        "receipt-root",
        bench.receipt(payload=bytes(32), root=bytes(32)),
    )
    adding("signed-the-leaf-not-the-root", leads_elsewhere, bench.receipt(root=bench.statement))
    adding(
        "of-other-statement",
        leads_elsewhere,
        statement=statement_with(
            message(bench.key, bench.said, payload=b"other"), [bench.receipt()]
        ),
    )


def headers(adding, bench):
    """What kind of tree, and which headers."""
    head = bench.header()
    proof = {396: {-1: [cbor2.dumps([bench.size, bench.index, bench.log.path(bench.index)])]}}
    without = {label: value for label, value in head.items() if label != 395}
    adding("tree-missing", "receipt-tree", bench.receipt(head=without))
    adding(
        "tree-unprotected",
        "receipt-unprotected",
        bench.receipt(head=without, beside={**proof, 395: 1}),
    )
    for name, kind in (
        ("unknown", 99),
        ("ccf", 2),
        ("zero", 0),
        ("of-text", "1"),
        ("true", True),
        ("fraction", 1.0),
    ):
        adding(f"tree-{name}", "receipt-tree", bench.receipt(head={**head, 395: kind}))
    adding("label-twice", "receipt-malformed", bench.receipt(beside={**proof, 395: 1}))
    adding("crit-unknown", "receipt-malformed", bench.receipt(head={**head, 2: [4711], 4711: 1}))
    without = {label: value for label, value in head.items() if label != 1}
    adding("alg-missing", "receipt-alg-unknown", bench.receipt(head=without))
    adding(
        "alg-unprotected",
        "receipt-unprotected",
        bench.receipt(head=without, beside={**proof, 1: -7}),
    )
    adding("alg-of-another-key", "receipt-alg-key", bench.receipt(head={**head, 1: -8}))
    adding("alg-of-another-curve", "receipt-alg-key", bench.receipt(head={**head, 1: -35}))
    adding("alg-none", "receipt-alg-unknown", bench.receipt(head={**head, 1: 0}))
    adding("alg-hmac", "receipt-alg-unknown", bench.receipt(head={**head, 1: 5}))


def signatures(adding, bench, other):
    right = bench.receipt()
    changed = right[:-1] + bytes([right[-1] ^ 1])
    adding("signature-changed", "receipt-signature", changed)
    adding("signature-empty", "receipt-signature-length", right[:-66] + b"\x40")
    adding("signature-zero", "receipt-signature-range", right[:-64] + bytes(64))
    adding(
        "kid-of-trusted-log",
        "receipt-signature",
        other.receipt(head={**other.header(), 4: bench.header()[4]}),
    )
    adding(
        "signed-by-the-signer",
        "receipt-alg-key",
        bench.receipt(head={**bench.header(), 1: -8}, sign=bench.key.signer),
    )


def claims(adding, bench):
    late = int((NOW + timedelta(hours=1)).timestamp())
    said = bench.header()[15]
    for name, verdict, claims in (
        ("issued-in-future", "receipt-issued-in-future", {**said, 6: late}),
        ("iat-of-text", "receipt-claims-malformed", {**said, 6: "now"}),
        ("issuer-of-bytes", "receipt-claims-malformed", {**said, 1: b"log"}),
        ("subject-of-number", "receipt-claims-malformed", {**said, 2: 7}),
        ("label-true", "receipt-claims-malformed", {True: said[1], 2: said[2]}),
        ("no-issuer", "receipt-claims-missing", {2: said[2]}),
        ("no-subject", "receipt-claims-missing", {1: said[1]}),
        ("no-map", "receipt-claims-malformed", "log"),
        ("expired", "receipt-claims-expired", {**said, 4: late - 7200}),
        ("valid-no-time", "verified", {1: said[1], 2: said[2]}),
    ):
        adding(f"claims-{name}", verdict, bench.receipt(head={**bench.header(), 15: claims}))
    without = {label: value for label, value in bench.header().items() if label != 15}
    adding("claims-missing", "receipt-claims-missing", bench.receipt(head=without))


def rules(vectors, key):
    """Logs that enter digests, and a log with one entry."""
    trust = {"trust": ["receipt-signer.pub.pem"]}
    digests = Bench(key, rule="digest")
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
    lone = statement_with(statement, [alone.receipt(statement)])
    vectors.add("receipt-path-empty", "receipt-path-empty", lone, **trust)
    vectors.add(
        "receipt-valid-path-empty-lenient", "verified", lone, **trust, lenient_receipts=True
    )


def certified(vectors):
    """Certificates that were valid when a log had the statement, and are not now; and the other way
    round.
    """
    key, root = Key.made("es256"), Authority("receipt root")
    (vectors.folder / "receipt-root.pem").write_bytes(root.pem)
    for name, verdict, times in (
        ("valid-before-certificate-expired", "verified", {"until": days(-0.5)}),
        ("after-certificate-expired", "expired", {"until": days(-2)}),
        ("before-certificate", "not-yet-valid", {"since": days(-0.5)}),
    ):
        chain = certificate(key, root, **times)
        bench = Bench(key, {33: chain, 15: {1: "https://example.org", 2: "it"}})
        (vectors.folder / f"receipt-{name}.pub.pem").write_bytes(
            Key(bench.log.signer.key).public_pem
        )
        asked = {"trust": ["receipt-root.pem"], "log_trust": [f"receipt-{name}.pub.pem"]}
        vectors.add(f"receipt-{name}", verdict, bench.with_receipts(bench.receipt()), **asked)
        if verdict == "verified":
            vectors.add(
                f"receipt-{name}-unknown-log",
                "expired",
                bench.with_receipts(bench.receipt()),
                **asked | {"log_trust": []},
            )
