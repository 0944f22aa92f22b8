"""`vacr register`: receipts in statements, the outbox, and refusals."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from tests.log.scrapi import Scrapi
from tests.log.test_client import write_certificate
from tests.secret_files import write_secret
from tests.transparency.logs import Log
from tests.vectors.certificates import Authority
from tests.vectors.statements import Key
from vacr.registration.outbox import Outbox
from vacr.signing.cose import parse_sign1
from vacr.transparency.receipt import parse_receipts

pytestmark = pytest.mark.component

NOBODY = "http://127.0.0.1:1"
TRUST = ("--trust", "keys/signing.pub.pem")
SOON = ("--patience", "0")


@pytest.fixture
def service():
    with Scrapi() as running:
        yield running


@pytest.fixture
def signed_folder(vacr, tmp_path, request):
    """Return a folder with records, a key and statements."""
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    for name, example in (("a", "claude-code.jsonl"), ("b", "codex-cli.jsonl")):
        shutil.copy(request.config.rootpath / "examples" / example, tmp_path / f"{name}.jsonl")
    assert vacr("record", "a.jsonl", "b.jsonl", "-o", "r/").returncode == 0
    assert vacr("sign", "r/a.acr.json", "r/b.acr.json", "--key", "keys/signing.pem").returncode == 0
    return tmp_path


def write_log_key(folder, service, name="log.pem"):
    (folder / name).write_bytes(Key(service.log.signer.key).public_pem)
    return name


def open_outbox(folder):
    return Outbox(folder / "home" / ".local" / "state" / "vacr" / "outbox")


def read_receipts(path):
    return parse_receipts(parse_sign1(path.read_bytes()))


def test_receipt_is_stored_in_the_statement(vacr, signed_folder, service):
    name = write_log_key(signed_folder, service)
    (signed_folder / "r" / "a.acr.json.cose").chmod(0o600)
    done = vacr("register", "r/a.acr.json.cose", "--service", service.url, "--log-key", name)
    assert (done.returncode, done.err) == (0, "")
    assert done.out.startswith("r/a.acr.json.cose: registered, in the log of key ")
    assert "calls itself" not in done.out
    assert "Z; the log calls it entry 1 of 2" in done.out
    assert "not pinned" not in done.out
    again = vacr("register", "r/a.acr.json", "--service", service.url, "--log-key", name, "-v")
    assert ", which calls itself https://log.example, 20" in again.out
    assert stat.S_IMODE((signed_folder / "r" / "a.acr.json.cose").stat().st_mode) == 0o600
    assert vacr("verify", "r/a.acr.json", *TRUST, "--log-key", name).returncode == 0
    report = json.loads(
        vacr("register", "r/b.acr.json", "--service", service.url, "--format", "json").out
    )
    (one,) = report["statements"]
    assert (one["state"], one["receipt"]["index"], one["as-the-service-says"], report["left"]) == (
        "registered",
        2,
        True,
        0,
    )
    assert vacr("verify", "r/", *TRUST, "--log-key", name).returncode == 0
    assert list(open_outbox(signed_folder).items()) == []


def test_registered_statement_is_registered_again_only_on_request(vacr, signed_folder, service):
    path = signed_folder / "r" / "a.acr.json.cose"
    vacr("register", "r/", "--service", service.url)
    before, asked = path.read_bytes(), len(service.posted)
    done = vacr("register", "r/", "--service", service.url)
    assert (done.returncode, done.out.count("already has a receipt"), path.read_bytes()) == (
        0,
        2,
        before,
    )
    assert len(service.posted) == asked
    service.log.fill(3)
    assert (
        "entry 1 of 6" in vacr("register", "r/a.acr.json", "--service", service.url, "--again").out
    )
    assert len(read_receipts(path)) == 1
    with Scrapi(Log("https://other.example")) as other:
        assert vacr("register", "r/a.acr.json", "--service", other.url).returncode == 0
        both = (
            "--log-key",
            write_log_key(signed_folder, service),
            "--log-key",
            write_log_key(signed_folder, other, "other.pem"),
        )
        assert (
            "b.acr.json.cose: registered"
            in vacr("register", "r/b.acr.json", "--service", other.url, *both).out
        )
        assert (
            "already has a receipt"
            in vacr("register", "r/b.acr.json", "--service", other.url, *both).out
        )
    assert (
        len(read_receipts(path)) == len(read_receipts(signed_folder / "r" / "b.acr.json.cose")) == 2
    )


def test_output_can_be_another_file_or_standard_output(vacr, signed_folder, service):
    path = signed_folder / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    assert vacr("register", "r/a.acr.json", "--service", service.url, "-o", "out/").returncode == 0
    assert len(read_receipts(signed_folder / "out" / "a.acr.json.cose")) == 1
    piped = vacr("register", "r/a.acr.json", "--service", service.url, "-o", "-")
    assert len(parse_receipts(parse_sign1(piped.stdout))) == 1
    assert path.read_bytes() == before
    shutil.copy(path, signed_folder / "out" / "x.cose")
    refused = vacr("register", "r/a.acr.json", "--service", service.url, "-o", "out/x.cose")
    assert (refused.returncode, "--overwrite" in refused.err) == (2, True)
    assert (
        vacr(
            "register", "r/a.acr.json", "r/b.acr.json", "--service", service.url, "-o", "one.cose"
        ).returncode
        == 2
    )
    done = vacr("register", "r/a.acr.json", "--service", NOBODY, "-o", "new.cose", *SOON)
    assert (
        done.returncode,
        list(open_outbox(signed_folder).items()),
        (signed_folder / "new.cose").exists(),
    ) == (
        4,
        [],
        False,
    )


def test_unreachable_service_leaves_statements_in_the_outbox(vacr, signed_folder, service):
    path = signed_folder / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    done = vacr("register", "r/", "--service", NOBODY, *SOON)
    assert (done.returncode, done.err.count("vacr register --pending"), path.read_bytes()) == (
        4,
        2,
        before,
    )
    assert len(list(open_outbox(signed_folder).items())) == 2
    done = vacr("register", "--pending", *SOON)
    assert (done.returncode, "2 items in the outbox: 0 registered, 2 left" in done.out) == (4, True)
    for item in open_outbox(signed_folder).items():
        written = open_outbox(signed_folder).path(item)
        written.write_text(written.read_text().replace(NOBODY, service.url))
    done = vacr("register", "--pending", cwd=signed_folder / "keys")
    assert (done.returncode, "2 items in the outbox: 2 registered, 0 left" in done.out) == (0, True)
    assert len(read_receipts(path)) == 1


def queue_statements(folder, *found):
    for url, path in found:
        open_outbox(folder).add(url, str(folder / path), (folder / path).read_bytes())


def test_failing_items_are_reported_and_do_not_stop_the_others(vacr, signed_folder, service):
    shutil.copy(signed_folder / "r" / "b.acr.json.cose", signed_folder / "gone.cose")
    shutil.copy(signed_folder / "r" / "b.acr.json.cose", signed_folder / "other.cose")
    queue_statements(
        signed_folder,
        (NOBODY, "r/a.acr.json.cose"),
        (service.url, "gone.cose"),
        (service.url, "other.cose"),
    )
    queue_statements(
        signed_folder, (service.url, "r/b.acr.json.cose"), ("ftp://x", "r/b.acr.json.cose")
    )
    (signed_folder / "gone.cose").unlink()
    shutil.copy(signed_folder / "r" / "a.acr.json.cose", signed_folder / "other.cose")
    done = vacr("register", "--pending", *SOON)
    assert (done.returncode, "5 items in the outbox: 1 registered, 4 left" in done.out) == (4, True)
    assert "gone.cose: not registered" not in done.out
    assert "changed while it was waiting" in done.err
    assert "no such file" in done.err
    assert done.err.count("If you no longer need it, delete") == 2
    assert len(read_receipts(signed_folder / "r" / "b.acr.json.cose")) == 1
    report = json.loads(
        vacr("register", "--pending", "--service", service.url, "--format", "json").out
    )
    assert (report["left"], len(report["statements"])) == (2, 2)
    (open_outbox(signed_folder).folder / "junk.json").write_text("junk")
    done = vacr("register", "--pending", "--service", "http://127.0.0.1:2")
    assert (done.returncode, "item of the outbox ignored: not JSON" in done.err) == (3, True)
    assert (
        "0 items in the outbox for http://127.0.0.1:2: 0 registered, 1 left; 4 items for other services\n"
        in done.out
    )
    assert str(open_outbox(signed_folder).folder) in done.err


def test_registered_statement_leaves_the_outbox(vacr, signed_folder, service):
    queue_statements(signed_folder, (service.url, "r/a.acr.json.cose"))
    assert vacr("register", "r/a.acr.json", "--service", service.url).returncode == 0
    assert list(open_outbox(signed_folder).items()) == []
    assert vacr("register", "--pending").returncode == 0


@pytest.mark.parametrize("where", ["VACR_OUTBOX", "XDG_STATE_HOME"])
def test_variables_select_the_outbox(vacr, signed_folder, where):
    vacr(
        "register",
        "r/a.acr.json",
        "--service",
        NOBODY,
        *SOON,
        **{where: str(signed_folder / "else")},
    )
    folder = (
        signed_folder / "else"
        if where == "VACR_OUTBOX"
        else signed_folder / "else" / "vacr" / "outbox"
    )
    assert len(list(Outbox(folder).items())) == 1


def test_unregistrable_statements_are_refused(vacr, signed_folder, service):
    sign = ("sign", "r/a.acr.json", "--key", "keys/signing.pem")
    vacr(*sign, "--profile", "detached", "-o", "detached.cose")
    vacr(
        "sign",
        "a.jsonl",
        "--key",
        "keys/signing.pem",
        "--profile",
        "attached",
        "-o",
        "attached.cose",
    )
    with (signed_folder / "big.jsonl").open("wb") as file:
        file.write((signed_folder / "a.jsonl").read_bytes() * 30)
    vacr(
        "sign", "big.jsonl", "--key", "keys/signing.pem", "--profile", "attached", "-o", "big.cose"
    )
    for name in ("detached.cose", "big.cose"):
        done = vacr("register", name, "--service", service.url)
        assert (done.returncode, "--profile hash-envelope" in done.err) == (1, True)
    assert service.asked == []
    assert list(open_outbox(signed_folder).items()) == []
    for name, code in (("r/none.cose", 3), ("keys/signing.pem", 1), ("none.acr.json", 3)):
        assert vacr("register", name, "--service", service.url).returncode == code
    (signed_folder / "empty").mkdir()
    assert vacr("register", "empty/", "--service", service.url).returncode == 1


def test_refusals_of_the_service_leave_the_statement_unchanged(vacr, signed_folder, service):
    path = signed_folder / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    for fault, code in ((400, 1), (403, 1), (404, 2), ("garbage", 1), ("forged", 1)):
        service.plan = [fault]
        done = vacr("register", "r/a.acr.json", "--service", service.url)
        assert (done.returncode, path.read_bytes(), list(open_outbox(signed_folder).items())) == (
            code,
            before,
            [],
        )
    (signed_folder / "other.pem").write_bytes(Key.generate("es256").public_pem)
    done = vacr("register", "r/a.acr.json", "--service", service.url, "--log-key", "other.pem")
    assert (done.returncode, "returned an invalid receipt" in done.err, path.read_bytes()) == (
        1,
        True,
        before,
    )
    service.plan = [400]
    done = vacr("register", "r/", "--service", service.url)
    assert (done.returncode, "b.acr.json.cose: registered" in done.out) == (1, True)


def test_token_authenticates_the_caller(vacr, signed_folder, service):
    service.token = "open-sesame"  # noqa: S105 - not a real secret
    write_secret(signed_folder / "token", b"open-sesame\n")
    url = ("--service", service.url)
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "token").returncode == 0
    assert vacr("register", "r/b.acr.json", *url, VACR_REGISTER_TOKEN="open-sesame").returncode == 0  # noqa: S106
    done = vacr("register", "r/a.acr.json", *url, "--again", VACR_REGISTER_TOKEN="wrong")  # noqa: S106
    assert (done.returncode, "--token-file" in done.err, "wrong" in done.err) == (1, True, False)
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "none").returncode == 4
    write_secret(signed_folder / "empty", b"\n")
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "empty").returncode == 2
    queue_statements(
        signed_folder, (service.url, "r/a.acr.json.cose"), (NOBODY, "r/a.acr.json.cose")
    )
    done = vacr("register", "--pending", "--token-file", "token")
    assert (done.returncode, "a token works for only one" in done.err) == (2, True)
    assert vacr("register", "--pending", "--token-file", "token", *url).returncode == 0


def test_token_file_readable_by_others_is_refused(vacr, signed_folder, service):
    service.token = "open-sesame"  # noqa: S105 - not a real secret
    write_secret(signed_folder / "token", b"open-sesame\n").chmod(0o644)
    register = ("register", "r/a.acr.json", "--service", service.url, "--token-file", "token")
    done = vacr(*register)
    assert (done.returncode, "other users can read token" in done.err) == (2, True)
    assert (service.asked, "sesame" in done.err) == ([], False)
    (signed_folder / "token").chmod(0o600)
    assert vacr(*register).returncode == 0


def test_client_key_readable_by_others_is_refused(vacr, signed_folder):
    root = Authority("root")
    (signed_folder / "ca.pem").write_bytes(root.pem)
    tls = {
        "certificate": write_certificate(root, signed_folder, "server.pem"),
        "clients": str(signed_folder / "ca.pem"),
    }
    write_certificate(root, signed_folder, "mine.pem")
    shutil.copy(signed_folder / "mine.pem", signed_folder / "mine.key")
    with Scrapi(tls=tls) as service:
        register = ("register", "r/a.acr.json", "--service", service.url, "--ca", "ca.pem", *SOON)
        for options, secret in (
            (("--client-cert", "mine.pem", "--client-key", "mine.key"), "mine.key"),
            (("--client-cert", "mine.pem"), "mine.pem"),
        ):
            (signed_folder / secret).chmod(0o644)
            done = vacr(*register, *options)
            assert (done.returncode, f"other users can read {secret}" in done.err) == (2, True)
            (signed_folder / secret).chmod(0o600)
            assert vacr(*register, *options, "--again").returncode == 0


def test_tls_certificates_of_both_sides_are_checked(vacr, signed_folder):
    root = Authority("root")
    (signed_folder / "ca.pem").write_bytes(root.pem)
    tls = {
        "certificate": write_certificate(root, signed_folder, "server.pem"),
        "clients": str(signed_folder / "ca.pem"),
    }
    mine, key = write_certificate(root, signed_folder, "mine.pem"), signed_folder / "mine.key"
    pem = (signed_folder / "mine.pem").read_bytes()
    at = pem.index(b"-----BEGIN PRIVATE KEY")
    write_secret(key, pem[at:])
    (signed_folder / "mine.pem").write_bytes(pem[:at])
    with Scrapi(tls=tls) as service:
        asked = ("register", "r/a.acr.json", "--service", service.url, *SOON)
        assert (
            vacr(*asked, "--ca", "ca.pem", "--client-cert", mine, "--client-key", key).returncode
            == 0
        )
        done = vacr(*asked, "--client-cert", mine, "--client-key", key, "--again")
        assert (
            done.returncode,
            "certificate is not trusted" in done.err,
            "certifies the service. The statement waits in the outbox" in done.err,
        ) == (4, True, True)
        done = vacr(*asked, "--ca", "ca.pem", "--again")
        assert (
            done.returncode,
            "add --client-cert. The statement waits in the outbox" in done.err,
        ) == (4, True)
        done = vacr(
            "register", "r/b.acr.json", "--service", service.url.replace("https:", "http:"), *SOON
        )
        assert (done.returncode, "its address must start with https:." in done.err) == (4, True)
        assert vacr(*asked, "--ca", "ca.pem", "--client-cert", mine, "--again").returncode == 4
        assert vacr(*asked, "--ca", "none.pem").returncode == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("r/a.acr.json",),
        ("--service", NOBODY),
        ("--pending", "r/a.acr.json"),
        ("--pending", "-o", "x"),
        ("r/a.acr.json", "--service", "http://me:sesame@x/"),
        ("r/a.acr.json", "--service", "log"),
        ("r/a.acr.json", "--service", NOBODY, "--client-key", "keys/signing.pem"),
    ],
)
@pytest.mark.usefixtures("signed_folder")
def test_usage_errors_exit_with_2(vacr, arguments):
    done = vacr("register", *arguments)
    assert (done.returncode, "sesame" in done.err) == (2, False)


def test_interrupted_registration_can_be_repeated(vacr, signed_folder, service):
    """Ctrl-C comes after the service has registered the statement, but before it answers. The next
    registration returns the same entry.
    """
    queue_statements(signed_folder, (service.url, "r/a.acr.json.cose"))
    path = signed_folder / "r" / "a.acr.json.cose"
    before = path.read_bytes()

    def register_and_interrupt(handler, body):
        service.receipt(body)
        running.send_signal(signal.SIGINT)
        handler.drip(body)

    service.plan = [register_and_interrupt]
    environment = {**os.environ, "HOME": str(signed_folder / "home")}
    command = [sys.executable, "-m", "vacr", "register", "--pending"]
    running = subprocess.Popen(command, cwd=signed_folder, env=environment, stderr=subprocess.PIPE)
    assert b"Traceback" not in running.communicate()[1]
    assert (
        running.returncode,
        path.read_bytes(),
        len(list(open_outbox(signed_folder).items())),
    ) == (
        130,
        before,
        1,
    )
    assert vacr("register", "--pending").returncode == 0
    assert (read_receipts(path)[0].inclusions[0].index, service.log.tree.size) == (1, 2)


def test_concurrent_registrations_keep_both_receipts(vacr, signed_folder):
    logs = [Log(f"https://{name}.example") for name in "abcd"]
    services = [Scrapi(log) for log in logs]
    for service in services:
        service.__enter__()
    try:
        command = [sys.executable, "-m", "vacr", "register", "r/a.acr.json", "-q", "--service"]
        environment = {**os.environ, "HOME": str(signed_folder / "home")}
        running = [
            subprocess.Popen([*command, service.url], cwd=signed_folder, env=environment)
            for service in services
        ]
        assert [process.wait() for process in running] == [0] * 4
    finally:
        for service in services:
            service.__exit__()
    assert sorted(
        receipt.claims[1] for receipt in read_receipts(signed_folder / "r" / "a.acr.json.cose")
    ) == [log.name for log in logs]
    assert vacr("verify", "r/a.acr.json", *TRUST).returncode == 0
