"""A transparency service that fails on demand: a real tree behind a server that follows a plan.

The plan is a list of faults. Each request takes the first one; without any, the service answers
correctly.
"""

import http.server
import socket
import ssl
import struct
import threading
from contextlib import suppress

import cbor2

from tests.transparency.logs import Log
from vacr.signing.keys import build_cose_key

COSE = "application/cose"
PROBLEM = "application/concise-problem-details+cbor"


def problem(title, detail):
    return cbor2.dumps({-1: title, -2: detail})


class Scrapi:
    """A service on a port of this machine; `plan` has the faults for the next requests."""

    def __init__(self, log=None, *, wait=False, tls=None, prefix=""):
        self.log = log or Log()
        self.wait = wait
        self.prefix = prefix
        self.plan = []
        self.asked = []
        self.posted = []
        self.waiting = {}
        self.token = None
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls["certificate"])
            if "clients" in tls:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(tls["clients"])
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}{self.prefix}"

    def receipt(self, statement):
        with self.lock:
            return self.log.receipt(statement)

    def next(self):
        with self.lock:
            return self.plan.pop(0) if self.plan else None


def handler(service):
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def answer(self, status, body=b"", kind=COSE, **headers):
            with suppress(OSError):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

        def do_GET(self):
            service.asked.append(("GET", self.path))
            if self.odd(None):
                return
            if self.path == f"{service.prefix}/.well-known/scitt-keys":
                self.answer(
                    200,
                    cbor2.dumps([{**build_cose_key(service.log.key), 2: b"kid"}]),
                    "application/cbor",
                )
            elif self.path in service.waiting:
                statement, left = service.waiting[self.path]
                service.waiting[self.path] = (statement, left - 1)
                if left > 0:
                    self.answer(302, Location=self.path, Retry_After="0")
                else:
                    self.answer(200, service.receipt(statement))
            else:
                self.answer(404, problem("Not Found", "no such entry"), PROBLEM)

        def do_POST(self):
            service.asked.append(("POST", self.path))
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.posted.append(body)
            if self.odd(body):
                return
            if (
                service.token is not None
                and self.headers.get("Authorization") != f"Bearer {service.token}"
            ):
                self.answer(401, problem("Unauthorized", "who asks?"), PROBLEM)
            elif self.path != f"{service.prefix}/entries":
                self.answer(404, b"<h1>not here</h1>", "text/html")
            elif service.wait:
                place = f"{service.prefix}/entries/{len(service.waiting)}"
                service.waiting[place] = (body, 2)
                self.answer(303, Location=place, Retry_After="0")
            else:
                self.answer(201, service.receipt(body), Location=f"{service.prefix}/entries/x")

        def odd(self, body):
            """Answer with the next fault of the plan; return whether there was one."""
            fault = service.next()
            if fault is None:
                return False
            if callable(fault):
                fault(self, body)
            elif isinstance(fault, int):
                self.answer(
                    fault, problem("Odd", f"the plan says {fault}"), PROBLEM, Retry_After="0"
                )
            else:
                getattr(self, fault)(body)
            return True

        def cut(self, _):
            """End the connection as if the machine had gone."""
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def cut_body(self, body):
            """Register, and end the connection in the middle of the receipt."""
            receipt = service.receipt(body)
            self.send_response(201)
            self.send_header("Content-Length", str(len(receipt)))
            self.end_headers()
            self.wfile.write(receipt[: len(receipt) // 2])
            self.close_connection = True

        def lost(self, body):
            """Register, and end the connection before the answer."""
            service.receipt(body)
            self.cut(body)

        def no_http(self, _):
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n")
            self.close_connection = True

        def garbage(self, _):
            self.answer(201, b"\xff" * 100)

        def endless(self, _):
            self.answer(201, b"x" * ((1 << 20) + 1))

        def other(self, _):
            """Answer with the receipt of another statement."""
            self.answer(201, service.receipt(service.posted[0]))

        def forged(self, body):
            """Answer with a receipt of a different log."""
            self.answer(201, Log().receipt(body))

        def drip(self, _):
            """Send an answer a byte at a time, for as long as anybody listens."""
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 201 Created\r\nX: ")
                while not service.ended.wait(0.05):
                    self.wfile.write(b"x")
                    self.wfile.flush()
            self.close_connection = True

    return Handler
