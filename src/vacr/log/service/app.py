"""The service as a web application: what is at which address. Step: register.

Follows SCRAPI for `/entries` and `/.well-known/scitt-keys`, C2SP tlog-tiles for `/checkpoint` and
`/tile/…`. Query parameters are ignored.
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from vacr.codec import deterministic_cbor
from vacr.errors import UsageError, VacrError
from vacr.log.keyring import descriptions
from vacr.log.ledger import Ledger, Tiles, find
from vacr.log.proofs import NoReceiptYet, receipt_for
from vacr.log.sequencer import Sequencer
from vacr.log.service import names, pages
from vacr.log.service.condition import Condition
from vacr.log.service.problems import MEDIA_TYPE, Problem, bug, no_receipt_yet, unavailable
from vacr.log.service.publishing import ENTRIES, Publisher, bundle_bytes, tile_bytes
from vacr.log.service.reading import Readers
from vacr.log.service.registration import COSE, Receive, Registration, Scope, Send
from vacr.log.storage import Damaged, Reading
from vacr.receipts.tiles import WIDTH, node_in, number_of
from vacr.receipts.transparent import with_receipt
from vacr.signing import algorithms, keys
from vacr.signing.algorithms import PublicKey

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_POSITION = re.compile(r"0|[1-9][0-9]{0,18}")
_LEVEL = re.compile(r"[0-9]|[1-5][0-9]|6[0-3]")
_FOREVER = {"cache-control": "public, max-age=31536000, immutable"}
_KEY_ID, _KEY_ALG = 2, 3


@dataclass
class Service:
    """A log that is served."""

    ledger: Ledger
    registration: Registration
    publisher: Publisher
    readers: Readers
    waiting: int
    linger: float

    def app(self) -> Application:
        """Make the application; statements go to their place without a detour, for that is what a
        log spends its time on.
        """
        others = self._others()

        async def front(scope: Scope, receive: Receive, send: Send) -> None:
            taken = (
                scope["type"] == "http"
                and scope["path"] == "/entries"
                and scope["method"] == "POST"
            )
            await (self.registration if taken else others)(scope, receive, send)

        return front

    def _others(self) -> Starlette:
        condition = Condition(self.registration, self.publisher, self.readers)
        routes = [
            Route("/entries", self.registration, methods=["POST"]),
            Route("/entries/{name}", _told(self.entry)),
            Route("/entries/{name}/statement", _told(self.statement)),
            Route("/.well-known/scitt-keys", _told(self.keys)),
            Route("/.well-known/scitt-keys/{kid}", _told(self.key)),
            Route("/checkpoint", _told(self.checkpoint)),
            Route("/tile/{path:path}", _told(self.tile)),
            Route("/health", _told(condition.health)),
            Route("/metrics", _told(condition.metrics)),
            Route("/openapi.json", _told(pages.openapi)),
            Route("/", _told(self.page)),
        ]
        found = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _no_such_address},
        )
        # It would lead to an address that it makes up from what the caller says, and that a proxy
        # in between may not have.
        found.router.redirect_slashes = False
        return found

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        registration = self.registration
        registration.loop = asyncio.get_running_loop()
        registration.on_batch = self.publisher.due.set
        sequencer = registration.sequencer = Sequencer(
            self.ledger, registration.deliver, waiting=self.waiting, linger=self.linger
        )
        self.publisher.start()
        try:
            yield
        finally:
            await asyncio.to_thread(sequencer.close)
            await asyncio.to_thread(self.publisher.close)
            self.readers.close()

    # --- SCRAPI ---

    async def entry(self, request: Request) -> Response:
        """Give the receipt of an entry, by its name or its position."""
        found = await self._entry(request)
        if found is None:
            return _come_back(request)
        return Response(
            found[1], 200, {"content-type": COSE.decode(), "location": str(request.url.path)}
        )

    async def statement(self, request: Request) -> Response:
        """Give the statement that an entry is, with its receipt in it: a transparent statement."""
        found = await self._entry(request)
        if found is None:
            return _come_back(request)
        return Response(with_receipt(*found), 200, {"content-type": COSE.decode()})

    async def _entry(self, request: Request) -> tuple[bytes, bytes] | None:
        """Give an entry and its receipt; nothing, while it is or may be on its way, taken here or
        by another front end.
        """
        name = request.path_params["name"]
        if names.leaf_of(name) in self.registration.pending:
            return None
        found = await self.readers.read(lambda reading: _found(reading, name))
        if found is None and not names.is_under_way(name, time.time()):
            raise Problem(
                404,
                "Operation Not Found",
                "no such entry; if it was sent and not confirmed, send it again",
            )
        return found

    async def keys(self, _: Request) -> Response:
        """Give the keys that verify receipts."""
        found = await self.readers.read(_keys)
        return _cbor([_cose_key(key) for key in found])

    async def key(self, request: Request) -> Response:
        """Give one of them."""
        kid = request.path_params["kid"]
        for key in await self.readers.read(_keys):
            name = keys.thumbprint(key)
            if kid in (base64.urlsafe_b64encode(name).rstrip(b"=").decode(), name.hex()):
                return _cbor(_cose_key(key))
        raise Problem(404, "No such key", "this log has no such key")

    # --- C2SP ---

    async def checkpoint(self, _: Request) -> Response:
        """Give the last checkpoint."""
        if not self.publisher.note:
            raise Problem(503, "Unavailable", "nothing is published yet", retry_after=1)
        return PlainTextResponse(self.publisher.note, headers={"cache-control": "no-cache"})

    async def tile(self, request: Request) -> Response:
        """Give a tile, or the entries under one."""
        level, _, name = request.path_params["path"].partition("/")
        if level != ENTRIES and _LEVEL.fullmatch(level) is None:
            raise Problem(404, "Not Found", f"no tile is on level {level}")
        try:
            number, width = number_of(name)
        except UsageError as error:
            raise Problem(404, "Not Found", str(error)) from error

        def read(reading: Reading) -> bytes:
            return (
                bundle_bytes(reading, number, width)
                if level == ENTRIES
                else tile_bytes(reading, int(level), number, width)
            )

        try:
            data = await self.readers.read(read)
        except Damaged as error:
            raise Problem(404, "Not Found", "there is no such tile yet") from error
        return Response(data, 200, _FOREVER if width == WIDTH else None, "application/octet-stream")

    async def page(self, _: Request) -> Response:
        """Say to a person what this is."""
        found = await self.readers.read(descriptions)
        return pages.page(found[-1], self.publisher.keyring.log, self.publisher.size)


def _told(
    work: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Answer with what went wrong."""

    async def answer(request: Request) -> Response:
        try:
            return await work(request)
        except Problem as problem:
            return _problem(problem)
        except VacrError as error:
            return _problem(unavailable(error))
        except Exception as error:  # noqa: BLE001 - nobody gets a trace for an answer
            return _problem(bug(error))

    return answer


async def _no_such_address(_: Request, error: Exception) -> Response:
    status, more = (
        (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    )
    if status == 405:  # noqa: PLR2004
        return _problem(
            Problem(
                status, "Method Not Allowed", "this cannot be done here; / says what can", more=more
            )
        )
    return _problem(
        Problem(status, "Not Found", "there is nothing here; / says what there is", more=more)
    )


def _problem(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers, MEDIA_TYPE)


def _come_back(request: Request) -> Response:
    return RedirectResponse(str(request.url.path), 302, {"retry-after": "1"})


def _cbor(value: Any) -> Response:
    return Response(deterministic_cbor.encode(value), media_type="application/cbor")


def _cose_key(key: PublicKey) -> dict[int, Any]:
    return keys.to_cose(key) | {
        _KEY_ID: keys.thumbprint(key),
        _KEY_ALG: algorithms.default_for(key),
    }


def _keys(reading: Reading) -> list[PublicKey]:
    return [one.receipt_key for one in reversed(descriptions(reading))]


def _found(reading: Reading, name: str) -> tuple[bytes, bytes] | None:
    """Give an entry and its receipt, by its name or its position, if there is one."""
    position = int(name) if _POSITION.fullmatch(name) else None
    leaf = names.leaf_of(name)
    if leaf is not None:
        position = find(reading, node_in(Tiles(reading)), [leaf]).get(leaf)
    try:
        receipt = receipt_for(reading, position) if position is not None else None
    except NoReceiptYet as error:
        raise no_receipt_yet(404) from error
    if position is None or receipt is None:
        return None
    return reading.entries(position, position + 1)[0], receipt
