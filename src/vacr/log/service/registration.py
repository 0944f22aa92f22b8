"""`/entries`: statements in, receipts out. Step: register. Follows SCRAPI.

This is written against ASGI itself, since it is what a log spends its time on: one statement in, a
wait for its batch, one receipt out. With `always_303` a statement is answered at once with the
address of its receipt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from vacr.errors import VacrError
from vacr.log.ledger import Placed
from vacr.log.sequencer import Busy, Results, Sequencer
from vacr.log.service.admission import Admission
from vacr.log.service.callers import Rates, Tokens, count_call
from vacr.log.service.metrics import Metrics
from vacr.log.service.names import name_of
from vacr.log.service.problems import Problem, bug, no_receipt_yet, unavailable
from vacr.receipts.tree import leaf_hash

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COSE = b"application/cose"
_TYPES = (COSE, b"application/scitt-statement+cose", b"application/octet-stream")
_LARGEST_BODY = 1 << 18
_BODY_SECONDS = 30
_RETRY = 1
_FAILED = 503
_BODY_UNREAD = (408, 413)


@dataclass
class Registration:
    """What takes statements."""

    admission: Admission
    metrics: Metrics
    tokens: Tokens | None = None
    rates: Rates = field(default_factory=Rates)
    always_303: bool = False
    pending: dict[bytes, asyncio.Future[Placed]] = field(default_factory=dict)
    """What was taken here and is not yet in the log, by the leaves of the entries."""
    sequencer: Sequencer[asyncio.Future[Placed]] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    on_batch: Callable[[], None] = lambda: None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a statement."""
        started = time.perf_counter()
        try:
            status, headers, body = await self._register(scope, receive)
        except Problem as problem:
            status, headers, body = _refused(problem)
        except Exception as error:  # noqa: BLE001 - nobody gets a trace for an answer
            status, headers, body = _refused(bug(error))
        self.metrics.responses[status] += 1
        self.metrics.took(time.perf_counter() - started)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _register(
        self, scope: Scope, receive: Receive
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        count_call(scope, self.tokens, self.rates)
        _check_type(scope)
        statement = await _body(receive)
        entry = self.admission.admit(statement)
        leaf = leaf_hash(entry)
        future = self._submit(entry, leaf)
        if self.always_303:
            place = _location(scope, name_of(leaf, int(time.time())))
            return 303, [place, (b"retry-after", b"%d" % _RETRY)], b""
        placed = await _result(future)
        if not placed.receipt:
            raise no_receipt_yet(409)
        return 201, [(b"content-type", COSE), _location(scope, name_of(leaf))], placed.receipt

    def _submit(self, entry: bytes, leaf: bytes) -> asyncio.Future[Placed]:
        if self.loop is None or self.sequencer is None:
            raise Problem(_FAILED, "Unavailable", "the log is not open", retry_after=_RETRY)
        future: asyncio.Future[Placed] = self.loop.create_future()
        try:
            self.sequencer.submit(entry, future)
        except Busy as error:
            raise Problem(_FAILED, "Busy", str(error), retry_after=_RETRY) from error
        if self.always_303:
            self.pending[leaf] = future
            future.add_done_callback(lambda done: (self.pending.pop(leaf, None), done.exception()))
        return future

    def deliver(self, results: Results[asyncio.Future[Placed]]) -> None:
        """Hand results over to the loop, from the sequencer's thread."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._settle, results)

    def _settle(self, results: Results[asyncio.Future[Placed]]) -> None:
        added = False
        for future, result in results:
            if isinstance(result, VacrError):
                if not future.done():
                    future.set_exception(result)
                continue
            added = added or result.new
            self.metrics.entries += result.new
            if not future.done():  # whoever asked may have gone
                future.set_result(result)
        if added:
            self.on_batch()


def _location(scope: Scope, name: str) -> tuple[bytes, bytes]:
    return b"location", f"{scope.get('root_path', '')}/entries/{name}".encode()


def _refused(problem: Problem) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    headers = problem.headers()
    if problem.status in _BODY_UNREAD:
        headers.append(
            (b"connection", b"close")
        )  # whatever is still sent would be read for nothing
    return problem.status, headers, problem.body()


async def _result(future: asyncio.Future[Placed]) -> Placed:
    try:
        return await future
    except Problem:
        raise
    except VacrError as error:
        more = "; it may or may not have been registered, which sending it again settles"
        raise unavailable(error, more=more) from error


def _check_type(scope: Scope) -> None:
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value.partition(b";")[0].strip().lower() not in _TYPES:
                break
            return
    raise Problem(415, "Unsupported Media Type", "a statement is sent as application/cose")


async def _body(receive: Receive) -> bytes:
    """Read the body of a request, no longer than one may be and no slower."""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(400, "Disconnected", "the connection ended before the statement")
                body += message.get("body", b"")
                if len(body) > _LARGEST_BODY:
                    raise Problem(
                        413,
                        "Statement Too Large",
                        f"more than {_LARGEST_BODY} bytes. Sign it as a hash envelope.",
                    )
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError as error:
        raise Problem(
            408, "Request Timeout", f"the statement did not arrive within {_BODY_SECONDS} seconds"
        ) from error
