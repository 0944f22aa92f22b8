"""Reasons why `vacr watch` does not start: each names the place and the next step."""

import subprocess

import pytest

from tests.faults.test_full_disk import fill, small_disk

pytestmark = pytest.mark.component


def get_refusal(machine, *options, **variables):
    """Run a watcher that must refuse to start, and return its message."""
    done = machine.run("watch", "--once", *options, **variables)
    assert (done.returncode, done.out) == (3, "")
    return done.err


def test_missing_key_is_refused(machine, tmp_path):
    message = get_refusal(machine, "--key", tmp_path / "nosuch.pem")
    assert message == (
        f"vacr: {tmp_path}/nosuch.pem: cannot read the key: there is no such file\n"
        "  To create a private key: vacr key generate -o FOLDER\n"
    )
    assert not machine.state.exists()


def test_file_as_output_folder_is_refused(machine, tmp_path):
    (tmp_path / "file").touch()
    done = machine.run("watch", "--once", "-o", tmp_path / "file")
    assert (done.returncode, f"{tmp_path}/file is not a folder" in done.err) == (2, True)
    assert not machine.state.exists()


def test_unreadable_epoch_key_is_refused(machine):
    machine.once()
    path = machine.journal / "epoch-key.pem"
    path.rename(machine.journal / "kept.pem")
    path.mkdir()
    message = get_refusal(machine)
    assert (
        "epoch-key.pem: the journal's key for this epoch cannot be read: a folder, not a file"
        in message
    )
    path.rmdir()
    message = get_refusal(machine)
    assert "the key that the last checkpoint names is missing" in message
    (machine.journal / "kept.pem").rename(path)
    machine.once()


def test_lost_machine_key_is_refused(machine):
    machine.once()
    (machine.state / "keys" / "signing.pem").unlink()
    message = get_refusal(machine)
    assert "keys/signing.pem: the key of this machine is missing" in message
    assert "--key" in message


def test_lost_public_key_is_written_again(machine):
    machine.once()
    path = machine.state / "keys" / "signing.pub.pem"
    data = path.read_bytes()
    path.unlink()
    machine.once()
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("place", "where", "why"),
    [
        ("/proc/x", "/proc/x", "created: the file system does not allow it"),
        ("FILE", "FILE", "created: a file of this name exists"),
        ("FILE/x", "FILE/x", "created: a part of the path is a file, not a folder"),
    ],
)
def test_impossible_state_folder_is_refused(machine, tmp_path, place, where, why):
    file = tmp_path / "file"
    file.touch()
    message = get_refusal(machine, VACR_STATE=place.replace("FILE", str(file)))
    assert message.startswith(
        f"vacr: {where.replace('FILE', str(file))}: the state folder cannot be {why}\n"
    )
    assert "Set VACR_STATE to a folder that you can write" in message


@pytest.mark.unprivileged
def test_unwritable_state_folder_is_refused(machine):
    machine.state.mkdir(0o500)
    assert f"cannot be created: no permission to write in {machine.state}" in get_refusal(machine)


def test_full_disk_is_refused(machine, tmp_path):
    with small_disk(tmp_path / "small") as disk:
        (disk / "state").mkdir()
        fill(disk / "filler")
        message = get_refusal(machine, VACR_STATE=str(disk / "state"))
        assert "the disk is full" in message
        assert "Set VACR_STATE to a folder that you can write" in message
        (disk / "filler").unlink()
        machine.once(VACR_STATE=str(disk / "state"))


def test_read_only_disk_is_refused(machine, tmp_path):
    with small_disk(tmp_path / "small") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "the file system is read-only" in get_refusal(
            machine, VACR_STATE=str(disk / "state")
        )
