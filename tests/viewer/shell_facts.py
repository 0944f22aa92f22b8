"""Shell calls with the test runs and commits in them, which `vacr show` and the page must find.

`shell_facts.json` has the calls: both sides have the same patterns, each in its own language.
"""

import json
from pathlib import Path

CASES = json.loads(Path(__file__).with_name("shell_facts.json").read_text())


def build_call(case):
    """Return the entries of a case; an output of None stands for a call without a result."""
    status = {"status": case["status"]} if "status" in case else {}
    call = {
        "type": "tool-call",
        "call-id": "x",
        "name": "Bash",
        "input": {"command": case["command"]},
    }
    if case["output"] is None:
        return [call | ({"vacr": status} if status else {})]
    result = {"type": "tool-result", "call-id": "x", "output": case["output"], **status}
    result["is-error"] = case.get("isError", False)
    if "exitCode" in case:
        result["vacr"] = {"exit-code": case["exitCode"]}
    return [call, result]


HOSTILE_COMMANDS = [
    "git " + '-c "x" ' * 40 + "foo",
    "git -c " + '"\\"' * 95,
    "git commit -" + "q" * 280 + "!",
    "npm " + "-C " * 95,
    "npm " + "--filter -a " * 24,
    "node " + "a " * 140,
    "make " + "::a" * 90,
    "timeout " + "-a timeout " * 25,
    "A=" * 140,
    "uv run " + "--a " * 70,
    "<<" + "a" * 1300 + "\n" * 2600 + "x",
    "<<a" * 600 + "\n" * 2100 + "x",
    "<<'a" * 600 + "\n" * 1500 + "x",
    ";" * 3990 + "x",
    "'\"" * 2000,
]
"""Commands on which a pattern with two ways to match a word would run for hours."""
HOSTILE_TEXTS = [
    "1 " * 50_000,
    "1" * 100_000,
    "\n" * 100_000,
    "[" * 100_000,
    "<think></think>" * 7000,
    "<think> " * 12_500,
    "- " * 50_000,
    "\x1b[1;" * 25_000,
    "[x 1234567" * 10_000,
    "=" * 100_000 + "x",
]
"""Outputs and answers of 100 kB."""
