"""Statements judged by trust stores; the stores are written by hand, not by vacr."""

from datetime import timedelta

from tests.vectors.certificates import Authority, certificate, days
from tests.vectors.receipts import TIME, LoggedStatement
from tests.vectors.statements import Key, message
from vacr.transparency.checkpoint import build_verifier_key

ALICE, BOB = "https://example.org/alice", "https://example.org/bob"


def entry(name, *roles, keys=(), **members):
    """Write a `[[trusted]]` table; underscores in names of members stand for hyphens."""
    lines = ["[[trusted]]", f'name = "{name}"', f"roles = [{', '.join(map(repr, roles))}]"]
    if keys:
        pems = ", ".join(f'"""\n{key.public_pem.decode()}"""' for key in keys)
        lines.append(f"keys = [{pems}]")
    lines += [f"{member.replace('_', '-')} = {value}" for member, value in members.items()]
    return "\n".join([*lines, ""])


def identity(authority, kind, name):
    """Write a `[[trusted.certificates]]` table."""
    pem = authority.pem.decode()
    return f'[[trusted.certificates]]\nauthority = """\n{pem}"""\n{kind} = "{name}"\n'


def add(vectors):
    """Add statements, and the stores that judge them."""
    keys = {name: Key.generate("eddsa") for name in ("alice", "bob", "redactor")}
    for name, key in keys.items():
        (vectors.folder / f"store-{name}.pub.pem").write_bytes(key.public_pem)
    log_key = Key.generate("es256")
    team = [
        entry("Alice", "signer", keys=[keys["alice"]], issuers=f'["{ALICE}"]'),
        entry("Bob", "signer", keys=[keys["bob"]], issuers=f'["{BOB}"]'),
        entry("Redactor", "redactor", keys=[keys["redactor"]]),
        entry("Log", "log", keys=[log_key]),
    ]
    write_store(vectors, "team", *team)
    add_signers(vectors, keys, log_key)
    add_periods(vectors, keys["alice"])
    add_logs(vectors, keys["alice"])
    add_identities(vectors)


def write_store(vectors, name, *entries):
    text = "\n".join(["version = 1", *entries])
    (vectors.folder / f"store-{name}.toml").write_text(text)


def claim(key, issuer=None):
    claims = {15: {1: issuer, 2: "urn:example:it"}} if issuer else {}
    return message(key, {1: key.algorithm, 4: key.thumbprint, **claims})


def judge(vectors, name, verdict, statement, store="team", trust=(), **policy):
    vectors.add(
        f"store-{name}",
        verdict,
        statement,
        trust=list(trust),
        trust_store=f"store-{store}.toml",
        **policy,
    )


def add_signers(vectors, keys, log_key):
    """Add statements of parties in and out of their roles, with issuers of their own and others."""
    alice, bob = keys["alice"], keys["bob"]
    judge(vectors, "valid", "verified", claim(alice))
    judge(vectors, "valid-issuer", "verified", claim(alice, ALICE), issuer=ALICE)
    judge(vectors, "valid-issuer-is-key", "verified", claim(bob, bob.uri), issuer=bob.uri)
    judge(vectors, "valid-issuer-unbound-and-not-required", "verified", claim(alice, BOB))
    judge(vectors, "one-signs-as-another", "issuer-unbound", claim(alice, BOB), issuer=BOB)
    judge(vectors, "log-key-signs", "role", claim(log_key))
    judge(vectors, "redactor-signs", "role", claim(keys["redactor"]))
    named = message(alice, {1: alice.algorithm, 4: keys["redactor"].thumbprint})
    judge(vectors, "valid-key-id-of-another-role", "verified", named)
    judge(vectors, "stranger-signs", "signature", claim(Key.generate("eddsa")))
    vectors.add(
        "store-none-two-bare-keys",
        "issuer-unbound",
        claim(alice, BOB),
        trust=["store-alice.pub.pem", "store-bob.pub.pem"],
        issuer=BOB,
    )


def add_periods(vectors, alice):
    """Add parties that are trusted for a time, and proofs of the time."""
    for name, period in (
        ("ended", {"valid_until": (days(0) - timedelta(hours=1)).isoformat()}),
        ("future", {"valid_from": days(1).isoformat()}),
        ("current", {"valid_from": days(-9).isoformat(), "valid_until": days(9).isoformat()}),
    ):
        write_store(vectors, name, entry("Alice", "signer", keys=[alice], **period))
    judge(vectors, "valid-period", "verified", claim(alice), "current")
    judge(vectors, "party-expired", "party-expired", claim(alice), "ended")
    judge(vectors, "party-not-yet-valid", "party-not-yet-valid", claim(alice), "future")
    judge(
        vectors,
        "party-expired-and-key-bare",
        "party-expired",
        claim(alice),
        "ended",
        trust=["store-alice.pub.pem"],
    )
    early = message(alice, {1: alice.algorithm, 15: {6: int(days(-10).timestamp())}})
    judge(vectors, "party-signed-too-early", "party-not-yet-valid", early, "current")


def add_logs(vectors, alice):
    """Add receipts of logs in and out of their validity."""
    logged = LoggedStatement(alice)
    log = Key(logged.log.signer.key)
    ended = {"valid_until": (days(0) - timedelta(hours=1)).isoformat()}
    retired = {"valid_until": days(-2).isoformat()}
    signer, former = (entry("Alice", "signer", keys=[alice], **more) for more in ({}, ended))
    write_store(vectors, "log", signer, entry("Log", "log", keys=[log]))
    write_store(vectors, "log-retired", signer, entry("Log", "log", keys=[log], **retired))
    write_store(vectors, "former", former, entry("Log", "log", keys=[log]))
    write_store(vectors, "former-log-retired", former, entry("Log", "log", keys=[log], **retired))
    assert (days(0) - timedelta(hours=1)).timestamp() > TIME
    statement = logged.with_receipts(logged.receipt())
    required = {"needs_receipt": True}
    judge(vectors, "valid-receipt", "verified", statement, "log", **required)
    judge(vectors, "receipt-missing", "receipt-missing", logged.statement, "log", **required)
    forged = logged.with_receipts(
        logged.receipt(
            head={**logged.header(), 1: alice.algorithm, 4: alice.thumbprint}, sign=alice.signer
        )
    )
    judge(vectors, "signer-key-issues-receipt", "receipt-untrusted", forged, "log", **required)
    judge(vectors, "receipt-of-retired-log", "log-expired", statement, "log-retired", **required)
    judge(vectors, "valid-receipt-before-end", "verified", statement, "former")
    judge(vectors, "retired-log-proves-no-time", "party-expired", statement, "former-log-retired")
    # A former signer issues the receipt: with the same key, or with another key of the same party.
    write_store(vectors, "former-own-key", former, entry("Own log", "log", keys=[alice]))
    own = entry("Alice", "signer", "log", keys=[alice, log], **ended)
    write_store(vectors, "former-own-log", own)
    judge(vectors, "own-key-proves-no-time", "party-expired", forged, "former-own-key")
    judge(vectors, "own-log-proves-no-time", "party-expired", statement, "former-own-log")


def add_owners(vectors):
    """Add receipts of a log that shares a key with a former signer, who may date them back."""
    alice = Key.generate("eddsa")
    logged = LoggedStatement(alice)
    log = Key(logged.log.signer.key)
    ended = {"valid_until": (days(0) - timedelta(hours=1)).isoformat()}
    note_key = build_verifier_key("log.example", alice.private.public_key())
    stores = {
        "valid-other-log": ([alice], [log], {}),
        "signer-lists-log-key": ([alice, log], [log], {}),
        "log-lists-signer-key": ([alice], [log, alice], {}),
        "log-note-key-of-signer": ([alice], [log], {"note_key": f'"{note_key}"'}),
    }
    statement = logged.with_receipts(logged.receipt())
    for name, (signer_keys, log_keys, members) in stores.items():
        signer = entry("Alice", "signer", keys=signer_keys, **ended)
        store = "\n".join(["version = 1", signer, entry("Log", "log", keys=log_keys, **members)])
        (vectors.folder / f"owner-{name}.toml").write_text(store)
        verdict = "verified" if name.startswith("valid") else "party-expired"
        vectors.add(f"owner-{name}", verdict, statement, trust=[], trust_store=f"owner-{name}.toml")


def add_identities(vectors):
    """Add certificates with and without the names that a store lists."""
    root, other = Authority("root"), Authority("root")
    key = Key.generate("es256")
    write_store(
        vectors,
        "certified",
        entry("Alice", "signer") + identity(root, "email", "alice@example.org"),
        entry("Bob", "signer") + identity(root, "uri", BOB),
        entry("Host", "signer") + identity(root, "dns", "ci.example.org"),
    )

    former = entry("Carol", "signer", keys=[key], valid_until=days(-1).isoformat())
    renamed = entry("Dave", "signer") + identity(root, "uri", BOB)
    write_store(vectors, "certified-again", former, renamed)

    def add_certificate(
        name, verdict, claimed, names, authority=root, subject="s", store="certified", **policy
    ):
        chain = certificate(key, authority, names=names, subject=subject, usage="code")
        statement = message(key, {1: -7, 33: chain, 15: {1: claimed, 2: "it"}})
        judge(vectors, f"certificate-{name}", verdict, statement, store, **policy)

    mailbox = "mailto:alice@example.org"
    email = "alice@example.org"
    add_certificate("valid-email", "verified", mailbox, [email], issuer=mailbox)
    add_certificate("valid-uri", "verified", BOB, [BOB], issuer=BOB)
    host = "https://ci.example.org/1"
    add_certificate("valid-dns", "verified", host, ["CI.example.org"], issuer=host)
    add_certificate("of-another", "identity-unknown", mailbox, ["mallory@example.org"])
    add_certificate("without-names", "identity-unknown", mailbox, [])
    add_certificate("common-name-only", "identity-unknown", mailbox, [], subject=email)
    add_certificate("of-a-subdomain", "identity-unknown", host, ["x.ci.example.org"])
    add_certificate("of-a-wildcard", "identity-unknown", host, ["*.example.org"])
    add_certificate("of-another-authority", "untrusted", mailbox, [email], other)
    add_certificate(
        "revives-no-key",
        "identity-ambiguous",
        BOB,
        [BOB],
        store="certified-again",
        extended_key_usage="1.3.6.1.5.5.7.3.3",
    )
    add_certificate("of-two-parties", "identity-ambiguous", BOB, [email, BOB])
    add_certificate(
        "issuer-is-not-the-listed-name",
        "issuer-unbound",
        "https://example.org/x",
        [email, "https://example.org/x"],
        issuer="https://example.org/x",
    )
