"""What `vacr watch` says when it cannot begin: what, where, and what to do. Nothing is
begun then.
"""

import subprocess

import pytest

from tests.faults.test_full_disk import fill, small_disk


def refused(machine, *options, **variables):
    """Run a watcher that has to refuse; gives what it says."""
    done = machine.run("watch", "--once", *options, **variables)
    assert (done.returncode, done.out) == (3, "")
    return done.err


def test_a_key_that_is_not_there(machine, tmp_path):
    said = refused(machine, "--key", tmp_path / "nosuch.pem")
    assert said == (
        f"vacr: {tmp_path}/nosuch.pem: no key: there is no such file\n  vacr key generate "
        "makes one.\n"
    )
    assert not machine.state.exists()


def test_records_do_not_go_into_a_file(machine, tmp_path):
    (tmp_path / "file").touch()
    done = machine.run("watch", "--once", "-o", tmp_path / "file")
    assert (done.returncode, f"{tmp_path}/file is no folder" in done.err) == (2, True)
    assert not machine.state.exists()


def test_the_key_of_an_epoch_that_is_there_and_cannot_be_read(machine):
    machine.once()
    path = machine.journal / "epoch-key.pem"
    path.rename(machine.journal / "kept.pem")
    path.mkdir()
    said = refused(machine)
    assert "epoch-key.pem: the key of this epoch cannot be read: a folder, not a file" in said
    path.rmdir()
    said = refused(machine)
    assert "the key that the last checkpoint names is gone" in said
    (machine.journal / "kept.pem").rename(path)
    machine.once()


def test_a_key_of_the_machine_that_is_gone(machine):
    machine.once()
    (machine.state / "keys" / "signing.pem").unlink()
    said = refused(machine)
    assert "keys/signing.pem: the key of this machine is gone" in said
    assert "--key" in said


def test_a_public_key_that_is_gone_is_made_again(machine):
    machine.once()
    path = machine.state / "keys" / "signing.pub.pem"
    data = path.read_bytes()
    path.unlink()
    machine.once()
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("place", "where", "why"),
    [
        ("/proc/x", "/proc/x", "no folder can be made there"),
        ("FILE", "FILE", "there is a file, and no folder"),
        ("FILE/x", "FILE/x", "something on the way to it is a file, and no folder"),
    ],
)
def test_a_state_folder_that_cannot_be(machine, tmp_path, place, where, why):
    file = tmp_path / "file"
    file.touch()
    said = refused(machine, VACR_STATE=place.replace("FILE", str(file)))
    assert said.startswith(f"vacr: {where.replace('FILE', str(file))}: {why}\n")
    assert "VACR_STATE names another folder" in said


@pytest.mark.unprivileged
def test_a_state_folder_that_may_not_be_written(machine):
    machine.state.mkdir(0o500)
    assert "no permission to write there" in refused(machine)


def test_a_disk_without_room(machine, tmp_path):
    with small_disk(tmp_path / "small") as disk:
        (disk / "state").mkdir()
        fill(disk / "filler")
        said = refused(machine, VACR_STATE=str(disk / "state"))
        assert "the disk is full" in said
        assert "VACR_STATE names another folder" in said
        (disk / "filler").unlink()
        machine.once(VACR_STATE=str(disk / "state"))


def test_a_disk_that_can_only_be_read(machine, tmp_path):
    with small_disk(tmp_path / "small") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert "nothing can be written there" in refused(machine, VACR_STATE=str(disk / "state"))
