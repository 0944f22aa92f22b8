"""The public API: what callers of the library rely on."""

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


def make_policy(signer, **required):
    return vacr.Policy(keys=(signer.public_key,), needs_record=True, **required)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_changing_a_record_affects_no_other_record(example):
    def list_vacr_members(entries):
        for entry in entries:
            yield entry.setdefault("vacr", {})
            yield from list_vacr_members(entry.get("children", ()))

    before = [encode(record) for record in vacr.read(EXAMPLES / example)]
    for record in vacr.read(EXAMPLES / example):
        for members in list_vacr_members(record["session"]["entries"]):
            members["mine"] = True
            members.setdefault("native", {})["mine"] = True
    assert [encode(record) for record in vacr.read(EXAMPLES / example)] == before


def test_every_public_name_exists_and_is_documented():
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


def test_importing_the_package_loads_no_submodules():
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


def test_sealing_equals_the_single_steps(signer):
    (record,) = vacr.read(SESSION)
    attributed = vacr.attribute(record)
    (sealed,) = vacr.seal(SESSION, signer=signer)
    assert sealed.data == vacr.encode(attributed)
    assert sealed.record == attributed
    assert (sealed.name, sealed.receipt) == ("claude-code", None)
    verified = vacr.verify(sealed.statement, make_policy(signer), payload=sealed.data)
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

    for name in ("read_sessions", "attribute_records", "validate_record", "encode_with_id"):
        count(name)
    vacr.seal(SESSION, signer=signer)
    assert calls == [
        "read_sessions",
        "attribute_records",
        "encode_with_id",
        "validate_record",
    ]


def test_sub_agents_are_sealed_with_their_session(signer):
    sealed = vacr.seal(FIXTURES / "claude" / "project", signer=signer)
    assert len(sealed) > 2
    joint = [session for session in sealed if "records" in session.record["vacr"].get("inputs", {})]
    assert joint
    for session in sealed:
        vacr.validate(session.record).raise_for_errors()
        assert hashlib.sha256(session.data).digest() in session.statement


def test_sealed_session_has_a_receipt_from_the_log(signer):
    with Scrapi() as service:
        key = service.log.signer.public_key
        (sealed,) = vacr.seal(SESSION, signer=signer, log=service.url, log_keys=[key])
        assert sealed.receipt
        policy = make_policy(signer, log_keys=(key,))
        verified = vacr.verify(sealed.statement, policy, payload=sealed.data)
        assert len(verified.receipts) == 1
        again = vacr.sign(sealed.data, signer)
        assert vacr.register(again, service.url, log_keys=[key])


def test_signing_time_defaults_to_now(signer):
    early = datetime(2026, 1, 1, tzinfo=UTC)
    (sealed,) = vacr.seal(SESSION, signer=signer, now=early)
    policy = make_policy(signer)
    assert vacr.verify(sealed.statement, policy, payload=sealed.data).issued_at == (
        early.timestamp()
    )
    (later,) = vacr.seal(SESSION, signer=signer)
    with pytest.raises(vacr.VerificationFailed):
        vacr.verify(later.statement, policy, payload=later.data, now=early)


def test_failures_raise_errors_of_vacr(signer, tmp_path):
    junk = tmp_path / "junk.jsonl"
    junk.write_text("junk\n")
    with pytest.raises(vacr.NotASession):
        vacr.seal(junk, signer=signer)
    with pytest.raises(vacr.Unreachable):
        vacr.seal(SESSION, signer=signer, log="http://127.0.0.1:1")
    (sealed,) = vacr.seal(SESSION, signer=signer)
    with pytest.raises(vacr.VerificationFailed) as caught:
        vacr.verify(sealed.statement, make_policy(signer), payload=sealed.data + b" ")
    assert caught.value.checks


def test_folder_too_large_for_memory_is_sealed_the_same(signer, tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "claude" / "project", tmp_path / "project")
    outcomes = []
    for limit, name in ((1 << 28, "in-memory"), (0, "read-again")):
        monkeypatch.setattr(sealing, "_MAX_HELD_BYTES", limit)
        options = record_many.RecordingOptions(keep_source=True)
        groups = sealing.plan_sealing(
            [str(tmp_path / "project")], tmp_path / name, options, lambda _: None
        )
        assert all((plan.held is None) == (not limit) for group in groups for plan in group)
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
