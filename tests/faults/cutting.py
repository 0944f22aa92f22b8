"""A proxy to PostgreSQL that cuts connections during a COMMIT, so that its outcome is unknown."""

import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

LOST, UNANSWERED, UNSEEN, LATE = "lost", "unanswered", "unseen", "late"
"""The COMMIT does not arrive; it is done and the answer is lost; the caller is cut off before; it
is done long after that.
"""
_NAME = ".s.PGSQL.5432"


class Cutting:
    """A socket that forwards the traffic with a PostgreSQL server until it must cut off a COMMIT."""

    def __init__(self, address, plan):
        """Cut each COMMIT like the iterator `plan` demands; let it through for None, and after the
        end.
        """
        self.plan = plan
        self.cut = []
        self.server = str(Path(address.partition("?host=")[2]) / _NAME)
        self.folder = tempfile.TemporaryDirectory(prefix="vacr-cut-")
        self.address = address.partition("?host=")[0] + f"?host={self.folder.name}"
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(Path(self.folder.name) / _NAME))
        self.listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listening.close()
        self.folder.cleanup()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self.server)
                except OSError:
                    client.close()
                    continue
                threading.Thread(target=self._answers, args=(server, client), daemon=True).start()
                threading.Thread(target=self._questions, args=(client, server), daemon=True).start()

    def _answers(self, server, client):
        with suppress(OSError), server, client:
            while data := server.recv(1 << 16):
                client.sendall(data)

    def _questions(self, client, server):
        with suppress(OSError), client, server:
            while data := client.recv(1 << 16):
                how = next(self.plan, None) if b"\x00COMMIT\x00" in data else None
                if how is not None:
                    self.cut.append(how)
                    self._cut(client, server, data, how)
                    return
                server.sendall(data)

    @staticmethod
    def _cut(client, server, data, how):
        if how == UNANSWERED:
            client.shutdown(socket.SHUT_WR)  # later answers of the server are dropped
            server.sendall(data)
            time.sleep(0.1)
        elif how in (UNSEEN, LATE):
            client.shutdown(socket.SHUT_RDWR)
            time.sleep(0.5 if how == LATE else 0)
            server.sendall(data)
            time.sleep(0.1)
        for connection in (client, server):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
