"""Records, and parts of them, as a user names them: files in either form."""

from __future__ import annotations

from typing import Any

from vacr import codec
from vacr.codec import Form
from vacr.errors import UnreadableInput
from vacr.sources import read_bytes


def load(path: str) -> tuple[Any, Form]:
    """Read the value in a file, and say in which form it is.

    Raises:
        UnreadableInput: there is no such file, or it is not exactly one value of either form.
    """
    return value_in(read_bytes(path))


def value_in(data: bytes) -> tuple[Any, Form]:
    """Decode a value, and say in which form it is.

    Raises:
        UnreadableInput: it is not exactly one value of either form.
    """
    try:
        return codec.decode_either(data)
    except UnreadableInput as error:
        hint = (
            error.hint or "If it is a native session, make a record of it first: vacr record FILE."
        )
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error
