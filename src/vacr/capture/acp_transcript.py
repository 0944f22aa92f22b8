"""The transcript of a conversation in the Agent Client Protocol, and the process that writes it.

The protocol (ACP) is JSON-RPC over standard input and output: one message per line. No agent keeps
this conversation, so `vacr acp` writes it down as it passes: one line per message, verbatim, with
the time and the side that it came from. The transcript lies in the state folder, where `vacr list`
and `vacr watch` find it like the session of any agent.

    >>> from pathlib import Path
    >>> from vacr.capture.acp_relay import FROM_AGENT, StreamCopy
    >>> from vacr.capture.acp_transcript import TranscriptWriter
    >>> path = Path("talk.jsonl")
    >>> writer = TranscriptWriter(path)
    >>> writer.add(StreamCopy(FROM_AGENT, 0, 0, b'{"id":1}\\nOops'))
    >>> writer.add(StreamCopy(FROM_AGENT, 18, 0, b"\\n"))
    >>> writer.close()
    >>> print(path.read_text(), end="")
    {"acp":"message","at":"1970-01-01T00:00:00.000Z","from":"agent","end":9,"message":{"id":1}}
    {"acp":"text","at":"1970-01-01T00:00:00.000Z","from":"agent","end":13,"text":"Oops"}
    {"acp":"gap","at":"1970-01-01T00:00:00.000Z","from":"agent","end":18,"bytes":5}

| `acp` | the line holds |
|---|---|
| `start` | the agent's command and folder, and the version of vacr |
| `message` | a message; `end` is the offset after it in the stream of its side |
| `text`, `base64` | a line that is not JSON, or a part of one before a gap or the end |
| `gap` | how many bytes of one side are missing, because the writer was killed or stuck |
| `exit` | the exit status of the agent; negative for a signal |

This module also runs as the writer's process. It brings the transcript into the journal while the
conversation goes on, unless `vacr watch` is running: then the watcher does.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vacr.capture.acp_relay import (
    AGENT_EXIT,
    FROM_AGENT,
    FROM_CLIENT,
    StreamCopy,
    decode_copies,
)
from vacr.capture.hook import append_event
from vacr.capture.journal import Journal
from vacr.capture.session_sources import FileStamp, TranscriptPlace, follow_session
from vacr.files import find_state_folder, make_folder_tree, make_state_folder_error
from vacr.version import __version__

ACP_AGENT = "acp"
"""The name under which these conversations are listed, and the folder of their transcripts."""
TRANSCRIPT_VERSION = 1

_SIDES = {FROM_CLIENT: "client", FROM_AGENT: "agent"}
_PRIVATE_FOLDER_MODE = 0o700
_PRIVATE_FILE_MODE = 0o600
_READ_SIZE = 1 << 20
_TAIL_SIZE = 1 << 20
_JOURNAL_PAUSE_SECONDS = 2.0
_LAST_JOURNAL_TRIES = 5
_END_EVENT = b'{"hook_event_name": "SessionEnd"}'

_sync_data = getattr(os, "fdatasync", os.fsync)


def create_transcript(state: Path, command: Sequence[str], folder: str) -> Path:
    """Create a transcript in the state folder, with its first line, and return its path.

    Raises:
        UnreadableInput: the state folder cannot be written.
    """
    now = time.time_ns()
    moment = datetime.fromtimestamp(now // 10**9, UTC)
    name = f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}.jsonl"
    path = state / ACP_AGENT / name
    head = {
        "acp": "start",
        "at": _format_time(now),
        "version": TRANSCRIPT_VERSION,
        "command": [*command],
        "folder": folder,
        "recorder": f"vacr {__version__}",
    }
    try:
        make_folder_tree(path.parent, _PRIVATE_FOLDER_MODE)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            file.write(_encode_line(head))
    except OSError as error:
        raise make_state_folder_error(state, error) from error
    return path


class TranscriptWriter:
    """Appends the copies of a conversation to its transcript, line by line."""

    def __init__(self, path: Path) -> None:
        """Open the transcript for appending, and find out where an earlier writer stopped.

        Raises:
            OSError: it cannot be opened.
        """
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _PRIVATE_FILE_MODE)
        self._file = os.fdopen(handle, "r+b", buffering=0)
        self._ends = {FROM_CLIENT: 0, FROM_AGENT: 0}
        """Origin → the offset of the next byte that the transcript needs."""
        self._parts = {FROM_CLIENT: b"", FROM_AGENT: b""}
        """Origin → the start of a line whose rest has not come yet."""
        self._times = {FROM_CLIENT: 0, FROM_AGENT: 0}
        self._has_exit = False
        self._recover()

    def _recover(self) -> None:
        """Learn the offsets from the last lines; end a line that an earlier writer did not."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, size - _TAIL_SIZE))
        tail = self._file.read()
        if tail and not tail.endswith(b"\n"):
            self._file.write(b"\n")
        sides = {side: origin for origin, side in _SIDES.items()}
        for line in tail.split(b"\n"):
            with suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict) and value.get("from") in sides:
                    self._ends[sides[value["from"]]] = int(value["end"])
                elif isinstance(value, dict) and value.get("acp") == "exit":
                    self._has_exit = True

    def add(self, copy: StreamCopy) -> None:
        """Write the whole lines that a copy completes; note a gap before it.

        Raises:
            OSError: the transcript cannot be written.
        """
        if copy.origin == AGENT_EXIT:
            if not self._has_exit:
                about = {"at": _format_time(copy.time), "status": int(copy.data)}
                self._write({"acp": "exit", **about})
                self._has_exit = True
            return
        origin = copy.origin
        known = self._ends[origin] + len(self._parts[origin])
        if copy.offset > known:
            self._write_part(origin)
            self._ends[origin] = copy.offset
            self._write_gap(copy, copy.offset - known)
        # After a crash, a new writer may get bytes again that the transcript has.
        data = self._parts[origin] + copy.data[max(0, known - copy.offset) :]
        *lines, self._parts[origin] = data.split(b"\n")
        self._times[origin] = copy.time
        for line in lines:
            self._ends[origin] += len(line) + 1
            if line.strip():
                self._write_line(origin, line)

    def sync(self) -> None:
        """Make everything durable that was written.

        Raises:
            OSError: the disk does not confirm it.
        """
        _sync_data(self._file.fileno())

    def close(self) -> None:
        """Write the lines that were not ended, and close the transcript.

        Raises:
            OSError: the transcript cannot be written.
        """
        for origin in _SIDES:
            self._write_part(origin)
        self.sync()
        self._file.close()

    def _write_part(self, origin: bytes) -> None:
        """Write the start of a line whose rest will not come, if there is one."""
        part = self._parts[origin]
        self._parts[origin] = b""
        self._ends[origin] += len(part)
        if part.strip():
            self._write_line(origin, part)

    def _write_gap(self, copy: StreamCopy, size: int) -> None:
        """Note that some bytes before a copy are missing."""
        self._write({**self._describe(copy.origin, "gap", copy.time), "bytes": size})

    def _write_line(self, origin: bytes, line: bytes) -> None:
        """Write a line of the conversation: a message verbatim, anything else as text or base64."""
        line = line.strip()
        moment = self._times[origin]
        try:
            text = line.decode()
        except UnicodeDecodeError:
            data = base64.b64encode(line).decode()
            self._write({**self._describe(origin, "base64", moment), "base64": data})
            return
        if _is_json_message(text):
            head = _encode_line(self._describe(origin, "message", moment))
            self._file.write(b'%b,"message":%b}\n' % (head[:-2], line))
        else:
            self._write({**self._describe(origin, "text", moment), "text": text})

    def _describe(self, origin: bytes, kind: str, moment: int) -> dict[str, Any]:
        """Return the members that all lines of one side have."""
        side, end = _SIDES[origin], self._ends[origin]
        return {"acp": kind, "at": _format_time(moment), "from": side, "end": end}

    def _write(self, line: dict[str, Any]) -> None:
        """Write a line of the transcript."""
        self._file.write(_encode_line(line))


def _is_json_message(text: str) -> bool:
    """Return whether a text is a JSON object or array."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _encode_line(value: dict[str, Any]) -> bytes:
    """Return a value as a line of compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _format_time(nanoseconds: int) -> str:
    """Return a time since 1970 as a timestamp with milliseconds."""
    seconds, rest = divmod(nanoseconds, 10**9)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 10**6:03d}Z"


# --- the journal ---


class TranscriptJournal:
    """Brings a transcript into the journal of this machine, unless `vacr watch` does."""

    def __init__(self, state: Path, transcript: Path) -> None:
        """Prepare to follow a transcript; `follow` opens the journal."""
        self._state = state
        self._place = TranscriptPlace(ACP_AGENT, transcript)
        self._stamps: dict[Path, FileStamp] = {}

    def follow(self) -> bool:
        """Append the new bytes, sign a checkpoint over it, and return whether that was possible.

        It is not while another process has the journal; that is nearly always the watcher, which
        captures the transcript itself.
        """
        try:
            with closing(Journal(self._state / "journal")) as journal:
                if follow_session(journal.session(self._place.name), self._place, self._stamps):
                    journal.checkpoint()
        except Exception:  # noqa: BLE001 - the transcript must go on, whatever the journal does
            return False
        return True

    def finish(self) -> None:
        """Follow the rest of the transcript, and report the end of the session to the watcher."""
        for _ in range(_LAST_JOURNAL_TRIES):
            if self.follow():
                break
            time.sleep(_JOURNAL_PAUSE_SECONDS / _LAST_JOURNAL_TRIES)
        session = os.fsencode(self._place.path.stem)
        with suppress(OSError):
            append_event(os.fsencode(self._state), ACP_AGENT.encode(), session, _END_EVENT)


def write_transcript(path: Path, source: int) -> None:
    """Write the copies that come from a file descriptor, until it ends, and follow the transcript.

    Raises:
        OSError: the transcript cannot be written.
        VacrError: the state folder cannot be found.
    """
    journal = TranscriptJournal(find_state_folder(os.environ), path)
    next_look = time.monotonic()
    is_new = True
    with closing(TranscriptWriter(path)) as writer:
        for copies in _read_copies(source):
            for copy in copies:
                writer.add(copy)
            if copies:
                writer.sync()
            is_new = is_new or bool(copies)
            now = time.monotonic()
            if is_new and now >= next_look:
                is_new = not journal.follow()
                next_look = time.monotonic() + _JOURNAL_PAUSE_SECONDS
    journal.finish()


def _read_copies(source: int) -> Iterator[list[StreamCopy]]:
    """Yield the copies that arrive; an empty list if none arrived for a while."""
    rest = b""
    while True:
        ready, _, _ = select.select([source], [], [], _JOURNAL_PAUSE_SECONDS)
        if not ready:
            yield []
            continue
        data = os.read(source, _READ_SIZE)
        if not data:
            return
        copies, rest = decode_copies(rest + data)
        yield copies


def _run_writer(arguments: list[str]) -> None:
    """Run as the writer's process; the relay ends it by closing its standard input."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    os.umask(0o077)
    write_transcript(Path(arguments[0]), sys.stdin.fileno())


if __name__ == "__main__":
    _run_writer(sys.argv[1:])
