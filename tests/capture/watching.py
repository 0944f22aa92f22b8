"""A machine with agents on it, and `vacr watch` as a real process that follows them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests import forking
from tests.capture.hooks import run_hook
from tests.conftest import ROOT
from vacr.capture.chains import EMPTY_CHAIN_HEAD
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.session_journal import (
    SessionState,
    get_session_journal_path,
    list_session_journals,
    replay_journal,
)
from vacr.capture.session_sources import TranscriptPlace
from vacr.files.inputs import format_path

SESSION = "3c9e7b10-5d42-4f6a-8b1e-7a2c4d6e8f01"
ALONE = (
    "HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "CURSOR_DATA_DIR",
    "OPENCODE_DB",
)
_PAUSE = 0.01


def line(number: int, session: str = SESSION, text: str = "") -> bytes:
    """Return a line like Claude Code writes it."""
    message = {"role": "user", "content": text or f"question {number}"}
    stamp = f"2026-07-25T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
    own = {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": session,
        "cwd": "/home/nora",
        "version": "2.1.72",
    }
    return json.dumps(own | {"timestamp": stamp, "message": message}).encode() + b"\n"


def lines(count: int, first: int = 0, session: str = SESSION) -> bytes:
    """Return several lines."""
    return b"".join(line(number, session) for number in range(first, first + count))


def add(path: Path, data: bytes) -> None:
    """Append to a file, as agents do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write(data)


class Machine:
    """A home with agents in it, and a state folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.state = folder / "home", folder / "state"
        self.home.mkdir(parents=True)
        self.started: list[Watching] = []

    @property
    def journal(self) -> Path:
        return self.state / "journal"

    def variables(self, **more: str) -> dict[str, str]:
        own = ("VACR_", "XDG_")
        found = {
            name: value
            for name, value in os.environ.items()
            if name not in ALONE and not name.startswith(own)
        }
        return found | {"HOME": str(self.home), "VACR_STATE": str(self.state)} | more

    def run(self, *arguments, before=(), **more):
        """Run a verb to its end; it must not print a stack trace."""
        if before:
            command = [*before, sys.executable, "-m", "vacr", *map(str, arguments)]
            done = subprocess.run(command, env=self.variables(**more), capture_output=True)
        else:
            done = forking.run(arguments, ROOT, self.variables(**more))
        done.out, done.err = (
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )
        assert "Traceback" not in done.err, done.err
        return done

    def once(self, *options, code=0, **more):
        """Capture the current state; the exit code must be `code`."""
        done = self.run("watch", "--once", "--no-ui", *options, **more)
        assert done.returncode == code, done.err
        return done

    def watch(self, *options, before=(), **more):
        """Start the watcher, and wait until it is ready."""
        self.started.append(Watching(self, options, before, more))
        return self.started[-1]

    def verify(self, *options, folder=None):
        """Verify the journal, and return the report, which must agree with the exit code."""
        done = self.run(
            "journal", "verify", *([folder] if folder else []), "--format", "json", *options
        )
        assert done.returncode in (0, 1), done.err
        found = json.loads(done.stdout)
        assert found["holds"] == (done.returncode == 0) == (not found["findings"])
        return found

    def check_intact(self, *options):
        """Verify the journal; it must hold."""
        found = self.verify(*options)
        assert found["findings"] == []
        return found

    def transcript(self, session: str = SESSION, project: str = "-home-nora-till") -> Path:
        """Return the path of a transcript of Claude Code."""
        return self.home / ".claude" / "projects" / project / f"{session}.jsonl"

    def end(self, path: Path, agent: str = "claude-code") -> None:
        """Run the agent's hook with the event that ends a session."""
        event = {
            "session_id": path.stem,
            "hook_event_name": "SessionEnd",
            "transcript_path": str(path),
            "reason": "exit",
        }
        run_hook(self.state, agent, stdin=json.dumps(event).encode())

    # --- the content of the journal ---

    def names(self) -> list[str]:
        return list(list_session_journals(self.journal))

    def name_of(self, path: Path, agent: str = "claude-code", session: str = "") -> str:
        return TranscriptPlace(agent, path, session).name

    def state_of(self, name: str) -> SessionState | None:
        """Return the current state of a session journal, or None."""
        path = get_session_journal_path(self.journal, name)
        if not path.exists():
            return None
        found = None
        for found in replay_journal(path, name, EMPTY_CHAIN_HEAD):  # noqa: B007 - the last is what counts
            pass
        return found

    def last_seen(
        self, path: Path, agent: str = "claude-code", session: str = ""
    ) -> dict[str, bytes]:
        """Return the parts of a session as last captured."""
        state = self.state_of(self.name_of(path, agent, session))
        return (
            {part.name: bytes(part.content.loaded) for part in state.parts}
            if state is not None
            else {}
        )

    def captured(self, path: Path) -> bytes | None:
        """Return the bytes of a transcript as last captured."""
        return self.last_seen(path).get(format_path(path.name))

    def first_seen(
        self, path: Path, agent: str = "claude-code", session: str = ""
    ) -> dict[str, bytes]:
        name = self.name_of(path, agent, session)
        *_, head = heads(get_session_journal_path(self.journal, name))
        return restore_first_seen_parts(get_session_journal_path(self.journal, name), name, head)

    def sealed(self) -> list[Path]:
        """Return the paths of the sealed records."""
        return sorted(path for path in (self.state / "sealed").rglob("*.acr.json"))

    def stop(self) -> None:
        for started in self.started:
            if started.process.poll() is None:
                started.process.kill()
                started.process.wait()


def heads(path: Path):
    """Yield the head of a chain after each frame."""
    from vacr.capture.chains import ChainScan, read_frames

    scan = ChainScan()
    with path.open("rb") as file:
        for _ in read_frames(file, str(path), scan, EMPTY_CHAIN_HEAD):
            yield scan.head


class Watching:
    """`vacr watch`, running."""

    def __init__(self, machine: Machine, options, before, more) -> None:
        self.machine = machine
        machine.state.mkdir(parents=True, exist_ok=True)
        self.output_file = machine.state / f"output-{len(machine.started)}"
        command = [*before, sys.executable, "-m", "vacr", "watch", "--no-ui", *map(str, options)]
        with self.output_file.open("wb") as file:
            self.process = subprocess.Popen(
                command, env=machine.variables(**more), stdout=file, stderr=file
            )
        self.wait_until(lambda: "Journal: " in self.output)

    @property
    def output(self) -> str:
        return self.output_file.read_text(errors="replace")

    def wait_until(self, condition) -> None:
        """Wait until a condition holds, as long as the process runs."""
        while not condition():
            assert self.process.poll() is None, self.output
            time.sleep(_PAUSE)

    def wait_until_captured(self, path: Path, data: bytes | None = None) -> None:
        """Wait until a transcript is captured completely."""
        self.wait_until(
            lambda: self.machine.captured(path) == (path.read_bytes() if data is None else data)
        )

    def stop(self, how: int = signal.SIGTERM) -> str:
        """Stop the process, and return its output."""
        self.process.send_signal(how)
        code = self.process.wait()
        assert code == (-how if how == signal.SIGKILL else 0), (code, self.output)
        assert "Traceback" not in self.output, self.output
        return self.output
