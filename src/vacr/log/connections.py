"""HTTP connections with limits, for uvicorn; needs the extra `log`.

uvicorn waits forever for a request head, however long it grows, and for clients that do not read
their response. Either would let a client exhaust memory or connections. Request bodies are limited
where they are read.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_REQUEST_HEAD_SIZE = 1 << 16
MAX_REQUEST_HEAD_SECONDS = 20.0
MAX_STALLED_SECONDS = 300.0
"""How long a client may leave its response unread."""
_HEAD_TOO_LARGE_RESPONSE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 9\r\nconnection: close\r\n\r\n"
    b"too large"
)


class BoundedConnection(HttpToolsProtocol):
    """An HTTP/1.1 connection that is closed when a request or a response takes too long."""

    in_head = True
    """Whether the next bytes belong to a request head."""
    received_size = 0
    """How many bytes of the current request head have arrived."""
    head_timer: asyncio.TimerHandle | None = None
    stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Limit the time until the first request head is complete."""
        super().connection_made(transport)
        self.head_timer = self.loop.call_later(MAX_REQUEST_HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel both timers."""
        self._cancel_head_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, then check the size and the time of an incomplete request head."""
        self.received_size += len(data)
        super().data_received(data)
        if not self.in_head or not self.received_size or self.transport.is_closing():
            return
        if self.received_size > MAX_REQUEST_HEAD_SIZE:
            self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
            self.transport.close()
        elif self.head_timer is None:
            self.head_timer = self.loop.call_later(MAX_REQUEST_HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        """Cancel the timer of the request head."""
        self._cancel_head_timer()
        self.in_head, self.received_size = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the next request head."""
        self.in_head, self.received_size = True, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Limit how long the client may take to read its response."""
        self.stall_timer = self.loop.call_later(MAX_STALLED_SECONDS, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Cancel the limit: the client reads again."""
        if self.stall_timer is not None:
            self.stall_timer.cancel()
        super().resume_writing()

    def _cancel_head_timer(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None
