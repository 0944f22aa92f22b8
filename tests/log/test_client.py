"""The registration client, with services that follow the protocol and services that break it."""

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from tests.log.scrapi import Scrapi
from tests.secret_files import write_secret
from tests.transparency.logs import Log
from tests.vectors.certificates import Authority, name_of, with_key_identifiers
from tests.vectors.statements import Key
from vacr.errors import InvalidStatement, Unreachable, UsageError
from vacr.registration.client import RegistrationClient, check_registrable, register
from vacr.registration.http_client import RetryBudget, ServiceAccess, parse_retry_after
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, encode_private_pem, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import add_receipt
from vacr.verification.receipts import check_receipt

SIGNER = KeySigner(generate_key("eddsa"))
STATEMENT = sign(b'{"what":"was signed"}', SIGNER, unprotected={100: {"session-id": "private"}})
NOW = datetime.now(UTC)


@pytest.fixture
def service():
    with Scrapi() as running:
        yield running


def build_client(service, *, slept=None, seconds=600.0, **access):
    """Return a client that does not really wait."""
    patience = RetryBudget(seconds, sleep=(slept if slept is not None else []).append)
    return RegistrationClient(
        service if isinstance(service, str) else service.url, ServiceAccess(**access), patience
    )


def list_posts(service):
    return sum(method == "POST" for method, _ in service.asked)


def test_receipt_is_returned_immediately(service):
    receipt = register(STATEMENT, service.url)
    logged = check_receipt(parse_sign1(STATEMENT), receipt, [service.log.key], NOW)
    assert (logged.index, logged.size, logged.issuer) == (1, 2, "https://log.example")
    assert service.asked == [("POST", "/entries"), ("GET", "/.well-known/scitt-keys")]


def test_receipt_is_returned_later():
    with Scrapi(wait=True) as service:
        slept = []
        found = build_client(service, slept=slept).register(STATEMENT)
        check_receipt(parse_sign1(STATEMENT), found.receipt, [service.log.key], NOW)
        assert [path for method, path in service.asked if method == "GET"][:3] == ["/entries/0"] * 3
        assert len(slept) == 3


def test_service_can_be_below_a_path():
    with Scrapi(prefix="/logs/a") as service:
        assert register(STATEMENT, service.url)
        assert register(STATEMENT, service.url + "/")
        service.wait = True
        assert build_client(service).register(STATEMENT)


def test_key_from_the_service_is_marked(service):
    assert build_client(service).register(STATEMENT).has_unpinned_key
    service.asked.clear()
    assert not build_client(service).register(STATEMENT, [service.log.key]).has_unpinned_key
    assert service.asked == [("POST", "/entries")]
    with pytest.raises(InvalidStatement, match="returned an invalid receipt") as caught:
        build_client(service).register(STATEMENT, [Log().key])
    assert caught.value.reason == "receipt-signature"
    assert "--log-key is not a key of this service" in caught.value.hint


def test_only_the_signed_part_and_the_key_are_sent(service):
    once = add_receipt(STATEMENT, register(STATEMENT, service.url))
    assert register(once, service.url)
    assert [sorted(parse_sign1(body).unprotected) for body in service.posted] == [[14], [14]]
    assert service.log.tree.size == 2, "the same statement is the same entry"


def test_digest_rule_must_be_selected():
    with Scrapi(Log(rule="digest")) as service:
        assert register(STATEMENT, service.url, entry_rule="digest")
        with pytest.raises(InvalidStatement):
            register(STATEMENT, service.url)


@pytest.mark.parametrize(
    "fault", [429, 502, 503, 504, "cut", "cut_body", "lost", "no_http", "endless"]
)
def test_temporary_errors_are_retried(service, fault):
    service.plan = [fault, fault]
    slept = []
    found = build_client(service, slept=slept).register(STATEMENT)
    check_receipt(parse_sign1(STATEMENT), found.receipt, [service.log.key], NOW)
    assert (list_posts(service), len(slept), service.log.tree.size) == (3, 2, 2)
    assert 0 < slept[0] <= 1


@pytest.mark.parametrize("fault", [429, 503, "cut", "no_http"])
def test_retries_are_limited(service, fault):
    service.plan = [fault] * 100
    with pytest.raises(Unreachable) as caught:
        build_client(service).register(STATEMENT)
    assert list_posts(service) == RetryBudget().tries
    assert service.url in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415])
def test_permanent_errors_are_not_retried(service, status):
    service.plan = [status]
    with pytest.raises(
        (InvalidStatement, UsageError), match=f"{status}.*: Odd: the plan says {status}"
    ):
        build_client(service).register(STATEMENT)
    assert list_posts(service) == 1


@pytest.mark.parametrize("status", [202, 203, 301, 307, 418, 500])
def test_malformed_responses_are_refused(service, status):
    service.plan = [status]
    with pytest.raises(Unreachable, match=str(status)):
        build_client(service).register(STATEMENT)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("garbage", "receipt-malformed"),
        ("forged", "receipt-signature"),
        ("other", "receipt-signature"),
    ],
)
def test_invalid_receipt_is_refused(service, fault, reason):
    register(sign(b"another", SIGNER), service.url)
    service.plan = [fault]
    with pytest.raises(InvalidStatement, match="returned an invalid receipt") as caught:
        build_client(service).register(STATEMENT)
    assert caught.value.reason == reason


def test_response_time_is_limited(service):
    service.plan = ["drip"] * 6
    with pytest.raises(Unreachable, match=r"no complete response within 0\.3 seconds"):
        build_client(service, timeout=0.3).register(STATEMENT)
    service.plan = ["drip"]
    assert build_client(service, timeout=1).register(STATEMENT).receipt


def redirect_to(place, status=303, **headers):
    return lambda handler, _: handler.answer(
        status, Location=place, **{"Retry_After": "0", **headers}
    )


@pytest.mark.parametrize(
    "place",
    [
        "",
        "http://127.0.0.1:1/entries/0",
        "https://example.org/entries/0",
        "//example.org/x",
        "ftp://127.0.0.1/",
        "http://[/",
        "ü",
    ],
)
def test_redirects_to_another_host_are_refused(service, place):
    service.plan = [redirect_to(place)]
    with pytest.raises(Unreachable, match="the address of the receipt is missing, malformed"):
        build_client(service, token="secret").register(STATEMENT)  # noqa: S106 - not a real secret
    assert service.asked == [("POST", "/entries")]


def test_locations_on_the_same_host_are_followed(service):
    service.wait = True
    build_client(service).register(STATEMENT)
    for place in (
        "entries/0",
        "/entries/0",
        service.url + "/entries/0",
        "/entries/0?api-version=1#x",
    ):
        service.waiting = {"/entries/0": (STATEMENT, 1), "/entries/0?api-version=1": (STATEMENT, 0)}
        service.plan = [redirect_to(place)]
        assert build_client(service).register(STATEMENT).receipt
    service.plan = [lambda handler, _: handler.answer(201, Location="/entries/0")]
    assert build_client(service).register(STATEMENT).receipt, (
        "created, and the receipt is elsewhere"
    )


def test_polling_is_limited(service):
    service.waiting = {"/entries/0": (STATEMENT, 10**9)}
    service.plan = [redirect_to("/entries/0")]
    slept = []
    with pytest.raises(Unreachable, match="the receipt does not exist yet"):
        build_client(service, slept=slept, seconds=100).register(STATEMENT)
    assert 50 < sum(slept) <= 100


def test_statement_is_sent_again_to_a_service_that_lost_it(service):
    """If the service had registered it after all, the same entry is returned."""
    service.plan = [redirect_to("/entries/0"), 503, "cut"]
    assert build_client(service).register(STATEMENT).logged.index == 1
    assert [method for method, _ in service.asked] == ["POST", "GET", "GET", "GET", "POST", "GET"]
    service.plan = [redirect_to("/entries/0"), 404] * 9
    # This can be temporary: the address and the statement are right.
    with pytest.raises(Unreachable, match="does not know it any more \\(404\\)") as caught:
        build_client(service).register(STATEMENT)
    assert "the same entry" in caught.value.hint


def test_retry_after_is_respected(service):
    slept = []
    later = [
        lambda handler, _: handler.answer(503, Retry_After="17"),
        redirect_to("/entries/0", Retry_After="5"),
    ]
    service.waiting = {"/entries/0": (STATEMENT, 0)}
    service.plan = list(later)
    build_client(service, slept=slept).register(STATEMENT)
    assert slept == [17.0, 5.0]
    service.plan = [lambda handler, _: handler.answer(503, Retry_After="86400")]
    with pytest.raises(Unreachable, match="503"):
        build_client(service).register(STATEMENT)


def test_retry_after_is_parsed():
    assert parse_retry_after("120") == 120
    assert (
        50
        < parse_retry_after(format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True))
        <= 60
    )
    assert parse_retry_after("Fri, 13 Feb 2009 23:31:30 GMT") == 0
    assert [parse_retry_after(odd) for odd in (None, "", "soon", "-5", "9" * 400, "1e9", "٣")] == [
        None
    ] * 7
    assert parse_retry_after("1 Jan 20000000000000000000 0:0:0 +0000") is None


def test_service_without_keys_is_reported(service):
    for odd in (
        404,
        lambda handler, _: handler.answer(200, b"no keys"),
        lambda handler, _: handler.answer(200, b"\x80"),
    ):
        service.plan = [lambda handler, body: handler.answer(201, service.receipt(body)), odd]
        with pytest.raises(Unreachable, match="does not publish the keys"):
            build_client(service).register(STATEMENT)


def test_responses_cannot_control_the_terminal(service):
    service.plan = [
        lambda handler, _: handler.answer(
            400, b"\x1b[31mred\nvacr: fine" + b"x" * 5000, "text/plain"
        )
    ]
    with pytest.raises(InvalidStatement) as caught:
        build_client(service).register(STATEMENT)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 500
    service.plan = [
        lambda handler, _: handler.answer(
            400, b"\xa1\x20\x01", "application/concise-problem-details+cbor"
        )
    ]
    with pytest.raises(InvalidStatement, match=r"400 Bad Request$"):
        build_client(service).register(STATEMENT)


def test_token_is_checked_and_protected(service):
    service.token = "open-sesame"  # noqa: S105 - not a real secret
    assert build_client(service, token=service.token).register(STATEMENT).receipt
    for token in (None, "other"):
        with pytest.raises(InvalidStatement, match="who asks") as caught:
            build_client(service, token=token).register(STATEMENT)
        assert caught.value.reason == "register-not-allowed"
    with pytest.raises(UsageError, match="sent only over https"):
        build_client("http://log.example.org", token="x")  # noqa: S106
    for odd in ("two words", "lüge", "x\r\nHost: y"):
        with pytest.raises(UsageError) as refused:
            ServiceAccess(token=odd)
        assert odd not in str(refused.value)
    assert "sesame" not in repr(ServiceAccess(token=service.token))


@pytest.mark.parametrize(
    "url",
    [
        "http://me:sesame@127.0.0.1/",
        "ftp://x/",
        "log.example",
        "http://[/",
        "http://x:99999/",
        "http://x/ü",
        "http://x/?a=1",
    ],
)
def test_invalid_addresses_are_refused(url):
    with pytest.raises(UsageError) as caught:
        register(STATEMENT, url)
    assert "sesame" not in str(caught.value)


def test_unreachable_service_is_reported():
    for url in ("http://127.0.0.1:1/", "http://" + "a" * 80 + ".example/"):
        with pytest.raises(Unreachable, match="cannot reach the transparency service"):
            build_client(url).register(STATEMENT)


def test_unregistrable_statements_are_not_sent(service):
    for statement, reason in (
        (sign(b"x", SIGNER, profile="detached"), "register-detached"),
        (sign(b"x" * 70_000, SIGNER, profile="attached"), "register-too-large"),
        (b"junk", "cbor"),
    ):
        with pytest.raises(InvalidStatement) as caught:
            register(statement, service.url)
        assert caught.value.reason == reason
    assert service.asked == []
    room = 65_535 - len(sign(b"x" * 60_000, SIGNER, profile="attached")) + 60_000
    check_registrable(sign(b"x" * room, SIGNER, profile="attached", unprotected={100: "x" * 500}))


def write_certificate(authority, folder, name, key=None):
    """Write a certificate for this machine, with its key, into a file."""
    key = key or Key.generate("es256")
    builder = x509.CertificateBuilder().subject_name(name_of(name)).issuer_name(authority.subject)
    builder = builder.public_key(key.private.public_key()).serial_number(
        x509.random_serial_number()
    )
    builder = builder.not_valid_before(NOW - timedelta(days=1)).not_valid_after(
        NOW + timedelta(days=1)
    )
    local = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = with_key_identifiers(builder, key.private, authority.private)
    signed = builder.add_extension(local, critical=False).sign(authority.private, hashes.SHA256())
    content = signed.public_bytes(Encoding.PEM) + encode_private_pem(key.private)
    write_secret(folder / name, content)
    return str(folder / name)


def test_tls_certificates_are_checked(tmp_path):
    root, others = Authority("root"), Authority("others")
    (tmp_path / "ca.pem").write_bytes(root.pem)
    tls = {"certificate": write_certificate(root, tmp_path, "server.pem")}
    with Scrapi(tls=tls) as service:
        assert build_client(service, ca=str(tmp_path / "ca.pem")).register(STATEMENT).receipt
        with pytest.raises(Unreachable, match="certificate is not trusted") as caught:
            build_client(service).register(STATEMENT)
        assert "--ca" in caught.value.hint
    with Scrapi(tls=tls | {"clients": str(tmp_path / "ca.pem")}) as service:
        mine = write_certificate(root, tmp_path, "client.pem")
        assert (
            build_client(service, ca=str(tmp_path / "ca.pem"), certificate=mine)
            .register(STATEMENT)
            .receipt
        )
        for stranger in (None, write_certificate(others, tmp_path, "stranger.pem")):
            with pytest.raises(Unreachable):
                build_client(service, ca=str(tmp_path / "ca.pem"), certificate=stranger).register(
                    STATEMENT
                )


def test_missing_tls_files_are_reported(tmp_path):
    write_secret(tmp_path / "junk.pem", b"junk")
    locked = [
        "openssl",
        "genpkey",
        "-algorithm",
        "ED25519",
        "-aes256",
        "-pass",
        "pass:x",
        "-out",
        "locked.pem",
    ]
    subprocess.run(locked, cwd=tmp_path, check=True, capture_output=True)
    junk, locked = str(tmp_path / "junk.pem"), str(tmp_path / "locked.pem")
    mine = write_certificate(Authority("root"), tmp_path, "client.pem")
    for access in (
        {"ca": "none"},
        {"ca": junk},
        {"certificate": junk},
        {"certificate": mine, "key": locked},
    ):
        with pytest.raises(Unreachable):
            build_client("https://127.0.0.1:1/", **access)
    with pytest.raises(UsageError):
        ServiceAccess(key=mine)
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
