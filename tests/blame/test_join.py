"""Blocks of committed lines, joined to the claims of sessions."""

import hashlib
import os
from random import Random

import pytest

from tests.attribution.test_fuzz import read_records, run_world
from tests.attribution.world import HUMAN, OTHERS
from vacr.attribution.base_files import BaseFiles, find_base_root
from vacr.attribution.session_steps import find_entry_prompts
from vacr.blame.blocks import FileVersion
from vacr.blame.claims import HashedRange, LineClaim, RecordClaims, TextPiece
from vacr.blame.join import ClaimJoiner
from vacr.blame.line_text import is_partly_kept
from vacr.blame.session_claims import gather_claims

SEEDS = int(os.environ.get("VACR_FUZZ_SEEDS", "40"))


def make_claim(name="call", kind="ai"):
    return LineClaim(kind, "model", "session", "record", f"entry-{name}", name, "", "replayed")


def make_version(text, added=None, path="a.py"):
    lines = text.splitlines(keepends=True)
    numbers = set(range(1, len(lines) + 1)) if added is None else set(added)
    return FileVersion(
        path, lines, numbers, hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    )


def make_piece(text, name="call", path="a.py", kind="ai", moment=0):
    return TextPiece(make_claim(name, kind), path, tuple(text.splitlines(keepends=True)), moment)


def join_types(pieces, *versions):
    answers = ClaimJoiner([RecordClaims(pieces=list(pieces))]).join(versions)
    return [{number: found.type for number, found in answer.items()} for answer in answers]


BODY = "def price(order):\n    taxes = order.taxes()\n    return order.net + taxes\n"

JOINS = {
    "a block": ([BODY], "import os\n" + BODY, None, {2, 3, 4}),
    "a block between old lines": ([BODY], "x\n" + BODY + "y\n", {2, 3, 4}, {2, 3, 4}),
    "two short lines that are all of it": (
        ["x = 1\ny = 2\n"],
        "x = 1\ny = 2\nz = 3\n",
        None,
        {1, 2},
    ),
    "a single long line": (
        ["a_long_line_of_the_agent = 1\n"],
        "x\na_long_line_of_the_agent = 1\n",
        None,
        {2},
    ),
    "a single short line": (["return None\n"], "x\nreturn None\n", None, set()),
    "brackets": (["}\n}\n\n"], "x\n}\n}\n\n", None, set()),
    "a single long line twice in the commit": (
        ["a_long_line_of_the_agent = 1\n"],
        "a_long_line_of_the_agent = 1\n" * 2,
        None,
        set(),
    ),
    "a block twice, written once": ([BODY], BODY + "x\n" + BODY, None, set()),
    "a block twice, written twice": ([BODY, BODY], BODY + "x\n" + BODY, None, {1, 2, 3, 5, 6, 7}),
    "a copy of old lines": ([BODY], BODY + "x\n" + BODY, {5, 6, 7}, set()),
    "only the added lines of a block": ([BODY], BODY, {2, 3}, {2, 3}),
    "a block that the commit ends one line earlier": (
        ["\n" + BODY],
        "a\n\n" + BODY + "\nb\n",
        {3, 4, 5, 6},
        {3, 4, 5, 6},
    ),
    "other line ends": ([BODY], BODY.replace("\n", "\r\n"), None, {1, 2, 3}),
    "no end of the last line": ([BODY], BODY.rstrip("\n"), None, {1, 2, 3}),
    "nothing": ([], "x\n", None, set()),
}


@pytest.mark.parametrize("name", JOINS)
def test_written_block_is_recognised_in_a_commit(name):
    texts, text, added, expected = JOINS[name]
    (answer,) = join_types(
        [make_piece(text, f"call {i}") for i, text in enumerate(texts)], make_version(text, added)
    )
    assert answer == dict.fromkeys(expected, "ai")


def test_block_in_another_file_needs_more_lines():
    short = "x = 1\ny = 2\n"
    assert join_types([make_piece(short, path="b.py")], make_version(short)) == [{}]
    assert join_types([make_piece(BODY, path="b.py")], make_version(BODY)) == [
        dict.fromkeys((1, 2, 3), "ai")
    ]


def test_common_phrase_in_another_file_is_not_blamed():
    phrase = "\tif err != nil {\n\t\treturn err\n\t}\n"
    line = "        raise PriceError(name, limit + 1)\n"
    assert join_types([make_piece(phrase, path="b.go")], make_version(phrase, path="a.go")) == [{}]
    assert join_types([make_piece(line, path="b.py")], make_version(line)) == [{}]
    assert join_types([make_piece(line)], make_version(line)) == [{1: "ai"}]


def test_file_is_recognised_under_another_name():
    line = "        raise PriceError(name, limit + 1)\n"
    renamed = make_version(line, path="b.py")
    renamed.names = ["a.py"]
    assert join_types([make_piece(line)], renamed) == [{1: "ai"}]


def test_line_of_an_older_commit_is_not_blamed_on_the_agent():
    line = "        raise PriceError(name, limit + 1)\n"
    before, after = make_version("x\n" + line), make_version("x\n" + line + "y\n" + line, {3, 4})
    joiner = ClaimJoiner([RecordClaims(pieces=[make_piece("y\n" + line)])])
    assert [set(answer) for answer in joiner.join([before, after], one_file=True)] == [
        set(),
        {3, 4},
    ]
    joiner = ClaimJoiner([RecordClaims(pieces=[make_piece(line)])])
    assert joiner.join([before, after], one_file=True) == [{}, {}]


def test_block_moved_within_its_file_is_recognised():
    first, second = make_version(BODY + "x\n"), make_version("x\n" + BODY, {2, 3, 4})
    first.wanted, second.wanted = {4}, {2, 3, 4}
    answers = ClaimJoiner([RecordClaims(pieces=[make_piece(BODY)])]).join(
        [first, second], one_file=True
    )
    assert set(answers[1]) == {2, 3, 4}


def test_written_file_is_preferred_to_a_copy():
    assert join_types([make_piece(BODY)], make_version(BODY), make_version(BODY, path="b.py")) == [
        dict.fromkeys((1, 2, 3), "ai"),
        {},
    ]


def test_session_recorded_twice_counts_once():
    (answer,) = join_types([make_piece(BODY), make_piece(BODY)], make_version(BODY))
    assert answer == dict.fromkeys((1, 2, 3), "ai")
    assert join_types(
        [make_piece(BODY, moment=1), make_piece(BODY, moment=2)], make_version(BODY + "x\n" + BODY)
    ) == [{}]


def test_call_outranks_a_notice():
    (answer,) = join_types(
        [make_piece(BODY, "seen", kind="human"), make_piece(BODY, "made")], make_version(BODY)
    )
    assert set(answer.values()) == {"ai"}
    (answer,) = join_types([make_piece(BODY, "seen", kind="human")], make_version(BODY))
    assert set(answer.values()) == {"human"}


def test_range_known_only_by_its_hash_is_recognised():
    digest = hashlib.sha256(BODY.encode()).hexdigest()
    joiner = ClaimJoiner([RecordClaims(hashed=[HashedRange(make_claim(), "a.py", 3, digest)])])
    assert set(joiner.join([make_version("x\n" + BODY + "y\n")])[0]) == {2, 3, 4}
    assert joiner.join([make_version(BODY + "y\n" + BODY)]) == [{}]
    assert joiner.join([make_version("x\n" + BODY, {1, 2, 3})]) == [{}]


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ({}, {1, 2, 3}),
        ({"content-hash-alg": "sha-256"}, {1, 2, 3}),
        ({"content-hash-alg": "x"}, {}),
    ],
)
def test_hash_without_an_algorithm_is_sha_256(algorithm, expected):
    digest = hashlib.sha256(BODY.encode()).hexdigest()
    line_range = {"start-line": 1, "end-line": 3, "content-hash": digest, **algorithm}
    conversation = {"contributor": {"type": "ai"}, "ranges": [line_range]}
    record = {
        "version": "3.0.0-draft",
        "id": "r",
        "session": {
            "session-id": "s",
            "agent-meta": {"model-id": "m", "model-provider": "p"},
            "entries": [],
        },
        "file-attribution": {"files": [{"path": "a.py", "conversations": [conversation]}]},
    }
    claims = gather_claims([record], lambda _: None)
    assert set(ClaimJoiner(claims).join([make_version(BODY)])[0]) == set(expected)


def test_hashing_stops_at_its_budget():
    joiner = ClaimJoiner([RecordClaims(hashed=[HashedRange(make_claim(), "a.py", 500, "0" * 64)])])
    joiner.max_hashed_bytes = 10_000
    assert joiner.join([make_version("some text\n" * 5000)]) == [{}]
    assert joiner.hash_budget < 0


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("return a + b", "return a - b", True),
        ("x = 1", "x = 2", True),
        ("return a + b", "raise ValueError", False),
        ("", "x", False),
        ("x", "y", False),
        ("call(first)", "call(first, second, third, fourth)", False),
    ],
)
def test_partly_kept_line_is_recognised(ours, theirs, expected):
    assert is_partly_kept(ours, theirs) is expected


def test_blank_lines_are_not_distinctive():
    assert join_types([make_piece("\n\n   \n")], make_version("\n\n   \n")) == [{}]


def test_prompt_is_the_last_text_of_the_user():
    entries = [
        {"type": "user", "id": "1", "content": "First"},
        {"type": "assistant", "id": "2", "children": [{"type": "tool-call"}]},
        {
            "type": "user",
            "id": "3",
            "content": [{"type": "text", "text": "<system-reminder>\nno\n</system-reminder>"}],
        },
        {"type": "user", "id": "4", "isMeta": True, "content": "not said"},
        {"type": "assistant", "id": "5"},
        {"type": "user", "content": [{"text": "Second"}, {"image": 1}]},
        {"type": "assistant", "id": "6"},
    ]
    found = find_entry_prompts({"session": {"entries": entries}})
    assert found["2"] == found["/session/entries/1/children/0"] == found["5"] == "First"
    assert found["6"] == "Second"


ROOTS = [
    (["/home/mira/app/src/a.py"], "/home/mira/app", "/home/mira/app"),
    (["/home/mira/app/src/a.py"], "/home/mira/app/src", "/home/mira/app"),
    (["/home/mira/app/src/a.py"], "/home/mira", "/home/mira/app"),
    (["/home/mira/app/src/a.py"], "/srv", "/home/mira/app"),
    (["/home/mira/.notes/README.md", "/home/mira/app/new.py"], "/home/mira/app", "/home/mira/app"),
    (["/home/mira/app/new.py"], "/home/mira/app", "/home/mira/app"),
    (["/home/mira/app/README.md", "/home/mira/lib/README.md"], "/home/mira/lib", "/home/mira/lib"),
    ([], "", ""),
]


@pytest.mark.parametrize(("named", "folder", "expected"), ROOTS)
def test_base_root_is_the_folder_of_most_named_files(named, folder, expected):
    assert (
        find_base_root(BaseFiles("0" * 40, {"src/a.py", "README.md"}, lambda _: b""), named, folder)
        == expected
    )


@pytest.mark.parametrize("kinds", [("claude",), ("claude", "codex", "opencode")], ids="+".join)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_line_is_blamed_on_the_wrong_agent(tmp_path, seed, kinds):
    world, random = run_world(seed, kinds, 150), Random(seed)  # noqa: S311 - seeded
    versions, truths = [], []
    for path, file in world.files.items():
        before = set(world.base.get(path, b"").decode("utf-8", "surrogateescape").split(file.end))
        lines = list(file.lines)
        for _ in range(random.randint(0, 6)):
            at = random.randint(0, len(lines))
            lines[at : at + random.randint(0, 3)] = [
                (world.new_text(), HUMAN) for _ in range(random.randint(0, 3))
            ]
        if random.random() < 0.3:
            cut = random.randint(0, len(lines))
            lines = lines[cut:] + lines[:cut]
        text = "".join(line + file.end for line, _ in lines)
        added = {number for number, (line, _) in enumerate(lines, 1) if line not in before}
        versions.append(make_version(text, added, random.choice([path, "moved/" + path])))
        truths.append([owner for _, owner in lines])
    claims = gather_claims(
        read_records(world, tmp_path), lambda _: None, {version.digest for version in versions}
    )
    for answer, truth in zip(ClaimJoiner(claims).join(versions), truths, strict=True):
        for number, found in answer.items():
            assert found.type != "ai" or truth[number - 1] not in OTHERS, (number, found)
