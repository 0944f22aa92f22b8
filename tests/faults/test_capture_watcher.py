"""Killed watchers, hooks and agents; two watchers; clocks set back; unreachable logs."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.capture.hooks import COMMAND, build_environment
from tests.capture.watching import Machine, add, line, lines
from tests.faults.test_clock import faketime  # noqa: F401 - fixtures are found by name
from vacr.capture.chains import CHECKPOINTS_FILE
from vacr.log.folder import create_log

_AGENT = """
import os, sys, time
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in range(100_000):
    text = b'{"type":"user","uuid":"u%d","sessionId":"s","text":"%s"}\\n' % (number, b"x" * (number * 131 % 3000))
    os.write(handle, text[: len(text) // 3])
    os.write(handle, text[len(text) // 3 :])
    time.sleep(0.001)
"""


@pytest.fixture
def machine(tmp_path):
    found = Machine(tmp_path)
    yield found
    found.stop()


def test_killed_watchers_agents_and_hooks_lose_nothing(machine, many):
    chance = random.Random(7)  # noqa: S311 - reproducible
    paths = [machine.transcript(f"session-{number}") for number in range(3)]
    paths[0].parent.mkdir(parents=True)
    given = 0
    for turn in range(many(4, 40)):
        agents = [subprocess.Popen([sys.executable, "-c", _AGENT, str(path)]) for path in paths]
        watching = machine.watch(
            "--checkpoint",
            0,
            "--epoch",
            chance.choice([0, 24]),
            "--no-seal",
            *["--poll"][: turn % 2],
        )
        event = json.dumps(
            {"session_id": "session-0", "transcript_path": str(paths[0]), "n": turn}
        ).encode()
        hooks = []
        for _ in range(3):
            hooks.append(
                subprocess.Popen(
                    [*COMMAND, "claude-code"],
                    stdin=subprocess.PIPE,
                    env=build_environment(machine.state),
                )
            )
            hooks[-1].stdin.write(event)
            hooks[-1].stdin.close()
        time.sleep(chance.random() * 0.8)
        hooks[0].kill()
        watching.stop(signal.SIGKILL)
        for agent in agents:
            agent.kill()
            agent.wait()
        given += sum(hook.wait() == 0 for hook in hooks)
        found = machine.verify()
        assert found["findings"] == [], (turn, found)
    machine.once("--no-seal")
    assert machine.check_intact()["notices"] == []
    for path in paths:
        assert machine.captured(path) == path.read_bytes()
        assert machine.first_seen(path)[path.name] == path.read_bytes()
    events = sum(machine.state_of(name).events for name in machine.names())
    assert given <= events <= 3 * many(4, 40)


def test_second_watcher_is_refused(machine, tmp_path):
    path = machine.transcript()
    add(path, lines(3))
    watching = machine.watch()
    done = machine.run("watch", "--no-ui")
    assert (done.returncode, "another vacr watch is using this journal" in done.err) == (2, True)
    other = Machine(tmp_path / "other")
    other.home = machine.home
    second = other.watch()
    for watcher in (watching, second):
        watcher.wait_until_captured(path)
    add(path, lines(3, 3))
    for watcher in (watching, second):
        watcher.wait_until_captured(path)
        watcher.stop()
    machine.check_intact()
    other.check_intact()


def test_line_of_70_megabytes_is_captured(machine):
    path = machine.transcript()
    watching = machine.watch()
    data = line(0, text="y" * 70_000_000)
    for first in range(0, len(data), 7_000_000):
        add(path, data[first : first + 7_000_000])
    add(path, line(1))
    watching.wait_until(lambda: f"{machine.home}" and "2 entries" in watching.output)
    watching.stop()
    assert machine.captured(path) == path.read_bytes()
    machine.check_intact()


def test_clock_set_back_does_no_harm(machine, faketime):  # noqa: F811
    settings, clock = faketime
    path = machine.transcript()
    for number, days in enumerate((1000, 1001, 900, 10)):
        clock.write_text(f"+{days}d\n")
        add(path, lines(2, number * 2))
        machine.once("--all", "--epoch", 0, "--quiet-after", 0, **settings)
        assert machine.captured(path) == path.read_bytes()
    watching = machine.watch("--quiet-after", 0, **settings)
    clock.write_text("-10d\n")
    add(path, lines(2, 20))
    watching.wait_until_captured(path)
    watching.wait_until(lambda: "sealed: " in watching.output)
    watching.stop()
    assert machine.check_intact()["notices"] == []
    assert machine.first_seen(path) == {path.name: path.read_bytes()}
    # A rewrite is detected although the clock is behind.
    data = path.read_bytes()
    path.write_bytes(data.replace(b"question 1", b"QUESTION 1", 1))
    assert "line 2 changed" in machine.verify()["findings"][0]


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: the limits of inotify are not tested")
@pytest.mark.parametrize("limit", ["max_user_instances", "max_user_watches"])
def test_watcher_polls_without_inotify_watches(machine, limit):
    """Run the watcher in its own namespace with very few inotify watches."""
    path = machine.transcript()
    add(path, lines(1))
    for number in range(20):
        (path.parent / f"folder-{number}").mkdir()
    allowed = 0 if limit == "max_user_instances" else 5
    script = (
        f'echo {allowed} > /proc/sys/user/{limit.replace("max_user", "max_inotify")} && exec "$@"'
    )
    before = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    if subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("NO NAMESPACES HERE: the limits of inotify are not tested")
    watching = machine.watch(before=before)
    watching.wait_until(
        lambda: "too many folders for the system's change notifications" in watching.output
    )
    add(path, lines(2, 1))
    watching.wait_until_captured(path)
    watching.stop()
    machine.check_intact()


# --- logs ---


def test_checkpoints_are_anchored_once_the_log_is_back(machine, tmp_path, serve):
    log = create_log(str(tmp_path / "log"))
    service = serve(log.path)
    url = service.url
    port = url.rpartition(":")[2].strip("/")
    service.stop()
    path = machine.transcript()
    add(path, lines(2))
    watching = machine.watch("--service", url, "--anchor", 0.2, "--checkpoint", 0, "--no-seal")
    watching.wait_until_captured(path)
    watching.wait_until(lambda: "the log cannot be reached" in watching.output)
    add(path, lines(2, 2))
    watching.wait_until_captured(path)
    again = subprocess.Popen(
        [sys.executable, "-m", "vacr", "log", "serve", str(log.path), "--port", port]
    )
    try:
        add(path, lines(2, 4))
        watching.wait_until(lambda: machine.verify()["anchors"] > 0)
        watching.stop()
    finally:
        again.terminate()
        again.wait()
    found = machine.check_intact("--log-key", log.path)
    assert found["anchored"] == found["checkpoints"] - 1
    assert machine.verify()["notices"] == [
        f"{found['anchors']} anchors in a log were not checked; add --log-key"
    ]
    other = create_log(str(tmp_path / "other"))
    found = machine.verify("--log-key", other.path)
    assert any("the anchor of checkpoint" in finding for finding in found["findings"])
    assert found["anchored"] is None
    swap_anchor(machine)
    assert any(
        "is neither a checkpoint nor an anchor" in finding
        or "anchors a checkpoint that is not in the journal" in finding
        for finding in machine.verify()["findings"]
    )


def swap_anchor(machine):
    """Assign an anchor to the checkpoint before its own, in an intact chain."""
    from vacr.capture.chains import FrameChain
    from vacr.record.encoding import decode, encode

    path = machine.journal / CHECKPOINTS_FILE
    payloads = [payload for _, payload in FrameChain(path).recover()]
    path.unlink()
    chain = FrameChain(path)
    list(chain.recover())
    for payload in payloads:
        if 0xA0 <= payload[0] < 0xC0:
            event = decode(payload, "cbor")
            chain.append([encode(event | {"number": event["number"] - 1}, "cbor")])
            break
        chain.append([payload])
    chain.close()
