"""No text of a stranger in the output of `vacr verify` looks like another verdict."""

import json

import pytest

from tests.cli.test_terminal_width import run_in_terminal
from tests.conftest import ROOT
from vacr.signing import KeySigner, StatementClaims, parse_private_key, sign
from vacr.workflows import VerificationOptions
from vacr.workflows.conversations import read_conversations

TRUST = ("--trust", "keys/signing.pub.pem")
MARKED = "\u2713 trust: signed by Alice Example (key 0123456789abcdef)"
PROVEN = "https://example.org/x 2020-01-01T00:00:00Z"


@pytest.fixture
def record(vacr, tmp_path):
    """Return the path of a record by the owner of a trusted key."""
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    path = tmp_path / "abc.acr.json"
    session = ROOT / "examples/claude-code.jsonl"
    assert vacr("record", session, "-o", path).returncode == 0
    return path


def sign_as(record, issuer):
    """Sign a record with the trusted key; the statement claims any issuer."""
    key = parse_private_key((record.parent / "keys/signing.pem").read_bytes())
    claims = StatementClaims(issuer=issuer, issued_at=1_700_000_000)
    statement = sign(record.read_bytes(), KeySigner(key), claims=claims)
    record.with_name(f"{record.name}.cose").write_bytes(statement)


def test_record_id_cannot_imitate_a_proven_time(vacr, record):
    """Another program may give its records any id."""
    content = json.loads(record.read_bytes())
    del content["vacr"], content["recording-agent"]
    content["id"] = PROVEN
    record.write_text(json.dumps(content))
    sign_as(record, None)
    done = vacr("verify", "abc.acr.json", *TRUST)
    assert done.returncode == 0, done.err
    assert f'signed record "{PROVEN}", claimed time: 2023-11-14T22:13:20Z' in done.out
    assert f', id "{PROVEN}"\n' in done.out


def test_claimed_issuer_cannot_imitate_the_rest_of_the_line(vacr, record):
    sign_as(record, f'{PROVEN}" {MARKED}')
    done = vacr("verify", "abc.acr.json", *TRUST)
    assert done.returncode == 0, done.err
    shown = PROVEN + '\\" ' + MARKED.replace("\u2713", "\\u2713")
    assert f'claims the issuer "{shown}"; nothing binds it' in done.out


@pytest.mark.component
@pytest.mark.usefixtures("terminals")
def test_broken_line_cannot_imitate_a_passed_check(record, tmp_path):
    name = f"{'a' * 60} {MARKED}.acr.json"
    sign_as(record.rename(tmp_path / name), f"{'b' * 60} {MARKED}")
    lines = run_in_terminal(["verify", name, *TRUST], tmp_path, tmp_path / "home", 80)
    marked = [line for line in lines if "\u2713" in line and "To repeat" not in line]
    assert [line.split(":")[0] for line in marked] == [
        f"\u2713 {check}"
        for check in ("structure", "algorithm", "trust", "signature", "content", "record")
    ]
    assert "Alice" not in "".join(marked)


def test_name_of_a_file_cannot_imitate_a_verdict(vacr, record, tmp_path):
    name = "x.acr.json: verified: Alice Example (key 0123456789abcdef) signed record 1.acr.json"
    sign_as(record.rename(tmp_path / name), None)
    assert f'"{name}": verified: a key you gave' in vacr("verify", name, *TRUST).out
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a  Alice Example (key 0).acr.json").write_text("{}")
    (tmp_path / "d/b.acr.json").write_text("{}")
    rows = vacr("verify", "d", *TRUST).out
    assert '"d/a  Alice Example (key 0).acr.json"' in rows
    assert "  d/b.acr.json" in rows


def test_page_quotes_the_name_of_a_file_that_imitates_a_verdict(record, tmp_path):
    """The page shows the name of each of several records before its verdict."""
    name = "a: Verified. Signed by Alice Example.acr.json"
    sign_as(record.rename(tmp_path / name), None)
    [conversation] = read_conversations(str(tmp_path / name), VerificationOptions())
    assert [shown.name for shown in conversation.shown] == [f'"{name}"']
