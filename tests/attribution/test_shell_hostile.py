"""Hostile shell scripts: every script ends soon, without an error, and with bounded memory."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.attribution.test_shell_effects import make_call, run_shell
from vacr.agents import find_agent
from vacr.attribution.shell.effects import derive_shell_events
from vacr.attribution.shell.parser import (
    _Lexer,
    parse_inner_commands,
    parse_powershell_script,
    parse_shell_script,
)

CPU_LIMIT = 30
SCRIPTS = [
    "cd src && echo 'a b' > \"$OUT/x.txt\" || rm -rf {a,b}/*.py [cd] ~/e",
    "for f in *.c; do sed -i 's/a/b/' \"$f\"; done; (cd x; make) && ls",
    "cat > f.py <<'EOF'\nprint('x')\nEOF\nif test -f f.py; then python f.py; fi",
    "A=1 B='two'; case $A in 1) rm \"$B\";; *) mv a $'b\\n' c;; esac",
    "sed s/one/1/ f.py > n && mv n f.py; diff <(sort a) <(sort b) >| c 2>&1 &",
    "git commit -m \"$(cat <<'E'\none\nE\n)\"; echo ${A:-`b`} $((1+2)) | tee -a log",
    "Get-Content a.txt; if ($x) { Remove-Item 'b.txt' } | Out-File c",
]
PIECES = ["'", '"', "`", "$(", "${", "$'", "(", ")", "{", "}", "[", "<<E\n", "<(", ";;", "\\", "\n"]


@pytest.fixture(autouse=True, scope="module")
def limit_cpu_time():
    """End an endless loop with an error; waiting for a busy machine does not count."""

    def stop(_number, _frame):
        raise AssertionError(f"a test takes more than {CPU_LIMIT} CPU seconds")

    signal.signal(signal.SIGPROF, stop)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def restart_cpu_time():
    """Give each test its own time."""
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT)


def run_powershell(text):
    """Return the effects of a call of Claude Code's PowerShell."""
    call = replace(make_call(text), name="PowerShell")
    return derive_shell_events(call, find_agent("claude-code").shell_run(call))


@st.composite
def mutated_scripts(draw):
    """A part of a script with pieces in it that open or close constructs."""
    text = draw(st.sampled_from(SCRIPTS))
    text = text[draw(st.integers(0, len(text) // 2)) : draw(st.integers(0, len(text)))]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        removed = draw(st.integers(0, 3))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + removed :]
    return text


class GrowingLexer(_Lexer):
    """A lexer that fails where its position does not grow."""

    @property
    def at(self):
        return self.position

    @at.setter
    def at(self, position):
        assert position >= getattr(self, "position", 0)
        self.position = position


@given(mutated_scripts())
@example("(echo 'unterminated")
@example("a 'b")
@example("{ a; 'b")
def test_position_in_a_script_only_grows(text):
    GrowingLexer(text).parse_script()
    GrowingLexer(text).parse_inner_commands()


@given(mutated_scripts(), st.booleans())
@example("(echo 'unterminated", False)
def test_every_script_ends_without_an_error(text, failed):
    parse_shell_script(text)
    parse_inner_commands(text)
    parse_powershell_script(text)
    list(run_shell(make_call(text, "a: b\n1:c\n", failed=failed)))


@given(mutated_scripts())
def test_powershell_ends_without_an_error(text):
    list(run_powershell(text))


@pytest.mark.parametrize(
    "lines",
    ["a=$a$a", 'a="$a$a"', "export a=$a$a", "a=x$a; b=$a$a$a$a; a=$b", "a=${a}${a}"],
)
def test_doubled_variables_take_bounded_memory(lines):
    script = "a=xxxxxxxxxx\n" + (lines + "\n") * 28 + "rm $a\n"
    limit = 1 << 30
    code = (
        "import resource, sys\n"
        "from vacr.attribution.shell.parser import parse_shell_script\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "print(parse_shell_script(sys.argv[1]).commands[-1].words)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, script], capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.stderr) == ("['rm', None]\n", "")


def test_expanded_text_of_a_script_is_bounded():
    script = parse_shell_script("a=" + "x" * 4000 + "; echo " + '"a$a" ' * 5000)
    words = script.commands[1].words
    assert words[1] == "a" + "x" * 4000
    assert words[-1] is None
    assert sum(len(word) for word in words if word) < 300_000


@pytest.mark.parametrize(
    "name", ["foo -o", "rm", "rsync", "curl", "wget", "cp a", "git add", "tar"]
)
@pytest.mark.parametrize(
    "word",
    [
        "/a" * 10_000 + ":",
        "." * 20_000 + ":",
        ".a" * 10_000 + ":",
        "a" * 20_000,
        "-" + "O" * 20_000 + "!",
        "-" + "x" * 20_000 + "!",
        "a-" * 10_000 + "!",
        "{a" * 10_000,
        "[a" * 10_000,
        "{a,b}" * 4_000,
        "{a}" * 7_000,
        "*a" * 10_000,
        "$x" * 10_000,
    ],
    ids=lambda word: word[:4],
)
def test_long_words_take_little_time(name, word):
    start = time.process_time()
    list(run_shell(make_call(f"{name} {word} b.txt")))
    assert time.process_time() - start < 1
