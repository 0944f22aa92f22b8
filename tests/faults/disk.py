"""Simulate a disk that loses power: which data may be left at any moment of a run.

Synced data is there. Each later write is there, missing, or there in some of its sectors. Each name
that was created, moved or removed is in its old or its new state, until its folder is synced. No
file system behaves worse.
"""

import copy
import random
from dataclasses import dataclass, field
from itertools import pairwise

_SECTOR = 512


@dataclass(eq=False)
class File:
    """A file: its synced content, and the writes since."""

    kept: bytes = b""
    pending: list = field(default_factory=list)
    mode: int = 0o644

    def write(self, offset, data):
        self.pending.append((offset, data))

    def truncate(self, size):
        self.pending.append((size, None))

    def sync(self):
        self.kept, self.pending = self.left(None), []

    def fail(self):
        """Drop unsynced writes: after a failed sync the kernel shows them but never writes them."""
        self.pending = []

    def left(self, chance):
        """Return the content that survives; without a chance, all of it."""
        found = bytearray(self.kept)
        for offset, data in self.pending:
            if data is None:
                if chance is None or chance.there():
                    del found[offset:]
                    found.extend(bytes(offset - len(found)))
                continue
            for first, end in (
                [(0, len(data))] if chance is None else chance.parts(offset, len(data))
            ):
                found.extend(bytes(max(0, offset + end - len(found))))
                found[offset + first : offset + end] = data[first:end]
        return bytes(found)


@dataclass(eq=False)
class Folder:
    """A folder: its synced names, its present names, and the changes between."""

    kept: dict = field(default_factory=dict)
    now: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)
    mode: int = 0o755

    def change(self, **names):
        """Set names, or remove those set to None, all at once."""
        self._apply(self.now, names)
        self.pending.append(names)

    @staticmethod
    def _apply(found, names):
        for name, node in names.items():
            if node is None:
                found.pop(name, None)
            else:
                found[name] = node

    def sync(self):
        self.kept, self.pending = dict(self.now), []

    def fail(self):
        """Keep the changes pending: a failed sync stores none of them, but the next one does."""

    def left(self, chance):
        """Return the names that survive."""
        found = dict(self.kept)
        for names in self.pending:
            if chance is None or chance.there():
                self._apply(found, names)
        return found


class Chance:
    """Decides what happens to unsynced data: all of it is lost, or each piece at random."""

    def __init__(self, seed=None):
        self.seed = seed
        self.random = random.Random(seed) if seed is not None else None  # noqa: S311 - reproducible

    def __str__(self):
        return f"seed {self.seed}" if self.random is not None else "nothing left"

    def there(self):
        return self.random is not None and self.random.random() < 0.5

    def parts(self, offset, size):
        """Return the parts of a write that survive: no sector, all sectors, or some."""
        thrown = self.random.random() if self.random is not None else 1.0
        if thrown < 0.4:
            return [(0, size)]
        if thrown > 0.7:
            return []
        bounds = [0, *range(_SECTOR - offset % _SECTOR, size, _SECTOR), size]
        return [part for part in pairwise(bounds) if self.there()]


class Disk:
    """A folder on a disk, at the start of a run and after each of its changes."""

    def __init__(self, root):
        self.root = str(root)
        self.top = self._read(root)

    def copy(self):
        """Return an independent copy of the disk."""
        return copy.deepcopy(self)

    def _read(self, path):
        if path.is_file():
            return File(path.read_bytes(), mode=path.stat().st_mode & 0o777)
        names = {
            file.name: self._read(file) for file in path.iterdir() if not file.name.endswith("-shm")
        }
        return Folder(names, dict(names), mode=path.stat().st_mode & 0o777)

    def find(self, path):
        """Return a path's folder, its name there and its content, or None for paths elsewhere."""
        if path == self.root:
            return None, "", self.top
        if not path.startswith(self.root + "/"):
            return None, "", None
        *above, name = path[len(self.root) + 1 :].split("/")
        folder = self.top
        for part in above:
            folder = folder.now[part]
        return folder, name, folder.now.get(name)

    def write_to(self, place, chance):
        """Write the data that survives a loss of power; without a chance, all of it."""
        self._write(self.top, place, chance)

    def _write(self, node, place, chance):
        if isinstance(node, File):
            place.write_bytes(node.left(chance))
        else:
            place.mkdir()
            for name, child in sorted(node.left(chance).items()):
                self._write(child, place / name, chance)
        place.chmod(node.mode)
