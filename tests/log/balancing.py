"""A way to several services that takes the next one for each connection, as balancers of load do;
or to none.
"""

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class Balancer:
    """A port of this machine that leads to services in turn, by their addresses, and which ends the
    call where there is none.
    """

    def __init__(self, *urls, holds=False):
        self.urls = list(urls)
        self.holds = holds
        """Whether those who call are held, without an answer."""
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
    """End a call in one way, whether or not all of it has come: without an answer, and not with a
    reset.
    """
    with suppress(OSError), caller:
        caller.shutdown(socket.SHUT_WR)
        while caller.recv(1 << 16):
            pass


def _pass_on(one, other):
    with suppress(OSError), one:
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_RDWR)
