"""Checkpoints and cosignatures."""

import base64
import struct

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from vacr.errors import InvalidStatement, UsageError
from vacr.transparency.checkpoint import (
    MAX_TREE_SIZE,
    NOTE_KEY_COSIGNATURE,
    Checkpoint,
    NoteSignature,
    SignedNote,
    build_verifier_key,
    cosign_checkpoint,
    parse_checkpoint,
    parse_signed_note,
    sign_checkpoint,
    sign_note_text,
    verify_checkpoint,
    verify_cosignature,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ORIGIN = "example.com/behind-the-sofa"
TRUSTED = build_verifier_key(ORIGIN, KEY.public_key())
ROOT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
TEXT = f"{ORIGIN}\n20852163\n{ROOT}\n"  # as in the specification
SAID = Checkpoint(ORIGIN, 20852163, base64.b64decode(ROOT))
WITNESS = build_verifier_key("witness.example.com/w1", KEY.public_key(), NOTE_KEY_COSIGNATURE)


def find_refusal_reason(parse, *arguments):
    with pytest.raises(InvalidStatement) as caught:
        parse(*arguments)
    return caught.value.reason


def test_specification_example_is_parsed():
    assert (SAID.text, parse_checkpoint(TEXT)) == (TEXT, SAID)
    assert verify_checkpoint(sign_checkpoint(SAID, KEY), TRUSTED) == SAID


def test_extension_lines_are_kept():
    said = Checkpoint(ORIGIN, 0, bytes(32), ("more", "and — more"))
    assert verify_checkpoint(sign_checkpoint(said, KEY), TRUSTED) == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        f"{ORIGIN}\n5\n",
        f"{ORIGIN}\n5\n{ROOT}",
        f"\n5\n{ROOT}\n",
        f"{ORIGIN}\n\n{ROOT}\n",
        f"{ORIGIN}\n5\n{ROOT}\n\n",
        f"{ORIGIN}\n5\n{ROOT}\n\nmore\n",
        *(
            f"{ORIGIN}\n{size}\n{ROOT}\n"
            for size in (
                "05",
                "00",
                "-1",
                "+5",
                " 5",
                "5 ",
                "0x5",
                "5.0",
                "1_0",
                "٥",
                "²",
                str(1 << 63),
                "9" * 30,
            )
        ),
        *(
            f"{ORIGIN}\n5\n{root}\n"
            for root in (
                ROOT[:-1],
                ROOT + "=",
                ROOT[:-2] + "J=",
                ROOT.replace("/", "_"),
                "AAAA",
                ROOT + "AAAA",
            )
        ),
    ],
)
def test_malformed_checkpoints_are_refused(text):
    assert find_refusal_reason(parse_checkpoint, text) == "checkpoint-form"
    if text.endswith("\n"):
        note = SignedNote(text, (sign_note_text(text, ORIGIN, KEY),)).encode()
        assert find_refusal_reason(verify_checkpoint, note, TRUSTED) in {
            "checkpoint-form",
            "note-form",
        }


def test_checkpoint_not_signed_by_the_log_is_refused():
    note = sign_checkpoint(SAID, KEY)
    other = Ed25519PrivateKey.generate()
    assert find_refusal_reason(verify_checkpoint, note) == "note-unsigned"
    assert (
        find_refusal_reason(verify_checkpoint, note, build_verifier_key(ORIGIN, other.public_key()))
        == "note-unsigned"
    )
    assert (
        find_refusal_reason(verify_checkpoint, note.replace(b"20852163", b"20852164"), TRUSTED)
        == "note-signature"
    )
    # A key of one log does not speak for another.
    stolen = SignedNote(TEXT, (sign_note_text(TEXT, "example.com/other", KEY),)).encode()
    assert (
        find_refusal_reason(
            verify_checkpoint, stolen, build_verifier_key("example.com/other", KEY.public_key())
        )
        == "checkpoint-origin"
    )
    # After a rotation any of the keys will do.
    assert verify_checkpoint(note, build_verifier_key(ORIGIN, other.public_key()), TRUSTED) == SAID


@pytest.mark.parametrize(
    "said",
    [
        Checkpoint("a b", 1, bytes(32)),
        Checkpoint("a+b", 1, bytes(32)),
        Checkpoint("", 1, bytes(32)),
        Checkpoint("a\nb", 1, bytes(32)),
        Checkpoint("a", -1, bytes(32)),
        Checkpoint("a", 1 << 63, bytes(32)),
        Checkpoint("a", 1, bytes(31)),
        Checkpoint("a", 1, bytes(32), ("",)),
        Checkpoint("a", 1, bytes(32), ("one\ntwo",)),
        Checkpoint("a", 1, bytes(32), ("\ud800",)),
        Checkpoint("a", 1, bytes(32), ("tab\t",)),
    ],
)
def test_checkpoint_that_would_not_parse_is_not_signed(said):
    with pytest.raises(UsageError):
        sign_checkpoint(said, KEY)


def test_cosignature_matches_the_specification():
    time = 1679315147
    cosignature = cosign_checkpoint(TEXT, time, WITNESS.name, KEY)
    assert cosignature.key_id == WITNESS.id
    assert cosignature.blob[:8] == struct.pack(">Q", time)
    KEY.public_key().verify(
        cosignature.blob[8:], b"cosignature/v1\ntime 1679315147\n" + TEXT.encode()
    )
    cosigned = parse_signed_note(sign_checkpoint(SAID, KEY) + cosignature.line.encode())
    assert verify_cosignature(cosigned, WITNESS) == time
    assert verify_checkpoint(cosigned.encode(), TRUSTED) == SAID


def cosigned(*blobs, text=TEXT):
    return SignedNote(text, tuple(NoteSignature(WITNESS.name, WITNESS.id, blob) for blob in blobs))


def test_false_cosignatures_are_refused():
    good = cosign_checkpoint(TEXT, 5, WITNESS.name, KEY).blob
    later = cosign_checkpoint(TEXT, 7, WITNESS.name, KEY).blob
    assert verify_cosignature(cosigned(good, later, good), WITNESS) == 7
    assert find_refusal_reason(verify_cosignature, cosigned(), WITNESS) == "note-unsigned"
    assert find_refusal_reason(verify_cosignature, cosigned(good), TRUSTED) == "note-unsigned"
    never = (1 << 63).to_bytes(8, "big") + KEY.sign(
        f"cosignature/v1\ntime {1 << 63}\n{TEXT}".encode()
    )
    for blob in (b"", b"x", good[:-1], later[:8] + good[8:], KEY.sign(TEXT.encode()), never):
        assert (
            find_refusal_reason(verify_cosignature, cosigned(good, blob), WITNESS)
            == "note-signature"
        )
    assert (
        find_refusal_reason(
            verify_cosignature, cosigned(good, text=TEXT.replace("3", "4")), WITNESS
        )
        == "note-signature"
    )
    # The log's own key may be the witness's: a signature of one kind is never one of the other.
    assert (
        find_refusal_reason(
            SignedNote(TEXT, (NoteSignature(ORIGIN, TRUSTED.id, good[8:]),)).verify, TRUSTED
        )
        == "note-signature"
    )


@given(
    st.integers(0, MAX_TREE_SIZE),
    st.binary(min_size=32, max_size=32),
    st.integers(0, MAX_TREE_SIZE),
)
def test_checkpoint_round_trip(size, root, time):
    said = Checkpoint(ORIGIN, size, root)
    note = (
        sign_checkpoint(said, KEY)
        + cosign_checkpoint(said.text, time, WITNESS.name, KEY).line.encode()
    )
    assert verify_checkpoint(note, TRUSTED) == said
    assert verify_cosignature(parse_signed_note(note), WITNESS) == time


@given(st.text())
def test_any_text_is_a_checkpoint_or_raises_our_error(text):
    try:
        said = parse_checkpoint(text)
    except InvalidStatement:
        return
    assert said.text == text
