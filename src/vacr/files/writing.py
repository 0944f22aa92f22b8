"""How files are written without losing others: whole or not at all, and never over what is being
read.

What is being written has a name of its own (`.vacr-….tmp`) and is locked meanwhile. What a process
that was killed left behind is not, and the next one to write into that folder removes it.

Files that are there, whole, after the machine lost its power: written beside their place,
synced, and moved there.

A lock between processes: a file that one of them holds at a time. Step: register.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.files.reading import STDIN

if sys.platform != "win32":
    import fcntl

BytePieces = Iterable[bytes | memoryview]

_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".vacr-", ".tmp"
_TEMPORARY_NAME = re.compile(
    re.escape(_TEMPORARY_PREFIX) + r"[a-z0-9_]{8}" + re.escape(_TEMPORARY_SUFFIX)
)
_READ_BITS = 0o444
_OWNER_BITS = 0o600
_GROUP_BITS = 0o060

_unfinished_files: set[str] = set()
_tidied_folders: set[str] = set()


@dataclass(frozen=True)
class OutputFile:
    """A file to be written."""

    path: Path
    pieces: BytePieces
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


def check_not_input(path: Path, files: tuple[str, ...]) -> None:
    """Refuse to write over what is being read.

    Raises:
        UsageError: the output is one of the inputs.
    """
    for name in files:
        with suppress(OSError, ValueError):
            if name != STDIN and path.exists() and path.samefile(name):
                raise UsageError(f"{path} is the input itself", hint="Say where to write with -o.")


def has_same_bytes(path: Path, pieces: list[bytes | memoryview]) -> bool:
    """Tell whether a file holds just these bytes."""
    if path.stat().st_size != sum(len(piece) for piece in pieces):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == hash_pieces(pieces)


def hash_pieces(pieces: BytePieces) -> str:
    """Give the SHA-256 of bytes in pieces."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return whole.hexdigest()


def write_file_atomically(
    path: Path, pieces: BytePieces, *like: Path, durable: bool = False
) -> None:
    """Write a file whole or not at all: an interruption leaves what was there before. Pipes and
    devices are written to.

    Nobody may read it who may not read all the files that it is like. What is `durable` survives a
    power cut from then on.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    write_files_atomically([OutputFile(path, pieces, like, durable=durable)])


def write_files_atomically(outputs: list[OutputFile]) -> None:
    """Write files, all of them or none: none is put in its place before there was room for all.

    Raises:
        UnreadableInput: a file cannot be written.
        FileExistsError: a file that must be new is there; nothing was written.
    """
    with ExitStack() as unfinished:
        placed = [(output, _write_temporary_file(output, unfinished)) for output in outputs]
        for output, temporary in placed:
            if temporary:
                _move_into_place(temporary, output)


def discard_unfinished_files() -> None:
    """Remove what was being written, for a process that ends without going back."""
    for name in list(_unfinished_files):
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave


def make_folder_tree(path: Path) -> None:
    """Make a folder and all above it, however deep it lies."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)


def _write_temporary_file(output: OutputFile, unfinished: ExitStack) -> str:
    """Write the bytes of a file beside its place, and give the name they have there; nothing where
    they are written at once.
    """
    path = Path(os.path.realpath(output.path))
    try:
        make_folder_tree(path.parent)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                file.writelines(output.pieces)
            return ""
        _remove_leftovers_once(path.parent)
        handle, name = _create_locked_temporary(path.parent, unfinished)
        with os.fdopen(handle, "wb") as file:
            if not (output.keep and _copy_ownership(handle, path)):
                os.chmod(name, _compute_file_mode(handle, output.like))  # noqa: PTH101 - a path that mkstemp gave
            file.writelines(output.pieces)
            if output.durable:
                file.flush()
                os.fsync(handle)
    except OSError as error:
        raise _make_write_error(error, path) from error
    return name


def _create_locked_temporary(folder: Path, unfinished: ExitStack) -> tuple[int, str]:
    """Make a file that is locked and, at the end, removed; another process may have removed it
    before it was locked.
    """
    while True:
        handle, name = tempfile.mkstemp(_TEMPORARY_SUFFIX, _TEMPORARY_PREFIX, folder)
        _unfinished_files.add(name)
        unfinished.callback(_discard_temporary_file, name)
        # The lock is kept when the file is closed, which shows whether all of it could be written.
        unfinished.callback(os.close, os.dup(handle))
        _lock_file(handle, wait=True)
        if os.path.exists(name):  # noqa: PTH110 - a path that mkstemp gave
            return handle, name
        os.close(handle)


def _move_into_place(temporary: str, output: OutputFile) -> None:
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
        raise _make_write_error(error, output.path) from error


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


def sync_folder_and_parents(folder: Path) -> None:
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


def _make_write_error(error: OSError, path: Path) -> UnreadableInput:
    return UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path))


def _discard_temporary_file(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave
    _unfinished_files.discard(name)


def _lock_file(handle: int, *, wait: bool) -> bool:
    """Lock a file as being written, if there are locks; tell whether that could be done."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def remove_leftover_files(folder: Path) -> None:
    """Remove what processes that are gone left half written in a folder and below it."""
    for place, _, names in os.walk(folder):
        if any(map(_TEMPORARY_NAME.fullmatch, names)):
            _remove_folder_leftovers(place)


def _remove_leftovers_once(folder: Path) -> None:
    """Remove what processes that are gone left half written in a folder, the first time that this
    one writes there.
    """
    if str(folder) not in _tidied_folders:
        _tidied_folders.add(str(folder))
        _remove_folder_leftovers(str(folder))


def _remove_folder_leftovers(folder: str) -> None:
    with suppress(OSError), os.scandir(folder) as scan:
        for entry in scan:
            if _TEMPORARY_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:  # noqa: PTH123 - a path that scandir gave
                    if (
                        _lock_file(file.fileno(), wait=False)
                        and os.fstat(file.fileno()).st_uid == os.geteuid()
                    ):
                        os.unlink(entry.path)  # noqa: PTH108 - a path that scandir gave


def _compute_file_mode(handle: int, like: tuple[Path, ...]) -> int:
    """Give the permissions of a new file: as usual, but for those who may not read what it is made
    of.
    """
    mode = 0o666 & ~_read_umask()
    group = os.fstat(handle).st_gid
    for path in like:
        try:
            status = path.stat()
        except OSError:
            return mode & _OWNER_BITS
        if not stat.S_ISREG(status.st_mode):
            continue
        readable = status.st_mode & _READ_BITS
        mode &= _OWNER_BITS | readable | readable >> 1
        if status.st_gid != group and not status.st_mode & stat.S_IROTH:
            mode &= ~_GROUP_BITS
    return mode


def _copy_ownership(handle: int, path: Path) -> bool:
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


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_PUBLIC_FILE_MODE = 0o644
_REWRITE_CHUNK_SIZE = 1 << 20


def write_durable_file(path: Path, data: bytes, mode: int = _PUBLIC_FILE_MODE) -> None:
    """Write a file, or replace it, so that there is the old one or the new one at any moment.

    Raises:
        UnreadableInput: it cannot be written; what was there before is there.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}-", path.parent)
        with os.fdopen(handle, "wb") as file:
            os.chmod(name, mode)  # noqa: PTH101 - a path that mkstemp gave
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(name, path)  # noqa: PTH105 - a path that mkstemp gave
        sync_folder(path.parent)
    except OSError as error:
        raise UnreadableInput(
            f"cannot be written: {error.strerror or error}", where=str(path)
        ) from error
    finally:
        with suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave; gone where all went well


def rewrite_and_sync(path: Path) -> None:
    """Write what is in a file over itself and sync it, if there is one: what an earlier sync may
    have lost is on the disk then.

    Raises:
        OSError: that failed.
    """
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        at = 0
        while data := os.pread(handle, _REWRITE_CHUNK_SIZE, at):
            at += os.pwrite(handle, data, at)
        os.fsync(handle)
    finally:
        os.close(handle)


def make_durable_folder(path: Path, within: Path) -> None:
    """Make a folder, and those above it as far as one that has to be there, so that their names
    stay.

    Raises:
        OSError: it cannot be made.
    """
    if path == within or path.is_dir():
        return
    make_durable_folder(path.parent, within)
    path.mkdir(exist_ok=True)
    try:
        sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            path.rmdir()  # so that it is made and synced again
        raise


_LOCK_FILE_MODE = 0o600
_LOCK_RETRY_SECONDS = 0.002


@contextmanager
def hold_file_lock(path: Path, wait: float) -> Iterator[None]:
    """Hold a lock; whoever ends in any way lets go of it.

    Raises:
        TimeoutError: others held it for as many seconds as are waited for.
        OSError: the file cannot be opened.
    """
    if (
        sys.platform == "win32"
    ):  # there is no such lock: what it guards there is used by one process at a time
        yield
        return
    import fcntl

    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _LOCK_FILE_MODE)
    try:
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > until:
                    raise TimeoutError(f"another process holds {path.name}") from error
                time.sleep(_LOCK_RETRY_SECONDS)
        yield
    finally:
        os.close(handle)
