"""Write files without losing others: whole or not at all, and never over an input.

A file is written under a temporary name (`.vacr-….tmp`) in the same folder, locked, and then moved
into place. An interruption leaves the old file there. A temporary file that a killed process left
is not locked any more; the next process that writes into that folder removes it.

    >>> from pathlib import Path
    >>> from vacr.files import has_same_bytes, write_file_atomically
    >>> write_file_atomically(Path("records/session.acr.json"), [b"{", b"}"])
    >>> has_same_bytes(Path("records/session.acr.json"), [b"{}"])
    True
    >>> [path.name for path in Path("records").iterdir()]
    ['session.acr.json']

A durable file is also on the disk, whole, after the machine lost its power. `write_durable_file` is
for files of our own state: it needs an existing folder, sets an exact mode, and replaces a symbolic
link instead of following it. `write_file_atomically` is for outputs that a user names.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.files.inputs import STDIN, path_exists

if sys.platform != "win32":
    import fcntl
    import resource

BytePieces = Iterable[bytes | memoryview]

_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".vacr-", ".tmp"
_TEMPORARY_NAME = re.compile(
    re.escape(_TEMPORARY_PREFIX) + r"[a-z0-9_]{8}" + re.escape(_TEMPORARY_SUFFIX)
)
_READ_BITS = 0o444
_OWNER_BITS = 0o600
_GROUP_BITS = 0o060
_PUBLIC_FILE_MODE = 0o644
_LOCK_FILE_MODE = 0o600
_LOCK_RETRY_SECONDS = 0.002
_REWRITE_CHUNK_SIZE = 1 << 20
_SPARE_OPEN_FILES = 128
"""Files that the rest of the program may have open while many files are written."""

_unfinished_files: set[str] = set()
"""The temporary files that this process is writing."""
_tidied_folders: set[str] = set()
"""The folders that this process has cleaned of the temporary files of others."""


@dataclass(frozen=True)
class OutputFile:
    """A file to be written: its path and its bytes, in pieces."""

    path: Path
    pieces: BytePieces
    like: tuple[Path, ...] = ()
    """The files it is made from: only people who may read all of them may read it."""
    new: bool = False
    """Whether an existing file at that path is an error, instead of being replaced."""
    durable: bool = False
    """Whether to wait until the file is on the disk (slow)."""
    keep: bool = False
    """Whether to keep the owner and permissions of the existing file, which belongs to another
    program.
    """


def write_file_atomically(
    path: Path, pieces: BytePieces, *like: Path, durable: bool = False
) -> None:
    """Write or replace a file, whole or not at all, and make missing folders above it.

    A pipe or a device is written to directly. Only people who may read all the files in `like` may
    read the new file. With `durable`, return only once the file would survive a power cut. `pieces`
    are joined without a copy.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    write_files_atomically([OutputFile(path, pieces, like, durable=durable)])


def write_files_atomically(outputs: list[OutputFile]) -> None:
    """Write all files under temporary names, and then move each into place.

    If one cannot be written, none is moved. Ctrl-C takes effect before the first move or after the
    last.

    Raises:
        UnreadableInput: a file cannot be written; or it cannot be moved, and files before it are
            already in place.
        FileExistsError: a file that must be new exists; files before it are already in place.
    """
    _check_not_folder_of_another(outputs)
    _allow_open_files(len(outputs) + _SPARE_OPEN_FILES)
    with ExitStack() as unfinished:
        written = [(output, _write_temporary_file(output, unfinished)) for output in outputs]
        with _delay_signals():
            for output, temporary in written:
                if temporary is not None:
                    _move_into_place(temporary, output)


def _check_not_folder_of_another(outputs: list[OutputFile]) -> None:
    """Check that no output has the path of a folder that another output needs.

    Raises:
        UnreadableInput: one has.
    """
    paths = [Path(os.path.realpath(output.path)) for output in outputs]
    folders: set[Path] = set()
    for path in paths:
        if path.parent not in folders:
            folders.update(path.parents)
    for path in paths:
        if path in folders:
            inner = next(other for other in paths if path in other.parents)
            reason = f"cannot be written: {inner} needs a folder of this name"
            raise UnreadableInput(reason, where=str(path))


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Let Ctrl-C, a closed terminal and a request to end wait until the block is done.

    Outside the main thread this does nothing: Python handles signals in that thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with ExitStack() as delayed:
        # Each has its own context, so that one that ends the program leaves no other replaced.
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP.
            if hasattr(signal, name):
                delayed.enter_context(_delay_signal(getattr(signal, name)))
        yield


@contextmanager
def _delay_signal(number: signal.Signals) -> Iterator[None]:
    """Replace the handler of a signal during the block, and raise the signal again afterwards.

    Blocking the signal in this thread is not enough: the system gives it to another one.
    """
    handler = signal.getsignal(number)
    if handler is None:  # not set by Python, which could not set it back
        yield
        return
    received: list[int] = []
    try:
        signal.signal(number, lambda caught, _: received.append(caught))
        yield
    finally:
        signal.signal(number, handler)
        if received:
            signal.raise_signal(number)


def _allow_open_files(count: int) -> None:
    """Raise this process's limit of open files to `count`, as far as the system allows.

    Each temporary file stays open until it is moved, because an open file can hold a lock. The
    usual limit is 1,024 files, and 256 on macOS. The raised limit stays, and child processes
    inherit it.
    """
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft == resource.RLIM_INFINITY:
        return
    # The kernel may refuse less than the hard limit: find the largest limit that it allows.
    allowed, refused, limit = soft, wanted + 1, wanted
    while allowed < limit:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            allowed = limit
        except (OSError, ValueError):
            refused = limit
        limit = (allowed + refused) // 2


def discard_unfinished_files() -> None:
    """Remove the temporary files that this process is writing; for use before an abrupt end."""
    for name in list(_unfinished_files):
        with suppress(OSError):
            Path(name).unlink()


def check_not_input(path: Path, files: tuple[str, ...]) -> None:
    """Check that an output path is not one of the input files, also by way of a link.

    Raises:
        UsageError: the output would overwrite an input.
    """
    try:
        target = path.stat()
    except (OSError, ValueError):
        return  # There is nothing to overwrite.
    for name in files:
        with suppress(OSError, ValueError):
            if name != STDIN and os.path.samestat(os.stat(name), target):  # noqa: PTH116 - faster
                hint = "Write to another file or folder with -o."
                raise UsageError(f"the output {path} would overwrite the input", hint=hint)


def has_same_bytes(path: Path, pieces: list[bytes | memoryview]) -> bool:
    """Return whether the bytes of a file equal the joined pieces.

    Raises:
        OSError: the file does not exist or cannot be read.
    """
    if path.stat().st_size != sum(len(piece) for piece in pieces):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == hash_pieces(pieces)


def hash_pieces(pieces: BytePieces) -> str:
    """Return the SHA-256 of the joined pieces, in hexadecimal."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def make_folder_tree(path: Path, mode: int = 0o777) -> None:
    """Make a folder and the missing folders above it; do nothing if it exists.

    `mkdir(parents=True)` would exceed the recursion limit at some depth, and use `mode` for the
    last folder alone.
    """
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(mode, exist_ok=True)


def _write_temporary_file(output: OutputFile, unfinished: ExitStack) -> Path | None:
    """Write the bytes of an output to a temporary file in the same folder, and return its path.

    Write to a pipe or a device directly, and return None. Closing `unfinished` removes the
    temporary file, unless it was moved.

    Raises:
        UnreadableInput: the folder or the file cannot be written.
    """
    path = Path(os.path.realpath(output.path))
    try:
        make_folder_tree(path.parent)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                file.writelines(output.pieces)
            return None
        _remove_leftovers_once(path.parent)
        handle, temporary = _create_locked_temporary(path.parent, unfinished)
        with os.fdopen(handle, "wb") as file:
            if not (output.keep and _copy_ownership(handle, path)):
                temporary.chmod(_compute_file_mode(handle, output.like))
            file.writelines(output.pieces)
            if output.durable:
                file.flush()
                os.fsync(handle)
    except OSError as error:
        raise _make_write_error(error, path) from error
    return temporary


def _create_locked_temporary(folder: Path, unfinished: ExitStack) -> tuple[int, Path]:
    """Create and lock a temporary file, and return its descriptor and path.

    Closing `unfinished` releases the lock and removes the file, unless it was moved.
    """
    while True:
        handle, name = tempfile.mkstemp(_TEMPORARY_SUFFIX, _TEMPORARY_PREFIX, folder)
        _unfinished_files.add(name)
        unfinished.callback(_discard_temporary_file, name)
        # A second descriptor keeps the lock when the file is closed. It must be closed before it is
        # moved, because only that shows whether all of it could be written.
        unfinished.callback(os.close, os.dup(handle))
        _lock_file(handle, wait=True)
        # Another process may have removed it as a leftover before it was locked.
        if path_exists(name):
            return handle, Path(name)
        os.close(handle)


def _discard_temporary_file(name: str) -> None:
    """Remove a temporary file, if it still exists, and forget that it is unfinished."""
    with suppress(OSError):
        Path(name).unlink()
    _unfinished_files.discard(name)


def _lock_file(handle: int, *, wait: bool) -> bool:
    """Lock an open file, and return whether this process has the lock now.

    Without `wait`, return False at once if another process has it. Also return False where the
    system or the file system has no locks.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _compute_file_mode(handle: int, like: tuple[Path, ...]) -> int:
    """Return the permissions for a new, open file: the usual ones, less those its sources lack.

    Only the owner gets access if the permissions of a source in `like` are unknown.
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
        # People who may read the source may read and write the output.
        readable = status.st_mode & _READ_BITS
        mode &= _OWNER_BITS | readable | readable >> 1
        if status.st_gid != group and not status.st_mode & stat.S_IROTH:
            mode &= ~_GROUP_BITS
    return mode


def _read_umask() -> int:
    """Return the umask of this process; the system can only exchange it, so set it back."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _copy_ownership(handle: int, path: Path) -> bool:
    """Copy the owner and permissions of the file at `path` to an open file.

    Return True; or change nothing and return False, if no file is there or on Windows.
    """
    if sys.platform == "win32" or not path.exists():
        return False
    status = path.stat()
    with suppress(PermissionError):
        os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))
    return True


def _move_into_place(temporary: Path, output: OutputFile) -> None:
    """Move a temporary file to the path of its output; sync the folder if that is durable.

    Raises:
        FileExistsError: the output must be new, and its path exists.
        UnreadableInput: the file cannot be moved.
    """
    path = Path(os.path.realpath(output.path))
    try:
        if output.new:
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise
            except OSError:
                # Not every file system has links. Here, a file that another process created since
                # we looked is overwritten.
                temporary.replace(path)
        else:
            temporary.replace(path)
        if output.durable:
            sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise _make_write_error(error, output.path) from error


def _make_write_error(error: OSError, path: Path) -> UnreadableInput:
    """Return the error to raise if the file at `path` cannot be written."""
    return UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path))


def remove_leftover_files(folder: Path) -> None:
    """Remove the temporary files that killed processes of vacr left in a folder and below it."""
    for place, _, names in os.walk(folder):
        if any(map(_TEMPORARY_NAME.fullmatch, names)):
            _remove_folder_leftovers(place)


def _remove_leftovers_once(folder: Path) -> None:
    """Remove leftover temporary files from a folder, unless this process did so before."""
    if str(folder) not in _tidied_folders:
        _tidied_folders.add(str(folder))
        _remove_folder_leftovers(str(folder))


def _remove_folder_leftovers(folder: str) -> None:
    """Remove the temporary files that killed processes left in a folder, not below it."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_left_over(Path(entry.path))


def _remove_if_left_over(path: Path) -> None:
    """Remove a temporary file of this user, unless a process still locks it."""
    with suppress(OSError), path.open("rb") as file:
        handle = file.fileno()
        if _lock_file(handle, wait=False) and os.fstat(handle).st_uid == os.geteuid():
            path.unlink()


def write_durable_file(path: Path, data: bytes, mode: int = _PUBLIC_FILE_MODE) -> None:
    """Write or replace a file so that a power cut leaves either the old or the new bytes.

    The folder must exist. `mode` has the permissions of the file.

    Raises:
        UnreadableInput: the file cannot be written; the old file is still there.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(".tmp", f".{path.name}-", path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            temporary.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(handle)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise _make_write_error(error, path) from error
    finally:
        if temporary is not None:
            # After a success it was moved, and is no longer there.
            with suppress(OSError):
                temporary.unlink()


def rewrite_and_sync(path: Path) -> None:
    """Write the bytes of a file over themselves and sync it; do nothing if it does not exist.

    After a failed sync, bytes may exist in the page cache alone, and another sync would not write
    them.

    Raises:
        OSError: the file cannot be read, written or synced.
    """
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        offset = 0
        while data := os.pread(handle, _REWRITE_CHUNK_SIZE, offset):
            offset += os.pwrite(handle, data, offset)
        os.fsync(handle)
    finally:
        os.close(handle)


def make_durable_folder(path: Path, within: Path) -> None:
    """Make a folder and the missing folders between it and `within`, and sync each to the disk.

    Do nothing if the folder exists.

    Raises:
        OSError: a folder cannot be made or synced.
    """
    if path == within or path.is_dir():
        return
    make_durable_folder(path.parent, within)
    path.mkdir(exist_ok=True)
    try:
        sync_folder(path.parent)
    except OSError:
        # Without this, the next call would find the folder and not sync it.
        with suppress(OSError):
            path.rmdir()
        raise


def sync_folder(folder: Path) -> None:
    """Write the list of a folder's files to the disk; do nothing on Windows.

    Raises:
        OSError: the folder cannot be opened or synced.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder_and_parents(folder: Path) -> None:
    """Sync a folder and all folders above it, so that a new folder survives a power cut.

    Folders without permission, and file systems that cannot sync folders, are skipped.

    Raises:
        OSError: a folder cannot be synced for another reason.
    """
    for level in (folder, *folder.parents):
        try:
            sync_folder(level)
        except OSError as error:
            # Folders further up may belong to others, and not every file system syncs folders.
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.EROFS):
                raise


@contextmanager
def hold_file_lock(path: Path, wait: float) -> Iterator[None]:
    """Lock the file at `path` against other processes while the context lasts.

    The file is created if it does not exist. The lock ends with the process at the latest. On
    Windows, nothing is locked.

    Raises:
        TimeoutError: another process still has the lock after `wait` seconds.
        OSError: the file cannot be opened.
    """
    if sys.platform == "win32":
        # Windows has no such lock; there, only one process at a time uses the state.
        yield
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _LOCK_FILE_MODE)
    try:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"another process still has {path} locked after {wait:g} seconds"
                    ) from error
                time.sleep(_LOCK_RETRY_SECONDS)
        yield
    finally:
        os.close(handle)
