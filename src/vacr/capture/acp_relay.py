"""The relay of `vacr acp`: passes bytes between an editor and its agent, and copies them aside.

Two processes share the work, so that recording can never disturb the conversation:

    editor  ⇄  relay (this module)  ⇄  agent
                 │ copies, with their offsets and times
                 ▼
               writer (`acp_transcript.py`) → transcript → journal

The relay forwards each piece as it arrives, and never waits for the writer. A writer that is slow,
stuck or killed costs only recorded bytes, never forwarded ones: the relay drops copies instead of
waiting, and soon starts another writer. Each copy carries its offset in the stream, so the next
writer sees how many bytes are missing, and notes the gap.

    >>> from vacr.capture.acp_relay import FROM_AGENT, StreamCopy, decode_copies, encode_copy
    >>> data = encode_copy(StreamCopy(FROM_AGENT, 7, 1_767_225_600_000_000_000, b'{"id": 1}'))
    >>> copies, rest = decode_copies(data + data[:5])
    >>> copies[0].offset, copies[0].data, len(rest)
    (7, b'{"id": 1}', 5)
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import IO, NamedTuple, cast

from vacr.errors import UnreadableInput

FROM_CLIENT, FROM_AGENT, AGENT_EXIT = b"c", b"a", b"x"
"""The origin of a copy; the copy with `AGENT_EXIT` has the exit status of the agent as its text."""

_READ_SIZE = 1 << 16
_COPY_HEADER = Struct(">cQQI")
_MAX_WAITING_BYTES = 1 << 28
"""Copies that wait for the writer; further ones are dropped, and noted as a gap."""
_RESTART_PAUSE_SECONDS = 1.0
"""The least time between two starts of a writer, which may fail at once."""
_WRITER_END_SECONDS = 30.0
"""How long the relay waits at the end, until the writer has everything on the disk."""
_SIGNAL_EXIT_BASE = 128


class StreamCopy(NamedTuple):
    """A piece of the conversation, as it was forwarded."""

    origin: bytes
    offset: int
    """How many bytes of the same origin came before it."""
    time: int
    """When it was forwarded, in nanoseconds since 1970."""
    data: bytes


def encode_copy(copy: StreamCopy) -> bytes:
    """Return a copy in the form that the writer reads."""
    return _COPY_HEADER.pack(copy.origin, copy.offset, copy.time, len(copy.data)) + copy.data


def decode_copies(data: bytes) -> tuple[list[StreamCopy], bytes]:
    """Return the whole copies at the start of `data`, and the bytes after the last of them."""
    copies = []
    at = 0
    while at + _COPY_HEADER.size <= len(data):
        origin, offset, moment, length = _COPY_HEADER.unpack_from(data, at)
        start = at + _COPY_HEADER.size
        if start + length > len(data):
            break
        copies.append(StreamCopy(origin, offset, moment, data[start : start + length]))
        at = start + length
    return copies, data[at:]


def relay_agent(command: Sequence[str], transcript: Path) -> int:
    """Run an agent on this process's standard streams, and copy them to a transcript.

    Return the exit code of the agent; if a signal ended it, 128 plus the signal.

    Raises:
        UnreadableInput: the agent cannot be started.
    """
    agent = _start_agent(command, subprocess.PIPE)
    agent_input, agent_output = cast("IO[bytes]", agent.stdin), cast("IO[bytes]", agent.stdout)
    copier = CopySender(transcript)
    copier.start()
    # The editor may keep its end open after the agent has ended, so nobody waits for this thread.
    threading.Thread(target=_forward_client, args=(agent_input, copier), daemon=True).start()
    _forward_agent(agent_output, copier)
    status = agent.wait()
    copier.add(AGENT_EXIT, str(status).encode())
    copier.finish()
    return status if status >= 0 else _SIGNAL_EXIT_BASE - status


def run_unrecorded(command: Sequence[str]) -> int:
    """Run an agent on this process's own streams, and return its exit code as `relay_agent` does.

    Raises:
        UnreadableInput: the agent cannot be started.
    """
    status = _start_agent(command, None).wait()
    return status if status >= 0 else _SIGNAL_EXIT_BASE - status


def _start_agent(command: Sequence[str], streams: int | None) -> subprocess.Popen[bytes]:
    """Start an agent, pass the signals on that would end this process, and return the agent.

    Raises:
        UnreadableInput: it cannot be started.
    """
    try:
        agent = subprocess.Popen([*command], stdin=streams, stdout=streams)
    except OSError as error:
        raise UnreadableInput(
            f"the agent cannot be started: {error.strerror or error}",
            where=command[0],
            hint="Name the program and its arguments after --: vacr acp -- PROGRAM ARGUMENTS",
        ) from error
    _pass_signals_on(agent)
    return agent


def _pass_signals_on(agent: subprocess.Popen[bytes]) -> None:
    """Leave the end to the agent: it gets every signal that would end the relay."""

    def pass_on(number: int, _frame: object) -> None:
        """Send a signal to the agent, unless it has ended."""
        with suppress(ProcessLookupError):
            agent.send_signal(number)

    # A terminal sends Ctrl-C to the agent, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), pass_on)


def _forward_client(agent_input: IO[bytes], copier: CopySender) -> None:
    """Forward the editor's bytes, until it closes its end or the agent does."""
    with suppress(OSError):
        while data := os.read(sys.stdin.fileno(), _READ_SIZE):
            copier.add(FROM_CLIENT, data)
            _write_all(agent_input.fileno(), data)
    with suppress(OSError):
        agent_input.close()


def _forward_agent(agent_output: IO[bytes], copier: CopySender) -> None:
    """Forward the agent's bytes, until it closes its end or the editor does."""
    with suppress(OSError):
        while data := os.read(agent_output.fileno(), _READ_SIZE):
            # First, because the answer may come before the next statement is reached.
            copier.add(FROM_AGENT, data)
            _write_all(sys.stdout.fileno(), data)
    # If the editor is gone, the agent must notice it at its next write, as without the relay.
    with suppress(OSError):
        agent_output.close()


def _write_all(target: int, data: bytes) -> None:
    """Write all bytes to a file descriptor.

    Raises:
        OSError: the reader is gone.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


class CopySender:
    """Hands copies to the writer in another process, from a thread that may wait for it."""

    def __init__(self, transcript: Path) -> None:
        """Prepare to send copies to a writer of `transcript`; `start` starts it."""
        self._transcript = transcript
        self._waiting: queue.SimpleQueue[StreamCopy | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._offsets = {FROM_CLIENT: 0, FROM_AGENT: 0, AGENT_EXIT: 0}
        self._writer: subprocess.Popen[bytes] | None = None
        self._next_start = 0.0
        self._thread = threading.Thread(target=self._send_copies, daemon=True)

    def start(self) -> None:
        """Start the thread, which starts the writer."""
        self._thread.start()

    def add(self, origin: bytes, data: bytes) -> None:
        """Add a piece that was forwarded; it is dropped if too many wait for the writer."""
        if origin == AGENT_EXIT:
            self._add_ends()
        offset = self._offsets[origin]
        self._offsets[origin] = offset + len(data)
        # Two threads change the sum; it is a limit for memory, and need not be exact.
        if self._waiting_bytes <= _MAX_WAITING_BYTES:
            self._waiting_bytes += len(data)
            self._waiting.put(StreamCopy(origin, offset, time.time_ns(), data))

    def _add_ends(self) -> None:
        """Add an empty copy at the end of each side, so that a gap before it is noted."""
        for side in (FROM_CLIENT, FROM_AGENT):
            self._waiting.put(StreamCopy(side, self._offsets[side], time.time_ns(), b""))

    def finish(self) -> None:
        """Wait until the writer has written everything, or is stuck."""
        self._waiting.put(None)
        # The thread may wait twice: for a full pipe, and for the end of the writer.
        self._thread.join(2 * _WRITER_END_SECONDS)

    def _send_copies(self) -> None:
        """Send the copies to a writer, in order, and wait for its end; runs in the thread."""
        last = b""
        self._start_writer(is_last=False)
        while (copy := self._waiting.get()) is not None:
            self._waiting_bytes -= len(copy.data)
            data = encode_copy(copy)
            is_last = copy.origin == AGENT_EXIT or not copy.data
            last += data if is_last else b""
            if not self._send(data) and self._start_writer(is_last=is_last):
                self._send(data)
        # A writer that was killed may have taken the last copies without writing them.
        if not self._end_writer() and self._start_writer(is_last=True):
            self._send(last)
            self._end_writer()

    def _end_writer(self) -> bool:
        """Let the writer end, and return whether it wrote everything, or is stuck."""
        if self._writer is None or self._writer.stdin is None:
            return False
        with suppress(OSError):
            self._writer.stdin.close()
        try:
            return self._writer.wait(_WRITER_END_SECONDS) == 0
        except subprocess.TimeoutExpired:
            return True

    def _send(self, data: bytes) -> bool:
        """Write to the writer, and return whether it took everything."""
        if self._writer is None or self._writer.stdin is None:
            return False
        try:
            _write_all(self._writer.stdin.fileno(), data)
        except OSError:
            with suppress(OSError):
                self._writer.stdin.close()
            self._writer.poll()
            self._writer = None
            return False
        return True

    def _start_writer(self, *, is_last: bool) -> bool:
        """Start a writer, and return whether it runs.

        Only the writer of the last copies is started without a pause after the one before.
        """
        now = time.monotonic()
        if now < self._next_start and not is_last:
            return False
        self._next_start = now + _RESTART_PAUSE_SECONDS
        # Without -P, Python would import modules from the folder that the agent works in.
        command = [sys.executable, "-P", "-m", "vacr.capture.acp_transcript", str(self._transcript)]
        try:
            self._writer = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl-C in a terminal must not end the writer before the agent.
                start_new_session=True,
            )
        except OSError:
            return False
        return True
