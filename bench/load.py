"""Send many statements to a log over plain sockets, and print the rate and the delays as JSON.

Usage: python bench/load.py URL STATEMENTS CONNECTIONS

STATEMENTS is a file with statements, each preceded by its length. Every connection sends one
statement after the other.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit


class Client(asyncio.Protocol):
    """A connection that sends statements until there are no more."""

    def __init__(self, load: Load) -> None:
        """Set the load to take statements from."""
        self.load = load
        self.buffer = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first statement."""
        self.transport = transport
        self._send_next()

    def _send_next(self) -> None:
        statement = next(self.load.statements, None)
        if statement is None:
            self.transport.close()
            return
        self.sent_at = time.perf_counter()
        self.transport.write(self.load.request_head % len(statement) + statement)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Count the response once it is complete, and send the next statement."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        _, _, from_length = head.partition(b"content-length: ")
        length = int(from_length.partition(b"\r")[0])
        if len(self.buffer) < end + 4 + length:
            return
        status = head[9:12].decode()
        self.load.count_response(status, time.perf_counter() - self.sent_at)
        self.buffer = b""
        self._send_next()

    def connection_lost(self, error: Exception | None) -> None:
        """Finish."""
        if not self.done.done():
            self.done.set_result(error)


class Load:
    """The statements to send, and the responses to them."""

    def __init__(self, url: str, statements: list[bytes]) -> None:
        """Prepare requests to a log."""
        self.address = urlsplit(url)
        self.statements = iter(statements)
        self.delays: list[float] = []
        self.statuses: Counter[str] = Counter()
        host = f"{self.address.hostname}:{self.address.port}"
        self.request_head = (
            f"POST /entries HTTP/1.1\r\nHost: {host}\r\nContent-Type: "
            "application/cose\r\nContent-Length: %d\r\n\r\n"
        ).encode()

    def count_response(self, status: str, seconds: float) -> None:
        """Count a response."""
        self.statuses[status] += 1
        self.delays.append(seconds)

    async def run(self, connection_count: int) -> dict[str, object]:
        """Send all statements, and return the results."""
        loop = asyncio.get_running_loop()
        started, cpu_before = time.perf_counter(), time.process_time()
        connections = [
            await loop.create_connection(
                lambda: Client(self), self.address.hostname, self.address.port
            )
            for _ in range(connection_count)
        ]
        await asyncio.gather(*(client.done for _, client in connections))
        duration = time.perf_counter() - started
        delays = sorted(self.delays)
        return {
            "statuses": dict(self.statuses),
            "rate": len(delays) / duration,
            "p50": delays[len(delays) // 2],
            "p99": delays[len(delays) * 99 // 100],
            "cpu": (time.process_time() - cpu_before) / len(delays),
        }


def read_statements(path: str) -> list[bytes]:
    """Read a file of statements, each preceded by its length."""
    data = Path(path).read_bytes()
    statements = []
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from(">I", data, position)
        statements.append(data[position + 4 : position + 4 + length])
        position += 4 + length
    return statements


def write_statements(path: Path, statements: list[bytes]) -> None:
    """Write a file of statements, each preceded by its length."""
    pieces = [struct.pack(">I", len(statement)) + statement for statement in statements]
    path.write_bytes(b"".join(pieces))


if __name__ == "__main__":
    load = Load(sys.argv[1], read_statements(sys.argv[2]))
    print(json.dumps(asyncio.run(load.run(int(sys.argv[3])))))
