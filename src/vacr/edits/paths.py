r"""Paths of files as sessions spell them, made comparable.

A session names a file absolutely or relative to a working directory, and in the manner of POSIX, of
Windows, or of a POSIX shell on Windows (`/d/work` for `D:\work`). Here each becomes one text with
slashes. Case matters on POSIX and does not on Windows. Links are not followed, because no file
system is consulted, and Unicode is not normalized, because file systems differ.

    >>> from vacr.edits import make_absolute_path, make_relative_path
    >>> make_absolute_path(r"src\app.py", r"D:\work")
    'D:/work/src/app.py'
    >>> make_relative_path("/home/mira/app/src/main.py", "/home/mira/app")
    'src/main.py'
"""

import posixpath
import re
import unicodedata
from functools import lru_cache

_DRIVE_PREFIX = re.compile(r"([A-Za-z]):(?=[\\/]|$)")
_WINDOWS_PREFIX = re.compile(rf"{_DRIVE_PREFIX.pattern}|\\\\|//[^/]")
_SHELL_DRIVE = re.compile(r"/(?:cygdrive/|mnt/)?([A-Za-z])(?=/|$)")
_VERBATIM_PREFIX = re.compile(r"//[?.]/(?:UNC(/))?(?=[^/])")


@lru_cache(maxsize=1024)
def make_absolute_path(path: str, folder: str) -> str:
    """Return a path with slashes, joined to the working directory `folder` if it is relative.

    `.` and `..` are resolved. If `folder` is empty, a relative path stays relative. A path that
    starts with `~/` is never joined.
    """
    windows = is_windows_path(folder) or is_windows_path(path)
    if windows:
        path, folder = _use_forward_slashes(path), _use_forward_slashes(folder)
        if is_windows_path(folder):
            path = _replace_shell_drive(path)
    if not (path.startswith(("/", "~/")) or _DRIVE_PREFIX.match(path)):
        path = posixpath.join(folder, path)
    elif windows and path.startswith("/") and not path.startswith("//"):
        # A path from the root of the current drive.
        drive = _DRIVE_PREFIX.match(folder)
        if drive is not None:
            path = f"{drive[1]}:{path}"
    return _normalize_path(path)


def is_windows_path(path: str) -> bool:
    """Return whether a path is a Windows path: with a drive, or with the name of a server.

    A relative path is not, even with backslashes.
    """
    return _WINDOWS_PREFIX.match(path) is not None


def _use_forward_slashes(path: str) -> str:
    r"""Return a Windows path with slashes, without the verbatim prefix `\\?\`."""
    path = path.replace("\\", "/")
    return _VERBATIM_PREFIX.sub(lambda prefix: "//" if prefix[1] else "", path, count=1)


def _replace_shell_drive(path: str) -> str:
    """Return `d:/work` for `/d/work`, `/mnt/d/work` or `/cygdrive/d/work`; else the path itself."""
    shell_drive = None if _DRIVE_PREFIX.match(path) else _SHELL_DRIVE.match(path)
    if shell_drive is None:
        return path
    return f"{shell_drive[1]}:{path[shell_drive.end() :] or '/'}"


def _normalize_path(path: str) -> str:
    """Return a path without `.` and `..`, and with the letter of its drive in upper case.

    `..` never leads above a drive or a root; a relative path keeps a leading `..`.
    """
    drive = _DRIVE_PREFIX.match(path)
    if drive is None:
        return posixpath.normpath(path)
    rest = posixpath.normpath("/" + path[drive.end() :].lstrip("/"))
    return f"{drive[1].upper()}:{rest}"


def make_path_key(path: str) -> str:
    """Return a key that is equal for two absolute paths of one file.

    A Windows path becomes upper case; any other path is its own key.
    """
    if not is_windows_path(path):
        return path
    # Windows folds case letter by letter: a sharp s does not equal a double s.
    return "".join(upper if len(upper := char.upper()) == 1 else char for char in path)


def make_relative_path(path: str, root: str) -> str | None:
    """Return an absolute path relative to the root of a repository.

    `path` is in the form of `make_absolute_path`. Return `None` if it is the root itself or lies
    outside, or if no file can have such a name. If `root` is empty, return a relative path
    unchanged, and `None` for an absolute path or one with a leading `..`.
    """
    if not _is_possible_path(path):
        return None
    if not root:
        return path if _is_relative_path(path) else None
    root_parts = make_absolute_path(root, "").rstrip("/").split("/")
    depth = len(root_parts)
    parts = path.split("/")
    if len(parts) <= depth or not parts[depth] or ".." in parts:
        return None
    # With a slash after it, a root that is only a drive is a Windows path too.
    root_key = make_path_key("/".join((*root_parts, ""))).split("/")[:-1]
    if make_path_key(path).split("/")[:depth] != root_key:
        return None
    return "/".join(parts[depth:])


def is_inside_git_folder(path: str) -> bool:
    """Return whether a path leads into a `.git` folder: files there can make git run commands."""
    # Some file systems ignore format characters.
    seen = "".join(char for char in path if unicodedata.category(char) != "Cf")
    return any(
        part.partition(":")[0].rstrip(". ").casefold() in (".git", "git~1")
        for part in re.split(r"[/\\]", seen)
    )


def _is_possible_path(path: str) -> bool:
    """Return whether a file can have this name: without NUL, and encodable in bytes."""
    try:
        return b"\0" not in path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _is_relative_path(path: str) -> bool:
    """Return whether a path is relative and does not lead out of its folder by `..`.

    Return False for an empty path, `.` and a path that starts with `~/`.
    """
    if path in ("..", ".", "") or path.startswith(("/", "../", "~/")):
        return False
    return not _DRIVE_PREFIX.match(path)
