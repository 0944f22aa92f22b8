"""Verification of files: what is read, and when."""

from datetime import UTC, datetime

from vacr.signing.keys import KeySigner, encode_public_pem, generate_key
from vacr.signing.statement import sign
from vacr.workflows import StatementPair, VerificationOptions, judge_statements
from vacr.workflows.verify import judge_statement


def test_a_trust_file_that_changed_is_read_again(tmp_path):
    """A key that was removed from a trust file must not stay trusted in a process that lives on."""
    signer, other = KeySigner(generate_key("eddsa")), KeySigner(generate_key("eddsa"))
    file, statement, trust = (tmp_path / name for name in ("a.txt", "a.txt.cose", "trust.pem"))
    file.write_bytes(b"content")
    statement.write_bytes(sign(b"content", signer))
    pair = StatementPair(str(statement), str(file))

    def judge(key):
        trust.write_bytes(encode_public_pem(key.public_key))
        [verdict] = judge_statements([pair], VerificationOptions(trust=(str(trust),)))
        return verdict["verified"]

    assert judge(signer) is True
    assert judge(other) is False
    assert judge(signer) is True


def test_file_replaced_while_a_page_is_made_does_not_lend_its_verdict(tmp_path):
    """A page has bytes that were read before: the verdict must be about them, not the file."""
    signer, now = KeySigner(generate_key("eddsa")), datetime.now(UTC)
    file, statement, trust = (tmp_path / name for name in ("a.txt", "a.txt.cose", "trust.pem"))
    file.write_bytes(b"content")
    statement.write_bytes(sign(b"content", signer))
    trust.write_bytes(encode_public_pem(signer.public_key))
    pair, options = StatementPair(str(statement), str(file)), VerificationOptions((str(trust),))
    assert judge_statement(pair, options, (), now)["verified"]
    read_before = b"forged", statement.read_bytes()
    assert judge_statement(pair, options, (), now, read_before)["reason"] == "content-mismatch"
