"""Clients that send each statement until they have its receipt, as SCRAPI demands."""

import http.client
import threading
import time
from urllib.parse import urlsplit

from tests.faults.handed import Handed
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign

_AGAIN = (429, 503)
"""The statuses that ask a client to send its statement again."""


class Load:
    """Several clients at once, while the context lasts; then each completes its last statement."""

    def __init__(self, *services, callers=4, size=20):
        self.services = list(services)
        """The services that receive statements; a test can replace them."""
        self.size = size
        self.handed = Handed()
        self.wrong = []
        self.refused = 0
        """How often a statement had to be sent again."""
        self.ending = threading.Event()
        self.threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(callers)
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join()
        assert self.wrong == []

    def more(self, count):
        """Wait for this many more receipts."""
        until = len(self.handed.receipts) + count
        while len(self.handed.receipts) < until and not self.wrong:
            time.sleep(0.01)

    def until_refused(self):
        """Wait until a statement has to be sent again."""
        before = self.refused
        while self.refused == before and not self.wrong:
            time.sleep(0.01)

    def _call(self, number):
        signer = KeySigner(generate_key("es256"))
        count = 0
        while not self.ending.is_set() and not self.wrong:
            content = f"{number} {count}".encode().ljust(self.size)
            self._register(sign(content, signer, profile="attached"), number + count)
            count += 1

    def _register(self, statement, turn):
        while not self.wrong:
            try:
                status, answer = self._post(statement, self.services[turn % len(self.services)].url)
            except (OSError, http.client.HTTPException):
                status, answer = 503, b""
            if status == 201:
                self.handed.receipts.append((statement, answer))
                return
            if status not in _AGAIN:
                self.wrong.append((status, answer))
            self.refused += 1
            turn += 1
            time.sleep(0.02)

    @staticmethod
    def _post(statement, url):
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname, place.port)
        try:
            connection.request("POST", "/entries", statement, {"Content-Type": "application/cose"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
