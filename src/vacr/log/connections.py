"""Connections that hold nothing for longer than they may. Step: register. Needs the extra `log`.

The server that this stands on waits for the head of a request for ever, however long it gets, and
for whoever does not read its answer. That would cost memory, and connections, of which a process
has few. Bodies are limited where they are read.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_REQUEST_HEAD_SIZE = 1 << 16
MAX_REQUEST_HEAD_SECONDS = 20.0
"""How long the head of a request may take."""
MAX_STALLED_SECONDS = 300.0
"""How long somebody may not read what they asked for."""
_HEAD_TOO_LARGE_RESPONSE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 9\r\nconnection: close\r\n\r\n"
    b"too large"
)


class BoundedConnection(HttpToolsProtocol):
    """A connection of HTTP/1.1."""

    in_head = True
    """Whether what comes next belongs to the head of a request."""
    size = 0
    """How many bytes of it have come."""
    late: asyncio.TimerHandle | None = None
    stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.late = self.loop.call_later(MAX_REQUEST_HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came."""
        self.size += len(data)
        super().data_received(data)
        if not self.in_head or not self.size or self.transport.is_closing():
            return
        if self.size > MAX_REQUEST_HEAD_SIZE:
            self.transport.write(_HEAD_TOO_LARGE_RESPONSE)
            self.transport.close()
        elif self.late is None:
            self.late = self.loop.call_later(MAX_REQUEST_HEAD_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._stop_waiting()
        self.in_head, self.size = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Be ready for the next request."""
        self.in_head, self.size = True, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Wait for somebody who has more to read than they may leave unread."""
        self.stalled = self.loop.call_later(MAX_STALLED_SECONDS, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on: they have read it."""
        if self.stalled is not None:
            self.stalled.cancel()
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self.late is not None:
            self.late.cancel()
            self.late = None
