"""The hook: it keeps every event it can, prints nothing, and always exits with 0."""

import fcntl
import json
import os
import pwd
import resource
import shlex
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.hooks import COMMAND, build_environment, read_spools, run_hook
from vacr.capture import hook as script
from vacr.errors import UsageError
from vacr.files.inputs import find_state_folder

pytestmark = pytest.mark.component

EVENT = b'{"session_id":"s-1","hook_event_name":"Stop"}'


def read_error_log(state) -> str:
    return (state / "hook-errors.log").read_text()


@pytest.mark.parametrize(
    ("agent", "event", "session"),
    [
        ("claude-code", EVENT, "s-1"),
        ("codex-cli", b' { "turn" : 1 , "x":"a,\\"b" ,\n"session_id" : "s-2" }', "s-2"),
        ("gemini-cli", b'{"tool_input":{"session_id":"inner"},"session_id":"s-3"}', "s-3"),
        ("cursor", b'{"conversation_id":"s-4","session_id":"other"}', "s-4"),
        ("opencode", b'{"sessionID":"ses_5"}', "ses_5"),
        ("claude-code", b'{"prompt":"\\"session_id\\":\\"no\\"","session_id":"s-6"}', "s-6"),
        ("claude-code", b'{"session_id":"\\u00e9"}', "é"),
        ("claude-code", '{"session_id":"é"}'.encode(), "é"),
        ("claude-code", b'{"prompt":"x"}', "unknown"),
        ("claude-code", b'{"session_id":7}', "unknown"),
        ("claude-code", b'{"session_id":""}', "unknown"),
        ("claude-code", b'{"session_id"', "unknown"),
        ("claude-code", b"\xff\xfe\x00", "unknown"),
        ("claude-code", b"[" * 100_000, "unknown"),
        ("claude-code", b'{"a":"\xff","session_id":"s-7"}', "s-7"),
        ("claude-code", b'["session_id","x"]', "unknown"),
    ],
)
def test_event_is_appended_verbatim_to_the_spool_of_its_session(tmp_path, agent, event, session):
    run_hook(tmp_path, agent, stdin=event)
    assert read_spools(tmp_path) == {(agent, session): [event]}


@pytest.mark.parametrize(
    "session",
    [
        "../../../etc/passwd",
        "..",
        ".",
        "/abs",
        "a/b",
        "a\0b",
        ".hidden",
        "%2E%2E",
        "ü" * 300,
        "x" * 5000,
        "a b\n",
    ],
)
def test_no_session_id_escapes_the_spool_folder(tmp_path, session):
    run_hook(tmp_path, "claude-code", stdin=json.dumps({"session_id": session}).encode())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent for path in files] == [tmp_path / "spool" / "claude-code"]
    assert len(files[0].name) <= 130
    assert not files[0].name.startswith(".")


def test_event_may_be_an_argument(tmp_path):
    notify = '{"type":"agent-turn-complete","thread-id":"t-1"}'
    run_hook(tmp_path, "codex-cli", notify)
    assert read_spools(tmp_path) == {("codex-cli", "t-1"): [notify.encode()]}


def test_spools_are_private(tmp_path):
    state = tmp_path / "state"
    subprocess.run(
        [*COMMAND, "claude-code"], input=EVENT, env=build_environment(state), umask=0, check=True
    )
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [state, *state.rglob("*")]}
    assert modes == {"state": 0o700, "spool": 0o700, "claude-code": 0o700, "s-1.spool": 0o600}


def test_large_event_is_kept_whole(tmp_path):
    large = b'{"session_id":"s","x":"' + b"y" * 70_000_000 + b'"}'
    run_hook(tmp_path, "claude-code", stdin=large)
    assert read_spools(tmp_path) == {("claude-code", "s"): [large]}


@pytest.mark.parametrize("whole", [True, False])
def test_hook_does_not_wait_for_an_open_pipe(tmp_path, whole):
    sent = EVENT if whole else EVENT[:-3]
    with subprocess.Popen(
        [*COMMAND, "claude-code"], env=build_environment(tmp_path), stdin=subprocess.PIPE
    ) as running:
        running.stdin.write(sent)
        running.stdin.flush()
        assert running.wait() == 0
    assert list(read_spools(tmp_path).values()) == [[sent]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_bytes_before_a_signal_are_kept(tmp_path, number):
    with subprocess.Popen(
        [*COMMAND, "claude-code"], env=build_environment(tmp_path), stdin=subprocess.PIPE
    ) as running:
        running.stdin.write(EVENT[:-1])
        running.stdin.flush()
        while not is_waiting(running):
            time.sleep(0.005)
        running.send_signal(number)
        assert running.wait() == 0
    assert list(read_spools(tmp_path).values()) == [[EVENT[:-1]]]


def is_waiting(running: subprocess.Popen) -> bool:
    """Return whether the script has installed its handlers and read all input."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{running.pid}/status").read_text().splitlines()
    )
    handled = int(fields["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1
    left = fcntl.ioctl(running.stdin, termios.FIONREAD, b"\0" * 4)
    return bool(handled) and left == b"\0" * 4


def test_hook_survives_closed_streams(tmp_path):
    line = shlex.join(COMMAND) + " claude-code <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", line], env=build_environment(tmp_path)).returncode == 0
    assert "EBADF" in read_error_log(tmp_path) or "Bad file descriptor" in read_error_log(tmp_path)


def test_missing_event_is_logged(tmp_path):
    run_hook(tmp_path, "claude-code")
    run_hook(tmp_path)
    assert read_error_log(tmp_path).count("the event is empty") == 2
    assert read_spools(tmp_path) == {}


def test_hook_survives_a_file_in_place_of_the_state_folder(tmp_path):
    (tmp_path / "state").write_text("mine")
    run_hook(tmp_path / "state", "claude-code", stdin=EVENT)
    assert (tmp_path / "state").read_text() == "mine"


@pytest.mark.unprivileged
def test_hook_survives_a_read_only_state_folder(tmp_path):
    (tmp_path / "state").mkdir(mode=0o500)
    run_hook(tmp_path / "state", "claude-code", stdin=EVENT)


def test_full_disk_is_logged_and_survived(tmp_path):
    large = b'{"session_id":"s","x":"' + b"y" * 100_000 + b'"}'

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    run_hook(tmp_path, "claude-code", stdin=large, preexec_fn=limit)
    assert "File too large" in read_error_log(tmp_path)
    assert read_spools(tmp_path) == {("claude-code", "s"): []}
    # Once there is room again, the torn frame is skipped.
    run_hook(tmp_path, "claude-code", stdin=b'{"session_id":"s"}')
    assert read_spools(tmp_path) == {("claude-code", "s"): [b'{"session_id":"s"}']}


@pytest.mark.parametrize("place", ["spool", "spool/claude-code", "spool/claude-code/s-1.spool"])
def test_links_are_not_followed(tmp_path, place):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    link = tmp_path / "state" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere / "file" if place.endswith(".spool") else elsewhere)
    run_hook(tmp_path / "state", "claude-code", stdin=EVENT)
    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text() == "mine"
    assert "OSError" in read_error_log(tmp_path / "state") or "Error" in read_error_log(
        tmp_path / "state"
    )


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
def test_hook_does_not_wait_for_special_files(tmp_path, kind, monkeypatch):
    path = tmp_path / "spool" / "claude-code" / "s-1.spool"
    path.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            monkeypatch.chdir(path.parent)  # the name of a socket may not be long
            listening.bind(path.name)
    run_hook(tmp_path, "claude-code", stdin=EVENT)
    assert "Error" in read_error_log(tmp_path)


def test_error_log_is_bounded(tmp_path):
    (tmp_path / "hook-errors.log").write_bytes(b"x" * (script.MAX_ERROR_LOG_SIZE + 1))
    run_hook(tmp_path, "claude-code")
    assert len(read_error_log(tmp_path)) < 1000


def test_hook_imports_almost_nothing(tmp_path):
    command = [sys.executable, "-I", "-S", "-X", "importtime", script.__file__, "claude-code"]
    done = subprocess.run(
        command, input=EVENT, env=build_environment(tmp_path), capture_output=True, check=True
    )
    nothing = [sys.executable, "-I", "-S", "-X", "importtime", "-c", "import os"]
    empty = subprocess.run(nothing, capture_output=True, check=True)
    assert parse_imported_modules(done.stderr) - parse_imported_modules(empty.stderr) <= {
        "binascii",
        "select",
    }
    assert read_spools(tmp_path) == {("claude-code", "s-1"): [EVENT]}


def parse_imported_modules(times: bytes) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in times.decode().splitlines()}


FOLDERS = [
    {"VACR_STATE": "/a/b"},
    {"VACR_STATE": "/a", "XDG_STATE_HOME": "/x", "HOME": "/h"},
    {"VACR_STATE": "", "XDG_STATE_HOME": "/x"},
    {"XDG_STATE_HOME": "x", "HOME": "/h"},
    {"XDG_STATE_HOME": "/x"},
    {"HOME": "/h"},
    {"HOME": ""},
    {"HOME": "h"},
    {},
]


@pytest.mark.parametrize("variables", FOLDERS, ids=str)
def test_hook_and_package_find_the_same_state_folder(variables):
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}
    assert os.fsdecode(script.find_state_folder(encoded)) == str(find_state_folder(variables))


@pytest.mark.parametrize(
    "variables", [{"HOME": ""}, {"HOME": "h"}, {}, {"HOME": "", "XDG_STATE_HOME": "x"}], ids=str
)
def test_home_of_the_account_is_the_fallback(variables, monkeypatch):
    """Also if HOME of this process is unusable, as Python would use it."""
    monkeypatch.setenv("HOME", "")
    assert (
        str(find_state_folder(variables)) == f"{pwd.getpwuid(os.getuid()).pw_dir}/.local/state/vacr"
    )


def test_relative_state_folder_is_refused():
    with pytest.raises(UsageError, match="must be an absolute path"):
        find_state_folder({"VACR_STATE": "here"})
    assert (
        script.find_state_folder({b"VACR_STATE": b"here", b"HOME": b"/h"})
        == b"/h/.local/state/vacr"
    )


NAMED = [
    (b'{"session_id":"s"}', b"s"),
    (b' {"a":1,"b":null, "c" : "d", "session_id" : "s" , "e":[]}', b"s"),
    (b'{"a":"session_id","session_id":"s"}', b"s"),
    (b'{"a":{"session_id":"inner"},"session_id":"s"}', b"s"),
    (b'{"a":"{[","session_id":"s"}', b"s"),
    (b'{"a":"\\"","session_id":"\\u0073"}', b"s"),
    (b'{"session_id":"a{b"}', b"a{b"),
    (b'{"session_id":null,"a":"b"}', b""),
    (b'{"session_id":7}', b""),
    (b'{"a":"b"}', b""),
    (b'"session_id":"s"', b""),
    (b'["session_id",{"session_id":"s"}]', b""),
    (b'x{"session_id":"s"}', b""),
    (b'{"session_id":"s', b""),
    (b"", b""),
]


@pytest.mark.parametrize(("payload", "session"), NAMED, ids=str)
def test_session_id_is_found(payload, session):
    assert script.find_session_id(payload, b"session_id") == session


def test_event_is_written_even_if_folders_cannot_be_synced(tmp_path, monkeypatch):
    """Not every file system can sync a folder."""

    def refuse_sync(_handle):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse_sync)
    with pytest.raises(OSError, match="Invalid"):
        script.append_event(os.fsencode(tmp_path), b"claude-code", b"s-1", EVENT)
    assert read_spools(tmp_path) == {("claude-code", "s-1"): [EVENT]}


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5),
        max_size=5,
    ),
    st.text(min_size=1),
    st.booleans(),
)
def test_session_id_is_found_in_any_json(members, session, last):
    own = {"session_id": session}
    value = (
        members | own
        if last
        else own | {name: item for name, item in members.items() if name != "session_id"}
    )
    for ascii_only in (True, False):
        payload = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        expected = session.encode("utf-8", "surrogatepass")
        assert script.find_session_id(payload, b"session_id") in (
            expected,
            expected.decode("utf-8", "replace").encode(),
        )


@given(st.binary(max_size=200))
def test_any_bytes_give_a_safe_file_name(name):
    made = script.make_file_name(name)
    assert 0 < len(made) <= script.MAX_NAME_LENGTH
    assert b"/" not in made
    assert not made.startswith(b".")
    assert script.find_session_id(name, b"session_id") == b"" or b"session_id" in name
