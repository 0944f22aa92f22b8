"""The index: every text is found, nothing stale stays, secrets and copies are left out."""

import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

import vacr
from tests.conftest import CORPUS, EXAMPLES
from tests.discovery import homes
from vacr.archive import (
    ConversationQuery,
    LostIndex,
    SearchIndex,
    SearchQuery,
    SourceQuery,
    SourceVersion,
    TotalsQuery,
    build_record_rows,
    find_conversations,
    find_source,
    list_context,
    list_conversations,
    list_daily_usage,
    list_file_touches,
    list_sources,
    search_entries,
    search_index,
    split_snippet,
    sum_totals,
    sum_usage,
)
from vacr.blame import ClaimIndex
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_index_file, index_database
from vacr.record import walk_entries
from vacr.viewer import build_rows
from vacr.workflows import refresh_search_index


@pytest.fixture
def state(tmp_path):
    return tmp_path / "state"


@pytest.fixture
def index(state):
    opened = SearchIndex.open(state)
    yield opened
    opened.close()


def add(index, *records, path="/sessions/a.jsonl", stamp="1"):
    version = SourceVersion(path, "", 0, 0, stamp)
    with index.transaction():
        index.add_source(version, [build_record_rows(record) for record in records])
        index.mark_repeated_records()


def read_example(name="claude-code.jsonl"):
    (record,) = vacr.read(EXAMPLES / name)
    return record


def search(index, *words, **filters):
    return search_entries(index.connection, SearchQuery(words, **filters))


def join_snippet(hit):
    return "".join(text for text, _ in split_snippet(hit.snippet))


def make_record(*texts, session="s-1", agent="parrot"):
    """Return a small record with one answer per text."""
    entries = [
        {"type": "assistant", "content": text, "timestamp": f"2026-03-14T09:00:{number:02}Z"}
        for number, text in enumerate(texts)
    ]
    meta = {"cli-name": agent, "model-id": "m"}
    return {
        "version": "3.0.0-draft",
        "session": {"session-id": session, "agent-meta": meta, "entries": entries},
        "vacr": {},
    }


# --- rows ---


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.json*")))
def test_rows_have_the_counts_of_stats(name):
    record = read_example(name)
    rows = build_record_rows(record)
    shown = list(build_rows(record))
    assert [row["place"] for row in rows.entries] == [row.place for row in shown]
    assert rows.record["calls"] == len(rows.calls)
    assert rows.record["failed"] == sum(call["is_error"] for call in rows.calls)
    assert rows.record["output"] == sum(usage["output"] for usage in rows.usage)
    assert rows.record["cost"] == pytest.approx(sum(usage["cost"] for usage in rows.usage))


def test_cost_of_a_session_without_tokens_counts(index):
    record = read_example()
    record["session"]["agent-meta"]["cli-name"] = "hermes"
    record["session"]["estimated_cost_usd"] = 0.25
    for entry in walk_entries(record["session"]["entries"]):
        entry.pop("token-usage", None)
    add(index, record)
    (totals,) = sum_totals(index.connection, TotalsQuery("model")).values()
    assert (totals.cost.stated, totals.sessions) == (0.25, 1)
    listed = list_conversations(index.connection, ConversationQuery())
    assert (listed.totals["cost"], listed.totals["is_unpriced"]) == (0.25, False)


def test_sum_says_that_prices_are_missing(index):
    record = read_example()
    meta = record["session"]["agent-meta"]
    meta["model-id"], meta["models"] = "model-x", ["model-x"]
    for entry in walk_entries(record["session"]["entries"]):
        if "model-id" in entry:
            entry["model-id"] = "model-x"
    add(index, record)
    listed = list_conversations(index.connection, ConversationQuery())
    assert listed.totals["is_unpriced"]


MARCH, APRIL, MAY = (
    int(datetime.fromisoformat(f"2026-{month}-01T12:00Z").timestamp()) * 1000
    for month in ("03", "04", "05")
)


def add_used_sessions(index):
    """Add sessions used in March, April and May; the times of the last are those of its file."""
    with index.transaction():
        for name, end, mtime in (("a", APRIL, MAY), ("b", None, MAY), ("c", MARCH, MAY)):
            rows = build_record_rows(make_record("hello", session=name))
            rows.record.update(start_ms=end and MARCH, end_ms=end, failed=1)
            rows.usage.clear()
            version = SourceVersion(f"/sessions/{name}.jsonl", "", 0, mtime * 1_000_000, name)
            index.add_source(version, [rows])


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ({}, "bac"),
        ({"since_ms": APRIL}, "ba"),
        ({"since_ms": APRIL + 1}, "b"),
        ({"until_ms": MAY}, "ac"),
        ({"until_ms": MAY + 1}, "bac"),
        ({"until_ms": MARCH}, ""),
    ],
)
def test_all_lists_agree_when_a_session_was_used(index, span, expected):
    add_used_sessions(index)
    listed = list_conversations(index.connection, ConversationQuery(**span))
    sources = list_sources(index.connection, SourceQuery(**span))
    assert "".join(row["session"] for row in listed.rows) == expected
    assert listed.count == len(expected)
    assert [path for path, _ in sources] == [f"/sessions/{name}.jsonl" for name in expected]


def test_failures_count_on_the_day_a_session_was_last_used(index):
    add_used_sessions(index)
    days = list_daily_usage(index.connection, ConversationQuery())
    assert [(day["day"], day["failed"], day["tokens"]) for day in days] == [
        ("2026-03-01", 1, 0),
        ("2026-04-01", 1, 0),
        ("2026-05-01", 1, 0),
    ]


def test_value_in_a_result_is_searched_as_json():
    call = {"type": "tool-call", "call-id": "1", "name": "T", "input": {}}
    value = {"query": "a", "rows": [{"error": "no such file"}]}
    result = {"type": "tool-result", "call-id": "1", "output": [value]}
    record = read_example()
    record["session"]["entries"] = [call, result]
    texts = [row["text"] for row in build_record_rows(record).entries]
    assert '"rows":[{"error":"no such file"}]' in "".join(texts)


def test_secrets_are_in_no_row():
    record = make_record("the token is hunter2", "fine")
    record["vacr"]["secrets"] = ["/session/entries/0/content", "/session/nothing/here"]
    rows = build_record_rows(record)
    assert "hunter2" not in json.dumps([rows.record, rows.entries, rows.calls, rows.files])
    assert record["session"]["entries"][0]["content"] == "the token is hunter2"
    assert rows.entries[1]["text"] == "fine"


def test_prompt_of_a_secret_message_is_not_a_title():
    record = make_record("the token is hunter2", "fine")
    record["session"]["entries"][0]["vacr"] = {"speaker": "human", "prompt": "token hunter2"}
    record["vacr"]["secrets"] = ["/session/entries/0/content"]
    assert "hunter2" not in json.dumps(build_record_rows(record).record)


def test_secret_entry_is_withheld_as_a_whole():
    record = make_record("the token is hunter2", "fine")
    record["vacr"]["secrets"] = ["/session/entries/0"]
    rows = build_record_rows(record)
    assert "hunter2" not in json.dumps([rows.record, rows.entries, rows.calls, rows.files])
    assert rows.entries[1]["text"] == "fine"


# --- search ---


def test_all_words_must_occur_in_one_entry(index):
    add(index, make_record("red green", "green blue"))
    assert search(index, "red", "green").count == 1
    assert search(index, "red", "blue").count == 0
    assert search(index, "green").count == 2


def test_phrase_keeps_the_order_of_words(index):
    add(index, make_record("no such file", "such a file is no problem"))
    assert search(index, "no such file", is_phrase=True).count == 1
    assert search(index, "no", "such", "file", is_phrase=True).count == 1
    assert search(index, "no", "such", "file").count == 2


def test_case_and_accents_do_not_matter(index):
    add(index, make_record("Le Café est fermé"))
    assert search(index, "cafe", "FERME").count == 1


def test_words_inside_a_script_without_spaces_are_found(index):
    add(index, make_record("请修复发票的舍入错误", "other"))
    (hit,) = search(index, "舍入").hits
    assert ("舍入", True) in list(split_snippet(hit.snippet))
    assert search(index, "舍入", "修复").count == 1
    assert search(index, "天气").count == 0


@pytest.mark.parametrize(
    "words",
    ['"', "a OR b", "NEAR(a b)", "text: a", "a*", "^a", "a AND NOT b", "{text}: a", "(", "a\0b"],
)
def test_no_character_is_an_operator(index, words):
    add(index, make_record("something else entirely"))
    assert search(index, "missing", words).count == 0
    assert search(index, "something", words).count == (not any(map(str.isalnum, words)))


def test_hits_are_newest_first_and_limited(index):
    add(index, make_record(*(f"word {number}" for number in range(9))))
    result = search(index, "word", limit=3)
    assert [join_snippet(hit) for hit in result.hits] == ["word 8", "word 7", "word 6"]
    assert (result.count, result.record_count) == (9, 1)


def test_hits_of_each_conversation_begin_with_the_phrase(index):
    add(index, make_record("no file of such a name", "no such file", "such a file? no"), path="/a")
    add(index, make_record("no file, such a pity", session="s-2"), path="/b")
    result = search(index, "no", "such", "file", limit_per_record=2)
    assert [join_snippet(hit) for hit in result.hits] == [
        "no such file",
        "such a file? no",
        "no file, such a pity",
    ]
    assert sorted(result.counts.values()) == [1, 3]


def test_filters_narrow_a_search(index):
    add(index, read_example(), path="/a")
    add(index, read_example("codex-cli.jsonl"), path="/b")
    assert search(index, "total", agent="codex-cli").record_count == 1
    assert search(index, "total", project="/home/mira").record_count == 2
    assert search(index, "total", project="/home/mir").record_count == 0
    assert search(index, "total", repo="git.example/INVOICE").record_count == 1
    assert search(index, "total", tool="Edit").count == 2
    assert {hit.kind for hit in search(index, "total", kind="user").hits} == {"user"}
    assert all(hit.is_error for hit in search(index, "CENT", only_errors=True).hits)
    times = [hit.time_ms for hit in search(index, "total").hits]
    assert search(index, "total", since_ms=max(times)).count == times.count(max(times))
    assert search(index, "total", until_ms=min(times)).count == 0


def test_context_has_the_entries_around_a_hit(index):
    add(index, make_record("one", "two", "three", "four"))
    (hit,) = search(index, "two").hits
    around = list_context(index.connection, hit.record, hit.n, 1)
    assert [entry.text for entry in around] == ["one", "two", "three"]


def test_words_of_the_host_in_a_prompt_are_its_own(index):
    record = make_record()
    reminder = "<system-reminder>The linter changed total.py.</system-reminder>"
    content = f"Round the total.\n{reminder}"
    marks = {"speaker": "human", "prompt": "Round the total."}
    secret = {"speaker": "human", "prompt": "the password"}
    record["session"]["entries"] = [
        {"type": "user", "content": content, "vacr": marks},
        {"type": "user", "content": "withheld", "vacr": secret},
        {"type": "user", "content": "the linter", "vacr": {"speaker": "human"}},
    ]
    record["vacr"]["secrets"] = ["/session/entries/1/content"]
    add(index, record)
    speakers = {
        words: [hit.speaker for hit in search(index, *words.split()).hits]
        for words in ("round", "linter", "linter changed", "round linter")
    }
    assert speakers == {
        "round": ["human"],
        "linter": ["human", "host"],
        "linter changed": ["host"],
        "round linter": ["host"],
    }
    assert not index.connection.execute(
        "SELECT 1 FROM entries WHERE prompt LIKE '%pass%'"
    ).fetchall()


def test_snippet_of_a_person_has_no_words_of_the_host(index):
    prompt = "Please round the total_sum of 注文 in totals."
    content = f"<system-reminder>Total: {'word ' * 60}</system-reminder>\n{prompt}"
    marks = {"speaker": "human", "prompt": prompt}
    record = make_record()
    record["session"]["entries"] = [{"type": "user", "content": content, "vacr": marks}]
    add(index, record)
    found = {}
    for word in ("total", "TOTAL", "sum", "注文", "totals", "word", "tot"):
        for hit in search(index, word).hits:
            pieces = list(split_snippet(hit.snippet))
            has_words_of_host = "word word" in "".join(text for text, _ in pieces)
            marked = [text for text, is_word in pieces if is_word]
            found[word] = (hit.speaker, has_words_of_host, marked)
    assert found == {
        "total": ("human", False, ["total"]),
        "TOTAL": ("human", False, ["total"]),
        "sum": ("human", False, ["sum"]),
        "注文": ("human", False, ["注文"]),
        "totals": ("human", False, ["totals"]),
        "word": ("host", True, ["word"] * 24),
    }


def test_marks_are_right_after_letters_that_grow_in_lower_case(index):
    add(index, make_record("İİİİİİ 注文 done"))
    (hit,) = search(index, "注文").hits
    assert [text for text, is_word in split_snippet(hit.snippet) if is_word] == ["注文"]


def test_a_session_cannot_forge_the_marks_of_a_snippet(index):
    add(index, make_record("plain \x02not a word\x03 match"))
    (hit,) = search(index, "match").hits
    assert [text for text, is_word in split_snippet(hit.snippet) if is_word] == ["match"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="CORPUS: ../shared/corpus is absent")
def test_search_finds_what_a_scan_of_real_sessions_finds(index):
    words = ("error", "pytest", "README", "undefined")
    expected = dict.fromkeys(words, 0)
    for number, path in enumerate(sorted(CORPUS.glob("c*/*.jsonl"))[:40]):
        try:
            records = list(vacr.read(path))
        except vacr.VacrError:
            continue
        for record in records:
            add(index, record, path=f"/{number}/{record['session']['session-id']}")
    for word in words:
        texts = index.connection.execute(
            "SELECT text FROM entries JOIN records USING (record) WHERE NOT is_copy AND NOT "
            "is_repeated"
        )
        expected[word] = sum(contains_word(text, word) for (text,) in texts)
    assert {word: search(index, word).count for word in words} == expected


def contains_word(text, word):
    """Return whether a text has a word, as the tokenizer of the index splits it."""
    letters = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return word.lower() in letters.split()


# --- keeping up to date ---


def refresh(index, home, *paths):
    return refresh_search_index(index, [str(path) for path in paths], environment={"HOME": home})


def test_all_sessions_of_a_home_are_indexed_once(index, tmp_path):
    home = homes.fill(tmp_path / "home")
    report = refresh(index, str(home))
    counted = index.count_rows()
    assert not report.failed
    assert counted["records"] >= 6
    again = refresh(index, str(home))
    assert (again.added, again.removed) == (0, 0)
    assert again.unchanged
    assert index.count_rows() == counted


def test_changed_session_replaces_its_rows(index, tmp_path):
    home = tmp_path / "home"
    homes.codex(home / ".codex")
    (path,) = home.rglob("*.jsonl")
    refresh(index, str(home))
    line = {
        "timestamp": "2026-07-25T10:00:00Z",
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "a brand new zebra"}],
        },
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert refresh(index, str(home)).added == 1
    assert search(index, "zebra").count == 1
    assert index.count_rows()["records"] == 1


def test_deleted_session_leaves_the_index(index, tmp_path):
    home = homes.fill(tmp_path / "home")
    refresh(index, str(home))
    for path in home.rglob("rollout-*.jsonl"):
        path.unlink()
    assert refresh(index, str(home)).removed == 1
    assert search(index, "total", agent="codex-cli").count == 0


def test_session_deleted_from_a_database_leaves_the_index(index, tmp_path):
    home = tmp_path / "home"
    folder = home / ".local" / "share" / "opencode"
    homes.opencode(folder)
    refresh(index, str(home))
    before = index.count_rows()["records"]
    with sqlite3.connect(folder / "opencode.db") as database:
        (session,) = database.execute("SELECT id FROM session LIMIT 1").fetchone()
        database.execute("DELETE FROM part WHERE session_id = ?", (session,))
        database.execute("DELETE FROM message WHERE session_id = ?", (session,))
        database.execute("DELETE FROM session WHERE id = ?", (session,))
    database.close()
    refresh(index, str(home))
    assert index.count_rows()["records"] == before - 1


def test_record_and_its_session_count_once(index):
    record = make_record("only once")
    add(index, record, path="/a.jsonl")
    add(index, record, path="/a.acr.json")
    assert search(index, "once").count == 1
    repeated = "SELECT source_path FROM records WHERE is_repeated"
    assert index.connection.execute(repeated).fetchall() == [("/a.acr.json",)]


def test_unreadable_session_is_reported_and_tried_again(index, tmp_path):
    home = tmp_path / "home"
    homes.opencode(home / ".local" / "share" / "opencode")
    (path,) = home.rglob("*.db")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(len(whole) - 100))
    assert len(refresh(index, str(home)).failed) == 1
    assert len(refresh(index, str(home)).failed) == 1
    path.write_bytes(whole)
    assert refresh(index, str(home)).added


def test_words_need_a_letter_or_a_digit(index):
    with pytest.raises(UsageError, match="no letter or digit"):
        search(index, "--", "!")


def test_interrupted_refresh_keeps_what_it_has_read(index, tmp_path):
    home = homes.fill(tmp_path / "home")

    def interrupt(done, _total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh_search_index(index, environment={"HOME": str(home)}, progress=interrupt)
    assert refresh(index, str(home)).added
    assert index.count_rows()["records"] >= 6


# --- the file ---


def test_index_is_private(index):
    path = index.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_damaged_index_is_built_again(state):
    path = find_index_file(state)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    index = SearchIndex.open(state)
    assert index.count_rows()["records"] == 0
    index.close()


def test_symbolic_link_is_not_followed(state, tmp_path):
    path = find_index_file(state)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(UnreadableInput, match="cannot open the index"):
        SearchIndex.open(state)
    assert not os.path.lexists(tmp_path / "elsewhere.db")


def test_lone_surrogates_and_huge_numbers_are_stored(index):
    record = make_record("broken \ud800 text")
    record["session"]["entries"][0]["token-usage"] = {"output": 1 << 80}
    add(index, record)
    assert search(index, "broken").count == 1


def test_claims_and_rows_share_a_file_and_do_not_empty_each_other(state):
    index = SearchIndex.open(state)
    add(index, make_record("stays"))
    index.close()
    claims = ClaimIndex.open(state)
    assert claims.is_usable
    claims.close()
    index = SearchIndex.open(state)
    assert search(index, "stays").count == 1
    index.close()


def test_locked_index_is_not_to_be_deleted(state, monkeypatch):
    monkeypatch.setattr(search_index, "_BUSY_SECONDS", 0.01)
    other = SearchIndex.open(state)
    add_to = SearchIndex.open(state)
    with other.transaction(), pytest.raises(UnreadableInput, match="locked") as raised:
        add(add_to, make_record("parrot"))
    other.close()
    add_to.close()
    assert "try again" in raised.value.hint
    assert "Delete" not in raised.value.hint


def test_source_that_another_builder_added_meanwhile_is_not_read_again(index, state, tmp_path):
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    for name in ("one", "two", "three"):
        plant(tmp_path, text, name)
    environment = {"HOME": str(tmp_path)}
    other, reports = SearchIndex.open(state), []

    def build_meanwhile(_done, _total):
        if not reports:
            reports.append(refresh_search_index(other, environment=environment))

    report = refresh_search_index(index, environment=environment, progress=build_meanwhile)
    other.close()
    assert (reports[0].added, reports[0].failed) == (3, [])
    assert (report.added, report.unchanged, report.failed) == (0, 3, [])
    assert index.count_rows()["records"] == 3


def take_over(state, monkeypatch):
    """Use the index as another version of vacr does, and write a record."""
    with monkeypatch.context() as patched, closing(sqlite3.connect(find_index_file(state))) as file:
        patched.setattr(index_database, "_used_stamps", {})
        patched.setattr(index_database, "_compute_stamp", lambda _schema: "another version")
        with closing(SearchIndex.open(state)) as other:
            add(other, make_record("newer"))
        assert file.execute("SELECT count(*) FROM records").fetchone() == (1,)


def test_index_that_another_version_took_over_is_left_to_it(index, state, monkeypatch):
    add(index, make_record("older"))
    claims = ClaimIndex.open(state)
    take_over(state, monkeypatch)
    with pytest.raises(UnreadableInput, match="another version of vacr has rebuilt it") as raised:
        add(index, make_record("late"))
    assert "restart this program" in raised.value.hint
    with pytest.raises(UnreadableInput, match="another version of vacr has rebuilt it"):
        SearchIndex.open(state)
    with closing(sqlite3.connect(find_index_file(state))) as file:
        assert file.execute("SELECT count(*) FROM records").fetchone() == (1,)
    assert claims.is_usable  # The other parts of the file keep their tables.
    claims.close()
    ClaimIndex.open(state).close()


def test_index_of_an_older_version_is_built_again(state, monkeypatch):
    SearchIndex.open(state).close()
    take_over(state, monkeypatch)
    monkeypatch.setattr(index_database, "_used_stamps", {})  # As in a new process.
    with closing(SearchIndex.open(state)) as opened:
        assert opened.is_empty


def test_reader_sees_a_takeover_before_its_queries_or_not_at_all(index, state, monkeypatch):
    add(index, make_record("older"))
    reader = SearchIndex.open(state)
    with reader.reading():
        take_over(state, monkeypatch)
        assert search(reader, "older").count == 1
    reads = (lambda: reader.is_empty, reader.list_sources, lambda: reader.find_stamp("/a", ""))
    for read in reads:
        with pytest.raises(LostIndex, match="another version of vacr has rebuilt it") as raised:
            read()
        assert raised.value.is_taken_over
    reader.close()


def test_rows_that_were_emptied_and_taken_back_are_not_an_answer(index, state, monkeypatch):
    add(index, make_record("older"))
    take_over(state, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(index_database, "_used_stamps", {})  # As in a third process.
        SearchIndex.open(state).close()
    with pytest.raises(LostIndex), index.reading():
        search(index, "older")


def test_damage_inside_is_reported_once_and_the_file_made_anew(state):
    with closing(SearchIndex.open(state)) as opened:
        for number in range(40):
            add(opened, make_record(f"parrot {number} " * 200), path=f"/{number}")
    path = find_index_file(state)
    content = path.read_bytes()
    assert len(content) > 100_000
    path.write_bytes(content[:20_000] + b"\xee" * 30_000 + content[50_000:])
    with (
        closing(SearchIndex.open(state)) as opened,
        pytest.raises(LostIndex, match="malformed") as raised,
        opened.reading(),
    ):
        opened.connection.execute("SELECT text FROM entries").fetchall()
    assert not raised.value.is_taken_over
    assert "Delete the file" in raised.value.hint
    with closing(SearchIndex.open(state)) as opened:
        assert opened.is_empty
        add(opened, make_record("parrot"))
        assert search(opened, "parrot").count == 1


def test_query_that_fails_is_no_reason_to_delete_the_index(index):
    add(index, make_record("parrot"))
    with pytest.raises(UnreadableInput, match="cannot read the index") as raised, index.reading():
        index.connection.execute("SELECT absent FROM records")
    assert not isinstance(raised.value, LostIndex)
    assert search(index, "parrot").count == 1


def test_full_disk_asks_for_space(index):
    add(index, make_record("parrot"))
    pages = index.connection.execute("PRAGMA page_count").fetchone()[0]
    index.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnreadableInput, match="full") as raised:
        add(index, make_record("words " * 100_000))
    assert raised.value.hint.startswith("The disk is full. Free some space, or set VACR_STATE")
    assert not isinstance(raised.value, LostIndex)
    assert search(index, "parrot").count == 1


def test_error_that_ends_the_transaction_is_the_one_reported(index):
    """SQLite itself undoes a transaction if the file is damaged or the disk is full."""

    def fail():
        with index.transaction():
            index.connection.execute("ROLLBACK")
            raise sqlite3.DatabaseError("database disk image is malformed")

    with pytest.raises(UnreadableInput, match="malformed") as raised:
        fail()
    assert "Delete the file" in raised.value.hint


# --- hostile sessions ---


def plant(home, text, name="planted"):
    """Write a transcript into a home, with the example's session under another id."""
    folder = home / ".claude" / "projects" / "planted"
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.iterdir()))
    path = folder / f"{os.fsdecode(name)}.jsonl"
    path.write_text(text.replace("6f0d1c52", f"{number:08}"), "utf-8")


def test_planted_token_counts_do_not_overflow_the_sums(index, tmp_path):
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    huge = re.sub(r'("(?:input|output)_tokens": ?)\d+', rf"\g<1>{(1 << 63) - 1}", text)
    assert huge != text
    for name in ("one", "two", "three"):
        plant(tmp_path, huge, name)
    refresh_search_index(index, environment={"HOME": str(tmp_path)})
    assert sum_totals(index.connection, TotalsQuery(by="model"))
    assert list_conversations(index.connection, ConversationQuery()).totals["input"] > 1 << 40
    assert sum_usage(index.connection, "week", "", 10)


def test_unknown_usage_group_is_refused(index):
    with pytest.raises(UsageError, match="usage cannot be grouped by month"):
        sum_usage(index.connection, "month", "", 10)


@pytest.mark.parametrize("moment", [10**18, -(10**17), "9999-12-31T23:59:60-23:59"])
def test_planted_time_outside_the_calendar_is_unknown(index, tmp_path, moment):
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    plant(tmp_path, re.sub(r'"timestamp":"[^"]+"', f'"timestamp":{json.dumps(moment)}', text))
    refresh_search_index(index, environment={"HOME": str(tmp_path)})
    hits = search(index, "invoice").hits
    assert hits
    for hit in hits:
        assert hit.time_ms is None


def test_planted_file_name_outside_unicode_hides_no_session(index, tmp_path):
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    plant(tmp_path, text, b"\xff\xfe")
    plant(tmp_path, text, "good")
    environment = {"HOME": str(tmp_path)}
    assert refresh_search_index(index, environment=environment).added == 2
    assert refresh_search_index(index, environment=environment).unchanged == 2
    assert search(index, "invoice").record_count == 2
    for hit in search(index, "invoice").hits:
        path, _ = find_source(index.connection, hit.record)
        assert Path(path).exists()


def test_session_that_breaks_the_reader_hides_no_other(index, tmp_path, monkeypatch):
    """A bug that a hostile session meets costs this session only."""
    text = (EXAMPLES / "claude-code.jsonl").read_text("utf-8")
    plant(tmp_path, text.replace("off by a cent", "poison"), "bad")
    plant(tmp_path, text, "good")

    def build(record):
        if "poison" in json.dumps(record):
            raise RecursionError
        return build_record_rows(record)

    monkeypatch.setattr("vacr.workflows.index_refresh.build_record_rows", build)
    report = refresh_search_index(index, environment={"HOME": str(tmp_path)})
    assert report.added == 1
    assert [error.message for error in report.failed] == ["vacr failed: RecursionError"]
    assert search(index, "invoice").record_count == 1


def test_words_and_filters_outside_unicode_find_nothing(index):
    add(index, make_record("parrot"))
    odd = "\udcff"
    for filters in ({"repo": odd}, {"tool": odd}, {"project": odd}, {"agent": odd}):
        assert search(index, "parrot", **filters).count == 0
    assert search(index, f"a{odd}").count == 0
    assert sum_totals(index.connection, TotalsQuery(by="agent", repo=odd)) == {}
    assert find_conversations(index.connection, odd) == []
    assert list_file_touches(index.connection, odd, None, 1) == []


def test_too_many_words_to_look_for_are_an_error(index):
    with pytest.raises(UsageError, match="too many words"):
        search(index, *("一" * 2000))


@pytest.mark.parametrize(
    ("since", "until", "output"),
    [
        (None, None, 11),
        ("2026-03-14T06:00:00Z", None, 10),
        ("2026-03-14T06:10:00Z", None, 10),
        ("2026-03-14T06:15:00Z", None, 0),
        (None, "2026-03-14T06:00:00Z", 1),
    ],
)
def test_tokens_count_by_the_quarter_of_an_hour(index, since, until, output):
    """A day of the user seldom begins at midnight UTC."""
    record = make_record("before", "after")
    moments = ("2026-03-14T05:59:59Z", "2026-03-14T06:00:01Z")
    for entry, moment, count in zip(record["session"]["entries"], moments, (1, 10), strict=True):
        entry |= {"timestamp": moment, "token-usage": {"input": 0, "output": count}}
    add(index, record)
    since_ms, until_ms = (
        int(datetime.fromisoformat(text).timestamp() * 1000) if text else None
        for text in (since, until)
    )
    query = TotalsQuery("agent", since_ms=since_ms, until_ms=until_ms)
    groups = sum_totals(index.connection, query).values()
    assert sum(totals.tokens["output"] for totals in groups) == output


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        (None, None, {"": 190}),
        ("2026-03-13T00:00:00Z", None, {"": 190}),
        (None, "2026-03-16T00:00:00Z", {"": 190}),
        ("2026-03-14T23:59:00Z", None, {"": 150}),
        (None, "2026-03-15T00:00:10Z", {"": 100}),
        # In parts, the pause between the last entry of a day and the first of the next is left out.
        ("day", None, {"2026-03-14": 40, "2026-03-15": 90}),
    ],
)
def test_session_has_one_duration_in_any_span_of_time(index, since, until, days):
    """It begins before its first entry, and ends after its last one."""
    record = make_record("first", "second", "third")
    moments = ("2026-03-14T23:58:30Z", "2026-03-14T23:59:00Z", "2026-03-15T00:00:00Z")
    for entry, moment in zip(record["session"]["entries"], moments, strict=True):
        entry["timestamp"] = moment
    record["session"] |= {
        "session-start": "2026-03-14T23:58:20Z",
        "session-end": "2026-03-15T00:01:30Z",
    }
    add(index, record)
    by = "day" if since == "day" else "agent"
    since_ms, until_ms = (
        int(datetime.fromisoformat(text).timestamp() * 1000) if text and text != "day" else None
        for text in (since, until)
    )
    groups = sum_totals(index.connection, TotalsQuery(by, since_ms=since_ms, until_ms=until_ms))
    found = {key if by == "day" else "": own.milliseconds for key, own in groups.items()}
    assert found == {day: seconds * 1000 for day, seconds in days.items()}


def test_numbers_and_booleans_of_inputs_are_no_words(index):
    record = make_record("done")
    arguments = {
        "replace_all": False,
        "path": "/srv/a.py",
        "limit": 4000,
        "rate": 0.5,
        "none": None,
        "lines": [{"from": 12}],
    }
    call = {"type": "tool-call", "call-id": "1", "name": "Edit", "input": arguments}
    record["session"]["entries"].insert(0, call)
    assert build_record_rows(record).entries[0]["text"] == '/srv/a.py\n[{"from":12}]'
    call["input"] = 4000
    assert build_record_rows(record).entries[0]["text"] == ""
    add(index, record)
    assert not search(index, "false").hits
