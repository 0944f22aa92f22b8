"""The outbox, used by one process or by several at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.transparency.logs import Log
from vacr.errors import UnreadableInput
from vacr.registration.outbox import Outbox, OutboxItem, compute_entry_digest, find_outbox_folder
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import add_receipt

SIGNER = KeySigner(generate_key("eddsa"))
STATEMENT = sign(b"it", SIGNER)
SERVICE = "https://log.example"


@pytest.fixture
def outbox(tmp_path):
    (tmp_path / "it.cose").write_bytes(STATEMENT)
    return Outbox(tmp_path / "state" / "outbox")


def test_variables_select_the_folder():
    home = {"HOME": "/home/me"}
    assert find_outbox_folder(home) == Path("/home/me/.local/state/vacr/outbox")
    assert find_outbox_folder(home | {"XDG_STATE_HOME": "/var/state"}) == Path(
        "/var/state/vacr/outbox"
    )
    assert find_outbox_folder(home | {"XDG_STATE_HOME": "state"}) == Path(
        "/home/me/.local/state/vacr/outbox"
    )
    assert find_outbox_folder({"VACR_OUTBOX": "/x", "XDG_STATE_HOME": "/var/state"}) == Path("/x")


def test_items_are_stored_and_removed(outbox, tmp_path):
    assert list(outbox.items()) == []
    item = outbox.add(SERVICE, str(tmp_path / "it.cose"), STATEMENT)
    assert list(outbox.items()) == [item]
    assert item.read() == STATEMENT
    (written,) = outbox.folder.glob("*.json")
    assert json.loads(written.read_text()) == {
        "service": SERVICE,
        "statement": str(tmp_path / "it.cose"),
        "entry": compute_entry_digest(STATEMENT),
        "since": item.since,
    }
    outbox.remove(SERVICE, item.statement, STATEMENT)
    assert list(outbox.items()) == []
    outbox.remove(SERVICE, item.statement, STATEMENT)


def test_statement_and_service_identify_an_item(outbox, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = outbox.add(SERVICE, "it.cose", STATEMENT)
    again = outbox.add(
        SERVICE, str(tmp_path / "it.cose"), add_receipt(STATEMENT, Log().receipt(STATEMENT))
    )
    assert (again, list(outbox.items())) == (first, [first])
    assert outbox.add(SERVICE + "/", "it.cose", STATEMENT) == first
    outbox.add("https://other.example", "it.cose", STATEMENT)
    assert len(list(outbox.items())) == 2


def test_changed_or_missing_statement_is_reported(outbox, tmp_path):
    path = tmp_path / "it.cose"
    item = outbox.add(SERVICE, str(path), STATEMENT)
    path.write_bytes(add_receipt(STATEMENT, Log().receipt(STATEMENT)))
    item.read()
    for odd in (sign(b"other", SIGNER), b"junk"):
        path.write_bytes(odd)
        with pytest.raises(UnreadableInput, match="changed while it was waiting"):
            item.read()
    path.unlink()
    with pytest.raises(UnreadableInput, match="no such file"):
        item.read()
    assert list(outbox.items()) == [item]


def test_replaced_item_is_not_removed(outbox, tmp_path):
    path = str(tmp_path / "it.cose")
    outbox.add(SERVICE, path, STATEMENT)
    newer = outbox.add(SERVICE, path, sign(b"other", SIGNER))
    outbox.remove(SERVICE, path, STATEMENT)
    assert list(outbox.items()) == [newer]


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"service": 1, "statement": "x", "entry": "x", "since": "x"}',
        "[" * 5000,
    ],
)
def test_malformed_item_does_not_block_others(outbox, tmp_path, junk):
    item = outbox.add(SERVICE, str(tmp_path / "it.cose"), STATEMENT)
    (outbox.folder / "0.json").write_text(junk)
    (outbox.folder / ".vacr-abcdefgh.tmp").write_text("half")
    odd, found = list(outbox.items())
    assert isinstance(odd, UnreadableInput)
    assert odd.where == str(outbox.folder / "0.json")
    assert found == item


def plant_item(outbox, name, **changed):
    """Write an item like an attacker would."""
    item = {
        "service": SERVICE,
        "statement": "/x.cose",
        "entry": "0" * 64,
        "since": "2026-01-01T00:00:00Z",
        **changed,
    }
    path = outbox.folder / name
    path.write_text(json.dumps(item))
    return path


def test_planted_items_are_refused(outbox, tmp_path):
    """Planted items cannot make us read other files, or send statements and tokens elsewhere."""
    item = outbox.add(SERVICE, str(tmp_path / "it.cose"), STATEMENT)
    os.mkfifo(outbox.folder / "1.json")
    (outbox.folder / "2.json").symlink_to("/dev/zero")
    (outbox.folder / "3.json").mkdir()
    plant_item(outbox, "4.json", since="x" * 100_000)
    plant_item(outbox, "5.json", statement="-")
    plant_item(outbox, "6.json", statement="it.cose")
    if os.geteuid() == 0:
        os.chown(plant_item(outbox, "7.json"), 65_534, 65_534)
    *odd, found = list(outbox.items())
    assert found == item
    assert [Path(problem.where).name for problem in odd] == [
        f"{at}.json" for at in range(1, 8 if os.geteuid() == 0 else 7)
    ]
    assert all("item of the outbox ignored: " in problem.message for problem in odd)


def test_odd_names_are_stored(outbox, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.cose")
    Path(path).write_bytes(STATEMENT)
    outbox.add(SERVICE, path, STATEMENT)
    (item,) = outbox.items()
    assert item.read() == STATEMENT


def test_unusable_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnreadableInput, match="cannot use the outbox") as caught:
        Outbox(tmp_path / "file" / "outbox").add(SERVICE, "it", STATEMENT)
    assert "VACR_OUTBOX" in caught.value.hint
    (odd,) = Outbox(tmp_path / "file").items()
    assert isinstance(odd, UnreadableInput)


WORK = """
import sys
from pathlib import Path
from vacr.registration import Outbox
outbox, statement = Outbox(Path(sys.argv[1])), Path(sys.argv[2]).read_bytes()
for number in range(40):
    outbox.add("https://log.example", f"/all/{number}", statement)
    outbox.add("https://log.example", f"/{sys.argv[3]}/{number}", statement)
    if number % 2:
        outbox.remove("https://log.example", f"/{sys.argv[3]}/{number}", statement)
"""


def test_concurrent_processes_lose_and_duplicate_nothing(outbox, tmp_path):
    command = [sys.executable, "-c", WORK, str(outbox.folder), str(tmp_path / "it.cose")]
    running = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    found = [item.statement for item in outbox.items()]
    expected = [f"/all/{number}" for number in range(40)]
    expected += [f"/{who}/{number}" for who in range(3) for number in range(0, 40, 2)]
    assert sorted(found) == sorted(expected)
    assert all(isinstance(item, OutboxItem) for item in outbox.items())
    assert not list(outbox.folder.glob(".vacr-*"))
