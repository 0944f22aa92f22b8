"""The index of claims: complete, private, never in the way, and never a source of other answers."""

import os
import random
import sqlite3
import stat
import threading
from dataclasses import fields

import pytest

import vacr
from tests.attribution.working_agent import Agent, commit, git, repository
from vacr.blame import (
    ClaimIndex,
    IndexedRecords,
    NotesRef,
    Repository,
    SourceStamp,
    blame_commit,
    blame_file,
    find_repository_file,
    session_claims,
)
from vacr.blame.claim_encoding import decode_claims, encode_claims
from vacr.blame.claims import (
    HashedRange,
    KnownState,
    LineClaim,
    RecordClaims,
    SessionFacts,
    TextPiece,
)
from vacr.errors import NotASession, UnreadableInput
from vacr.files import index_database
from vacr.record import encode_canonical_json
from vacr.workflows import (
    LINE_GROUPINGS,
    blame_records,
    build_statistics_document,
    collect_line_statistics,
    get_blame_records,
    read_blame_records,
    read_named_inputs,
    write_commit_notes,
)

pytestmark = pytest.mark.component


@pytest.fixture(autouse=True)
def settled_files(monkeypatch):
    """Let files count as settled at once, so that tests need not wait."""
    monkeypatch.setattr(blame_records, "_MIN_SETTLED_NANOSECONDS", -(1 << 62))


def refuse(path, error):
    raise AssertionError(f"{path}: {error}")


def read(state, *paths, skipped=refuse):
    index = ClaimIndex.open(state)
    return read_blame_records([str(path) for path in paths], skipped, index=index)


WORDS = [
    "total",
    "price",
    "amount",
    "order",
    "customer",
    "invoice",
    "rounding",
    "decimal",
    "result",
    "entry",
]


def write_line(chance):
    """Return a line that is rare, or an idiom."""
    if chance.random() < 0.3:
        return chance.choice(["}", "", "return result", "else:", "import os"]) + "\n"
    return f"{chance.choice(WORDS)}_{chance.randrange(40)} = {chance.choice(WORDS)} + {chance.randrange(9)}\n"


def make_history(tmp_path, seed):
    """Make a repository with files of agents and people, and return it with its commits."""
    chance = random.Random(seed)  # noqa: S311 - made history
    folder = repository(tmp_path / "repo")
    for name in ("a.py", "b.py", "sub/a.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("".join(write_line(chance) for _ in range(8)))
    commits = [commit(folder, "Start")]
    for number in range(4):
        agent = Agent(folder, name=f"s{number}", start=number * 600).asked(f"Task {number}")
        for _ in range(chance.randrange(1, 4)):
            name = chance.choice(["a.py", "b.py", "sub/a.py"])
            agent.read(name)
            text = (folder / name).read_text()
            old = chance.choice(
                [line for line in text.splitlines(keepends=True) if text.count(line) == 1]
            )
            new = "".join(write_line(chance) for _ in range(chance.randrange(1, 5)))
            agent.edit(name, old, old + new if chance.random() < 0.7 else new or "pass\n")
        agent.save(tmp_path / "records")
        if chance.random() < 0.5:
            path = folder / chance.choice(["a.py", "b.py"])
            path.write_text(path.read_text() + write_line(chance))
        commits.append(commit(folder, f"Change {number}"))
    (folder / "b.py").write_text((folder / "a.py").read_text() + write_line(chance))
    return folder, commits


@pytest.mark.parametrize("seed", range(4))
def test_statistics_and_notes_are_the_same_with_and_without_the_index(tmp_path, seed):
    folder, commits = make_history(tmp_path, seed)
    git(folder, "config", "user.name", "Mira")
    git(folder, "config", "user.email", "mira@example.org")
    if seed % 2:
        attribute_with_base(tmp_path / "records", f"{folder}@{commits[0]}")
    found = Repository(folder)
    results = []
    for number in range(3):  # without an index, with a new one, and with one that is fresh
        index = ClaimIndex.open(tmp_path / "state") if number else None
        inputs = read_named_inputs([str(tmp_path / "records")], refuse, index=index)
        assert isinstance(inputs, IndexedRecords) is bool(number)
        statistics = collect_line_statistics(found, "HEAD", get_blame_records(inputs))
        notes = NotesRef(found, f"refs/notes/{number}")
        written = write_commit_notes(notes, commits, inputs)
        texts = [notes.read([name]).get(name) for name in commits]
        document = build_statistics_document(statistics, LINE_GROUPINGS)
        results.append((document, [(note.state, note.lines) for note in written], texts))
        if index is not None:
            index.close()
    assert results[0] == results[1] == results[2]
    assert results[0][0]["total"]["ai"] > 0
    assert any(results[0][2])


@pytest.mark.parametrize("seed", range(8))
def test_blame_is_the_same_with_and_without_the_index(tmp_path, seed):
    folder, commits = make_history(tmp_path, seed)
    if seed % 2:
        attribute_with_base(tmp_path / "records", f"{folder}@{commits[0]}")
    plain = read_blame_records([str(tmp_path / "records")], refuse)
    types = set()
    for _ in ("cold", "warm"):
        for name in ("a.py", "b.py", "sub/a.py"):
            place = find_repository_file(str(folder / name))
            indexed = read(tmp_path / "state", tmp_path / "records")
            assert isinstance(indexed, IndexedRecords)
            assert blame_file(place, None, indexed) == blame_file(place, None, plain)
        for name in commits:
            indexed = read(tmp_path / "state", tmp_path / "records")
            found = Repository(folder)
            added = blame_commit(found, name, indexed)
            assert added == blame_commit(found, name, plain)
            types.update(line.type for _, lines in added.files for line in lines)
    assert {"ai", "unknown"} <= types


def attribute_with_base(records, base):
    """Replace sessions by records that were attributed with a base."""
    for session in list(records.iterdir()):
        [record] = vacr.read(session)
        attributed = vacr.attribute(record, base=base)
        (records / f"{session.stem}.acr.json").write_bytes(encode_canonical_json(attributed))
        session.unlink()


def test_claims_are_kept_by_base(work, tmp_path):
    folder = tmp_path / "repo"
    attribute_with_base(tmp_path / "records", f"{folder}@HEAD")
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN
    other = repository(tmp_path / "other")
    (other / "app.py").write_bytes((folder / "app.py").read_bytes())
    commit(other)
    place = find_repository_file(str(other / "app.py"))
    plain = read_blame_records([str(tmp_path / "records")], refuse)
    for _ in range(2):
        indexed = read(tmp_path / "state", tmp_path / "records")
        assert blame_file(place, None, indexed) == blame_file(place, None, plain)
    assert count_rows(tmp_path / "state", "records", "claims") == [1, 2]


@pytest.fixture
def work(tmp_path):
    """Return a file with lines of an agent, whose session is in the folder `records`."""
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text("first = 1\n")
    commit(folder)
    agent = Agent(folder).asked("Go on").read("app.py")
    agent.edit("app.py", "first = 1\n", "first = 1\nsecond = first + compute_the_rest()\n")
    agent.save(tmp_path / "records")
    return find_repository_file(str(folder / "app.py"))


def list_types(place, records):
    return [line.type for line in blame_file(place, None, records)]


KNOWN = ["unknown", "ai"]


def test_unchanged_session_is_not_read_again(work, tmp_path, monkeypatch):
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN
    monkeypatch.setattr(blame_records, "_read_items", refuse)
    monkeypatch.setattr(session_claims, "gather_own_claims", refuse)
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN


def test_session_that_went_on_is_read_again_and_replaces_the_older_one(work, tmp_path):
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    folder = tmp_path / "repo"
    (folder / "app.py").write_text("first = 1\n")
    agent = Agent(folder).asked("Go on").read("app.py")
    agent.edit("app.py", "first = 1\n", "first = 1\nthird = first + another_computation()\n")
    agent.save(tmp_path / "records")
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN
    assert count_rows(tmp_path / "state", "sources", "records", "claims") == [1, 1, 1]


_SELECT = {
    "sources": "SELECT * FROM claim_sources",
    "records": "SELECT * FROM claim_records",
    "claims": "SELECT * FROM claims",
    "claim_keys": "SELECT * FROM claim_keys",
}


def count_rows(state, *tables):
    connection = sqlite3.connect(state / "index/index.db")
    counts = [len(connection.execute(_SELECT[table]).fetchall()) for table in tables]
    connection.close()
    return counts


def test_text_of_a_deleted_session_leaves_the_index(work, tmp_path):
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    session = next((tmp_path / "records").iterdir())
    session.rename(tmp_path / "records/renamed.jsonl")
    indexed = read(tmp_path / "state", tmp_path / "records")
    assert list_types(work, indexed) == KNOWN
    (tmp_path / "records/renamed.jsonl").unlink()
    Agent(tmp_path / "repo", name="two").asked("Other").save(tmp_path / "records")
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    assert count_rows(tmp_path / "state", "sources", "records") == [1, 1]
    connection = sqlite3.connect(tmp_path / "state/index/index.db")
    keys, claims = (
        connection.execute(_SELECT[name]).fetchall() for name in ("claim_keys", "claims")
    )
    connection.close()
    assert {row for _, row in keys} <= {row[0] for row in claims}
    assert all(
        b"compute_the_rest" not in path.read_bytes()
        for path in (tmp_path / "state/index").iterdir()
    )


def test_only_the_owner_can_read_the_index(work, tmp_path):
    (tmp_path / "state/index").mkdir(parents=True, mode=0o755)
    (tmp_path / "state/index/index.db").touch(0o644)
    indexed = read(tmp_path / "state", tmp_path / "records")
    list_types(work, indexed)
    files = [*(tmp_path / "state/index").iterdir()]
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "state/index").stat().st_mode) == 0o700
    indexed.index.close()


def test_link_in_place_of_the_index_is_not_followed(work, tmp_path):
    (tmp_path / "state/index").mkdir(parents=True)
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "state/index/index.db").symlink_to(tmp_path / "target")
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN
    assert (tmp_path / "target").read_bytes() == b"precious"


@pytest.mark.parametrize("damage", ["header", "pages", "cut", "text"])
def test_damaged_index_is_made_anew_or_left_alone(work, tmp_path, damage):
    records = read(tmp_path / "state", tmp_path / "records")
    list_types(work, records)
    records.index.close()
    path = tmp_path / "state/index/index.db"
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:64] = bytes(64)
    elif damage == "pages":
        data[4096:] = os.urandom(len(data) - 4096)
    elif damage == "cut":
        del data[len(data) // 2 :]
    else:
        data = b"not a database, but a text that is long enough to be one" * 100
    path.write_bytes(data)
    for _ in range(2):
        assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN


def test_damaged_claims_are_gathered_again(work, tmp_path):
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    for blob in (b"", b"x\x9c", encode_claims(RecordClaims())[:-3]):
        connection = sqlite3.connect(tmp_path / "state/index/index.db")
        with connection:
            connection.execute("UPDATE claims SET claims = ?", (blob,))
        connection.close()
        assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN


def test_index_of_another_version_is_made_anew(work, tmp_path, monkeypatch):
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    monkeypatch.setattr(index_database, "_compute_stamp", lambda _schema: "another version")
    index = ClaimIndex.open(tmp_path / "state")
    assert index.is_usable
    index.close()
    assert count_rows(tmp_path / "state", "sources", "records", "claims", "claim_keys") == [0] * 4
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN


@pytest.mark.parametrize("place", ["file", "missing/file", "/dev/null"])
def test_state_folder_that_cannot_be_used_is_ignored(work, tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "missing").symlink_to("nowhere")
    records = read(tmp_path / place, tmp_path / "records")
    assert list_types(work, records) == KNOWN
    assert isinstance(records, list)


def test_locked_index_is_not_waited_for_long(work, tmp_path, monkeypatch):
    monkeypatch.setattr(index_database, "_BUSY_SECONDS", 0.01)
    ClaimIndex.open(tmp_path / "state").close()
    other = sqlite3.connect(tmp_path / "state/index/index.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert list_types(work, read(tmp_path / "state", tmp_path / "records")) == KNOWN
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(read(tmp_path / "state", tmp_path / "records"), IndexedRecords)


def test_index_that_fails_on_the_way_does_not_change_the_answer(work, tmp_path):
    for lost in ("claims", "claim_keys", "claim_records", "claim_sources"):
        records = read(tmp_path / f"state-{lost}", tmp_path / "records")
        connection = sqlite3.connect(tmp_path / f"state-{lost}/index/index.db")
        connection.execute(f"DROP TABLE {lost}")
        connection.close()
        assert list_types(work, records) == KNOWN


def test_concurrent_runs_fill_one_index(work, tmp_path):
    answers = []

    def run():
        place = find_repository_file(str(work.repository.path / work.path))
        for _ in range(3):
            answers.append(list_types(place, read(tmp_path / "state", tmp_path / "records")))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [KNOWN] * 12
    assert count_rows(tmp_path / "state", "sources", "records", "claims") == [1, 1, 1]


def test_named_session_and_its_copy_in_a_folder_share_claims(work, tmp_path):
    list_types(work, read(tmp_path / "state", tmp_path / "records"))
    session = next((tmp_path / "records").iterdir())
    assert list_types(work, read(tmp_path / "state", session)) == KNOWN
    assert count_rows(tmp_path / "state", "records", "claims") == [1, 1]


@pytest.mark.usefixtures("work")
def test_file_that_is_not_a_session_is_reported_each_time(tmp_path):
    (tmp_path / "records/notes.json").write_text('{"some": "notes"}')
    skipped = []
    for _ in range(2):
        read(
            tmp_path / "state",
            tmp_path / "records",
            skipped=lambda *about: skipped.append(about[1]),
        )
    found = [(type(error), error.where.endswith("notes.json")) for error in skipped]
    assert found == [(NotASession, True)] * 2


def test_session_that_changes_while_it_is_read_again_is_an_error(work, tmp_path):
    records = read(tmp_path / "state", tmp_path / "records")
    records.index.close()
    known = read(tmp_path / "state", tmp_path / "records")
    session = next((tmp_path / "records").iterdir())
    session.write_bytes(session.read_bytes() + b"\n")
    with pytest.raises(UnreadableInput, match="changed while it was read"):
        blame_file(work, None, known)


def test_claims_survive_their_encoding_with_every_member():
    claim = LineClaim("mixed", "m", "s", "r", "e", "c", "p", "replayed", 7, True, "codex")
    other = LineClaim("human", "", "s", "r", "f", "", "", "external")
    claims = RecordClaims(
        SessionFacts(
            session="s",
            record="r",
            folder="/p",
            started=1,
            ended=2,
            named=("/p/a",),
            worktrees=("/w",),
            revision="abc",
            commits=("def",),
            remotes=("origin",),
            blobs=(("0f", 9),),
        ),
        [TextPiece(claim, "/p/a", ("x\n", "é"), 3, 4, "above", "below", frozenset({"x"}))],
        [HashedRange(other, "/p/a", 2, "ff")],
        {"aa": [KnownState("/p/a", {1: claim, 2: claim, 4: other, 5: claim}, 8)], "bb": []},
    )
    for value in (
        claim,
        claims.facts,
        claims.pieces[0],
        claims.hashed[0],
        claims.states["aa"][0],
        claims,
    ):
        defaults = type(value)
        for field in fields(defaults):
            assert getattr(value, field.name) not in (
                "",
                None,
                0,
                False,
                [],
                {},
                (),
                frozenset(),
            ), field.name
    assert decode_claims(encode_claims(claims), None) == claims
    assert decode_claims(encode_claims(claims), {"bb"}).states == {"bb": []}


def test_lone_surrogates_are_not_stored(tmp_path):
    index = ClaimIndex.open(tmp_path)
    claim = LineClaim("ai", "m", "s", "r", "e", "c", "\ud800", "replayed")
    index.add_claims(1, "", RecordClaims(pieces=[TextPiece(claim, "/p/a", ("x\n",))]))
    assert index.is_usable
    assert index.find_claims(1, "") is None
    stamp = SourceStamp("/p/\udcff", "", 1, 1, "x")
    assert index.find_source(stamp) is None
    assert index.add_source(stamp, []) is None


def test_claims_of_a_forgotten_record_do_not_pass_to_the_next_one(work, tmp_path):
    index = ClaimIndex.open(tmp_path / "state")
    stamp = SourceStamp("/nowhere", "", 1, 1, "1")
    (session,) = (tmp_path / "records").iterdir()
    [record] = vacr.read(session)
    [indexed] = index.add_source(stamp, [("first", record)])
    index.forget_missing_sources()
    index.add_claims(indexed.row, "", RecordClaims())
    [other] = index.add_source(stamp, [("second", record)])
    assert index.find_claims(other.row, "") is None
    index.close()
    del work
