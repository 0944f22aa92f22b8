"""What the command line says of an agent's tools."""

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


def test_a_tool_that_nothing_is_known_of_is_told(vacr, tmp_path):
    done = vacr("attribute", session(tmp_path), "-o", f"{tmp_path}/out/")
    assert done.returncode == 0
    assert "mcp__files__put (1)" in done.err
    quiet = vacr("attribute", session(tmp_path), "-o", f"{tmp_path}/out/", "-q")
    assert quiet.err == ""


def test_the_history_has_these_members_and_no_others(vacr, tmp_path):
    done = vacr("attribute", session(tmp_path), "--history")
    (line,) = done.out.splitlines()
    assert json.loads(line) == {
        "call-id": "toolu_0",
        "path": "a.py",
        "ranges": [[1, 1]],
        "evidence": "recorded",
        "model-id": "anthropic/claude-opus-4-5-20251101",
    }
