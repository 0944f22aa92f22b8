"""Records are reproducible: the same session gives the same bytes everywhere."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import AGENTS, AGENTS_WITHOUT_EXAMPLE, EXAMPLES, FIXTURES
from vacr.agents import load_agents
from vacr.discovery.opening import read_sessions
from vacr.record.encoding import encode_with_id

SESSIONS = [
    *(EXAMPLES / name for name in AGENTS.values()),
    FIXTURES / "cline" / "sessions" / "1790000000000_till0" / "1790000000000_till0.messages.json",
    FIXTURES / "cline" / "task-xml.json",
    FIXTURES / "continue" / "older.json",
    FIXTURES / "droid" / "stream.jsonl",
    FIXTURES / "amp" / "threads" / "T-019ca1ce-0000-7000-8000-00000000a4b0.json",
    FIXTURES / "continue" / "sessions" / "sessions.json",
    FIXTURES / "cline" / "tasks" / "1790000000123" / "ui_messages.json",
    *(FIXTURES / "claude" / name for name in ("shapes.jsonl", "labels.jsonl")),
    FIXTURES / "codex" / "fork.jsonl",
    *(
        FIXTURES / "gemini" / name
        for name in (
            "session.json",
            "rewound.jsonl",
            "outcomes.jsonl",
            "saved-chat.json",
            "checkpoint.json",
        )
    ),
    *(FIXTURES / "opencode" / name for name in ("export-odd.json", "dump.jsonl", "sample.json")),
    FIXTURES / "acp" / "two-sessions.jsonl",
    FIXTURES / "grok" / "session" / "chat_history.jsonl",
    *(FIXTURES / "cursor" / name for name in ("drifted.jsonl", "transcript.txt")),
    FIXTURES / "crush" / "crush-session.jsonl",
    *(FIXTURES / "goose" / name for name in ("goose-session.jsonl", "20260725_184500.jsonl")),
    FIXTURES / "gptme" / "2026-07-25-till" / "conversation.jsonl",
    FIXTURES / "gptme" / "gptme-calls.jsonl",
    FIXTURES / "vibe" / "session_20260725_172000_5e0a7f1c" / "messages.jsonl",
    FIXTURES / "vibe" / "session_20251212_101500_7a11ed00.json",
    FIXTURES / "zed" / "zed-thread.jsonl",
    *(FIXTURES / "hermes" / name for name in ("hermes-session.jsonl", "session_till.json")),
    FIXTURES / "aider" / "aider-chat.md",
    FIXTURES / "swe-agent" / "calls.traj",
    *(FIXTURES / "openhands" / name for name in ("hands-events.jsonl", "hands-output.jsonl")),
    *(
        FIXTURES / "mini-swe-agent" / name
        for name in ("mini-text.traj.json", "mini-calls.traj.json", "mini-list.traj.json")
    ),
    *(FIXTURES / "copilot" / name for name in ("older.jsonl", "odd.jsonl")),
    *(FIXTURES / "copilot" / "session-state").glob("*/events.jsonl"),
    *(
        FIXTURES / "copilot-vscode" / name
        for name in ("chat.json", "log.jsonl", "transcript.jsonl")
    ),
    FIXTURES / "visualstudio-copilot" / "traces.jsonl",
    FIXTURES / "windsurf" / "steps.jsonl",
    *(
        path
        for agent in ("pi", "openclaw", "qwen", "iflow", "traex", "kimi", "kimi-cli", "kimi-code")
        for path in sorted((FIXTURES / agent).rglob("*.json*"))
    ),
]
FOLDERS = [FIXTURES / "opencode" / "storage"]
NAMED = [
    *(FIXTURES / "generic" / name for name in ("any-chat.json", "any-blocks.jsonl")),
    FIXTURES / "generic" / "any-many.jsonl",
]
"""Sessions that are read only if their agent is named; one has a map next to it."""

DIGESTS = FIXTURES / "digests.txt"


def find_session_name(session):
    """Return the end of a path that names a session, usually its last part."""
    matches = (
        agent.part_name.search(session.as_posix())
        for agent in load_agents().values()
        if agent.part_name
    )
    return next((match[0] for match in matches if match), session.name)


ENVIRONMENTS = {
    "a": {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    "b/ü": {
        "PYTHONHASHSEED": "12345",
        "TZ": "Asia/Kolkata",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "0",
    },
    "c": {
        "PYTHONHASHSEED": "random",
        "TZ": "America/St_Johns",
        "LANG": "tr_TR.UTF-8",
        "HOME": "/nonexistent",
    },
    "d": {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1", "SOURCE_DATE_EPOCH": "1"},
}
"""For each folder, the environment in which its sessions are recorded."""

RECORD_ALL = """
import json, os, sys
from vacr.cli import run_command_line

root = os.getcwd()
for number, arguments in enumerate(json.load(sys.stdin)):
    os.chdir(os.path.join(root, str(number)))
    code = run_command_line(["record", *arguments, "-o", "records/", "-q"])
    if code:
        sys.exit(f"{arguments}: exit code {code}")
"""


def copy_session(session, folder):
    """Copy a session into a folder, and return the arguments that record it there.

    Where the names of folders belong to the name of a session, the copy has these folders, too.
    """
    name = find_session_name(session)
    (folder / name).parent.mkdir(parents=True)
    for file in (session, session.with_suffix(".map.toml")):
        if file.exists():
            shutil.copy(file, (folder / name).with_name(file.name))
    return [name, *(["--agent", session.parent.name] if session in NAMED else [])]


def record_all(folder, sessions, **variables):
    """Record copies of all sessions in one process, and return the files of each record."""
    folder.mkdir(parents=True)
    arguments = [
        copy_session(session, folder / str(number)) for number, session in enumerate(sessions)
    ]
    subprocess.run(
        [sys.executable, "-c", RECORD_ALL],
        input=json.dumps(arguments).encode(),
        cwd=folder,
        env=os.environ | variables,
        check=True,
    )
    return [
        {
            path.relative_to(folder / str(number)): path.read_bytes()
            for path in (folder / str(number) / "records").rglob("*.acr.json")
        }
        for number in range(len(sessions))
    ]


@pytest.mark.component
def test_record_does_not_depend_on_the_environment(tmp_path):
    sessions = SESSIONS + NAMED
    first, *others = [
        record_all(tmp_path / folder, sessions, **variables)
        for folder, variables in ENVIRONMENTS.items()
    ]
    assert all(first)
    for other in others:
        different = [
            session.name
            for session, records, expected in zip(sessions, other, first, strict=True)
            if records != expected
        ]
        assert different == []


def _name_session(path):
    """Return the name of a session's digest, with the agent where names repeat."""
    name = path.relative_to(FIXTURES).as_posix() if FIXTURES in path.parents else path.name
    return name if name.split("/")[0] in AGENTS_WITHOUT_EXAMPLE else path.name


def test_record_bytes_match_the_pinned_digests():
    """If a digest changes, the format changed: raise the version, and give the reason."""
    digests = {}
    for session in SESSIONS + FOLDERS + NAMED:
        agent = session.parent.name if session in NAMED else None
        pieces = [
            piece
            for source in read_sessions(session, agent=agent)
            for piece in encode_with_id(source.reading.record)
        ]
        digests[_name_session(session)] = hashlib.sha256(b"".join(pieces)).hexdigest()
    if os.environ.get("UPDATE_DIGESTS"):
        DIGESTS.write_text("".join(f"{name} {digest}\n" for name, digest in digests.items()))
    assert digests == dict(line.split() for line in DIGESTS.read_text().splitlines())
    assert len(digests) == len(SESSIONS + FOLDERS + NAMED)
