"""The home of a reader who has used every agent: their sessions, and a clone with the examples.

Examples and fixtures name the same people, so that the output on a page reads like one story.
"""

import json
import os
import shutil
from pathlib import Path

from tests.conftest import EXAMPLES, FIXTURES
from tests.discovery import homes
from tests.discovery.cursor_databases import editor
from tests.discovery.opencode_database import OpenCode

GEMINI_ID = "b6b1f0f4-5c1d-4e53-9d0e-51f2f0c7a9d2"
EDITED_ID = "2f6c1b0e-3333-4aaa-8bbb-0123456789ab"
MAY_2026 = 1_777_709_700
"""The modification time of files whose sessions contain no time."""


def fill_home(home: Path) -> Path:
    """Create the home, and return the clone in it."""
    project = home / ".claude/projects/-home-mira-invoice"
    homes.put(
        EXAMPLES / "claude-code.jsonl", project / "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113.jsonl"
    )
    for name in (homes.CLAUDE, f"{homes.CLAUDE}.jsonl", "agent-e4f5a6b.jsonl"):
        homes.put(FIXTURES / "claude/project" / name, project / name)
    rollout = "rollout-2026-03-14T09-36-00-019cf2a1-7c40-7d20-9a51-5b1d0c7e4f21.jsonl"
    homes.put(EXAMPLES / "codex-cli.jsonl", home / ".codex/sessions/2026/03/14" / rollout)
    chats = home / ".gemini/tmp/invoice/chats"
    homes.put(EXAMPLES / "gemini-cli.jsonl", chats / "session-2026-05-02T08-15-b6b1f0f4.jsonl")
    homes.put(FIXTURES / "gemini" / GEMINI_ID, chats / GEMINI_ID)
    _fill_opencode_database(home / ".local/share/opencode")
    transcripts = home / ".cursor/projects/home-mira-invoice/agent-transcripts"
    homes.put(FIXTURES / "cursor/nested" / homes.CURSOR, transcripts / homes.CURSOR)
    shutil.copy(EXAMPLES / "cursor.jsonl", transcripts / homes.CURSOR / f"{homes.CURSOR}.jsonl")
    for transcript in transcripts.rglob("*.jsonl"):
        os.utime(transcript, (MAY_2026, MAY_2026))
    _fill_cursor_database(home / ".config/Cursor/User/globalStorage")
    homes.crush(home / "till" / ".crush")
    homes.aider(home / "till")
    homes.goose(home / "goose")
    homes.gptme(home / "gptme")
    homes.vibe(home / "vibe")
    homes.zed(home / "zed")
    homes.hermes(home / "hermes")
    homes.openhands(home / "till" / "conversations" / "0e0000001111")
    run = home / "till" / "runs" / "till-7.traj.json"
    homes.put(FIXTURES / "mini-swe-agent" / "mini-calls.traj.json", run)
    for name in ("sessions/1790000000000_till0", "tasks/1790000000123"):
        homes.put(FIXTURES / "cline" / name, home / "cline" / name.partition("/")[2])
    session = "5b1d0c7e-0000-4000-8000-00000000c0de.json"
    homes.put(FIXTURES / "continue" / "sessions" / session, home / "continue" / session)
    homes.put(FIXTURES / "droid" / "sessions" / "-home-nora-till", home / "droid")
    homes.put(FIXTURES / "amp" / "threads", home / "amp")
    (home / ".gitconfig").write_text("[user]\nname = Mira\nemail = mira@example.org\n")
    clone = home / "vacr"
    shutil.copytree(EXAMPLES, clone / "examples")
    return clone


def _fill_cursor_database(folder: Path) -> None:
    """Write a conversation into the database of Cursor's editor."""
    folder.mkdir(parents=True)
    bubbles = [
        {
            "bubbleId": "b1",
            "type": 1,
            "text": "What does total() return for no lines?",
            "workspaceUris": ["file:///home/mira/invoice"],
        },
        {
            "bubbleId": "b2",
            "type": 2,
            "text": "It returns 0, because the sum is empty.",
            "modelInfo": {"modelName": "gpt-5.2"},
        },
    ]
    times = {"createdAt": MAY_2026 * 1000, "lastUpdatedAt": MAY_2026 * 1000 + 9000}
    order = {
        "fullConversationHeadersOnly": [
            {"bubbleId": bubble["bubbleId"], "type": bubble["type"]} for bubble in bubbles
        ]
    }
    rows = {
        f"composerData:{EDITED_ID}": {
            "_v": 10,
            "composerId": EDITED_ID,
            "name": "An invoice without lines",
        }
        | times
        | order
    }
    rows |= {f"bubbleId:{EDITED_ID}:{bubble['bubbleId']}": {"_v": 3} | bubble for bubble in bubbles}
    editor(folder / "state.vscdb", rows, journal="delete")


def _fill_opencode_database(folder: Path) -> None:
    """Write OpenCode's example and the session of a sub-agent into a database."""
    folder.mkdir(parents=True)
    database = OpenCode(folder / "opencode.db", journal="delete")
    session = json.loads((EXAMPLES / "opencode.json").read_text("utf-8"))
    _add_session(database, session["info"])
    for message in session["messages"]:
        about = message["info"]
        database.add_message(
            about["id"], about["sessionID"], about["time"]["created"], _drop_columns(about)
        )
        for part in message["parts"]:
            database.add_part(part["id"], part["messageID"], part["sessionID"], _drop_columns(part))
    parent = session["info"]
    child = parent | {
        "id": "ses_1e8f3c2b1a0ffeChild",
        "parentID": parent["id"],
        "title": "Look around (@explore subagent)",
    }
    _add_session(database, child)
    database.add_message(
        "msg_c1",
        child["id"],
        MAY_2026 * 1000,
        {"role": "user", "time": {"created": MAY_2026 * 1000}, "agent": "explore"},
    )
    database.add_part(
        "prt_c1", "msg_c1", child["id"], {"type": "text", "text": "Where is the total computed?"}
    )
    database.close()


def _add_session(database: OpenCode, info: dict) -> None:
    """Add the row of a session."""
    columns = {name: info[name] for name in ("slug", "directory", "title", "version")}
    columns |= {"project_id": info["projectID"], "parent_id": info.get("parentID")}
    times = {f"time_{name}": time for name, time in info["time"].items()}
    database.add_session(info["id"], **columns, **times)


def _drop_columns(value: dict) -> dict:
    """Return a value without the members that have columns of their own."""
    return {
        name: item for name, item in value.items() if name not in ("id", "sessionID", "messageID")
    }
