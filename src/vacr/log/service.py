"""The log service: a log over HTTP, as a web application; needs the extra `log`.

Statements come in and receipts go out by SCRAPI (`/entries`, `/.well-known/scitt-keys`). Everybody
can read the whole log by C2SP tlog-tiles (`/checkpoint`, `/tile/...`). The service also describes
itself to people (`/`), to programs (`/openapi.json`) and to its administrators (`/health`,
`/metrics`). Query parameters are ignored.

    >>> from vacr.log.service import SERVICE_ENDPOINTS
    >>> for path, (method, summary, responses) in SERVICE_ENDPOINTS.items():
    ...     if path.startswith("/entries"):
    ...         print(method.upper(), path, *responses)
    POST /entries 200 201 303 400 401 408 409 413 415 429 503
    GET /entries/{name} 200 302 404 503
    GET /entries/{name}/statement 200 302 404 503
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
from vacr.log.admission import (
    PROBLEM_MEDIA_TYPE,
    Problem,
    build_no_receipt_problem,
    build_unavailable_problem,
    describe_public_error,
    report_damage,
    report_internal_error,
)
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
    STATEMENT_CONTENT_TYPE,
    AsgiReceive,
    AsgiScope,
    AsgiSend,
    MetricSample,
    RegistrationEndpoint,
    check_not_forked,
    is_possibly_pending,
    parse_entry_name,
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

AsgiApplication = Callable[[AsgiScope, AsgiReceive, AsgiSend], Awaitable[None]]
_Handler = Callable[[Request], Awaitable[Response]]
_Responses = dict[str, tuple[str, str | None]]
"""Description and media type of each response, by HTTP status."""

_COSE_MEDIA_TYPE = "application/cose"
_CBOR_MEDIA_TYPE = "application/cbor"
_TILE_MEDIA_TYPE = "application/octet-stream"
_IMMUTABLE_CACHE_HEADERS = {"cache-control": "public, max-age=31536000, immutable"}
_POSITION_PATTERN = re.compile(r"0|[1-9][0-9]{0,18}")
_TILE_LEVEL_PATTERN = re.compile(r"[0-9]|[1-5][0-9]|6[0-3]")
_COSE_KEY_ID, _COSE_KEY_ALG = 2, 3
_HTTP_METHOD_NOT_ALLOWED = 405
_MAX_SCRAPE_SECONDS = 5
"""How long `/metrics` waits for the database: Prometheus gives up after ten seconds."""

_STORAGE_FAILURE_RESPONSE: _Responses = {
    "503": ("The storage fails; try again after Retry-After.", PROBLEM_MEDIA_TYPE)
}

SERVICE_ENDPOINTS: dict[str, tuple[str, str, _Responses]] = {
    "/entries": (
        "post",
        "Register a signed statement, and get its receipt.",
        {
            "200": (
                "The statement as logged before, with another ECDSA signature, and its receipt.",
                STATEMENT_CONTENT_TYPE.decode(),
            ),
            "201": ("The receipt.", _COSE_MEDIA_TYPE),
            "303": ("Accepted; the receipt will be at Location.", None),
            "400": (
                "Refused: malformed, without payload, with an invalid signature, or not allowed.",
                PROBLEM_MEDIA_TYPE,
            ),
            "401": ("The token is missing or wrong.", PROBLEM_MEDIA_TYPE),
            "408": ("The statement did not arrive in time.", PROBLEM_MEDIA_TYPE),
            "409": (
                "The statement is the log's only entry, and has no receipt yet.",
                PROBLEM_MEDIA_TYPE,
            ),
            "413": ("Too large for an entry.", PROBLEM_MEDIA_TYPE),
            "415": ("Not application/cose.", PROBLEM_MEDIA_TYPE),
            "429": ("Too many requests; try again after Retry-After.", PROBLEM_MEDIA_TYPE),
            "503": (
                "Too many statements wait, or the storage fails; try again after Retry-After.",
                PROBLEM_MEDIA_TYPE,
            ),
        },
    ),
    "/entries/{name}": (
        "get",
        (
            "Get the receipt of an entry, by its name, its leaf hash in hexadecimal, or its "
            "position."
        ),
        {
            "200": ("The receipt.", _COSE_MEDIA_TYPE),
            "302": ("Not in the log yet; try again after Retry-After.", None),
            "404": ("No such entry, or it has no receipt yet.", PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/entries/{name}/statement": (
        "get",
        "Get the statement of an entry, with its receipt.",
        {
            "200": ("The transparent statement.", _COSE_MEDIA_TYPE),
            "302": ("Not in the log yet; try again after Retry-After.", None),
            "404": ("No such entry, or it has no receipt yet.", PROBLEM_MEDIA_TYPE),
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
        "Get one of these keys, by its thumbprint in base64url.",
        {
            "200": ("The key, as a COSE_Key.", _CBOR_MEDIA_TYPE),
            "404": ("No such key.", PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/checkpoint": (
        "get",
        "Get the last checkpoint, as a signed note.",
        {
            "200": ("The checkpoint.", "text/plain"),
            "503": ("No checkpoint has been published yet.", PROBLEM_MEDIA_TYPE),
        },
    ),
    "/tile/{path}": (
        "get",
        "Get a tile of the tree (LEVEL/NUMBER) or a bundle of entries (entries/NUMBER).",
        {
            "200": ("Hashes, or entries.", "application/octet-stream"),
            "404": ("No such tile.", PROBLEM_MEDIA_TYPE),
            "500": ("The log is damaged and lost this tile.", PROBLEM_MEDIA_TYPE),
            **_STORAGE_FAILURE_RESPONSE,
        },
    ),
    "/health": (
        "get",
        "Get whether the log accepts entries.",
        {
            "200": ("The log accepts entries.", "application/json"),
            "503": (
                "The log does not accept entries, cannot be read, or has forked.",
                "application/json",
            ),
        },
    ),
    "/metrics": ("get", "Get counters for Prometheus.", {"200": ("Counters.", "text/plain")}),
}


@dataclass
class LogService:
    """A log, and everything that serves it."""

    ledger: Ledger
    registration: RegistrationEndpoint
    publisher: Publisher
    readers: ReaderPool
    waiting: int
    """How many statements may wait for their batch."""
    linger: float
    """For how many seconds a batch is collected."""

    def app(self) -> AsgiApplication:
        """Return the ASGI application of the service.

        Registrations bypass the web framework, because they are the hot path.
        """
        other_requests = self._build_starlette()

        async def dispatch(scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
            is_registration = (
                scope["type"] == "http"
                and scope["path"] == "/entries"
                and scope["method"] == "POST"
            )
            handler = self.registration if is_registration else other_requests
            await handler(scope, receive, send)

        return dispatch

    def _build_starlette(self) -> Starlette:
        """Return the web application for all requests but registrations."""
        status = ServiceStatus(self.registration, self.publisher, self.readers)
        handlers: dict[str, _Handler] = {
            "/entries/{name}": self.serve_receipt,
            "/entries/{name}/statement": self.serve_statement,
            "/.well-known/scitt-keys": self.serve_keys,
            "/.well-known/scitt-keys/{kid}": self.serve_key,
            "/checkpoint": self.serve_checkpoint,
            "/tile/{path:path}": self.serve_tile,
            "/health": status.serve_health,
            "/metrics": status.serve_metrics,
            "/openapi.json": serve_openapi,
            "/": self.serve_page,
        }
        # The first route makes other methods on /entries be answered with 405.
        routes = [Route("/entries", self.registration, methods=["POST"])]
        routes += [Route(path, _answer_problems(handler)) for path, handler in handlers.items()]
        app = Starlette(
            routes=routes,
            lifespan=self._run_threads,
            exception_handlers={HTTPException: _serve_unknown_address},
        )
        # Starlette would redirect to a URL built from the Host header, which may be wrong behind a
        # proxy.
        app.router.redirect_slashes = False
        return app

    @asynccontextmanager
    async def _run_threads(self, _: Starlette) -> AsyncIterator[None]:
        """Run sequencer and publisher within the context, and close the readers after it."""
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
            # In this order: the last statements are checked, then committed, then published.
            await asyncio.to_thread(registration.unchecked.close)
            await asyncio.to_thread(sequencer.close)
            await asyncio.to_thread(self.publisher.close)
            self.readers.close()

    # --- SCRAPI ---

    async def serve_receipt(self, request: Request) -> Response:
        """Serve the receipt of an entry, by its name or its position.

        While the entry may still wait for its batch, redirect the client to the same address.
        """
        entry_and_receipt = await self._find_entry(request)
        if entry_and_receipt is None:
            return _redirect_to_retry(request)
        entry, receipt = entry_and_receipt
        headers = {"content-type": _COSE_MEDIA_TYPE, "location": str(request.url.path)}
        if parse_entry_name(request.path_params["name"]) in self.registration.twins:
            headers["content-type"] = STATEMENT_CONTENT_TYPE.decode()
            return Response(add_receipt(entry, receipt), 200, headers)
        return Response(receipt, 200, headers)

    async def serve_statement(self, request: Request) -> Response:
        """Serve an entry as a transparent statement: the statement with its receipt in it.

        While the entry may still wait for its batch, redirect the client to the same address.
        """
        entry_and_receipt = await self._find_entry(request)
        if entry_and_receipt is None:
            return _redirect_to_retry(request)
        entry, receipt = entry_and_receipt
        return Response(add_receipt(entry, receipt), 200, {"content-type": _COSE_MEDIA_TYPE})

    async def _find_entry(self, request: Request) -> tuple[bytes, bytes] | None:
        """Return the entry that a request names and its receipt.

        Return None while the entry may still wait for its batch.

        Raises:
            Problem: there is no such entry, it has no receipt yet, or a fork is proven.
        """
        check_not_forked(self.registration.guard)
        name = request.path_params["name"]
        leaf = parse_entry_name(name)
        if leaf in self.registration.pending:
            return None
        if leaf in self.registration.twins:
            name = self.registration.twins[leaf].hex()
        entry_and_receipt = await self.readers.read(
            lambda reader: _read_entry_and_receipt(reader, name)
        )
        if entry_and_receipt is None and not is_possibly_pending(name, time.time()):
            raise Problem(
                404,
                "Operation Not Found",
                "no such entry; if you sent it and got no receipt, send it again",
            )
        return entry_and_receipt

    async def serve_keys(self, _: Request) -> Response:
        """Serve the public keys that verify receipts, newest first, as a COSE_KeySet."""
        keys = await self.readers.read(_list_receipt_keys)
        return _build_cbor_response([_encode_cose_key(key) for key in keys])

    async def serve_key(self, request: Request) -> Response:
        """Serve one public receipt key, by its thumbprint in base64url or hexadecimal.

        Raises:
            Problem: the log has no such key.
        """
        kid = request.path_params["kid"]
        for key in await self.readers.read(_list_receipt_keys):
            thumbprint = compute_thumbprint(key)
            base64_name = base64.urlsafe_b64encode(thumbprint).rstrip(b"=").decode()
            if kid in (base64_name, thumbprint.hex()):
                return _build_cbor_response(_encode_cose_key(key))
        raise Problem(404, "No such key", "this log does not use a key with this thumbprint")

    # --- C2SP tlog-tiles ---

    async def serve_checkpoint(self, _: Request) -> Response:
        """Serve the last published checkpoint, with its cosignatures, as a signed note.

        Raises:
            Problem: no checkpoint has been published yet.
        """
        if not self.publisher.note:
            raise Problem(503, "Unavailable", "no checkpoint has been published yet", retry_after=1)
        return PlainTextResponse(self.publisher.note, headers={"cache-control": "no-cache"})

    async def serve_tile(self, request: Request) -> Response:
        """Serve a tile, or a bundle of entries, by its path.

        Raises:
            Problem: the path is not one of a tile, or the tile does not exist yet.
            LogDamaged: the log has published the tile, and lost it.
        """
        level, _, name = request.path_params["path"].partition("/")
        if level != ENTRIES_LEVEL and _TILE_LEVEL_PATTERN.fullmatch(level) is None:
            raise Problem(404, "Not Found", f"not the level of a tile: {level!r}")
        try:
            number, width = parse_tile_path(name)
        except UsageError as error:
            raise Problem(404, "Not Found", str(error)) from error

        def read(reader: LogReader) -> bytes:
            if level == ENTRIES_LEVEL:
                return read_bundle_bytes(reader, number, width)
            return read_tile_bytes(reader, int(level), number, width)

        try:
            data = await self.readers.read(read)
        except LogDamaged as error:
            leaves = TILE_WIDTH ** (0 if level == ENTRIES_LEVEL else int(level))
            if (number * TILE_WIDTH + width) * leaves > self.publisher.size:
                raise Problem(404, "Not Found", "this tile does not exist yet") from error
            raise
        headers = _IMMUTABLE_CACHE_HEADERS if width == TILE_WIDTH else None
        return Response(data, 200, headers, _TILE_MEDIA_TYPE)

    # --- People ---

    async def serve_page(self, _: Request) -> Response:
        """Serve an HTML page that describes the log."""
        descriptions = await self.readers.read(read_log_descriptions)
        identity = self.publisher.keyring.log_identity
        return render_log_page(descriptions[-1], identity, self.publisher.size)


def _read_entry_and_receipt(reader: LogReader, name: str) -> tuple[bytes, bytes] | None:
    """Return an entry and its receipt, by name, leaf hash or position, or None if it is missing.

    Raises:
        Problem: it is the log's only entry, and has no receipt yet.
    """
    position = int(name) if _POSITION_PATTERN.fullmatch(name) else None
    leaf = parse_entry_name(name)
    if leaf is not None:
        find_node = make_node_lookup(TileCache(reader))
        position = find_leaf_positions(reader, find_node, [leaf]).get(leaf)
    try:
        receipt = build_inclusion_receipt(reader, position) if position is not None else None
    except NoReceiptYet as error:
        raise build_no_receipt_problem(404) from error
    if position is None or receipt is None:
        return None
    return reader.entries(position, position + 1)[0], receipt


def _list_receipt_keys(reader: LogReader) -> list[PublicKey]:
    """Return the public receipt keys of a log, newest first."""
    return [description.receipt_key for description in reversed(read_log_descriptions(reader))]


def _encode_cose_key(key: PublicKey) -> dict[int, Any]:
    """Return a key as a COSE_Key map, with its thumbprint as key id and its algorithm."""
    return build_cose_key(key) | {
        _COSE_KEY_ID: compute_thumbprint(key),
        _COSE_KEY_ALG: choose_algorithm_number(key),
    }


def _build_cbor_response(value: Any) -> Response:
    return Response(encode_deterministic_cbor(value), media_type=_CBOR_MEDIA_TYPE)


def _redirect_to_retry(request: Request) -> Response:
    """Return a redirect to the same address, to be followed after a second."""
    return RedirectResponse(str(request.url.path), 302, {"retry-after": "1"})


# --- Problems ---


def _answer_problems(handler: _Handler) -> _Handler:
    """Return a handler that calls `handler`, and turns its errors into problem responses."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Problem as problem:
            return _build_problem_response(problem)
        except LogDamaged as error:
            return _build_problem_response(report_damage(error))
        except VacrError as error:
            return _build_problem_response(build_unavailable_problem(error))
        except Exception as error:  # noqa: BLE001 - a client never gets a traceback
            return _build_problem_response(report_internal_error(error))

    return answer


async def _serve_unknown_address(_: Request, error: Exception) -> Response:
    """Return the problem response for an unknown address or a wrong method."""
    status, headers = (
        (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    )
    if status == _HTTP_METHOD_NOT_ALLOWED:
        title, detail = "Method Not Allowed", "wrong method for this address; see / for a list"
    else:
        title, detail = "Not Found", "no such address; see / for a list"
    return _build_problem_response(Problem(status, title, detail, extra_headers=headers))


def _build_problem_response(problem: Problem) -> Response:
    headers = {name.decode(): value.decode() for name, value in problem.list_headers()}
    return Response(problem.encode_body(), problem.status, headers, PROBLEM_MEDIA_TYPE)


# --- Status, for administrators ---


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The health and the metrics of a service."""

    registration: RegistrationEndpoint
    publisher: Publisher
    readers: ReaderPool

    async def serve_health(self, _: Request) -> Response:
        """Serve the health of the log as JSON: status, size, and the failure of each part.

        The HTTP status is 503 if the log does not accept entries or cannot be read, or if a fork
        is proven.
        """
        sequencer = self.registration.sequencer
        guard = self.registration.guard
        failures = {
            "sequencer": _describe_failure(sequencer.failure if sequencer is not None else None),
            "publisher": _describe_failure(self.publisher.failure),
            "reader": None,
            "fork": _describe_failure(guard.fork if guard is not None else None),
        }
        size = None
        try:
            size = await self.readers.read(_read_log_size)
        except VacrError as error:
            failures["reader"] = describe_public_error(error)
        status = "failing" if any(failures.values()) else "ok"
        # A log that cannot publish still accepts entries, so that alone is not a 503.
        is_down = failures["sequencer"] or failures["reader"] or failures["fork"]
        return JSONResponse({"status": status, "size": size, **failures}, 503 if is_down else 200)

    async def serve_metrics(self, _: Request) -> Response:
        """Serve the metrics in Prometheus's text format, also while the database fails.

        Then `vacr_log_up` is 0, and the size of the log is left out.
        """
        sequencer = self.registration.sequencer
        waiting = len(sequencer.queue) if sequencer else 0
        batches = sequencer.batches if sequencer else 0
        guard = self.registration.guard
        is_forked = guard is not None and guard.fork is not None
        missing = sum(requester.missing for requester in self.publisher.requesters)
        samples = [
            MetricSample(
                "published_size", "Entries under the last checkpoint.", self.publisher.size
            ),
            MetricSample("waiting", "Statements waiting for their batch.", waiting),
            MetricSample("batches", "Batches added by this process.", batches),
            MetricSample(
                "cosignatures_missing",
                "Witnesses that have not cosigned the last checkpoint.",
                missing,
            ),
            MetricSample("forked", "Whether a witness proved a fork: 1 or 0.", int(is_forked)),
        ]
        try:
            async with asyncio.timeout(_MAX_SCRAPE_SECONDS):
                size = await self.readers.read(_read_log_size)
            samples.append(MetricSample("log_size", "Entries in the log.", size))
            is_up = True
        except (VacrError, TimeoutError):
            is_up = False
        # Counted only now, because the attempt above may have failed as well.
        failures = (sequencer.storage_failures if sequencer else 0) + self.readers.failures
        samples += [
            MetricSample(
                "storage_failures_total",
                "Times that the database failed and was reopened.",
                failures,
            ),
            MetricSample("log_up", "Whether the log can be read: 1 or 0.", int(is_up)),
        ]
        text = self.registration.metrics.format_text(samples)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _describe_failure(failure: VacrError | None) -> str | None:
    """Return the public message of a failure, or None without a failure."""
    return describe_public_error(failure) if failure else None


def _read_log_size(reader: LogReader) -> int:
    """Return the number of entries in the log."""
    head = reader.head()
    return head.head.size if head is not None else 0


# --- Self-description ---


async def serve_openapi(_: Request) -> Response:
    """Serve the OpenAPI description of the service, as JSON."""
    paths = {
        path: {method: _describe_operation(path, method, summary, responses)}
        for path, (method, summary, responses) in SERVICE_ENDPOINTS.items()
    }
    info = {
        "title": "vacr transparency log",
        "version": __version__,
        "description": "SCRAPI and C2SP tlog-tiles.",
    }
    return JSONResponse({"openapi": "3.1.0", "info": info, "paths": paths})


def _describe_operation(
    path: str, method: str, summary: str, responses: _Responses
) -> dict[str, Any]:
    """Return the OpenAPI object for one method of an address."""
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {
            status: _describe_response(description, media_type)
            for status, (description, media_type) in responses.items()
        },
    }
    parameters = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in parameters
        ]
    if method == "post":
        operation["requestBody"] = {
            "required": True,
            "content": {_COSE_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    return operation


def _describe_response(description: str, media_type: str | None) -> dict[str, Any]:
    """Return the OpenAPI object for a response; without a media type, it has no body."""
    if media_type is None:
        return {"description": description}
    return {"description": description, "content": {media_type: {}}}


def render_log_page(description: LogDescription, identity: str, size: int) -> Response:
    """Return the HTML page that describes a log: its keys, its size and its addresses."""
    facts = {
        "origin": description.origin,
        "identity": identity,
        "receipt key": compute_thumbprint_uri(description.receipt_key),
        "checkpoint key": str(build_verifier_key(description.origin, description.checkpoint_key)),
        "entries": str(size),
    }
    fact_rows = "".join(
        f"<tr><th>{escape(name)}</th><td><code>{escape(value)}</code></td></tr>"
        for name, value in facts.items()
    )
    endpoint_rows = "".join(
        (
            f"<tr><td><code>{method.upper()} "
            f"{escape(path)}</code></td><td>{escape(summary)}</td></tr>"
        )
        for path, (method, summary, _) in SERVICE_ENDPOINTS.items()
    )
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Transparency log</title>'
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
        "th{text-align:left;padding-right:1em}td,th{padding:.2em .6em .2em 0;vertical-align:top}"
        "code{overflow-wrap:anywhere}</style>"
        f"<h1>Transparency log {escape(description.origin)}</h1>"
        "<p>Signed statements about sessions of AI coding agents. Entries are only appended, never "
        f"changed. Served by vacr {__version__}.</p>"
        f"<table>{fact_rows}</table><h2>Addresses</h2><table>{endpoint_rows}</table>"
        '<p><a href="openapi.json">OpenAPI</a></p></html>',
        headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"},
    )
