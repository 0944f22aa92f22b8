"""Records, and parts of them, as a user names them: files in either form."""

from __future__ import annotations

from typing import Any

from vacr.errors import UnreadableInput
from vacr.files import read_bytes
from vacr.record import RecordEncoding, detect_and_decode


def read_json_or_cbor(path: str) -> tuple[Any, RecordEncoding]:
    """Read the value in a file, and say in which form it is.

    Raises:
        UnreadableInput: there is no such file, or it is not exactly one value of either form.
    """
    return decode_json_or_cbor(read_bytes(path))


def decode_json_or_cbor(data: bytes) -> tuple[Any, RecordEncoding]:
    """Decode a value, and say in which form it is.

    Raises:
        UnreadableInput: it is not exactly one value of either form.
    """
    try:
        return detect_and_decode(data)
    except UnreadableInput as error:
        hint = (
            error.hint or "If it is a native session, make a record of it first: vacr record FILE."
        )
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error
