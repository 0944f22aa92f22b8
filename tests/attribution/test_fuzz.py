"""What happened in a made-up world, against what attribution says of it."""

import os
from functools import cache

import pytest

import vacr
from tests.attribution.world import BASE, OTHERS, World
from vacr.attribution.attribute import attribute_records, list_applied_changes, replay_records
from vacr.attribution.replay import BaseFiles

SEEDS = int(os.environ.get("VACR_FUZZ_SEEDS", "40"))
STEPS = int(os.environ.get("VACR_FUZZ_STEPS", "300"))

AGENTS = [
    ("claude",),
    ("claude", "claude"),
    ("codex",),
    ("gemini",),
    ("opencode",),
    ("claude", "codex", "opencode"),
]


@cache
def lived(seed, kinds, steps=STEPS, **more):
    """Let a world live; at its end the first agent looks at all files: what nobody looks at again,
    nobody can know.
    """
    world = World(seed, kinds, **more)
    for _ in range(steps):
        world.live()
    for path in sorted(world.files):
        world.look(world.workers[0], path)
    return world


def records_of(world, tmp_path):
    records = []
    for number, host in enumerate(world.sessions):
        path = tmp_path / f"session-{number}.{host.suffix}"
        path.write_text(host.data())
        records += vacr.read(path)
    return records


def base_of(world):
    return BaseFiles("0" * 40, world.base.keys(), world.base.__getitem__)


def said(records):
    """Give what is said of each line: its contributor and the call that proves it."""
    lines = {}
    for record in records:
        calls = dict(called(record["session"]["entries"], "/session/entries"))
        for file in record["file-attribution"]["files"]:
            for conversation in file["conversations"]:
                proofs = record["vacr"]["attribution"]["files"][file["path"]]["ranges"]
                for one, proof in zip(conversation["ranges"], proofs, strict=True):
                    kind = one.get("contributor", conversation["contributor"])["type"]
                    for number in range(one["start-line"], one["end-line"] + 1):
                        assert (file["path"], number) not in lines
                        lines[file["path"], number] = kind, calls.get(proof["entries"][0])
    return lines


def called(entries, place):
    """Give the call of each entry that proves something, by how the proof names it."""
    for number, entry in enumerate(entries):
        yield entry.get("id", f"{place}/{number}"), entry.get("call-id")
        yield from called(entry.get("children", ()), f"{place}/{number}/children")


def owners(world):
    """Give who wrote each line."""
    return {
        (path, number): owner
        for path, file in world.files.items()
        for number, (_, owner) in enumerate(file.lines, 1)
    }


def false_lines(world, found):
    """Give the lines that are said to be an agent's that are not, or another call's."""
    wrong, truth = {}, owners(world)
    for place, (kind, call) in found.items():
        if (
            kind == "ai"
            and place[0] in world.files
            and call not in writers(world, place, truth.get(place, BASE))
        ):
            wrong[place] = call, truth.get(place)
    return wrong


def writers(world, place, owner):
    """Give the calls that wrote a line: some bring back what another one wrote."""
    if owner in OTHERS:
        return set()
    text, _ = world.files[place[0]].lines[place[1] - 1]
    return {owner} | world.writers.get("".join(text.split()), set())


@pytest.mark.parametrize("kinds", AGENTS, ids="+".join)
@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_no_line_is_said_to_be_an_agents_that_is_not(tmp_path, seed, kinds):
    world = lived(seed, kinds)
    records = records_of(world, tmp_path)
    for base in (None, base_of(world)):
        assert not false_lines(world, said(attribute_records(records, base)))


@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_no_call_is_said_to_have_made_other_lines_than_it_did(tmp_path, seed):
    world = lived(seed, AGENTS[seed % len(AGENTS)])
    records = records_of(world, tmp_path)
    for base in (None, base_of(world)):
        for row in list_applied_changes(*replay_records(records, base)):
            made = world.made[row["call-id"]]
            numbers = {number for first, last in row["ranges"] for number in range(first, last + 1)}
            assert made is None or not numbers or (row["path"] == made[0] and numbers <= made[1]), (
                row,
                made,
            )


@pytest.mark.parametrize(
    ("world", "most"),
    [
        ({"kinds": ("claude",), "calm": True, "people": 0.07}, 0.01),
        ({"kinds": ("opencode",), "calm": True, "people": 0.07}, 0.02),
        (
            {"kinds": ("claude",)},
            0.17,
        ),  # it cannot be told who wrote what the version control brings back
    ],
)
def test_most_of_what_agents_wrote_is_said(tmp_path, world, most):
    theirs = missed = 0
    for seed in range(8):
        one = lived(seed, **world)
        records = records_of(one, tmp_path)
        lines = [place for place, owner in owners(one).items() if owner not in OTHERS]
        lines = [
            place for place in lines if one.files[place[0]].lines[place[1] - 1][0] not in one.lost
        ]
        for base in (None, base_of(one)):
            found = said(attribute_records(records, base))
            theirs += len(lines)
            missed += sum(found.get(place, ("",))[0] != "ai" for place in lines)
    assert missed / theirs < most
