"""in-toto statements: their content, and their verification by securesystemslib."""

import base64
import copy
import hashlib
import json

import pytest

import vacr
from tests.exchange.sessions import load_example, read_all_records
from tests.interop.exchange_checks import check_exports
from vacr.errors import UsageError
from vacr.exchange.export import ExportRequest
from vacr.exchange.in_toto import encode_pre_authentication, export
from vacr.record.encoding import encode
from vacr.signing.keys import KeySigner, encode_public_pem, generate_key
from vacr.signing.statement import sign

DIGEST = "ab" * 32
COMMIT = "8f2c1e0b5d7a4963a1b2c3d4e5f60718293a4b5c"


@pytest.fixture(scope="module", params=["eddsa", "es256", "es384"])
def signer(request):
    return KeySigner(generate_key(request.param))


@pytest.fixture(scope="module")
def attributed():
    return vacr.attribute(copy.deepcopy(load_example("claude-code.jsonl")))


def decode_statement(export):
    return json.loads(base64.b64decode(json.loads(export.data)["payload"], validate=True))


def test_other_tools_verify_the_envelope_and_reject_changes(attributed, signer):
    envelope = json.loads(export(attributed, ExportRequest(DIGEST, signer=signer)).data)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    pem = encode_public_pem(signer.public_key).decode()
    changed = copy.deepcopy(envelope)
    changed["payload"] = base64.b64encode(
        base64.b64decode(envelope["payload"]).replace(b"claude", b"clause")
    ).decode()
    other = encode_public_pem(KeySigner(generate_key("eddsa")).public_key).decode()
    cases = [
        (envelope, pem),
        (changed, pem),
        (envelope, other),
        (envelope | {"payloadType": "x"}, pem),
    ]
    payload, *refused = check_exports(
        {"op": "dsse", "envelope": signed, "key": key} for signed, key in cases
    )
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"
    assert refused == [None, None, None]


def test_signed_bytes_follow_the_standard():
    assert (
        encode_pre_authentication(b"hello world", "http://example.com/HelloWorld")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_content_of_a_statement(attributed, signer):
    made = export(attributed, ExportRequest(DIGEST, signer=signer, commit=COMMIT))
    statement = decode_statement(made)
    commit, file = statement["subject"]
    assert commit["digest"] == {"gitCommit": COMMIT}
    assert file["name"] == "total.py"
    assert (
        file["digest"]["sha256"]
        == attributed["vacr"]["attribution"]["files"]["total.py"]["sha-256"]
    )
    predicate = statement["predicate"]
    assert predicate["record"]["digest"] == {"sha256": DIGEST}
    assert predicate["agent"] == {"name": "claude-code", "version": "2.1.72"}
    assert predicate["models"] == ["claude-opus-4-6"]
    assert predicate["startedAt"] == "2026-03-14T09:26:01.250Z"
    assert predicate["attribution"] == {
        "files": 1,
        "lines": {"ai": 6, "human": 0, "mixed": 0, "unknown": 0},
    }
    assert made.losses == {"entries of the conversation": 20}


def test_record_is_the_subject_without_files_and_commit(signer):
    assert decode_statement(
        export(load_example("cursor.jsonl"), ExportRequest(DIGEST, signer=signer))
    )["subject"] == [{"name": load_example("cursor.jsonl")["id"], "digest": {"sha256": DIGEST}}]


def test_receipts_are_included_only_if_the_statement_covers_the_record(attributed, signer):
    data = encode(attributed)
    digest = hashlib.sha256(data).hexdigest()
    signed = sign(data, signer, unprotected={394: [b"receipt"]})
    with_them = decode_statement(
        export(attributed, ExportRequest(digest, signer=signer, statement=signed))
    )["predicate"]
    assert with_them["receipts"] == [
        {"mediaType": "application/cose", "content": base64.b64encode(b"receipt").decode()}
    ]
    for other, name in ((signed, DIGEST), (b"no statement", digest)):
        made = export(attributed, ExportRequest(name, signer=signer, statement=other))
        assert "receipts" not in decode_statement(made)["predicate"]
        assert made.losses["receipts of a statement about other bytes"] == 1


def test_statement_needs_a_key(attributed):
    with pytest.raises(UsageError, match="needs a key"):
        export(attributed, ExportRequest(DIGEST))


def test_every_session_gives_a_statement(signer):
    for _, record in read_all_records():
        statement = decode_statement(export(record, ExportRequest(DIGEST, signer=signer)))
        assert all(subject["digest"] for subject in statement["subject"])
