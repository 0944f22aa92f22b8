"""`vacr list`, and `vacr record` without arguments: the sessions of this machine, newest first."""

import json
import os
import pty
import select
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from tests.discovery import homes
from tests.discovery.opencode_database import CHILD, SESSION, START, OpenCode
from vacr.agents.registry import load_agents

STORED, STORED_CHILD = "ses_1e8f3c2b1a0ffeMiraInvoiceFix1", "ses_1e8f3c2b1a0ffeChildSession01"
# Unset these variables: tests must not find the sessions of this machine.
NOWHERE = dict.fromkeys(
    (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "OPENCODE_DB",
        "CURSOR_DATA_DIR",
    ),
    "",
)


@pytest.fixture
def list_sessions(vacr):
    """Return a function that lists the sessions as lines."""

    def run(*arguments, **variables):
        done = vacr("list", *arguments, **(NOWHERE | variables))
        assert done.returncode == 0
        return done.out.splitlines()

    return run


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def write_three_sessions(home):
    """Write three sessions; the second one is the newest."""
    for number, minute in ((1, 10), (2, 30), (3, 20)):
        homes.claude_session(
            home / ".claude" / "projects" / "x" / f"session-{number}.jsonl", minute
        )


def test_newest_session_comes_first(list_sessions, home):
    write_three_sessions(home)
    head, *rows = list_sessions(TZ="UTC")
    assert head.split() == ["id", "agent", "project", "start", "last", "used", "size", "title"]
    assert [row.split("question ")[1] for row in rows] == ["30", "20", "10"]
    when = ["2026-07-25", "10:30"]
    assert rows[0].split()[1:] == [
        "claude-code",
        "/home/nora",
        *when,
        *when,
        "196",
        "B",
        "question",
        "30",
    ]
    assert list_sessions("-n", "2", TZ="UTC") == [head, *rows[:2]]


def test_title_in_the_middle_of_a_file_is_that_of_the_index(vacr, list_sessions, home):
    """The listing reads only the ends of a file, and the index all of it."""
    path = home / ".claude/projects/x/session-1.jsonl"
    homes.claude_session(path, 10)
    first = path.read_bytes()
    filler = b'{"type":"system","subtype":"informational","content":"%s"}\n' % (b"x" * 1000)
    title = b'{"type":"custom-title","customTitle":"Rounding","sessionId":"session-1"}\n'
    path.write_bytes(first + filler * 200 + title + filler * 40)
    assert "question 10" in list_sessions()[1]
    assert vacr("stats", **NOWHERE).returncode == 0
    assert list_sessions()[1].endswith("Rounding")
    path.write_bytes(path.read_bytes() + filler)
    assert "question 10" in list_sessions()[1], "the file changed since"


def test_sessions_of_all_agents_or_of_one_are_listed(list_sessions, home):
    homes.fill(home)
    agents = [row.split()[1] for row in list_sessions()[1:]]
    assert sorted(set(agents)) == [
        "claude-code",
        "codex-cli",
        "copilot",
        "copilot-vscode",
        "cursor",
        "gemini-cli",
        "opencode",
        "visualstudio-copilot",
        "windsurf",
    ]
    assert {row.split()[1] for row in list_sessions("--agent", "opencode")[1:]} == {"opencode"}


def test_json_lists_all_sessions(list_sessions, home):
    homes.fill(home)
    document = json.loads("".join(list_sessions("--format", "json")))
    assert document["schema_version"] == "1"
    lines = [json.loads(line) for line in list_sessions("--format", "jsonl")]
    assert [{"schema_version": "1", **session} for session in document["sessions"]] == lines
    assert [session["updated"] for session in lines] == sorted(
        (session["updated"] for session in lines), reverse=True
    )
    (one,) = [session for session in lines if session["session-id"] == SESSION]
    path = str(home / ".local" / "share" / "opencode" / "opencode.db")
    about = {
        "agent": "opencode",
        "path": path,
        "session": SESSION,
        "session-id": SESSION,
        "project": f"/home/nora/{SESSION}",
    }
    about |= {
        "start": START,
        "updated": START + 60_000,
        "size": None,
        "title": f"Title of {SESSION}",
        "parent": None,
    }
    assert one == about | {"sub-agents": 1, "copies": [], "kept": False, "schema_version": "1"}
    assert all(set(session) == set(one) for session in lines)


def test_sub_agents_are_counted_with_their_session(list_sessions, home):
    (home / ".local" / "share" / "opencode").mkdir(parents=True)
    database = OpenCode(home / ".local" / "share" / "opencode" / "opencode.db")
    parents = {
        SESSION: None,
        CHILD: SESSION,
        "ses_grandchild": CHILD,
        "ses_of_nobody": "ses_gone",
        "ses_a": "ses_b",
        "ses_b": "ses_a",
    }
    for number, (session, parent) in enumerate(parents.items()):
        database.add_session(session, parent_id=parent, time_updated=START - number)
    database.close()
    counts = {
        session["session-id"]: session["sub-agents"]
        for session in map(json.loads, list_sessions("--format", "jsonl"))
    }
    assert counts == {SESSION: 2, "ses_of_nobody": 0, "ses_a": 1}
    assert "(+2 sub-agents) Title of" in list_sessions(COLUMNS="120")[1]


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_missing_sessions_are_reported(vacr, form):
    done = vacr("list", "--format", form, **NOWHERE)
    assert done.returncode == 1
    places = f"the usual folders of {len(load_agents())} agents (vacr list -v shows them)"
    assert done.err == (
        f"vacr: no sessions found in {places}. For sessions in another folder: "
        "vacr record FOLDER -o records/\n"
    )
    assert done.out == (
        '{"errors":[],"schema_version":"1","sessions":[]}\n' if form == "json" else ""
    )
    done = vacr("record", **NOWHERE)
    assert done.returncode == 1
    assert (
        done.err
        == f"vacr: no sessions found in {places}\n  Name a file or a folder: vacr record FILE\n"
    )


def test_searched_folders_are_listed_on_request(vacr):
    done = vacr("list", "-v", **NOWHERE)
    assert "  claude-code: ~/.claude, ~/.config/claude\n" in done.err
    done = vacr("list", "--agent", "codex-cli", **NOWHERE)
    assert "no sessions found in ~/.codex. " in done.err


@pytest.mark.parametrize("verb", ["list", "record"])
def test_unknown_agent_is_refused(vacr, verb):
    done = vacr(verb, "--agent", "nobody", **NOWHERE)
    assert done.returncode == 2
    assert "Known agents: claude-code" in done.err


DRIVING = "a\x1b[31mb\nc\r\u202ed"


def test_title_cannot_control_the_terminal(list_sessions, home):
    message = {"role": "user", "content": DRIVING}
    homes.claude_session(
        home / ".claude" / "projects" / "x" / "session-1.jsonl", 1, message=message
    )
    (_, row) = list_sessions()
    assert row.endswith("a\\x1b[31mb c \\u202ed")


def test_project_folder_can_have_any_name(list_sessions, home):
    for number, name in enumerate((DRIVING, os.fsdecode(b"\xff"))):
        homes.put(
            FIXTURES / "gemini" / "session.json",
            home / ".gemini" / "tmp" / name / "chats" / f"session-{number}.json",
        )
    rows = list_sessions()[1:]
    assert sorted(row.split()[2] for row in rows) == ["\\udcff", "a\\x1b[31mb\\nc\\r\\u202ed"]
    assert len({row.index("kB") for row in rows}) == 1
    assert {json.loads(line)["project"] for line in list_sessions("--format", "jsonl")} == {
        DRIVING,
        "\ufffd",
    }


def test_titles_are_cut_at_200_characters_without_a_terminal(list_sessions, home):
    for number, length in ((1, 200), (2, 201)):
        message = {"role": "user", "content": "x" * length}
        homes.claude_session(
            home / ".claude" / "projects" / "x" / f"session-{number}.jsonl", number, message=message
        )
    titles = ["x" * 199 + "…", "x" * 200]
    assert [json.loads(line)["title"] for line in list_sessions("--format", "jsonl")] == titles
    assert [row.split()[-1] for row in list_sessions(COLUMNS="80")[1:]] == titles


@pytest.mark.parametrize(
    "value", ["~nobody/x", "~", "relative", "/dev/null", "\udcff", "x" * 5000, "loop", "**", "a\nb"]
)
def test_variables_can_have_any_value(vacr, home, tmp_path, value):
    write_three_sessions(home)
    (tmp_path / "loop").symlink_to("loop")
    variables = dict.fromkeys(NOWHERE, value)
    assert vacr("list", **variables).returncode == 1
    done = vacr("record", home / ".claude" / "projects" / "x" / "session-1.jsonl", **variables)
    assert done.returncode == 0, done.err


def test_listed_sessions_can_be_recorded(vacr, list_sessions, home):
    homes.fill(home)
    homes.put(FIXTURES / "opencode" / "storage", home / ".local" / "share" / "opencode" / "storage")
    for session in map(json.loads, list_sessions("--format", "jsonl")):
        chosen = () if session["session"] is None else ("--session", session["session"])
        done = vacr("record", session["path"], *chosen, "-o", "-", "--no-sub-agents", **NOWHERE)
        records = [json.loads(line) for line in done.out.splitlines()]
        assert [record["session"]["session-id"] for record in records] == [session["session-id"]]
    shown = "\n".join(list_sessions("-v"))
    assert f"  {home / '.local/share/opencode/opencode.db'} --session {SESSION}" in shown


def test_newest_session_is_recorded_without_a_terminal(vacr, home, tmp_path):
    write_three_sessions(home)
    done = vacr("record", **NOWHERE)
    assert done.returncode == 0
    assert "the newest session" in done.err
    assert [file.name for file in tmp_path.glob("*.acr.json")] == ["session-2.acr.json"]
    assert vacr("record", "-q", "-o", "quiet/", **NOWHERE).err == ""
    document = json.loads(vacr("record", "--format", "json", "-o", "again/", **NOWHERE).out)
    assert [record["session-id"] for record in document["records"]] == ["session-2"]


def test_only_the_newest_session_of_a_database_is_recorded(vacr, home, tmp_path):
    homes.opencode(home / ".local" / "share" / "opencode")
    for file in (home / ".local" / "share" / "opencode").glob("*"):
        before = file.read_bytes()
    done = vacr("record", "-o", "out/", **NOWHERE)
    assert done.returncode == 0
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "out").iterdir()]
    names = {f"opencode.{record['session']['session-id']}.acr.json" for record in records}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    parents = [record["vacr"].get("parent", {}).get("session-id") for record in records]
    (newest,) = [
        record["session"]["session-id"]
        for record, parent in zip(records, parents, strict=True)
        if parent is None
    ]
    assert {parent for parent in parents if parent} == {newest}
    assert file.read_bytes() == before


@pytest.mark.parametrize("own", [True, False])
def test_only_the_newest_session_of_a_folder_is_recorded(vacr, home, tmp_path, own):
    data = home / ".local" / "share" / "opencode"
    homes.put(FIXTURES / "opencode" / "storage", data / "storage")
    if not own:
        for file in data.glob("storage/session/*/*.json"):
            file.unlink()
    done = vacr("record", "-o", "out/", **NOWHERE)
    assert done.returncode == 0
    records = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "out").iterdir())]
    # Without their own files, the parent of the two sessions is unknown.
    assert len(records) == (2 if own else 1)
    assert {record["session"]["session-id"] for record in records} <= {STORED, STORED_CHILD}
    if own:
        names = {f"{STORED}.acr.json", f"{STORED}.{STORED_CHILD}.acr.json"}
        assert {path.name for path in (tmp_path / "out").iterdir()} == names
        (file,) = data.glob(f"storage/session/*/{STORED}.json")
        for arguments in ((data / "storage", "--session", STORED), (file,)):
            document = json.loads(vacr("record", *arguments, "-o", "out/", "--format", "json").out)
            assert [record["state"] for record in document["records"]] == ["unchanged", "unchanged"]
            alone = json.loads(
                vacr("record", *arguments, "--no-sub-agents", "-o", "out/", "--format", "json").out
            )
            assert alone["records"] == document["records"][:1]


def test_sub_agent_that_only_the_search_finds_is_reported(vacr, home, tmp_path):
    folder = home / ".codex" / "sessions" / "2026" / "03" / "14"
    homes.put(EXAMPLES / "codex-cli.jsonl", folder / "rollout-1.jsonl")
    helper = homes.put(FIXTURES / "codex" / "fork.jsonl", folder / "rollout 2.jsonl")
    done = vacr("record", **NOWHERE)
    assert done.returncode == 0
    assert [file.name for file in tmp_path.glob("*.acr.json")] == ["rollout-1.acr.json"]
    assert done.err.splitlines()[1].endswith(
        "1 sub-agent not recorded, because the files are elsewhere. "
        f"To record: vacr record '{helper}'"
    )
    assert "elsewhere" not in vacr("record", "--no-sub-agents", "-o", "-", **NOWHERE).err


def test_continued_fork_is_a_separate_session(list_sessions, home):
    folder = home / ".codex" / "sessions" / "2026" / "03" / "14"
    homes.put(EXAMPLES / "codex-cli.jsonl", folder / "rollout-1.jsonl")
    text = (EXAMPLES / "codex-cli.jsonl").read_text("utf-8")
    meta = json.loads(text.splitlines()[0])
    forked = {
        **meta,
        "payload": meta["payload"]
        | {"id": "forked", "forked_from_id": meta["payload"]["id"], "source": "cli"},
    }
    (folder / "rollout-2.jsonl").write_text(
        "\n".join([json.dumps(forked), *text.splitlines()[1:]]) + "\n"
    )
    assert {json.loads(line)["session-id"] for line in list_sessions("--format", "jsonl")} == {
        "forked",
        meta["payload"]["id"],
    }


@pytest.mark.usefixtures("terminals")
@pytest.mark.component
@pytest.mark.parametrize(
    ("typed", "code", "recorded"),
    [
        (b"2\n", 0, ["session-3.acr.json"]),
        (b"\n", 130, []),
        (b"q\n", 130, []),
        (b"9\nx\n\xc2\xb2\n 3 \n", 0, ["session-1.acr.json"]),
        (b"\x04", 130, []),
        (b"\x03", 130, []),
    ],
    ids=["the second", "just enter", "none", "after mistakes", "end of input", "interrupted"],
)
def test_user_chooses_a_session_on_a_terminal(home, tmp_path, typed, code, recorded):
    write_three_sessions(home)
    shown, status = run_on_a_terminal(["record"], typed, tmp_path, {"HOME": str(home), **NOWHERE})
    assert status == code
    assert [file.name for file in tmp_path.glob("*.acr.json")] == recorded
    assert (
        shown.index("question 30")
        < shown.index("question 20")
        < shown.index("question 10")
        < shown.index("Session to record")
    )


# A new process takes the terminal: this one has threads, and a fork of it might hang. Tests in the
# background ignore interrupts, and their child processes would inherit that.
TAKE_TERMINAL = (
    "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def run_on_a_terminal(arguments, typed, folder, variables):
    """Run the command on a terminal, and type when it asks; return its output and exit code."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, sys.executable, "-m", "vacr", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env=os.environ | variables | {"TERM": "xterm", "COLUMNS": "120"},
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    try:
        for _ in range(100):
            # Input that is typed while the terminal is set up may be lost: type it again until
            # something happens.
            if b"Session to record" in shown and not select.select([main], [], [], 1)[0]:
                os.write(main, typed)
            try:
                piece = os.read(main, 65536) if select.select([main], [], [], 60)[0] else b""
            except OSError:
                break
            if not piece:
                break
            shown += piece
        return shown.decode(), process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        os.close(main)


def garble_schema(path):
    """Replace the schema of a table in a database by text that is not a schema."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE (' WHERE name = 'part'")


def cut_file(path):
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize("spoil", [garble_schema, cut_file])
def test_damaged_database_is_named_and_does_not_stop_the_others(vacr, home, tmp_path, spoil):
    write_three_sessions(home)
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    homes.opencode(path.parent)
    spoil(path)
    done = vacr("list", **NOWHERE)
    assert (done.returncode, len(done.out.splitlines())) == (0, 4)
    assert done.err.startswith(f"vacr: {path}: a damaged database: ")
    assert done.err.count("vacr: ") == 1
    document = json.loads(vacr("list", "--format", "json", **NOWHERE).out)
    ((error, *_),) = [document["errors"]]
    assert error["path"] == str(path)
    assert len(document["sessions"]) == 3
    recorded = vacr("record", home, "-o", tmp_path / "records")
    assert recorded.returncode == 3
    assert f"{path}: a damaged database: " in recorded.err
    assert len(list((tmp_path / "records").rglob("session-*.acr.json"))) == 3


def test_session_that_was_also_recorded_on_the_way_to_an_editor_is_listed_once(
    vacr, list_sessions, home
):
    transcript = home / ".local" / "state" / "vacr" / "acp" / "t.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_bytes((FIXTURES / "acp" / "two-sessions.jsonl").read_bytes())
    variables = {"VACR_STATE": "", "XDG_STATE_HOME": "", "TZ": "UTC"}
    recorded = list_sessions(**variables)[1:]
    assert {row.split()[1] for row in recorded} == {"acp"}
    homes.claude_session(home / ".claude" / "projects" / "x" / "ses_round1.jsonl", 10)
    _, *rows = list_sessions(**variables)
    assert len(rows) == len(recorded)
    [row] = [row for row in rows if "claude-code" in row]
    assert row.endswith(" (also by vacr acp) question 10")
    assert f"  also {transcript}" in list_sessions("-v", **variables)
    done = vacr("list", "--format", "json", **(NOWHERE | variables))
    copies = {session["agent"]: session["copies"] for session in json.loads(done.out)["sessions"]}
    assert copies["claude-code"] == [str(transcript)]
    assert len(list_sessions("--agent", "acp", **variables)) == len(recorded) + 1


def test_sessions_are_listed_without_a_state_folder(vacr, tmp_path):
    homes.fill(tmp_path / "home")
    done = vacr("list", VACR_STATE="relative")
    assert (done.returncode, "claude-code" in done.out) == (0, True)


@pytest.mark.parametrize("options", [("--since", "2099-01-01"), ("--project", "/nosuch")])
def test_options_that_no_session_matches_are_named_as_the_reason(vacr, home, options):
    (home / ".local" / "share" / "opencode").mkdir(parents=True)
    database = OpenCode(home / ".local" / "share" / "opencode" / "opencode.db")
    database.add_session(SESSION)
    done = vacr("list", *options)
    assert done.returncode == 1
    hint = "To see all of them: vacr list"
    assert done.err == f"vacr: the only session does not match the options. {hint}\n"
    database.add_session("ses_other")
    database.close()
    done = vacr("list", "--agent", "opencode", *options)
    hint = "To see all of them: vacr list --agent opencode"
    assert done.err == f"vacr: none of the 2 sessions matches the options. {hint}\n"
