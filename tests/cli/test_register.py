"""`vacr register`: receipts in statements, the outbox, and what is refused."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from tests.log.scrapi import Scrapi
from tests.log.test_client import certified
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
def signed(vacr, tmp_path, request):
    """Records, a key and statements."""
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    for name, example in (("a", "claude-code.jsonl"), ("b", "codex-cli.jsonl")):
        shutil.copy(request.config.rootpath / "examples" / example, tmp_path / f"{name}.jsonl")
    assert vacr("record", "a.jsonl", "b.jsonl", "-o", "r/").returncode == 0
    assert vacr("sign", "r/a.acr.json", "r/b.acr.json", "--key", "keys/signing.pem").returncode == 0
    return tmp_path


def log_key(folder, service, name="log.pem"):
    (folder / name).write_bytes(Key(service.log.signer.key).public_pem)
    return name


def outbox(folder):
    return Outbox(folder / "home" / ".local" / "state" / "vacr" / "outbox")


def receipts(path):
    return parse_receipts(parse_sign1(path.read_bytes()))


def test_a_receipt_in_the_statement(vacr, signed, service):
    name = log_key(signed, service)
    (signed / "r" / "a.acr.json.cose").chmod(0o600)
    done = vacr("register", "r/a.acr.json.cose", "--service", service.url, "--log-key", name)
    assert (done.returncode, done.err) == (0, "")
    assert done.out.startswith(
        "r/a.acr.json.cose: registered, in https://log.example, entry 1 of 2, "
    )
    assert "not pinned" not in done.out
    assert stat.S_IMODE((signed / "r" / "a.acr.json.cose").stat().st_mode) == 0o600
    assert vacr("verify", "r/a.acr.json", *TRUST, "--log-key", name).returncode == 0
    told = json.loads(
        vacr("register", "r/b.acr.json", "--service", service.url, "--format", "json").out
    )
    (one,) = told["statements"]
    assert (one["state"], one["receipt"]["index"], one["as-the-service-says"], told["left"]) == (
        "registered",
        2,
        True,
        0,
    )
    assert vacr("verify", "r/", *TRUST, "--log-key", name).returncode == 0
    assert list(outbox(signed).items()) == []


def test_again(vacr, signed, service):
    path = signed / "r" / "a.acr.json.cose"
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
    assert len(receipts(path)) == 1
    with Scrapi(Log("https://other.example")) as other:
        assert vacr("register", "r/a.acr.json", "--service", other.url).returncode == 0
        both = (
            "--log-key",
            log_key(signed, service),
            "--log-key",
            log_key(signed, other, "other.pem"),
        )
        assert (
            "b.acr.json.cose: registered"
            in vacr("register", "r/b.acr.json", "--service", other.url, *both).out
        )
        assert (
            "already has a receipt"
            in vacr("register", "r/b.acr.json", "--service", other.url, *both).out
        )
    assert len(receipts(path)) == len(receipts(signed / "r" / "b.acr.json.cose")) == 2


def test_elsewhere(vacr, signed, service):
    path = signed / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    assert vacr("register", "r/a.acr.json", "--service", service.url, "-o", "out/").returncode == 0
    assert len(receipts(signed / "out" / "a.acr.json.cose")) == 1
    piped = vacr("register", "r/a.acr.json", "--service", service.url, "-o", "-")
    assert len(parse_receipts(parse_sign1(piped.stdout))) == 1
    assert path.read_bytes() == before
    shutil.copy(path, signed / "out" / "x.cose")
    refused = vacr("register", "r/a.acr.json", "--service", service.url, "-o", "out/x.cose")
    assert (refused.returncode, "--overwrite" in refused.err) == (2, True)
    assert (
        vacr(
            "register", "r/a.acr.json", "r/b.acr.json", "--service", service.url, "-o", "one.cose"
        ).returncode
        == 2
    )
    done = vacr("register", "r/a.acr.json", "--service", NOBODY, "-o", "new.cose", *SOON)
    assert (done.returncode, list(outbox(signed).items()), (signed / "new.cose").exists()) == (
        4,
        [],
        False,
    )


def test_nobody_there_and_later(vacr, signed, service):
    path = signed / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    done = vacr("register", "r/", "--service", NOBODY, *SOON)
    assert (done.returncode, done.err.count("vacr register --pending"), path.read_bytes()) == (
        4,
        2,
        before,
    )
    assert len(list(outbox(signed).items())) == 2
    done = vacr("register", "--pending", *SOON)
    assert (done.returncode, "2 items in the outbox: 0 registered, 2 left" in done.out) == (4, True)
    for item in outbox(signed).items():
        written = outbox(signed).path(item)
        written.write_text(written.read_text().replace(NOBODY, service.url))
    done = vacr("register", "--pending", cwd=signed / "keys")
    assert (done.returncode, "2 items in the outbox: 2 registered, 0 left" in done.out) == (0, True)
    assert len(receipts(path)) == 1


def queued(folder, *found):
    for url, path in found:
        outbox(folder).add(url, str(folder / path), (folder / path).read_bytes())


def test_what_is_left_is_told_and_keeps_nothing_back(vacr, signed, service):
    shutil.copy(signed / "r" / "b.acr.json.cose", signed / "gone.cose")
    shutil.copy(signed / "r" / "b.acr.json.cose", signed / "other.cose")
    queued(
        signed,
        (NOBODY, "r/a.acr.json.cose"),
        (service.url, "gone.cose"),
        (service.url, "other.cose"),
    )
    queued(signed, (service.url, "r/b.acr.json.cose"), ("ftp://x", "r/b.acr.json.cose"))
    (signed / "gone.cose").unlink()
    shutil.copy(signed / "r" / "a.acr.json.cose", signed / "other.cose")
    done = vacr("register", "--pending", *SOON)
    assert (done.returncode, "5 items in the outbox: 1 registered, 4 left" in done.out) == (4, True)
    assert "gone.cose: not registered" not in done.out
    assert "changed while it was waiting" in done.err
    assert "no such file" in done.err
    assert done.err.count("If you no longer need it, delete") == 2
    assert len(receipts(signed / "r" / "b.acr.json.cose")) == 1
    told = json.loads(
        vacr("register", "--pending", "--service", service.url, "--format", "json").out
    )
    assert (told["left"], len(told["statements"])) == (2, 2)
    (outbox(signed).folder / "junk.json").write_text("junk")
    done = vacr("register", "--pending", "--service", "http://127.0.0.1:2")
    assert (done.returncode, "not an item of the outbox" in done.err) == (3, True)
    assert (
        "0 items in the outbox for http://127.0.0.1:2: 0 registered, 1 left; 4 items for other services\n"
        in done.out
    )
    assert str(outbox(signed).folder) in done.err


def test_what_is_registered_is_taken_out(vacr, signed, service):
    queued(signed, (service.url, "r/a.acr.json.cose"))
    assert vacr("register", "r/a.acr.json", "--service", service.url).returncode == 0
    assert list(outbox(signed).items()) == []
    assert vacr("register", "--pending").returncode == 0


@pytest.mark.parametrize("where", ["VACR_OUTBOX", "XDG_STATE_HOME"])
def test_where_the_outbox_is(vacr, signed, where):
    vacr("register", "r/a.acr.json", "--service", NOBODY, *SOON, **{where: str(signed / "else")})
    folder = signed / "else" if where == "VACR_OUTBOX" else signed / "else" / "vacr" / "outbox"
    assert len(list(Outbox(folder).items())) == 1


def test_what_no_log_takes(vacr, signed, service):
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
    with (signed / "big.jsonl").open("wb") as file:
        file.write((signed / "a.jsonl").read_bytes() * 30)
    vacr(
        "sign", "big.jsonl", "--key", "keys/signing.pem", "--profile", "attached", "-o", "big.cose"
    )
    for name in ("detached.cose", "big.cose"):
        done = vacr("register", name, "--service", service.url)
        assert (done.returncode, "--profile hash-envelope" in done.err) == (1, True)
    assert service.asked == []
    assert list(outbox(signed).items()) == []
    for name, code in (("r/none.cose", 3), ("keys/signing.pem", 1), ("none.acr.json", 3)):
        assert vacr("register", name, "--service", service.url).returncode == code
    (signed / "empty").mkdir()
    assert vacr("register", "empty/", "--service", service.url).returncode == 1


def test_refusals(vacr, signed, service):
    path = signed / "r" / "a.acr.json.cose"
    before = path.read_bytes()
    for fault, code in ((400, 1), (403, 1), (404, 2), ("garbage", 1), ("forged", 1)):
        service.plan = [fault]
        done = vacr("register", "r/a.acr.json", "--service", service.url)
        assert (done.returncode, path.read_bytes(), list(outbox(signed).items())) == (
            code,
            before,
            [],
        )
    (signed / "other.pem").write_bytes(Key.generate("es256").public_pem)
    done = vacr("register", "r/a.acr.json", "--service", service.url, "--log-key", "other.pem")
    assert (done.returncode, "returned an invalid receipt" in done.err, path.read_bytes()) == (
        1,
        True,
        before,
    )
    service.plan = [400]
    done = vacr("register", "r/", "--service", service.url)
    assert (done.returncode, "b.acr.json.cose: registered" in done.out) == (1, True)


def test_who_asks(vacr, signed, service):
    service.token = "open-sesame"  # noqa: S105 - no secret of anybody
    (signed / "token").write_text("open-sesame\n")
    url = ("--service", service.url)
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "token").returncode == 0
    assert vacr("register", "r/b.acr.json", *url, VACR_REGISTER_TOKEN="open-sesame").returncode == 0  # noqa: S106
    done = vacr("register", "r/a.acr.json", *url, "--again", VACR_REGISTER_TOKEN="wrong")  # noqa: S106
    assert (done.returncode, "--token-file" in done.err, "wrong" in done.err) == (1, True, False)
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "none").returncode == 4
    (signed / "empty").write_text("\n")
    assert vacr("register", "r/a.acr.json", *url, "--token-file", "empty").returncode == 2
    queued(signed, (service.url, "r/a.acr.json.cose"), (NOBODY, "r/a.acr.json.cose"))
    done = vacr("register", "--pending", "--token-file", "token")
    assert (done.returncode, "a token is for one" in done.err) == (2, True)
    assert vacr("register", "--pending", "--token-file", "token", *url).returncode == 0


def test_a_service_that_is_certified(vacr, signed):
    root = Authority("root")
    (signed / "ca.pem").write_bytes(root.pem)
    tls = {"certificate": certified(root, signed, "server.pem"), "clients": str(signed / "ca.pem")}
    mine, key = certified(root, signed, "mine.pem"), signed / "mine.key"
    pem = (signed / "mine.pem").read_bytes()
    at = pem.index(b"-----BEGIN PRIVATE KEY")
    key.write_bytes(pem[at:])
    (signed / "mine.pem").write_bytes(pem[:at])
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
@pytest.mark.usefixtures("signed")
def test_usage(vacr, arguments):
    done = vacr("register", *arguments)
    assert (done.returncode, "sesame" in done.err) == (2, False)


def test_an_interruption_loses_nothing(vacr, signed, service):
    """The service has registered, and the answer never comes: Ctrl-C. The same again gives the same
    entry.
    """
    queued(signed, (service.url, "r/a.acr.json.cose"))
    path = signed / "r" / "a.acr.json.cose"
    before = path.read_bytes()

    def register_and_interrupt(handler, body):
        service.receipt(body)
        running.send_signal(signal.SIGINT)
        handler.drip(body)

    service.plan = [register_and_interrupt]
    environment = {**os.environ, "HOME": str(signed / "home")}
    command = [sys.executable, "-m", "vacr", "register", "--pending"]
    running = subprocess.Popen(command, cwd=signed, env=environment, stderr=subprocess.PIPE)
    assert b"Traceback" not in running.communicate()[1]
    assert (running.returncode, path.read_bytes(), len(list(outbox(signed).items()))) == (
        130,
        before,
        1,
    )
    assert vacr("register", "--pending").returncode == 0
    assert (receipts(path)[0].inclusions[0].index, service.log.tree.size) == (1, 2)


def test_two_services_at_once_both_have_their_receipt(vacr, signed):
    logs = [Log(f"https://{name}.example") for name in "abcd"]
    services = [Scrapi(log) for log in logs]
    for service in services:
        service.__enter__()
    try:
        command = [sys.executable, "-m", "vacr", "register", "r/a.acr.json", "-q", "--service"]
        environment = {**os.environ, "HOME": str(signed / "home")}
        running = [
            subprocess.Popen([*command, service.url], cwd=signed, env=environment)
            for service in services
        ]
        assert [one.wait() for one in running] == [0] * 4
    finally:
        for service in services:
            service.__exit__()
    assert sorted(one.claims[1] for one in receipts(signed / "r" / "a.acr.json.cose")) == [
        log.name for log in logs
    ]
    assert vacr("verify", "r/a.acr.json", *TRUST).returncode == 0
