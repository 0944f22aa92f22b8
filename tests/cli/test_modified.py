"""A record that was modified after it was made: every verb says so, in the same words."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import pytest

from tests.cli.test_view import read_page_data
from tests.conftest import EXAMPLES
from vacr.cli import run_command_line
from vacr.record.encoding import encode_with_id
from vacr.workflows import LARGE_FILE_SIZE

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"
WORDS = re.compile(
    r"the record was modified: its id is '[0-9a-f-]{36}', but its content gives '[0-9a-f-]{36}'"
)
WARNING = "the record was modified: its id does not match its content"
NEXT_STEP = "Record the session again (vacr record SESSION)"
FORMS = {"v3": "json", "cbor": "cbor", "v2": "v2"}


def modify(path):
    """Change a word of a record to one of the same length, which keeps JSON and CBOR valid."""
    data = path.read_bytes()
    assert b"off by a cent" in data
    path.write_bytes(data.replace(b"off by a cent", b"off by a euro"))
    return path


@pytest.fixture(params=FORMS)
def modified(request, prepare):
    """Return the path of a modified record: in JSON, in CBOR, and of version 2."""
    name = "bad.acr.cbor" if request.param == "cbor" else "bad.acr.json"
    return prepare(make_modified, request.param, name) / name


def make_modified(vacr, folder, form, name):
    vacr("record", CLAUDE, "-o", "good.acr.json")
    vacr("convert", "good.acr.json", "--to", FORMS[form], "-o", name)
    (folder / "good.acr.json").unlink()
    modify(folder / name)


@pytest.fixture
def bad(prepare):
    """Return the path of a modified record in JSON."""
    return prepare(make_bad) / "bad.acr.json"


def make_bad(vacr, folder):
    vacr("record", CLAUDE, "-o", "bad.acr.json")
    modify(folder / "bad.acr.json")


@pytest.fixture
def key(prepare):
    """Return the path of a signing key."""
    prepare(make_key)
    return "keys/signing.pem"


def make_key(vacr, _):
    vacr("key", "generate", "-o", "keys/", "-q")


def run_on_both_streams(folder, *arguments):
    """Return what a verb prints on a terminal that shows both of its streams."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PAGER": "cat", "NO_COLOR": "1"}
    subprocess.run(
        [sys.executable, "-m", "vacr", *arguments],
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment,
        check=False,
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    return shown.decode()


READING_VERBS = {
    "show": ("show", "{}"),
    "stats": ("stats", "{}"),
    "view": ("view", "{}", "-o", "out.html"),
    "export": ("export", "{}", "--to", "markdown", "-o", "out.md"),
    "convert": ("convert", "{}", "--to", "v3", "-o", "out/"),
}


def run(vacr, verb, path, *more, **settings):
    return vacr(*(part.format(path) for part in READING_VERBS[verb]), *more, **settings)


@pytest.mark.parametrize("verb", READING_VERBS)
def test_reading_warns_first_and_exits_with_1(vacr, modified, verb):
    done = run(vacr, verb, modified)
    assert done.returncode == 1
    first, *results = done.out.splitlines()
    assert first == f"WARNING: {modified}: {WARNING}"
    assert results
    assert "\n".join(results).count(WARNING) == 0
    assert done.err.count(WARNING) == 1
    assert NEXT_STEP in done.err


@pytest.mark.parametrize("verb", READING_VERBS)
def test_verbose_warning_has_both_ids(vacr, bad, verb):
    done = run(vacr, verb, bad, "-v")
    assert WORDS.search(done.out.splitlines()[0])
    assert WORDS.search(done.err)


@pytest.mark.parametrize("verb", READING_VERBS)
@pytest.mark.usefixtures("terminals")
def test_terminal_shows_the_warning_once(bad, tmp_path, verb):
    arguments = [part.format(bad) for part in READING_VERBS[verb]]
    shown = run_on_both_streams(tmp_path, *arguments)
    assert shown.count("was modified") == 1
    # On a busy machine, a line with the progress may come first; the next line replaces it.
    lasting = re.sub(r"[^\n]*\r\x1b\[2K", "", shown)
    assert lasting.index("was modified") < 200


@pytest.mark.parametrize("verb", READING_VERBS)
def test_quiet_reading_still_warns(vacr, bad, verb):
    done = run(vacr, verb, bad, "-q")
    assert done.returncode == 1
    assert WARNING in done.err


@pytest.mark.parametrize("verb", READING_VERBS)
def test_piped_record_is_checked(vacr, modified, verb):
    done = run(vacr, verb, "-", stdin=modified.read_bytes())
    assert done.returncode == 1
    assert WARNING in done.out
    assert WARNING in done.err


@pytest.mark.parametrize("verb", READING_VERBS)
def test_unmodified_record_and_session_get_no_warning(vacr, verb):
    vacr("record", CLAUDE, "-o", "good.acr.json")
    sources = ["good.acr.json", CLAUDE] if verb != "convert" else ["good.acr.json"]
    for source in sources:
        more = () if verb in ("show", "stats") else ("--overwrite",)
        done = run(vacr, verb, source, *more)
        assert (done.returncode, "modified" in done.out + done.err) == (0, False)


@pytest.mark.parametrize("verb", ["export", "convert", "view"])
def test_document_on_standard_output_is_not_mixed_with_the_warning(vacr, bad, verb):
    done = run(vacr, verb, bad, "-o", "-")
    assert done.returncode == 1
    assert not done.out.startswith("WARNING")
    assert WARNING in done.err


def get_facts(verb, document):
    """Return what the JSON output of a verb says about its only record."""
    match verb:
        case "show":
            return {row["modified"] for row in document["rows"]}
        case "stats":
            return {bool(document["modified"])}
        case _:
            names = {"view": "results", "export": "exports", "convert": "records"}
            return {item["modified"] for item in document[names[verb]]}


@pytest.mark.parametrize("verb", READING_VERBS)
def test_json_output_says_it(vacr, bad, verb):
    done = run(vacr, verb, bad, "--format", "json")
    assert done.returncode == 1
    assert get_facts(verb, json.loads(done.out)) == {True}
    assert WARNING in done.err
    vacr("record", CODEX, "-o", "good.acr.json")
    more = () if verb in ("show", "stats") else ("--overwrite",)
    done = run(vacr, verb, "good.acr.json", "--format", "json", *more)
    assert done.returncode == 0
    assert get_facts(verb, json.loads(done.out)) == {False}


def test_json_lists_modified_records_without_a_matching_row(vacr, bad):
    done = vacr("show", bad, "--grep", "no such words", "--format", "json")
    assert done.returncode == 1
    document = json.loads(done.out)
    assert document["rows"] == []
    assert [item["source"] for item in document["modified"]] == [str(bad)]
    assert WORDS.fullmatch(document["modified"][0]["message"])


def test_modified_record_among_good_ones(vacr, tmp_path):
    vacr("record", CLAUDE, CODEX, "-o", "records/")
    bad = modify(tmp_path / "records" / "claude-code.acr.json").relative_to(tmp_path)
    for arguments in (
        ("show", "records"),
        ("stats", "records"),
        ("view", "records", "-o", "site/"),
        ("export", "records", "--to", "atif", "-o", "out/"),
        ("convert", *sorted((tmp_path / "records").glob("*.json")), "--to", "cbor", "-o", "out/"),
    ):
        done = vacr(*arguments)
        assert done.returncode == 1, arguments
        warnings = [line for line in done.out.splitlines() if line.startswith("WARNING")]
        assert [str(bad) in line for line in warnings] == [True], arguments
        assert done.err.count(WARNING) == 1, arguments
        assert "codex" in done.out, arguments


def test_larger_exit_code_wins(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    modify(tmp_path / "records" / "claude-code.acr.json")
    (tmp_path / "records" / "broken.acr.json").write_text("{")
    for arguments in (
        ("show", "records"),
        ("stats", "records"),
        ("export", "records", "--to", "atif", "-o", "out/"),
        ("convert", *sorted((tmp_path / "records").iterdir()), "--to", "cbor", "-o", "out/"),
    ):
        assert vacr(*arguments).returncode == 3, arguments
    # As in `vacr verify`, a failed check outranks an unreadable record.
    assert vacr("view", "records", "-o", "site/").returncode == 1


def claim_success(path):
    """Let the failed result of a record claim that it succeeded."""
    text = path.read_text("utf-8")
    assert '"is-error":true' in text
    path.write_text(text.replace('"is-error":true', '"is-error":false'), "utf-8")
    return path


def test_edited_result_is_reported_as_modified_first(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "bad.acr.json")
    claim_success(tmp_path / "bad.acr.json")
    for verb in ("show", "stats"):
        done = vacr(verb, "bad.acr.json")
        assert done.returncode == 1
        modified = WORDS.search(done.err)
        assert modified.end() < done.err.index("not a valid record")
        assert "it claims success, expected an error, as in the message" in done.err
    done = vacr("validate", "bad.acr.json")
    assert done.returncode == 1
    _, first, second = done.out.splitlines()
    assert first.startswith("  /id: the record was modified: ")
    assert second.endswith(
        "/is-error: a result must match the message it comes from: it claims success, expected an "
        "error, as in the message"
    )


def test_invalid_record_with_its_own_id_is_not_called_modified(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "bad.acr.json")
    record = json.loads((tmp_path / "bad.acr.json").read_bytes())
    record["session"]["entries"][0]["timestamp"] = "yesterday"
    (tmp_path / "bad.acr.json").write_bytes(b"".join(encode_with_id(record)))
    for verb in ("show", "validate"):
        done = vacr(verb, "bad.acr.json")
        assert done.returncode == 1
        assert "modified" not in done.out + done.err


def test_record_without_its_id_is_modified(vacr, bad, key):
    record = json.loads(bad.read_bytes())
    del record["id"]
    bad.write_text(json.dumps(record))
    done = vacr("sign", bad, "--key", key)
    assert done.returncode == 1
    assert "the record was modified: its id is missing, but its content gives '" in done.err


def test_modified_record_without_a_session_is_validated(vacr, bad):
    record = json.loads(bad.read_bytes())
    del record["session"]
    bad.write_text(json.dumps(record))
    done = vacr("validate", bad)
    finding = "/id: the record was modified: it has no session, expected content that gives an id\n"
    assert (done.returncode, finding in done.out) == (1, True)


def test_record_of_another_program_is_not_modified(vacr, bad):
    record = json.loads(bad.read_bytes())
    del record["recording-agent"], record["vacr"]
    bad.write_text(json.dumps(record))
    done = vacr("convert", bad, "--to", "v2", "-o", "out/")
    assert (done.returncode, done.err) == (0, "")


@pytest.mark.parametrize("signed", [False, True])
def test_page_says_it(vacr, tmp_path, signed, key):
    vacr("record", CLAUDE, "-o", "bad.acr.json")
    if signed:
        vacr("sign", "bad.acr.json", "--key", key)
    modify(tmp_path / "bad.acr.json")
    done = vacr("view", "bad.acr.json", "-o", "out.html", "--format", "json")
    assert done.returncode == 1
    (result,) = json.loads(done.out)["results"]
    assert (result["verdict"], result["modified"]) == ("failed", True)
    verification = read_page_data(tmp_path / "out.html")["records"][0]["verification"]
    assert verification["verified"] is False
    assert WORDS.fullmatch(verification["modified"])


@pytest.mark.parametrize(("to", "bytes_before"), [("markdown", 200), ("html", 3000)])
def test_transcript_says_it_at_the_top(vacr, bad, to, bytes_before):
    done = vacr("export", bad, "--to", to, "-o", "-")
    assert done.out.index("Warning: the record was modified: its id is ") < bytes_before
    assert "Do not rely on this conversation." in done.out
    vacr("record", CODEX, "-o", "good.acr.json")
    assert "Do not rely on" not in vacr("export", "good.acr.json", "--to", to, "-o", "-").out


def test_in_toto_statement_needs_force(vacr, tmp_path, key):
    vacr("attribute", CLAUDE, "-o", "bad.acr.json")
    modify(tmp_path / "bad.acr.json")
    arguments = ("export", "bad.acr.json", "--to", "in-toto", "--key", key, "-o", "out.json")
    done = vacr(*arguments)
    assert done.returncode == 1
    assert WORDS.search(done.err)
    assert "To sign it anyway, add --force." in done.err
    assert not (tmp_path / "out.json").exists()
    done = vacr(*arguments, "--force")
    assert done.returncode == 1
    assert "WARNING" in done.out
    assert (tmp_path / "out.json").exists()


def test_signing_needs_force(vacr, modified, tmp_path, key):
    statement = tmp_path / f"{modified.name}.cose"
    done = vacr("sign", modified, "--key", key)
    assert done.returncode == 1
    assert WORDS.search(done.err)
    assert "To sign it anyway, add --force." in done.err
    assert not statement.exists()
    done = vacr("sign", modified, "--key", key, "--force", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.out)["statements"][0]["modified"] is True
    assert WARNING in done.err
    assert statement.exists()
    done = vacr("verify", modified, "--trust", "keys/signing.pub.pem")
    assert done.returncode == 1
    assert WORDS.search(done.err)


def test_signed_statement_on_standard_output_comes_without_the_warning(vacr, bad, key):
    done = vacr("sign", bad, "--key", key, "--force", "-o", "-")
    assert done.returncode == 1
    assert done.stdout[:1] == b"\xd2"
    assert WARNING in done.err


def test_space_before_a_record_does_not_hide_that_it_was_modified(vacr, bad, key):
    bad.write_bytes(b" \n" + bad.read_bytes())
    assert vacr("sign", bad, "--key", key).returncode == 1


def test_size_of_a_record_does_not_hide_that_it_was_modified(vacr, bad, key):
    bad.write_bytes(bad.read_bytes() + b"\n" * LARGE_FILE_SIZE)
    done = vacr("sign", bad, "--key", key)
    assert done.returncode == 1
    assert WORDS.search(done.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("attribute", "{}"),
        ("attribute", "{}", "--check"),
        ("attribute", "{}", "--history"),
        ("replay", "{}"),
        ("validate", "{}"),
    ],
)
def test_verbs_that_give_authority_refuse_it(vacr, modified, arguments):
    done = vacr(*(part.format(modified) for part in arguments))
    assert done.returncode == 1
    assert "the record was modified: its id is '" in done.out + done.err


def test_evidence_about_it_is_refused(vacr, modified, key):
    done = vacr(
        "attest", "--record", modified, "--nonce", "00" * 16, "--attester", "software", "--key", key
    )
    assert done.returncode == 1
    assert WORDS.search(done.err)


def test_it_is_not_restored(vacr, tmp_path):
    vacr("record", CLAUDE, "--seal-source", "-o", "bad.acr.json")
    modify(tmp_path / "bad.acr.json")
    done = vacr("restore", "bad.acr.json", "-o", "back/")
    assert done.returncode == 1
    assert WORDS.search(done.err)
    assert not (tmp_path / "back").exists()


def test_it_is_not_replaced_by_a_new_recording(vacr, tmp_path, bad):
    session = tmp_path / "session.jsonl"
    session.write_bytes(CLAUDE.read_bytes())
    done = vacr("record", session, "-o", bad)
    assert done.returncode == 2
    assert WORDS.search(done.err)


@pytest.mark.parametrize(
    "arguments", [("seal", "{}", "--key", "keys/signing.pem"), ("import", "{}"), ("record", "{}")]
)
@pytest.mark.usefixtures("key")
def test_verbs_for_native_input_take_no_record(vacr, bad, arguments):
    done = vacr(*(part.format(bad) for part in arguments))
    assert done.returncode == 3
    assert "already a" in done.err


def test_verify_repeats_its_own_arguments(vacr, tmp_path, monkeypatch, capfd, key):
    vacr("record", CLAUDE, "-o", "a record.acr.json")
    vacr("sign", "a record.acr.json", "--key", key)
    arguments = ["verify", "a record.acr.json", "--trust", "keys/signing.pub.pem"]
    expected = "To repeat: vacr verify 'a record.acr.json' --trust keys/signing.pub.pem\n"
    assert vacr(*arguments).out.endswith(expected)
    assert vacr("--", *arguments).out.endswith(expected)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["other-program", "with", "its", "own", "arguments"])
    assert run_command_line(arguments) == 0
    assert capfd.readouterr().out.endswith(expected)
