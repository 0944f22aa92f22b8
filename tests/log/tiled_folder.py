"""A published log made of files, and a server for them that can play tricks."""

import http.server
import threading
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, generate_key
from vacr.transparency.checkpoint import (
    Checkpoint,
    build_verifier_key,
    sign_checkpoint,
    sign_note_text,
)
from vacr.transparency.log_keys import LogDescription, compute_log_identity
from vacr.transparency.receipt import build_log_entry, encode_entry_bundle
from vacr.transparency.tree import GrowingTree, Tile, format_tile_path, hash_leaf

ORIGIN = "example.org/log"


class TiledTestLog:
    """A log that a test extends and publishes; `described`: its first entry describes the log."""

    def __init__(self, folder, described=True):
        self.folder = folder
        self.key = Ed25519PrivateKey.generate()
        self.signer = KeySigner(generate_key("es256"))
        self.entries = []
        self.grow()
        if described:
            self.entries.append(self.description(self.signer, None))
            self.identity = compute_log_identity(self.entries[0])

    def grow(self):
        """Build a new tree from the present entries."""
        kept = {}
        self.growing = GrowingTree(0, [], lambda level, number: Tile(kept[level, number]))
        self.kept = kept

    @property
    def vkey(self):
        return build_verifier_key(ORIGIN, self.key.public_key())

    def description(self, signer, log):
        """Return the log's description of itself, as an entry."""
        signed_text = LogDescription(
            ORIGIN, self.signer.public_key, self.key.public_key(), 1_700_000_000, log=log
        )
        return build_log_entry(parse_sign1(signed_text.statement(signer)))

    def rotate(self, signer=None):
        """Announce new keys, signed by the key before or by another."""
        before = signer or self.signer
        self.key, self.signer = Ed25519PrivateKey.generate(), KeySigner(generate_key("es256"))
        self.entries.append(self.description(before, self.identity))

    def add(self, count, text="entry"):
        self.entries += [f"{text} {len(self.entries) + number}".encode() for number in range(count)]

    def publish(self, *signers):
        """Write all new files, the checkpoint last, and return the checkpoint."""
        for number in range(self.growing.size // 256, -(-len(self.entries) // 256)):
            part = self.entries[number * 256 : (number + 1) * 256]
            self.write(
                f"tile/entries/{format_tile_path(number, len(part))}", encode_entry_bundle(part)
            )
        for entry in self.entries[self.growing.size :]:
            self.growing.add(hash_leaf(entry))
        for (level, number), tile in self.growing.settle().items():
            self.kept[level, number] = tile.encode()
            self.write(f"tile/{level}/{format_tile_path(number, len(tile))}", tile.encode())
        signed_text = Checkpoint(ORIGIN, len(self.entries), self.growing.root())
        note = sign_checkpoint(signed_text, (signers or (self.key,))[0])
        for key in signers[1:]:
            note += sign_note_text(signed_text.text, ORIGIN, key).line.encode()
        self.write("checkpoint", note)
        return note

    def write(self, path, data):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        # Replace the file at once: a server reads it while tests write.
        temporary = file.with_name(f".{file.name}.new")
        temporary.write_bytes(data)
        temporary.replace(file)


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.server.asked.append(self.path)
        trick = self.server.tricks.get(self.path)
        if trick is None:
            super().do_GET()
        else:
            self.close_connection = True
            trick(self)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """Serve a folder; `tricks` replaces responses by path, and `asked` lists requested paths."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *given: _Handler(*given, directory=folder)
    )
    server.daemon_threads = True
    server.tricks, server.asked = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
