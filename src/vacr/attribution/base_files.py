"""The files of a revision that a replay starts from, and where they lie on the session's machine.

>>> from vacr.attribution.base_files import BaseFiles, find_base_root
>>> base = BaseFiles("HEAD", ["src/app.py", "README.md"], lambda path: b"x = 1\\n")
>>> base.read_file("src/app.py"), base.read_file("other.py")
(b'x = 1\\n', None)
>>> find_base_root(base, ["/home/mira/app/src/app.py"], "/home/mira/app/src")
'/home/mira/app'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from vacr.edits import make_absolute_path


@dataclass(frozen=True)
class BaseFiles:
    """The files of a revision: their paths from its root, and a function that reads one.

    `time` is when the revision was committed, in milliseconds since 1970; 0 if that is unknown.
    """

    revision: str
    names: Collection[str]
    read: Callable[[str], bytes]
    time: int = 0

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders of the files: `src/a/b.py` lies in `src` and `src/a`."""
        folders = {name.rpartition("/")[0] for name in self.names}
        for folder in list(folders):
            while folder := folder.rpartition("/")[0]:
                folders.add(folder)
        return frozenset(folders)

    def read_file(self, path: str | None) -> bytes | None:
        """Return the bytes of a file, or `None` if the base does not have the path."""
        return self.read(path) if path is not None and path in self.names else None


def find_base_root(base: BaseFiles, named: Iterable[str], working_dir: str) -> str:
    """Return the folder on the session's machine that corresponds to the root of the base.

    It is the folder below which most of the absolute paths in `named` are files of the base, or
    else `working_dir`. Files of other projects may have the same names. So a folder that is
    unrelated to the working folder needs more matches than the session names files in there.
    """
    home = make_absolute_path(working_dir, "") if working_dir else ""
    votes: Counter[str] = Counter()
    at_home = 0
    for path in named:
        at_home += bool(home) and _is_under(path, home)
        parts = path.split("/")
        for cut in range(1, len(parts)):
            if "/".join(parts[cut:]) in base.names:
                votes["/".join(parts[:cut])] += 1
                break
    best, count = max(
        votes.items(), key=lambda item: (item[1], item[0] == home, -len(item[0])), default=(home, 0)
    )
    related = best == home or _is_under(best, home) or _is_under(home, best)
    return best if related or count > at_home else home


def _is_under(path: str, folder: str) -> bool:
    """Return whether a path lies below a folder; the folder itself does not."""
    return path.startswith(folder.rstrip("/") + "/")
