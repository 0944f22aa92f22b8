"""Run `vacr watch` and hooks step by step, to test power loss.

python -m tests.faults.capture_scenario STAGE HOME STATE reports durable content line by line, by
`tests.faults.scenario.report`: `event PAYLOAD` when a hook has ended, `frames JOURNAL COUNT HASH`
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
from tests.faults.scenario import report
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
        self.event_count = 0

    def path(self, session):
        return self.home / ".claude" / "projects" / "-home-nora-till" / f"{session}.jsonl"

    def write(self, session, *numbers, text=""):
        add(self.path(session), b"".join(line(number, session, text) for number in numbers))

    def rewrite(self, count):
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

    def run_hook(self, session, event="Stop", *, is_synced=True, has_transcript=True):
        """Run a hook to its end, or up to the sync of its frame."""
        self.event_count += 1
        event_data = {
            "session_id": session,
            "hook_event_name": event,
            "number": self.event_count,
            "run": os.getpid(),
        }
        where = {"transcript_path": str(self.path(session))} if has_transcript else {}
        payload = json.dumps(event_data | where).encode()
        command = (
            [*COMMAND, "claude-code"]
            if is_synced
            else [sys.executable, "-c", _UNSYNCED, "claude-code"]
        )
        subprocess.run(command, input=payload, env=build_environment(self.state), check=True)
        if is_synced:
            report("event", payload)


def whole(agents):
    """Let sessions grow, be sealed, continue, be deleted and come back; one hook never syncs."""
    agents.run_hook("first", "SessionStart")
    agents.write("first", 0, 1, 2)
    yield
    agents.write("first", 3)
    agents.write("second", 0, 1)
    agents.run_hook("second")
    agents.run_hook("second", is_synced=False)
    yield
    agents.rewrite(2)
    yield
    agents.run_hook("nowhere", has_transcript=False)
    agents.run_hook("second", "SessionEnd")
    yield
    agents.rewrite(4)
    agents.write("first", 4, text="x" * 3000)
    yield
    agents.write("large", 0, text="y" * 40_000)  # exceeds the limit of the journal
    yield
    agents.run_hook("first")
    agents.write("first", 5)
    yield


def hooks(agents):
    """Write two events of a session: the first is on the disk, the second is read before it is
    synced.
    """
    agents.write("first", 0, 1)
    agents.run_hook("first")
    agents.run_hook("first", is_synced=False)
    yield
    agents.run_hook("first")
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
        except Exception as error:  # noqa: BLE001 - like a pool
            future.set_exception(error)
        return future

    def shutdown(self):
        pass


def _report_frames(append):
    def append_and_report(chain, payloads):
        head = append(chain, payloads)
        name = str(chain.path).encode()
        report("frames", name, str(head.frames).encode(), head.hash)
        for note in map(cbor2.loads, payloads if chain.path.suffix else ()):
            if note["kind"] == "event":
                report("journaled", name, note["data"])
            if note["kind"] == "sealed":
                report("sealed", note["record"])
        return head

    return append_and_report


def _changes(stage, agents):
    class Changes:
        """Report a change after each step, and once more to note the sealed records."""

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
    FrameChain.append = _report_frames(FrameChain.append)
    watch.FileChanges = _changes(stage, Agents(home, state))
    WatchSettings.settling = 0.0
    watcher._RETIRE_INTERVAL_SECONDS = session_capture._STORE_PAUSE_SECONDS = 0.0
    session_capture._SPOOL_IDLE_SECONDS = session_capture._HOOK_GRACE_SECONDS = -1.0
    watcher.ThreadPoolExecutor = _AtOnce
    sys.argv[:] = ["vacr", "watch", *OPTIONS, *LIMIT]
    main()
