"""The files as they were before the sessions. Step: attribute.

A base gives bytes by paths from its root; where the files come from is its maker's business. A
session names files as they lay on the machine it ran on, so its root has to be found: the folder
from which most of the files it names are in the base.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from vacr.edits import make_absolute_path


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Files by paths from a root, and the name of the revision they are of."""

    revision: str
    names: Collection[str]
    read: Callable[[str], bytes]

    def file(self, path: str | None) -> bytes | None:
        """Give the bytes of a file, or `None` when the base does not have it."""
        return self.read(path) if path is not None and path in self.names else None


def find_base_root(base: BaseFiles, named: Iterable[str], working_dir: str) -> str:
    """Find the folder of a session's machine that is the root of the base.

    A file of another project may have the name of one of the base's, so a folder that has nothing
    to do with where the session worked needs more files than the session names there.
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
    return path.startswith(folder.rstrip("/") + "/")
