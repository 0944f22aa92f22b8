"""Policies in TOML, and measurements of this machine."""

import hashlib
import sys
from pathlib import Path

import pytest

import vacr
from vacr.errors import Unreachable, UnreadableInput, UsageError
from vacr.evidence.measurements import (
    encode_reference_values,
    measure_agent,
    measure_configuration,
    measure_package,
    measure_recording_agent,
)
from vacr.evidence.policy_files import find_evidence_file, load_appraisal_policy
from vacr.evidence.tokens import EVIDENCE_PROFILE
from vacr.signing.keys import (
    KeySigner,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
)
from vacr.version import __version__

KEY = generate_key("eddsa")
SIGNER = KeySigner(KEY)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "reference.cbor").write_bytes(
        encode_reference_values(measure_recording_agent(), SIGNER, 1)
    )
    (tmp_path / "signing.pem").write_bytes(encode_private_pem(KEY))
    (tmp_path / "signing.pub.pem").write_bytes(encode_public_pem(KEY.public_key()))
    (tmp_path / "other.cbor").write_bytes(b"\x82\x00\x40")
    return tmp_path


def load_policy_text(folder, text):
    (folder / "policy.toml").write_text(text)
    return load_appraisal_policy(str(folder / "policy.toml"))


def test_policy_is_loaded_with_the_files_it_names(folder):
    seven, eight, nine = "07" * 32, "08" * 32, "09" * 32
    policy = load_policy_text(
        folder,
        'id = "x"\nreferences = ["reference.cbor"]\nreference-keys = ["signing.pub.pem"]\n'
        'attester-keys = ["signing.pub.pem"]\n'
        'required = ["journal"]\nversions = ["0.1.0"]\nmaximum-age = 5\n'
        f'[pcrs]\n7 = "{seven}"\n8 = ["{eight}", "{nine}"]\n',
    )
    assert [reference.name for reference in policy.references] == ["vacr", "python"]
    assert compute_thumbprint(policy.attester_keys[0]) == compute_thumbprint(SIGNER.public_key)
    assert (policy.required, policy.maximum_age, policy.result_validity) == ({"journal"}, 5, 86400)
    assert policy.pcrs == {7: {b"\x07" * 32}, 8: {b"\x08" * 32, b"\x09" * 32}}
    assert (policy.profiles, policy.software_is_enough) == ({EVIDENCE_PROFILE}, False)


POLICIES = {
    "not TOML": "id =",
    "no id": 'references = ["reference.cbor"]',
    "a rule that is misspelt": 'id = "x"\nsoftware-is-enuff = true',
    "a number for a flag": 'id = "x"\nsoftware-is-enough = 1',
    "a text for a list": 'id = "x"\nreferences = "reference.cbor"',
    "numbers in a list": 'id = "x"\nversions = [1]',
    "a time below none": 'id = "x"\nmaximum-age = -1',
    "a flag for a time": 'id = "x"\nmaximum-age = true',
    "an unknown requirement": 'id = "x"\nrequired = ["luck"]',
    "a register that is none": 'id = "x"\n[pcrs]\n24 = "00"',
    "a value that is none": 'id = "x"\n[pcrs]\n7 = "00"',
    "reference values that are none": 'id = "x"\nreferences = ["other.cbor"]',
    "a private key": 'id = "x"\nattester-keys = ["signing.pem"]',
    "an endorsement that is none": 'id = "x"\nendorsements = ["reference.cbor"]',
}


@pytest.mark.parametrize("text", POLICIES.values(), ids=POLICIES)
def test_malformed_policies_are_refused(folder, text):
    with pytest.raises(UnreadableInput) as refused:
        load_policy_text(folder, text)
    assert refused.value.where
    assert refused.value.hint


def test_missing_trusted_files_are_reported(folder):
    for text in (
        'id = "x"\nattester-keys = ["nowhere.pem"]',
        'id = "x"\nreferences = ["nowhere.cbor"]',
    ):
        with pytest.raises(Unreachable) as refused:
            load_policy_text(folder, text)
        assert refused.value.hint == f"The policy {folder}/policy.toml names this file."
    with pytest.raises(Unreachable):
        load_appraisal_policy(str(folder / "nowhere.toml"))


def test_evidence_next_to_a_file_is_found(folder):
    name = str(folder / "a.acr.json")
    assert find_evidence_file(name, results=False) is None
    for ending, results in (
        (".evidence.cbor", False),
        (".result.jwt", True),
        (".result.cwt", True),
    ):
        Path(name + ending).touch()
        assert find_evidence_file(name, results=results) == name + ending


def test_the_package_is_measured_file_by_file():
    package, python = measure_recording_agent()
    assert (package.name, package.version, python.name) == ("vacr", __version__, "python")
    source = Path(vacr.__file__)
    assert package.manifest["__init__.py"] == hashlib.sha256(source.read_bytes()).digest()
    assert "evidence/evidence.cddl" in package.manifest
    assert not [name for name in package.manifest if "__pycache__" in name]
    assert python.digest == hashlib.sha256(Path(sys.executable).resolve().read_bytes()).digest()


def test_changed_file_changes_the_digest_of_its_package(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("1")
    (tmp_path / "c.py").write_text("2")
    before = measure_package(tmp_path)
    assert list(before.manifest) == ["a/b.py", "c.py"]
    (tmp_path / "a" / "b.py").write_text("3")
    assert measure_package(tmp_path).digest != before.digest
    (tmp_path / "a" / "b.py").write_text("1")
    assert measure_package(tmp_path) == before
    (tmp_path / "d.py").touch()
    assert measure_package(tmp_path).digest != before.digest


def test_unmeasurable_files_are_reported(tmp_path):
    with pytest.raises(UnreadableInput):
        measure_configuration(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError):
        measure_agent("x", None, "no-such-agent-anywhere")
