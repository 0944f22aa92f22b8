"""Bytes as text, as JSON Web Tokens and wrappers in JSON write them. Step: attest, appraise.
Follows RFC 7515, section 2.
"""

from __future__ import annotations

import base64
import binascii


def encode(data: bytes) -> str:
    """Write bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Read base64url without padding, in the one form that it has.

    Raises:
        ValueError: it is something else.
    """
    try:
        value = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    # The last letter may hold bits that belong to nothing: then two texts would be one value.
    if encode(value) != text:
        raise ValueError("not base64url")
    return value
