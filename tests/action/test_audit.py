"""The action that audits a pull request, run as GitHub runs it."""

import json
import shutil

import pytest

from tests.action.github import load
from tests.attribution.acting import commit, git

OPUS = "anthropic/claude-opus-4-6"
KINDS = ("ai", "human", "mixed", "unknown")


def counts(ran):
    return {kind: int(ran.outputs[f"{kind}-lines"]) for kind in KINDS if ran.outputs[f"{kind}-lines"] != "0"}


def tamper(record):
    record.write_bytes(record.read_bytes().replace(b"Sum up", b"Add up"))


def test_it_says_who_wrote_which_lines(audit, pull):
    pull.agent()
    pull.by_hand()
    ran = audit(pages="site")
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (0, "unknown", {"ai": 5, "unknown": 1}), ran.log
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    assert [file["path"] for file in report["lines"]["files"]] == ["hand.py", "sums.py"]
    assert (report["verdict"], report["records"][0]["verified"], len(report["lines"]["commits"])) == ("unknown", True, 2)
    assert "| <code>sums&#46;py</code> | 5 | 0 | 0 | 0 |" in ran.summary
    assert f"| <code>session-one</code> | <code>{OPUS}</code> | 5 | <code>Sum up an order</code> |" in ran.summary
    assert "1 record: 1 verified, 0 not." in ran.summary
    assert ran.told("notice") == [("sums.py", f"ai by {OPUS}, conversation session-one, recorded: Sum up an order")]
    assert [properties for _, properties, _ in ran.commands] == [{"file": "sums.py", "line": "1", "endLine": "5"}]
    assert {path.name for path in (pull.repo / "site").iterdir()} == {"index.html", "session-one.html"}
    assert ran.outputs["pages"] == "site"


def test_every_input_and_output_is_one(audit, pull):
    """What is asked for reaches the program, and what it gives reaches the workflow."""
    pull.agent()
    ran = audit(pages="site", report="found.json")
    assert all(ran.outputs.values()), ran.outputs
    assert ran.outputs["report"] == "found.json"
    for action in ("action.yml", "seal/action.yml"):
        found = load(action)
        steps = found["runs"]["steps"]
        assert not [step for step in steps if "${{" in step["run"]]
        used = "".join(value for step in steps for value in step["env"].values())
        assert [name for name in found["inputs"] if f"inputs.{name} " not in used] == []
        assert all("default" in one or one.get("required") for one in found["inputs"].values())


def test_all_is_known(audit, pull):
    pull.agent()
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (0, "known", {"ai": 5}), ran.log


def test_a_changed_record_fails_and_says_nothing_of_lines(audit, pull):
    tamper(pull.agent())
    commit(pull.repo)
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (1, "unverified", {"unknown": 5})
    ((file, message),) = ran.told("error")
    assert (file, "not those that were signed" in message) == ("records/session-one.acr.json", True)
    assert "| ❌ | <code>records/session-one&#46;acr&#46;json</code> |" in ran.summary
    ran = audit(fail_on="never")
    assert (ran.code, ran.outputs["verdict"], ran.told("error"), len(ran.told("warning"))) == (0, "unverified", [], 1)


def test_a_record_that_nobody_signed_fails(audit, pull):
    statement = pull.agent().with_name("session-one.acr.json.cose")
    # A statement without a zero byte is text to git, and would be a line that somebody wrote.
    statement.write_text("no zero in it\n")
    commit(pull.repo)
    statement.unlink()
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (1, "unverified", {"unknown": 5})


def test_lines_of_nobody_fail_where_that_is_asked_for(audit, pull):
    pull.agent()
    pull.by_hand()
    ran = audit(fail_on="unknown")
    assert (ran.code, ran.told("error")) == (1, [("hand.py", "nothing proves who wrote this")])


def test_code_that_is_signed_is_code(audit, pull):
    pull.agent()
    (pull.repo / "sessions").mkdir()
    (pull.repo / "sessions/one.jsonl").write_bytes((pull.folder / "sessions/session-one.jsonl").read_bytes())
    pull.by_hand()
    for name in ("hand.py", "sessions/one.jsonl"):
        signed = pull.vacr("sign", pull.repo / name, "--key", "keys/signing.pem", "-o", pull.repo / f"{name}.cose")
        assert signed.returncode == 0, signed.err
    commit(pull.repo)
    ran = audit(records=".")
    assert (ran.code, counts(ran)) == (0, {"ai": 5, "unknown": 1}), ran.log
    assert "hand.py" in ran.told("warning")[0][1]
    tamper(pull.repo / "records/session-one.acr.json")
    assert [file for file, _ in audit(records=".").told("error")] == ["records/session-one.acr.json"]


def test_without_keys_lines_are_told_and_nothing_is_verified(audit, pull):
    pull.agent()
    ran = audit(trust="")
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (1, "unverified", {"ai": 5})
    assert "no key was given to verify with" in ran.summary


def test_a_pull_request_cannot_bring_the_keys_that_it_is_verified_with(audit, pull):
    assert pull.vacr("key", "generate", "-o", "others").returncode == 0
    pull.agent(key="others/signing.pem")
    for name in ("team.pem", "new.pem"):
        shutil.copy(pull.folder / "others/signing.pub.pem", pull.repo / "keys" / name)
    (pull.repo / "keys/link.pem").symlink_to("new.pem")
    commit(pull.repo)
    for name, remark in (("team", "as the base has it"), ("new", "is left out"), ("link", "is left out")):
        ran = audit(trust=f"keys/{name}.pem")
        assert (ran.code, ran.outputs["verdict"], counts(ran)) == (1, "unverified", {"unknown": 9}), ran.log
        assert remark in ran.told("warning")[0][1]
    # What the workflow itself puts there is the maintainer's.
    ran = audit(trust=str(pull.folder / "others/signing.pub.pem"))
    assert (ran.code, counts(ran)["ai"]) == (0, 5), ran.log


def test_keys_may_be_given_as_text(audit, pull):
    pull.agent()
    ran = audit(trust=(pull.repo / "keys/team.pem").read_text(), fail_on="unknown")
    assert (ran.code, ran.outputs["verdict"]) == (0, "known"), ran.log


def test_a_receipt_is_needed_where_the_key_of_a_log_is_given(audit, pull):
    pull.agent()
    ran = audit(log_key=(pull.repo / "keys/team.pem").read_text())
    assert (ran.code, ran.outputs["verdict"]) == (1, "unverified")
    assert "receipt" in ran.told("error")[0][1]


@pytest.mark.parametrize(
    "asked",
    [
        {"issuer": "https://example.org"},
        {"require_timestamp": "true"},
        {"require_evidence": "affirming", "verifier_key": "keys/team.pem"},
    ],
)
def test_more_may_be_asked_of_statements(audit, pull, asked):
    pull.agent()
    assert (audit(**asked).outputs["verdict"]) == "unverified"


def test_records_may_lie_elsewhere_and_in_several_places(audit, pull):
    pull.agent()
    git(pull.repo, "rm", "-q", "-r", "--cached", "records")
    (pull.repo / "records").rename(pull.folder / "artefact")
    commit(pull.repo)
    ran = audit(records=f"records\n  {pull.folder}/artefact\n", fail_on="unknown", pages="site")
    assert (ran.code, ran.outputs["verdict"]) == (0, "known"), ran.log
    assert ran.told("warning") == [("", "there is nothing at records, so there are no records of it")]
    assert (pull.repo / "site/session-one.html").exists()


def test_without_records_all_lines_are_unknown(audit, pull):
    pull.by_hand()
    ran = audit()
    assert (ran.code, ran.outputs["verdict"], counts(ran)) == (0, "unknown", {"unknown": 1})
    assert "There are no records." in ran.summary
    assert audit(fail_on="unknown").code == 1


def test_what_is_pushed_is_audited_since_the_push_before(audit, pull):
    pull.agent()
    pull.by_hand()
    head, before = (git(pull.repo, "rev-parse", name) for name in ("HEAD", "HEAD~1"))
    assert counts(audit({"event": {"before": before}, "sha": head})) == {"unknown": 1}
    assert counts(audit({"event": {"before": pull.base}, "sha": head})) == {"ai": 5, "unknown": 1}
    assert counts(audit({"event": {"before": "0" * 40}, "sha": head})) == {"unknown": 1}
    assert counts(audit({"sha": head}, base=pull.base, head=before)) == {"ai": 5}


WRONG = [
    ({"records": ""}, 2, "the input records is empty"),
    ({"records": " \n "}, 2, "the input records is empty"),
    ({"fail_on": "sometimes"}, 2, "the input fail-on is sometimes"),
    ({"require_timestamp": "yes"}, 2, "It is one of: false, true."),
    ({"require_evidence": "much"}, 2, "It is one of: affirming, warning."),
    ({"require_evidence": "affirming"}, 2, "go together"),
    ({"trust": "missing.pem"}, 4, "missing.pem"),
    ({"base": "nothing"}, 3, "there is no commit nothing"),
    ({"report": "missing/found.json"}, 3, "No such file"),
]


@pytest.mark.parametrize(("asked", "code", "message"), WRONG)
def test_wrong_inputs_are_annotations(audit, pull, asked, code, message):
    pull.by_hand()
    ran = audit(**asked)
    ((_, told),) = ran.told("error")
    assert (ran.code, message in told) == (code, True), ran.log


def test_a_shallow_clone_is_told_what_it_lacks(audit, pull, runner):
    pull.by_hand()
    pull.by_hand("more = 1\n")
    event = pull.event
    git(pull.folder, "clone", "-q", "--depth=1", f"file://{pull.repo}", "shallow")
    runner.workspace = pull.folder / "shallow"
    ran = audit(event)
    assert (ran.code, "git fetch --unshallow" in ran.told("error")[0][1]) == (3, True)


def test_nothing_of_the_repository_is_run(audit, pull):
    for name in ("vacr", "click", "json", "venv", "yaml", "site"):
        pull.by_hand(f"open('{pull.folder}/trap', 'w')\n", f"{name}.py")
    git(pull.repo, "config", "core.fsmonitor", f"touch {pull.folder}/trap")
    ran = audit()
    assert (ran.code, (pull.folder / "trap").exists()) == (0, False), ran.log
