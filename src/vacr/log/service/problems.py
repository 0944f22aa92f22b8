"""What a service says when it refuses: concise problem details. Step: register. Follows RFC 9290
and SCRAPI.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import cbor2

from vacr.errors import VacrError, printable
from vacr.log.proofs import NoReceiptYet
from vacr.log.storage import StorageFailed

MEDIA_TYPE = "application/concise-problem-details+cbor"
_TITLE, _DETAIL = -1, -2
_LONGEST = 1000
_log = logging.getLogger("vacr.log")


class Problem(VacrError):  # noqa: N818 - the word of RFC 9290
    """A request that is refused, with the status that tells why."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        retry_after: int | None = None,
        more: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what to answer, and the headers that go with it."""
        super().__init__(f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.retry_after = retry_after
        self.more = more or {}

    def body(self) -> bytes:
        """Write the answer."""
        return cbor2.dumps(
            {_TITLE: self.title, _DETAIL: printable(self.detail[:_LONGEST])}, canonical=True
        )

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Give the headers of the answer."""
        found = [(b"content-type", MEDIA_TYPE.encode())]
        if self.retry_after is not None:
            found.append((b"retry-after", str(self.retry_after).encode()))
        return found + [
            (name.lower().encode(), value.encode()) for name, value in self.more.items()
        ]


def rejected(detail: str) -> Problem:
    """Refuse a statement."""
    return Problem(400, "Rejected", detail)


def unauthorized(detail: str, error: str = "") -> Problem:
    """Ask who calls; RFC 6750 section 3 wants the scheme named, and what was wrong with a token
    that was given.
    """
    return Problem(
        401,
        "Unauthorized",
        detail,
        more={"WWW-Authenticate": "Bearer" + (f' error="{error}"' if error else "")},
    )


def no_receipt_yet(status: int) -> Problem:
    """Answer that there is no receipt for the first entry of a log that has no other."""
    error = NoReceiptYet()
    return Problem(status, "No Receipt Yet", f"{error.message}. {error.hint}")


def outward(error: VacrError) -> str:
    """Say what fails to whoever asks from elsewhere; where a database is and who its user is are
    none of their business.
    """
    return "the log's database fails" if isinstance(error, StorageFailed) else error.message


def unavailable(error: VacrError, *, more: str = "") -> Problem:
    """Answer that something here fails, and may not the next time."""
    return Problem(503, "Unavailable", outward(error) + more, retry_after=1)


def bug(error: Exception) -> Problem:
    """Answer that something went wrong which nobody thought of, and tell whoever looks after the
    service what it was.
    """
    _log.error(
        "a bug in vacr: %s: %s",
        type(error).__name__,
        error,
        exc_info=_log.isEnabledFor(logging.INFO),
    )
    return Problem(500, "Internal Server Error", "a bug in vacr; the service has told its owner")
