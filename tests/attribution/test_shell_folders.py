"""The folder of relative paths in a shell that lasts from call to call."""

import pytest

from tests.attribution.sessions import (
    ROOT,
    Claude,
    Codex,
    Gemini,
    OpenCode,
    cursor_editor,
    list_changes,
    read_records,
)
from vacr.attribution.attribute import replay_records

WRITE = "cat > made.txt <<'E'\nalpha\nE"
SUB = f"{ROOT}/sub"
HERE, BELOW, NOWHERE = [("made.txt", [[1, 1]], "shell")], [("sub/made.txt", [[1, 1]], "shell")], []


def shell(claude, command, text="", *, before=ROOT, after=None, error=False, **more):
    """Add a command; the transcript states these folders before and after it."""
    call_id = claude.ask("Bash", {"command": command}, cwd=before, **more)
    native = None if error else {"stdout": text, "stderr": "", "interrupted": False}
    claude.answer(call_id, text, native, error=error, cwd=after or before, **more)


def replay_changes(tmp_path, claude):
    return list_changes(read_records(tmp_path, claude.data()))


def test_stated_folder_holds_for_the_next_call(tmp_path):
    claude = Claude()
    shell(claude, "cd sub && ls", "a\n", after=SUB)
    shell(claude, WRITE, before=SUB)
    assert replay_changes(tmp_path, claude) == BELOW


ENTERED = [
    "cd sub",
    "cd sub && make",
    "cd sub; ls",
    "cd /elsewhere",
    "pushd sub",
    "cd sub && cd -",
    "cd sub && grep -n 1 a",
]
ENTERED += ["cd sub && for x in 1; do echo 1:$x; done"]


@pytest.mark.parametrize("entered", ENTERED)
def test_folder_is_unknown_when_the_transcript_does_not_follow(tmp_path, entered):
    claude = Claude()
    shell(claude, entered, "1:1\n")
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == (HERE if entered.endswith("cd -") else NOWHERE)


def test_folder_is_known_again_when_commands_and_transcript_agree(tmp_path):
    claude = Claude()
    shell(claude, "cd sub")
    shell(claude, "rm old.txt")
    shell(claude, f"cd {ROOT} && ls", "sub\n")
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == HERE


def test_folder_is_known_again_when_the_transcript_states_another(tmp_path):
    claude = Claude()
    shell(claude, "cd sub")
    claude.line("user", message={"role": "user", "content": "go on"}, cwd=SUB)
    shell(claude, WRITE, before=SUB)
    assert replay_changes(tmp_path, claude) == BELOW


def test_absolute_paths_of_a_lost_shell_are_known(tmp_path):
    claude = Claude()
    shell(claude, "cd sub")
    shell(claude, WRITE.replace("made", f"{ROOT}/made"))
    shell(claude, f"cd {SUB} && {WRITE}")
    assert replay_changes(tmp_path, claude) == HERE + BELOW


def test_reset_shell_is_in_its_former_folder(tmp_path):
    claude = Claude()
    shell(claude, "cd /tmp && ls", f"x\nShell cwd was reset to {ROOT}")
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == HERE


@pytest.mark.parametrize("command", ["(cd sub && make)", "# cd sub", "echo 'cd sub'", "cd ."])
def test_command_that_does_not_move_the_shell_keeps_the_folder(tmp_path, command):
    claude = Claude()
    shell(claude, command)
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == HERE


@pytest.mark.parametrize(
    ("command", "error"), [("cd sub && make", True), ("cd sub && make && grep -n x f", False)]
)
def test_call_that_may_have_failed_changes_no_folder(tmp_path, command, error):
    claude = Claude()
    shell(claude, command, "Exit code 2\nmake: *** [all]" if error else "", error=error)
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == HERE


def test_lost_shell_shows_no_file(tmp_path):
    claude = Claude()
    shell(claude, "cd sub")
    shell(claude, "cat seen.txt", "alpha\nbeta")

    claude.call("Grep", {"pattern": "a", "output_mode": "content", "-n": True}, "seen.txt:1:alpha")
    replay, _ = replay_records(read_records(tmp_path, claude.data()))
    assert list(replay.files) == []


def test_call_recorded_after_its_end_states_the_folder_it_left(tmp_path):
    claude = Claude()
    claude.user("go on")
    shell(claude, f"cd sub && {WRITE}", before=SUB)
    shell(claude, WRITE, before=SUB)
    assert replay_changes(tmp_path, claude) == BELOW


def test_call_parallel_to_a_cd_may_run_in_either_folder(tmp_path):
    claude = Claude()
    first = claude.ask("Bash", {"command": "cd sub"})
    second = claude.ask("Bash", {"command": WRITE})
    claude.answer(first, "", cwd=SUB)
    claude.answer(second, "", cwd=SUB)
    shell(claude, WRITE, before=SUB)
    assert replay_changes(tmp_path, claude) == BELOW


def test_sub_agent_has_its_own_shell(tmp_path):
    claude = Claude()
    shell(claude, "cd sub", isSidechain=True, agentId="a1")
    shell(claude, WRITE)
    shell(claude, WRITE.replace("made", "other"), isSidechain=True, agentId="a1")
    assert replay_changes(tmp_path, claude) == HERE


def test_continued_session_may_start_in_any_folder(tmp_path):
    claude = Claude()
    claude.line(
        "user",
        message={"role": "user", "content": "This session is being continued."},
        isCompactSummary=True,
    )
    shell(claude, WRITE)
    shell(claude, "cd sub")
    assert replay_changes(tmp_path, claude) == NOWHERE


@pytest.mark.parametrize(("entrypoint", "expected"), [("claude-desktop", HERE), ("cli", NOWHERE)])
def test_prompt_in_the_desktop_application_resets_the_shell(tmp_path, entrypoint, expected):
    claude = Claude()
    shell(claude, "cd sub")
    claude.line("user", message={"role": "user", "content": "go on"}, entrypoint=entrypoint)
    shell(claude, WRITE)
    assert replay_changes(tmp_path, claude) == expected


@pytest.mark.parametrize(
    ("folder", "shown", "path"),
    [
        (SUB, "sub/a.txt", "sub/a.txt"),
        (SUB, "a.txt", "sub/a.txt"),
        (f"{ROOT}/.claude/worktrees/one", "a.txt", ".claude/worktrees/one/a.txt"),
        (f"{ROOT}/.claude/worktrees/one/sub", "sub/a.txt", ".claude/worktrees/one/sub/a.txt"),
    ],
)
def test_git_paths_are_relative_to_the_work_tree(tmp_path, folder, shown, path):
    claude = Claude()
    claude.user("go on")
    shell(claude, "git status --short", after=folder)
    shell(
        claude,
        "git diff",
        f"diff --git a/{shown} b/{shown}\n--- a/{shown}\n+++ b/{shown}\n@@ -1 +1 @@\n-a\n+b\n",
        before=folder,
    )
    replay, _ = replay_records(read_records(tmp_path, claude.data()))
    assert list(replay.files) == [f"{ROOT}/{path}"]


def test_each_codex_call_starts_in_its_own_folder(tmp_path):
    codex = Codex()
    codex.shell("cd sub && ls")
    codex.shell(WRITE)
    call_id = codex.function("exec_command", {"cmd": WRITE, "workdir": "sub"})
    codex.output(
        call_id,
        "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n",
        "function_call_output",
    )
    assert list_changes(read_records(tmp_path, codex.data())) == HERE + BELOW


def test_each_gemini_call_starts_in_its_own_folder(tmp_path):
    gemini = Gemini()
    for arguments in (
        {"command": "cd sub"},
        {"command": WRITE},
        {"command": WRITE, "dir_path": "sub"},
    ):
        gemini.call("run_shell_command", arguments, "Output: (empty)\nError: (none)\nExit Code: 0")
    assert list_changes(read_records(tmp_path, gemini.data(), "session.json")) == HERE + BELOW


def test_each_opencode_call_starts_in_its_own_folder(tmp_path):
    opencode = OpenCode()
    for arguments in (
        {"command": "cd sub"},
        {"command": WRITE},
        {"command": WRITE, "workdir": SUB},
    ):
        opencode.call("bash", arguments, "", {"exit": 0})
    assert list_changes(read_records(tmp_path, opencode.data(), "session.json")) == HERE + BELOW


def test_cursor_shell_lasts_and_states_no_folder(tmp_path):
    ran = [
        {"command": WRITE},
        {"command": "cd sub"},
        {"command": WRITE},
        {"command": WRITE, "cwd": SUB},
    ]
    tools = [
        {"name": "run_terminal_cmd", "params": arguments, "result": {"output": "", "exitCode": 0}}
        for arguments in ran
    ]
    assert list_changes(cursor_editor(tmp_path, *tools)) == HERE + BELOW
