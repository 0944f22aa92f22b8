"""Sessions are found in the store of each agent, on each system, by reading only their ends."""

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest

import vacr
from tests.conftest import EXAMPLES, FIXTURES
from tests.discovery import cursor_databases as cursor
from tests.discovery import homes
from tests.discovery.opencode_database import CHILD, SESSION, OpenCode, conversation
from tests.discovery.test_cursor_editor import CID, FORMS
from tests.discovery.test_databases import bound_by_permissions
from vacr.agents import Agent
from vacr.agents.registry import load_agents
from vacr.discovery import opening
from vacr.discovery.opening import find_sub_agent_files
from vacr.discovery.sessions import (
    LinkResolver,
    list_sessions,
    list_store_roots,
    read_file_ends,
)
from vacr.errors import UsageError
from vacr.record.message_content import find_session_title

ALL = {
    "claude-code": 4,
    "codex-cli": 1,
    "copilot": 1,
    "copilot-vscode": 3,
    "visualstudio-copilot": 1,
    "windsurf": 1,
    "gemini-cli": 1,
    "opencode": 3,
    "cursor": 4,
}


def found(home, system="linux", agent=None, **more):
    return list(list_sessions(agent, homes.variables(home, system) | more, system))


def ids(home, **more):
    return sorted(session.session_id for session in found(home, **more))


@pytest.mark.parametrize("system", homes.CURSOR_USER)
def test_all_agents_are_found_on_each_system(tmp_path, system):
    home = homes.fill(tmp_path / "home", system)
    assert Counter(session.agent for session in found(home, system)) == ALL
    for other in homes.CURSOR_USER.keys() - {system}:
        counts = Counter(session.agent for session in found(home, other))
        assert (counts["cursor"], counts["copilot-vscode"]) == (ALL["cursor"] - 1, 0)


def test_summary_of_a_session(tmp_path):
    told = {
        (session.agent, session.session_id): session
        for session in found(homes.fill(tmp_path / "home"))
    }
    one = told["opencode", SESSION]
    assert (one.project, one.title, one.session) == (
        f"/home/nora/{SESSION}",
        f"Title of {SESSION}",
        SESSION,
    )
    assert one.updated - one.start == 60_000
    assert told["opencode", CHILD].parent == SESSION
    assert told["cursor", homes.CURSOR].title in ("Fix the till", "Rename the helper")
    chat = next(session for session in told.values() if session.path.endswith("store.db"))
    assert (chat.project, chat.title) == ("/home/nora/a till", "Fix the till")
    assert chat.size == Path(chat.path).stat().st_size
    assert chat.updated >= Path(chat.path).stat().st_mtime_ns // 1_000_000
    gemini = next(session for session in told.values() if session.agent == "gemini-cli")
    assert (gemini.project, bool(gemini.title)) == ("till", True)
    assert all(session.updated for session in told.values())
    assert {session.parent for session in told.values() if session.agent == "claude-code"} >= {
        None,
        homes.CLAUDE,
    }


OVERRIDES = {
    "CLAUDE_CONFIG_DIR": ("claude-code", homes.claude, ""),
    "CODEX_HOME": ("codex-cli", homes.codex, ""),
    "GEMINI_CLI_HOME": ("gemini-cli", homes.gemini, ".gemini"),
    "COPILOT_HOME": ("copilot", homes.copilot, ""),
    "XDG_DATA_HOME": ("opencode", homes.opencode, "opencode"),
    "CURSOR_DATA_DIR": ("cursor", homes.cursor_chats, ""),
    "XDG_CONFIG_HOME": ("cursor", homes.cursor_editor, "Cursor"),
}


@pytest.mark.parametrize("variable", OVERRIDES)
def test_variable_of_the_agent_moves_its_store(tmp_path, variable):
    agent, put, below = OVERRIDES[variable]
    home = homes.fill(tmp_path / "home")
    put(tmp_path / "elsewhere" / below if below else tmp_path / "elsewhere")
    moved = found(home, agent=agent, **{variable: str(tmp_path / "elsewhere")})
    there = [session for session in moved if session.path.startswith(str(tmp_path / "elsewhere"))]
    assert there
    left = {"CURSOR_DATA_DIR": 1, "XDG_CONFIG_HOME": 3}.get(variable, 0)
    assert len(moved) - len(there) == left
    assert found(home, agent=agent, **{variable: ""}) == found(home, agent=agent)
    assert [
        session
        for session in found(home, agent=agent, **{variable: str(tmp_path / "nowhere")})
        if session in there
    ] == []


def test_appdata_moves_the_editor_only_on_windows(tmp_path):
    homes.cursor_editor(tmp_path / "roaming" / "Cursor")
    (tmp_path / "home").mkdir()
    assert len(found(tmp_path / "home", "win32", APPDATA=str(tmp_path / "roaming"))) == 1
    assert found(tmp_path / "home", "linux", APPDATA=str(tmp_path / "roaming")) == []


def test_second_place_of_claude_counts_unless_a_variable_names_one(tmp_path):
    home = tmp_path / "home"
    homes.claude_session(home / ".config" / "claude" / "projects" / "x" / "one.jsonl", 1)
    homes.claude_session(home / "mine" / "projects" / "x" / "two.jsonl", 2)
    assert ids(home) == ["one"]
    assert ids(home, CLAUDE_CONFIG_DIR=str(home / "mine")) == ["two"]
    assert ids(home, XDG_CONFIG_HOME=str(home / "nowhere")) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{0}/own.db", ["ses_main", "ses_own"]),
        ("own.db", ["ses_main", "ses_relative"]),
        ("opencode.db", ["ses_main"]),
        ("{1}/opencode/opencode.db", ["ses_main"]),
        (":memory:", ["ses_main"]),
        ("nothing.db", ["ses_main"]),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_opencode_db_names_a_database_whole_or_below_its_folder(tmp_path, value, expected, moved):
    data = tmp_path / ("data" if moved else "home/.local/share")
    (data / "opencode").mkdir(parents=True)
    for path, session in (
        ("own.db", "ses_own"),
        (data / "opencode/own.db", "ses_relative"),
        (data / "opencode/opencode.db", "ses_main"),
    ):
        database = OpenCode(tmp_path / path)
        database.add_session(session)
        database.close()
    more = {"XDG_DATA_HOME": str(data)} if moved else {}
    assert ids(tmp_path / "home", OPENCODE_DB=value.format(tmp_path, data), **more) == expected


def test_session_moved_to_the_database_is_listed_once(tmp_path):
    data = tmp_path / ".local" / "share" / "opencode"
    homes.put(FIXTURES / "opencode" / "storage", data / "storage")
    before = ids(tmp_path)
    assert len(before) == 2
    database = OpenCode(data / "opencode.db")
    conversation(database, before[0])
    database.close()
    told = found(tmp_path)
    assert sorted(session.session_id for session in told) == before
    assert {session.session_id: Path(session.path).name for session in told} == {
        before[0]: "opencode.db",
        before[1]: f"{before[1]}.json",
    }


def test_linked_store_is_listed_once(tmp_path):
    homes.opencode(tmp_path / ".local" / "share" / "opencode")
    (tmp_path / ".local" / "share" / "opencode" / "opencode-dev.db").symlink_to("opencode.db")
    assert len(found(tmp_path)) == 3


FOREIGN = {
    "nothing": b"",
    "no session": b'{"a": 1}\n',
    "no text": bytes(range(256)) * 20,
    "garbage": b"{" * 5000,
    "another agent's": (homes.EXAMPLES / "gemini-cli.jsonl").read_bytes(),
    "a record": b'{"version":"3.0.0-draft","session":{"entries":[]}}',
    "a damaged database": b"SQLite format 3\0" + bytes(200),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_files_without_a_session_are_left_out(tmp_path, data):
    home = homes.fill(tmp_path)
    for file in (
        home / ".claude/projects/-home-nora-till/x.jsonl",
        home / ".codex/sessions/2026/07/25/x.jsonl",
        home / ".local/share/opencode/opencode-x.db",
        home / ".cursor/projects/home-nora-till/agent-transcripts/x.jsonl",
        home / ".config/Cursor/User/workspaceStorage/1/state.vscdb",
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (home / ".claude/projects/-home-nora-till/gone.jsonl").symlink_to("nowhere")
    (home / ".claude/projects/-home-nora-till/folder.jsonl").mkdir()
    assert Counter(session.agent for session in found(home)) == ALL


def test_unreadable_stores_are_reported():
    with tempfile.TemporaryDirectory() as name:
        home = homes.fill(Path(name) / "home")
        for folder, _, files in os.walk(home):
            Path(folder).chmod(0o755)
            for file in files:
                (Path(folder) / file).chmod(0o644)
        Path(name).chmod(0o755)
        (home / ".codex").chmod(0)
        (home / ".local/share/opencode/opencode.db").chmod(0)
        failed = []
        with bound_by_permissions():
            told = list(list_sessions(None, homes.variables(home, "linux"), "linux", failed))
        (home / ".codex").chmod(0o755)
    assert {
        (Path(error.where).relative_to(home).as_posix(), error.message) for error in failed
    } == {
        (".codex", "no permission to read it"),
        (".local/share/opencode/opencode.db", "no permission to read it"),
    }
    assert Counter(session.agent for session in told) == {
        agent: count for agent, count in ALL.items() if agent not in ("codex-cli", "opencode")
    }


def test_unknown_agent_is_refused(tmp_path):
    with pytest.raises(UsageError, match="unknown agent 'parrot'"):
        found(tmp_path, agent="parrot")


def test_every_reader_names_its_stores():
    for agent in load_agents().values():
        for root, store in list_store_roots(agent, {"HOME": "/home/nora"}, "linux"):
            # Some agents keep their sessions in the project.
            assert root.is_relative_to(Path.cwd() if store.default == "." else "/home/nora")
            assert store.sessions


def bytes_read():
    """Return the number of bytes that this process has read."""
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])


LARGE = 50_000_000


def large_claude(home):
    path = homes.claude_session(home / ".claude/projects/x/large.jsonl", 1)
    last = path.read_bytes().replace(b"10:01:00", b"11:59:00").replace(b'"u1"', b'"u2"')
    path.write_bytes(path.read_bytes() + b"\xff" * LARGE + b"\n" + last)


def large_first_line(home):
    path = homes.claude_session(home / ".claude/projects/x/large.jsonl", 1, padding="x" * 300_000)
    last = path.read_bytes().replace(b"10:01:00", b"11:59:00").replace(b'"u1"', b'"u2"')
    path.write_bytes(path.read_bytes() + b"\xff" * LARGE + b"\n" + last)


def large_gemini(home, indent=2):
    session = json.loads((FIXTURES / "gemini" / "session.json").read_bytes())
    session["messages"] += [
        {"id": "huge", "type": "user", "content": "x, [y] {z} \\" * (LARGE // 12)}
    ]
    path = home / ".gemini/tmp/till/chats/session-1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(session, indent=indent))


def large_opencode(home):
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    database = OpenCode(path)
    conversation(database)
    for number in range(50):
        database.add_part(
            f"prt_z{number}", "msg_a01", SESSION, {"type": "text", "text": "x" * (LARGE // 50)}
        )
    database.close()


def large_editor(home):
    path = home / ".config/Cursor/User/globalStorage/state.vscdb"
    path.parent.mkdir(parents=True)
    rows = {
        f"bubbleId:{CID}:x{number}": {"type": 1, "text": "x" * (LARGE // 50)}
        for number in range(50)
    }
    cursor.editor(path, FORMS["headers"] | rows)


@pytest.mark.skipif(
    not Path("/proc/self/io").exists(), reason="the system does not count the bytes read"
)
@pytest.mark.parametrize(
    "put",
    [
        large_claude,
        large_first_line,
        large_gemini,
        lambda home: large_gemini(home, None),
        large_opencode,
        large_editor,
    ],
    ids=[
        "lines",
        "a long first line",
        "one value",
        "one value in one line",
        "OpenCode's database",
        "Cursor's database",
    ],
)
def test_large_store_is_not_read_whole(tmp_path, put):
    put(tmp_path)
    before = bytes_read()
    (one,) = found(tmp_path)
    assert bytes_read() - before < LARGE // 5
    assert one.title
    if one.agent == "claude-code":
        assert one.updated - one.start == 118 * 60_000


def test_large_session_without_an_id_is_listed_with_the_id_of_its_record(tmp_path):
    home = tmp_path / "home"
    folder = home / ".config/Code/User/workspaceStorage/w/chatSessions"
    folder.mkdir(parents=True)
    chat = json.loads((FIXTURES / "copilot-vscode" / "chat.json").read_text())
    chat.pop("sessionId", None)
    chat["requests"] *= 200
    (folder / "chat.json").write_text(json.dumps(chat, indent=1))
    (record,) = vacr.read(str(folder / "chat.json"))
    (listed,) = found(home)
    assert listed.session_id == record["session"]["session-id"]


def test_project_is_the_path_that_a_folder_of_sessions_stands_for(tmp_path):
    home = tmp_path / "home"
    folder = home / ".grok/sessions/%2Fhome%2Fnora%2Ftill/s1"
    folder.mkdir(parents=True)
    line = {"type": "user", "content": "Add a test", "prompt_index": 0}
    (folder / "chat_history.jsonl").write_text(json.dumps(line) + "\n")
    chats = home / ".gemini/tmp" / ("0123456789abcdef" * 4) / "chats"
    homes.put(EXAMPLES / "gemini-cli.jsonl", chats / "session-2026-05-02T08-15-b6b1f0f4.jsonl")
    projects = {session.agent: session.project for session in found(home)}
    assert projects == {"grok": "/home/nora/till", "gemini-cli": ""}


def test_certain_agent_is_asked_alone_and_only_for_speakers(tmp_path, monkeypatch):
    home = tmp_path / "home"
    homes.put(FIXTURES / "droid/sessions", home / ".factory/sessions")
    (expected,) = found(home, agent="droid")

    def refuse(*_):
        raise AssertionError

    for name, agent in load_agents().items():
        if name != "droid":
            monkeypatch.setattr(type(agent), "recognises", refuse)
    monkeypatch.setattr(type(load_agents()["droid"]), "outcome", refuse)
    failed = []
    variables = homes.variables(home)
    assert list(list_sessions("droid", variables, "linux", failed)) == [expected]
    assert failed == []


def test_file_of_another_agent_is_not_listed(tmp_path):
    home = tmp_path / "home"
    folder = home / ".factory/sessions"
    homes.put(EXAMPLES / "codex-cli.jsonl", folder / "codex.jsonl")
    (folder / "empty.jsonl").touch()
    failed = []
    assert list(list_sessions("droid", homes.variables(home), "linux", failed)) == []
    assert failed == []


def test_links_are_resolved_like_the_system_does(tmp_path):
    real = tmp_path / "real" / "inner"
    real.mkdir(parents=True)
    (real / "a.jsonl").touch()
    (real / "b.jsonl").symlink_to("a.jsonl")
    (real / "lost.jsonl").symlink_to("nowhere.jsonl")
    (real / "loop").symlink_to("loop")
    (tmp_path / "store").symlink_to("real", target_is_directory=True)
    links = LinkResolver()
    for folder in ("real", "store", "store/inner/..", "real/inner/../../store"):
        for name in ("a.jsonl", "b.jsonl", "lost.jsonl", "loop", "none.jsonl", ""):
            path = str(tmp_path / folder / "inner") + f"/{name}"
            assert links.resolve(path) == os.path.realpath(path)
    for path in ("/", "a.jsonl", "./a.jsonl", "x/../a.jsonl", ".."):
        assert links.resolve(path) == os.path.realpath(path)


def test_ends_of_a_file_are_whole_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = [
        json.dumps({"n": number, "x": "y" * (number % 7000)}).encode() + b"\n"
        for number in range(3000)
    ]
    path.write_bytes(b"".join(lines))
    kept = read_file_ends(path).splitlines(keepends=True)
    assert kept[0] == lines[0]
    assert kept[-1] == lines[-1]
    assert set(kept) <= set(lines)
    path.write_bytes(b"".join(lines) + b'{"half')
    assert read_file_ends(path).endswith(lines[-1] + b'{"half')


@pytest.mark.parametrize("cut", range(1, 60))
def test_cut_value_is_closed(tmp_path, cut, monkeypatch):
    text = json.dumps({"a": [1, {"b": 'x",[{\\'}], "c": {"d": []}, "e": "ü"}).encode()
    (tmp_path / "x.json").write_bytes(text)
    monkeypatch.setattr("vacr.discovery.sessions._HEAD_SIZE", cut)
    monkeypatch.setattr("vacr.discovery.sessions._MAX_LINE_SIZE", cut)
    kept = read_file_ends(tmp_path / "x.json")
    if kept != text[:cut] and cut < len(text):
        value = json.loads(kept)
        assert value.items() <= json.loads(text).items() or value["a"] == [1]
    assert len(kept) <= len(text)


TITLES = [
    ({"title": "  Of  the\nsession "}, [], "Of the session"),
    (
        {},
        [{"type": "system-event", "event-type": "summary", "data": {"summary": "A summary"}}],
        "A summary",
    ),
    ({}, [{"type": "user", "content": "a question"}], "a question"),
    (
        {},
        [{"type": "user", "content": "note", "isMeta": True}, {"type": "user", "content": "asked"}],
        "asked",
    ),
    (
        {},
        [
            {"type": "user", "content": "<env>x</env>"},
            {"type": "user", "content": [{"text": "asked"}]},
        ],
        "asked",
    ),
    ({}, [{"type": "user", "content": "<user_query>\nasked\n</user_query>"}], "asked"),
    (
        {},
        [
            {"type": "user", "content": "# AGENTS.md instructions for x"},
            {"type": "user", "content": "asked"},
        ],
        "asked",
    ),
    ({}, [{"type": "user", "content": "<command-message>init</command-message>"}], "init"),
    ({"title": "half \ud83d"}, [], "half ?"),
    (
        {},
        [{"type": "user", "content": r'"<context>\nRepository: pay\n</context>\n\nFix it.\nNow."'}],
        "Repository: pay Fix it. Now.",
    ),
    (
        {},
        [{"type": "user", "content": r"Replace \n\n by \n in C:\new\n.txt"}],
        r"Replace \n\n by \n in C:\new\n.txt",
    ),
    (
        {},
        [
            {"type": "user", "content": "/model"},
            {"type": "assistant", "content": []},
            {"type": "user", "content": "Fix the parser."},
        ],
        "Fix the parser.",
    ),
    (
        {},
        [
            {"type": "user", "content": "/init"},
            {"type": "tool-call", "name": "Read"},
            {"type": "user", "content": "Fix the parser."},
        ],
        "/init",
    ),
    ({}, [{"type": "user", "content": "/init"}, {"type": "user", "content": "/model"}], "/init"),
    ({"title": 5, "name": None, "summary": {}}, [{"type": "user", "content": None}], ""),
    (
        {},
        [
            {"type": "system-event", "event-type": "summary", "data": None},
            {"type": "assistant", "content": "x"},
        ],
        "",
    ),
]


@pytest.mark.parametrize(("trace", "entries", "title"), TITLES)
def test_title_comes_from_the_agent_or_the_first_request(trace, entries, title):
    assert find_session_title(trace | {"entries": entries}) == title


def test_session_in_an_unreadable_folder_hides_no_other(tmp_path):
    data = tmp_path / ".local" / "share" / "opencode"
    homes.put(FIXTURES / "opencode" / "storage", data / "storage")
    first = min(data.glob("storage/session/*/*.json"), key=lambda file: file.stem)
    first.write_bytes(b"\xff")
    shutil.rmtree(data / "storage" / "part")
    assert len(found(tmp_path)) == 2


class Parrot(Agent):
    name = "parrot"
    sub_sessions = ("egg-*.jsonl",)

    def belongs_to_session(self, value, sessions):
        return value["cage"] in sessions if "cage" in value else None


def test_agent_decides_which_files_next_to_a_session_are_its_sub_agents(tmp_path):
    lines = {
        "egg-1.jsonl": '{"size": 3}\n{"cage": "c-7"}\n{"cage": "c-8"}\n',
        "egg-2.jsonl": '{"cage": "c-8"}\n',
        "egg-3.jsonl": '{"size": 3}\n',
        "c-7.jsonl": '{"cage": "c-7"}\n',
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    session = tmp_path / "c-7.jsonl"
    assert list(find_sub_agent_files(session, Parrot(), {"c-7"})) == [tmp_path / "egg-1.jsonl"]


def test_unless_an_agent_states_it_no_file_next_to_a_session_is_its_sub_agent(tmp_path):
    for name in ("egg-1.jsonl", "c-7.jsonl"):
        (tmp_path / name).write_text('{"cage": "c-7", "sessionId": "c-7"}\n')
    agent = Agent()
    agent.sub_sessions = Parrot.sub_sessions
    assert list(find_sub_agent_files(tmp_path / "c-7.jsonl", agent, {"c-7"})) == []


def test_named_files_are_resolved_once_for_all_sessions(tmp_path):
    folder = shutil.copytree(FIXTURES / "claude/project", tmp_path / "project")
    session = folder / f"{homes.CLAUDE}.jsonl"
    others = tuple(str(tmp_path / f"{number}.jsonl") for number in range(3))
    opening._resolve_paths.cache_clear()
    counts = {len(list(opening.read_sessions(session, named=others))) for _ in range(5)}
    assert max(counts) > 1
    assert opening._resolve_paths.cache_info().misses == 1
    sub_agent = next(path for path in folder.rglob("*.jsonl") if path != session)
    (tmp_path / "link.jsonl").symlink_to(sub_agent)
    named = (str(tmp_path / "link.jsonl"),)
    assert len(list(opening.read_sessions(session, named=named))) == max(counts) - 1
