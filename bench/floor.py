"""Serve the least that a log could do: read a statement, verify one signature, send some bytes.

Usage: python bench/floor.py KIND

KIND is the kind of key, such as es256. The server is the log's own, with a bare application: it
does not parse, store or prove anything. So its processor time per request is a floor for a log on
the same machine. The ratio to it depends little on how busy or fast the machine is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from vacr.log import serve_application
from vacr.signing import KeySigner, generate_key, verify_signature

_SIGNED_DATA = bytes(300)
_RESPONSE = bytes(700)
_HEADERS = [
    (b"content-type", b"application/cose"),
    (b"location", b"/entries/" + b"1" * 78),
    (b"content-length", b"%d" % len(_RESPONSE)),
]


def create_application(kind: str) -> Any:
    """Return an ASGI application that verifies the same signature for every request."""
    signer = KeySigner(generate_key(kind))
    arguments = (signer.algorithm, signer.public_key, signer.sign(_SIGNED_DATA), _SIGNED_DATA)

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        verify_signature(*arguments)
        await send({"type": "http.response.start", "status": 201, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": _RESPONSE})

    return answer


if __name__ == "__main__":
    serve_application(
        create_application(sys.argv[1]),
        "127.0.0.1",
        0,
        on_start=lambda url: print(json.dumps({"url": url}), flush=True),
    )
