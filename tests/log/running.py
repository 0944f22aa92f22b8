"""A running service: a real process, started and stopped by the test that needs it."""

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from urllib.parse import urlsplit

import cbor2

from vacr.transparency.checkpoint import parse_checkpoint, parse_signed_note


class Running:
    """`vacr log serve` at a free port."""

    def __init__(self, *arguments, **environment):
        command = [
            sys.executable,
            "-m",
            "vacr",
            "log",
            "serve",
            *map(str, arguments),
            "--port",
            "0",
            "--format",
            "json",
        ]
        settings = {**os.environ, **environment}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.announced = json.loads(line)
        self.url = self.announced["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        """Stop it, and return its exit code and its error output."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, complaints = self.process.communicate()
        return self.process.returncode, complaints

    def ask(self, method, path, body=None, headers=None, context=None):
        """Send a request, and return status, headers and body."""
        place = urlsplit(self.url)
        if place.scheme == "https":
            connection = http.client.HTTPSConnection(
                place.hostname, place.port, context=context or ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(place.hostname, place.port)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return (
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()

    def get(self, path):
        return self.ask("GET", path)

    def post(self, statement, path="/entries", **headers):
        """Register a statement."""
        given = {
            "Content-Type": "application/cose",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.ask("POST", path, statement, given)

    def wait_for_checkpoint(self, size):
        """Wait for a checkpoint of a size; a new log has none at first."""
        while True:
            status, _, note = self.get("/checkpoint")
            if status == 200 and parse_checkpoint(parse_signed_note(note).text).size >= size:
                return note
            time.sleep(0.05)

    def post_refused(self, statement, **headers):
        """Register a statement that is refused, and return status and problem details."""
        status, answered, body = self.post(statement, **headers)
        assert answered["content-type"] == "application/concise-problem-details+cbor", (
            status,
            body,
        )
        return status, cbor2.loads(body)
