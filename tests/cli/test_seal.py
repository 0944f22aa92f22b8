"""`vacr seal`: from a native session to a registered record in one step, and repeated."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import FIXTURES
from tests.log.scrapi import Scrapi
from tests.secret_files import write_secret
from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
from vacr.registration.outbox import Outbox
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import encode_private_pem
from vacr.transparency.receipt import parse_receipts
from vacr.workflows import RecordingOptions, plan_sealing

pytestmark = pytest.mark.component

NOBODY = "http://127.0.0.1:1"
TRUST = ("--trust", "keys/signing.pub.pem")
KEY = ("--key", "keys/signing.pem")


@pytest.fixture
def service():
    with Scrapi() as running:
        yield running


@pytest.fixture
def home(vacr, tmp_path, request):
    """Create sessions and a key."""
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    for name, example in (("a", "claude-code.jsonl"), ("b", "codex-cli.jsonl")):
        shutil.copy(request.config.rootpath / "examples" / example, tmp_path / f"{name}.jsonl")
    return tmp_path


def list_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def list_outbox(folder):
    return list(Outbox(folder / "home" / ".local" / "state" / "vacr" / "outbox").items())


def test_seal_runs_every_step(vacr, home, service):
    (home / "log.pem").write_bytes(Key(service.log.signer.key).public_pem)
    reached = ("--service", service.url, "--log-key", "log.pem")
    done = vacr("seal", "a.jsonl", *KEY, *reached, "-o", "sealed/", "--seal-source")
    assert (done.returncode, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first.startswith("sealed/a.acr.json: 1 file, lines: 6 ai; signed by key ")
    assert second.startswith("sealed/a.acr.json.cose: registered, in the log of key ")
    assert "calls itself" not in second
    assert "Z; the log calls it entry 1 of 2" in second
    assert sorted(list_files(home / "sealed")) == [
        "a.acr.json",
        "a.acr.json.cose",
        "a.acr.source.zip",
    ]
    record = json.loads((home / "sealed" / "a.acr.json").read_bytes())
    assert record["file-attribution"]["files"]
    done = vacr(
        "verify", "sealed/a.acr.json", *TRUST, "--log-key", "log.pem", "--source", "a.jsonl"
    )
    assert done.returncode == 0, done.err
    checks = [line.split()[1].rstrip(":") for line in done.out.splitlines() if line.startswith("✓")]
    assert checks[5:] == ["claims", "receipt", "metadata", "record", "attribution", "source"]
    assert vacr("restore", "sealed/a.acr.json", "-o", "native/").returncode == 0
    assert (home / "native" / "a.jsonl").read_bytes() == (home / "a.jsonl").read_bytes()


def test_seal_writes_the_same_record_as_the_single_verbs(vacr, home):
    vacr("seal", "a.jsonl", *KEY, "-o", "sealed/")
    vacr("record", "a.jsonl")
    vacr("attribute", "a.acr.json")
    assert (home / "a.attributed.acr.json").read_bytes() == (
        home / "sealed" / "a.acr.json"
    ).read_bytes()


def test_sealing_again_signs_nothing_twice(vacr, home, service):
    again = ("seal", "a.jsonl", "b.jsonl", *KEY, "--service", service.url, "-o", "sealed")
    assert vacr(*again).returncode == 0
    before, posted = list_files(home / "sealed"), len(service.posted)
    done = vacr(*again)
    assert (
        done.returncode,
        done.out.count("already signed by"),
        done.out.count("already has a receipt"),
    ) == (0, 2, 2)
    assert (list_files(home / "sealed"), len(service.posted)) == (before, posted)
    (home / "sealed" / "b.acr.json.cose").unlink()
    done = vacr(*again)
    assert (done.returncode, done.out.count("already signed by")) == (0, 1)
    assert list_files(home / "sealed")["a.acr.json.cose"] == before["a.acr.json.cose"]


def test_unregistered_statement_is_registered_later(vacr, home, service):
    done = vacr(
        "seal", "a.jsonl", "b.jsonl", *KEY, "--service", NOBODY, "--patience", "0", "-o", "sealed/"
    )
    assert (done.returncode, "vacr register --pending" in done.err, len(list_outbox(home))) == (
        4,
        True,
        2,
    )
    assert vacr("verify", "sealed/", *TRUST).returncode == 0
    before = list_files(home / "sealed")
    done = vacr("seal", "a.jsonl", *KEY, "--service", service.url, "-o", "sealed/")
    assert (done.returncode, "already signed by" in done.out) == (0, True)
    statement = parse_sign1((home / "sealed" / "a.acr.json.cose").read_bytes())
    assert (len(parse_receipts(statement)), statement.signature) == (
        1,
        parse_sign1(before["a.acr.json.cose"]).signature,
    )


def test_seal_works_without_a_service(vacr, home):
    done = vacr("seal", "a.jsonl", *KEY, "-o", "sealed/")
    assert (done.returncode, "Not registered" in done.err) == (0, True)
    assert vacr("verify", "sealed/", *TRUST).returncode == 0
    assert list_outbox(home) == []
    (report,) = json.loads(vacr("seal", "a.jsonl", *KEY, "-o", "sealed/", "--format", "json").out)[
        "sealed"
    ]
    assert (report["state"], report["signed"], report["files"], report["record"]) == (
        "signed",
        False,
        1,
        "sealed/a.acr.json",
    )


def test_different_files_are_not_overwritten(vacr, home):
    vacr("seal", "a.jsonl", "b.jsonl", *KEY, "-o", "sealed/")
    before = list_files(home / "sealed")
    vacr("key", "generate", "-o", "others/")
    done = vacr("seal", "a.jsonl", "--key", "others/signing.pem", "-o", "sealed/")
    assert (done.returncode, "--overwrite" in done.err, list_files(home / "sealed")) == (
        2,
        True,
        before,
    )
    assert (
        vacr(
            "seal", "a.jsonl", "--key", "others/signing.pem", "-o", "sealed/", "--overwrite"
        ).returncode
        == 0
    )
    assert vacr("verify", "sealed/a.acr.json", "--trust", "others/signing.pub.pem").returncode == 0
    lines = (home / "b.jsonl").read_bytes().splitlines(keepends=True)
    (home / "b.jsonl").write_bytes(b"".join(lines[:-1]))
    done = vacr("seal", "b.jsonl", *KEY, "-o", "sealed/")
    assert (done.returncode, list_files(home / "sealed")["b.acr.json"]) == (2, before["b.acr.json"])
    assert vacr("seal", "b.jsonl", *KEY, "-o", "sealed/", "--overwrite").returncode == 0
    assert vacr("verify", "sealed/b.acr.json", *TRUST, "--source", "b.jsonl").returncode == 0


def test_folder_with_sub_agents_is_sealed(vacr, home, service):
    shutil.copytree(FIXTURES / "claude" / "project", home / "project")
    (home / "project" / "readme.txt").write_text("no session")
    (home / "project" / "link.jsonl").symlink_to("nowhere")
    done = vacr("seal", "project/", *KEY, "--service", service.url, "-o", "project/sealed/")
    assert done.returncode == 0, done.err
    vacr("record", "project/", "-o", "records/")
    record_names = {name for name in list_files(home / "records") if name.endswith(".acr.json")}
    assert {
        name for name in list_files(home / "project" / "sealed") if name.endswith(".acr.json")
    } == record_names
    assert len(record_names) > 2
    assert f"{len(record_names)} sessions: {len(record_names)} sealed, 0 failed" in done.out
    assert "2 files skipped: not a session" in done.out
    report = json.loads(
        vacr("seal", "project/", *KEY, "-o", "project/sealed/", "--format", "json").out
    )
    assert [skipped["source"] for skipped in report["skipped"]] == [
        "project/link.jsonl",
        "project/readme.txt",
        "project/sealed",
    ]
    assert service.log.tree.size == 1 + len(record_names)
    done = vacr("verify", "project/sealed/", *TRUST)
    assert (done.returncode, f"{len(record_names)} verified, 0 failed" in done.out) == (0, True)
    assert vacr(
        "seal", "project/", *KEY, "--service", service.url, "-o", "project/sealed/"
    ).out.count("already signed") == len(record_names)


def test_each_copy_is_sealed(vacr, home):
    shutil.copy(home / "a.jsonl", home / "copy.jsonl")
    done = vacr("seal", "a.jsonl", "copy.jsonl", *KEY, "-o", "sealed/")
    assert (done.returncode, done.out.count("lines: 6 ai")) == (0, 2)


@pytest.mark.parametrize("folders", [("a", "b"), ("b", "a")])
def test_sub_agents_are_sealed_with_the_copy_they_lie_next_to(tmp_path, folders):
    project = FIXTURES / "claude" / "project"
    complete, rest = (tmp_path / "copies" / folder for folder in folders)
    shutil.copytree(project, complete)
    shutil.copytree(project, rest)
    [main] = rest.glob("3c9e7b10-*.jsonl")
    main.unlink()
    plan = plan_sealing(
        [str(tmp_path / "copies")], tmp_path / "sealed", RecordingOptions(), lambda _: None
    )
    sources = [[Path(session.task.path) for session in group] for group in plan]
    [with_main] = [group for group in sources if complete / main.name in group]
    assert with_main[0] == complete / main.name
    assert len(with_main) > 1
    assert all(path.is_relative_to(complete) for path in with_main)


@pytest.mark.parametrize("reverse", [False, True])
def test_sub_agents_without_their_session_are_sealed_by_folder(tmp_path, reverse):
    project = FIXTURES / "claude" / "project"
    for folder in "ab":
        shutil.copytree(project, tmp_path / "copies" / folder)
        [main] = (tmp_path / "copies" / folder).glob("3c9e7b10-*.jsonl")
        [sub_agent] = (tmp_path / "copies" / folder).rglob("agent-a1b2c3d.jsonl")
        sub_agent.rename(main.with_name(sub_agent.name))
        main.unlink()
    folders = sorted(map(str, (tmp_path / "copies").iterdir()), reverse=reverse)
    plan = plan_sealing(folders, tmp_path / "sealed", RecordingOptions(), lambda _: None)
    groups = [{Path(session.task.path).parent for session in group} for group in plan]
    assert all(len(group) == 1 for group in groups)
    assert max(len(group) for group in plan) > 1


def test_seal_supports_a_base_and_certificates(vacr, home):
    repository = home / "repo"
    repository.mkdir()
    for command in (
        ["init", "-q"],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)
    key, root = Key.generate("es256"), Authority("root")
    chain = certificate(key, root, names=["https://example.org"])
    subprocess.run(
        ["openssl", "x509", "-inform", "DER", "-out", "leaf.pem"], input=chain, cwd=home, check=True
    )
    (home / "root.pem").write_bytes(root.pem)
    write_secret(home / "key.pem", encode_private_pem(key.private, b"sesame"))
    write_secret(home / "secret", b"sesame\n")
    asked = ("--key", "key.pem", "--passphrase-file", "secret", "--base", "repo", "-o", "sealed/")
    assert vacr("seal", "a.jsonl", *asked).returncode == 0
    signed = (*asked, "--x5chain", "leaf.pem", "--issuer", "https://example.org")
    assert vacr("seal", "a.jsonl", *signed).returncode == 2, "the statement that is there says less"
    assert vacr("seal", "a.jsonl", *signed, "--overwrite").returncode == 0
    assert "already signed" in vacr("seal", "a.jsonl", *signed).out
    done = vacr(
        "verify",
        "sealed/a.acr.json",
        "--trust",
        "root.pem",
        "--issuer",
        "https://example.org",
        "--base",
        "repo",
    )
    assert (done.returncode, "✓ attribution" in done.out) == (0, True)


def test_failing_session_does_not_stop_the_others(vacr, home, service):
    (home / "junk.jsonl").write_text("junk\n")
    done = vacr(
        "seal",
        "junk.jsonl",
        "a.jsonl",
        "none.jsonl",
        *KEY,
        "--service",
        service.url,
        "-o",
        "sealed/",
    )
    assert (done.returncode, "junk.jsonl" in done.err, "none.jsonl" in done.err) == (3, True, True)
    assert sorted(list_files(home / "sealed")) == ["a.acr.json", "a.acr.json.cose"]
    service.plan = [403]
    done = vacr("seal", "b.jsonl", *KEY, "--service", service.url, "-o", "sealed/")
    assert (done.returncode, list_outbox(home), "403" in done.err) == (1, [], True)
    assert vacr("verify", "sealed/b.acr.json", *TRUST).returncode == 0
    service.plan = ["forged"]
    assert vacr("seal", "b.jsonl", *KEY, "--service", service.url, "-o", "sealed/").returncode == 1
    (home / "empty").mkdir()
    assert vacr("seal", "empty/", *KEY).returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.jsonl",),
        ("a.jsonl", *KEY, "--service", "x"),
    ],
)
@pytest.mark.usefixtures("home")
def test_usage_errors_exit_with_2(vacr, arguments):
    assert vacr("seal", *arguments).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-",), "cannot seal standard input"),
        (("a.jsonl", "-o", "-"), "seal writes several files, and standard output is not a folder"),
        (("a.jsonl", "-o", "a.jsonl"), "seal writes several files, and a.jsonl is not a folder"),
    ],
)
@pytest.mark.usefixtures("home")
def test_streams_and_single_output_files_are_refused(vacr, arguments, message):
    done = vacr("seal", *arguments, *KEY)
    assert (done.returncode, message in done.err) == (2, True)


def test_temporary_files_are_removed_and_private_sessions_stay_private(vacr, home):
    (home / "tmp").mkdir()
    vacr("seal", "a.jsonl", *KEY, "-o", "sealed/", TMPDIR=str(home / "tmp"))
    assert list_files(home / "tmp") == {}
    private = home / "a.jsonl"
    private.chmod(0o600)
    vacr("seal", "a.jsonl", *KEY, "-o", "private/")
    assert (home / "private" / "a.acr.json").stat().st_mode & 0o077 == 0


def test_record_without_attribution_is_named_as_such(vacr, home):
    assert vacr("record", "a.jsonl").returncode == 0
    done = vacr("seal", "a.jsonl", *KEY)
    assert done.returncode == 2
    assert "a.acr.json exists: the record of this session, without attribution" in done.err
    assert "Add --overwrite" in done.err
    assert "-o sealed/" in done.err
    assert "Not registered" not in done.err
    assert vacr("seal", "a.jsonl", *KEY, "--overwrite").returncode == 0
    # The record of another session, or a modified one, does not count.
    assert vacr("record", "b.jsonl", "-o", "other/").returncode == 0
    shutil.copy(home / "other/b.acr.json", home / "a.acr.json")
    done = vacr("seal", "a.jsonl", *KEY)
    assert (done.returncode, "exists with different content" in done.err) == (2, True)
    assert vacr("record", "a.jsonl", "-o", "mine/").returncode == 0
    modified = (home / "mine/a.acr.json").read_bytes().replace(b"off by a cent", b"off by 2 cents")
    (home / "a.acr.json").write_bytes(modified)
    done = vacr("seal", "a.jsonl", "b.jsonl", *KEY)
    assert (done.returncode, "exists with different content" in done.err) == (2, True)
    assert "Not registered" in done.err


def test_sessions_that_wait_for_the_log_are_sealed_and_the_reason_is_given_once(vacr, home):
    reach = ("--service", NOBODY, "--patience", "0", "-o", "sealed/")
    done = vacr("seal", "a.jsonl", "b.jsonl", *KEY, *reach)
    assert (done.returncode, len(list_outbox(home))) == (4, 2)
    last = done.out.splitlines()[-1]
    assert last == ("2 sessions: 2 sealed, 0 failed; 2 not registered yet: vacr register --pending")
    assert done.err.count("cannot reach the transparency service") == 1
    assert done.err.count("not registered, for the same reason") == 1
