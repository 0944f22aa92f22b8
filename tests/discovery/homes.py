"""A home folder with sessions of all agents, as on each operating system."""

import json
import os
import shutil
from pathlib import Path

from tests.conftest import EXAMPLES, FIXTURES, jsonl
from tests.discovery import cursor_databases as cursor
from tests.discovery.crush_database import filled as filled_crush
from tests.discovery.goose_database import build_session_file as build_goose_file
from tests.discovery.goose_database import filled as filled_goose
from tests.discovery.hermes_database import build_session_file
from tests.discovery.hermes_database import filled as filled_hermes
from tests.discovery.opencode_database import filled
from tests.discovery.test_cursor_command_line import MESSAGES, META, ROOT
from tests.discovery.test_cursor_editor import FORMS
from tests.discovery.zed_database import filled as filled_zed

CURSOR_USER = {
    "linux": ".config",
    "darwin": "Library/Application Support",
    "win32": "AppData/Roaming",
}
CLAUDE = "3c9e7b10-5d42-4f6a-8b1e-7a2c4d6e8f01"
CURSOR = "7e2b9c54-1111-4aaa-8bbb-0123456789ab"


AGENTS = (
    "claude-code",
    "codex-cli",
    "copilot",
    "copilot-vscode",
    "cursor",
    "gemini-cli",
    "opencode",
    "visualstudio-copilot",
    "windsurf",
)
"""The agents whose sessions `fill` puts into a home."""


def variables(home: Path, system: str = "linux") -> dict[str, str]:
    """Return the environment variables that name a home."""
    if system == "win32":
        return {"USERPROFILE": str(home), "APPDATA": str(home / CURSOR_USER[system])}
    return {"HOME": str(home)}


def put(source: Path, target: Path) -> Path:
    """Copy a session to its agent's folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    return target


def claude(folder: Path) -> None:
    put(FIXTURES / "claude" / "project", folder / "projects" / "-home-nora-till")


def codex(folder: Path) -> None:
    put(
        EXAMPLES / "codex-cli.jsonl", folder / "sessions" / "2026" / "07" / "25" / "rollout-1.jsonl"
    )


def gemini(folder: Path) -> None:
    put(FIXTURES / "gemini" / "session.json", folder / "tmp" / "till" / "chats" / "session-1.json")


def copilot(folder: Path) -> None:
    put(FIXTURES / "copilot" / "session-state", folder / "session-state")


def copilot_vscode(folder: Path) -> None:
    chats = folder / "User" / "workspaceStorage" / "0f1e" / "chatSessions"
    put(FIXTURES / "copilot-vscode" / "session.json", chats / "7c1e.json")
    put(FIXTURES / "copilot-vscode" / "log.jsonl", chats / "9d2f.jsonl")
    transcripts = chats.parent / "GitHub.copilot-chat" / "transcripts"
    put(FIXTURES / "copilot-vscode" / "transcript.jsonl", transcripts / "5e1c.jsonl")


def windsurf(folder: Path) -> None:
    put(FIXTURES / "windsurf" / "steps.jsonl", folder / "transcripts" / "1.jsonl")


def visual_studio(folder: Path) -> None:
    """Put the traces of one conversation into a folder; those of the fixture have two."""
    traces = (FIXTURES / "visualstudio-copilot" / "traces.jsonl").read_bytes().splitlines()[:5]
    path = folder / "VSGitHubCopilotLogs" / "traces" / "1_VSGitHubCopilot_traces.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(traces))


def opencode(folder: Path) -> None:
    folder.mkdir(parents=True)
    filled(folder / "opencode.db").close()


def cursor_transcripts(folder: Path) -> None:
    put(
        FIXTURES / "cursor" / "nested", folder / "projects" / "home-nora-till" / "agent-transcripts"
    )


def cursor_chats(folder: Path) -> None:
    (folder / "chats" / "0f" / "1").mkdir(parents=True)
    cursor.command_line(folder / "chats" / "0f" / "1" / "store.db", META, MESSAGES, ROOT)


def cursor_editor(folder: Path) -> None:
    (folder / "User" / "globalStorage").mkdir(parents=True)
    cursor.editor(folder / "User" / "globalStorage" / "state.vscdb", FORMS["headers"])


def crush(folder: Path) -> None:
    filled_crush(folder / "crush.db").close()


def goose(folder: Path) -> None:
    """Write a database, and a session file of an older version."""
    filled_goose(folder / "sessions.db").close()
    (folder / "20260725_184500.jsonl").write_bytes(jsonl(*build_goose_file()))


def gptme(folder: Path) -> None:
    put(FIXTURES / "gptme" / "2026-07-25-till", folder / "2026-07-25-till")


def vibe(folder: Path) -> None:
    """Write a folder with a sub-agent's, and a session file of an older version."""
    put(FIXTURES / "vibe", folder / "logs" / "session")


def zed(folder: Path) -> None:
    filled_zed(folder / "threads" / "threads.db").close()


def hermes(folder: Path) -> None:
    """Write a database, and the file of a session that it does not have."""
    filled_hermes(folder / "state.db").close()
    (folder / "sessions").mkdir()
    content = build_session_file()
    path = folder / "sessions" / f"session_{content['session_id']}.json"
    path.write_text(json.dumps(content))


def aider(folder: Path) -> None:
    put(FIXTURES / "aider" / "aider-chat.md", folder / ".aider.chat.history.md")


def openhands(folder: Path) -> None:
    """Write a conversation as a folder of events."""
    (folder / "events").mkdir(parents=True)
    state = {"id": "0e000000-1111-4000-8000-000000000000", "max_iterations": 500}
    state |= {"agent": {"llm": {"model": "vendor/sonnet-9"}}}
    state |= {"workspace": {"working_dir": "/home/nora/till"}}
    (folder / "base_state.json").write_text(json.dumps(state))
    lines = (FIXTURES / "openhands" / "hands-events.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        name = f"event-{number:05}-{json.loads(line)['id']}.json"
        (folder / "events" / name).write_text(line)


def fill(home: Path, system: str = "linux") -> Path:
    """Put sessions of all agents into a home."""
    claude(home / ".claude")
    codex(home / ".codex")
    gemini(home / ".gemini")
    opencode(home / ".local" / "share" / "opencode")
    copilot(home / ".copilot")
    cursor_transcripts(home / ".cursor")
    cursor_chats(home / ".cursor")
    cursor_editor(home / CURSOR_USER[system] / "Cursor")
    copilot_vscode(home / CURSOR_USER[system] / "Code")
    windsurf(home / ".windsurf")
    visual_studio(home / ("AppData/Local/Temp" if system == "win32" else ".cache"))
    return home


def claude_session(path: Path, number: int, **members) -> Path:
    """Write a Claude Code session that ends in a given minute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": path.stem,
        "cwd": "/home/nora",
        "version": "2.1.72",
    }
    line |= {
        "timestamp": f"2026-07-25T10:{number:02}:00.000Z",
        "message": {"role": "user", "content": f"question {number}"},
    } | members
    path.write_text(json.dumps(line) + "\n")
    # The time in the session outranks the modification time of the file.
    os.utime(path, (1_000_000_000 - number, 1_000_000_000 - number))
    return path
