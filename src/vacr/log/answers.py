"""What a service says when it does not give a receipt, as people can read it. Step: register.
Follows RFC 9290.
"""

from __future__ import annotations

import http.client
from typing import Any

from vacr.codec import deterministic_cbor
from vacr.errors import (
    InvalidStatement,
    Unreachable,
    UnreadableInput,
    UsageError,
    VacrError,
    printable,
)
from vacr.log.wire import LATER, Answer, way_out

TITLE, DETAIL = -1, -2

_LONGEST = 300
_TOO_LARGE, _NOT_FOUND = 413, 404
_NOT_ALLOWED = (401, 403)
_REFUSED = (400, 409, _TOO_LARGE, 415, 422)


def refusal(answer: Answer, url: str) -> VacrError:
    """Make the error of an answer that holds no receipt.

    What the service has against the statement, or against whoever asks, will be the same tomorrow;
    all else may be better then.
    """
    told = printable(
        f"the service answered {answer.status} {answer.reason[:_LONGEST]}"
    ).rstrip() + said(answer)
    if answer.status in _REFUSED:
        return InvalidStatement(told, reason="register-refused", where=url)
    if answer.status in _NOT_ALLOWED:
        hint = "Show who you are with --token-file, or with --client-cert."
        return InvalidStatement(told, reason="register-not-allowed", where=url, hint=hint)
    if answer.status == _NOT_FOUND:
        return UsageError(
            f"{url}: {told}", hint="The address of a service is that which /entries follows."
        )
    return Unreachable(told, where=url, hint=LATER)


def said(answer: Answer) -> str:
    """Say what a service says about an error: the title and the detail, or the beginning of
    whatever text it sent.
    """
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.endswith(("+cbor", "/cbor")):
        parts = _problem(answer.body)
    elif kind.startswith("text/") or kind.endswith("json"):
        parts = [answer.body.decode("utf-8", "replace").strip()]
    else:
        parts = []
    text = ": ".join(printable(part) for part in parts if part)
    return f": {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}" if text else ""


def _problem(body: bytes) -> list[str]:
    try:
        problem: Any = deterministic_cbor.decode(body)
    except UnreadableInput:
        return []
    found = [problem.get(TITLE), problem.get(DETAIL)] if isinstance(problem, dict) else []
    return [one for one in found if isinstance(one, str)]


def broken(error: Exception, url: str) -> Unreachable:
    """Make the error of a connection that failed."""
    told = str(error) or (
        type(error).__name__
        if isinstance(error, http.client.HTTPException)
        else "the connection failed"
    )
    return Unreachable(
        f"the transparency service cannot be reached: {told}", where=url, hint=way_out(error, url)
    )
