"""Whose lines are whose after a formatter or another command ran over them."""

import pytest

from vacr.attribution import net
from vacr.attribution.calls import DONE, Call
from vacr.attribution.derive import events_of
from vacr.attribution.diff import NEW
from vacr.attribution.drift import aligned
from vacr.attribution.replay import Replay
from vacr.attribution.tracked import SHELL

ROOT = "/home/mira/app"


@pytest.mark.parametrize(
    ("known", "seen", "makers", "found"),
    [
        (["a(b)\n"], ["a( b )\n"], [1], [0]),
        (["a(b, c)\n"], ["a(\n", "  b,\n", "  c)\n"], [1], [0, 0, 0]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 1], [0]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 2], [NEW]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 0], [NEW]),
        (["a\n", "b\n"], ["  a\n", "\n", "  b\n"], [1, 1], [0, NEW, 1]),
        (["a\n", "\n", "b\n"], [" a\n", "\n", " b\n"], [1, 1, 1], [0, 1, 2]),
        (["return x\n"], ["returnx\n"], [1], [NEW]),
        (["a b\n", "c\n"], ["a  b\n", "d\n"], [1, 1], [0, NEW]),
        (["a\n"], [], [1], []),
    ],
)
def test_lines_of_the_same_tokens_stay_what_they_are(known, seen, makers, found):
    assert aligned(known, seen, makers) == found


class Session:
    """Calls on one file, replayed as they are made."""

    def __init__(self, agent="claude-code"):
        self.replay, self.agent = Replay(None, [ROOT]), agent
        self.replay.checked = agent == "claude-code"

    def shell(self, command, output=""):
        self.step("Bash" if self.agent == "claude-code" else "shell", {"command": command}, output)

    def step(self, name, arguments, output):
        call = Call(name, arguments, f"e{self.replay.clock}", "c", "m", ROOT, state=DONE, output=output)
        self.replay.step(call, events_of(call, self.agent))

    def said(self):
        """Give the contributor and the evidence of each line that the base does not have."""
        tracked = self.replay.files[f"{ROOT}/f.go"]
        net.settle(tracked.file)
        makers = self.replay.makers
        return {
            number: (makers[-run.maker - 1].kind, makers[-run.maker - 1].evidence)
            for run in net.runs(tracked.file)
            for number in range(run.first, run.last + 1)
        }


def test_a_formatter_leaves_lines_to_those_who_wrote_them():
    session = Session()
    session.shell("cat > f.go <<'EOF'\nfunc a() {\nb( c )\n}\nEOF")
    session.shell("gofmt -w f.go")
    assert session.replay.files[f"{ROOT}/f.go"].dirty
    session.shell("cat f.go", "func a() {\n\tb(c)\n}\n")
    assert not session.replay.files[f"{ROOT}/f.go"].dirty
    assert session.said() == dict.fromkeys((1, 2, 3), ("ai", SHELL))


def test_what_another_command_changed_is_the_shells():
    session = Session()
    session.shell("cat > f.go <<'EOF'\nfunc a() {\nb(c)\n}\nEOF")
    session.shell("sed -i 's/c/d/' f.go")
    session.shell("cat f.go", "func a() {\nb(d)\n}\n")
    assert session.said() == {1: ("ai", SHELL), 2: ("shell", SHELL), 3: ("ai", SHELL)}


def test_a_patch_to_a_file_that_a_formatter_may_have_changed_has_no_certain_lines():
    patch = "*** Begin Patch\n*** Update File: f.go\n@@\n-b(c)\n+b(d)\n*** End Patch"
    for command, known in (("true", True), ("gofmt -w f.go", False), ("gofmt -w .", False), ("gofmt -l .", True)):
        session = Session("codex-cli")
        session.shell("cat > f.go <<'EOF'\nfunc a() {\nb(c)\n}\nEOF")
        session.shell(command)
        session.step("apply_patch", patch, "Success")
        assert bool(session.replay.history[-1].ranges) is known
        session.shell("cat f.go", "func a() {\nb(d)\n}\n")
        assert session.said()[2][0] == "ai"
