"""Statements that carry a key (`kccs`): their own, another one, or a malformed one."""

from tests.vectors.statements import Key, message, pairs
from vacr.signing.keys import build_cose_key


def encode_cose_key(key):
    return build_cose_key(key.private.public_key())


def add(vectors):
    """Add statements that carry a key."""
    key, other, curve = Key.generate("eddsa"), Key.generate("eddsa"), Key.generate("es256")
    (vectors.folder / "kccs-signer.pub.pem").write_bytes(key.public_pem)
    head = {1: -8, 4: key.thumbprint}

    def add_carrying(name, verdict, claims_set, protected=head):
        vectors.add(
            name,
            verdict,
            message(key, protected, unprotected={14: claims_set}),
            trust=["kccs-signer.pub.pem"],
        )

    own = {8: {1: encode_cose_key(key)}}
    add_carrying("kccs-valid", "verified", own)
    add_carrying("kccs-valid-more-claims", "verified", {2: "me", **own})
    add_carrying("kccs-of-another", "kccs-mismatch", {8: {1: encode_cose_key(other)}})
    add_carrying("kccs-of-another-kind", "kccs-mismatch", {8: {1: encode_cose_key(curve)}})
    add_carrying(
        "kccs-of-another-who-is-named",
        "kccs-mismatch",
        {8: {1: encode_cose_key(other)}},
        {1: -8, 4: other.thumbprint},
    )
    for name, odd in (
        ("no-map", b"x"),
        ("empty", {}),
        ("no-key", {8: {}}),
        ("key-of-bytes", {8: {1: b"key"}}),
        ("key-of-no-kind", {8: {1: {1: 99}}}),
        ("key-cut-off", {8: {1: {**encode_cose_key(key), -2: b"short"}}}),
        ("point-off-the-curve", {8: {1: {**encode_cose_key(curve), -3: bytes(32)}}}),
        ("key-named-by-id", {8: {3: b"kid"}}),
    ):
        add_carrying(f"kccs-malformed-{name}", "kccs-malformed", odd)
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
    lone = message(
        other, {1: -8, 4: other.thumbprint}, unprotected={14: {8: {1: encode_cose_key(other)}}}
    )
    vectors.add("kccs-makes-nobody-trusted", "signature", lone, trust=trust)
