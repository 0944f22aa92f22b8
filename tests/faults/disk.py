"""A disk that loses its power: what a run asked of it, and what may be left of that at any moment.

What was synced is there. Of what was not synced since, each write is there, missing, or there in
some of its sectors; each name that was made, moved or removed is as it was or as it is, until its
folder is synced. No file system does more wrong.
"""

import copy
import random
from dataclasses import dataclass, field
from itertools import pairwise

_SECTOR = 512


@dataclass(eq=False)
class File:
    """A file: what is on the disk for sure, and what was asked for since."""

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
        """Forget what was asked for: after a sync that failed a system shows it still, and never
        writes it.
        """
        self.pending = []

    def left(self, chance):
        """Give what is left of it; without a chance, all."""
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
    """A folder: names that are on the disk for sure, names as they are, and the changes between."""

    kept: dict = field(default_factory=dict)
    now: dict = field(default_factory=dict)
    pending: list = field(default_factory=list)
    mode: int = 0o755

    def change(self, **names):
        """Set names, or remove those that are given nothing, all at once."""
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
        """Leave names as they are: a sync that failed keeps none, and the next one does."""

    def left(self, chance):
        """Give the names that are left."""
        found = dict(self.kept)
        for names in self.pending:
            if chance is None or chance.there():
                self._apply(found, names)
        return found


class Chance:
    """What becomes of what was not synced: all is lost, or it is thrown for."""

    def __init__(self, seed=None):
        self.seed = seed
        self.random = random.Random(seed) if seed is not None else None  # noqa: S311 - to be the same again

    def __str__(self):
        return f"seed {self.seed}" if self.random is not None else "nothing left"

    def there(self):
        return self.random is not None and self.random.random() < 0.5

    def parts(self, offset, size):
        """Give which parts of a write are there: none, all, or some sectors."""
        thrown = self.random.random() if self.random is not None else 1.0
        if thrown < 0.4:
            return [(0, size)]
        if thrown > 0.7:
            return []
        bounds = [0, *range(_SECTOR - offset % _SECTOR, size, _SECTOR), size]
        return [part for part in pairwise(bounds) if self.there()]


class Disk:
    """A folder of a disk, as a run found it and as it changed it."""

    def __init__(self, root):
        self.root = str(root)
        self.top = self._read(root)

    def copy(self):
        """Give another disk with the same on it."""
        return copy.deepcopy(self)

    def _read(self, path):
        if path.is_file():
            return File(path.read_bytes(), mode=path.stat().st_mode & 0o777)
        names = {
            one.name: self._read(one) for one in path.iterdir() if not one.name.endswith("-shm")
        }
        return Folder(names, dict(names), mode=path.stat().st_mode & 0o777)

    def find(self, path):
        """Give the folder that a path is in, the name in it and what is there; nothing for a path
        that is elsewhere.
        """
        if path == self.root:
            return None, "", self.top
        if not path.startswith(self.root + "/"):
            return None, "", None
        *above, name = path[len(self.root) + 1 :].split("/")
        folder = self.top
        for one in above:
            folder = folder.now[one]
        return folder, name, folder.now.get(name)

    def write_to(self, place, chance):
        """Write what is left after a loss of power; without a chance, all."""
        self._write(self.top, place, chance)

    def _write(self, node, place, chance):
        if isinstance(node, File):
            place.write_bytes(node.left(chance))
        else:
            place.mkdir()
            for name, one in sorted(node.left(chance).items()):
                self._write(one, place / name, chance)
        place.chmod(node.mode)
