"""Installers: settings files get our entries and lose them again, and nothing else in them
changes.
"""

import json
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.hooks import read_spools
from vacr.agents import HookLayout
from vacr.capture.hook_settings import (
    add_hooks,
    add_json_member,
    list_hook_commands,
    parse_jsonc,
    remove_hooks,
    remove_json_member,
)
from vacr.capture.installers import (
    HOOKS_BROKEN,
    HOOKS_DIFFERENT,
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    HOOKS_UNREADABLE,
    LOCAL_SCOPE,
    PROJECT_SCOPE,
    USER_SCOPE,
    build_hook_command,
    build_plugin_text,
    find_hook_status,
    find_missing_file,
    load_agent_hooks,
    plan_hook_install,
    plan_hook_uninstall,
)
from vacr.errors import UnreadableInput, UsageError

OURS = {
    "Stop": build_hook_command("claude-code"),
    "SessionStart": build_hook_command("claude-code"),
}
NESTED, FLAT = (
    HookLayout(handler=(("timeout", 10),)),
    HookLayout(nested=False, opening=(("version", 1),)),
)
OTHER = '{"type": "command", "command": "echo mine"}'

FILES = {
    "empty object": "{}\n",
    "no hooks": '{\n  "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "one line": '{"model":"opus","x":[1,2]}',
    "comments": (
        '// mine\n{\n  // first\n  "model": "opus", // liked\n  /* and */ "x": 1 // '
        "last\n  // end\n}\n// after\n"
    ),
    "trailing commas": f"""{{
    "x": [1, 2,],
    "hooks": {{
        "Stop": [
            {{"hooks": [{OTHER},],}},
        ],
    }},
}}
""",
    "other hooks": f"""{{
  "hooks": {{
    "PreToolUse": [{{"matcher": "Bash", "hooks": [{OTHER}]}}],
    "Stop": [{{"hooks": [{OTHER}]}}]
  }},
  "z": null
}}
""",
    "empty hooks": '{\n  "hooks": {},\n  "z": 1\n}\n',
    "empty event": '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "windows": '{\r\n  "model": "opus"\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "öpus \\" // no comment"\n}\n',
    "no newline": '{\n  "a": 1\n}',
}


@pytest.mark.parametrize("layout", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_adding_hooks_changes_nothing_else(text, layout):
    after = add_hooks(text, layout, OURS)
    before, value = parse_jsonc(text).value, parse_jsonc(after).value
    for event, command in OURS.items():
        assert value["hooks"][event].pop() == layout.entry(command)
        assert value["hooks"][event] == before.get("hooks", {}).get(event, [])
    assert {name: item for name, item in value.items() if name not in ("hooks", "version")} == {
        name: item for name, item in before.items() if name != "hooks"
    }
    # All characters are still there in order: only white space and commas may come between.
    rest = iter(after)
    assert all(letter in rest for letter in text)
    assert add_hooks(after, layout, OURS) == after
    assert ("\r\n" in text) == ("\r\n" in after)
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in after


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_removing_hooks_restores_the_settings(text):
    after = remove_hooks(add_hooks(text, NESTED, OURS))
    before = parse_jsonc(text).value
    if before.get("hooks") in ({}, {"Stop": []}):
        # An empty object may have been emptied by us, so it is removed.
        before.pop("hooks")
    assert parse_jsonc(after).value == before
    assert remove_hooks(text) == text
    if "hooks" in before or '{\n  "model"' in text:
        assert after == text


def test_older_command_is_replaced():
    old = add_hooks(
        '{\n  "a": 1\n}\n',
        NESTED,
        {"Stop": "/gone/python -I /old/vacr/capture/hook.py claude-code"},
    )
    new = add_hooks(old, NESTED, OURS)
    assert list_hook_commands(new) == {event: [command] for event, command in OURS.items()}
    assert remove_hooks(new) == '{\n  "a": 1\n}\n'


def test_removing_a_hook_keeps_its_neighbours():
    ours = json.dumps({"type": "command", "command": OURS["Stop"]})
    text = f'{{"hooks": {{"Stop": [{{"hooks": [{OTHER}, {ours}, {OTHER}]}}]}}}}'
    assert remove_hooks(text) == text.replace(f" {ours},", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1', "a comma or } is missing"),
        ('{"a" 1}', "line 1, column 6: a colon is missing"),
        ("{a: 1}", "a name in double quotes is missing"),
        ('{"a": 01}', "01 is not a value"),
        ('{"a": nope}', "a value is missing"),
        ('{"a": 1} x', "unexpected text after"),
        ('{"a": "\n"}', "a value is missing"),
        ("[]", "not a JSON object"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is not a list"),
        ("[" * 200, "nested deeper"),
        ("/* open", "a value is missing"),
    ],
)
def test_invalid_settings_are_refused(text, message):
    with pytest.raises(UnreadableInput) as error:
        add_hooks(text, NESTED, OURS)
    assert message in error.value.message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 0, 2, "\t"]), VALUES)
def test_any_json_is_parsed_and_edited(value, indent, more):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    root = parse_jsonc(text)
    assert root.value == value
    longer = add_json_member(text, root, more, "new")
    assert parse_jsonc(longer).value == {**value, "new": more}
    assert json.loads(longer) == {**value, "new": more}
    grown = parse_jsonc(longer)
    if value:
        assert remove_json_member(longer, grown, grown.members[-1]) == text


@given(st.text(alphabet='{}[]":,/*\\ \nab1', max_size=40))
def test_any_text_parses_or_raises_unreadable_input(text):
    with suppress(UnreadableInput):
        parse_jsonc(text)


@pytest.fixture
def places(tmp_path):
    """A home, its environment without any agent, and a state folder."""
    home = tmp_path / "home"
    home.mkdir()
    return home, {"HOME": str(home), "PATH": ""}, tmp_path / "state"


@pytest.mark.parametrize("name", load_agent_hooks())
@pytest.mark.parametrize("before", [None, "own"])
def test_uninstall_restores_the_file_byte_for_byte(places, name, before):
    home, environment, state = places
    agent = load_agent_hooks()[name]
    path = agent.path(USER_SCOPE, environment, home)
    if before and agent.layout:
        path.parent.mkdir(parents=True)
        path.write_text(FILES["comments"])
        path.chmod(0o640)
    assert find_hook_status(agent, path, environment)[0] == HOOKS_NOT_INSTALLED
    change = plan_hook_install(agent, path, environment, state)
    assert "hook.py" in change.diff()
    change.make(state)
    assert find_hook_status(agent, path, environment)[0] == HOOKS_INSTALLED
    assert plan_hook_install(agent, path, environment, state).is_empty
    plan_hook_uninstall(agent, path, state).make(state)
    if before and agent.layout:
        assert path.read_text() == FILES["comments"]
        assert path.stat().st_mode & 0o777 == 0o640
    else:
        assert list(home.rglob("*")) == []
    assert list((state / "hooks").iterdir()) == []
    assert plan_hook_uninstall(agent, path, state).is_empty


def test_uninstall_keeps_later_changes(places):
    home, environment, state = places
    agent = load_agent_hooks()["claude-code"]
    path = agent.path(USER_SCOPE, environment, home)
    plan_hook_install(agent, path, environment, state).make(state)
    value = json.loads(path.read_text())
    path.write_text(json.dumps({"model": "opus", **value}, indent=4))
    plan_hook_uninstall(agent, path, state).make(state)
    assert path.read_text() == '{\n    "model": "opus"\n}'


def test_uninstall_deletes_a_file_made_for_hooks(places):
    home, environment, state = places
    agent = load_agent_hooks()["cursor"]
    path = agent.path(USER_SCOPE, environment, home)
    plan_hook_install(agent, path, environment, state).make(state)
    path.write_text(json.dumps(json.loads(path.read_text())))
    plan_hook_uninstall(agent, path, state).make(state)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
def test_link_stays_a_link(places, tmp_path, there):
    home, environment, state = places
    agent = load_agent_hooks()["claude-code"]
    path = agent.path(USER_SCOPE, environment, home)
    path.parent.mkdir()
    dotfiles = tmp_path / "dotfiles.json"
    if there:
        dotfiles.write_text("{}")
    path.symlink_to(dotfiles)
    plan_hook_install(agent, path, environment, state).make(state)
    assert path.is_symlink()
    assert "hook.py" in dotfiles.read_text()
    plan_hook_uninstall(agent, path, state).make(state)
    assert path.is_symlink()
    assert dotfiles.exists() == there


def test_file_changed_since_the_plan_is_left_alone(places):
    home, environment, state = places
    agent = load_agent_hooks()["gemini-cli"]
    path = agent.path(USER_SCOPE, environment, home)
    change = plan_hook_install(agent, path, environment, state)
    path.parent.mkdir()
    path.write_text("{}")
    with pytest.raises(UnreadableInput, match="changed the file in the meantime"):
        change.make(state)
    assert path.read_text() == "{}"


def test_damaged_backup_does_no_harm(places):
    home, environment, state = places
    agent = load_agent_hooks()["claude-code"]
    path = agent.path(USER_SCOPE, environment, home)
    path.parent.mkdir()
    path.write_text(FILES["no hooks"])
    plan_hook_install(agent, path, environment, state).make(state)
    for kept in (state / "hooks").iterdir():
        kept.write_text('{"before": 7}')
    plan_hook_uninstall(agent, path, state).make(state)
    assert path.read_text() == FILES["no hooks"]


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b'{"hooks": 1}'])
def test_invalid_file_is_left_untouched(places, content):
    home, environment, state = places
    agent = load_agent_hooks()["codex-cli"]
    path = agent.path(USER_SCOPE, environment, home)
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UnreadableInput):
        plan_hook_install(agent, path, environment, state)
    with pytest.raises(UnreadableInput):
        plan_hook_uninstall(agent, path, state)
    assert path.read_bytes() == content
    assert find_hook_status(agent, path, environment)[0] == HOOKS_UNREADABLE


def test_foreign_plugin_is_left_alone(places):
    home, environment, state = places
    agent = load_agent_hooks()["opencode"]
    path = agent.path(USER_SCOPE, environment, home)
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    with pytest.raises(UnreadableInput, match="another plugin has this file name"):
        plan_hook_install(agent, path, environment, state)


@pytest.mark.parametrize("name", load_agent_hooks())
def test_status_reports_a_missing_python(places, name):
    home, environment, state = places
    agent = load_agent_hooks()[name]
    path = agent.path(USER_SCOPE, environment, home)
    plan_hook_install(agent, path, environment, state).make(state)
    whole = path.read_text()
    path.write_text(whole.replace(sys.executable, "/gone/bin/python"))
    assert find_hook_status(agent, path, environment)[0] == HOOKS_BROKEN
    path.write_text(whole.replace("-I -S", "-I").replace('"-I", "-S"', '"-S", "-I"'))
    assert find_hook_status(agent, path, environment)[0] == HOOKS_DIFFERENT


@pytest.mark.parametrize(
    ("name", "variables", "path"),
    [
        ("claude-code", {}, "/h/.claude/settings.json"),
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/settings.json"),
        ("codex-cli", {}, "/h/.codex/hooks.json"),
        ("codex-cli", {"CODEX_HOME": "/c"}, "/c/hooks.json"),
        ("gemini-cli", {}, "/h/.gemini/settings.json"),
        ("gemini-cli", {"GEMINI_CLI_HOME": "/c"}, "/c/.gemini/settings.json"),
        ("cursor", {}, "/h/.cursor/hooks.json"),
        ("opencode", {}, "/h/.config/opencode/plugin/vacr.js"),
        ("opencode", {"XDG_CONFIG_HOME": "/c"}, "/c/opencode/plugin/vacr.js"),
    ],
)
def test_settings_path_follows_the_agent(tmp_path, name, variables, path):
    assert (
        str(load_agent_hooks()[name].path(USER_SCOPE, {"HOME": "/h", **variables}, tmp_path))
        == path
    )


def test_project_settings_path(tmp_path):
    assert (
        load_agent_hooks()["claude-code"].path(LOCAL_SCOPE, {}, tmp_path)
        == tmp_path / ".claude/settings.local.json"
    )
    assert (
        load_agent_hooks()["codex-cli"].path(PROJECT_SCOPE, {}, tmp_path)
        == tmp_path / ".codex/hooks.json"
    )
    codex = load_agent_hooks()["codex-cli"]
    with pytest.raises(UsageError, match="--local") as refused:
        codex.path(LOCAL_SCOPE, {}, tmp_path)
    assert "use --project instead" in refused.value.hint
    without_project = replace(codex, settings=replace(codex.settings, project=""))
    for scope in (LOCAL_SCOPE, PROJECT_SCOPE):
        with pytest.raises(UsageError, match=f"--{scope}") as refused:
            without_project.path(scope, {}, tmp_path)
        assert refused.value.hint == f"Omit --{scope} to change your own settings."


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("2.1.197 (Claude Code)", True),
        ("2.1.101 (Claude Code)", True),
        ("2.1.100", False),
        ("1.0.85", False),
        ("?", False),
    ],
)
def test_older_versions_get_only_events_they_know(tmp_path, version, more):
    (tmp_path / "claude").write_text(f"#!/bin/sh\necho '{version}'\n")
    (tmp_path / "claude").chmod(0o755)
    events = load_agent_hooks()["claude-code"].commands({"PATH": f"{tmp_path}:/bin:/usr/bin"})
    assert ("StopFailure" in events) == more
    assert "SessionStart" in events
    assert not {"WorktreeCreate", "WorktreeRemove", "MessageDisplay"} & set(events)


@pytest.mark.parametrize(
    "name", [name for name, agent in load_agent_hooks().items() if agent.layout]
)
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize(
    "shell", [shell for shell in ("sh", "bash", "zsh", "fish") if shutil.which(shell)]
)
def test_command_prints_only_the_expected_answer(tmp_path, name, gone, shell):
    agent = load_agent_hooks()[name]
    for event, command in agent.commands({"PATH": ""}).items():
        line = command.replace("hook.py", "gone.py") if gone else command
        sent = b'{"session_id":"s","conversation_id":"s"}'
        done = subprocess.run(
            [shell, "-c", line], input=sent, capture_output=True, env={"VACR_STATE": str(tmp_path)}
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode().strip() == agent.settings.answers.get(
            event, agent.settings.answer
        )
    assert bool(read_spools(tmp_path)) != gone


def test_missing_file_of_a_command_is_found(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", f"{tmp_path}/my python/bin/python")
    assert (
        find_missing_file(build_hook_command("cursor", "{}")) == f"{tmp_path}/my python/bin/python"
    )
    assert find_missing_file("'") == "'"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_plugin_reports_completed_events_without_waiting(tmp_path):
    (tmp_path / "vacr.mjs").write_text(build_plugin_text(load_agent_hooks()["opencode"]))
    (tmp_path / "run.mjs").write_text("""
        import { VacrPlugin } from "./vacr.mjs"
        const plugin = await VacrPlugin()
        const tell = (type, properties) => plugin.event({ event: { type, properties } })
        await tell("session.created", { info: { id: "s" } })
        await tell("message.part.updated", { part: { type: "text", sessionID: "s", text: "h", time: { start: 1 } } })
        await tell("message.part.updated", { part: { type: "text", sessionID: "s", text: "hi", time: { start: 1, end: 2 } } })
        await tell("message.part.updated", { part: { type: "tool", sessionID: "s", state: { status: "running" } } })
        await tell("message.part.updated", { part: { type: "tool", sessionID: "s", state: { status: "completed" } } })
        await tell("message.part.delta", { sessionID: "s" })
        await plugin["tool.execute.before"]({ sessionID: "s", tool: "bash" }, { args: { command: "x".repeat(500000) } })
        const circle = { sessionID: "s" }
        circle.circle = circle
        await plugin["tool.execute.after"](circle, {})
        await plugin.event({})
        await tell("session.idle", { sessionID: "s" })
    """)
    state = tmp_path / "state"
    subprocess.run(
        ["node", tmp_path / "run.mjs"],
        check=True,
        env={"PATH": "", "VACR_STATE": str(state)},
        executable=shutil.which("node"),
    )
    events = []
    for _ in range(600):  # hooks that were started are not waited for
        events = [json.loads(payload) for payload in read_spools(state).get(("opencode", "s"), [])]
        if len(events) == 5:
            break
        time.sleep(0.1)
    events.sort(key=lambda event: event["number"])
    assert [event["type"] for event in events] == [
        "session.created",
        "message.part.updated",
        "message.part.updated",
        "tool.execute.before",
        "session.idle",
    ]
    assert len(events[3]["data"]["output"]["args"]["command"]) == 500_000
