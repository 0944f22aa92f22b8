"""What happened in a made-up world, against what attribution says of it."""

import os

import pytest

import vacr
from tests.attribution.world import BASE, HUMAN, World
from vacr.attribution import Base, attribute

SEEDS = int(os.environ.get("VACR_FUZZ_SEEDS", "40"))


def lived(seed, agents=1, steps=300):
    world = World(seed, agents)
    for _ in range(steps):
        world.live()
    for path in sorted(world.files):  # what nobody looks at again, nobody can know
        world.read(path, whole=True)
    return world


def records_of(world, tmp_path):
    records = []
    for number in range(world.agents):
        path = tmp_path / f"session-{number}.jsonl"
        path.write_bytes(world.native(number))
        records += vacr.read(path) if world.sessions[number] else []
    return records


def said(records):
    """Give what is said of each line: its contributor and the call that proves it."""
    lines = {}
    for record in records:
        calls = called(record)
        for file in record["file-attribution"]["files"]:
            for conversation in file["conversations"]:
                proofs = record["vacr"]["attribution"]["files"][file["path"]]["ranges"]
                for one, proof in zip(conversation["ranges"], proofs, strict=True):
                    kind = one.get("contributor", conversation["contributor"])["type"]
                    for number in range(one["start-line"], one["end-line"] + 1):
                        assert (file["path"], number) not in lines
                        lines[file["path"], number] = kind, calls.get(proof["entries"][0])
    return lines


def lived_and_said(seed, agents, tmp_path, *, with_base):
    """Give who wrote each line of a world, and what is said of it."""
    world = lived(seed, agents)
    base = Base("0" * 40, world.base.keys(), world.base.__getitem__) if with_base else None
    made = attribute(records_of(world, tmp_path), base)
    truth = {(path, number): owner for path, file in world.files.items() for number, (_, owner) in enumerate(file.lines, 1)}
    return truth, said(made)


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("agents", [1, 2])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_line_is_said_to_be_an_agents_that_is_not(tmp_path, seed, agents, with_base):
    truth, found = lived_and_said(seed, agents, tmp_path, with_base=with_base)
    wrong = {place: call for place, (kind, call) in found.items() if kind == "ai" and call != truth.get(place, BASE)}
    assert not wrong


def called(record):
    """Give the call of each entry that proves something, by how the proof names it."""
    found = {}
    for i, entry in enumerate(record["session"]["entries"]):
        for k, child in enumerate(entry.get("children", ())):
            found[child.get("id", f"/session/entries/{i}/children/{k}")] = child.get("call-id")
    return found


@pytest.mark.parametrize("with_base", [False, True])
def test_most_of_what_agents_wrote_is_said(tmp_path, with_base):
    theirs = missed = 0
    for seed in range(20):
        truth, found = lived_and_said(seed, 1, tmp_path, with_base=with_base)
        lines = [place for place, owner in truth.items() if owner not in (BASE, HUMAN)]
        theirs += len(lines)
        missed += sum(found.get(place, ("",))[0] != "ai" for place in lines)
    assert missed / theirs < 0.02
