"""Signed notes, compared with the specification and with a note of another library."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from vacr.errors import InvalidStatement, UsageError
from vacr.transparency.checkpoint import (
    MAX_NOTE_SIGNATURES,
    MAX_NOTE_SIZE,
    NOTE_KEY_COSIGNATURE,
    NOTE_KEY_ED25519,
    NOTE_KEY_KINDS,
    NoteSignature,
    SignedNote,
    VerifierKey,
    build_verifier_key,
    parse_signed_note,
    parse_verifier_key,
    sign_note_text,
)

# The example in the documentation of Go's package for notes.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_PRIVATE = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
PETERS_TEXT = (
    "If you think cryptography is the answer to your problem,\nthen you don't know "
    "what your problem is.\n"
)
PETERS_NOTE = (
    PETERS_TEXT
    + (
        "\n— PeterNeumann "
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
    )
).encode()

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
NAME = "example.org/log"
TRUSTED = build_verifier_key(NAME, KEY.public_key())
TEXT = "first\n\nè secondo\n"


def find_refusal_reason(parse, *arguments):
    with pytest.raises(InvalidStatement) as caught:
        parse(*arguments)
    return caught.value.reason


def signed(text=TEXT, *signatures):
    return SignedNote(text, (sign_note_text(text, NAME, KEY), *signatures))


def test_note_of_the_go_library_verifies():
    key = parse_verifier_key(PETER)
    parse_signed_note(PETERS_NOTE).verify(key)
    private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(PETERS_PRIVATE)[1:])
    assert (
        SignedNote(PETERS_TEXT, (sign_note_text(PETERS_TEXT, "PeterNeumann", private),)).encode()
        == PETERS_NOTE
    )
    assert str(build_verifier_key("PeterNeumann", private.public_key())) == PETER


def test_note_matches_the_specification():
    public = KEY.public_key().public_bytes_raw()
    key_id = hashlib.sha256(NAME.encode() + b"\x0a" + b"\x01" + public).digest()[:4]
    line = (
        b"\xe2\x80\x94 "
        + NAME.encode()
        + b" "
        + base64.b64encode(key_id + KEY.sign(TEXT.encode()))
        + b"\n"
    )
    assert signed().encode() == TEXT.encode() + b"\n" + line
    assert str(TRUSTED) == f"{NAME}+{key_id.hex()}+{base64.b64encode(bytes([1]) + public).decode()}"
    found = base64.b64decode(signed().encode().split(b"\n")[-2].split(b" ")[2])
    Ed25519PublicKey.from_public_bytes(public).verify(found[4:], TEXT.encode())


def test_lines_of_unknown_keys_are_kept_and_ignored():
    others = (
        NoteSignature("example.org/other", TRUSTED.id, bytes(64)),  # the id alone is not the key
        NoteSignature(NAME, b"\x00\x01\x02\x03", b"x"),  # nor is the name
        sign_note_text(TEXT, "example.org/other", OTHER),
    )
    note = parse_signed_note(signed(TEXT, *others).encode())
    note.verify(TRUSTED)
    note.verify(build_verifier_key("example.org/other", OTHER.public_key()), TRUSTED)
    assert note.signatures[1:] == others


def test_note_without_a_trusted_signature_is_refused():
    stranger = build_verifier_key(NAME, OTHER.public_key())
    assert find_refusal_reason(signed().verify) == "note-unsigned"
    assert find_refusal_reason(signed().verify, stranger) == "note-unsigned"
    with pytest.raises(InvalidStatement, match="none of the expected keys signed") as refused:
        signed().verify(stranger)
    assert refused.value.message.endswith(f"; expected: {stranger}")
    # A cosignature says something else: the same key for it does not check the text.
    assert (
        find_refusal_reason(
            signed().verify, build_verifier_key(NAME, KEY.public_key(), NOTE_KEY_COSIGNATURE)
        )
        == "note-unsigned"
    )


@pytest.mark.parametrize(
    "blob", [bytes(64), b"x", KEY.sign(b"another text\n"), OTHER.sign(TEXT.encode())]
)
def test_one_false_line_of_a_known_key_fails_the_note(blob):
    note = signed(TEXT, NoteSignature(NAME, TRUSTED.id, blob))
    assert find_refusal_reason(note.verify, TRUSTED) == "note-signature"


GOOD = signed().encode()
LINE = GOOD.rpartition(b"\n\n")[2]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "note-form"),
        (b"\n", "note-form"),
        (b"\n\n", "note-form"),
        (b"text\n", "note-form"),
        (b"text\n\n", "note-form"),
        (b"text" + b"\n" + LINE, "note-form"),
        (GOOD[:-1], "note-form"),
        (GOOD + b"\n", "note-form"),
        (GOOD + b"more", "note-form"),
        (GOOD + b"more\n", "note-form"),
        (GOOD.replace(b"\xe2\x80\x94", b"-"), "note-form"),
        (GOOD.replace(b"\xe2\x80\x94 ", b"\xe2\x80\x94"), "note-form"),
        (GOOD.replace(b"=\n", b"\n"), "note-form"),
        (GOOD.replace(b"=\n", b"= \n"), "note-form"),
        (b"text\n\n\xe2\x80\x94  AAAAAAAA\n", "note-form"),
        (b"text\n\n\xe2\x80\x94 a+b AAAAAAAA\n", "note-form"),
        ("text\n\n— a\u2003b AAAAAAAA\n".encode(), "note-form"),
        ("text\n\n— a\u2028b AAAAAAAA\n".encode(), "note-form"),
        (b"text\n\n\xe2\x80\x94 name AAAAAA==\n", "note-form"),
        (b"text\n\n\xe2\x80\x94 name AAAAAAB=\n", "note-form"),
        (b"text\n\n\xe2\x80\x94 name AAAA AAAA\n", "note-form"),
        (b"text\n\n\xe2\x80\x94 name AAAA-_AA\n", "note-form"),
        ("text\n\n— name ٣٣٣٣٣٣٣٣\n".encode(), "note-form"),
        (GOOD.replace(b"first", b"fir\tst"), "note-characters"),
        (GOOD.replace(b"first", b"first\r"), "note-characters"),
        (GOOD.replace(b"first", b"fir\x00st"), "note-characters"),
        (GOOD.replace(b"first", b"\xff"), "note-characters"),
        (GOOD.replace(b"first", b"\xed\xa0\x80"), "note-characters"),
        (b"x" * MAX_NOTE_SIZE + GOOD, "note-size"),
        (GOOD + LINE * MAX_NOTE_SIGNATURES, "note-size"),
    ],
)
def test_malformed_notes_are_refused(data, why):
    assert find_refusal_reason(parse_signed_note, data) == why


def test_number_of_signatures_is_limited():
    note = parse_signed_note(GOOD + LINE * (MAX_NOTE_SIGNATURES - 1))
    assert len(note.signatures) == MAX_NOTE_SIGNATURES
    note.verify(TRUSTED)


@pytest.mark.parametrize("text", ["", "no end", "a\tb\n", "\ud800\n"])
def test_malformed_texts_are_not_signed(text):
    with pytest.raises(UsageError):
        sign_note_text(text, NAME, KEY)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "\u00a0", "a\x01", "\ud800"])
def test_invalid_key_names_are_refused(name):
    with pytest.raises(UsageError, match="cannot be the name of a key"):
        sign_note_text(TEXT, name, KEY)
    with pytest.raises(UsageError):
        VerifierKey(name, NOTE_KEY_ED25519, bytes(32))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "+",
        "++",
        PETER[:-1],
        PETER + "=",
        PETER.replace("c74f20a3", "c74f20a4"),
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER.replace("c74f20a3", "c74f20a"),
        PETER.replace("Peter", "peter"),
        PETER.replace("Peter", "Pe ter"),
        PETER.replace("+AR", "+BR"),
        PETER.replace("+AR", "+ÄR"),
        "PRIVATE+KEY+" + PETER,
        f"{NAME}+{TRUSTED.id.hex()}+{base64.b64encode(bytes([1, 2])).decode()}",
    ],
)
def test_malformed_keys_are_refused(text):
    with pytest.raises(UsageError):
        parse_verifier_key(text)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.sampled_from(NOTE_KEY_KINDS),
    st.binary(min_size=32, max_size=32),
)
def test_key_round_trip(name, kind, public):
    try:
        key = VerifierKey(name, kind, public)
    except UsageError:
        assert any(letter.isspace() or letter == "+" or letter < " " for letter in name)
        return
    assert parse_verifier_key(str(key)) == key


lines = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=[chr(code) for code in range(32)])
)


@given(
    st.lists(lines, min_size=1, max_size=8),
    st.lists(st.binary(min_size=1, max_size=80), max_size=5),
)
def test_note_round_trip(texts, blobs):
    note = signed(
        "".join(f"{text}\n" for text in texts),
        *(NoteSignature("a", b"1234", blob) for blob in blobs),
    )
    read = parse_signed_note(note.encode())
    assert read == note
    read.verify(TRUSTED)


@given(st.data())
def test_changed_notes_do_not_verify(data):
    """One changed, lost or added byte of a note: it fails as ours, or is the same text with the
    same signature.
    """
    at = data.draw(st.integers(0, len(GOOD) - 1))
    middle = data.draw(
        st.sampled_from(
            [b"", bytes([GOOD[at] ^ (1 << data.draw(st.integers(0, 7)))]), GOOD[at : at + 1] + b"A"]
        )
    )
    changed = GOOD[:at] + middle + GOOD[at + 1 :]
    try:
        note = parse_signed_note(changed)
        note.verify(TRUSTED)
    except InvalidStatement:
        return
    assert (note.text, note.signatures[0]) == (TEXT, signed().signatures[0])


@given(st.binary())
def test_any_bytes_are_a_note_or_raise_our_error(data):
    assert find_refusal_reason(parse_signed_note, data).startswith("note-")


def test_missing_final_newline_is_named():
    with pytest.raises(InvalidStatement, match="does not end with a newline"):
        parse_signed_note(GOOD[:-1])
    with pytest.raises(InvalidStatement, match="no empty line followed by signatures"):
        parse_signed_note(b"text\n\n")
