"""Results and passports: the forms they are written in, and how `vacr verify` relies on them."""

import json

import pytest

from tests.cli.attested import BACKGROUND, PASSPORT, TRUST
from tests.evidence.test_messages import ENDORSED
from vacr.evidence.messages import RatsMessages, parse_messages

pytestmark = pytest.mark.component

KEY = ("--key", "verifier/signing.pem")
FORMS = {"cwt": b"\xd8\x3d", "jwt": b"ey", "cbor": b"\x83", "json": b"["}


@pytest.mark.parametrize("form", FORMS)
def test_name_of_a_result_selects_its_form(vacr, ready_folder, attest, appraise, form):
    attest()
    for more, written in (
        (("-o", f"r.{form}"), f"r.{form}"),
        (("--to", form), f"s.acr.json.result.{form}"),
        (("--to", form, "-o", "out/"), f"out/s.acr.json.result.{form}"),
        (("--to", form, "-o", "any.thing"), "any.thing"),
    ):
        done, report = appraise(*KEY, *more)
        assert (done.returncode, report["result"]) == (0, written)
        assert (ready_folder / written).read_bytes().startswith(FORMS[form])
        assert (
            vacr("verify", "s.acr.json", *TRUST, *PASSPORT, "--evidence", written).returncode == 0
        )
    assert vacr("verify", "s.acr.json", *TRUST, *PASSPORT).returncode == 0  # the file next to it


@pytest.mark.usefixtures("ready_folder")
def test_name_without_a_known_form_is_refused(attest, appraise, tmp_path):
    attest()
    for name in ("r.txt", "r"):
        done, _ = appraise(*KEY, "-o", name)
        assert (done.returncode, "End the name in .cbor, .json, .cwt or .jwt" in done.err) == (
            2,
            True,
        )
        assert not (tmp_path / name).exists()
    assert appraise(*KEY, "--passport", "-o", "p.jwt")[0].returncode == 2
    assert attest("-o", "e.jwt").returncode == 2


@pytest.mark.parametrize("form", ["cbor", "json"])
def test_passport_serves_both_kinds_of_relying_parties(vacr, ready_folder, attest, appraise, form):
    attest()
    done, report = appraise(*KEY, "--passport", "--to", form)
    assert (done.returncode, report["result"]) == (0, f"s.acr.json.passport.{form}")
    (ready_folder / "s.acr.json.evidence.cbor").unlink()
    for options in (BACKGROUND, PASSPORT):
        done = vacr("verify", "s.acr.json", *TRUST, *options)
        assert (done.returncode, "signed by a key in software, without hardware" in done.out) == (
            0,
            True,
        )
        done = vacr("verify", "s.acr.json", *TRUST, *options, "--require-hardware")
        assert (
            done.returncode,
            "certified hardware is required, but the evidence is only" in done.err,
        ) == (1, True)
    done, report = appraise(*KEY, evidence=f"s.acr.json.passport.{form}")
    assert (done.returncode, report["result"]) == (0, "s.acr.json.result.cbor")
    shown = json.loads(vacr("inspect", f"s.acr.json.passport.{form}", "--format", "json").out)[
        "files"
    ]
    assert len(shown[0]["tokens"]) == 2


def test_endorsements_are_stored_with_the_evidence(ready_folder, attest, appraise):
    (ready_folder / "e.cbor").write_bytes(RatsMessages(endorsements=(ENDORSED,)).encode("cbor"))
    assert (
        json.loads(attest("--endorsement", "e.cbor", "--format", "json").out)["endorsements"] == 1
    )
    done, report = appraise(*KEY, "--passport")
    (check,) = [check for check in report["checks"] if check["name"] == "endorsement"]
    assert (done.returncode, check["told"]) == (
        0,
        (
            "The endorsement does not count: the endorsement is not signed by a trusted endorser. "
            "Trust the endorser: list its key under endorser-keys in the policy."
        ),
    )
    assert parse_messages(
        (ready_folder / "s.acr.json.passport.cbor").read_bytes()
    ).endorsements == (ENDORSED,)
    done = attest("--endorsement", "reference.cbor")
    assert (done.returncode, "Create endorsements with: vacr evidence endorse" in done.err) == (
        3,
        True,
    )
    assert attest("--endorsement", "e.cbor", "-o", "e.cwt").returncode == 2


def test_source_of_the_appraisal_must_be_clear(vacr, ready_folder):
    del ready_folder
    done = vacr("verify", "s.acr.json", *TRUST, *PASSPORT, "--evidence-policy", "policy.toml")
    assert done.returncode == 2
    assert "--evidence-policy and --verifier-key exclude each other" in done.err
    done = vacr("verify", "s.acr.json", *TRUST, "--require-evidence", "affirming")
    assert done.returncode == 2
    assert "--verifier-key, or a verifier in the trust store" in done.err


def test_file_of_the_other_kind_gets_a_hint(vacr, ready_folder, attest, appraise):
    attest()
    for more in ((), ("--evidence", "s.acr.json.evidence.cbor")):
        done = vacr("verify", "s.acr.json", *TRUST, *PASSPORT, *more)
        assert (
            done.returncode,
            "Create a result with vacr evidence appraise --key" in done.err,
        ) == (
            1,
            True,
        )
    appraise(*KEY)
    (ready_folder / "s.acr.json.evidence.cbor").unlink()
    done = vacr("verify", "s.acr.json", *TRUST, *BACKGROUND)
    assert (done.returncode, "s.acr.json.result.cbor is a result" in done.err) == (1, True)


def test_hostile_passport_is_refused(vacr, ready_folder, attest, appraise):
    attest()
    appraise(*KEY, "--passport", "--to", "json")
    passport = json.loads((ready_folder / "s.acr.json.passport.json").read_bytes())
    for name, other in {
        "two results": passport | {"another": passport["result"]},
        "an unknown type": passport | {"another": ["application/json", "e30"]},
        "a wrong type": passport | {"result": ["application/eat+cwt", *passport["result"][1:]]},
        "too deep": {"a": {"a": {"a": {"a": {"a": passport}}}}},
    }.items():
        (ready_folder / "bad.json").write_text(json.dumps(other))
        for options in (PASSPORT, BACKGROUND):
            done = vacr("verify", "s.acr.json", *TRUST, *options, "--evidence", "bad.json")
            assert (name, done.returncode, "✗ evidence" in done.out) == (name, 1, True)
        assert appraise(evidence="bad.json")[0].returncode == 3


@pytest.mark.usefixtures("ready_folder")
def test_verdict_names_the_verifier_of_the_trust_store(vacr, attest, appraise):
    attest()
    assert appraise(*KEY)[0].returncode == 0
    signed_with = KEY[KEY.index("--key") + 1]
    public = signed_with.replace(".pem", ".pub.pem")
    for name, key, role in (
        ("Alice Example", "keys/signing.pub.pem", "signer"),
        ("Example verifier", public, "verifier"),
    ):
        arguments = ("--key", key, "--role", role, "--trust-store", "team.toml")
        assert vacr("trust", "add", name, *arguments).returncode == 0
    arguments = ("--trust-store", "team.toml", "--require-evidence", "warning")
    done = vacr("verify", "s.acr.json", *arguments)
    assert done.returncode == 0, done.err
    assert " by Example verifier, verifier " in done.out
