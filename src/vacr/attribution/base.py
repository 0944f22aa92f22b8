"""The base: files as they were before the sessions.

A base returns bytes by paths from its root. A session names files as they lay on the machine where
it ran, so its root has to be found: the folder below which most of the named files are in the base.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from vacr.edits import make_absolute_path


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """Files by their paths from a root, and the revision they belong to."""

    revision: str
    names: Collection[str]
    read: Callable[[str], bytes]

    def file(self, path: str | None) -> bytes | None:
        """Return the bytes of a file, or `None` when the base does not have it."""
        return self.read(path) if path is not None and path in self.names else None


def find_base_root(base: BaseFiles, named: Iterable[str], working_dir: str) -> str:
    """Return the folder on the session's machine that corresponds to the root of the base.

    Files of other projects may have the same names. So a folder that is unrelated to the session's
    working folder needs more matching files than the session names in its working folder.
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
