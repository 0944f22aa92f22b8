"""The MCP server in agents' settings: added and removed, and nothing else in the files changes."""

import json
import sys
import tomllib

import pytest

from vacr.capture import PROJECT_SCOPE, USER_SCOPE, load_agent_hooks, load_agent_servers
from vacr.capture.installers import (
    HOOKS_BROKEN,
    HOOKS_DIFFERENT,
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    HOOKS_UNREADABLE,
    plan_hook_install,
    plan_hook_uninstall,
)
from vacr.capture.mcp_settings import (
    add_server,
    build_server_command,
    find_server_status,
    plan_server_install,
    plan_server_uninstall,
    remove_server,
)
from vacr.errors import UnreadableInput

AGENTS = load_agent_servers()
JSON_AGENTS = [name for name, agent in AGENTS.items() if not agent.settings.is_toml]
WORDS = [sys.executable, "-P", "-m", "vacr", "mcp"]
JSON_FILES = {
    "missing": "",
    "empty object": "{}\n",
    "others": '{\n  "theme": "dark",\n  "mcpServers": {"mine": {"command": "mine"}},\n  "mcp": {"mine": {}}\n}\n',
    "one line": '{"theme":"dark","x":[1,2]}',
    "tabs": '{\n\t"theme": "dark"\n}',
    "comments": '// mine\n{\n  // first\n  "theme": "dark", // liked\n  "mcpServers": {},\n  "mcp": {},\n}\n',
    "windows": '{\r\n  "theme": "dark"\r\n}\r\n',
}
TOML_FILES = {
    "missing": "",
    "settings": 'model = "m"\n',
    "no end of line": 'model = "m"',
    "others": '# mine\nmodel = "m"\n\n[mcp_servers.mine]\ncommand = "mine"\n\n[projects."/x"]\ntrust_level = "trusted"\n',
    "windows": 'model = "m"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
    "text with brackets": 'notes = """\n[mcp_servers.vacr]\nis only text\n"""\n',
}
ENTRIES = {
    "claude-code": {"type": "stdio", "command": WORDS[0], "args": WORDS[1:]},
    "codex-cli": {"command": WORDS[0], "args": WORDS[1:]},
    "gemini-cli": {"command": WORDS[0], "args": WORDS[1:]},
    "opencode": {"type": "local", "command": WORDS, "enabled": True},
    "cursor": {"command": WORDS[0], "args": WORDS[1:]},
}
PATHS = {
    "claude-code": (".claude.json", ".mcp.json"),
    "codex-cli": (".codex/config.toml", ".codex/config.toml"),
    "gemini-cli": (".gemini/settings.json", ".gemini/settings.json"),
    "opencode": (".config/opencode/opencode.json", "opencode.json"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json"),
}


def parse(text):
    from vacr.capture.hook_settings import parse_jsonc

    return parse_jsonc(text).value


def get_servers(agent, value):
    for name in agent.settings.members:
        value = value[name]
    return value


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


def test_every_agent_has_its_entry_in_its_file(tmp_path):
    assert set(AGENTS) == set(ENTRIES)
    for name, agent in AGENTS.items():
        environment = {"HOME": str(tmp_path)}
        user, project = PATHS[name]
        assert agent.path(USER_SCOPE, environment, tmp_path) == tmp_path / user
        assert agent.path(PROJECT_SCOPE, environment, tmp_path / "p") == tmp_path / "p" / project
        text = add_server("", agent.settings, WORDS)
        value = tomllib.loads(text) if agent.settings.is_toml else json.loads(text)
        assert get_servers(agent, value) == {"vacr": ENTRIES[name]}


@pytest.mark.parametrize("case", JSON_FILES)
@pytest.mark.parametrize("name", JSON_AGENTS)
def test_json_keeps_everything_else_and_is_restored(name, case):
    agent, text = AGENTS[name], JSON_FILES[case]
    changed = add_server(text, agent.settings, WORDS)
    value = parse(changed)
    servers = get_servers(agent, value)
    assert servers.pop("vacr") == ENTRIES[name]
    before = parse(text) if text else {}
    for member, own in before.items():
        assert value[member] == own
    assert add_server(changed, agent.settings, WORDS) == changed
    removed = remove_server(changed, agent.settings)
    assert remove_server(removed, agent.settings) == removed
    expected = {
        key: own for key, own in before.items() if own != {} or key != agent.settings.members[0]
    }
    assert parse(removed) == expected
    if "{}" not in text and text:
        assert removed == text


@pytest.mark.parametrize("case", TOML_FILES)
def test_toml_keeps_everything_else_and_is_restored(case):
    settings, text = AGENTS["codex-cli"].settings, TOML_FILES[case]
    changed = add_server(text, settings, WORDS)
    assert changed.startswith(text)
    value = tomllib.loads(changed)
    assert value["mcp_servers"].pop("vacr") == ENTRIES["codex-cli"]
    before = tomllib.loads(text)
    assert {key: own for key, own in value.items() if own} == before
    assert add_server(changed, settings, WORDS) == changed
    if case == "text with brackets":
        # The text looks like a header, so the edit is not safe, and is refused.
        with pytest.raises(UnreadableInput, match="cannot be edited"):
            remove_server(changed, settings)
        return
    assert tomllib.loads(remove_server(changed, settings)) == before
    assert remove_server(changed, settings).rstrip() == text.rstrip()


def test_tables_inside_our_table_are_removed_with_it():
    settings = AGENTS["codex-cli"].settings
    changed = add_server("a = 1\n\n[x]\nb = 2\n", settings, WORDS)
    changed += '\n[mcp_servers.vacr.tools.verify]\napproval_mode = "approve"\n\n[y]\nc = 3\n'
    removed = remove_server(changed, settings)
    assert tomllib.loads(removed) == {"a": 1, "x": {"b": 2}, "y": {"c": 3}}


def test_inline_table_of_servers_is_refused_and_nothing_is_lost():
    with pytest.raises(UnreadableInput, match="cannot be edited") as caught:
        add_server(
            'mcp_servers = { mine = { command = "x" } }\n', AGENTS["codex-cli"].settings, WORDS
        )
    assert "not changed" in caught.value.hint


@pytest.mark.parametrize("name", AGENTS)
def test_other_server_of_our_name_is_not_replaced(name):
    settings = AGENTS[name].settings
    text = add_server("", settings, ["/usr/bin/other", "serve"])
    for edit in (lambda: add_server(text, settings, WORDS), lambda: remove_server(text, settings)):
        with pytest.raises(UnreadableInput, match="another MCP server is named vacr"):
            edit()


@pytest.mark.parametrize("name", AGENTS)
def test_members_that_the_user_added_stay(name):
    settings = AGENTS[name].settings
    text = add_server("", settings, WORDS)
    if settings.is_toml:
        text += "startup_timeout_sec = 30\n"
    else:
        text = text.replace('"command"', '"timeout": 30, "command"')
    assert add_server(text, settings, WORDS) == text


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize(
    "text", ["[1]", "{", "= 1", '{"mcpServers": 1, "mcp": 1}', "mcp_servers = 1"]
)
def test_what_is_not_a_settings_file_is_refused(name, text):
    settings = AGENTS[name].settings
    if settings.is_toml and text == "[1]":
        text = "[1"
    with pytest.raises(UnreadableInput):
        add_server(text, settings, WORDS)


@pytest.mark.parametrize("name", AGENTS)
def test_install_and_uninstall_restore_the_file(name, home, state):
    agent = AGENTS[name]
    path = agent.path(USER_SCOPE, {"HOME": str(home)}, home)
    for before in (None, b'x = "1"\n' if agent.settings.is_toml else b'{ "x":"1" }'):
        if before is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(before)
        assert find_server_status(agent, path)[0] == HOOKS_NOT_INSTALLED
        change = plan_server_install(agent, path, state)
        assert "+" in change.diff()
        change.make(state)
        assert find_server_status(agent, path)[0] == HOOKS_INSTALLED
        assert plan_server_install(agent, path, state).is_empty
        plan_server_uninstall(agent, path, state).make(state)
        assert (path.read_bytes() if path.exists() else None) == before
        assert not any(folder.is_file() for folder in state.rglob("*"))


def test_file_that_the_agent_rewrote_loses_only_our_entry(home, state):
    agent, path = AGENTS["claude-code"], home / ".claude.json"
    plan_server_install(agent, path, state).make(state)
    value = json.loads(path.read_text())
    value["numStartups"] = 5
    path.write_text(json.dumps(value, indent=2))
    plan_server_uninstall(agent, path, state).make(state)
    assert json.loads(path.read_text()) == {"numStartups": 5}


def test_hooks_and_server_share_a_settings_file(home, state):
    server, hooks = AGENTS["gemini-cli"], load_agent_hooks()["gemini-cli"]
    environment = {"HOME": str(home), "PATH": ""}
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    original = b'{\n  "theme": "dark"\n}\n'
    orders = [
        ("server", "hooks", "server", "hooks"),
        ("hooks", "server", "server", "hooks"),
        ("hooks", "server", "hooks", "server"),
    ]
    for first, second, third, fourth in orders:
        path.write_bytes(original)
        for who in (first, second):
            plan = (
                plan_server_install(server, path, state)
                if who == "server"
                else plan_hook_install(hooks, path, environment, state)
            )
            plan.make(state)
        for who in (third, fourth):
            plan = (
                plan_server_uninstall(server, path, state)
                if who == "server"
                else plan_hook_uninstall(hooks, path, state)
            )
            plan.make(state)
        assert path.read_bytes() == original


def test_status_names_the_problem(home, state):
    agent, path = AGENTS["cursor"], home / "mcp.json"
    path.write_text(add_server("", agent.settings, ["/nowhere/python", "-m", "vacr", "mcp"]))
    assert find_server_status(agent, path)[0] == HOOKS_BROKEN
    path.write_text(add_server("", agent.settings, [sys.executable, "-m", "vacr", "mcp"]))
    assert find_server_status(agent, path)[0] == HOOKS_DIFFERENT
    plan_server_install(agent, path, state).make(state)
    assert json.loads(path.read_text())["mcpServers"]["vacr"]["args"] == build_server_command()[1:]
    path.write_text("{")
    assert find_server_status(agent, path)[0] == HOOKS_UNREADABLE


def test_home_folder_alone_does_not_show_an_agent(home):
    environment = {"HOME": str(home), "PATH": ""}
    assert not any(agent.is_here(environment) for agent in AGENTS.values())
    (home / ".claude.json").write_text("{}")
    (home / ".codex").mkdir()
    here = [name for name, agent in AGENTS.items() if agent.is_here(environment)]
    assert here == ["claude-code", "codex-cli"]


def test_existing_file_with_comments_is_preferred(home):
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    agent, environment = AGENTS["opencode"], {"HOME": str(home)}
    (folder / "opencode.jsonc").write_text("{}")
    assert agent.path(USER_SCOPE, environment, home).name == "opencode.jsonc"
    (folder / "opencode.json").write_text("{}")
    assert agent.path(USER_SCOPE, environment, home).name == "opencode.json"
