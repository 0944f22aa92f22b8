"""What an agent runs at each event: append the event's bytes to the session's spool, and be gone.
Step: capture.

    PYTHON -I -S …/vacr/capture/hook.py AGENT [EVENT]

The event comes on standard input, or as an argument. Whatever happens the exit code is 0 and
nothing is printed, so that an agent neither waits nor changes its mind. It is a script of the
standard library only, never imports the package, and leaves out even `json`, `signal` and `pathlib`
unless something is odd: starting is nearly all that it costs.

A frame is magic (4 bytes), length of the payload (4), nanoseconds since 1970 (8), CRC-32 of these
and the payload (4), payload; numbers are big endian. A spool is `spool/AGENT/SESSION.spool` in the
state folder; `spool.py` reads it.
"""

import _signal  # type: ignore[import-not-found]  # The enumerations of `signal` are slow to load.
import os
import select
import sys
import time
from binascii import crc32

FRAME_MAGIC = b"\xffvS\xfe"
"""No text in UTF-8 holds these bytes, so that no payload looks like a frame."""
SESSION_MEMBERS = {
    "claude-code": b"session_id",
    "codex-cli": b"session_id",
    "gemini-cli": b"session_id",
    "cursor": b"conversation_id",
    "opencode": b"sessionID",
}
"""Agent → the member of its events that names the session."""
ARGUMENT_SESSION_MEMBER = b"thread-id"
"""The same in the events that Codex gives as an argument (`notify`)."""
UNKNOWN_NAME = b"unknown"
MAX_NAME_LENGTH = 120
MAX_EVENT_SIZE = 1 << 30
ERROR_LOG_FILE = b"hook-errors.log"
MAX_ERROR_LOG_SIZE = 1 << 18
READ_TIMEOUT_SECONDS = 5.0
"""How long to wait for more of an event, in seconds: not every agent closes its end."""

_POLL_MS = 100
_READ_SIZE = 1 << 20
_WRITE_TRIES = 3
_SAFE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_WHITE_SPACE = b" \t\r\n"
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NO_LINK_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# What is no file must not keep us waiting for somebody to read it.
_APPEND_FLAGS = (
    os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK_FLAGS | getattr(os, "O_NONBLOCK", 0)
)

_ended = False


def main(arguments: list[bytes]) -> None:
    """Append an event to its spool; what fails is noted where that is possible."""
    for number in (_signal.SIGTERM, _signal.SIGINT, getattr(_signal, "SIGHUP", _signal.SIGTERM)):
        _signal.signal(number, _stop_reading)
    os.umask(0o077)
    agent = arguments[0] if arguments else UNKNOWN_NAME
    try:
        payload, member = read_event(arguments)
        if len(payload) >= MAX_EVENT_SIZE:
            write_error_line(agent, f"only the first {len(payload)} bytes of an event were taken")
        if payload:
            append_event(
                find_state_folder(os.environb), agent, find_session_id(payload, member), payload
            )
        else:
            write_error_line(agent, "no event was given")
    except BaseException as error:  # noqa: BLE001 - an agent must never see it
        write_error_line(agent, f"{type(error).__name__}: {error}")


def _stop_reading(_number: int, _frame: object) -> None:
    """Wait for no more of the event; what came is still written."""
    global _ended  # noqa: PLW0603 - the handler of a signal has no other way
    _ended = True


def read_event(arguments: list[bytes]) -> tuple[bytes, bytes]:
    """Give the bytes of the event, and the member of it that names the session."""
    if len(arguments) > 1:
        return arguments[-1], ARGUMENT_SESSION_MEMBER
    return read_event_bytes(0), SESSION_MEMBERS.get(
        os.fsdecode(arguments[0]) if arguments else "", b"session_id"
    )


def read_event_bytes(handle: int) -> bytes:
    """Read until the end, or until nothing more comes that could be waited for."""
    data = bytearray()
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    last = time.monotonic()
    while not _ended and len(data) < MAX_EVENT_SIZE:
        if ready.poll(_POLL_MS):
            piece = os.read(handle, _READ_SIZE)
            if not piece:
                break
            data += piece
            last = time.monotonic()
        elif time.monotonic() - last > READ_TIMEOUT_SECONDS or is_complete_event(data):
            break
    return bytes(data)


def is_complete_event(data: bytearray) -> bool:
    """Tell whether an event has come whole, though its sender keeps the pipe open."""
    if not data.rstrip(_WHITE_SPACE).endswith(b"}"):
        return False
    import json

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def find_session_id(payload: bytes, member: bytes) -> bytes:
    """Find the session that an event names. Only its own members count, not those of what it
    carries.
    """
    found = _find_leading_member(payload, member)
    if found is not None:
        return found
    # What is not as simple as agents have it is left to a whole parser.
    import json

    try:
        session = json.loads(payload.decode("utf-8", "replace")).get(member.decode())
        return session.encode("utf-8", "surrogatepass") if isinstance(session, str) else b""
    except (ValueError, RecursionError, AttributeError):
        return b""


def _find_leading_member(payload: bytes, member: bytes) -> "bytes | None":
    """Find a text among the first members of an object, before any object, list or escape: there
    every quote divides.
    """
    start = payload.find(b"{") + 1
    if not start or payload[: start - 1].strip(_WHITE_SPACE):
        return None
    ends = [at for at in (payload.find(sign, start) for sign in (b"{", b"[", b"\\")) if at >= 0]
    words = payload[start : min(ends, default=len(payload))].split(b'"')
    for name, between, text, _ in zip(
        words[1::2], words[2::2], words[3::2], words[4::2], strict=False
    ):
        if name == member and between.strip(_WHITE_SPACE) == b":":
            return text
    return None


def make_file_name(name: bytes) -> bytes:
    """Make a name fit for a file: no other folder, nothing hidden, not too long."""
    name = name or UNKNOWN_NAME
    safe = b"".join(
        b"%c" % byte if byte in _SAFE_BYTES else b"%%%02X" % byte for byte in name[:MAX_NAME_LENGTH]
    )
    if safe.startswith(b"."):
        safe = b"%2E" + safe[1:]
    if len(name) <= MAX_NAME_LENGTH and len(safe) <= MAX_NAME_LENGTH:
        return safe
    import hashlib

    return b"%s-%s" % (
        safe[:40].rpartition(b"%")[0] or safe[:40],
        hashlib.sha256(name).hexdigest().encode(),
    )


def find_state_folder(environment: "os._Environ[bytes]") -> bytes:
    """Give the folder that vacr keeps its state in, as `vacr.files` has it."""
    for variable, under in (
        (b"VACR_STATE", b""),
        (b"XDG_STATE_HOME", b"vacr"),
        (b"HOME", b".local/state/vacr"),
    ):
        named = environment.get(variable, b"")
        if os.path.isabs(named):
            return os.path.join(named, under) if under else named
    import pwd

    return os.path.join(os.fsencode(pwd.getpwuid(os.getuid()).pw_dir), b".local/state/vacr")


def append_event(state: bytes, agent: bytes, session: bytes, payload: bytes) -> None:
    """Append a frame to the spool of a session, so that it survives a power cut.

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(state, 0o700, exist_ok=True)
    folders = [os.open(state, _FOLDER_FLAGS)]
    for name in (b"spool", make_file_name(agent)):
        try:
            os.mkdir(name, 0o700, dir_fd=folders[-1])
        except FileExistsError:
            pass
        folders.append(os.open(name, _FOLDER_FLAGS | _NO_LINK_FLAGS, dir_fd=folders[-1]))
    handle = os.open(make_file_name(session) + b".spool", _APPEND_FLAGS, 0o600, dir_fd=folders[-1])
    try:
        # Nothing is in a spool whose name the disk does not have, whoever made it.
        if not os.fstat(handle).st_size:
            for folder in folders:
                os.fsync(folder)
            _sync_parent_folders(state)
    finally:
        _write_frame(handle, payload)
        getattr(os, "fdatasync", os.fsync)(handle)


def _sync_parent_folders(path: bytes) -> None:
    """Have on the disk that a folder is there, and those above it, as far as they are ours to be
    synced.
    """
    try:
        while path != (path := os.path.dirname(path)):
            os.fsync(os.open(path, _FOLDER_FLAGS))
    except OSError:
        pass


def _write_frame(handle: int, payload: bytes) -> None:
    """Write a frame in one piece; one that was cut short is passed over by whoever reads, and is
    written again.
    """
    head = FRAME_MAGIC + len(payload).to_bytes(4, "big") + time.time_ns().to_bytes(8, "big")
    head += crc32(payload, crc32(head)).to_bytes(4, "big")
    for _ in range(_WRITE_TRIES):
        written = os.writev(handle, [head, payload])
        if written == len(head) + len(payload):
            return
    raise OSError(f"only {written} bytes of a frame could be written")


def write_error_line(agent: bytes, message: str) -> None:
    """Note what failed, in a file that does not grow for ever."""
    try:
        state = find_state_folder(os.environb)
        os.makedirs(state, 0o700, exist_ok=True)
        handle = os.open(os.path.join(state, ERROR_LOG_FILE), _APPEND_FLAGS, 0o600)
        if os.fstat(handle).st_size > MAX_ERROR_LOG_SIZE:
            os.ftruncate(handle, 0)
        line = f"{time.time_ns()} {agent[:100]!r} {message[:500]!r}\n"
        os.write(handle, line.encode("utf-8", "backslashreplace"))
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass


if __name__ == "__main__":
    try:
        main([os.fsencode(argument) for argument in sys.argv[1:]])
    finally:
        # Nothing is left to be tidied, and no error on the way out may give another code.
        os._exit(0)
