"""`vacr key`, `sign`, `verify` and `inspect`: written files, printed reports and refusals."""

import base64
import hashlib
import http.server
import json
import shutil
import stat
import subprocess
import threading

import cbor2
import pytest
from cryptography import x509

from tests.conftest import EXAMPLES
from tests.secret_files import write_secret
from tests.transparency.ccf_ledger import CcfLedger
from tests.transparency.logs import Log
from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key, message
from tests.vectors.timestamps import TimeAuthority
from vacr.signing.keys import (
    NEW_KEY_ALGORITHMS,
    build_cose_key,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_private_pem,
)
from vacr.transparency.receipt import add_receipt


@pytest.fixture
def signed_folder(prepare):
    """Return a folder with a record, a key and a statement."""
    return prepare(make_signed_folder)


def make_signed_folder(vacr, folder):
    shutil.copy(EXAMPLES / "claude-code.jsonl", folder / "s.jsonl")
    assert vacr("record", "s.jsonl").returncode == 0
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    assert vacr("sign", "s.acr.json", "--key", "keys/signing.pem").returncode == 0


TRUST = ("--trust", "keys/signing.pub.pem")


def test_private_key_is_readable_only_by_its_owner(vacr, tmp_path):
    vacr("key", "generate", "-o", "keys/")
    private = tmp_path / "keys" / "signing.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_bytes()
    again = vacr("key", "generate", "-o", "keys/")
    assert (again.returncode, private.read_bytes()) == (2, before)
    assert "Keys are never overwritten" in again.err


@pytest.mark.parametrize("secret", ["", "\nnot this line\n", "x" * 1024])
def test_invalid_passphrase_creates_no_key(vacr, tmp_path, secret):
    write_secret(tmp_path / "secret", secret.encode())
    done = vacr("key", "generate", "-o", "keys/", "--passphrase-file", "secret")
    assert (done.returncode, (tmp_path / "keys").exists()) == (2, False)
    assert "xx" not in done.err


def test_passphrase_file_readable_by_others_is_refused(vacr, tmp_path):
    write_secret(tmp_path / "secret", b"open sesame\n")
    for mode in (0o644, 0o640, 0o604):
        (tmp_path / "secret").chmod(mode)
        done = vacr("key", "generate", "-o", "keys/", "--passphrase-file", "secret")
        assert (done.returncode, (tmp_path / "keys").exists()) == (2, False)
        assert "other users can read secret" in done.err
        assert "chmod 600 secret" in done.err
    (tmp_path / "secret").chmod(0o600)
    generate = ("key", "generate", "-o", "keys/", "--passphrase-file", "secret")
    assert vacr(*generate).returncode == 0
    (tmp_path / "secret").chmod(0o644)
    (tmp_path / "record").write_bytes(b"{}")
    sign = ("sign", "record", "--key", "keys/signing.pem", "--passphrase-file", "secret")
    done = vacr(*sign)
    assert (done.returncode, "other users can read secret" in done.err) == (2, True)
    assert not list(tmp_path.glob("*.cose"))


def test_key_pair_is_created_completely_or_not_at_all(vacr, tmp_path):
    (tmp_path / "signing.pub.pem").write_text("another's")
    assert vacr("key", "generate").returncode == 2
    assert [path.name for path in tmp_path.glob("signing*")] == ["signing.pub.pem"]


@pytest.mark.parametrize(
    "algorithm",
    [
        ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
        ["X25519"],
        ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
    ],
)
def test_key_without_an_algorithm_is_refused(vacr, signed_folder, algorithm):
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", *algorithm, "-out", "odd.pem"],
        cwd=signed_folder,
        check=True,
        capture_output=True,
    )
    done = vacr("sign", "s.acr.json", "--key", "odd.pem", "-o", "x.cose")
    assert (done.returncode, "odd.pem: no supported algorithm uses" in done.err) == (2, True)


def test_key_readable_by_others_is_refused(vacr, signed_folder):
    (signed_folder / "keys" / "signing.pem").chmod(0o644)
    done = vacr("sign", "s.acr.json", "--key", "keys/signing.pem", "--overwrite")
    assert done.returncode == 2
    assert "other users can read" in done.err
    assert "or add --force" in done.err
    done = vacr("sign", "s.acr.json", "--key", "keys/signing.pub.pem")
    assert (done.returncode, "this is a public key; a private key is needed" in done.err) == (
        3,
        True,
    )
    assert (
        vacr("sign", "s.acr.json", "--key", "keys/signing.pem", "--overwrite", "--force").returncode
        == 0
    )


def test_signed_record_is_verified(vacr, signed_folder):
    assert (signed_folder / "s.acr.json.cose").stat().st_size < 600
    done = vacr("verify", "s.acr.json", *TRUST, "--source", "s.jsonl")
    assert done.returncode == 0
    names = [line.split()[1].rstrip(":") for line in done.out.splitlines() if line.startswith("✓")]
    assert names == [
        "structure",
        "algorithm",
        "trust",
        "signature",
        "content",
        "claims",
        "metadata",
        "record",
        "source",
    ]
    assert (
        done.out.splitlines()[-1]
        == "To repeat: vacr verify s.acr.json --trust keys/signing.pub.pem --source s.jsonl"
    )
    found = json.loads(vacr("verify", "s.acr.json.cose", *TRUST, "--format", "json").out)
    (result,) = found["results"]
    assert (found["verified"], result["verified"], result["algorithm"]) == (1, True, "EdDSA")
    assert result["subject"] == f"urn:uuid:{result['record']}"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "no-trust"),
        ((*TRUST, "--issuer", "https://example.org"), "issuer"),
        ((*TRUST, "--subject", "it"), "subject"),
        ((*TRUST, "--alg", "ES256"), "alg-not-allowed"),
        ((*TRUST, "--require-timestamp"), "timestamp-missing"),
        ((*TRUST, "--schema-version", "2"), "schema-version"),
    ],
)
@pytest.mark.usefixtures("signed_folder")
def test_unmet_requirements_fail(vacr, arguments, reason):
    done = vacr("verify", "s.acr.json", *arguments)
    assert (done.returncode, f"({reason})" in done.err) == (1, True)


def test_changed_files_fail(vacr, signed_folder):
    record = signed_folder / "s.acr.json"
    data = record.read_bytes()
    record.write_bytes(data.replace(b"claude", b"Claude", 1))
    done = vacr("verify", "s.acr.json", *TRUST)
    assert (done.returncode, "(content-mismatch)" in done.err) == (1, True)
    record.write_bytes(data)
    assert vacr("verify", "s.acr.json", *TRUST).returncode == 0


def test_source_with_another_record_fails(vacr, signed_folder):
    native = signed_folder / "s.jsonl"
    native.write_bytes(native.read_bytes().splitlines(keepends=True)[0])
    done = vacr("verify", "s.acr.json", *TRUST, "--source", "s.jsonl")
    assert (done.returncode, "(source-mismatch)" in done.err) == (1, True)


@pytest.mark.component
def test_statements_of_a_folder_are_verified(vacr, signed_folder):
    folder = signed_folder / "many"
    folder.mkdir()
    for number in range(210):
        for name in ("s.acr.json", "s.acr.json.cose"):
            shutil.copy(signed_folder / name, folder / f"{number}.{name}")
    done = vacr("verify", "many/", *TRUST)
    assert (done.returncode, done.out.splitlines()[-2]) == (0, "210 files: 210 verified, 0 failed")
    (folder / "1.s.acr.json.cose").unlink()
    done = vacr("verify", "many/", *TRUST)
    assert (done.returncode, done.out.splitlines()[-2]) == (1, "210 files: 209 verified, 1 failed")
    (signed_folder / "empty").mkdir()
    done = vacr("verify", "empty/", *TRUST)
    assert (done.returncode, "no statements found" in done.err) == (1, True)


def test_failure_outranks_an_unreadable_file(vacr, signed_folder):
    done = vacr("verify", "none.acr.json", *TRUST)
    assert (done.returncode, "there is no such file" in done.err) == (3, True)
    (signed_folder / "unsigned.acr.json").write_text("{}")
    (signed_folder / "odd.acr.json.cose").symlink_to("nowhere")
    assert vacr("verify", "s.acr.json", "odd.acr.json.cose", *TRUST).returncode == 3
    assert vacr("verify", ".", *TRUST).returncode == 1


def test_unusable_trust_is_reported(vacr, signed_folder):
    assert vacr("verify", "s.acr.json", "--trust", "none.pem").returncode == 4
    (signed_folder / "junk.pem").write_text("junk")
    assert vacr("verify", "s.acr.json", "--trust", "junk.pem").returncode == 3
    done = vacr("verify", "s.acr.json", "--trust", "keys/signing.pem")
    assert (done.returncode, "this is a private key; a public key is needed" in done.err) == (
        3,
        True,
    )


def test_several_keys_can_be_in_one_file(vacr, signed_folder):
    ours, other = (
        (signed_folder / "keys" / "signing.pub.pem").read_bytes(),
        Key.generate("es256").public_pem,
    )
    for written in (other + ours, other + b"\n# ours\n" + ours + Authority("root").pem):
        (signed_folder / "all.pem").write_bytes(written)
        assert vacr("verify", "s.acr.json", "--trust", "all.pem").returncode == 0
    (signed_folder / "all.pem").write_bytes(other + ours[:60])
    assert vacr("verify", "s.acr.json", "--trust", "all.pem").returncode == 3


def test_help_explains_where_statements_are_written(vacr):
    assert "next to a record; else the" in " ".join(vacr("sign", "--help").out.split())


def test_key_names_are_shown_alike(vacr, signed_folder):
    short, name = vacr("key", "show", "keys/signing.pub.pem").out.split()[-2:]
    output = vacr("verify", "s.acr.json", *TRUST).out
    assert f"✓ trust: signed by a key you gave (key {short.rstrip(':')})" in output
    assert f"✓ claims: by {name}" in output
    root = Authority("root")
    (signed_folder / "root.pem").write_bytes(root.pem)
    assert compute_thumbprint_uri(root.private.public_key()) in vacr("key", "show", "root.pem").out
    assert "keys/signing.pem: this is a private key" in vacr("key", "show", "keys/signing.pem").err


def test_unreadable_root_is_reported(vacr, signed_folder):
    odd = [
        x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.3.{last}"), b"\x05\x00")
        for last in (4, 5)
    ]
    twice = certificate(Key.generate("es256"), Authority("root"), more=odd).replace(
        b"\x2a\x03\x05", b"\x2a\x03\x04"
    )
    (signed_folder / "twice.pem").write_text(
        f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(twice).decode()}-----END "
        "CERTIFICATE-----\n"
    )
    for arguments in (
        ("verify", "s.acr.json", "--trust"),
        ("sign", "s.acr.json", "--key", "keys/signing.pem", "--x5chain"),
    ):
        done = vacr(*arguments, "twice.pem")
        assert (done.returncode, "twice.pem: cannot read a certificate" in done.err) == (
            3,
            True,
        )


def test_native_session_can_be_signed(vacr, signed_folder):
    assert (
        vacr("sign", "s.jsonl", "--key", "keys/signing.pem", "--profile", "detached").returncode
        == 0
    )
    done = vacr("verify", "s.jsonl", *TRUST)
    assert done.returncode == 0
    shown = json.loads(vacr("inspect", "s.jsonl.cose", "--format", "json").out)["files"][0]
    assert shown["unprotected"]["trace-metadata"]["trace-format"] == "claude-jsonl"
    assert "? record: the signed file is not a record" in done.out
    assert (signed_folder / "s.jsonl.cose").is_file()


@pytest.mark.parametrize("profile", ["hash-envelope", "detached", "attached"])
def test_statement_carries_the_summary_of_its_record(vacr, signed_folder, profile):
    assert (
        vacr(
            "sign", "s.acr.json", "--key", "keys/signing.pem", "--profile", profile, "--overwrite"
        ).returncode
        == 0
    )
    data = (signed_folder / "s.acr.json").read_bytes()
    session = json.loads(data)["session"]
    # The signature of a hash envelope is over the hash itself.
    hashed = (
        {} if profile == "hash-envelope" else {"content-hash": hashlib.sha256(data).hexdigest()}
    )
    message = cbor2.loads((signed_folder / "s.acr.json.cose").read_bytes()).value
    assert 100 not in cbor2.loads(message[0])
    assert message[1][100] == {
        "session-id": session["session-id"],
        "agent-vendor": "anthropic",
        "trace-format": "ietf-vac-v3.0",
        "timestamp-start": session["session-start"],
        "timestamp-end": session["session-end"],
        **hashed,
    }


@pytest.mark.parametrize("kind", NEW_KEY_ALGORITHMS)
def test_every_kind_of_key_signs_with_a_passphrase(vacr, signed_folder, kind):
    write_secret(signed_folder / "secret", b"open sesame\n")
    with_it = ("--passphrase-file", "secret")
    assert vacr("key", "generate", "-o", kind, "--alg", kind, *with_it).returncode == 0
    refused = vacr("sign", "s.acr.json", "--key", f"{kind}/signing.pem", "-o", "x.cose")
    assert (refused.returncode, "encrypted" in refused.err) == (2, True)
    for profile in ("attached", "detached"):
        done = vacr(
            "sign",
            "s.acr.json",
            "--key",
            f"{kind}/signing.pem",
            *with_it,
            "--profile",
            profile,
            "--overwrite",
        )
        assert done.returncode == 0
        assert vacr("verify", "s.acr.json", "--trust", f"{kind}/signing.pub.pem").returncode == 0


def test_certificates_and_a_timestamp_are_verified(vacr, signed_folder):
    root = Authority("root")
    key = Key.generate("es256")
    chain = certificate(key, root, usage="code", names=["https://example.org"])
    subprocess.run(
        ["openssl", "x509", "-inform", "DER", "-out", "leaf.pem"],
        input=chain,
        cwd=signed_folder,
        check=True,
    )
    (signed_folder / "key.pem").write_bytes(encode_private_pem(key.private))
    (signed_folder / "key.pem").chmod(0o600)
    (signed_folder / "root.pem").write_bytes(root.pem)
    (signed_folder / "time").mkdir()
    authority = TimeAuthority(signed_folder / "time")
    (signed_folder / "time-root.pem").write_bytes(authority.root.pem)
    with TimestampService(authority) as url:
        arguments = (
            "--x5chain",
            "leaf.pem",
            "--issuer",
            "https://example.org",
            "--timestamp",
            url,
            "--overwrite",
        )
        done = vacr("sign", "s.acr.json", "--key", "key.pem", *arguments)
        assert done.returncode == 0, done.err
    refused = vacr(
        "sign",
        "s.acr.json",
        "--key",
        "key.pem",
        "--x5chain",
        "leaf.pem",
        "--issuer",
        "me",
        "-o",
        "y.cose",
    )
    assert (refused.returncode, "must be a URI" in refused.err) == (2, True)
    wanted = (
        "--trust",
        "root.pem",
        "--issuer",
        "https://example.org",
        "--eku",
        "1.3.6.1.5.5.7.3.3",
    )
    done = vacr(
        "verify", "s.acr.json", *wanted, "--timestamp-trust", "time-root.pem", "--require-timestamp"
    )
    assert done.returncode == 0, done.err
    assert "✓ certificate: valid at the time of the timestamp" in done.out
    assert (
        "? timestamp: not checked: no trusted timestamp authority"
        in vacr("verify", "s.acr.json", *wanted).out
    )
    assert "✓ claims: by https://example.org\n" in done.out
    refused = vacr("verify", "s.acr.json", *wanted, "--timestamp-trust", "root.pem")
    assert (
        "✗ timestamp: the timestamp is not trusted: Verify error: unable to get local issuer "
        "certificate\n"
    ) in refused.out
    assert (
        "✓ claims: by https://example.org\n"
        in vacr("verify", "s.acr.json", "--trust", "root.pem").out
    )
    assert (
        vacr(
            "sign", "s.acr.json", "--key", "key.pem", "--timestamp", url, "-o", "y.cose"
        ).returncode
        == 4
    )


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://me:open-sesame@127.0.0.1:1/", 2),
        ("http://me:open-sesame@[/", 2),
        ("http://127.0.0.1:99999/", 2),
        ("http://127.0.0.1:1/ü", 2),
        ("ftp://127.0.0.1/", 2),
        ("http://" + "a" * 80 + ".example/", 4),
        ("http://127.0.0.1:1/", 4),
    ],
)
@pytest.mark.usefixtures("signed_folder")
def test_invalid_addresses_are_refused_without_showing_secrets(vacr, url, code):
    done = vacr(
        "sign", "s.acr.json", "--key", "keys/signing.pem", "--timestamp", url, "-o", "x.cose"
    )
    assert (done.returncode, "sesame" in done.err) == (code, False)


class TimestampService:
    """A timestamp authority on a port of this machine."""

    def __init__(self, authority):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                reply = authority.answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_inspect_shows_a_statement(vacr, signed_folder):
    done = vacr("inspect", "s.acr.json.cose")
    assert done.returncode == 0
    assert "alg (1): EdDSA (-8)" in done.out
    assert f"kccs (14): {vacr('key', 'show', 'keys/signing.pub.pem').out.split()[-1]}" in done.out
    assert "Not verified" in done.err
    vacr("convert", "s.acr.json", "--to", "cbor")
    assert '"version": "3.0.0-draft"' in vacr("inspect", "s.acr.cbor").out
    (signed_folder / "x").write_bytes(b"\xff")
    assert vacr("inspect", "x").returncode == 3


def test_inspect_distinguishes_labels_from_similar_names(vacr, tmp_path):
    claims = {1: "https://mallory.example", "iss": "https://example.org", "1": "no issuer"}
    (tmp_path / "x.cose").write_bytes(message(Key.generate("eddsa"), {1: -8, 15: claims}))
    assert all(repr(value).strip("'") in vacr("inspect", "x.cose").out for value in claims.values())
    shown = json.loads(vacr("inspect", "x.cose", "--format", "json").out)["files"][0]["protected"][
        "CWT claims"
    ]
    assert shown == {"1": claims[1], '"1"': claims["1"], "iss": claims["iss"]}


def test_inspect_writes_a_name_in_one_line(vacr, tmp_path):
    key = Key.generate("es256")
    leaf = certificate(key, Authority("root"), subject="a\nsignature: good")
    (tmp_path / "x.cose").write_bytes(message(key, {1: -7, 33: leaf}))
    assert "x5chain (33): CN=a\\nsignature: good" in vacr("inspect", "x.cose").out


@pytest.mark.parametrize(
    "big", [1 << 20000, -(1 << 20000), 1 << 64, -(1 << 64) - 1], ids=int.bit_length
)
def test_inspect_writes_big_numbers(vacr, tmp_path, big):
    (tmp_path / "x.cbor").write_bytes(cbor2.dumps([big]))
    done = vacr("inspect", "x.cbor")
    assert (done.returncode, done.out.lstrip("[\n ")[:4]) == (0, "2(h'" if big > 0 else "3(h'")
    (tmp_path / "x.cbor").write_bytes(b"\xa2" + 2 * (cbor2.dumps(big) + b"\x00"))
    assert vacr("inspect", "x.cbor").returncode == 3


def test_odd_certificates_cause_no_warnings(vacr, tmp_path):
    root, key = Authority("root"), Key.generate("es256")
    with pytest.warns(UserWarning, match="Attribute's length"):
        country = x509.NameAttribute(x509.NameOID.COUNTRY_NAME, "Utopia", _validate=False)
    leaf = certificate(
        key, root, more=[x509.SubjectAlternativeName([x509.DirectoryName(x509.Name([country]))])]
    )
    (tmp_path / "root.pem").write_bytes(root.pem)
    (tmp_path / "x.cose").write_bytes(
        message(key, {1: -7, 33: leaf, 15: {1: "https://example.org"}})
    )
    done = vacr("verify", "x.cose", "--trust", "root.pem")
    assert (done.returncode, done.err) == (0, "")


def test_receipt_of_ccf_names_no_position(vacr, signed_folder):
    statement, ledger = signed_folder / "s.acr.json.cose", CcfLedger()
    index = ledger.add(statement.read_bytes())
    ledger.fill(1)
    statement.write_bytes(add_receipt(statement.read_bytes(), ledger.receipt(index)))
    (signed_folder / "ledger.pem").write_bytes(Key(ledger.signer.key).public_pem)
    done = vacr("verify", "s.acr.json", *TRUST, "--log-key", "ledger.pem")
    assert ", which calls itself ledger.example, transaction 2.1, " in done.out
    assert "not signed" not in done.out


def test_receipts_are_verified(vacr, signed_folder):
    statement, log = signed_folder / "s.acr.json.cose", Log()
    bare = statement.read_bytes()
    statement.write_bytes(add_receipt(bare, log.receipt(bare)))
    (signed_folder / "log").mkdir()
    (signed_folder / "log" / "receipt-keys.pem").write_bytes(
        Key.generate("es256").public_pem + Key(log.signer.key).public_pem
    )
    (signed_folder / "log.cbor").write_bytes(cbor2.dumps([build_cose_key(log.key), {1: 4711}]))
    (signed_folder / "other.pem").write_bytes(Key.generate("es256").public_pem)
    thumbprint = compute_thumbprint(log.key).hex()[:16]
    called = f"the log of key {thumbprint}, which calls itself https://log.example"
    logged = f"in {called}, 2023-11-14T22:13:20Z"
    for name in ("log/", "log/receipt-keys.pem", "log.cbor"):
        done = vacr("verify", "s.acr.json", *TRUST, "--log-key", name, "--log-key", "other.pem")
        assert (
            done.returncode,
            f"✓ receipt: {logged}\n" in done.out,
        ) == (0, True)
        assert "\n  not signed: the receipt names entry 1 of 2\n" in done.out
    assert "signed record" in done.out
    assert "2023-11-14T22:13:20Z\n" in done.out.splitlines(keepends=True)[-2]
    (result,) = json.loads(
        vacr("verify", "s.acr.json", *TRUST, "--log-key", "log/", "--format", "json").out
    )["results"]
    (receipt,) = result["receipts"]
    assert (result["logged-at"], receipt["log"], receipt["index"], receipt["size"]) == (
        receipt["time"],
        log.name,
        1,
        2,
    )
    assert (
        "? receipt: not checked: no trusted log key given"
        in vacr("verify", "s.acr.json", *TRUST).out
    )
    for arguments, reason in (
        (("--log-key", "other.pem"), "receipt-untrusted"),
        (("--log-key", "log/", "--entry-rule", "digest"), "receipt-signature"),
    ):
        done = vacr("verify", "s.acr.json", *TRUST, *arguments)
        assert (done.returncode, f"({reason})" in done.err) == (1, True)
        assert ("one claims to be from https://log.example, by key" in done.err) == (
            reason == "receipt-untrusted"
        )
    assert (
        "receipts (394): of https://log.example, entry 1 of 2\n"
        in vacr("inspect", "s.acr.json.cose").out
    )
    statement.write_bytes(bare)
    done = vacr("verify", "s.acr.json", *TRUST, "--log-key", "log/")
    assert (done.returncode, "(receipt-missing)" in done.err, "vacr register" in done.err) == (
        1,
        True,
        True,
    )


@pytest.mark.usefixtures("signed_folder")
def test_missing_log_keys_are_reported(vacr):
    done = vacr("verify", "s.acr.json", *TRUST, "--log-key", "keys/")
    assert (done.returncode, "not the folder of a log" in done.err) == (4, True)
    for name, code in (
        ("none.pem", 4),
        ("https://log.example", 4),
        ("s.jsonl", 3),
        ("keys/signing.pem", 3),
    ):
        done = vacr("verify", "s.acr.json", *TRUST, "--log-key", name)
        assert (done.returncode, "receipt-keys.pem" in done.err, "signing.pub.pem" in done.err) == (
            code,
            True,
            False,
        )


@pytest.mark.parametrize("damage", ["cut", "invalid", "cut in CBOR"])
def test_file_that_is_not_a_valid_record_is_signed_only_by_force(vacr, signed_folder, damage):
    name = "bad.acr.cbor" if damage == "cut in CBOR" else "bad.acr.json"
    bad = signed_folder / name
    data = (signed_folder / "s.acr.json").read_bytes()
    if damage == "cut in CBOR":
        vacr("convert", "s.acr.json", "--to", "cbor", "-o", "good.acr.cbor")
        data = (signed_folder / "good.acr.cbor").read_bytes()
    bad.write_bytes(data[:-500] if damage != "invalid" else b'{"version": "3.0.0-draft"}')
    done = vacr("sign", name, "--key", "keys/signing.pem")
    assert done.returncode == 1
    assert f"{name}: not a valid record: " in done.err
    assert f"vacr validate {name}" in done.err
    assert not (signed_folder / f"{name}.cose").exists()
    done = vacr("sign", name, "--key", "keys/signing.pem", "--force")
    assert done.returncode == 1
    assert done.out.startswith(f"WARNING: {name}: not a valid record: ")
    assert (signed_folder / f"{name}.cose").exists()
    done = vacr(
        "sign", name, "--key", "keys/signing.pem", "--force", "--overwrite", "--format", "json"
    )
    assert json.loads(done.out)["statements"][0]["valid"] is False


def test_damaged_file_without_the_name_of_a_record_is_signed(vacr, signed_folder):
    (signed_folder / "notes.json").write_text("{")
    assert vacr("sign", "notes.json", "--key", "keys/signing.pem").returncode == 0


@pytest.mark.usefixtures("signed_folder")
def test_inspect_of_json_names_the_verbs_for_it(vacr):
    done = vacr("inspect", "s.acr.json")
    assert done.returncode == 3
    assert "s.acr.json: this is JSON, and only CBOR can be inspected" in done.err
    assert "vacr show FILE" in done.err
