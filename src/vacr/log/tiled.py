"""A log that is read over HTTP: its checkpoint, tiles and bundles of entries. Follows C2SP
tlog-tiles, as a client.
"""

from __future__ import annotations

from vacr.errors import InvalidStatement, Unreachable
from vacr.log.site import Site
from vacr.log.wire import Access, Answer
from vacr.receipts import bundles, notes, tiles
from vacr.receipts.tiles import HEIGHT, WIDTH
from vacr.receipts.tree import HASH_SIZE

_OK = 200
_GONE = (404, 410)


class TiledLog:
    """What a log shows of itself; none of it is checked here."""

    def __init__(self, url: str, access: Access | None = None) -> None:
        """Take the address, and how it is reached.

        Raises:
            UsageError: it is none.
            Unreachable: what TLS needs cannot be read.
        """
        self.site = Site(url, access)

    def checkpoint(self) -> bytes:
        """Fetch the note of the last checkpoint.

        Raises:
            Unreachable: there is none.
        """
        reply = self.site.get("checkpoint", notes.LARGEST)
        return self._body(reply, "checkpoint")

    def tile(self, level: int, number: int, size: int) -> list[bytes]:
        """Fetch the hashes that a tile has in a tree of a size.

        Raises:
            InvalidStatement: it is no tile.
            Unreachable: there is none.
        """
        width = min(WIDTH, (size >> (HEIGHT * level)) - number * WIDTH)
        data, whole = self._fetch(f"tile/{level}/", number, width, WIDTH * HASH_SIZE)
        if len(data) != whole * HASH_SIZE:
            raise InvalidStatement(
                f"tile {level}/{number} has {len(data)} bytes", reason="log-tile"
            )
        return [data[at : at + HASH_SIZE] for at in range(0, width * HASH_SIZE, HASH_SIZE)]

    def bundle(self, number: int, size: int) -> list[bytes]:
        """Fetch the entries that a bundle has in a log of a size.

        Raises:
            InvalidStatement: it is no bundle.
            Unreachable: there is none.
        """
        width = min(WIDTH, size - number * WIDTH)
        data, whole = self._fetch("tile/entries/", number, width, bundles.LARGEST_BUNDLE)
        try:
            return bundles.decode(data, whole)[:width]
        except InvalidStatement as error:
            raise InvalidStatement(
                f"entries {number * WIDTH} and on: {error.message}", reason="log-bundle"
            ) from error

    def _fetch(self, folder: str, number: int, width: int, most: int) -> tuple[bytes, int]:
        """Fetch something by its number; tells how much is in it, for once it is full a log may
        keep only that form.
        """
        path = folder + tiles.path_of(number, width)
        reply = self.site.get(path, most)
        if reply.status in _GONE and width != WIDTH:
            path, width = folder + tiles.path_of(number), WIDTH
            reply = self.site.get(path, most)
        return self._body(reply, path), width

    def _body(self, reply: Answer, path: str) -> bytes:
        if reply.status != _OK:
            raise Unreachable(
                f"the log does not give {path}: it answered {reply.status}", where=self.site.url
            )
        return reply.body
