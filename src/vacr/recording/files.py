"""How files are written without losing others: whole or not at all, and never over what is being
read.

What is being written has a name of its own (`.vacr-….tmp`) and is locked meanwhile. What a process
that was killed left behind is not, and the next one to write into that folder removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.sources import STDIN

if sys.platform != "win32":
    import fcntl

Pieces = Iterable[bytes | memoryview]

_PREFIX, _SUFFIX = ".vacr-", ".tmp"
_TEMPORARY = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}" + re.escape(_SUFFIX))
_READ = 0o444
_OWNER = 0o600
_GROUP = 0o060

_unfinished: set[str] = set()
_tidied: set[str] = set()


@dataclass(frozen=True)
class Output:
    """A file to be written."""

    path: Path
    pieces: Pieces
    like: tuple[Path, ...] = ()
    """The files it is made of: nobody may read it who may not read all of them."""
    new: bool = False
    """Whether there must be nothing at that path."""
    durable: bool = False
    """Whether it has to be on the disk before anything else is done, which takes its time."""
    keep: bool = False
    """Whether the owner and the permissions of the file that is there are kept, for it is another
    program's.
    """


def refuse_input(path: Path, files: tuple[str, ...]) -> None:
    """Refuse to write over what is being read.

    Raises:
        UsageError: the output is one of the inputs.
    """
    for name in files:
        with suppress(OSError, ValueError):
            if name != STDIN and path.exists() and path.samefile(name):
                raise UsageError(f"{path} is the input itself", hint="Say where to write with -o.")


def same(path: Path, pieces: list[bytes | memoryview]) -> bool:
    """Tell whether a file holds just these bytes."""
    if path.stat().st_size != sum(len(piece) for piece in pieces):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest(pieces)


def digest(pieces: Pieces) -> str:
    """Give the SHA-256 of bytes in pieces."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


def write(path: Path, pieces: Pieces, *like: Path, durable: bool = False) -> None:
    """Write a file whole or not at all: an interruption leaves what was there before. Pipes and
    devices are written to.

    Nobody may read it who may not read all the files that it is like. What is `durable` survives a
    power cut from then on.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    write_all([Output(path, pieces, like, durable=durable)])


def write_all(outputs: list[Output]) -> None:
    """Write files, all of them or none: none is put in its place before there was room for all.

    Raises:
        UnreadableInput: a file cannot be written.
        FileExistsError: a file that must be new is there; nothing was written.
    """
    with ExitStack() as unfinished:
        placed = [(output, _written(output, unfinished)) for output in outputs]
        for output, temporary in placed:
            if temporary:
                _put(temporary, output)


def discard_unfinished() -> None:
    """Remove what was being written, for a process that ends without going back."""
    for name in list(_unfinished):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave


def make_folder(path: Path) -> None:
    """Make a folder and all above it, however deep it lies."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)


def _written(output: Output, unfinished: ExitStack) -> str:
    """Write the bytes of a file beside its place, and give the name they have there; nothing where
    they are written at once.
    """
    path = Path(os.path.realpath(output.path))
    try:
        make_folder(path.parent)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                file.writelines(output.pieces)
            return ""
        _tidy(path.parent)
        handle, name = _temporary(path.parent, unfinished)
        with os.fdopen(handle, "wb") as file:
            if not (output.keep and _keep(handle, path)):
                os.chmod(name, _mode(handle, output.like))  # noqa: PTH101 - a path that mkstemp gave
            file.writelines(output.pieces)
            if output.durable:
                file.flush()
                os.fsync(handle)
    except OSError as error:
        raise _cannot(error, path) from error
    return name


def _temporary(folder: Path, unfinished: ExitStack) -> tuple[int, str]:
    """Make a file that is locked and, at the end, removed; another process may have removed it
    before it was locked.
    """
    while True:
        handle, name = tempfile.mkstemp(_SUFFIX, _PREFIX, folder)
        _unfinished.add(name)
        unfinished.callback(_discard, name)
        # The lock is kept when the file is closed, which shows whether all of it could be written.
        unfinished.callback(os.close, os.dup(handle))
        _lock(handle, wait=True)
        if os.path.exists(name):  # noqa: PTH110 - a path that mkstemp gave
            return handle, name
        os.close(handle)


def _put(temporary: str, output: Output) -> None:
    """Put a file into its place."""
    path = os.path.realpath(output.path)
    try:
        if output.new:
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise
            except OSError:
                # Not every file system has links: there, only what was there when we looked is
                # seen.
                os.replace(temporary, path)  # noqa: PTH105 - a path that mkstemp gave
        else:
            os.replace(temporary, path)  # noqa: PTH105 - a path that mkstemp gave
        if output.durable:
            sync_folder(Path(path).parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot(error, output.path) from error


def sync_folder(folder: Path) -> None:
    """Have on the disk which files are in a folder.

    Raises:
        OSError: that cannot be done.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_path(folder: Path) -> None:
    """Have on the disk which files are in a folder, and that it is there itself, with those above
    it.

    Raises:
        OSError: that cannot be done.
    """
    for one in (folder, *folder.parents):
        try:
            sync_folder(one)
        except OSError as error:
            # What lies further up need not be the user's, nor can every file system sync a folder.
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.EROFS):
                raise


def _cannot(error: OSError, path: Path) -> UnreadableInput:
    return UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path))


def _discard(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave
    _unfinished.discard(name)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file as being written, if there are locks; tell whether that could be done."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def tidy_all(folder: Path) -> None:
    """Remove what processes that are gone left half written in a folder and below it."""
    for place, _, names in os.walk(folder):
        if any(map(_TEMPORARY.fullmatch, names)):
            _remove_left(place)


def _tidy(folder: Path) -> None:
    """Remove what processes that are gone left half written in a folder, the first time that this
    one writes there.
    """
    if str(folder) not in _tidied:
        _tidied.add(str(folder))
        _remove_left(str(folder))


def _remove_left(folder: str) -> None:
    with suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:  # noqa: PTH123 - a path that scandir gave
                    if (
                        _lock(file.fileno(), wait=False)
                        and os.fstat(file.fileno()).st_uid == os.geteuid()
                    ):
                        os.unlink(entry.path)  # noqa: PTH108 - a path that scandir gave


def _mode(handle: int, like: tuple[Path, ...]) -> int:
    """Give the permissions of a new file: as usual, but for those who may not read what it is made
    of.
    """
    mode = 0o666 & ~_umask()
    group = os.fstat(handle).st_gid
    for path in like:
        try:
            status = path.stat()
        except OSError:
            return mode & _OWNER
        if not stat.S_ISREG(status.st_mode):
            continue
        readable = status.st_mode & _READ
        mode &= _OWNER | readable | readable >> 1
        if status.st_gid != group and not status.st_mode & stat.S_IROTH:
            mode &= ~_GROUP
    return mode


def _keep(handle: int, path: Path) -> bool:
    """Give a file the owner and the permissions of the one that it replaces; tell whether there is
    one.
    """
    if sys.platform == "win32" or not path.exists():
        return False
    status = path.stat()
    with suppress(PermissionError):
        os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
