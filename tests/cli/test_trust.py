"""`vacr trust`, and the stores that `vacr verify` uses: the user's, a project's, and named ones."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib

import pytest
from cryptography.hazmat.primitives import hashes

from tests.conftest import EXAMPLES
from tests.vectors.certificates import Authority
from vacr.signing.keys import generate_key, parse_public_keys
from vacr.transparency.checkpoint import NOTE_KEY_COSIGNATURE, build_verifier_key
from vacr.verification.trust_store import TrustedParty
from vacr.workflows.trust_places import (
    STORE_CHANGED,
    add_trusted_party,
    read_project_file,
    renew_approval,
)

WITNESS = str(
    build_verifier_key("w.example.org", generate_key("eddsa").public_key(), NOTE_KEY_COSIGNATURE)
)
OWN = "home/.config/vacr/trust.toml"
ALICE, BOB = "https://example.org/alice", "https://example.org/bob"


@pytest.fixture
def people(prepare):
    """Return a folder with the keys of Alice and Bob, and a record that Alice signed as Alice."""
    return prepare(make_people)


def make_people(vacr, folder):
    for name in ("alice", "bob", "mallory"):
        assert vacr("key", "generate", "-o", name).returncode == 0
    shutil.copy(EXAMPLES / "claude-code.jsonl", folder / "s.jsonl")
    assert vacr("record", "s.jsonl").returncode == 0
    sign(vacr, "alice", ALICE)


def sign(vacr, who, issuer=None):
    claimed = ("--issuer", issuer) if issuer else ()
    done = vacr("sign", "s.acr.json", "--key", f"{who}/signing.pem", *claimed, "--overwrite")
    assert done.returncode == 0, done.err


def add(vacr, name, who, *more, **variables):
    done = vacr("trust", "add", name, "--key", f"{who}/signing.pub.pem", *more, **variables)
    assert done.returncode == 0, done.err
    return done


def find_verdict(vacr, *arguments, **options):
    done = vacr("verify", "s.acr.json", *arguments, "--format", "json", **options)
    [verdict] = json.loads(done.out)["results"]
    return verdict


@pytest.fixture
def project(people, vacr):
    """Make the folder a repository with a trust store that Mallory wrote."""
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    add(vacr, "Alice Example", "mallory", "--trust-store", ".vacr/trust.toml")
    sign(vacr, "mallory")
    return people


def test_verdict_names_the_person(vacr, people):
    add(vacr, "Alice Example", "alice", "--issuer", ALICE)
    done = vacr("verify", "s.acr.json", "--issuer", ALICE)
    assert done.returncode == 0, done.err
    assert "✓ trust: signed by Alice Example (key " in done.out
    assert "s.acr.json: verified: Alice Example (key " in done.out
    assert "trust store: ~/.config/vacr/trust.toml\n" in done.out
    verdict = find_verdict(vacr)
    assert (verdict["party"], verdict["trust-store"]) == ("Alice Example", str(people / OWN))
    assert verdict["signer"].startswith("key ")
    assert verdict["issuer-bound"] is True


@pytest.mark.usefixtures("people")
def test_bare_key_is_a_key_you_gave(vacr):
    done = vacr("verify", "s.acr.json", "--trust", "alice/signing.pub.pem")
    assert "✓ trust: signed by a key you gave (key " in done.out
    assert f"? claims: the statement claims the issuer {ALICE}; nothing binds it" in done.out
    verdict = find_verdict(vacr, "--trust", "alice/signing.pub.pem")
    assert (verdict["party"], verdict["trust-store"], verdict["issuer-bound"]) == (
        None,
        None,
        False,
    )


@pytest.mark.usefixtures("people")
def test_one_trusted_key_cannot_sign_as_another(vacr):
    sign(vacr, "alice", BOB)
    both = ("--trust", "alice/signing.pub.pem", "--trust", "bob/signing.pub.pem")
    assert find_verdict(vacr, *both, "--issuer", BOB)["reason"] == "issuer-unbound"
    add(vacr, "Alice", "alice", "--issuer", ALICE)
    add(vacr, "Bob", "bob", "--issuer", BOB)
    assert find_verdict(vacr, "--issuer", BOB)["reason"] == "issuer-unbound"


def test_many_statements_name_their_signers(vacr, people):
    add(vacr, "Alice Example", "alice")
    shutil.copy(people / "s.acr.json", people / "t.acr.json")
    shutil.copy(people / "s.acr.json.cose", people / "t.acr.json.cose")
    done = vacr("verify", "s.acr.json", "t.acr.json")
    assert done.returncode == 0, done.err
    assert done.out.count("Alice Example (key ") == 2


def test_store_named_as_a_key_is_refused(vacr, people):
    """Its keys alone would count without their roles and dates."""
    add(vacr, "Alice", "alice", "--role", "log")
    done = vacr("verify", "s.acr.json", "--trust", people / OWN)
    assert done.returncode == 2
    assert "is a trust store, not a key" in done.err
    assert "--trust-store" in done.err


@pytest.mark.parametrize(
    "layout", ["[[ trusted ]]", "[['trusted']]", "[[ trusted]] # Alice", '[["\\u0074rusted"]]']
)
def test_store_in_another_layout_is_not_taken_for_keys(vacr, people, layout):
    """The key of a log would count as a signer's, and an expired one again."""
    add(vacr, "Alice", "alice", "--role", "log", "--trust-store", "team.toml")
    team = people / "team.toml"
    team.write_text(team.read_text().replace("[[trusted]]", layout))
    assert vacr("trust", "list", "--trust-store", "team.toml").returncode == 0
    for arguments, code in (
        (("verify", "s.acr.json", "--trust", "team.toml"), 2),
        (("verify", "s.acr.json", "--trust", "alice/signing.pub.pem", "--log-key", "team.toml"), 3),
        (("trust", "add", "Bob", "--key", "team.toml"), 3),
        (("trust", "add", "Bob", "--authority", "team.toml", "--email", "b@example.org"), 3),
    ):
        done = vacr(*arguments)
        assert done.returncode == code, done.err
        assert "is a trust store, not a key" in done.err


def test_claimed_time_is_not_shown_as_a_proven_one(vacr, people):
    add(vacr, "Alice Example", "alice")
    shutil.copy(people / "s.acr.json", people / "t.acr.json")
    shutil.copy(people / "s.acr.json.cose", people / "t.acr.json.cose")
    done = vacr("verify", "s.acr.json", "t.acr.json")
    rows = [line for line in done.out.splitlines() if line.startswith("✓")]
    assert len(rows) == 2
    assert all("  claimed 20" in row for row in rows)


def test_key_of_another_party_is_named_with_the_party_to_remove(vacr, people):
    add(vacr, "Alice", "alice")
    done = vacr("trust", "add", "Alice Example", "--key", people / "alice/signing.pub.pem")
    assert done.returncode == 2
    assert "vacr trust remove 'Alice'" in done.err


@pytest.mark.usefixtures("people")
def test_without_a_store_the_next_step_is_shown(vacr):
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "(no-trust)" in done.err) == (1, True)
    assert "vacr trust add NAME --key KEY" in done.err
    assert "No trust store." in vacr("trust", "list").out


@pytest.mark.usefixtures("people")
def test_bare_keys_and_named_stores_replace_the_default_stores(vacr):
    add(vacr, "Alice", "alice")
    assert find_verdict(vacr)["verified"]
    assert not find_verdict(vacr, "--trust", "bob/signing.pub.pem")["verified"]
    add(vacr, "Bob", "bob", "--trust-store", "team.toml")
    assert not find_verdict(vacr, "--trust-store", "team.toml")["verified"]
    both = ("--trust-store", "team.toml", "--trust", "alice/signing.pub.pem")
    assert find_verdict(vacr, *both)["party"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_own_store_is_private(vacr, people):
    add(vacr, "Alice", "alice")
    assert stat.S_IMODE((people / OWN).stat().st_mode) == 0o600
    assert stat.S_IMODE((people / OWN).parent.stat().st_mode) == 0o700
    (people / OWN).chmod(0o622)
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "other users can write to" in done.err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_own_store_in_a_folder_that_others_can_write_is_refused(vacr, people):
    shared = people / "shared"
    shared.mkdir()
    add(vacr, "Mallory", "mallory", "--trust-store", "shared/trust.toml")
    shared.chmod(0o777)
    (people / OWN).parent.mkdir(parents=True, mode=0o700)
    (people / OWN).symlink_to(shared / "trust.toml")
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, f"other users can write to {shared}" in done.err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="owners of POSIX")
@pytest.mark.parametrize("place", ["file", "folder"])
def test_own_store_of_another_user_is_refused(vacr, people, place):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    add(vacr, "Alice", "alice")
    os.chown(people / OWN if place == "file" else (people / OWN).parent, 12345, 12345)
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "belongs to another user" in done.err) == (2, True)


def test_settings_folder_can_be_named(vacr, people):
    add(vacr, "Alice", "alice", VACR_CONFIG=str(people / "settings"))
    assert (people / "settings" / "trust.toml").exists()
    assert find_verdict(vacr, VACR_CONFIG=str(people / "settings"))["party"] == "Alice"
    add(vacr, "Alice", "alice", XDG_CONFIG_HOME=str(people / "xdg"))
    assert (people / "xdg" / "vacr" / "trust.toml").exists()
    done = vacr("trust", "add", "A", "--key", "alice/signing.pub.pem", VACR_CONFIG="relative")
    assert (done.returncode, "must be an absolute path" in done.err) == (2, True)


# --- a project's store ---


def test_store_of_a_hostile_clone_is_not_trusted(vacr, project):
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "(no-trust)" in done.err) == (1, True)
    assert "ignored: you have not approved this project's trust store" in done.err
    assert "vacr trust approve" in done.err
    (project / "sub").mkdir()
    done = vacr("verify", "../s.acr.json", cwd=project / "sub")
    assert (done.returncode, "ignored" in done.err) == (1, True)


@pytest.mark.usefixtures("project")
def test_approved_store_counts(vacr):
    done = vacr("trust", "approve", "--yes")
    assert done.returncode == 0, done.err
    assert "Alice Example: signer; key " in done.out
    verdict = find_verdict(vacr)
    assert (verdict["party"], verdict["trust-store"].endswith(".vacr/trust.toml")) == (
        "Alice Example",
        True,
    )
    assert "already approved" in vacr("trust", "approve").out


@pytest.mark.usefixtures("project")
def test_approval_needs_a_person_or_a_flag(vacr):
    done = vacr("trust", "approve")
    assert (done.returncode, "approving needs a terminal" in done.err) == (2, True)
    assert "To approve it, run the command again with --yes." in done.err
    assert not find_verdict(vacr)["verified"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("option", [("-q",), ("--format", "json")])
def test_approval_is_not_asked_for_parties_that_are_not_shown(vacr, option):
    done = vacr("trust", "approve", *option)
    assert (done.returncode, "hide its content" in done.err) == (2, True)
    assert not find_verdict(vacr)["verified"]


def test_changed_project_store_needs_a_new_approval(vacr, project):
    store = project / ".vacr" / "trust.toml"
    assert vacr("trust", "approve", "--yes").returncode == 0
    add(vacr, "Bob", "bob", "--trust-store", ".vacr/trust.toml")
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "it changed since you approved it" in done.err) == (1, True)
    assert "added: Bob (signer)" in done.err
    assert "changed" in vacr("trust", "list").out
    done = vacr("trust", "approve", "--yes")
    assert '+name = "Bob"' in done.out
    assert find_verdict(vacr)["verified"]
    note = ("--role", "witness", "--note-key", WITNESS)
    vacr("trust", "add", "Witness", *note, "--trust-store", ".vacr/trust.toml")
    assert vacr("trust", "approve", "--yes").returncode == 0
    text = store.read_text().replace("version = 1", "version = 1\nwitnesses-required = 1")
    store.write_text(text)
    assert "witnesses required: 0 → 1" in vacr("verify", "s.acr.json").err
    store.write_text("version = 7")
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "unknown version 7" in done.err) == (1, True)


def test_approval_is_for_one_place(vacr, project):
    assert vacr("trust", "approve", "--yes").returncode == 0
    other = project.parent / "other-clone"
    shutil.copytree(project, other)
    done = vacr("verify", "s.acr.json", cwd=other)
    assert (done.returncode, "you have not approved" in done.err) == (1, True)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_symlinked_store_out_of_the_project_is_refused(vacr, project, tmp_path_factory, what):
    outside = tmp_path_factory.mktemp("outside")
    folder = project / ".vacr"
    shutil.copy(folder / "trust.toml", outside / "trust.toml")
    shutil.rmtree(folder)
    if what == "folder":
        folder.symlink_to(outside)
    else:
        folder.mkdir()
        (folder / "trust.toml").symlink_to(outside / "trust.toml")
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "a symbolic link out of the project" in done.err) == (1, True)
    done = vacr("trust", "approve", "--yes")
    assert (done.returncode, "a symbolic link out of the project" in done.err) == (3, True)
    done = vacr("trust", "list")
    assert (done.returncode, ": refused; it does not count" in done.out) == (0, True)
    before = (outside / "trust.toml").read_bytes()
    done = vacr("trust", "add", "Bob", "--key", "bob/signing.pub.pem", "--project")
    assert (done.returncode, (outside / "trust.toml").read_bytes() == before) == (3, True)


def test_damaged_list_of_approvals_fails_closed(vacr, project):
    assert vacr("trust", "approve", "--yes").returncode == 0
    path = project / "home/.config/vacr/approved-stores.json"
    document = json.loads(path.read_bytes())
    [approval] = document["stores"].values()
    approval["content"] += "#"
    path.write_text(json.dumps(document))
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "the list of approved trust stores is damaged" in done.err) == (
        3,
        True,
    )
    path.write_text("[")
    assert vacr("verify", "s.acr.json").returncode == 3


@pytest.mark.usefixtures("project")
def test_adding_to_an_unapproved_store_does_not_approve_it(vacr):
    done = add(vacr, "Bob", "bob", "--project")
    assert "not approved yet" in done.err
    assert not find_verdict(vacr)["verified"]


def test_own_change_of_an_approved_store_is_approved(vacr, people):
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    add(vacr, "Alice", "alice", "--project")
    assert find_verdict(vacr)["party"] == "Alice"
    add(vacr, "Bob", "bob", "--project")
    assert find_verdict(vacr)["party"] == "Alice"
    assert vacr("trust", "remove", "Alice", "--project").returncode == 0
    assert find_verdict(vacr)["reason"] == "signature"


@pytest.mark.parametrize("moment", ["before the change", "after the change"])
def test_party_that_slips_in_while_you_change_a_store_is_not_approved(
    vacr, people, monkeypatch, moment
):
    monkeypatch.setenv("VACR_CONFIG", str(people / "settings"))
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    add(vacr, "Alice", "alice", "--project", VACR_CONFIG=str(people / "settings"))
    add(vacr, "Mallory", "mallory", "--trust-store", "evil.toml")
    path = people / ".vacr/trust.toml"
    evil = (people / "evil.toml").read_text().removeprefix("version = 1\n")
    [key] = parse_public_keys((people / "bob/signing.pub.pem").read_bytes())
    before = read_project_file(path)
    if moment == "before the change":
        path.write_text(path.read_text() + evil)
    change = add_trusted_party(path, TrustedParty("Bob", ("signer",), (key,)), is_shared=True)
    if moment == "after the change":
        path.write_text(path.read_text() + evil)
    assert renew_approval(path, before, change) is (moment == "after the change")
    assert read_project_file(path).state == STORE_CHANGED


@pytest.mark.parametrize("target", ["home/.config/vacr", "elsewhere"])
def test_linked_folder_of_a_clone_cannot_redirect_a_new_store(vacr, people, target):
    # A link to the settings would turn trust for one project into trust for everything.
    (people / target).mkdir(parents=True, mode=0o700)
    (people / "clone").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=people / "clone", check=True)
    (people / "clone/.vacr").symlink_to(people / target)
    key = people / "mallory/signing.pub.pem"
    done = vacr("trust", "add", "Mallory", "--key", key, "--project", cwd=people / "clone")
    assert (done.returncode, "a symbolic link out of the project" in done.err) == (3, True)
    assert list((people / target).iterdir()) == []


@pytest.mark.usefixtures("project")
def test_project_store_cannot_rename_your_people(vacr):
    add(vacr, "Alice Example", "alice")
    done = vacr("trust", "approve", "--yes")
    assert (done.returncode, "different entry with the name 'Alice Example'" in done.err) == (
        3,
        True,
    )


def test_reviewer_can_tell_authorities_with_one_subject_apart(vacr, people):
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    shown = set()
    for number in range(2):
        authority = Authority("root (SHA-256 0123456789abcdef)")
        (people / f"{number}.pem").write_bytes(authority.pem)
        path = people / ".vacr/trust.toml"
        path.unlink(missing_ok=True)
        done = vacr(
            *("trust", "add", "Bob", "--authority", f"{number}.pem", "--email", "b@example.org"),
            *("--trust-store", path),
        )
        assert done.returncode == 0, done.err
        done = vacr("trust", "approve", "--yes")
        digest = authority.certificate.fingerprint(hashes.SHA256()).hex()
        assert f"certified by SHA-256 {digest[:16]} (CN=root (SHA-256 0123" in done.out
        shown.add(done.out)
        [store] = json.loads(vacr("trust", "list", "--format", "json").out)["stores"]
        assert store["trusted"][0]["certificates"][0]["authority-sha256"] == digest
    assert len(shown) == 2


def test_certificate_is_not_trusted_as_a_bare_key(vacr, people):
    """Its names, its end and its authority would not count."""
    (people / "root.pem").write_bytes(Authority("root").pem)
    done = vacr("trust", "add", "Bob", "--key", "root.pem")
    assert (done.returncode, "this is a certificate" in done.err) == (3, True)
    assert "--authority FILE --email ADDRESS" in done.err


def test_reviewer_sees_the_whole_note_key(vacr, people):
    # Its id has 32 bits: an attacker can find another key with the same id.
    add = ("trust", "add", "W", "--role", "witness", "--note-key", WITNESS)
    assert vacr(*add, "--trust-store", people / "w.toml").returncode == 0
    assert f"note-key {WITNESS}" in vacr("trust", "list", "--trust-store", "w.toml").out


def test_only_a_projects_store_can_be_approved(vacr, people):
    add(vacr, "Alice", "alice", "--trust-store", "team.toml")
    done = vacr("trust", "approve", "team.toml", "--yes")
    assert (done.returncode, "not the trust store or the settings of a project" in done.err) == (
        2,
        True,
    )
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    done = vacr("trust", "approve")
    assert (done.returncode, "this project has no trust store" in done.err) == (2, True)


# --- changing stores ---


def test_comments_survive_adding_and_removing(vacr, people):
    path = people / "team.toml"
    add(vacr, "Alice", "alice", "--trust-store", "team.toml")
    text = "# our team\n" + path.read_text().replace("[[trusted]]", "# lead\n[[trusted]]")
    path.write_text(text)
    add(vacr, "Bob", "bob", "--trust-store", "team.toml")
    assert path.read_text().startswith(text)
    assert vacr("trust", "remove", "Alice", "--trust-store", "team.toml").returncode == 0
    assert path.read_text().startswith("# our team\nversion = 1\n")
    assert "lead" not in path.read_text()
    assert [party["name"] for party in tomllib.loads(path.read_text())["trusted"]] == ["Bob"]
    assert vacr("trust", "remove", "Bob", "--trust-store", "team.toml").returncode == 0
    assert path.read_text() == "# our team\nversion = 1\n"


def test_linked_store_of_the_user_stays_a_link(vacr, people):
    add(vacr, "Alice", "alice")
    (people / OWN).rename(people / "dotfiles.toml")
    (people / OWN).symlink_to(people / "dotfiles.toml")
    add(vacr, "Bob", "bob")
    assert (people / OWN).is_symlink()
    assert "Bob" in (people / "dotfiles.toml").read_text()


def test_store_in_another_layout_can_be_changed(vacr, people):
    path = people / "team.toml"
    pem = (people / "alice/signing.pub.pem").read_text()
    path.write_text(
        f"version = 1\ntrusted = [{{name = 'Alice', roles = ['signer'], keys = ['''{pem}''']}}]\n"
    )
    add(vacr, "Bob", "bob", "--trust-store", "team.toml")
    names = [party["name"] for party in tomllib.loads(path.read_text())["trusted"]]
    assert names == ["Alice", "Bob"]


@pytest.mark.usefixtures("people")
def test_parties_are_listed_and_exported(vacr):
    period = ("--valid-from", "2026-01-01T00:00:00Z", "--valid-until", "2027-01-01T01:00:00+01:00")
    add(vacr, "Alice", "alice", "--issuer", ALICE, *period)
    add(vacr, "Log", "bob", "--role", "log")
    [store] = json.loads(vacr("trust", "list", "--format", "json").out)["stores"]
    alice, log = store["trusted"]
    assert (store["state"], alice["issuers"], log["roles"]) == ("own", [ALICE], ["log"])
    assert alice["valid-until"] == "2027-01-01T00:00:00Z"
    out = vacr("trust", "list").out
    assert "; until 2027-01-01T00:00:00Z" in out
    exported = tomllib.loads(vacr("trust", "export").out)
    assert [party["name"] for party in exported["trusted"]] == ["Alice", "Log"]
    assert vacr("trust", "export", "Log", "-o", "log.toml").returncode == 0
    listed = json.loads(vacr("trust", "list", "--trust-store", "log.toml", "--format", "json").out)
    assert [party["name"] for party in listed["stores"][0]["trusted"]] == ["Log"]
    assert vacr("trust", "export", "Nobody").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("A",), 2, "A: no key or certificate given\n  Add --key FILE"),
        (("A", "--key", "alice/signing.pem"), 3, "this is a private key"),
        (("A", "--key", "missing.pem"), 4, "there is no such file"),
        (("A", "--email", "a@example.org"), 2, "--email needs --authority"),
        (("A", "--authority", "alice/signing.pub.pem"), 3, "contains no PEM certificates"),
        (("A", "--key", "alice/signing.pub.pem", "--valid-until", "2027"), 2, "is not a time"),
        (
            ("A", "--key", "alice/signing.pub.pem", "--valid-until", "2027-01-01T00:00:00"),
            2,
            "is not a time with a time zone",
        ),
        (("A\u202eB", "--key", "alice/signing.pub.pem"), 2, "text-direction characters"),
        (("A", "--key", "alice/signing.pub.pem", "--note-key", "x"), 2, "not the key of a log"),
        (("A", "--key", "alice/signing.pub.pem", "--project"), 2, "not in a git repository"),
        (("B", "--key", "bob/signing.pub.pem"), 2, "is already listed under 'Bob'"),
        (("bob", "--key", "alice/signing.pub.pem"), 2, "the name 'bob' is already listed"),
    ],
)
@pytest.mark.usefixtures("people")
def test_invalid_entries_are_refused(vacr, arguments, code, problem):
    add(vacr, "Bob", "bob")
    done = vacr("trust", "add", *arguments)
    assert (done.returncode, problem in done.err) == (code, True), done.err
    assert [line for line in vacr("trust", "list").out.splitlines() if line[0] == " "] == [
        line for line in vacr("trust", "list").out.splitlines() if line.startswith("  Bob: signer")
    ]


def test_export_does_not_drop_the_required_witnesses(vacr, people):
    witness = ("trust", "add", "W", "--role", "witness", "--note-key", WITNESS)
    assert vacr(*witness).returncode == 0
    add(vacr, "Alice", "alice")
    text = (people / OWN).read_text()
    (people / OWN).write_text(text.replace("version = 1", "version = 1\nwitnesses-required = 1"))
    assert tomllib.loads(vacr("trust", "export", "W", "Alice").out)["witnesses-required"] == 1
    assert "witnesses-required" not in vacr("trust", "export", "Alice").out


def test_export_does_not_write_a_store_that_cannot_be_read(vacr, people):
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    add(vacr, "Alice", "alice", "--valid-until", "2020-01-01T00:00:00Z")
    add(vacr, "Alicia", "alice", "--project")
    done = vacr("trust", "export", "-o", "team.toml")
    assert (done.returncode, "is already listed under 'Alice'" in done.err) == (3, True)
    assert not (people / "team.toml").exists()


@pytest.mark.usefixtures("people")
def test_unknown_party_cannot_be_removed(vacr):
    assert vacr("trust", "remove", "Eve").returncode == 2
    add(vacr, "Bob", "bob")
    done = vacr("trust", "remove", "Eve")
    assert (done.returncode, "It lists: Bob." in done.err) == (2, True)


def test_unreadable_store_is_an_error_and_not_ignored(vacr, people):
    add(vacr, "Alice", "alice")
    (people / OWN).write_text("version = 1\ntrustd = []\n")
    done = vacr("verify", "s.acr.json")
    assert (done.returncode, "unknown member 'trustd'" in done.err) == (3, True)
    assert vacr("verify", "s.acr.json", "--trust-store", "missing.toml").returncode == 4


@pytest.mark.parametrize("place", ["own", "named", "project"])
def test_end_of_a_too_large_store_is_not_cut_off(vacr, people, place):
    # The last line of the store ends the trust. Without it, the trust would be unlimited.
    add(vacr, "Alice", "alice", "--trust-store", "team.toml")
    text = (people / "team.toml").read_text()
    padding = "#" * ((1 << 20) - len(text) - 1) + "\n"
    text += f"{padding}valid-until = 2020-01-01T00:00:00Z\n"
    path = people / {"own": OWN, "named": "team.toml", "project": ".vacr/trust.toml"}[place]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=people, check=True)
    vacr("trust", "approve", "--yes")
    done = vacr("verify", "s.acr.json", *(("--trust-store", path) if place == "named" else ()))
    assert done.returncode != 0
    target = {"own": (), "named": ("--trust-store", path), "project": ("--project",)}[place]
    done = vacr("trust", "add", "Bob", "--key", "bob/signing.pub.pem", *target)
    assert (done.returncode, "too large" in done.err) == (3, True)
    assert path.read_text() == text


def test_terminal_is_asked_before_approving(vacr, project, terminals):
    del terminals
    controller, terminal = os.openpty()
    environment = {**os.environ, "HOME": str(project / "home")}
    environment.pop("VACR_CONFIG", None)
    done = []
    for answer in (b"n\n", b"y\n"):
        os.write(controller, answer)
        done.append(
            subprocess.run(
                [sys.executable, "-m", "vacr", "trust", "approve"],
                cwd=project,
                env=environment,
                stdin=terminal,
                capture_output=True,
                check=False,
            )
        )
    os.close(controller)
    os.close(terminal)
    assert [run.returncode for run in done] == [2, 0], done
    assert find_verdict(vacr)["verified"]


def test_name_of_a_folder_cannot_rewrite_the_question(vacr, project, terminals):
    del vacr, terminals
    clone = project / "clone\rAlice: signer"
    (clone / ".vacr").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=clone, check=True)
    shutil.copy(project / ".vacr/trust.toml", clone / ".vacr/trust.toml")
    controller, terminal = os.openpty()
    os.write(controller, b"n\n")
    done = subprocess.run(
        [sys.executable, "-m", "vacr", "trust", "approve"],
        cwd=clone,
        env={**os.environ, "HOME": str(project / "home")},
        stdin=terminal,
        capture_output=True,
        check=False,
    )
    os.close(controller)
    os.close(terminal)
    assert b"Trust these parties for everything in " in done.stderr
    assert b"\r" not in done.stdout + done.stderr
