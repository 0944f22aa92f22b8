"""Inputs that a user names: files to read, the state folder, and addresses of services.

A name may be mistyped, a file may be a pipe that never ends, an address may have a password in it.
Each function returns a usable value, or raises an error that states the problem and the next step.

    >>> from pathlib import Path
    >>> from vacr.files import find_state_folder, parse_service_address, read_bytes
    >>> _ = Path("notes.txt").write_bytes(b"hello")
    >>> read_bytes("notes.txt", limit=4)
    b'hell'
    >>> find_state_folder({"HOME": "/home/nora"}).as_posix()
    '/home/nora/.local/state/vacr'
    >>> parse_service_address("https://log.example/a?b", "log", "Example: https://log.example").path
    '/a?b'
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError

STDIN = "-"
STATE_VARIABLE = "VACR_STATE"
CONFIG_VARIABLE = "VACR_CONFIG"

_READ_ERROR_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "no permission to read it",
    errno.EPERM: "no permission to read it",
    errno.ELOOP: "its symbolic links form a loop",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENXIO: "a socket, not a file",
}
_FOLDER_ERROR_REASONS = {
    errno.ENOENT: "the file system does not allow it",
    errno.EEXIST: "a file of this name exists",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EACCES: "no permission to write in {existing}",
    errno.EPERM: "no permission to write in {existing}",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
}
_INHERITED_FILE_PREFIXES = ("/dev/", "/proc/")
"""Where a path stands for an open file of this process.

It may be standard input, or a pipe that a shell substitutes for a command.
"""


# --- files ---


def read_bytes(path: str | Path, limit: int = -1) -> bytes:
    """Return the bytes of a file; the path `-` stands for standard input.

    A `limit` of 0 or more returns only that many bytes of a file; standard input is read whole. A
    file that grows meanwhile is read up to the size it had at the start.

    Raises:
        UnreadableInput: the file does not exist or cannot be read, or it is a folder, a device or
            a named pipe.
    """
    if str(path) == STDIN:
        if sys.stdin is None:
            raise UnreadableInput("standard input is closed", where=STDIN)
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                hint = "Name a file, or - for standard input."
                raise UnreadableInput("a device, not a file", where=str(path), hint=hint)
            if stat.S_ISFIFO(status.st_mode):
                _check_not_named_pipe(path)
                os.set_blocking(file.fileno(), True)
            # An agent may be writing: the next reading takes later additions.
            size = status.st_size if stat.S_ISREG(status.st_mode) and status.st_size else -1
            return file.read(size if limit < 0 else limit)
    except IsADirectoryError as error:
        hint = "Name a file in the folder."
        raise UnreadableInput("a folder, not a file", where=str(path), hint=hint) from error
    except (OSError, ValueError) as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file, and return its descriptor; do not wait for the other end of a pipe.

    This is an `opener` for `open`.
    """
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_not_named_pipe(path: str | Path) -> None:
    """Check that this process inherited the pipe at a path, as it does with `/dev/fd/3`.

    Reading any other pipe might never end.

    Raises:
        UnreadableInput: the path is a named pipe in a folder.
    """
    if not make_absolute(path).startswith(_INHERITED_FILE_PREFIXES):
        hint = "Redirect it to standard input: vacr … - < PIPE."
        raise UnreadableInput("a pipe, not a file", where=str(path), hint=hint)


def describe_file_error(error: OSError | ValueError) -> str:
    """Return why a file cannot be read, in words, such as "there is no such file".

    An error without a number, such as a ValueError, is described by its own text.
    """
    number = error.errno if isinstance(error, OSError) else None
    if not number:
        return str(error)
    return _READ_ERROR_REASONS.get(number) or os.strerror(number)


def format_path(path: str) -> str:
    """Return a path as valid text: each byte that is not UTF-8 becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


# --- paths, as the user wrote them ---
#
# Path drops a leading "./" and a trailing "/", and its methods raise where permission is denied or
# a name is too long. These functions keep the text of a path, and return False on any error.


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder, or a link to one."""
    return os.path.isdir(path)


def resolve_links(path: str) -> str:
    """Return a path without links; return it unchanged if it cannot be resolved.

    Sessions name folders of any kind, also ones that no system can have.
    """
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def is_file(path: str | Path) -> bool:
    """Return whether a path is a regular file, or a link to one."""
    return os.path.isfile(path)


def path_exists(path: str | Path) -> bool:
    """Return whether a path exists; False for a link to something that does not."""
    return os.path.exists(path)


def is_absolute(path: str) -> bool:
    """Return whether a path is absolute on this system; the path need not exist.

    `hook.py`, a script without Path, uses the same rule.
    """
    return os.path.isabs(path)


def make_absolute(path: str | Path) -> str:
    """Return the absolute path, with `..` resolved by its text alone: links stay in the path."""
    return os.path.abspath(path)


def join_path(folder: str | Path, name: str) -> str:
    """Return the folder and the name joined by a slash; an absolute name is returned alone."""
    return os.path.join(folder, name)


def walk_files(folder: str, on_error: Callable[[OSError], object]) -> Iterator[str]:
    """Yield the paths of all files in a folder and below it, in no particular order.

    Links to folders are not followed. A folder that cannot be listed is skipped, and `on_error` is
    called with the error.
    """
    for parent, _, names in os.walk(folder, onerror=on_error):
        for name in names:
            yield join_path(parent, name)


# --- the state folder ---


def find_state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of vacr's state: hooks' spools, journal, outbox and index.

    It is VACR_STATE, or `vacr` in XDG_STATE_HOME, or `.local/state/vacr` in the user's home, and
    need not exist. `hook.py` finds the same folder by itself, because it runs without the package;
    a test compares both.

    Raises:
        UsageError: VACR_STATE is a relative path, or the user has no home folder.
    """
    named = environment.get(STATE_VARIABLE, "")
    if named and not is_absolute(named):
        hint = "Hooks run in other folders, where a relative path would name another folder."
        raise UsageError(f"{STATE_VARIABLE} must be an absolute path: {named}", hint=hint)
    if named:
        return Path(named)
    state = environment.get("XDG_STATE_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    if is_absolute(state):
        return Path(state) / "vacr"
    home = find_home_folder(environment)
    if not home:
        hint = f"Set {STATE_VARIABLE} to the absolute path of a folder for it."
        raise UsageError("vacr has no folder for its state: you have no home folder", hint=hint)
    return Path(home) / ".local" / "state" / "vacr"


def find_config_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings for vacr, such as the trust store.

    It is VACR_CONFIG, or `vacr` in XDG_CONFIG_HOME, or `.config/vacr` in the user's home; on
    Windows, `vacr` in APPDATA. It need not exist.

    Raises:
        UsageError: VACR_CONFIG is a relative path, or the user has no home folder.
    """
    named = environment.get(CONFIG_VARIABLE, "")
    if named and not is_absolute(named):
        hint = "Write the whole path: a relative path depends on the current folder."
        raise UsageError(f"{CONFIG_VARIABLE} must be an absolute path: {named}", hint=hint)
    if named:
        return Path(named)
    for variable in ("XDG_CONFIG_HOME", *(("APPDATA",) if sys.platform == "win32" else ())):
        if is_absolute(environment.get(variable, "")):
            return Path(environment[variable]) / "vacr"
    home = find_home_folder(environment)
    if not home:
        hint = f"Set {CONFIG_VARIABLE} to the absolute path of a folder for them."
        raise UsageError("vacr has no folder for its settings: you have no home folder", hint=hint)
    return Path(home) / ".config" / "vacr"


def find_home_folder(environment: Mapping[str, str]) -> str:
    """Return the path of the user's home: HOME if it is absolute, or else the account's home.

    Return an empty string if the user has no account.
    """
    named = environment.get("HOME", "")
    if is_absolute(named):
        return named
    if sys.platform == "win32":
        return os.path.expanduser("~")  # Path.home raises if there is no home.
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def make_state_folder_error(folder: Path, error: OSError) -> UnreadableInput:
    """Return the error to raise if the state folder, or one in it, cannot be created or written."""
    hint = f"Set {STATE_VARIABLE} to a folder that you can write. vacr keeps its state there."
    place = Path(os.fsdecode(error.filename or folder))
    return make_folder_error(place, error, hint, "the state folder ")


def make_folder_error(folder: Path, error: OSError, hint: str, prefix: str = "") -> UnreadableInput:
    """Return the error to raise if a folder cannot be created or written.

    The message names the existing folder that refused it; `prefix` is put before the message.
    """
    existing = folder
    while not path_exists(existing) and existing != existing.parent:
        existing = existing.parent
    known_reason = _FOLDER_ERROR_REASONS.get(error.errno or 0)
    reason = known_reason.format(existing=existing) if known_reason else error.strerror
    verb = "written" if is_folder(folder) else "created"
    message = f"{prefix}cannot be {verb}: {reason or error}"
    return UnreadableInput(message, where=str(folder), hint=hint)


# --- services ---


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The parts of a service's URL; `path` includes the query, and is `/` if the URL has none."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_local(self) -> bool:
        """Return whether the host is this machine, so that nobody else can read the traffic."""
        return self.host in ("localhost", "127.0.0.1", "::1")


def parse_service_address(url: str, service: str, example: str) -> ServiceAddress:
    """Parse the http or https URL of a service.

    The error messages name the `service`, such as "log", and show the `example` as the next step.

    Raises:
        UsageError: the text is not such a URL, has a user name or a password, or has characters
            that must be percent-encoded.
    """
    # Most commands use no service, and this import takes a while.
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # The address is not shown, because it may contain a password.
        raise UsageError(
            f"the address of the {service} has an invalid host or port", hint=example
        ) from error
    # A password would appear in messages, and would never be sent to the service.
    if "@" in parts.netloc:
        raise UsageError(
            f"the address of the {service} must not have a user name or a password", hint=example
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url} is not an http or https address", hint=example)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url} has characters that must be percent-encoded", hint=example)
    query = f"?{parts.query}" if parts.query else ""
    return ServiceAddress(parts.scheme, parts.hostname, port, (parts.path or "/") + query)
