"""Keys in a device: SoftHSM, through PKCS#11."""

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vacr.errors import Unreachable, UsageError
from vacr.signing.key_files import open_hsm_signer
from vacr.signing.keys import encode_private_pem, generate_key, parse_private_key
from vacr.signing.statement import sign
from vacr.verification.policy import Policy
from vacr.verification.verifying import verify

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
NOW = datetime(2026, 11, 15, tzinfo=UTC)

pytestmark = [
    pytest.mark.component,
    pytest.mark.skipif(
        not MODULE.exists() or not shutil.which("softhsm2-util"), reason="no SoftHSM"
    ),
]


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """A token with a key of each kind; the library reads where it is once, when it is first
    loaded.
    """
    folder = tmp_path_factory.mktemp("hsm")
    (folder / "tokens").mkdir()
    config = folder / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {folder / 'tokens'}\nobjectstore.backend = file\n")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("SOFTHSM2_CONF", str(config))
    util = ["softhsm2-util", "--pin", "1234"]
    subprocess.run(
        [*util, "--init-token", "--free", "--label", "vacr", "--so-pin", "5678"],
        check=True,
        capture_output=True,
    )
    for number, kind in enumerate(("eddsa", "es256", "es384", "ps256")):
        pem = folder / f"{kind}.pem"
        pem.write_bytes(encode_private_pem(generate_key(kind)))
        named = ["--token", "vacr", "--label", kind, "--id", f"0{number}"]
        subprocess.run([*util, "--import", str(pem), *named], check=True, capture_output=True)
    yield folder
    monkeypatch.undo()


def uri(kind, module=MODULE):
    return f"pkcs11:token=vacr;object={kind}?module-path={module}"


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("eddsa", None),
        ("es256", None),
        ("es384", None),
        ("ps256", None),
        ("es256", -9),
        ("eddsa", -19),
        ("ps256", -39),
    ],
)
def test_key_in_a_device_signs(device, kind, number):
    signer = open_hsm_signer(uri(kind), number, b"1234")
    verified = verify(
        sign(b"x", signer, profile="attached"), Policy(keys=(signer.public_key,)), now=NOW
    )
    assert verified.payload == b"x"
    signer.close()
    assert (
        parse_private_key((device / f"{kind}.pem").read_bytes()).public_key() == signer.public_key
    )


@pytest.mark.usefixtures("device")
def test_two_keys_with_one_label_are_reported(device):
    for number, kind in enumerate(("eddsa", "es256")):
        place = ["--token", "vacr", "--label", "twice", "--id", f"1{number}"]
        subprocess.run(
            ["softhsm2-util", "--pin", "1234", "--import", str(device / f"{kind}.pem"), *place],
            check=True,
            capture_output=True,
        )
    with pytest.raises(Unreachable, match="give each key its own label"):
        open_hsm_signer(uri("twice"), None, b"1234")


@pytest.mark.usefixtures("device")
def test_missing_parts_are_reported():
    with pytest.raises(Unreachable):
        open_hsm_signer(uri("none"), None, b"1234")
    with pytest.raises(Unreachable):
        open_hsm_signer(uri("es256"), None, b"4321")
    with pytest.raises(Unreachable):
        open_hsm_signer(uri("es256", "/nowhere.so"), None, b"1234")
    with pytest.raises(Unreachable, match="needs a PIN"):
        open_hsm_signer(uri("es256"), None, None)
    with pytest.raises(Unreachable, match="choose one by its label: object=LABEL"):
        open_hsm_signer(f"pkcs11:token=vacr?module-path={MODULE}", None, b"1234")
    with pytest.raises(Unreachable, match="the PIN is not valid UTF-8") as refused:
        open_hsm_signer(uri("es256"), None, b"\xff1234")
    assert "xff" not in refused.value.diagnostics()
    with pytest.raises(Unreachable, match="pkcs11:token=vacr;object=none: ") as refused:
        open_hsm_signer(uri("none;pin-value=1234"), None, None)
    assert "1234" not in refused.value.diagnostics()
    with pytest.raises(UsageError, match="module-path"):
        open_hsm_signer("pkcs11:token=vacr;object=es256", None, b"1234")
    with pytest.raises(UsageError, match="cannot be used with this kind of key"):
        open_hsm_signer(uri("es256"), -8, b"1234")
    signer = open_hsm_signer(uri("es256"), None, b"1234")
    signer.close()
    assert "1234" not in repr(signer)
