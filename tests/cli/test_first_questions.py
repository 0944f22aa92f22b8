"""Questions of a new user, each in one command, and what people type first."""

import json
import os
import re
import shlex
import subprocess
import time

import pytest

from tests.conftest import EXAMPLES
from vacr.cli import group

pytestmark = pytest.mark.component

SESSION = "11112222-3333-4444-8555-666677778888"
BEFORE = "    return sum(line.price for line in lines)\n"
AFTER = """    subtotal = sum(line.price * line.count for line in lines)
    return round(subtotal, 2)
"""
DAY = 86_400


def format_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


def build_session(project, start):
    """Return the lines of a session of yesterday, in which an agent edited a file."""
    path = str(project / "app.py")
    call = {"file_path": path, "old_string": BEFORE, "new_string": AFTER}
    result = {"filePath": path, "oldString": BEFORE, "newString": AFTER, "structuredPatch": []}
    prompt = "Multiply by the count, and round the total to cents."
    tool = {"type": "tool_use", "id": "t1", "name": "Edit", "input": call}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "The file was updated."}
    usage = {"input_tokens": 1200, "output_tokens": 90}
    model = {"role": "assistant", "model": "claude-opus-4-6", "usage": usage}
    messages = [
        ("user", {"role": "user", "content": prompt}, {}),
        ("assistant", {"id": "m1", "content": [tool], **model}, {}),
        ("user", {"role": "user", "content": [answer]}, {"toolUseResult": result}),
        ("assistant", {"id": "m2", "content": [{"type": "text", "text": "Done."}], **model}, {}),
    ]
    shared = {"sessionId": SESSION, "cwd": str(project), "version": "2.1.72"}
    for number, (kind, message, more) in enumerate(messages):
        ids = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
        times = {"timestamp": format_time(start + number)}
        yield json.dumps({"type": kind, "message": message, **ids, **times, **shared, **more})


@pytest.fixture
def project(tmp_path):
    """Return a repository in which an agent changed a file yesterday."""
    folder = tmp_path / "shop"
    folder.mkdir()
    yesterday = time.time() - DAY

    def commit(text, moment, message):
        (folder / "app.py").write_text(text)
        times = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), format_time(moment))
        names = ("-c", "user.name=Mira", "-c", "user.email=mira@example.org")
        subprocess.run(["git", "add", "."], cwd=folder, check=True)
        command = ["git", *names, "commit", "-qm", message]
        subprocess.run(command, cwd=folder, check=True, env={**os.environ, **times})

    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    commit(f"def total(lines):\n{BEFORE}", yesterday - DAY, "Start")
    store = tmp_path / "home/.claude/projects/-shop"
    store.mkdir(parents=True)
    (store / f"{SESSION}.jsonl").write_text("\n".join(build_session(folder, yesterday)) + "\n")
    commit(f"def total(lines):\n{AFTER}", yesterday + 60, "Round totals")
    return folder


@pytest.mark.usefixtures("project")
def test_yesterday_is_read_and_sent_in_two_commands(vacr, tmp_path):
    done = vacr("show", "--agent", "claude", "--since", "yesterday")
    assert done.returncode == 0, done.err
    assert "Multiply by the count" in done.out
    page = ("--agent", "claude", "--since", "yesterday", "-o", "yesterday.html")
    assert vacr("view", *page).returncode == 0
    assert b"Multiply by the count" in (tmp_path / "yesterday.html").read_bytes()


def test_line_leads_to_its_session_and_prompt_in_one_command(vacr, project):
    done = vacr("blame", "app.py:2", cwd=project)
    assert done.returncode == 0, done.err
    row, *facts = done.out.splitlines()
    assert "subtotal = sum" in row
    assert facts[0] == f"session {SESSION}: line 2"
    assert re.fullmatch(r"  by: claude-code, 20\d\d-\d\d-\d\d \d\d:\d\d", facts[1])
    assert facts[2] == "  prompt: Multiply by the count, and round the total to cents."
    assert "return round" not in done.out
    assert not done.err


def test_call_behind_a_line_is_read_with_the_printed_command(vacr, project):
    done = vacr("blame", "app.py:2", cwd=project)
    _, _, command = done.out.splitlines()[-1].partition("To read a call: vacr ")
    assert command.startswith(f"show {SESSION[:13]} --entry ")
    shown = vacr(*shlex.split(command), cwd=project)
    assert shown.returncode == 0, shown.err
    assert "subtotal = sum" in shown.out


def test_line_without_proof_is_reported_as_such(vacr, project):
    for arguments in (["app.py:1"], ["-L", "1,1", "app.py"]):
        done = vacr("blame", *arguments, cwd=project)
        assert (done.returncode, "This line is not proven by 1 record." in done.err) == (1, True)
    (project / "app.py").write_text("def total(lines):\n    pass\n    pass\n")
    done = vacr("blame", "app.py:1-2", cwd=project)
    assert "None of these lines is proven by 1 record." in done.err
    done = vacr("blame", "app.py", cwd=project)
    assert "No line of this file is proven by 1 record." in done.err


def test_lines_lead_to_their_session_as_one_line_does(vacr, project):
    done = vacr("blame", "app.py:2-3", cwd=project)
    assert done.returncode == 0, done.err
    assert f"session {SESSION}: lines 2-3" in done.out
    assert "def total" not in done.out
    assert vacr("blame", "app.py:3-2", cwd=project).returncode == 0
    assert vacr("blame", "app.py:2-9", cwd=project).returncode == 0


def test_file_whose_name_looks_like_a_line_wins(vacr, project):
    (project / "app.py:2").write_text("text\n")
    subprocess.run(["git", "add", "."], cwd=project, check=True)
    done = vacr("blame", "app.py:2", cwd=project)
    assert "text" in done.out


@pytest.mark.usefixtures("project")
def test_cost_of_a_model_is_found_in_one_command(vacr):
    done = vacr("stats", "--model", "opus", "--since", "7d")
    assert done.returncode == 0, done.err
    assert "claude-opus-4-6" in done.out
    assert "$" in done.out
    assert "models, by" not in done.out
    assert vacr("stats", "--model", "gpt", "--since", "7d").returncode == 1
    assert vacr("stats", "--model", "opus", "--by", "agent").returncode == 2
    document = json.loads(vacr("stats", "--model", "opus", "--format", "json").out)
    assert document["total"]["sessions"] == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("since", ["last-week", "last week", "this-week", "yesterday", "2d"])
def test_ordinary_words_for_times_are_understood(vacr, since):
    done = vacr("list", "--since", since)
    # Yesterday may be in the week before this one.
    assert done.returncode == 0 or since == "this-week", done.err


@pytest.mark.usefixtures("project")
def test_beginning_of_an_agent_is_enough(vacr):
    assert vacr("list", "--agent", "claude").returncode == 0
    assert vacr("show", "latest:claude", "-q").returncode == 0
    assert vacr("search", "cents", "--agent", "claude").returncode == 0
    done = vacr("list", "--agent", "c")
    assert (done.returncode, "Known agents: claude-code" in done.err) == (2, True)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("verb", ["show", "stats", "record", "seal --key signing.pem"])
def test_too_short_id_is_explained(vacr, verb):
    assert vacr("key", "generate", "-o", ".").returncode == 0
    done = vacr(*verb.split(), SESSION[:3])
    assert done.returncode == 3
    assert f"{SESSION[:3]}: there is no such file or folder" in done.err
    assert "the id of a session needs at least 4 characters" in done.err
    done = vacr(*verb.split(), "99998888")
    assert "no session with this id" in done.err
    assert vacr("show", SESSION[:4], "-q").returncode == 0


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["latest", SESSION[:8]])
def test_session_is_verified_after_it_is_sealed(vacr, name):
    assert vacr("init", "--yes", "--name", "Mira").returncode == 0
    done = vacr("verify", name)
    assert (done.returncode, f"vacr seal {name} -o sealed/" in done.err) == (3, True)
    inspected = vacr("inspect", name)
    assert (inspected.returncode, f"vacr seal {name} -o sealed/" in inspected.err) == (3, True)
    assert "there is no such file" in vacr("inspect", "other.cose").err
    assert vacr("seal", name, "-o", "sealed/").returncode == 0
    assert vacr("verify", "sealed/").returncode == 0


@pytest.mark.parametrize("lines", ["0", "0-2", "2-0", "00"])
def test_lines_begin_at_one(vacr, project, lines):
    done = vacr("blame", f"app.py:{lines}", cwd=project)
    assert (done.returncode, "lines begin at 1" in done.err) == (2, True)
    assert "vacr blame app.py:1" in done.err


def test_format_is_suggested_for_json(vacr):
    done = vacr("list", "--json")
    assert (done.returncode, "Did you mean '--format json'?" in done.err) == (2, True)
    done = vacr("list", "--projct", ".")
    assert (done.returncode, "--project" in done.err) == (2, True)


def test_help_is_a_word_for_help(vacr):
    assert vacr("help").out == vacr("--help").out
    assert vacr("help", "list").out == vacr("list", "--help").out
    assert vacr("help", "log", "init").out == vacr("log", "init", "--help").out
    assert vacr("help").returncode == 0
    assert vacr("help", "lst").returncode == 2


def test_weeks_are_among_the_examples_of_times(vacr):
    done = vacr("list", "--since", "2 weeks")
    assert (done.returncode, "2w" in done.err) == (2, True)
    assert "neither a date" not in vacr("list", "--since", "2w").err


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats",),
        ("search", "hints"),
        ("open", "--no-browser"),
        ("init", "--yes"),
        ("key", "generate", "-o", "/proc/x"),
    ],
)
def test_folder_that_cannot_be_created_is_named_with_the_next_step(vacr, arguments):
    done = vacr(*arguments, VACR_STATE="/proc/x")
    assert done.returncode == 3
    assert "cannot be created: the file system does not allow it" in done.err
    hint = "Choose a folder that you can write with -o." if "key" in arguments else "Set VACR_STATE"
    assert f"\n  {hint}" in done.err
    assert "Delete" not in done.err


def test_settings_folder_that_cannot_be_created_is_named(vacr):
    done = vacr("init", "--yes", VACR_CONFIG="/proc/x")
    assert done.returncode == 3
    assert "vacr: /proc/x: cannot be created: " in done.err
    assert "Set VACR_CONFIG to a folder that you can write" in done.err


def test_record_of_somebody_else_names_their_key(vacr):
    assert vacr("key", "generate", "--alg", "es256", "-o", "mine").returncode == 0
    assert vacr("key", "generate", "--alg", "eddsa", "-o", "theirs").returncode == 0
    assert vacr("record", str(EXAMPLES / "claude-code.jsonl"), "-o", "a.acr.json").returncode == 0
    assert vacr("sign", "a.acr.json", "--key", "theirs/signing.pem").returncode == 0
    done = vacr("verify", "a.acr.json", "--trust", "mine/signing.pub.pem")
    assert done.returncode == 1
    assert re.search(r"signed by key [0-9a-f]{16}; none of yours is for EdDSA", done.err)
    assert "vacr trust add NAME --key FILE" in done.err


def test_name_of_a_missing_file_is_given_once(vacr):
    done = vacr("verify", "x.json")
    assert done.err.startswith("x.json: not verified: there is no such file\n")


def test_cut_record_is_called_damaged(vacr, tmp_path):
    assert vacr("record", str(EXAMPLES / "claude-code.jsonl"), "-o", "a.acr.json").returncode == 0
    (tmp_path / "cut.acr.json").write_bytes((tmp_path / "a.acr.json").read_bytes()[:500])
    done = vacr("show", "cut.acr.json")
    assert done.returncode == 3
    assert "not JSON: it ends in the middle of a text\n" in done.err
    assert "Get it again, or record the session again." in done.err


def test_mistyped_agent_is_guessed_first(vacr):
    done = vacr("list", "--agent", "cloude")
    assert done.returncode == 2
    assert "\n  Did you mean claude-code? Known agents: " in done.err


@pytest.mark.parametrize(
    ("arguments", "guess"),
    [
        ("shwo latest", "'vacr show'"),
        ("cost", "'vacr stats'"),
        ("ls", "'vacr list'"),
        ("version", "'vacr --version'"),
        ("show --agnt x", "'--agent'."),
        ("show lastest", "latest?"),
        ("sql 'select start from records'", "start_ms?"),
        ("sql 'select 1 from recods'", "records?"),
    ],
)
def test_a_slip_leads_to_the_right_word(vacr, project, arguments, guess):
    done = vacr(*shlex.split(arguments), cwd=project)
    assert done.returncode in (2, 3)
    found = re.search(r"Did you mean (.*)", " ".join(done.err.split()))
    assert found is not None
    assert found[1].startswith(guess.rstrip(".?"))
    assert "', '" not in found[1].partition("?")[0]


def test_other_words_lead_to_verbs_that_exist():
    verbs = set(group.verbs) | {"--version"}
    assert set(group.meant.values()) <= verbs
    assert not set(group.meant) & verbs


def test_a_verb_without_arguments_shows_examples_and_not_all_options(vacr):
    done = vacr("verify")
    assert done.returncode == 2
    assert done.err.startswith("Usage: vacr verify ")
    assert "\n    vacr verify abc.acr.json\n" in done.err
    assert done.err.endswith("\n\nFor all options: vacr verify --help\n")
    assert "--require-evidence FILE" not in done.err
    assert len(done.err.splitlines()) < 24


def test_choices_of_a_missing_option_are_in_one_sentence(vacr, project):
    done = vacr("export", SESSION[:8], cwd=project)
    assert (done.returncode, "Choose from: markdown, html, " in done.err) == (2, True)


def test_short_names_of_formats_work(vacr, project):
    assert vacr("export", SESSION[:8], "--to", "md", "-o", "a.md", cwd=project).returncode == 0
    done = vacr("export", SESSION[:8], "--to", "parquet", cwd=project)
    assert (done.returncode, "vacr sql --to parquet" in done.err) == (2, True)


def test_commit_without_a_note_does_not_hide_those_of_others(vacr, project):
    for name, value in (("user.name", "Mira"), ("user.email", "mira@example.org")):
        subprocess.run(["git", "config", name, value], cwd=project, check=True)
    assert vacr("notes", "write", "HEAD", cwd=project).returncode == 0
    done = vacr("notes", "show", "HEAD~1", cwd=project)
    assert done.returncode == 1
    assert re.search(r"commit [0-9a-f]{12} has no note in refs/notes/ai", done.err)


@pytest.mark.parametrize(
    ("verb", "code", "step"),
    [
        ("validate", 3, "vacr record latest -o records/"),
        ("sign --key k.pem", 3, "vacr seal latest -o sealed/"),
    ],
)
def test_verb_that_takes_no_session_says_how_to_make_its_file(vacr, project, verb, code, step):
    assert vacr("key", "generate", "-o", ".", "-q", cwd=project).returncode == 0
    (project / "signing.pem").rename(project / "k.pem")
    name, *options = verb.split()
    done = vacr(name, "latest", *options, cwd=project)
    assert (done.returncode, step in done.err) == (code, True)
    assert vacr(*shlex.split(step)[1:], "-q", *options, cwd=project).returncode == 0


@pytest.mark.parametrize(("verb", "shown"), [("acp", "VACR_ACP_QUIET"), ("lsp", "")])
def test_help_names_only_variables_that_exist(vacr, verb, shown):
    found = re.findall(r"VACR_\w+", vacr(verb, "--help").out)
    assert found == ([shown] if shown else [])


def test_nothing_named_leads_to_all_sessions(vacr, project):
    done = vacr("export", "--to", "atif", "-o", "atif/", cwd=project)
    assert (done.returncode, "--since 7d" in done.err) == (2, True)
