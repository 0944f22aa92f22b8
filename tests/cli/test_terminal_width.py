"""At 80 and 100 columns, no line is wider than the terminal, and no fact is dropped."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

import pytest

from tests.discovery import homes
from tests.docs import home as reader

pytestmark = [pytest.mark.component, pytest.mark.usefixtures("terminals")]


def run_in_terminal(arguments, folder, home, width):
    """Run the command in a terminal of this width, and return its screen."""
    return read_terminal(arguments, folder, home, width).replace("\r\n", "\n").splitlines()


def read_terminal(arguments, folder, home, width, term="dumb"):
    """Run the command in a terminal of this width, and return its output without looks."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": term}
        environment |= {"PAGER": "cat", "LANG": "C.UTF-8", "TZ": "UTC"}
        command = [sys.executable, "-m", "vacr", *arguments]
        os.execve(sys.executable, command, environment)  # noqa: S606 - vacr itself
    shown = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.waitpid(child, 0)
    os.close(terminal)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode())


@pytest.fixture(scope="module")
def screen(tmp_path_factory):
    """Return a function that returns the screen of a command in a filled home."""
    home = tmp_path_factory.mktemp("reader") / "home"
    clone = reader.fill_home(home)
    for arguments in (["init", "--yes", "--name", "Mira Example"], ["stats"]):
        run_in_terminal(arguments, clone, home, 200)
    sealing = ["seal", *(str(path) for path in sorted((clone / "examples").iterdir()))]
    run_in_terminal([*sealing, "-o", "sealed-by-the-whole-team/"], clone, home, 200)
    record = clone / "sealed-by-the-whole-team/codex-cli.acr.json"
    record.write_bytes(record.read_bytes().replace(b"gpt", b"GPT"))
    (record.parent / "gemini-cli.acr.json.cose").unlink()

    def run(width, *arguments):
        return run_in_terminal(arguments, clone, home, width)

    run.folder = clone
    return run


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize(
    "command",
    [
        "stats",
        "stats --by model",
        "list",
        "verify sealed-by-the-whole-team",
        "hook status",
        "mcp status",
        "trust list",
        "doctor",
        "search rounding",
        "show 6f0d1c52",
        "seal examples/claude-code.jsonl -o sealed-in-a-folder-with-a-long-name/ --overwrite",
        "--help",
        "stats --help",
    ],
)
def test_no_line_is_wider_than_the_terminal(screen, width, command):
    lines = screen(width, *command.split())
    assert lines
    # Commands stay in one line, so that they can be copied.
    wide = [line for line in lines if len(line) > width]
    assert [line for line in wide if not line.lstrip().startswith(("fix: ", "To repeat: "))] == []


@pytest.mark.parametrize("width", [80, 100])
def test_stats_keeps_the_cost(screen, width):
    head, *rows = screen(width, "stats")
    assert "cost" in head.split()
    assert any("~$0.10" in row or "~$0.12" in row for row in rows)


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("by", ["agent", "project"])
def test_stats_shows_or_names_every_column(screen, width, by):
    lines = screen(width, "stats", "--by", by)
    heads = " ".join(line for line in lines if line.split()[:1] in ([by], ["left"]))
    for name in (
        "sessions",
        "prompts",
        "calls",
        "failed",
        "tokens in",
        "cached",
        "cost",
        "elapsed",
    ):
        assert name in heads
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [80, 100])
def test_long_ids_get_lines_of_their_own(tmp_path, width):
    names = [f"019f0000-0000-7000-8000-00000000000{number}" for number in range(3)]
    for number, name in enumerate(names):
        path = tmp_path / "home/.claude/projects/x" / f"{name}.jsonl"
        homes.claude_session(path, number, cwd=f"/home/nora/{'long-name-' * 9}")
    lines = run_in_terminal(["list"], tmp_path, tmp_path / "home", width)
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line in names] == names[::-1]
    assert sum("question" in line for line in lines) == len(names)


@pytest.mark.parametrize("width", [80, 100])
def test_found_words_are_on_the_screen(tmp_path, width):
    text = f"{'before ' * 40}zebra {'after ' * 40}"
    message = {"role": "user", "content": text}
    homes.claude_session(tmp_path / "home/.claude/projects/x/s.jsonl", 1, message=message)
    lines = run_in_terminal(["search", "zebra"], tmp_path, tmp_path / "home", width)
    (hit,) = [line for line in lines if "user" in line]
    assert "zebra after" in hit
    assert len(hit) <= width


@pytest.mark.parametrize("width", [80, 100])
def test_verify_shows_each_reason_whole(screen, width):
    words = " ".join(" ".join(screen(width, "verify", "sealed-by-the-whole-team")).split())
    assert "the file changed after it was signed" in words
    assert "not signed: there is no gemini-cli.acr.json.cose" in words
    assert words.count("Mira Example (key") == 3


@pytest.mark.parametrize("width", [80, 100])
def test_verify_tells_files_of_the_same_name_apart(screen, width):
    session = "examples/claude-code.jsonl"
    folders = [f"same-name/{letter * 40}" for letter in "abc"]
    for folder in folders:
        screen(200, "seal", session, "-o", folder)
    names = [f"{folder}/claude-code.acr.json" for folder in folders]
    lines = screen(width, "verify", "same-name")
    assert [line[3:] for line in lines if line[:1] in "✓✗"] == names
    assert sum("Mira Example (key" in line for line in lines) == 3


@pytest.mark.parametrize("width", [80, 100])
def test_verify_shows_the_whole_path_of_a_failure(screen, width):
    folder = f"{'long-folder-' * 4}/sealed"
    sessions = [f"examples/{name}.jsonl" for name in ("claude-code", "codex-cli")]
    clone = screen.folder
    screen(200, "seal", *sessions, "-o", folder)
    record = clone / folder / "codex-cli.acr.json"
    record.write_bytes(record.read_bytes().replace(b"gpt", b"GPT"))
    lines = screen(width, "verify", folder)
    assert f"✗  {folder}/codex-cli.acr.json" in lines


def test_answer_that_is_too_wide_is_listed(screen):
    query = "select agent, title, session, source_path from records order by agent limit 2"
    lines = screen(80, "sql", query)
    assert [line.split()[0] for line in lines[:3]] == ["agent", "title", "session"]
    assert len(screen(200, "sql", "select agent, calls from records limit 2")) == 3


def replay_screen(output):
    """Return the rows of a terminal after it obeyed the controls in some output."""
    rows, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", output):
        if piece == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif piece == "\r":
            column = 0
        elif piece == "\x1b[2K":
            rows[row] = ""
        elif piece.endswith("A") and piece[0] == "\x1b":
            row -= int(piece[2:-1] or 1)
        elif piece[0] != "\x1b":
            rows[row] = rows[row][:column].ljust(column) + piece + rows[row][column + len(piece) :]
            column += len(piece)
    return rows


def test_progress_bar_leaves_the_lines_of_results_alone(tmp_path):
    home = tmp_path / "home"
    clone = reader.fill_home(home)
    run_in_terminal(["init", "--yes", "--name", "Mira Example"], clone, home, 200)
    sealing = ["seal", *(str(path) for path in sorted((clone / "examples").iterdir()))]
    output = read_terminal([*sealing, "-o", "sealed/"], clone, home, 200, "xterm")
    assert "sealing" in output
    rows = [row for row in replay_screen(output) if row]
    assert [row for row in rows if row.startswith("sealed/")]
    assert [row for row in rows if "sealing" in row] == []


def test_results_on_a_terminal_name_the_next_command(screen, tmp_path):
    sealed = screen(200, "seal", "6f0d1c52", "-o", f"{tmp_path}/sealed/")
    assert any(line.startswith("To verify: vacr verify /") for line in sealed)
    assert any(line.startswith("To read one: vacr show ") for line in screen(80, "search", "cent"))
    at_path = screen(200, "search", "--path", "examples/codex-cli.jsonl", "hints")
    assert at_path[-1].startswith("To read one: vacr show /")
    assert at_path[-1].endswith("/examples/codex-cli.jsonl")
    assert "To verify" not in "".join(screen(80, "search", "cent", "-q"))
    shown = screen(80, "show", "6f0d1c52")
    assert shown[-1] != ""


def test_seal_says_how_others_verify(screen, tmp_path):
    lines = screen(200, "seal", "6f0d1c52", "-o", f"{tmp_path}/sealed/")
    (line,) = [line for line in lines if line.startswith("Others verify with: ")]
    key = line.partition("vacr verify FILE --trust ")[2]
    assert key == "~/.local/state/vacr/keys/signing.pub.pem"
    key = str(screen.folder.parent / key.removeprefix("~/"))
    elsewhere = tmp_path / "elsewhere"
    for file in (tmp_path / "sealed").iterdir():
        homes.put(file, elsewhere / file.name)
    command = ["verify", "claude-code.acr.json", "--trust", key]
    record = next(elsewhere.glob("*.acr.json"))
    record.rename(elsewhere / "claude-code.acr.json")
    record.with_name(f"{record.name}.cose").rename(elsewhere / "claude-code.acr.json.cose")
    assert "verified: a key you gave" in " ".join(
        run_in_terminal(command, elsewhere, tmp_path / "stranger", 300)
    )


def test_files_with_a_conversation_come_with_a_caution(screen, tmp_path):
    for command in ("seal", "view", "export --to markdown"):
        verb, *more = command.split()
        lines = screen(200, verb, "6f0d1c52", *more, "-o", f"{tmp_path}/{verb}/")
        (line,) = [line for line in lines if line.startswith("Before you share it: ")]
        assert line.endswith(": it contains the whole conversation, secrets included.")
    homes.opencode(tmp_path / "home/.local/share/opencode")
    shared = ["view", "ses_1b7Nora", "-o", "shared.html"]
    lines = run_in_terminal(shared, tmp_path, tmp_path / "home", 200)
    assert "secrets included (1 known: see vacr.secrets)." in "".join(lines)
    nothing = ["export", "6f0d1c52", "--to", "agent-trace", "-o", f"{tmp_path}/"]
    assert "Before you share" not in "".join(screen(200, *nothing))
