"""A run of `vacr watch` and hooks, step by step, for the tests of power loss.

python -m tests.faults.capture_scenario STAGE HOME STATE reports durable content line by line, by
`tests.faults.scenario.tell`: `event PAYLOAD` when a hook has ended, `frames JOURNAL COUNT HASH`
when a journal has written frames, `journaled JOURNAL PAYLOAD` for an event among them, and
`sealed RECORD` for a note of a record.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import cbor2

from tests.capture.hooks import COMMAND, HOOK, build_environment
from tests.capture.watching import add, line
from tests.faults.scenario import tell
from vacr.__main__ import main
from vacr.capture import session_capture, watcher
from vacr.capture.chains import FrameChain
from vacr.capture.session_capture import WatchSettings
from vacr.cli import watch

OPTIONS = ("--no-ui", "--checkpoint", "0", "--epoch", "0", "--quiet-after", "0")
LIMIT = ("--limit", "0.04")
_UNSYNCED = (
    "import os, runpy, sys; os.fdatasync = lambda _: os._exit(0); "
    f"runpy.run_path({HOOK!r}, run_name='__main__')"
)


class Agents:
    """The agents of a machine: they write transcripts, and run hooks."""

    def __init__(self, home, state):
        self.home, self.state = Path(home), Path(state)
        self.said = 0

    def path(self, session):
        return self.home / ".claude" / "projects" / "-home-nora-till" / f"{session}.jsonl"

    def writes(self, session, *numbers, text=""):
        add(self.path(session), b"".join(line(number, session, text) for number in numbers))

    def rewrites(self, count):
        path = self.home / ".gemini" / "tmp" / "till" / "chats" / "session-1.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        messages = [
            {"id": str(number), "type": "user", "content": f"question {number}"}
            for number in range(count)
        ]
        path.write_text(
            json.dumps(
                {"sessionId": "g", "startTime": "2026-07-25T10:00:00.000Z", "messages": messages}
            )
        )

    def tells(self, session, event="Stop", *, is_synced=True, has_transcript=True):
        """Run a hook to its end, or up to the sync of its frame."""
        self.said += 1
        said = {
            "session_id": session,
            "hook_event_name": event,
            "number": self.said,
            "run": os.getpid(),
        }
        where = {"transcript_path": str(self.path(session))} if has_transcript else {}
        payload = json.dumps(said | where).encode()
        command = (
            [*COMMAND, "claude-code"]
            if is_synced
            else [sys.executable, "-c", _UNSYNCED, "claude-code"]
        )
        subprocess.run(command, input=payload, env=build_environment(self.state), check=True)
        if is_synced:
            tell("event", payload)


def whole(agents):
    """Sessions grow, are sealed, continue, are deleted and come back; one hook never syncs."""
    agents.tells("first", "SessionStart")
    agents.writes("first", 0, 1, 2)
    yield
    agents.writes("first", 3)
    agents.writes("second", 0, 1)
    agents.tells("second")
    agents.tells("second", is_synced=False)
    yield
    agents.rewrites(2)
    yield
    agents.tells("nowhere", has_transcript=False)
    agents.tells("second", "SessionEnd")
    yield
    agents.rewrites(4)
    agents.writes("first", 4, text="x" * 3000)
    yield
    agents.writes("large", 0, text="y" * 40_000)  # there is no room for all of them
    yield
    agents.tells("first")
    agents.writes("first", 5)
    yield


def hooks(agents):
    """Events of a session: one is on the disk, and another is read before it is."""
    agents.writes("first", 0, 1)
    agents.tells("first")
    agents.tells("first", is_synced=False)
    yield
    agents.tells("first")
    yield


STAGES = {"whole": whole, "hooks": hooks}


class _AtOnce:
    """Runs tasks at once instead of in a thread, so that every run makes the same system calls."""

    def __init__(self, *_):
        pass

    def submit(self, work, *arguments):
        future = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001 - as a pool does
            future.set_exception(error)
        return future

    def shutdown(self):
        pass


def _telling(append):
    def told(chain, payloads):
        head = append(chain, payloads)
        name = str(chain.path).encode()
        tell("frames", name, str(head.frames).encode(), head.hash)
        for note in map(cbor2.loads, payloads if chain.path.suffix else ()):
            if note["kind"] == "event":
                tell("journaled", name, note["data"])
            if note["kind"] == "sealed":
                tell("sealed", note["record"])
        return head

    return told


def _changes(stage, agents):
    class Changes:
        """Looks at everything after each step, and once more to note the sealed records."""

        def __init__(self, *_, **__):
            pass

        def stop(self):
            pass

        def __iter__(self):
            for _ in STAGES[stage](agents):
                yield None
                yield None

    return Changes


if __name__ == "__main__":
    stage, home, state = sys.argv[1:]
    os.environ |= {"HOME": home, "VACR_STATE": state}
    FrameChain.append = _telling(FrameChain.append)
    watch.FileChanges = _changes(stage, Agents(home, state))
    WatchSettings.settling = 0.0
    watcher._RETIRE_INTERVAL_SECONDS = session_capture._STORE_PAUSE_SECONDS = 0.0
    session_capture._SPOOL_IDLE_SECONDS = session_capture._HOOK_GRACE_SECONDS = -1.0
    watcher.ThreadPoolExecutor = _AtOnce
    sys.argv[:] = ["vacr", "watch", *OPTIONS, *LIMIT]
    main()
