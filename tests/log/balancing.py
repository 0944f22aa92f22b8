"""A load balancer over several services, or over none."""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class Balancer:
    """A local port that leads to services in turn; without services, it ends the connection."""

    def __init__(self, *urls, holds=False):
        self.urls = list(urls)
        self.holds = holds
        """Whether requests are held back, without a response."""
        self.calls = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/"
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for call in self.calls if self.holds else ():
            call.close()
        for thread in self.threads:
            thread.join()

    def _accept(self):
        with suppress(OSError):
            while True:
                caller, _ = self.listening.accept()
                self.calls.append(caller)
                if self.holds:
                    continue
                if not self.urls:
                    self.threads.append(threading.Thread(target=_end, args=(caller,), daemon=True))
                    self.threads[-1].start()
                    continue
                place = urlsplit(self.urls[len(self.calls) % len(self.urls)])
                service = socket.create_connection((place.hostname, place.port))
                for pair in ((caller, service), (service, caller)):
                    self.threads.append(threading.Thread(target=_pass_on, args=pair, daemon=True))
                    self.threads[-1].start()


def _end(caller):
    """End a connection the same way in all cases: without an answer and without a reset."""
    with suppress(OSError), caller:
        caller.shutdown(socket.SHUT_WR)
        while caller.recv(1 << 16):
            pass


def _pass_on(one, other):
    with suppress(OSError), one:
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_RDWR)
