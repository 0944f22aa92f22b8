"""Make the vectors: signed statements, the policy of the verifier, and the expected verdict.

    python -m tests.vectors.make            make all vectors
    python -m tests.vectors.make kccs       make one family: the vectors whose names begin with it

Every run generates new keys and certificates. The verdicts are written here, not computed.
README.md describes how to use the vectors.
"""

import json
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path

import cbor2

from tests.vectors import (
    carried,
    ccf,
    receipts,
    statements,
    stores,
    timestamps,
    weak,
    witnesses,
)
from tests.vectors.certificates import Authority, certificate, days
from tests.vectors.statements import NOW, PAYLOAD, Key, message, pairs

HERE = Path(__file__).parent
FOLDER = HERE / "files"
VERIFIED = "verified"
KEY_NAMES = (
    "eddsa",
    "other",
    "es256",
    "es384",
    "es512",
    "ps256",
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
)
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
CLAIMS = {1: "https://example.org", 2: "urn:example:it", 6: int(NOW.timestamp())}


FAMILIES = {
    "ccf": ccf.add,
    "clock": timestamps.add_weak,
    "kccs": carried.add,
    "owner": stores.add_owners,
    "receipt": receipts.add,
    "store": stores.add,
    "tsa": timestamps.add_unsorted,
    "weak": weak.add,
    "witness": witnesses.add,
}
"""Families with their own keys, which can be made without the other vectors."""


class Vectors:
    """Writes vectors, and lists them for the manifest."""

    def __init__(self, folder, listed=()):
        self.folder = folder
        self.listed = list(listed)

    def add(self, name, verdict, statement, *, payload=None, trust=("eddsa.pub.pem",), **policy):
        (self.folder / f"{name}.cose").write_bytes(statement)
        entry = {
            "name": name,
            "verdict": verdict,
            "statement": f"{name}.cose",
            "policy": {"trust": list(trust), **policy},
        }
        if payload is not None:
            (self.folder / f"{name}.payload").write_bytes(payload)
            entry["payload"] = f"{name}.payload"
        self.listed.append(entry)


def main(families):
    FOLDER.mkdir(exist_ok=True)
    vectors = Vectors(
        FOLDER, json.loads((HERE / "manifest.json").read_text())["vectors"] if families else ()
    )
    prefixes = tuple(f"{name}-" for name in families) or ("",)
    for old in FOLDER.iterdir():
        if old.name.startswith(prefixes):
            old.unlink()
    vectors.listed = [entry for entry in vectors.listed if not entry["name"].startswith(prefixes)]
    if not families:
        add_all_but_families(vectors)
    for name in families or FAMILIES:
        FAMILIES[name](vectors)
    manifest = {"now": NOW.isoformat(), "vectors": vectors.listed}
    (HERE / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def add_all_but_families(vectors):
    keys = {name: Key.generate("eddsa" if name == "other" else name) for name in KEY_NAMES}
    for name, key in keys.items():
        (FOLDER / f"{name}.pub.pem").write_bytes(key.public_pem)
    add_valid(vectors, keys)
    add_malformed_messages(vectors, keys["eddsa"])
    add_algorithms(vectors, keys)
    add_headers(vectors, keys["eddsa"])
    add_issuers(vectors, keys)
    add_payloads(vectors, keys["eddsa"])
    add_chains(vectors, keys)
    timestamps.add(vectors, keys["eddsa"], keys["es256"])


def add_valid(vectors, keys):
    """Add statements that verify."""
    for name, key in keys.items():
        if name != "other":
            vectors.add(
                f"valid-{name}",
                VERIFIED,
                message(key, {1: key.algorithm, 15: CLAIMS}),
                trust=[f"{name}.pub.pem"],
            )
    for name, algorithm in (("ed25519", -19), ("esp256", -9)):
        key = keys["eddsa" if name == "ed25519" else "es256"].with_algorithm(algorithm)
        trust = ["eddsa.pub.pem" if name == "ed25519" else "es256.pub.pem"]
        vectors.add(f"valid-{name}", VERIFIED, message(key, {1: algorithm}), trust=trust)
    key = keys["eddsa"]
    vectors.add("valid-untagged", VERIFIED, message(key, {1: -8}, tag=b""))
    vectors.add(
        "valid-detached",
        VERIFIED,
        message(key, {1: -8, 3: "application/json"}, detached=True),
        payload=PAYLOAD,
    )
    vectors.add("valid-hash-envelope", VERIFIED, statements.envelope(key), payload=PAYLOAD)
    vectors.add("valid-critical", VERIFIED, message(key, {1: -8, 2: [15], 15: CLAIMS}))
    vectors.add(
        "valid-subject",
        VERIFIED,
        message(key, {1: -8, 15: CLAIMS}),
        subject=CLAIMS[2],
    )
    vectors.add("valid-order-of-keys", VERIFIED, message(key, pairs((15, CLAIMS), (1, -8))))


def add_malformed_messages(vectors, key):
    """Add bytes that are not a message, or that decoders could read in two ways."""
    whole = message(key, {1: -8})
    body = whole[1:]
    vectors.add("empty", "cbor", b"")
    vectors.add("not-cbor", "cbor", b"\xff\x00")
    vectors.add("cut-off", "cbor", whole[:-1])
    vectors.add("trailing-bytes", "cbor", whole + b"\x00")
    vectors.add("wrong-tag", "tag", b"\xd1" + body)
    vectors.add("tag-twice", "structure", b"\xd2" + whole)
    vectors.add("three-parts", "structure", b"\xd2\x83" + body[1:].replace(b"\xa0", b"", 1))
    vectors.add("array-of-text", "structure", b"\xd2\x84aaabacad")
    vectors.add("header-is-list", "structure", message(key, cbor2.dumps([1, -8])))
    vectors.add("unprotected-is-list", "structure", message(key, {1: -8}, unprotected=b"\x80"))
    vectors.add("indefinite-array", "cbor", b"\xd2\x9f" + body[1:] + b"\xff")
    vectors.add("indefinite-header", "protected", message(key, b"\xbf\x01\x27\xff"))
    vectors.add("long-integer", "protected", message(key, b"\xa1\x01\x38\x07"))
    vectors.add("long-length", "cbor", b"\xd2\x84\x58\x03" + body[2:])
    vectors.add("duplicate-key", "protected", message(key, pairs((1, -8), (1, -8))))
    vectors.add(
        "duplicate-key-unprotected",
        "cbor",
        message(key, {1: -8}, unprotected=pairs((4, b"a"), (4, b"b"))),
    )
    vectors.add("label-twice", "label-twice", message(key, {1: -8, 4: b"a"}, unprotected={4: b"a"}))
    vectors.add("label-of-bytes", "label-type", message(key, pairs((1, -8), (b"x", 1))))
    vectors.add("bignum", "protected", message(key, b"\xa1\x01\xc3\x41\x07"))
    vectors.add(
        "deep-nesting",
        "cbor",
        message(key, {1: -8}, unprotected=b"\xa1\x18\x63" + b"\x81" * 400 + b"\x00"),
    )
    vectors.add("huge-string", "cbor", b"\xd2\x84\x5b\x7f\xff\xff\xff\xff\xff\xff\xff")
    vectors.add("huge-array", "cbor", b"\xd2\x9b\x7f\xff\xff\xff\xff\xff\xff\xff")
    vectors.add("huge-map", "cbor", b"\xd2\x84\x40\xbb\x7f\xff\xff\xff\xff\xff\xff\xff")
    vectors.add("bad-utf8", "cbor", message(key, {1: -8}, unprotected=b"\xa1\x18\x63\x62\xc3\x28"))


def add_algorithms(vectors, keys):
    """Add wrong algorithms, keys and signatures."""
    key, es256 = keys["eddsa"], keys["es256"]
    vectors.add("alg-none", "alg-missing", message(key, {}))
    vectors.add("alg-zero", "alg-unknown", message(key, {1: 0}))
    vectors.add("alg-text-none", "alg-unknown", message(key, {1: "none"}))
    vectors.add("alg-unprotected", "alg-unprotected", message(key, {}, unprotected={1: -8}))
    vectors.add("alg-hmac", "alg-unknown", message(key, {1: 5}))
    vectors.add("alg-not-allowed", "alg-not-allowed", message(key, {1: -8}), algorithms=["ES256"])
    vectors.add("alg-not-of-key", "alg-key", message(key, {1: -7, 4: key.thumbprint}))
    vectors.add(
        "alg-not-of-curve",
        "alg-key",
        message(es256, {1: -35, 4: es256.thumbprint}),
        trust=["es256.pub.pem"],
    )
    vectors.add("no-trust", "no-trust", message(key, {1: -8}), trust=())
    vectors.add("other-key", "signature", message(keys["other"], {1: -8}))
    vectors.add(
        "kid-of-trusted-key", "signature", message(keys["other"], {1: -8, 4: key.thumbprint})
    )
    vectors.add("signature-changed", "signature", message(key, {1: -8}, change=True))
    vectors.add("signature-empty", "signature", message(key, {1: -8}, signature=b""))
    vectors.add("signature-short", "signature", message(key, {1: -8}, signature=b"\x00" * 63))
    vectors.add("payload-changed", "signature", message(key, {1: -8}, signed=PAYLOAD + b" "))
    vectors.add(
        "protected-changed", "signature", message(key, {1: -8}).replace(b"\x01\x27", b"\x01\x32")
    )
    n, one = ORDER.to_bytes(32, "big"), (1).to_bytes(32, "big")
    odd = {
        "r-zero": bytes(32) + one,
        "s-zero": one + bytes(32),
        "r-order": n + one,
        "s-order": one + n,
    }
    for name, signature in odd.items():
        verdict = "signature-range"
        vectors.add(
            f"es256-{name}",
            verdict,
            message(es256, {1: -7}, signature=signature),
            trust=["es256.pub.pem"],
        )
    verdict = "signature-length"
    vectors.add(
        "es256-short",
        verdict,
        message(es256, {1: -7}, signature=b"\x01" * 63),
        trust=["es256.pub.pem"],
    )
    vectors.add(
        "es256-der",
        verdict,
        message(es256, {1: -7}, signature=es256.sign_as_der(b"x")),
        trust=["es256.pub.pem"],
    )


def add_headers(vectors, key):
    """Add invalid headers, and claims that the policy does not accept."""
    vectors.add("crit-unknown", "crit-unknown", message(key, {1: -8, 2: [4711], 4711: 1}))
    vectors.add("crit-unknown-text", "crit-unknown", message(key, {1: -8, 2: ["x"], "x": 1}))
    vectors.add("crit-receipts", "crit-unknown", message(key, {1: -8, 2: [394], 394: [b"x"]}))
    vectors.add(
        "crit-type", "crit-unknown", message(key, {1: -8, 2: [16], 16: "application/example"})
    )
    vectors.add("crit-unprotected", "crit-unprotected", message(key, {1: -8}, unprotected={2: [1]}))
    vectors.add("crit-empty", "crit-malformed", message(key, {1: -8, 2: []}))
    vectors.add("crit-no-list", "crit-malformed", message(key, {1: -8, 2: 15}))
    vectors.add("crit-absent", "crit-absent", message(key, {1: -8, 2: [15]}))
    vectors.add(
        "claims-unprotected", "claims-unprotected", message(key, {1: -8}, unprotected={15: CLAIMS})
    )
    vectors.add("claims-no-map", "claims-malformed", message(key, {1: -8, 15: [1]}))
    vectors.add("claims-of-wrong-type", "claims-malformed", message(key, {1: -8, 15: {1: 7}}))
    for name, issued_at in (
        ("iat-before-all-calendars", -(10**12)),
        ("iat-after-all-calendars", 10**15),
        ("iat-of-text", "now"),
    ):
        vectors.add(name, "claims-malformed", message(key, {1: -8, 15: {6: issued_at}}))
    late = int((NOW + timedelta(hours=1)).timestamp())
    for name, claims in (
        ("label-true", {True: CLAIMS[1]}),
        ("label-fraction", {1.0: CLAIMS[1]}),
        ("exp-of-text", {4: "now"}),
    ):
        vectors.add(f"claims-{name}", "claims-malformed", message(key, {1: -8, 15: claims}))
    vectors.add("claims-expired", "claims-expired", message(key, {1: -8, 15: {4: late - 7200}}))
    vectors.add("claims-not-yet", "claims-not-yet", message(key, {1: -8, 15: {5: late}}))
    vectors.add(
        "valid-between-times", VERIFIED, message(key, {1: -8, 15: {4: late, 5: late - 7200}})
    )
    vectors.add("iat-in-future", "issued-in-future", message(key, {1: -8, 15: {6: late}}))
    vectors.add(
        "valid-iat-with-fraction", VERIFIED, message(key, {1: -8, 15: {6: NOW.timestamp() - 0.5}})
    )
    vectors.add("valid-iat-of-fast-clock", VERIFIED, message(key, {1: -8, 15: {6: late - 3500}}))
    vectors.add(
        "issuer-other", "issuer", message(key, {1: -8, 15: CLAIMS}), issuer="https://example.net"
    )
    vectors.add(
        "issuer-of-bare-key",
        "issuer-unbound",
        message(key, {1: -8, 15: CLAIMS}),
        issuer=CLAIMS[1],
        subject=CLAIMS[2],
    )
    vectors.add("issuer-none", "issuer", message(key, {1: -8}), issuer="https://example.org")
    vectors.add(
        "subject-other", "subject", message(key, {1: -8, 15: CLAIMS}), subject="urn:example:other"
    )


def add_issuers(vectors, keys):
    """Add issuers that are named by the thumbprint of a key."""
    key, other, trust = keys["eddsa"], keys["other"], ["eddsa.pub.pem", "other.pub.pem"]
    vectors.add(
        "valid-issuer-is-key",
        VERIFIED,
        message(key, {1: -8, 15: {1: key.uri}}),
        trust=trust,
        issuer=key.uri,
    )
    vectors.add(
        "issuer-is-another-key",
        "issuer-unbound",
        message(key, {1: -8, 15: {1: other.uri}}),
        trust=trust,
    )
    policy = {"trust": trust, "issuer": other.uri}
    vectors.add(
        "issuer-is-another-key-as-asked",
        "issuer-unbound",
        message(key, {1: -8, 15: {1: other.uri}}),
        **policy,
    )


def add_payloads(vectors, key):
    """Add missing and swapped payloads, hash envelopes and metadata."""
    detached = message(key, {1: -8, 3: "application/json"}, detached=True)
    vectors.add("detached-missing", "payload-missing", detached)
    vectors.add("detached-swapped", "signature", detached, payload=b"another")
    vectors.add("attached-swapped", "content-mismatch", message(key, {1: -8}), payload=b"another")
    vectors.add("payload-empty", "payload-empty", message(key, {1: -8}, payload=b""))
    vectors.add(
        "detached-empty",
        "payload-missing",
        message(key, {1: -8}, payload=b"", detached=True),
        payload=b"",
    )
    vectors.add("envelope-missing", "payload-missing", statements.envelope(key))
    vectors.add(
        "envelope-swapped", "content-mismatch", statements.envelope(key), payload=b"another"
    )
    vectors.add(
        "envelope-detached",
        "payload-missing",
        statements.envelope(key, detached=True),
        payload=PAYLOAD,
    )
    vectors.add(
        "envelope-content-type",
        "envelope-content-type",
        statements.envelope(key, more={3: "a/b"}),
        payload=PAYLOAD,
    )
    verdict = "envelope-content-type"
    vectors.add(
        "envelope-content-type-unprotected",
        verdict,
        statements.envelope(key, unprotected={3: "a/b"}),
        payload=PAYLOAD,
    )
    vectors.add(
        "envelope-hash-mismatch",
        "hash-alg-mismatch",
        statements.envelope(key, number=-44),
        payload=PAYLOAD,
    )
    vectors.add(
        "envelope-hash-unknown",
        "hash-alg-unknown",
        statements.envelope(key, number=-14),
        payload=PAYLOAD,
    )
    verdict = "envelope-unprotected"
    vectors.add(
        "envelope-hash-unprotected",
        verdict,
        message(key, {1: -8}, unprotected={258: -16}),
        payload=PAYLOAD,
    )
    vectors.add(
        "envelope-no-hash", "hash-alg-missing", message(key, {1: -8, 259: "a/b"}), payload=PAYLOAD
    )
    metadata = {
        "session-id": "s",
        "agent-vendor": "v",
        "trace-format": "ietf-vac-v3.0",
        "timestamp-start": 1,
        "content-hash": "00",
    }
    vectors.add(
        "metadata-changed", "metadata-mismatch", message(key, {1: -8}, unprotected={100: metadata})
    )
    vectors.add(
        "metadata-changed-protected", "metadata-mismatch", message(key, {1: -8, 100: metadata})
    )
    for name, subject in (
        ("digest", "urn:sha-256:" + "00" * 32),
        ("digest-capitals", "URN:SHA-256:" + "00" * 32),
    ):
        vectors.add(
            f"subject-of-another-{name}",
            "subject-mismatch",
            message(key, {1: -8, 15: {2: subject}}),
        )
    weak = {name: value for name, value in metadata.items() if name != "content-hash"} | {
        "content-hash-alg": "md5"
    }
    vectors.add(
        "metadata-other-hash", "metadata-mismatch", message(key, {1: -8}, unprotected={100: weak})
    )
    vectors.add(
        "metadata-malformed",
        "metadata-malformed",
        message(key, {1: -8}, unprotected={100: {"session-id": "s"}}),
    )


def add_chains(vectors, keys):
    """Add chains of certificates."""
    key = keys["es256"]
    root, other = Authority("root"), Authority("other root")
    middle = Authority("middle", above=root)
    (FOLDER / "root.pem").write_bytes(root.pem)
    (FOLDER / "other-root.pem").write_bytes(other.pem)

    add = partial(add_chain, vectors, key)
    add_key_usages(vectors, key, root, add)
    add_names(key, root, add)
    leaf = certificate(key, root)
    below = certificate(key, middle)
    add("chain-valid", VERIFIED, [leaf])
    add("chain-valid-long", VERIFIED, [below, middle.der], {34: statements.x5t(below)})
    add("chain-with-root", VERIFIED, [below, middle.der, root.der])
    add("chain-issuer-without-names", "issuer-unbound", [leaf], issuer=CLAIMS[1])
    add("chain-out-of-order", "x5chain-order", [below, root.der, middle.der])
    add("chain-without-middle", "untrusted", [below])
    add("chain-untrusted", "untrusted", [leaf], trust=["other-root.pem"])
    add("chain-not-certificates", "x5chain-malformed", [b"x"])
    add("chain-empty", "x5chain-malformed", [leaf], {33: []})
    add("chain-forged", "x5chain-signature", [certificate(key, Authority("middle")), middle.der])
    add("chain-expired", "expired", [certificate(key, root, until=days(-1))])
    add("chain-not-yet-valid", "not-yet-valid", [certificate(key, root, since=days(1))])
    add("chain-signer-is-authority", "signer-is-authority", [certificate(key, root, ca=True)])
    add(
        "chain-middle-is-no-authority",
        "not-an-authority",
        [certificate(key, fake := Authority("m", above=root, ca=False)), fake.der],
    )
    add(
        "chain-too-long",
        "path-length",
        [certificate(key, low := Authority("l", above=middle)), low.der, middle.der],
    )
    add("chain-key-usage", "key-usage", [certificate(key, root, signs=False)])
    for name, verdict, odd in (
        ("chain-authority-for-servers", "authority-key-usage", {"usage": "server"}),
        ("chain-name-constraints", "name-constraints", {"only": "example.net"}),
        ("chain-authority-of-1024-bits", "authority-key-weak", {"rsa_bits": 1024}),
    ):
        add(
            name,
            verdict,
            [certificate(key, between := Authority("between", above=root, **odd)), between.der],
        )
    add("chain-critical-extension", "x5chain-critical", [certificate(key, root, odd=True)])
    add("chain-x5t-mismatch", "x5t-mismatch", [leaf], {34: statements.x5t(below)})
    add("chain-x5t-malformed", "x5t-malformed", [leaf], {34: [-16]})
    add("chain-issuer-no-uri", "issuer-not-uri", [leaf], {15: {1: "me", 2: "it"}})
    add("chain-issuer-missing", "issuer-not-uri", [leaf], {15: {2: "it"}})
    own, swapped = {33: leaf}, {33: certificate(key, root, subject="another")}
    for name, verdict, unprotected, protected in (
        ("chain-unprotected", "x5chain-unprotected", own, {}),
        ("chain-unprotected-swapped", "x5t-mismatch", swapped, {34: statements.x5t(leaf)}),
        ("chain-valid-unprotected", VERIFIED, own, {34: statements.x5t(leaf)}),
    ):
        vectors.add(
            name,
            verdict,
            message(key, {1: -7, 15: CLAIMS, **protected}, unprotected=unprotected),
            trust=["root.pem"],
        )
    add("chain-signed-by-other-key", "signature", [certificate(Key.generate("es256"), root)])
    early = {**CLAIMS, 6: int((NOW - timedelta(days=4000)).timestamp())}
    add("chain-issued-before-its-beginning", "not-yet-valid", [leaf], {15: early})
    odd_curve = leaf.replace(
        b"\x2a\x86\x48\xce\x3d\x03\x01\x07", b"\x2a\x86\x48\xce\x3d\x03\x01\x63", 1
    )
    add("chain-key-that-cannot-be-read", "x5chain-malformed", [odd_curve])


def add_chain(vectors, key, name, verdict, chain, headers=None, **policy):
    """Add a statement with a chain of certificates."""
    x5chain = chain[0] if len(chain) == 1 else chain
    protected = {1: -7, 33: x5chain, 15: CLAIMS, **(headers or {})}
    vectors.add(
        name, verdict, message(key, protected), trust=policy.pop("trust", ["root.pem"]), **policy
    )


def add_key_usages(vectors, key, root, add):
    """Add certificates with and without the required key usage."""
    coders = Authority("for code", above=root, usage="code")
    add("chain-valid-authority-for-code", VERIFIED, [certificate(key, coders), coders.der])
    add("chain-extended-key-usage", "extended-key-usage", [certificate(key, root, usage="server")])
    add(
        "chain-usage-missing",
        "extended-key-usage",
        [certificate(key, root)],
        extended_key_usage="1.3.6.1.5.5.7.3.3",
    )
    policy = {"trust": ["es256.pub.pem"], "extended_key_usage": "1.3.6.1.5.5.7.3.3"}
    vectors.add("key-without-usage", "extended-key-usage", message(key, {1: -7}), **policy)
    for_code = certificate(key, root, usage="code")
    add("chain-usage-of-nobody", "extended-key-usage", [for_code], **policy)
    add(
        "chain-valid-usage",
        VERIFIED,
        [for_code],
        **policy | {"trust": ["es256.pub.pem", "root.pem"]},
    )


def add_names(key, root, add):
    """Add certificates whose names do and do not match the issuer."""
    add(
        "chain-issuer-of-another",
        "issuer-unbound",
        [certificate(key, root, names=["https://example.net"])],
        issuer=CLAIMS[1],
    )
    add(
        "chain-issuer-of-mailbox",
        "issuer-unbound",
        [certificate(key, root, names=["mallory@example.net"])],
        issuer=CLAIMS[1],
    )
    urn = {1: "urn:example:us", 2: "it"}
    add(
        "chain-issuer-of-no-host",
        "issuer-unbound",
        [certificate(key, root, names=[""])],
        {15: urn},
        issuer=urn[1],
    )
    add(
        "chain-valid-issuer-host",
        VERIFIED,
        [certificate(key, root, names=["example.org"])],
        issuer=CLAIMS[1],
    )
    named = [certificate(key, root, names=["https://example.net"])]
    add("chain-valid-issuer-is-key", VERIFIED, named, {15: {1: key.uri, 2: "it"}}, issuer=key.uri)


if __name__ == "__main__":
    main(sys.argv[1:])
