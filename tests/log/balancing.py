"""A way to several services that takes the next one for each connection, as balancers of load do."""

import itertools
import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit


class Balancer:
    """A port of this machine that leads to services in turn."""

    def __init__(self, *services):
        self.turn = itertools.cycle([urlsplit(one.url) for one in services])
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/"
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        for thread in self.threads:
            thread.join()

    def _accept(self):
        with suppress(OSError):
            while True:
                caller, _ = self.listening.accept()
                place = next(self.turn)
                service = socket.create_connection((place.hostname, place.port))
                for pair in ((caller, service), (service, caller)):
                    self.threads.append(threading.Thread(target=_pass_on, args=pair, daemon=True))
                    self.threads[-1].start()


def _pass_on(one, other):
    with suppress(OSError), one:
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_RDWR)
