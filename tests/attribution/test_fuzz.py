"""Attribution compared with the truth in a simulated world."""

import os
from functools import cache

import pytest

import vacr
from tests.attribution.world import BASE, OTHERS, World
from tests.conftest import slow
from vacr.attribution.attribute import attribute_records, list_applied_changes, replay_records
from vacr.attribution.base_files import BaseFiles

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
def run_world(seed, kinds, steps=STEPS, **more):
    """Simulate a world; at the end the first agent reads all files, because attribution cannot know
    an unread change.
    """
    world = World(seed, kinds, **more)
    for _ in range(steps):
        world.live()
    for path in sorted(world.files):
        world.look(world.workers[0], path)
    return world


def read_records(world, tmp_path):
    records = []
    for number, host in enumerate(world.sessions):
        path = tmp_path / f"session-{number}.{host.suffix}"
        path.write_text(host.data())
        records += vacr.read(path)
    return records


def make_base(world):
    return BaseFiles("0" * 40, world.base.keys(), world.base.__getitem__)


def list_attributed_lines(records):
    """Return the contributor of each line, and the call that proves it."""
    lines = {}
    for record in records:
        calls = dict(walk_calls(record["session"]["entries"], "/session/entries"))
        for file in record["file-attribution"]["files"]:
            for conversation in file["conversations"]:
                proofs = record["vacr"]["attribution"]["files"][file["path"]]["ranges"]
                for line_range, proof in zip(conversation["ranges"], proofs, strict=True):
                    kind = line_range.get("contributor", conversation["contributor"])["type"]
                    for number in range(line_range["start-line"], line_range["end-line"] + 1):
                        assert (file["path"], number) not in lines
                        lines[file["path"], number] = kind, calls.get(proof["entries"][0])
    return lines


def walk_calls(entries, place):
    """Yield each entry name that a proof may use, with the call of the entry."""
    for number, entry in enumerate(entries):
        yield entry.get("id", f"{place}/{number}"), entry.get("call-id")
        yield from walk_calls(entry.get("children", ()), f"{place}/{number}/children")


def find_owners(world):
    """Return the writer of each line."""
    return {
        (path, number): owner
        for path, file in world.files.items()
        for number, (_, owner) in enumerate(file.lines, 1)
    }


def find_false_lines(world, attributed):
    """Return the lines that are attributed to the wrong agent or call."""
    wrong, truth = {}, find_owners(world)
    for place, (kind, call) in attributed.items():
        if (
            kind == "ai"
            and place[0] in world.files
            and call not in find_writers(world, place, truth.get(place, BASE))
        ):
            wrong[place] = call, truth.get(place)
    return wrong


def find_writers(world, place, owner):
    """Return the calls that wrote a line; a call may restore the line of another."""
    if owner in OTHERS:
        return set()
    text, _ = world.files[place[0]].lines[place[1] - 1]
    return {owner} | world.writers.get("".join(text.split()), set())


@pytest.mark.parametrize("kinds", AGENTS, ids="+".join)
@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_no_line_is_attributed_to_the_wrong_agent(tmp_path, seed, kinds):
    world = run_world(seed, kinds)
    records = read_records(world, tmp_path)
    for base in (None, make_base(world)):
        assert not find_false_lines(world, list_attributed_lines(attribute_records(records, base)))


@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_no_call_gets_lines_that_it_did_not_write(tmp_path, seed):
    world = run_world(seed, AGENTS[seed % len(AGENTS)])
    records = read_records(world, tmp_path)
    for base in (None, make_base(world)):
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
        ),  # the writer of a line that git restores is unknown
    ],
)
@slow
def test_most_lines_of_agents_are_attributed(tmp_path, world, most):
    theirs = missed = 0
    for seed in range(8):
        one = run_world(seed, **world)
        records = read_records(one, tmp_path)
        lines = [place for place, owner in find_owners(one).items() if owner not in OTHERS]
        lines = [
            place for place in lines if one.files[place[0]].lines[place[1] - 1][0] not in one.lost
        ]
        for base in (None, make_base(one)):
            attributed = list_attributed_lines(attribute_records(records, base))
            theirs += len(lines)
            missed += sum(attributed.get(place, ("",))[0] != "ai" for place in lines)
    assert missed / theirs < most
