"""The same bytes on any machine, at any time, in any locale, with any hash seed, from any
interpreter.
"""

import hashlib
import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import AGENTS, EXAMPLES, FIXTURES
from vacr.discovery.opening import read_sessions
from vacr.record.encoding import assign_record_id

SESSIONS = [
    *(EXAMPLES / name for name in AGENTS.values()),
    FIXTURES / "claude" / "shapes.jsonl",
    FIXTURES / "codex" / "fork.jsonl",
    *(
        FIXTURES / "gemini" / name
        for name in ("session.json", "rewound.jsonl", "saved-chat.json", "checkpoint.json")
    ),
    *(FIXTURES / "opencode" / name for name in ("export-odd.json", "dump.jsonl", "sample.json")),
    *(FIXTURES / "cursor" / name for name in ("drifted.jsonl", "transcript.txt")),
]
FOLDERS = [FIXTURES / "opencode" / "storage"]

DIGESTS = FIXTURES / "digests.txt"


def record(folder, session, interpreter=sys.executable, **variables):
    """Record a copy of a session in a folder of its own, and give the digest of its records."""
    folder.mkdir(parents=True)
    shutil.copy(session, folder / session.name)
    done = subprocess.run(
        [interpreter, "-m", "vacr", "record", session.name, "-o", "-"],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        check=True,
    )
    return hashlib.sha256(done.stdout).hexdigest()


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_surroundings_do_not_matter(session, tmp_path):
    digests = {
        record(tmp_path / "a", session, PYTHONHASHSEED="0", TZ="UTC", LC_ALL="C"),
        record(
            tmp_path / "b" / "ü",
            session,
            PYTHONHASHSEED="12345",
            TZ="Asia/Kolkata",
            LC_ALL="C.UTF-8",
            PYTHONUTF8="0",
        ),
        record(
            tmp_path / "c",
            session,
            PYTHONHASHSEED="random",
            TZ="America/St_Johns",
            LANG="tr_TR.UTF-8",
            HOME="/nonexistent",
        ),
        record(
            tmp_path / "d",
            session,
            PYTHONOPTIMIZE="2",
            PYTHONDONTWRITEBYTECODE="1",
            SOURCE_DATE_EPOCH="1",
        ),
    }
    assert len(digests) == 1


def test_the_bytes_are_these():
    """A change of these digests is a change of the record's form: raise the version, and
    say why.
    """
    found = {}
    for session in SESSIONS + FOLDERS:
        pieces = [
            piece
            for one in read_sessions(session)
            for piece in assign_record_id(one.reading.record)
        ]
        found[session.name] = hashlib.sha256(b"".join(pieces)).hexdigest()
    if os.environ.get("UPDATE_DIGESTS"):
        DIGESTS.write_text("".join(f"{name} {digest}\n" for name, digest in found.items()))
    assert found == dict(line.split() for line in DIGESTS.read_text().splitlines())
    assert len(found) == len(SESSIONS + FOLDERS)
