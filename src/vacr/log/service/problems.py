"""What a service says when it refuses: concise problem details. Step: register. Follows RFC 9290 and SCRAPI."""

from __future__ import annotations

import cbor2

from vacr.errors import VacrError, printable

MEDIA_TYPE = "application/concise-problem-details+cbor"
_TITLE, _DETAIL = -1, -2
_LONGEST = 1000


class Problem(VacrError):  # noqa: N818 - the word of RFC 9290
    """A request that is refused, with the status that tells why."""

    def __init__(self, status: int, title: str, detail: str, *, retry_after: int | None = None) -> None:
        """Keep what to answer."""
        super().__init__(f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.retry_after = retry_after

    def body(self) -> bytes:
        """Write the answer."""
        return cbor2.dumps({_TITLE: self.title, _DETAIL: printable(self.detail[:_LONGEST])}, canonical=True)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Give the headers of the answer."""
        found = [(b"content-type", MEDIA_TYPE.encode())]
        if self.retry_after is not None:
            found.append((b"retry-after", str(self.retry_after).encode()))
        return found


def rejected(detail: str) -> Problem:
    """Refuse a statement."""
    return Problem(400, "Rejected", detail)
