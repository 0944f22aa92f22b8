"""Reports of the command line about an agent's tools."""

import json

from tests.attribution.sessions import ROOT, Claude


def session(tmp_path):
    claude = Claude()
    claude.call(
        "Write", {"file_path": f"{ROOT}/a.py", "content": "x = 1\n"}, native={"type": "create"}
    )
    claude.call("mcp__files__put", {"path": f"{ROOT}/b.py", "content": "x"})
    path = tmp_path / "session.jsonl"
    path.write_text(claude.data())
    return path


def test_unknown_tool_is_reported(vacr, tmp_path):
    done = vacr("attribute", session(tmp_path), "-o", f"{tmp_path}/out/")
    assert done.returncode == 0
    assert "mcp__files__put (1)" in done.err
    quiet = vacr("attribute", session(tmp_path), "-o", f"{tmp_path}/out/", "-q")
    assert quiet.err == ""


def test_history_has_exactly_these_members(vacr, tmp_path):
    done = vacr("attribute", session(tmp_path), "--history")
    (line,) = done.out.splitlines()
    assert json.loads(line) == {
        "call-id": "toolu_0",
        "path": "a.py",
        "ranges": [[1, 1]],
        "evidence": "recorded",
        "model-id": "anthropic/claude-opus-4-5-20251101",
    }
