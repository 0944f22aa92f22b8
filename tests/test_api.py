"""The library as others use it."""

import hashlib
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pytest

import vacr
from tests.conftest import EXAMPLES, FIXTURES
from tests.log.scrapi import Scrapi
from vacr.record.encoding import encode
from vacr.signing.keys import KeySigner, generate_key
from vacr.workflows import record_many
from vacr.workflows import seal as sealing

SESSION = EXAMPLES / "claude-code.jsonl"


@pytest.fixture(scope="module")
def signer():
    return KeySigner(generate_key("eddsa"))


def trusting(signer, **required):
    return vacr.Policy(keys=(signer.public_key,), needs_record=True, **required)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_what_a_caller_changes_changes_no_other_record(example):
    def marked(entries):
        for entry in entries:
            yield entry.setdefault("vacr", {})
            yield from marked(entry.get("children", ()))

    before = [encode(record) for record in vacr.read(EXAMPLES / example)]
    for record in vacr.read(EXAMPLES / example):
        for ours in marked(record["session"]["entries"]):
            ours["mine"] = True
            ours.setdefault("native", {})["mine"] = True
    assert [encode(record) for record in vacr.read(EXAMPLES / example)] == before


def test_every_public_name_is_there_and_documented():
    assert set(vacr.__all__) == set(dir(vacr))
    for name in vacr.__all__:
        undocumented = ("__version__", "Record")  # A text, and a map of members.
        assert getattr(vacr, name).__doc__ or name in undocumented
    with pytest.raises(AttributeError):
        _ = vacr.nothing


def test_public_errors_are_of_one_family():
    families = [
        vacr.UsageError,
        vacr.UnreadableInput,
        vacr.UnwritableOutput,
        vacr.InvalidRecord,
        vacr.InvalidStatement,
        vacr.Unreachable,
    ]
    assert all(issubclass(family, vacr.VacrError) for family in families)
    assert issubclass(vacr.NotASession, vacr.UnreadableInput)
    assert issubclass(vacr.InvalidSchema, vacr.UnreadableInput)
    assert issubclass(vacr.VerificationFailed, vacr.InvalidStatement)


def test_importing_the_package_loads_next_to_nothing():
    code = (
        "import sys; before = set(sys.modules); import vacr;"
        " print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['__future__', 'vacr', 'vacr.version']"


def test_read_validate_encode_decode_and_convert():
    (record,) = vacr.read(SESSION)
    vacr.validate(record).raise_for_errors()
    assert vacr.decode(vacr.encode(record)) == record
    older = vacr.convert(record, "v2")
    vacr.validate(older).raise_for_errors()
    assert vacr.encode(vacr.convert(older, "v3")) == vacr.encode(record)


def test_sealed_bytes_are_those_of_the_single_steps(signer):
    (record,) = vacr.read(SESSION)
    attributed = vacr.attribute(record)
    (sealed,) = vacr.seal(SESSION, signer=signer)
    assert sealed.data == vacr.encode(attributed)
    assert sealed.record == attributed
    assert (sealed.name, sealed.receipt) == ("claude-code", None)
    verified = vacr.verify(sealed.statement, trusting(signer), payload=sealed.data)
    assert verified.record == attributed
    assert verified.subject == f"urn:uuid:{attributed['id']}"


def test_sealing_does_each_step_once(signer, monkeypatch):
    calls = []

    def count(name):
        function = getattr(sealing, name)

        def counted(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(sealing, name, counted)

    for name in ("read_sessions", "attribute_records", "validate", "assign_record_id"):
        count(name)
    vacr.seal(SESSION, signer=signer)
    assert calls == ["read_sessions", "attribute_records", "assign_record_id", "validate"]


def test_sub_agents_are_sealed_with_their_session(signer):
    sealed = vacr.seal(FIXTURES / "claude" / "project", signer=signer)
    assert len(sealed) > 2
    joint = [one for one in sealed if "records" in one.record["vacr"].get("inputs", {})]
    assert joint
    for one in sealed:
        vacr.validate(one.record).raise_for_errors()
        assert hashlib.sha256(one.data).digest() in one.statement


def test_a_sealed_session_has_the_receipt_of_the_log(signer):
    with Scrapi() as service:
        key = service.log.signer.public_key
        (sealed,) = vacr.seal(SESSION, signer=signer, log=service.url, log_keys=[key])
        assert sealed.receipt
        policy = trusting(signer, log_keys=(key,))
        verified = vacr.verify(sealed.statement, policy, payload=sealed.data)
        assert len(verified.receipts) == 1
        again = vacr.sign(sealed.data, signer)
        assert vacr.register(again, service.url, log_keys=[key])


def test_the_time_is_now_unless_it_is_given(signer):
    early = datetime(2026, 1, 1, tzinfo=UTC)
    (sealed,) = vacr.seal(SESSION, signer=signer, now=early)
    policy = trusting(signer)
    assert vacr.verify(sealed.statement, policy, payload=sealed.data).issued_at == (
        early.timestamp()
    )
    (later,) = vacr.seal(SESSION, signer=signer)
    with pytest.raises(vacr.VerificationFailed):
        vacr.verify(later.statement, policy, payload=later.data, now=early)


def test_what_cannot_be_sealed_raises(signer, tmp_path):
    junk = tmp_path / "junk.jsonl"
    junk.write_text("junk\n")
    with pytest.raises(vacr.NotASession):
        vacr.seal(junk, signer=signer)
    with pytest.raises(vacr.Unreachable):
        vacr.seal(SESSION, signer=signer, log="http://127.0.0.1:1")
    (sealed,) = vacr.seal(SESSION, signer=signer)
    with pytest.raises(vacr.VerificationFailed) as caught:
        vacr.verify(sealed.statement, trusting(signer), payload=sealed.data + b" ")
    assert caught.value.checks


def test_a_large_folder_is_read_again_and_sealed_alike(signer, tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "claude" / "project", tmp_path / "project")
    outcomes = []
    for held, name in ((1 << 28, "held"), (0, "again")):
        monkeypatch.setattr(sealing, "_MAX_HELD_BYTES", held)
        options = record_many.RecordingOptions(seal=True)
        groups = sealing.plan_sealing(
            [str(tmp_path / "project")], tmp_path / name, options, lambda _: None
        )
        assert all((one.held is None) == (not held) for group in groups for one in group)
        done = list(sealing.Sealer(sealing.SigningSettings(signer)).seal_planned(groups))
        assert all(isinstance(results, list) for _, results in done)
        outcomes.append(
            {
                str(path.relative_to(tmp_path / name)): path.read_bytes()
                for path in (tmp_path / name).rglob("*")
                if path.is_file() and path.suffix != ".cose"
            }
        )
    assert outcomes[0] == outcomes[1] != {}


def test_verifying_without_evidence_loads_no_tpm_code(signer, tmp_path):
    (sealed,) = vacr.seal(SESSION, signer=signer)
    record = tmp_path / "a.acr.json"
    record.write_bytes(sealed.data)
    (tmp_path / "a.acr.json.cose").write_bytes(sealed.statement)
    code = (
        "import sys; from vacr.cli import run_command_line;"
        f" code = run_command_line(['verify', {str(record)!r}]);"
        " print([name for name in sys.modules if 'tpm' in name], code, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[] 1"
