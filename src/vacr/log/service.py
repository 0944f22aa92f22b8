"""The service: a log over HTTP, by SCRAPI and C2SP. Step: register.

How a service is, for those who look after it: `/health` and `/metrics`. Step: register.

What a service says of itself: a page for people, and OpenAPI for programs. Step: register.

The service as a web application: what is at which address. Step: register.

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
from html import escape
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from vacr.errors import UsageError, VacrError
from vacr.log.keyring import read_log_descriptions
from vacr.log.ledger import (
    Ledger,
    NoReceiptYet,
    Sequencer,
    TileCache,
    build_inclusion_receipt,
    find_leaf_positions,
)
from vacr.log.publishing import (
    ENTRIES_LEVEL,
    Publisher,
    ReaderPool,
    read_bundle_bytes,
    read_tile_bytes,
)
from vacr.log.registration import (
    COSE_CONTENT_TYPE,
    PROBLEM_MEDIA_TYPE,
    AsgiReceive,
    AsgiScope,
    AsgiSend,
    MetricSample,
    Problem,
    RegistrationEndpoint,
    build_no_receipt_problem,
    build_unavailable_problem,
    describe_public_error,
    is_possibly_pending,
    parse_entry_name,
    report_internal_error,
)
from vacr.log.storage import LogDamaged, LogReader
from vacr.record import encode_deterministic_cbor
from vacr.signing import (
    PublicKey,
    build_cose_key,
    choose_algorithm_number,
    compute_thumbprint,
    compute_thumbprint_uri,
)
from vacr.transparency import (
    TILE_WIDTH,
    LogDescription,
    add_receipt,
    build_verifier_key,
    make_node_lookup,
    parse_tile_path,
)
from vacr.version import __version__

_MAX_SCRAPE_SECONDS = 5
"""Who counts waits for an answer no longer than ten seconds, by default."""


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """What there is to tell of a service."""

    registration: RegistrationEndpoint
    publisher: Publisher
    readers: ReaderPool

    async def health(self, _: Request) -> Response:
        """Tell whether the log takes entries and publishes them."""
        sequencer = self.registration.sequencer
        failures = {
            "sequencer": describe_public_error(sequencer.failure)
            if sequencer is not None and sequencer.failure
            else None,
            "publisher": describe_public_error(self.publisher.failure)
            if self.publisher.failure
            else None,
        }
        try:
            size, failures["reader"] = await self.readers.read(_read_log_size), None
        except VacrError as error:
            size, failures["reader"] = None, describe_public_error(error)
        found = {"status": "failing" if any(failures.values()) else "ok", "size": size, **failures}
        return JSONResponse(found, 503 if failures["sequencer"] or failures["reader"] else 200)

    async def metrics(self, _: Request) -> Response:
        """Give what is counted; also while the database fails, which is when somebody looks."""
        sequencer = self.registration.sequencer
        found = [
            MetricSample(
                "published_size", "Entries under the last checkpoint.", self.publisher.size
            ),
            MetricSample(
                "waiting",
                "Statements that wait for their batch.",
                len(sequencer.queue) if sequencer else 0,
            ),
            MetricSample(
                "batches", "Batches that this process added.", sequencer.batches if sequencer else 0
            ),
        ]
        missing = sum(one.missing for one in self.publisher.asked)
        found.append(
            MetricSample(
                "cosignatures_missing",
                "Witnesses that have not cosigned the last checkpoint.",
                missing,
            )
        )
        try:
            async with asyncio.timeout(_MAX_SCRAPE_SECONDS):
                found.append(
                    MetricSample(
                        "log_size", "Entries in the log.", await self.readers.read(_read_log_size)
                    )
                )
            up = True
        except (VacrError, TimeoutError):
            up = False
        failures = (sequencer.storage_failures if sequencer else 0) + self.readers.failures
        found.append(
            MetricSample(
                "storage_failures_total",
                "Times that the database failed and was opened again.",
                failures,
            )
        )
        found.append(MetricSample("log_up", "Whether the log can be read: 1 or 0.", int(up)))
        return PlainTextResponse(
            self.registration.metrics.text(found), media_type="text/plain; version=0.0.4"
        )


def _read_log_size(reading: LogReader) -> int:
    head = reading.head()
    return head.head.size if head is not None else 0


_COSE_MEDIA_TYPE, _CBOR_MEDIA_TYPE, _PROBLEM_MEDIA_TYPE = (
    "application/cose",
    "application/cbor",
    "application/concise-problem-details+cbor",
)

_STORAGE_FAILURE_RESPONSE = {
    "503": ("The storage fails; Retry-After tells when to come back.", _PROBLEM_MEDIA_TYPE)
}
"""What anything that is read from the log may be answered with."""

SERVICE_ENDPOINTS: dict[str, tuple[str, str, dict[str, tuple[str, str | None]]]] = {
    "/entries": (
        "post",
        "Register a signed statement, and get its receipt.",
        {
            "201": ("The receipt.", _COSE_MEDIA_TYPE),
            "303": ("Taken; the receipt will be at Location.", None),
            "400": (
                "Refused: malformed, without its payload, badly signed, or not allowed.",
                _PROBLEM_MEDIA_TYPE,
            ),
            "401": ("A token is needed.", _PROBLEM_MEDIA_TYPE),
            "408": ("The statement did not arrive in time.", _PROBLEM_MEDIA_TYPE),
            "409": (
                "The description of a log that has no other entry: there is no receipt for it yet.",
                _PROBLEM_MEDIA_TYPE,
            ),
            "413": ("Too large for an entry.", _PROBLEM_MEDIA_TYPE),
            "415": ("Not application/cose.", _PROBLEM_MEDIA_TYPE),
            "429": ("Too many from this caller; Retry-After tells when.", _PROBLEM_MEDIA_TYPE),
            "503": (
                "Too many are waiting, or the storage fails; Retry-After tells when.",
                _PROBLEM_MEDIA_TYPE,
            ),
        },
    ),
    "/entries/{name}": (
        "get",
        (
            "Get the receipt of an entry by its name, the hash of its leaf in hexadecimal, or its "
            "position."
        ),
        {
            "200": ("The receipt.", _COSE_MEDIA_TYPE),
            "302": ("Not yet in the log; Retry-After tells when to come back.", None),
            "404": ("No such entry, or it has no receipt yet.", _PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/entries/{name}/statement": (
        "get",
        "Get the statement that an entry is, with its receipt in it.",
        {
            "200": ("The transparent statement.", _COSE_MEDIA_TYPE),
            "302": ("Not yet in the log; Retry-After tells when to come back.", None),
            "404": ("No such entry, or it has no receipt yet.", _PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/.well-known/scitt-keys": (
        "get",
        "Get the keys that verify receipts, as a COSE_KeySet.",
        {"200": ("The keys.", _CBOR_MEDIA_TYPE), **_STORAGE_FAILURE_RESPONSE},
    ),
    "/.well-known/scitt-keys/{kid}": (
        "get",
        "Get one of them by its thumbprint in base64url.",
        {
            "200": ("The key, as a COSE_Key.", _CBOR_MEDIA_TYPE),
            "404": ("No such key.", _PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/checkpoint": (
        "get",
        "Get the last checkpoint, as a signed note.",
        {
            "200": ("The checkpoint.", "text/plain"),
            "503": ("Nothing is published yet.", _PROBLEM_MEDIA_TYPE),
        },
    ),
    "/tile/{path}": (
        "get",
        "Get a tile of the tree (LEVEL/NUMBER) or a bundle of entries (entries/NUMBER).",
        {
            "200": ("Hashes, or entries.", "application/octet-stream"),
            "404": ("No such tile.", _PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/health": (
        "get",
        "Tell whether entries are taken.",
        {
            "200": ("They are.", "application/json"),
            "503": ("They are not, or cannot be read.", "application/json"),
        },
    ),
    "/metrics": ("get", "Get counters for Prometheus.", {"200": ("Counters.", "text/plain")}),
}


async def serve_openapi(_: Request) -> Response:
    """Describe the addresses to programs."""
    paths: dict[str, Any] = {}
    for address, (method, summary, answers) in SERVICE_ENDPOINTS.items():
        names = [part[1:-1] for part in address.split("/") if part.startswith("{")]
        about: dict[str, Any] = {
            "summary": summary,
            "responses": {code: _describe_response(*one) for code, one in answers.items()},
        }
        if names:
            about["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in names
            ]
        if method == "post":
            about["requestBody"] = {
                "required": True,
                "content": {_COSE_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            }
        paths[address] = {method: about}
    info = {
        "title": "vacr transparency log",
        "version": __version__,
        "description": "SCRAPI and C2SP tlog-tiles.",
    }
    return JSONResponse({"openapi": "3.1.0", "info": info, "paths": paths})


def _describe_response(description: str, media_type: str | None) -> dict[str, Any]:
    return {"description": description} | ({"content": {media_type: {}}} if media_type else {})


def render_log_page(description: LogDescription, log: str, size: int) -> Response:
    """Describe the log to a person."""
    facts = {
        "origin": description.origin,
        "identity": log,
        "receipt key": compute_thumbprint_uri(description.receipt_key),
        "checkpoint key": str(build_verifier_key(description.origin, description.checkpoint_key)),
        "entries": str(size),
    }
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td><code>{escape(value)}</code></td></tr>"
        for name, value in facts.items()
    )
    addresses = "".join(
        (
            f"<tr><td><code>{method.upper()} "
            f"{escape(address)}</code></td><td>{escape(summary)}</td></tr>"
        )
        for address, (method, summary, _) in SERVICE_ENDPOINTS.items()
    )
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Transparency log</title>'
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
        "th{text-align:left;padding-right:1em}td,th{padding:.2em .6em .2em 0;vertical-align:top}"
        "code{overflow-wrap:anywhere}</style>"
        f"<h1>Transparency log {escape(description.origin)}</h1>"
        "<p>Statements about agents' conversations, in an order that cannot be changed. vacr "
        f"{__version__}.</p>"
        f"<table>{rows}</table><h2>Addresses</h2><table>{addresses}</table>"
        '<p><a href="openapi.json">OpenAPI</a></p></html>',
        headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"},
    )


AsgiApplication = Callable[[AsgiScope, AsgiReceive, AsgiSend], Awaitable[None]]

_POSITION_PATTERN = re.compile(r"0|[1-9][0-9]{0,18}")
_TILE_LEVEL_PATTERN = re.compile(r"[0-9]|[1-5][0-9]|6[0-3]")
_IMMUTABLE_CACHE_HEADERS = {"cache-control": "public, max-age=31536000, immutable"}
_COSE_KEY_ID, _COSE_KEY_ALG = 2, 3


@dataclass
class LogService:
    """A log that is served."""

    ledger: Ledger
    registration: RegistrationEndpoint
    publisher: Publisher
    readers: ReaderPool
    waiting: int
    linger: float

    def app(self) -> AsgiApplication:
        """Make the application; statements go to their place without a detour, for that is what a
        log spends its time on.
        """
        others = self._others()

        async def front(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
            taken = (
                scope["type"] == "http"
                and scope["path"] == "/entries"
                and scope["method"] == "POST"
            )
            await (self.registration if taken else others)(scope, receive, send)

        return front

    def _others(self) -> Starlette:
        condition = ServiceStatus(self.registration, self.publisher, self.readers)
        routes = [
            Route("/entries", self.registration, methods=["POST"]),
            Route("/entries/{name}", _answer_with_problems(self.entry)),
            Route("/entries/{name}/statement", _answer_with_problems(self.statement)),
            Route("/.well-known/scitt-keys", _answer_with_problems(self.keys)),
            Route("/.well-known/scitt-keys/{kid}", _answer_with_problems(self.key)),
            Route("/checkpoint", _answer_with_problems(self.checkpoint)),
            Route("/tile/{path:path}", _answer_with_problems(self.tile)),
            Route("/health", _answer_with_problems(condition.health)),
            Route("/metrics", _answer_with_problems(condition.metrics)),
            Route("/openapi.json", _answer_with_problems(serve_openapi)),
            Route("/", _answer_with_problems(self.page)),
        ]
        found = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _answer_unknown_address},
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
            return _redirect_to_retry(request)
        return Response(
            found[1],
            200,
            {"content-type": COSE_CONTENT_TYPE.decode(), "location": str(request.url.path)},
        )

    async def statement(self, request: Request) -> Response:
        """Give the statement that an entry is, with its receipt in it: a transparent statement."""
        found = await self._entry(request)
        if found is None:
            return _redirect_to_retry(request)
        return Response(add_receipt(*found), 200, {"content-type": COSE_CONTENT_TYPE.decode()})

    async def _entry(self, request: Request) -> tuple[bytes, bytes] | None:
        """Give an entry and its receipt; nothing, while it is or may be on its way, taken here or
        by another front end.
        """
        name = request.path_params["name"]
        if parse_entry_name(name) in self.registration.pending:
            return None
        found = await self.readers.read(lambda reading: _find_entry_and_receipt(reading, name))
        if found is None and not is_possibly_pending(name, time.time()):
            raise Problem(
                404,
                "Operation Not Found",
                "no such entry; if it was sent and not confirmed, send it again",
            )
        return found

    async def keys(self, _: Request) -> Response:
        """Give the keys that verify receipts."""
        found = await self.readers.read(_list_receipt_keys)
        return _build_cbor_response([_build_cose_key(key) for key in found])

    async def key(self, request: Request) -> Response:
        """Give one of them."""
        kid = request.path_params["kid"]
        for key in await self.readers.read(_list_receipt_keys):
            name = compute_thumbprint(key)
            if kid in (base64.urlsafe_b64encode(name).rstrip(b"=").decode(), name.hex()):
                return _build_cbor_response(_build_cose_key(key))
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
        if level != ENTRIES_LEVEL and _TILE_LEVEL_PATTERN.fullmatch(level) is None:
            raise Problem(404, "Not Found", f"no tile is on level {level}")
        try:
            number, width = parse_tile_path(name)
        except UsageError as error:
            raise Problem(404, "Not Found", str(error)) from error

        def read(reading: LogReader) -> bytes:
            return (
                read_bundle_bytes(reading, number, width)
                if level == ENTRIES_LEVEL
                else read_tile_bytes(reading, int(level), number, width)
            )

        try:
            data = await self.readers.read(read)
        except LogDamaged as error:
            raise Problem(404, "Not Found", "there is no such tile yet") from error
        return Response(
            data,
            200,
            _IMMUTABLE_CACHE_HEADERS if width == TILE_WIDTH else None,
            "application/octet-stream",
        )

    async def page(self, _: Request) -> Response:
        """Say to a person what this is."""
        found = await self.readers.read(read_log_descriptions)
        return render_log_page(found[-1], self.publisher.keyring.log, self.publisher.size)


def _answer_with_problems(
    work: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Answer with what went wrong."""

    async def answer(request: Request) -> Response:
        try:
            return await work(request)
        except Problem as problem:
            return _build_problem_response(problem)
        except VacrError as error:
            return _build_problem_response(build_unavailable_problem(error))
        except Exception as error:  # noqa: BLE001 - nobody gets a trace for an answer
            return _build_problem_response(report_internal_error(error))

    return answer


async def _answer_unknown_address(_: Request, error: Exception) -> Response:
    status, more = (
        (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    )
    if status == 405:  # noqa: PLR2004
        return _build_problem_response(
            Problem(
                status, "Method Not Allowed", "this cannot be done here; / says what can", more=more
            )
        )
    return _build_problem_response(
        Problem(status, "Not Found", "there is nothing here; / says what there is", more=more)
    )


def _build_problem_response(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problem.headers()}
    return Response(problem.body(), problem.status, headers, PROBLEM_MEDIA_TYPE)


def _redirect_to_retry(request: Request) -> Response:
    return RedirectResponse(str(request.url.path), 302, {"retry-after": "1"})


def _build_cbor_response(value: Any) -> Response:
    return Response(encode_deterministic_cbor(value), media_type="application/cbor")


def _build_cose_key(key: PublicKey) -> dict[int, Any]:
    return build_cose_key(key) | {
        _COSE_KEY_ID: compute_thumbprint(key),
        _COSE_KEY_ALG: choose_algorithm_number(key),
    }


def _list_receipt_keys(reading: LogReader) -> list[PublicKey]:
    return [one.receipt_key for one in reversed(read_log_descriptions(reading))]


def _find_entry_and_receipt(reading: LogReader, name: str) -> tuple[bytes, bytes] | None:
    """Give an entry and its receipt, by its name or its position, if there is one."""
    position = int(name) if _POSITION_PATTERN.fullmatch(name) else None
    leaf = parse_entry_name(name)
    if leaf is not None:
        position = find_leaf_positions(reading, make_node_lookup(TileCache(reading)), [leaf]).get(
            leaf
        )
    try:
        receipt = build_inclusion_receipt(reading, position) if position is not None else None
    except NoReceiptYet as error:
        raise build_no_receipt_problem(404) from error
    if position is None or receipt is None:
        return None
    return reading.entries(position, position + 1)[0], receipt
