"""What a service says of itself: a page for people, and OpenAPI for programs. Step: register."""

from __future__ import annotations

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from vacr.receipts.description import Description
from vacr.receipts.notes import key_of
from vacr.signing import keys
from vacr.version import __version__

_COSE, _CBOR, _PROBLEM = (
    "application/cose",
    "application/cbor",
    "application/concise-problem-details+cbor",
)

_FAILING = {"503": ("The storage fails; Retry-After tells when to come back.", _PROBLEM)}
"""What anything that is read from the log may be answered with."""

ADDRESSES: dict[str, tuple[str, str, dict[str, tuple[str, str | None]]]] = {
    "/entries": (
        "post",
        "Register a signed statement, and get its receipt.",
        {
            "201": ("The receipt.", _COSE),
            "303": ("Taken; the receipt will be at Location.", None),
            "400": (
                "Refused: malformed, without its payload, badly signed, or not allowed.",
                _PROBLEM,
            ),
            "401": ("A token is needed.", _PROBLEM),
            "408": ("The statement did not arrive in time.", _PROBLEM),
            "409": (
                "The description of a log that has no other entry: there is no receipt for it yet.",
                _PROBLEM,
            ),
            "413": ("Too large for an entry.", _PROBLEM),
            "415": ("Not application/cose.", _PROBLEM),
            "429": ("Too many from this caller; Retry-After tells when.", _PROBLEM),
            "503": (
                "Too many are waiting, or the storage fails; Retry-After tells when.",
                _PROBLEM,
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
            "200": ("The receipt.", _COSE),
            "302": ("Not yet in the log; Retry-After tells when to come back.", None),
            "404": ("No such entry, or it has no receipt yet.", _PROBLEM),
            **_FAILING,
        },
    ),
    "/entries/{name}/statement": (
        "get",
        "Get the statement that an entry is, with its receipt in it.",
        {
            "200": ("The transparent statement.", _COSE),
            "302": ("Not yet in the log; Retry-After tells when to come back.", None),
            "404": ("No such entry, or it has no receipt yet.", _PROBLEM),
            **_FAILING,
        },
    ),
    "/.well-known/scitt-keys": (
        "get",
        "Get the keys that verify receipts, as a COSE_KeySet.",
        {"200": ("The keys.", _CBOR), **_FAILING},
    ),
    "/.well-known/scitt-keys/{kid}": (
        "get",
        "Get one of them by its thumbprint in base64url.",
        {"200": ("The key, as a COSE_Key.", _CBOR), "404": ("No such key.", _PROBLEM), **_FAILING},
    ),
    "/checkpoint": (
        "get",
        "Get the last checkpoint, as a signed note.",
        {"200": ("The checkpoint.", "text/plain"), "503": ("Nothing is published yet.", _PROBLEM)},
    ),
    "/tile/{path}": (
        "get",
        "Get a tile of the tree (LEVEL/NUMBER) or a bundle of entries (entries/NUMBER).",
        {
            "200": ("Hashes, or entries.", "application/octet-stream"),
            "404": ("No such tile.", _PROBLEM),
            **_FAILING,
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


async def openapi(_: Request) -> Response:
    """Describe the addresses to programs."""
    paths: dict[str, Any] = {}
    for address, (method, summary, answers) in ADDRESSES.items():
        names = [part[1:-1] for part in address.split("/") if part.startswith("{")]
        about: dict[str, Any] = {
            "summary": summary,
            "responses": {code: _answer(*one) for code, one in answers.items()},
        }
        if names:
            about["parameters"] = [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in names
            ]
        if method == "post":
            about["requestBody"] = {
                "required": True,
                "content": {_COSE: {"schema": {"type": "string", "format": "binary"}}},
            }
        paths[address] = {method: about}
    info = {
        "title": "vacr transparency log",
        "version": __version__,
        "description": "SCRAPI and C2SP tlog-tiles.",
    }
    return JSONResponse({"openapi": "3.1.0", "info": info, "paths": paths})


def _answer(description: str, media_type: str | None) -> dict[str, Any]:
    return {"description": description} | ({"content": {media_type: {}}} if media_type else {})


def page(description: Description, log: str, size: int) -> Response:
    """Describe the log to a person."""
    facts = {
        "origin": description.origin,
        "identity": log,
        "receipt key": keys.thumbprint_uri(description.receipt_key),
        "checkpoint key": str(key_of(description.origin, description.checkpoint_key)),
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
        for address, (method, summary, _) in ADDRESSES.items()
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
