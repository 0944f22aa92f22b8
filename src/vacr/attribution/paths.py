"""Names of files, made comparable. Step: attribute.

A session names a file absolutely, or relative to a working directory, in the manner of POSIX, of Windows, or of a POSIX shell
on Windows (`/d/work` for `D:\\work`). Here it becomes one text with slashes. Upper and lower case differ on POSIX and do not on
Windows; links are not followed, because no file system is at hand.
"""

import posixpath
import re

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|$)")
_SHELL_DRIVE = re.compile(r"/(?:cygdrive/|mnt/)?([A-Za-z])(?=/|$)")


def is_windows(path: str) -> bool:
    """Tell whether a path is one of Windows."""
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


def absolute(path: str, folder: str) -> str:
    """Name a file from a working directory; without one, a relative path stays relative."""
    windows = is_windows(folder) or is_windows(path)
    if windows:
        path, folder = path.replace("\\", "/"), folder.replace("\\", "/")
        if is_windows(folder) and not _DRIVE.match(path) and (found := _SHELL_DRIVE.match(path)):
            path = f"{found[1]}:{path[found.end() :] or '/'}"
    if not (path.startswith("/") or _DRIVE.match(path)):
        path = posixpath.join(folder, path)
    elif windows and path.startswith("/") and not path.startswith("//") and (drive := _DRIVE.match(folder)):
        path = f"{drive[1]}:{path}"
    return _drive_upper(posixpath.normpath(path))


def _drive_upper(path: str) -> str:
    return path[0].upper() + path[1:] if _DRIVE.match(path) else path


def key(path: str) -> str:
    """Give what tells two files apart."""
    return path.casefold() if is_windows(path) else path


def relative(path: str, root: str) -> str | None:
    """Name a file from the root of a repository; `None` when it lies outside."""
    if not root:
        inside = not path.startswith(("/", "../")) and path != ".." and not _DRIVE.match(path)
        return path if inside else None
    root = absolute(root, "")
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if key(path).startswith(key(prefix)) and len(path) > len(prefix) else None
