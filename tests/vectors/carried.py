"""Statements that carry a key (`kccs`), theirs and others'."""

from tests.vectors.statements import Key, message, pairs
from vacr.signing.keys import build_cose_key


def cose(key):
    return build_cose_key(key.private.public_key())


def add(vectors):
    """Add statements that carry their own key, another's, or none that can be read."""
    key, other, curve = Key.made("eddsa"), Key.made("eddsa"), Key.made("es256")
    (vectors.folder / "kccs-signer.pub.pem").write_bytes(key.public_pem)
    head = {1: -8, 4: key.thumbprint}

    def carrying(name, verdict, claims_set, said=head):
        vectors.add(
            name,
            verdict,
            message(key, said, unprotected={14: claims_set}),
            trust=["kccs-signer.pub.pem"],
        )

    own = {8: {1: cose(key)}}
    carrying("kccs-valid", "verified", own)
    carrying("kccs-valid-more-claims", "verified", {2: "me", **own})
    carrying("kccs-of-another", "kccs-mismatch", {8: {1: cose(other)}})
    carrying("kccs-of-another-kind", "kccs-mismatch", {8: {1: cose(curve)}})
    carrying(
        "kccs-of-another-who-is-named",
        "kccs-mismatch",
        {8: {1: cose(other)}},
        {1: -8, 4: other.thumbprint},
    )
    for name, odd in (
        ("no-map", b"x"),
        ("empty", {}),
        ("no-key", {8: {}}),
        ("key-of-bytes", {8: {1: b"key"}}),
        ("key-of-no-kind", {8: {1: {1: 99}}}),
        ("key-cut-off", {8: {1: {**cose(key), -2: b"short"}}}),
        ("point-off-the-curve", {8: {1: {**cose(curve), -3: bytes(32)}}}),
        ("key-named-by-id", {8: {3: b"kid"}}),
    ):
        carrying(f"kccs-malformed-{name}", "kccs-malformed", odd)
    trust = ["kccs-signer.pub.pem"]
    vectors.add("kccs-valid-protected", "verified", message(key, {**head, 14: own}), trust=trust)
    vectors.add(
        "kccs-valid-critical", "verified", message(key, {**head, 2: [14], 14: own}), trust=trust
    )
    vectors.add(
        "kccs-in-both-headers",
        "label-twice",
        message(key, {**head, 14: own}, unprotected={14: own}),
        trust=trust,
    )
    vectors.add(
        "kccs-twice",
        "cbor",
        message(key, head, unprotected=pairs((14, own), (14, own))),
        trust=trust,
    )
    lone = message(other, {1: -8, 4: other.thumbprint}, unprotected={14: {8: {1: cose(other)}}})
    vectors.add("kccs-makes-nobody-trusted", "signature", lone, trust=trust)
