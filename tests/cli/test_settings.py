"""The settings files of the user and of a project, as defaults of options."""

import hashlib
import json
import shutil
import subprocess

import pytest

from tests.conftest import EXAMPLES

OWN = "home/.config/vacr/vacr.toml"
PROJECT = ".vacr/vacr.toml"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a settings file."""

    def write_settings(text, path=OWN):
        (tmp_path / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    return write_settings


@pytest.fixture
def session(tmp_path):
    return shutil.copy(EXAMPLES / "codex-cli.jsonl", tmp_path / "s.jsonl")


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_setting_is_the_default_of_an_option(vacr, write, session, tmp_path):
    write('[record]\noutput = "records/"\n')
    assert vacr("record", session).returncode == 0
    assert (tmp_path / "home/.config/vacr/records/s.acr.json").exists()


def test_option_wins_over_environment_over_project_over_user(vacr, write, session, repository):
    write('[record]\noutput = "~/user/"\n')
    assert vacr("record", session).returncode == 0
    assert (repository / "home/user/s.acr.json").exists()
    write('[record]\noutput = "project/"\n', PROJECT)
    assert vacr("trust", "approve", "--yes").returncode == 0
    assert vacr("record", session).returncode == 0
    assert (repository / "project/s.acr.json").exists()
    assert vacr("record", session, VACR_RECORD_OUTPUT="variable/").returncode == 0
    assert (repository / "variable/s.acr.json").exists()
    assert vacr("record", session, "-o", "option/", VACR_RECORD_OUTPUT="other/").returncode == 0
    assert (repository / "option/s.acr.json").exists()
    assert not (repository / "other").exists()


def test_paths_start_at_the_folder_of_the_file(vacr, write, session, repository):
    write('[record]\noutput = "records/"\n', PROJECT)
    assert vacr("trust", "approve", "--yes").returncode == 0
    (repository / "below").mkdir()
    assert vacr("record", session, cwd=repository / "below").returncode == 0
    assert (repository / "records/s.acr.json").exists()


@pytest.mark.parametrize(
    "text",
    [
        '[seal]\nkey = "evil.pem"\nservice = "http://127.0.0.1:9"\n',
        '[seal]\noutput = "stolen/"\n',
        "[seal]\nforce = true\n",
        "not toml",
    ],
    ids=["key and log", "output", "flag", "malformed"],
)
def test_settings_of_a_project_do_not_count_before_approval(vacr, write, session, repository, text):
    assert vacr("key", "generate", "-o", "keys").returncode == 0
    write(text, PROJECT)
    done = vacr("seal", session, "--key", "keys/signing.pem")
    assert done.returncode == 0, done.err
    assert "ignored: you have not approved this project's settings" in done.err
    assert "vacr trust approve" in done.err
    assert not (repository / "stolen").exists()


@pytest.fixture
def evil_record(vacr, session, tmp_path_factory):
    """Seal a record with a key outside of the project, and return the folder of the key."""
    keys = tmp_path_factory.mktemp("evil")
    assert vacr("key", "generate", "-o", keys).returncode == 0
    assert vacr("seal", session, "--key", keys / "signing.pem").returncode == 0
    return keys


@pytest.mark.usefixtures("repository")
def test_project_cannot_choose_trust_before_approval(vacr, write, evil_record):
    write(f'[verify]\ntrust = ["{evil_record}/signing.pub.pem"]\n', PROJECT)
    assert vacr("verify", "s.acr.json").returncode != 0
    assert vacr("trust", "approve", "--yes").returncode == 0
    assert vacr("verify", "s.acr.json").returncode == 0


@pytest.mark.parametrize(
    "setting",
    [
        '[verify]\ntrust = ["team.pub.pem"]',
        '[verify]\ntrust = ["{top}/team.pub.pem"]',
        '[verify]\ntrust = ["../{name}/team.pub.pem"]',
        '[verify]\ntrust = ["{outside}/team.pub.pem"]',
        '[verify]\ntrust-store = "team.toml"',
        '[verify]\ntrust-store = ".vacr/trust.toml"',
        '[verify]\nlog-key = "log"',
        '[verify]\ntimestamp-trust = "clock.pem"',
        '[verify]\nverifier-key = "verifier.pem"',
        '[verify]\nevidence-policy = "policy.toml"',
        '[view]\ntrust = "team.pub.pem"',
        '[register]\nca = "ca.pem"',
        '[seal]\nlog-key = "log"',
        '[log.serve]\ntrust = "team.pub.pem"',
    ],
)
def test_approved_settings_cannot_name_keys_that_a_later_pull_replaces(
    vacr, write, repository, setting, tmp_path_factory
):
    """The approval covers the settings, and not the content of the files that they name."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "team.pub.pem").symlink_to(repository / "team.pub.pem")
    setting = setting.format(top=repository, name=repository.name, outside=outside)
    write(setting, PROJECT)
    done = vacr("trust", "approve", "--yes")
    assert (done.returncode, "can change without your approval" in done.err) == (2, True)
    assert f"{repository}/.vacr/vacr.toml:2" in done.err
    assert "List its keys in .vacr/trust.toml" in done.err


def test_settings_that_name_keys_of_the_project_do_not_count_if_approved_earlier(
    vacr, write, repository, evil_record
):
    write("[list]\n", PROJECT)
    assert vacr("trust", "approve", "--yes").returncode == 0
    shutil.copy(evil_record / "signing.pub.pem", repository / "team.pub.pem")
    text = '[verify]\ntrust = ["team.pub.pem"]\n'
    write(text, PROJECT)
    approvals = repository / "home/.config/vacr/approved-stores.json"
    document = json.loads(approvals.read_text())
    [approval] = document["stores"].values()
    approval.update(content=text, sha256=hashlib.sha256(text.encode()).hexdigest())
    approvals.write_text(json.dumps(document))
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "can change without your approval" in done.err) == (2, True)


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("text", ["approve]\nyes = true", 'add]\nissuer = ["https://alice.org"]'])
def test_project_cannot_answer_the_question_about_itself(vacr, write, text):
    """Once approved, such settings would approve each later change, or widen whom you trust."""
    write(f"[trust.{text}\n", PROJECT)
    done = vacr("trust", "approve", "--yes")
    assert (done.returncode, "cannot set the options of vacr trust" in done.err) == (2, True)


@pytest.mark.usefixtures("repository")
def test_comment_cannot_imitate_a_setting_before_the_approval(vacr, write):
    write('[list]\n# \u2028project = "shown"\u202e\n', PROJECT)
    done = vacr("trust", "approve", "--yes")
    assert done.returncode == 0, done.err
    assert '  # \\u2028project = "shown"\\u202e' in done.out.splitlines()


def test_changed_settings_of_a_project_need_a_new_approval(vacr, write, session, repository):
    write('[record]\noutput = "one/"\n', PROJECT)
    done = vacr("trust", "approve", "--yes")
    assert 'output = "one/"' in done.out
    write('[record]\noutput = "two/"\n', PROJECT)
    done = vacr("record", session)
    assert "they changed since you approved them" in done.err
    assert not (repository / "two").exists()
    done = vacr("trust", "approve", "--yes")
    assert '-output = "one/"' in done.out
    assert vacr("record", session).returncode == 0
    assert (repository / "two/s.acr.json").exists()


def test_settings_that_lead_out_of_the_project_are_refused(vacr, write, session, repository):
    write('[record]\noutput = "x/"\n', "home/elsewhere.toml")
    (repository / ".vacr").mkdir()
    (repository / PROJECT).symlink_to("/etc/passwd")
    assert "ignored" in vacr("record", session).err
    assert vacr("trust", "approve", "--yes").returncode == 3


def test_settings_that_others_can_write_are_refused(vacr, write, session, tmp_path):
    write("[record]\noverwrite = true\n")
    (tmp_path / OWN).chmod(0o666)
    done = vacr("record", session)
    assert (done.returncode, "other users can write to" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[record]\n\noutput = [\n", "vacr.toml:", "not TOML"),
        ("[recrod]\nx = 1\n", "vacr.toml:1", "Did you mean [record]?"),
        ("output = 1\n", "vacr.toml:1", "not a verb"),
        ("[record]\n\nouput = 'x'\n", "vacr.toml:3", "Did you mean output?"),
        ("[record]\nmax-size = 'many'\n", "vacr.toml:2", "max-size"),
        ("[record]\noverwrite = 'yes'\n", "vacr.toml:2", "expected true or false"),
        ("[record]\nagent = ['a', 'b']\n", "vacr.toml:2", "expected one value"),
        ("[log]\nserve = 1\n[record]\nquiet = 1\n", "vacr.toml:4", "expected true or false"),
    ],
)
def test_wrong_setting_is_reported_with_file_and_line(vacr, write, session, text, place, message):
    write(text)
    done = vacr("record", session)
    assert done.returncode in {2, 3}
    assert place in done.err
    assert message in done.err


def test_value_that_is_no_path_stays_as_it_is(vacr, write, session):
    write('[validate]\nschema = "v3"\n[seal]\nkey = "pkcs11:token=none"\n')
    assert vacr("record", session).returncode == 0
    assert vacr("validate", "s.acr.json").returncode == 0
    assert "pkcs11" in vacr("seal", session).err


def test_help_and_completion_work_with_broken_settings(vacr, write):
    write("broken")
    assert vacr("--help").returncode == 0
    done = vacr(_VACR_COMPLETE="bash_complete", COMP_WORDS="vacr record --over", COMP_CWORD="2")
    assert "--overwrite" in done.out


def test_variables_and_settings_are_named_in_the_help(vacr):
    done = vacr("--help")
    assert "VACR_<VERB>_<OPTION>" in done.out
    assert "vacr.toml" in done.out


def test_verbs_that_moved_still_work_under_their_old_names(vacr, write):
    write('[evidence.attest]\noutput = "~/reference.cbor"\n')
    done = vacr("attest", "--reference")
    assert done.returncode == 0, done.err
    assert "reference.cbor" in done.out
    assert "attest" not in vacr("--help").out
    assert vacr("evidence", "attest", "--help").returncode == 0
