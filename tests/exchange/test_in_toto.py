"""in-toto statements: what they say, and that securesystemslib verifies their envelopes."""

import base64
import copy
import hashlib
import json

import pytest

import vacr
from tests.exchange.sessions import all_records, example
from tests.interop.judged import judged
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
    return vacr.attribute(copy.deepcopy(example("claude-code.jsonl")))


def statement(made):
    return json.loads(base64.b64decode(json.loads(made.data)["payload"], validate=True))


def test_others_verify_it_and_refuse_what_was_changed(attributed, signer):
    envelope = json.loads(export(attributed, ExportRequest(DIGEST, signer=signer)).data)
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    pem = encode_public_pem(signer.public_key).decode()
    changed = copy.deepcopy(envelope)
    changed["payload"] = base64.b64encode(
        base64.b64decode(envelope["payload"]).replace(b"claude", b"clause")
    ).decode()
    other = encode_public_pem(KeySigner(generate_key("eddsa")).public_key).decode()
    asked = [
        (envelope, pem),
        (changed, pem),
        (envelope, other),
        (envelope | {"payloadType": "x"}, pem),
    ]
    payload, *refused = judged({"op": "dsse", "envelope": one, "key": key} for one, key in asked)
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"
    assert refused == [None, None, None]


def test_what_is_signed_is_what_the_standard_says():
    assert (
        encode_pre_authentication(b"hello world", "http://example.com/HelloWorld")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_what_it_says(attributed, signer):
    made = export(attributed, ExportRequest(DIGEST, signer=signer, commit=COMMIT))
    said = statement(made)
    commit, file = said["subject"]
    assert commit["digest"] == {"gitCommit": COMMIT}
    assert file["name"] == "total.py"
    assert (
        file["digest"]["sha256"]
        == attributed["vacr"]["attribution"]["files"]["total.py"]["sha-256"]
    )
    predicate = said["predicate"]
    assert predicate["record"]["digest"] == {"sha256": DIGEST}
    assert predicate["agent"] == {"name": "claude-code", "version": "2.1.72"}
    assert predicate["models"] == ["claude-opus-4-6"]
    assert predicate["startedAt"] == "2026-03-14T09:26:01.250Z"
    assert predicate["attribution"] == {
        "files": 1,
        "lines": {"ai": 6, "human": 0, "mixed": 0, "unknown": 0},
    }
    assert made.losses == {"entries of the conversation": 20}


def test_without_files_and_commit_the_record_is_the_subject(signer):
    assert statement(export(example("cursor.jsonl"), ExportRequest(DIGEST, signer=signer)))[
        "subject"
    ] == [{"name": example("cursor.jsonl")["id"], "digest": {"sha256": DIGEST}}]


def test_receipts_go_along_only_with_a_statement_about_the_same_bytes(attributed, signer):
    data = encode(attributed)
    digest = hashlib.sha256(data).hexdigest()
    signed = sign(data, signer, unprotected={394: [b"receipt"]})
    with_them = statement(
        export(attributed, ExportRequest(digest, signer=signer, statement=signed))
    )["predicate"]
    assert with_them["receipts"] == [
        {"mediaType": "application/cose", "content": base64.b64encode(b"receipt").decode()}
    ]
    for other, name in ((signed, DIGEST), (b"no statement", digest)):
        made = export(attributed, ExportRequest(name, signer=signer, statement=other))
        assert "receipts" not in statement(made)["predicate"]
        assert made.losses["statements beside it that are not about these bytes"] == 1


def test_nothing_is_made_that_is_not_signed(attributed):
    with pytest.raises(UsageError, match="signed"):
        export(attributed, ExportRequest(DIGEST))


def test_every_session_gives_a_statement(signer):
    for _, record in all_records():
        said = statement(export(record, ExportRequest(DIGEST, signer=signer)))
        assert all(subject["digest"] for subject in said["subject"])
