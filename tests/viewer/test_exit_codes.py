"""Exit codes: what they mean, where that is certain; in Python and in the page."""

import pytest

from tests.viewer.in_node import NEEDS_NODE, Viewer
from vacr.record.encoding import encode
from vacr.viewer.exit_codes import explain_exit_code

CERTAIN = {
    "grep -rn TODO src": "no match",
    "/usr/bin/grep TODO app.py": "no match",
    "rg 'a|b' --glob '*.py'": "no match",
    'grep "x; y && z" app.py': "no match",
    "git log --oneline | grep fix": "no match",
    'grep -n "new Map" a.ts | grep "0, 0)$"': "no match",
    "diff a.txt b.txt": "files differ",
    "test -f a.txt": "condition is false",
    "[ -f a.txt ]": "condition is false",
}
UNCERTAIN = [
    "",
    "|",
    "cd src && grep TODO app.py",
    "grep TODO a.py; grep TODO b.py",
    "grep TODO a.py || grep TODO b.py",
    "grep TODO a.py & wait",
    "grep TODO $(ls)",
    'grep "$(cat words)" a.py',
    'grep "$WORD" a.py',
    'make "$" $(false) "',
    "grep `cat words` a.py",
    "grep TODO a.py\nmake",
    "grep TODO a.py | wc -l",
    "! grep TODO a.py",
    "LC_ALL=C grep TODO a.py",
    "(grep TODO a.py)",
    "if grep -q TODO a.py",
    "grep 'TODO a.py",
    "xargs grep TODO",
    "make",
    "make test # | grep foo",
    "python run.py a\\|grep x",
    "make build >| diff",
    "grep foo < missing.txt",
    "grep foo a > /no/such/file",
    "grep " + "x" * 10_000,
    '"' + '\\"' * 4_000,
    "constructor",
    "__proto__",
]


@pytest.mark.parametrize(("command", "meaning"), CERTAIN.items())
def test_a_single_search_or_comparison_is_explained(command, meaning):
    assert explain_exit_code(command, 1) == meaning
    assert explain_exit_code(command, 2) == explain_exit_code(command, 0) == ""


@pytest.mark.parametrize("command", UNCERTAIN)
def test_nothing_is_claimed_where_another_program_may_have_failed(command):
    assert explain_exit_code(command, 1) == ""


@pytest.mark.component
@NEEDS_NODE
def test_the_page_explains_the_same():
    commands = [*CERTAIN, *UNCERTAIN]
    entries = []
    for number, command in enumerate(commands):
        call_id = str(number)
        arguments = {"command": command}
        entries += [
            {"type": "tool-call", "name": "Bash", "input": arguments, "call-id": call_id},
            {
                "type": "tool-result",
                "output": "",
                "call-id": call_id,
                "is-error": True,
                "vacr": {"exit-code": 1},
            },
        ]
    meta = {"cli-name": "claude-code", "model-id": "m", "model-provider": "p"}
    session = {"session-id": "s", "agent-meta": meta, "entries": entries}
    viewer = Viewer()
    rows = viewer.open_records(encode({"version": "3.0.0-draft", "id": "r", "session": session}))
    viewer.close()
    meanings = [row["meaning"] for row in rows["rows"]]
    assert meanings == [explain_exit_code(command, 1) for command in commands]
    assert [row["isError"] for row in rows["rows"]] == [not meaning for meaning in meanings]
