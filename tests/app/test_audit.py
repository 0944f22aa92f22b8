"""The action that audits a pull request, run as GitHub runs it."""

import json
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.conftest import SUM
from tests.app.github import load_action
from tests.attribution.working_agent import Agent, commit, git, repository
from tests.log.scrapi import Scrapi
from tests.vectors.statements import Key
from vacr.signing import parse_sign1

OPUS = "anthropic/claude-opus-4-6"
KINDS = ("ai", "human", "mixed", "unknown")


def count_lines(ran):
    return {
        kind: int(ran.outputs[f"{kind}-lines"])
        for kind in KINDS
        if ran.outputs[f"{kind}-lines"] != "0"
    }


def tamper(record):
    record.write_bytes(record.read_bytes().replace(b"Sum up", b"Add up"))


def test_audit_reports_the_authors_of_lines(audit, pull):
    pull.add_by_agent()
    pull.add_by_hand()
    ran = audit(pages="site")
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (
        0,
        "unknown",
        {"ai": 5, "unknown": 1},
    ), ran.log
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    assert [file["path"] for file in report["lines"]["files"]] == ["hand.py", "sums.py"]
    assert (
        report["verdict"],
        report["records"][0]["verified"],
        len(report["lines"]["commits"]),
    ) == ("unknown", True, 2)
    assert "| <code>sums&#46;py</code> | 5 | 0 | 0 | 0 |" in ran.summary
    assert (
        f"| <code>session-one</code> | <code>{OPUS}</code> | 5 | <code>Sum up an order</code> |"
        in ran.summary
    )
    assert "1 record: 1 verified, 0 not." in ran.summary
    assert ran.list_annotations("notice") == [
        ("sums.py", f"ai by {OPUS}, conversation session-one, recorded: Sum up an order")
    ]
    assert [properties for _, properties, _ in ran.commands] == [
        {"file": "sums.py", "line": "1", "endLine": "5"}
    ]
    assert {path.name for path in (pull.repo / "site").iterdir()} == {
        "index.html",
        "session-one.html",
    }
    assert ran.outputs["pages"] == "site"


def test_every_input_and_output_is_connected(audit, pull):
    """Inputs reach the program, and its results reach the workflow."""
    pull.add_by_agent()
    ran = audit(pages="site", report="found.json")
    assert all(ran.outputs.values()), ran.outputs
    assert ran.outputs["report"] == "found.json"
    for action in ("action.yml", "seal/action.yml"):
        definition = load_action(action)
        steps = definition["runs"]["steps"]
        assert not [step for step in steps if "${{" in step["run"]]
        used = "".join(value for step in steps for value in step["env"].values())
        assert [name for name in definition["inputs"] if f"inputs.{name} " not in used] == []
        assert all(
            "default" in declared or declared.get("required")
            for declared in definition["inputs"].values()
        )


def test_verdict_is_known_if_all_lines_have_authors(audit, pull):
    pull.add_by_agent()
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (0, "known", {"ai": 5}), ran.log


def test_modified_record_fails_and_proves_no_lines(audit, pull):
    tamper(pull.add_by_agent())
    commit(pull.repo)
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (1, "unverified", {"unknown": 5})
    ((file, message),) = ran.list_annotations("error")
    assert (file, "the file changed after it was signed" in message) == (
        "records/session-one.acr.json",
        True,
    )
    assert "| ❌ | <code>records/session-one&#46;acr&#46;json</code> |" in ran.summary
    ran = audit(fail_on="never")
    assert (
        ran.code,
        ran.outputs["verdict"],
        ran.list_annotations("error"),
        len(ran.list_annotations("warning")),
    ) == (
        0,
        "unverified",
        [],
        1,
    )


def test_unsigned_record_fails(audit, pull):
    statement = pull.add_by_agent().with_name("session-one.acr.json.cose")
    # To git, a statement without a zero byte is text, and its lines would need an author.
    statement.write_text("no zero in it\n")
    commit(pull.repo)
    statement.unlink()
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (1, "unverified", {"unknown": 5})


def test_lines_without_author_fail_with_fail_on_unknown(audit, pull):
    pull.add_by_agent()
    pull.add_by_hand()
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.list_annotations("error")) == (
        1,
        [("hand.py", "the author of these lines is unknown")],
    )


def test_signed_code_counts_as_code(audit, pull):
    pull.add_by_agent()
    (pull.repo / "sessions").mkdir()
    (pull.repo / "sessions/one.jsonl").write_bytes(
        (pull.folder / "sessions/session-one.jsonl").read_bytes()
    )
    pull.add_by_hand()
    for name in ("hand.py", "sessions/one.jsonl"):
        signed = pull.vacr(
            "sign", pull.repo / name, "--key", "keys/signing.pem", "-o", pull.repo / f"{name}.cose"
        )
        assert signed.returncode == 0, signed.err
    commit(pull.repo)
    ran = audit(records=".")
    assert (ran.code, count_lines(ran)) == (0, {"ai": 5, "unknown": 1}), ran.log
    assert "hand.py" in ran.list_annotations("warning")[0][1]
    tamper(pull.repo / "records/session-one.acr.json")
    assert [file for file, _ in audit(records=".").list_annotations("error")] == [
        "records/session-one.acr.json"
    ]


def test_neighbours_of_a_signed_session_do_not_count(audit, pull):
    session = Agent(pull.repo).asked("Sum up").write("sums.py", SUM).save(pull.repo / "records")
    signed = pull.vacr("sign", session, "--key", "keys/signing.pem", "-o", f"{session}.cose")
    assert signed.returncode == 0, signed.err
    more = Agent(pull.repo).asked("More").write("more.py", SUM.replace("price", "other"))
    more.lines = [line | {"isSidechain": True, "agentId": "more"} for line in more.lines]
    beside = pull.repo / "records/session-one/subagents/agent-more.jsonl"
    beside.parent.mkdir(parents=True)
    more.save(pull.folder / "made").rename(beside)
    commit(pull.repo)
    ran = audit()
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    assert {file["path"]: file["ai"] for file in report["lines"]["files"]} == {
        "more.py": 0,
        "records/session-one/subagents/agent-more.jsonl": 0,
        "sums.py": 5,
    }


def test_files_that_are_not_text_have_no_author(audit, pull):
    pull.add_by_agent()
    assert audit(fail_on="unknown").code == 0
    (pull.repo / "run.js").write_bytes(b"/* \0 */ run();\n")
    (pull.repo / "link").symlink_to("/etc")
    commit(repository(pull.repo / "module"))
    commit(pull.repo)
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (1, "unknown", {"ai": 5}), (
        ran.log
    )
    message = "not a text file: its author is unknown"
    assert ran.list_annotations("error") == [
        (name, message) for name in ("link", "module", "run.js")
    ]
    assert "| <code>run&#46;js</code> |" in ran.summary
    assert [level for level, _, _ in audit().commands] == [
        "notice",
        "warning",
        "warning",
        "warning",
    ]


def test_sealed_source_of_a_record_is_not_audited(audit, pull):
    pull.add_by_agent(seal_source=True)
    archive = pull.repo / "records/session-one.acr.source.zip"
    assert audit(fail_on="unknown").code == 0
    archive.rename(archive.with_name("another.acr.source.zip"))
    commit(pull.repo)
    assert audit(fail_on="unknown").code == 1


@pytest.mark.parametrize("form", ["other bytes", "link", "program before it", "another member"])
def test_code_in_place_of_a_sealed_source_has_no_author(audit, pull, form):
    """The statement does not cover the sealed source: the digests in the record do."""
    pull.add_by_agent(seal_source=True)
    archive, code = pull.repo / "records/session-one.acr.source.zip", b"run('code')\n"
    if form == "link":
        archive.rename(pull.repo / "code.py")
        archive.symlink_to("../code.py")
    elif form == "another member":
        with zipfile.ZipFile(archive, "a") as opened:
            opened.writestr("__main__.py", code)
    else:
        archive.write_bytes(code + archive.read_bytes() * (form == "program before it"))
    commit(pull.repo)
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"]) == (1, "unknown"), ran.log


def test_code_in_the_unsigned_header_of_a_linked_statement_has_no_author(audit, pull):
    """A shell runs the lines that it understands, whatever comes before them."""
    record = pull.add_by_agent()
    statement = record.with_name(f"{record.name}.cose")
    message = parse_sign1(statement.read_bytes())
    unprotected = {**message.unprotected, "code": "\necho run\n"}
    (pull.repo / "run.sh").write_bytes(replace(message, unprotected=unprotected).encode())
    statement.unlink()
    statement.symlink_to("../run.sh")
    commit(pull.repo)
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"]) == (1, "unknown"), ran.log


def test_without_keys_lines_are_reported_but_unverified(audit, pull):
    pull.add_by_agent()
    ran = audit(trust="")
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (1, "unverified", {"ai": 5})
    assert "no trusted key given" in ran.summary


def test_keys_from_the_pull_request_are_ignored(audit, pull):
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.add_by_agent(key="others/signing.pem")
    for name in ("team.pem", "new.pem"):
        shutil.copy(pull.folder / "others/signing.pub.pem", pull.repo / "keys" / name)
    (pull.repo / "keys/link.pem").symlink_to("new.pem")
    commit(pull.repo)
    for name, remark in (
        ("team", "using the base's version"),
        ("new", "is ignored"),
        ("link", "is ignored"),
    ):
        ran = audit(trust=f"keys/{name}.pem")
        assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (
            1,
            "unverified",
            {"unknown": 9},
        ), ran.log
        assert remark in ran.list_annotations("warning")[0][1]
    # A key outside the repository comes from the maintainer's workflow.
    ran = audit(trust=str(pull.folder / "others/signing.pub.pem"))
    assert (ran.code, count_lines(ran)["ai"]) == (0, 5), ran.log


def test_keys_behind_links_and_submodules_are_ignored(audit, pull):
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    record = pull.add_by_agent(key="others/signing.pem")
    theirs = (pull.folder / "others/signing.pub.pem").read_bytes()
    (pull.folder / "outside").mkdir()
    (pull.folder / "outside/key.pem").write_bytes(theirs)
    (pull.repo / "link.pem").symlink_to("../outside/key.pem")
    (pull.repo / "folder").symlink_to("../outside")
    module = repository(pull.repo / "module")
    (module / "key.pem").write_bytes(theirs)
    commit(module)
    commit(pull.repo)
    for name in ("link.pem", "folder/key.pem", "module/key.pem"):
        ran = audit(trust=name)
        assert (ran.outputs["verdict"], count_lines(ran).get("ai")) == ("unverified", None), ran.log
        assert ran.list_annotations("warning")[0][1].startswith(f"{name} is ignored")
        assert [file for file, _ in ran.list_annotations("error")] == [f"records/{record.name}"]


@pytest.mark.parametrize("shown", ["keys/NEW-\u00e9.pem", "Keys/new-e\u0301.pem"])
def test_key_of_the_pull_request_under_a_name_in_another_case_is_ignored(audit, pull, shown):
    """Some file systems find the file of the pull request under this name; the test copies it."""
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.add_by_agent(key="others/signing.pem")
    theirs = pull.folder / "others/signing.pub.pem"
    shutil.copy(theirs, pull.repo / "keys/new-\u00e9.pem")
    commit(pull.repo)
    (pull.repo / shown).parent.mkdir(exist_ok=True)
    shutil.copy(theirs, pull.repo / shown)
    ran = audit(trust=shown)
    assert (ran.code, ran.outputs["verdict"]) == (1, "unverified"), ran.log
    assert ran.list_annotations("warning")[0][1].startswith(f"{shown} is ignored")


def test_keys_of_a_log_come_from_the_base(audit, pull):
    with Scrapi() as ours, Scrapi() as theirs:
        (pull.repo / "log").mkdir()
        (pull.repo / "log/receipt-keys.pem").write_bytes(Key(ours.log.signer.key).public_pem)
        pull.base = commit(pull.repo)
        statement = pull.add_by_agent().with_name("session-one.acr.json.cose")
        (pull.repo / "log/receipt-keys.pem").write_bytes(Key(theirs.log.signer.key).public_pem)
        commit(pull.repo)
        assert pull.vacr("register", statement, "--service", theirs.url).returncode == 0
        ran = audit(log_key="log")
        assert (ran.code, ran.outputs["verdict"]) == (1, "unverified"), ran.log
        assert ran.list_annotations("warning")[0][1].startswith(
            "log/receipt-keys.pem differs from the base commit"
        )
        assert pull.vacr("register", statement, "--service", ours.url).returncode == 0
        assert audit(log_key="log").code == 0


def test_ignored_log_key_fails_the_job(audit, pull):
    pull.add_by_agent()
    shutil.copy(pull.repo / "keys/team.pem", pull.repo / "log.pem")
    commit(pull.repo)
    ran = audit(log_key="log.pem")
    ((_, message),) = ran.list_annotations("error")
    assert (ran.code, "no key of the input `log-key` is in the base commit" in message) == (
        4,
        True,
    ), ran.log


def test_without_a_base_keys_cause_a_warning(audit, pull):
    pull.add_by_agent()
    ran = audit({"sha": git(pull.repo, "rev-parse", "HEAD")})
    assert (ran.code, [message for _, message in ran.list_annotations("warning")]) == (
        0,
        [
            (
                "keys/team.pem may come from the audited commits: vacr cannot check that without a "
                "base commit; set the input `base`"
            )
        ],
    )


def test_merge_queue_is_audited_since_its_base(audit, pull):
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.add_by_agent(key="others/signing.pem")
    shutil.copy(pull.folder / "others/signing.pub.pem", pull.repo / "keys/team.pem")
    commit(pull.repo)
    head = git(pull.repo, "rev-parse", "HEAD")
    ran = audit(
        {"event": {"merge_group": {"base_sha": pull.base, "head_sha": head}}, "sha": "not used"}
    )
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (
        1,
        "unverified",
        {"unknown": 6},
    ), ran.log


def test_keys_can_be_text(audit, pull):
    pull.add_by_agent()
    ran = audit(trust=(pull.repo / "keys/team.pem").read_text(), fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"]) == (0, "known"), ran.log


def test_log_key_requires_a_receipt(audit, pull):
    pull.add_by_agent()
    ran = audit(log_key=(pull.repo / "keys/team.pem").read_text())
    assert (ran.code, ran.outputs["verdict"]) == (1, "unverified")
    assert "receipt" in ran.list_annotations("error")[0][1]


@pytest.mark.parametrize(
    "asked",
    [
        {"issuer": "https://example.org"},
        {"require_timestamp": "true"},
        {"require_evidence": "affirming", "verifier_key": "keys/team.pem"},
    ],
)
def test_further_requirements_apply_to_statements(audit, pull, asked):
    pull.add_by_agent()
    assert (audit(**asked).outputs["verdict"]) == "unverified"


def test_records_can_be_outside_the_repository_and_in_several_places(audit, pull):
    pull.add_by_agent()
    git(pull.repo, "rm", "-q", "-r", "--cached", "records")
    (pull.repo / "records").rename(pull.folder / "artefact")
    commit(pull.repo)
    ran = audit(records=f"records\n  {pull.folder}/artefact\n", fail_on="unknown", pages="site")
    assert (ran.code, ran.outputs["verdict"]) == (0, "known"), ran.log
    assert ran.list_annotations("warning") == [
        ("", "no records at records: the path does not exist; correct the input `records`")
    ]
    assert (pull.repo / "site/session-one.html").exists()


def test_link_out_of_the_repository_is_rejected(audit, pull):
    pull.add_by_agent()
    (pull.repo / "records").rename(pull.folder / "elsewhere")
    (pull.repo / "records").symlink_to("../elsewhere")
    # An untracked link comes from the maintainer's workflow, so it is allowed.
    git(pull.repo, "rm", "-q", "-r", "--cached", "records")
    git(pull.repo, "commit", "-q", "-m", "Remove them")
    assert audit(fail_on="unknown").code == 0
    commit(pull.repo)
    for path in ("records", "records/session-one.acr.json"):
        ran = audit(records=path, pages="site")
        assert (ran.code, "leads out of the repository" in ran.list_annotations("error")[0][1]) == (
            2,
            True,
        ), ran.log
    assert not (pull.repo / "site").exists()


def test_without_records_all_lines_are_unknown(audit, pull):
    pull.add_by_hand()
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (0, "unknown", {"unknown": 1})
    assert "No records." in ran.summary
    assert audit(fail_on="unknown").code == 1


def test_push_is_audited_since_the_previous_push(audit, pull):
    pull.add_by_agent()
    pull.add_by_hand()
    head, before = (git(pull.repo, "rev-parse", name) for name in ("HEAD", "HEAD~1"))
    assert count_lines(audit({"event": {"before": before}, "sha": head})) == {"unknown": 1}
    assert count_lines(audit({"event": {"before": pull.base}, "sha": head})) == {
        "ai": 5,
        "unknown": 1,
    }
    assert count_lines(audit({"event": {"before": "0" * 40}, "sha": head})) == {"unknown": 1}
    assert count_lines(audit({"sha": head}, base=pull.base, head=before)) == {"ai": 5}


WRONG = [
    ({"records": ""}, 2, "the input `records` is empty"),
    ({"records": " \n "}, 2, "the input `records` is empty"),
    ({"fail_on": "sometimes"}, 2, "the input `fail-on` has an invalid value, sometimes"),
    ({"require_timestamp": "yes"}, 2, "Choose one of: false, true."),
    ({"require_evidence": "much"}, 2, "Choose one of: affirming, warning."),
    ({"require_evidence": "affirming"}, 2, "the input `require-evidence` needs `verifier-key`"),
    ({"trust": "missing.pem"}, 4, "missing.pem"),
    ({"base": "missing"}, 3, "no such commit: missing"),
    ({"report": "missing/found.json"}, 3, "No such file"),
]


@pytest.mark.parametrize(("asked", "code", "message"), WRONG)
def test_invalid_inputs_are_annotated(audit, pull, asked, code, message):
    pull.add_by_hand()
    ran = audit(**asked)
    ((_, text),) = ran.list_annotations("error")
    assert (ran.code, message in text) == (code, True), ran.log


def test_files_of_the_repository_are_not_overwritten(audit, pull):
    (pull.folder / "outside").mkdir()
    (pull.repo / "found.json").symlink_to("../outside/found.json")
    (pull.repo / "link").symlink_to("../outside")
    (pull.repo / "site").mkdir()
    pull.add_by_hand("<h1>verified</h1>\n", "site/forged.html")
    for asked in (
        {"report": "found.json"},
        {"report": "link/x"},
        {"pages": "link"},
        {"pages": "link/x"},
        {"pages": "./site"},
    ):
        ran = audit(**asked)
        assert (
            ran.code,
            "is a file of the repository, and must not be overwritten"
            in ran.list_annotations("error")[0][1],
        ) == (
            2,
            True,
        ), ran.log
    assert list((pull.folder / "outside").iterdir()) == []
    pull.add_by_agent()
    assert audit(report="new.json", pages="pages/site").code == 0


def test_shallow_clone_gets_a_hint(audit, pull, runner):
    pull.add_by_hand()
    pull.add_by_hand("more = 1\n")
    event = pull.event
    git(pull.folder, "clone", "-q", "--depth=1", f"file://{pull.repo}", "shallow")
    runner.workspace = pull.folder / "shallow"
    ran = audit(event)
    ((_, message),) = ran.list_annotations("error")
    assert (ran.code, "git fetch --unshallow" in message, "fetch-depth: 0" in message) == (
        3,
        True,
        True,
    )


def test_force_push_gets_a_hint(audit, pull):
    pull.add_by_hand()
    ran = audit({"event": {"before": "1" * 40}, "sha": git(pull.repo, "rev-parse", "HEAD")})
    ((_, message),) = ran.list_annotations("error")
    assert (ran.code, "After a force push, choose another commit" in message) == (3, True), message


def test_code_of_the_repository_is_not_run(audit, pull, runner):
    runner.environment["PYTHONPATH"] = "."
    for name in ("vacr", "click", "json", "venv", "yaml", "site", "sitecustomize"):
        pull.add_by_hand(f"open('{pull.folder}/trap', 'w')\n", f"{name}.py")
    git(pull.repo, "config", "core.fsmonitor", f"touch {pull.folder}/trap")
    ran = audit()
    assert (ran.code, (pull.folder / "trap").exists()) == (0, False), ran.log


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("module", ["audit", "seal"])
@pytest.mark.parametrize("options", [[], ["-u"]], ids=["buffered", "unbuffered"])
def test_unwritable_job_log_exits_3(runner, module, options):
    command = [sys.executable, *options, "-m", f"vacr.app.{module}_action"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=runner.temporary, env=runner.environment, stdout=full, stderr=full
        )
    assert done.returncode == 3


# --- trust stores ---


def trust_in_store(pull, key="keys/signing.pub.pem", name="Alice Example", file=".vacr/trust.toml"):
    """Add a party to a trust store of the repository."""
    done = pull.vacr("trust", "add", name, "--key", key, "--trust-store", pull.repo / file)
    assert done.returncode == 0, done.err


def test_project_store_of_the_base_names_the_signer(audit, pull):
    trust_in_store(pull)
    pull.base = commit(pull.repo)
    pull.add_by_agent()
    ran = audit(trust="", pages="site")
    assert (ran.code, ran.outputs["verdict"], count_lines(ran)) == (0, "known", {"ai": 5}), ran.log
    assert "<code>Alice Example &#40;key " in ran.summary
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    [verdict] = report["records"]
    assert (verdict["party"], verdict["trust-store"]) == ("Alice Example", ".vacr/trust.toml")
    assert "Alice Example" in (pull.repo / "site/session-one.html").read_text()


def test_pull_request_cannot_bring_its_own_trust(audit, pull):
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.add_by_agent(key="others/signing.pem")
    trust_in_store(pull, "others/signing.pub.pem")
    commit(pull.repo)
    ran = audit(trust="")
    assert (ran.code, ran.outputs["verdict"]) == (1, "unverified"), ran.log
    assert ran.list_annotations("warning")[0][1].startswith(
        ".vacr/trust.toml is ignored: it is not in the base commit"
    )
    ran = audit(trust="", trust_store=".vacr/trust.toml")
    ((_, message),) = ran.list_annotations("error")
    assert (ran.code, "the trust store is not in the base commit" in message) == (4, True)


def test_pull_request_cannot_change_the_trust_store(audit, pull):
    trust_in_store(pull)
    pull.base = commit(pull.repo)
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.add_by_agent(key="others/signing.pem")
    trust_in_store(pull, "others/signing.pub.pem", "Mallory")
    commit(pull.repo)
    for store in ("", ".vacr/trust.toml"):
        ran = audit(trust="", trust_store=store)
        assert (ran.code, ran.outputs["verdict"]) == (1, "unverified"), ran.log
        assert "using the base's version" in ran.list_annotations("warning")[0][1]


def test_link_of_the_pull_request_does_not_choose_the_trust_store(audit, pull):
    trust_in_store(pull, file="tests/other.toml")
    trust_in_store(pull, "keys/signing.pub.pem", file=".vacr/trust.toml")
    pull.base = commit(pull.repo)
    (pull.repo / "team.toml").symlink_to("tests/other.toml")
    pull.add_by_agent()
    ran = audit(trust="", trust_store="team.toml")
    assert ran.code == 4, ran.log


@pytest.mark.parametrize("name", [".vacr/trust.toml", "keys/team.pem"])
def test_link_of_the_pull_request_to_an_endless_device_is_not_followed(audit, pull, name):
    trust_in_store(pull)
    pull.base = commit(pull.repo, "Trust")
    pull.add_by_agent()
    (pull.repo / name).unlink()
    (pull.repo / name).symlink_to("/dev/zero")
    commit(pull.repo, "Link")
    ran = audit(trust="" if name.endswith(".toml") else name)
    assert ran.outputs["verdict"] == "unknown"
    assert ("", f"{name} differs from the base commit; using the base's version") in (
        ran.list_annotations("warning")
    )


def test_without_a_base_the_project_store_does_not_count(audit, pull):
    trust_in_store(pull)
    pull.add_by_agent()
    event = {"sha": git(pull.repo, "rev-parse", "HEAD")}
    ran = audit(event, trust="")
    assert (ran.code, ran.outputs["verdict"]) == (1, "unverified"), ran.log
    assert audit(event, trust="", trust_store=".vacr/trust.toml").code == 4


def test_store_outside_the_repository_is_the_maintainers(audit, pull):
    file = pull.folder / "team.toml"
    done = pull.vacr("trust", "add", "CI", "--key", "keys/signing.pub.pem", "--trust-store", file)
    assert done.returncode == 0
    pull.add_by_agent()
    assert audit(trust="", trust_store=str(file)).code == 0


def test_receipt_of_a_log_in_the_store_can_be_required(audit, pull):
    with Scrapi() as ours:
        (pull.folder / "log.pem").write_bytes(Key(ours.log.signer.key).public_pem)
        trust_in_store(pull)
        added = pull.vacr(
            *("trust", "add", "Our log", "--role", "log", "--key", "log.pem"),
            *("--trust-store", pull.repo / ".vacr/trust.toml"),
        )
        assert added.returncode == 0, added.err
        pull.base = commit(pull.repo)
        statement = pull.add_by_agent().with_name("session-one.acr.json.cose")
        assert audit(trust="").code == 0
        assert audit(trust="", require_receipt="true").code == 1
        assert pull.vacr("register", statement, "--service", ours.url).returncode == 0
        assert audit(trust="", require_receipt="true").code == 0


@pytest.mark.parametrize(
    "asked",
    [
        {"issuer": "https://example.org"},
        {"require_timestamp": "true"},
        {"require_evidence": "affirming", "verifier_key": "keys/team.pem"},
        {"require_receipt": "true"},
    ],
)
def test_pages_do_not_call_a_record_verified_that_the_audit_refuses(audit, pull, tmp_path, asked):
    pull.add_by_agent()
    ran = audit(pages=str(tmp_path / "pages"), **asked)
    assert ran.outputs["verdict"] == "unverified"
    (line,) = [line for line in ran.log.splitlines() if "session-one.html: " in line]
    assert "✗ not verified" in line


def test_link_in_the_folder_of_records_does_not_show_a_private_record(audit, pull, tmp_path):
    """The pages are uploaded: the pull request must not choose a file of the machine for them."""
    secret = Agent(pull.repo, "secret").asked("Where is the treasure?").save(tmp_path / "private")
    record = tmp_path / "private/secret.acr.json"
    assert pull.vacr("record", secret, "-o", record).returncode == 0
    pull.add_by_agent()
    for name, target in (("leak.jsonl", secret), ("leak.acr.json", record), ("leak", tmp_path)):
        link = pull.repo / "records" / name
        link.symlink_to(target)
        commit(pull.repo, "Link")
        ran = audit(pages=str(tmp_path / "pages"))
        assert "treasure" not in ran.log
        pages = tmp_path / "pages"
        assert {path.name for path in pages.rglob("*.html")} <= {"index.html", "session-one.html"}
        if name != "leak":
            assert ran.code == 2
            assert (
                "is a link that leads out of the repository" in ran.list_annotations("error")[0][1]
            )
        link.unlink()
        commit(pull.repo, "No link")
    inside = pull.repo / "records/again.acr.json"
    inside.symlink_to("session-one.acr.json")
    inside.with_name("again.acr.json.cose").symlink_to("session-one.acr.json.cose")
    commit(pull.repo, "Link inside")
    assert audit().outputs["verdict"] == "known"
