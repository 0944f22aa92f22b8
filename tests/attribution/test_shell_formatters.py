"""Makers of lines after a formatter or another command rewrote them."""

import pytest

from vacr.agents import CALL_DONE, ToolCall, find_agent
from vacr.attribution.base_files import BaseFiles
from vacr.attribution.file_state import EVIDENCE_SHELL
from vacr.attribution.reconcile import align_lines, list_line_runs, unattribute_reverted_lines
from vacr.attribution.replay import Replay, derive_file_actions
from vacr.edits.lines import NO_ORIGIN

ROOT = "/home/mira/app"


@pytest.mark.parametrize(
    ("known", "seen", "makers", "expected"),
    [
        (["a(b)\n"], ["a( b )\n"], [1], [0]),
        (["a(b, c)\n"], ["a(\n", "  b,\n", "  c)\n"], [1], [0, 0, 0]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 1], [0]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 2], [NO_ORIGIN]),
        (["a(\n", "b)\n"], ["a(b)\n"], [1, 0], [NO_ORIGIN]),
        (["a\n", "b\n"], ["  a\n", "\n", "  b\n"], [1, 1], [0, NO_ORIGIN, 1]),
        (["a\n", "\n", "b\n"], [" a\n", "\n", " b\n"], [1, 1, 1], [0, 1, 2]),
        (["return x\n"], ["returnx\n"], [1], [NO_ORIGIN]),
        (["a b\n", "c\n"], ["a  b\n", "d\n"], [1, 1], [0, NO_ORIGIN]),
        (["a\n"], [], [1], []),
    ],
)
def test_lines_with_equal_tokens_are_aligned(known, seen, makers, expected):
    assert align_lines(known, seen, makers) == expected


class Session:
    """Calls on one file, each replayed at once."""

    def __init__(self, agent="claude-code", base=None):
        self.replay, self.agent = Replay(base, [ROOT]), agent
        self.replay.checked = agent == "claude-code"

    def shell(self, command, output=""):
        self.step("Bash" if self.agent == "claude-code" else "shell", {"command": command}, output)

    def step(self, name, arguments, output):
        call = ToolCall(
            name, arguments, f"e{self.replay.clock}", "c", "m", ROOT, state=CALL_DONE, output=output
        )
        self.replay.step(call, derive_file_actions(find_agent(self.agent), call))

    def list_makers(self):
        """Return the maker and the evidence of each line that the base does not have."""
        tracked = self.replay.files[f"{ROOT}/f.go"]
        unattribute_reverted_lines(tracked.file)
        makers = self.replay.makers
        return {
            number: (makers[-run.maker - 1].kind, makers[-run.maker - 1].evidence)
            for run in list_line_runs(tracked.file)
            for number in range(run.first, run.last + 1)
        }


def test_formatted_lines_keep_their_makers():
    session = Session()
    session.shell("cat > f.go <<'EOF'\nfunc a() {\nb( c )\n}\nEOF")
    session.shell("gofmt -w f.go")
    assert session.replay.files[f"{ROOT}/f.go"].dirty
    session.shell("cat f.go", "func a() {\n\tb(c)\n}\n")
    assert not session.replay.files[f"{ROOT}/f.go"].dirty
    assert session.list_makers() == dict.fromkeys((1, 2, 3), ("ai", EVIDENCE_SHELL))


def test_line_changed_by_sed_belongs_to_the_shell():
    session = Session()
    session.shell("cat > f.go <<'EOF'\nfunc a() {\nb(c)\n}\nEOF")
    session.shell("sed -i 's/(c)/(d)/' f.go")
    session.shell("cat f.go", "func a() {\nb(d)\n}\n")
    assert session.list_makers() == {
        1: ("ai", EVIDENCE_SHELL),
        2: ("shell", EVIDENCE_SHELL),
        3: ("ai", EVIDENCE_SHELL),
    }


def test_patch_after_a_possible_formatting_has_no_certain_ranges():
    patch = "*** Begin Patch\n*** Update File: f.go\n@@\n-b(c)\n+b(d)\n*** End Patch"
    for command, known in (
        ("true", True),
        ("gofmt -w f.go", False),
        ("gofmt -w .", False),
        ("gofmt -l .", True),
    ):
        session = Session("codex-cli")
        session.shell("cat > f.go <<'EOF'\nfunc a() {\nb(c)\n}\nEOF")
        session.shell(command)
        session.step("apply_patch", patch, "Success")
        assert bool(session.replay.history[-1].ranges) is known
        session.shell("cat f.go", "func a() {\nb(d)\n}\n")
        assert session.list_makers()[2][0] == "ai"


CODE = "func a() {\nb( c )\n}\n"
LAID_OUT = "func a() {\n\tb(c)\n}\n"
WRITTEN = (
    f"mkdir -p sub && cat > f.go <<'EOF'\n{CODE}EOF\ncat > sub/g.go <<'EOF'\n{CODE}EOF\n"
    "cat > h.md <<'EOF'\ntext\nEOF"
)


def find_doubtful_files(command, output="", agent="claude-code"):
    """Return the files that a command makes doubtful."""
    session = Session(agent)
    session.shell(WRITTEN)
    session.shell(command, output)
    return ALL & {
        path.removeprefix(f"{ROOT}/") for path, file in session.replay.files.items() if file.dirty
    }


ALL = {"f.go", "sub/g.go", "h.md"}
GO = {"f.go", "sub/g.go"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("gofmt -w .", GO),
        ("gofmt -w ./...", GO),
        ("go fmt ./...", GO),
        ("gofmt -w sub", {"sub/g.go"}),
        ("gofmt -w sub/", {"sub/g.go"}),
        ("gofmt -w 'sub/*.go'", {"sub/g.go"}),
        ("gofmt -w *.go", GO),
        ("gofmt -w $(git ls-files '*.go')", GO),
        ("gofmt -l .", set()),
        ("cd sub && gofmt -w .", {"sub/g.go"}),
        ("cd $X && gofmt -w .", GO),
        ("cd $X && gofmt -w g.go", {"sub/g.go"}),
        ("cd $X && sed -i s/a/b/ g.go", {"sub/g.go"}),
        ("(cd sub && gofmt -w .)", ALL),
        ("golangci-lint run --fix", GO),
        ("black .", set()),
        ("cargo fmt", set()),
        ("npx prettier --write .", ALL),
        ("prettier --write 'sub/**/*.{go,md}'", {"sub/g.go"}),
        ("prettier --write --log-level warn sub", {"sub/g.go"}),
        ("prettier --write --config x.json", ALL),
        ("prettier --check .", set()),
        ("npx eslint . --fix", ALL),
        ("npm run format", ALL),
        ("npm run lint -- --fix", ALL),
        ("npm run format:check", set()),
        ("npm run build", set()),
        ("npm test", set()),
        ("pnpm format", ALL),
        ("yarn run lint:fix", ALL),
        ("make fmt", ALL),
        ("make generate", ALL),
        ("make test", set()),
        ("just fmt", ALL),
        ("./scripts/format.sh", ALL),
        ("bash scripts/format.sh", ALL),
        ("python scripts/fix.py", set()),
        ("./gradlew spotlessApply", ALL),
        ("pnpm exec oxfmt ./sub", {"sub/g.go"}),
        ("sed -i s/a/b/ /tmp/x; for f in 1 2; do echo $f; done", set()),
        ("pre-commit run --all-files", ALL),
        ("sed -i s/a/b/ f.go", set()),
        ("sed -i y/a/b/ f.go", {"f.go"}),
        ("sed -i s/a/b/ $(git ls-files)", ALL),
        ("sed -i s/a/b/ *.go", set()),
        ("sed -i y/a/b/ *.go", ALL),
        ("git ls-files | xargs sed -i s/a/b/", ALL),
        ("git ls-files -z | xargs -0 -n 1 gofmt -w", GO),
        ("git ls-files | xargs grep a", set()),
        ("find . -name '*.go' -exec sed -i s/a/b/ {} +", ALL),
        ("find . -name '*.go' -exec gofmt -w {} \\;", GO),
        ("find . -name '*.go' -exec grep a {} +", set()),
        ("for f in *.go; do sed -i s/a/b/ $f; done", ALL),
        ("for f in *.go; do gofmt -w $f; done", ALL),
        ("for f in *.go; do gofmt -l $f; done", set()),
        ("cat f.go", set()),
    ],
)
def test_files_that_a_command_may_have_rewritten_are_doubtful(command, expected):
    assert find_doubtful_files(command) == expected


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("black .", "All done!\n3 files left unchanged.\n", set()),
        ("black .", "reformatted f.py\n\n1 file reformatted, 2 files left unchanged.\n", {"f.py"}),
        ("ruff format", "3 files left unchanged\n", set()),
        ("ruff format", "1 file reformatted, 2 files left unchanged\n", {"f.py"}),
        ("ruff format f.py", "1 file left unchanged\n", set()),
        ("ruff check --fix .", "All checks passed!\n", set()),
        ("ruff check --fix .", "Found 1 error (1 fixed, 0 remaining).\n", {"f.py"}),
        ("ruff check .", "All checks passed!\n", set()),
        ("ruff format --quiet", "", {"f.py"}),
    ],
)
def test_report_of_no_changes_removes_the_doubt(command, output, expected):
    session = Session()
    session.shell("cat > f.py <<'EOF'\nx = 1\nEOF")
    session.shell(command, output)
    assert {
        path.removeprefix(f"{ROOT}/") for path, file in session.replay.files.items() if file.dirty
    } == expected


def test_lines_formatted_with_their_folder_keep_their_makers():
    for command in ("gofmt -w .", "npm run format", "git ls-files | xargs gofmt -w"):
        session = Session()
        session.shell(f"cat > f.go <<'EOF'\n{CODE}EOF")
        session.shell(command)
        session.shell("cat f.go", LAID_OUT)
        assert not session.replay.files[f"{ROOT}/f.go"].dirty
        assert session.list_makers() == dict.fromkeys((1, 2, 3), ("ai", EVIDENCE_SHELL))


def test_line_added_by_a_formatter_belongs_to_no_call():
    session = Session()
    session.shell(f"cat > f.go <<'EOF'\n{CODE}EOF")
    session.shell("golangci-lint run --fix")
    session.shell("cat f.go", LAID_OUT.replace("}", "\treturn\n}"))
    assert {number: kind for number, (kind, _) in session.list_makers().items()} == {
        1: "ai",
        2: "ai",
        3: "shell",
        4: "ai",
    }


def test_base_file_that_a_formatter_may_have_rewritten_is_doubtful():
    base = BaseFiles("1" * 40, frozenset(["f.go"]), lambda _: CODE.encode())
    patch = "*** Begin Patch\n*** Update File: f.go\n@@\n-b( c )\n+b(d)\n*** End Patch"
    for command, known in (("true", True), ("gofmt -w .", False), ("markdownlint --fix .", True)):
        session = Session("codex-cli", base)
        session.shell(command)
        session.step("apply_patch", patch, "Success")
        assert bool(session.replay.history[-1].ranges) is known
