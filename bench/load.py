"""A load of statements on a log, over plain sockets: many connections, each sending one statement
after the other.

python bench/load.py URL STATEMENTS CONNECTIONS    where STATEMENTS is a file of statements, each
with its length before it
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
    """One connection."""

    def __init__(self, load: Load) -> None:
        """Take statements from a load."""
        self.load = load
        self.buffer = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first."""
        self.transport = transport
        self._send()

    def _send(self) -> None:
        statement = self.load.next()
        if statement is None:
            self.transport.close()
            return
        self.sent = time.perf_counter()
        self.transport.write(self.load.head % len(statement) + statement)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Take the answer, and send the next."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        at = head.index(b"content-length: ") + 16
        length = int(head[at : head.find(b"\r", at) if head.find(b"\r", at) > 0 else None])
        if len(self.buffer) < end + 4 + length:
            return
        self.load.answered(head[9:12], self.buffer[end + 4 :], time.perf_counter() - self.sent)
        self.buffer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        if not self.done.done():
            self.done.set_result(error)


class Load:
    """Statements to be sent, and what became of them."""

    def __init__(self, url: str, statements: list[bytes]) -> None:
        """Send them to a log."""
        self.place = urlsplit(url)
        self.left = iter(statements)
        self.seconds: list[float] = []
        self.statuses: Counter[str] = Counter()
        host = f"{self.place.hostname}:{self.place.port}"
        self.head = (
            f"POST /entries HTTP/1.1\r\nHost: {host}\r\nContent-Type: "
            "application/cose\r\nContent-Length: %d\r\n\r\n"
        ).encode()

    def next(self) -> bytes | None:
        """Give the next statement."""
        return next(self.left, None)

    def answered(self, status: bytes, _: bytes, seconds: float) -> None:
        """Count an answer."""
        self.statuses[status.decode()] += 1
        self.seconds.append(seconds)

    async def run(self, connections: int) -> dict[str, object]:
        """Send all, and tell how it went."""
        loop = asyncio.get_running_loop()
        started, used = time.perf_counter(), time.process_time()
        made = [
            await loop.create_connection(lambda: Client(self), self.place.hostname, self.place.port)
            for _ in range(connections)
        ]
        await asyncio.gather(*(client.done for _, client in made))
        took = time.perf_counter() - started
        ordered = sorted(self.seconds)
        return {
            "statuses": dict(self.statuses),
            "rate": len(ordered) / took,
            "p50": ordered[len(ordered) // 2],
            "p99": ordered[len(ordered) * 99 // 100],
            "cpu": (time.process_time() - used) / len(ordered),
        }


def read(path: str) -> list[bytes]:
    """Read statements."""
    data, at, found = Path(path).read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        found.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def write(path: Path, statements: list[bytes]) -> None:
    """Write statements for a load."""
    path.write_bytes(b"".join(struct.pack(">I", len(one)) + one for one in statements))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(Load(sys.argv[1], read(sys.argv[2])).run(int(sys.argv[3])))))
