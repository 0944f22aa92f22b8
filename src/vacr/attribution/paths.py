"""Names of files, made comparable. Step: attribute.

A session names a file absolutely, or relative to a working directory, in the manner of POSIX, of
Windows, or of a POSIX shell on Windows (`/d/work` for `D:\\work`). Here it becomes one text with
slashes. Upper and lower case differ on POSIX and do not on Windows; links are not followed, because
no file system is at hand, and Unicode is not normalized, because file systems differ.
"""

import posixpath
import re
from functools import lru_cache

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|$)")
_WINDOWS = re.compile(rf"{_DRIVE.pattern}|\\\\|//[^/]")
_SHELL_DRIVE = re.compile(r"/(?:cygdrive/|mnt/)?([A-Za-z])(?=/|$)")
_VERBATIM = re.compile(r"//[?.]/(?:UNC(/))?(?=[^/])")


def is_windows(path: str) -> bool:
    """Tell whether a path is one of Windows: with a drive, or with the name of a server."""
    return _WINDOWS.match(path) is not None


@lru_cache(maxsize=1024)
def absolute(path: str, folder: str) -> str:
    """Name a file from a working directory; without one, a relative path stays relative."""
    windows = is_windows(folder) or is_windows(path)
    if windows:
        path, folder = _slashed(path), _slashed(folder)
        if is_windows(folder) and not _DRIVE.match(path) and (found := _SHELL_DRIVE.match(path)):
            path = f"{found[1]}:{path[found.end() :] or '/'}"
    if not (path.startswith(("/", "~/")) or _DRIVE.match(path)):
        path = posixpath.join(folder, path)
    elif (
        windows
        and path.startswith("/")
        and not path.startswith("//")
        and (drive := _DRIVE.match(folder))
    ):
        path = f"{drive[1]}:{path}"
    return _normal(path)


def _slashed(path: str) -> str:
    """Spell a path of Windows with slashes, without the prefix that turns its rules off."""
    path = path.replace("\\", "/")
    return _VERBATIM.sub(lambda found: "//" if found[1] else "", path, count=1)


def _normal(path: str) -> str:
    """Take out `.` and `..`, which never lead above a drive or a root."""
    drive = _DRIVE.match(path)
    if drive is None:
        return posixpath.normpath(path)
    rest = posixpath.normpath("/" + path[drive.end() :].lstrip("/"))
    return f"{drive[1].upper()}:{rest}"


def key(path: str) -> str:
    """Give what tells two files apart."""
    # Letter by letter, as Windows does it: a sharp s is no double s.
    return (
        "".join(upper if len(upper := char.upper()) == 1 else char for char in path)
        if is_windows(path)
        else path
    )


def relative(path: str, root: str) -> str | None:
    """Name a file from the root of a repository; `None` when it lies outside, or when no file can
    have such a name.
    """
    if not _possible(path):
        return None
    if not root:
        inside = (
            not path.startswith(("/", "../", "~/"))
            and path not in ("..", ".", "")
            and not _DRIVE.match(path)
        )
        return path if inside else None
    above, parts = absolute(root, "").rstrip("/").split("/"), path.split("/")
    within = (
        len(parts) > len(above)
        and key(path).split("/")[: len(above)] == key("/".join((*above, ""))).split("/")[:-1]
    )
    return (
        "/".join(parts[len(above) :])
        if within and parts[len(above)] and ".." not in parts
        else None
    )


def _possible(path: str) -> bool:
    """Tell whether a file can have a name: one without NUL, that can be spelled in bytes."""
    try:
        return b"\0" not in path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
