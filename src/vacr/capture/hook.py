"""The script that an agent runs at each event: append the event to the session's spool, and exit.

    PYTHON -I -S …/vacr/capture/hook.py AGENT [EVENT]

The event comes on standard input, or as an argument. For example

    echo '{"session_id": "abc"}' | python -I -S hook.py some-agent

appends a frame to `spool/some-agent/abc.spool` in the state folder. The script always exits with 0
and prints nothing, so that an agent neither waits nor changes its behaviour. Nearly all of the cost
is starting up: the script uses the standard library alone, never imports the package, and loads
even `json`, `signal` and `pathlib` only for unusual events.

A frame is a magic (4 bytes), the length of the payload (4), nanoseconds since 1970 (8), a CRC-32 of
these and the payload (4), and the payload; numbers are big endian. `spool.py` reads spools.
"""

import _signal  # type: ignore[import-not-found]  # The enumerations of `signal` are slow to load.
import os
import select
import sys
import time
from binascii import crc32

FRAME_MAGIC = b"\xffvS\xfe"
"""UTF-8 text never has these bytes, so no payload of text looks like a frame."""
SESSION_MEMBERS = {
    "claude-code": b"session_id",
    "codex-cli": b"session_id",
    "gemini-cli": b"session_id",
    "cursor": b"conversation_id",
    "opencode": b"sessionID",
}
"""Agent → the member of its events that names the session."""
ARGUMENT_SESSION_MEMBER = b"thread-id"
"""The same for events that Codex passes as an argument (`notify`)."""
UNKNOWN_NAME = b"unknown"
MAX_NAME_LENGTH = 120
MAX_EVENT_SIZE = 1 << 30
ERROR_LOG_FILE = b"hook-errors.log"
MAX_ERROR_LOG_SIZE = 1 << 18
READ_TIMEOUT_SECONDS = 5.0
"""How long to wait for more of an event; not every agent closes the pipe."""

_POLL_MS = 100
_READ_SIZE = 1 << 20
_WRITE_TRIES = 3
_SAFE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_WHITE_SPACE = b" \t\r\n"
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NO_LINK_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Opening a pipe must not block until somebody reads it.
_APPEND_FLAGS = (
    os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK_FLAGS | getattr(os, "O_NONBLOCK", 0)
)

_is_stopped = False


def main(arguments: list[bytes]) -> None:
    """Append the event to its spool; write any failure to the error log instead of raising it.

    The arguments are the name of the agent and perhaps the event; without an event, it is read from
    standard input.
    """
    for number in (_signal.SIGTERM, _signal.SIGINT, getattr(_signal, "SIGHUP", _signal.SIGTERM)):
        _signal.signal(number, _stop_reading)
    os.umask(0o077)
    agent = arguments[0] if arguments else UNKNOWN_NAME
    try:
        payload, member = read_event(arguments)
        if len(payload) >= MAX_EVENT_SIZE:
            write_error_line(agent, f"kept only the first {len(payload)} bytes of an event")
        if payload:
            session = find_session_id(payload, member)
            append_event(find_state_folder(os.environb), agent, session, payload)
        else:
            write_error_line(agent, "the event is empty")
    except BaseException as error:  # noqa: BLE001 - the agent must never see an error
        write_error_line(agent, f"{type(error).__name__}: {error}")


def _stop_reading(_number: int, _frame: object) -> None:
    """Stop waiting for the rest of the event; the bytes so far are still written."""
    global _is_stopped  # noqa: PLW0603 - a signal handler has no other way
    _is_stopped = True


def read_event(arguments: list[bytes]) -> tuple[bytes, bytes]:
    """Return the bytes of the event, and the name of its JSON member with the session's id.

    The event is the last argument, if there is one after the agent's name, or else standard input.
    """
    if len(arguments) > 1:
        return arguments[-1], ARGUMENT_SESSION_MEMBER
    agent = os.fsdecode(arguments[0]) if arguments else ""
    return read_event_bytes(0), SESSION_MEMBERS.get(agent, b"session_id")


def read_event_bytes(handle: int) -> bytes:
    """Return the bytes from a file descriptor, up to the end of the file or of the event.

    A timeout, the size limit or a signal also ends it; the bytes so far are returned.
    """
    data = bytearray()
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    last = time.monotonic()
    while not _is_stopped and len(data) < MAX_EVENT_SIZE:
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
    """Return whether the bytes so far are a whole JSON object."""
    if not data.rstrip(_WHITE_SPACE).endswith(b"}"):
        return False
    import json

    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def find_session_id(payload: bytes, member: bytes) -> bytes:
    """Return the text of an event's top-level member, the id of its session.

    Return empty bytes if the event is not a JSON object, or the member is missing or not a text.
    """
    session = _find_leading_member(payload, member)
    if session is not None:
        return session
    # An unusual event needs a real parser.
    import json

    try:
        value = json.loads(payload.decode("utf-8", "replace")).get(member.decode())
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""
    except (ValueError, RecursionError, AttributeError):
        return b""


def _find_leading_member(payload: bytes, member: bytes) -> "bytes | None":
    """Return the text of a member that comes before any nested value or escape, without a parser.

    Up to there, every quote starts or ends a string. Return None if the member is not found.
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
    """Return a name as a safe file name: not a path, not hidden, and not too long.

    Other bytes are percent-encoded, such as `a/b` to `a%2Fb`. A long name is cut, and its digest
    added. An empty name becomes `unknown`.
    """
    name = name or UNKNOWN_NAME
    safe = b"".join(
        b"%c" % byte if byte in _SAFE_BYTES else b"%%%02X" % byte for byte in name[:MAX_NAME_LENGTH]
    )
    if safe.startswith(b"."):
        safe = b"%2E" + safe[1:]
    if len(name) <= MAX_NAME_LENGTH and len(safe) <= MAX_NAME_LENGTH:
        return safe
    import hashlib

    # Do not cut an escape sequence in two.
    start = safe[:40].rpartition(b"%")[0] or safe[:40]
    return b"%s-%s" % (start, hashlib.sha256(name).hexdigest().encode())


def find_state_folder(environment: "os._Environ[bytes]") -> bytes:
    """Return the state folder of vacr, as `vacr.files` does.

    Here, a relative path in VACR_STATE is ignored: a hook must not fail.
    """
    for variable, subfolder in (
        (b"VACR_STATE", b""),
        (b"XDG_STATE_HOME", b"vacr"),
        (b"HOME", b".local/state/vacr"),
    ):
        folder = environment.get(variable, b"")
        if os.path.isabs(folder):
            return os.path.join(folder, subfolder) if subfolder else folder
    import pwd

    return os.path.join(os.fsencode(pwd.getpwuid(os.getuid()).pw_dir), b".local/state/vacr")


def append_event(state: bytes, agent: bytes, session: bytes, payload: bytes) -> None:
    """Append an event to the spool of a session in the folder `state`, and sync it to the disk.

    Missing folders are created.

    Raises:
        OSError: the frame cannot be written.
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
        # The names of a new spool and its folders must reach the disk before its content. Another
        # hook may have created it, and may have been killed before it synced them.
        if not os.fstat(handle).st_size:
            for folder in folders:
                os.fsync(folder)
            _sync_parent_folders(state)
    finally:
        _write_frame(handle, payload)
        getattr(os, "fdatasync", os.fsync)(handle)


def _sync_parent_folders(path: bytes) -> None:
    """Sync the folders above a path, up to the first that we may not open."""
    try:
        while path != (path := os.path.dirname(path)):
            os.fsync(os.open(path, _FOLDER_FLAGS))
    except OSError:
        pass


def _write_frame(handle: int, payload: bytes) -> None:
    """Write a payload as one frame in a single write.

    A frame that was cut short is written again as a whole: readers skip incomplete frames.

    Raises:
        OSError: the frame was cut short each time, or cannot be written.
    """
    head = FRAME_MAGIC + len(payload).to_bytes(4, "big") + time.time_ns().to_bytes(8, "big")
    head += crc32(payload, crc32(head)).to_bytes(4, "big")
    for _ in range(_WRITE_TRIES):
        written = os.writev(handle, [head, payload])
        if written == len(head) + len(payload):
            return
    raise OSError(f"only {written} of {len(head) + len(payload)} bytes could be written")


def write_error_line(agent: bytes, message: str) -> None:
    """Append a line with the time, the agent and a message to the error log; never raise.

    A log that is too large is emptied first.
    """
    try:
        state = find_state_folder(os.environb)
        os.makedirs(state, 0o700, exist_ok=True)
        handle = os.open(os.path.join(state, ERROR_LOG_FILE), _APPEND_FLAGS, 0o600)
        if os.fstat(handle).st_size > MAX_ERROR_LOG_SIZE:
            os.ftruncate(handle, 0)
        line = f"{time.time_ns()} {agent[:100]!r} {message[:500]!r}\n"
        os.write(handle, line.encode("utf-8", "backslashreplace"))
    except BaseException:  # noqa: BLE001, S110 - there is no other way to report it
        pass


if __name__ == "__main__":
    try:
        main([os.fsencode(argument) for argument in sys.argv[1:]])
    finally:
        # Skip the interpreter's clean-up, which could still fail and change the exit code.
        os._exit(0)
