"""Search the text of all conversations, and answer questions in SQL, both read only.

Words of a user are always quoted: no character in them is an operator of the search language. A
word with characters of a script without spaces, such as Chinese, is looked for inside the text,
because the full-text index has only whole words.

    >>> from vacr.archive.searching import quote_words
    >>> print(quote_words(["rm -rf", "AND"], is_phrase=False))
    "rm -rf" "AND"
    >>> print(quote_words(["no", "such", "file"], is_phrase=True))
    "no such file"

SQL comes from people and from agents, so it may only read: one SELECT, the documented tables, a
time limit, and no function that reaches outside of the database. Four barriers stand one behind
the other: the file is opened read only, SQLite asks an authorizer about every action, large values
and answers are refused, and a clock ends long queries.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vacr.agents import HOST
from vacr.archive.search_index import (
    TABLES,
    WORD_END,
    WORD_START,
    check_search_tables,
    clean_value,
    is_damage,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import IndexTakenOver
from vacr.viewer import PROMPTS

_SNIPPET_WORDS = 24
_PART_PATTERN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_PLAIN_SNIPPET_RADIUS = 80
_MAX_PARTS = 100
_DEFAULT_SECONDS = 10.0
_PROGRESS_STEPS = 10_000
_GRACE_SECONDS = 1.0
_MAX_VALUE_SIZE = 1 << 26
_MAX_ANSWER_SIZE = 1 << 28
_NUMBER_SIZE = 32
_TEXT_TABLES = ("", "_data", "_idx", "_docsize", "_config")
_READABLE_TABLES = frozenset(
    (*TABLES, "weekly_usage", *(f"entry_texts{suffix}" for suffix in _TEXT_TABLES))
)
_FORBIDDEN_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "fts5", "writefile", "edit"))


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to look for, and where."""

    words: tuple[str, ...]
    is_phrase: bool = False
    agent: str = ""
    repo: str = ""
    """A part of the repository's address, such as `acme/pay`."""
    project: str = ""
    """A folder; conversations in it and below it count."""
    model: str = ""
    """The model of the conversation."""
    tool: str = ""
    kind: str = ""
    """A kind of row, or `PROMPTS` for the words of a person."""
    since_ms: int | None = None
    until_ms: int | None = None
    only_errors: bool = False
    without_failures: bool = False
    """Whether only conversations count in which no call failed."""
    limit: int = 20
    """The most hits."""
    limit_per_record: int | None = None
    """The most hits of one conversation, so that no conversation hides the others; None for all."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An entry that contains the words."""

    record: int
    """The number of the record in the index."""
    n: int
    """The number of the entry in its conversation."""
    place: str
    kind: str
    speaker: str
    tool: str
    time_ms: int | None
    is_error: bool
    snippet: str
    """The text around the words; see `split_snippet`."""
    session: str
    agent: str
    title: str
    project: str
    repo: str
    path: str
    """The file of the conversation."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The newest hits, and how many there are in all."""

    hits: list[SearchHit]
    count: int
    record_count: int
    counts: dict[int, int] = field(default_factory=dict)
    """How many hits each conversation has, by the number of its record.

    Only those of `hits` are here, and only if the query limits the hits of one conversation.
    """


_TIME_ORDER = "ifnull(time_ms, 0) DESC"
_PHRASE_ENTRIES = "SELECT rowid FROM entry_texts WHERE entry_texts MATCH ?"


def search_entries(connection: sqlite3.Connection, query: SearchQuery) -> SearchResult:
    """Return the entries that contain all words, the newest first.

    Entries that a session copied from another one are left out. If the query limits the hits of one
    conversation, hits are grouped by it, and the words as one phrase come before other hits.

    Raises:
        UsageError: there are no words to look for, or too many.
    """
    plain, indexed = _split_words(query)
    conditions, values = _build_conditions(query)
    if indexed:
        source = "entry_texts JOIN entries ON entries.entry = entry_texts.rowid"
        conditions.insert(0, "entry_texts MATCH ?")
        values.insert(0, quote_words(indexed, is_phrase=query.is_phrase))
        snippet = f"snippet(entry_texts, 0, '{WORD_START}', '{WORD_END}', '…', {_SNIPPET_WORDS})"
    else:
        source, snippet = "entries", "''"
    for word in plain:
        conditions.append("instr(lower(entries.text), lower(?))")
        values.append(word)
    values = list(map(clean_value, values))
    where = " AND ".join(conditions)
    found = f"FROM {source} JOIN records USING (record) WHERE {where}"
    count, records = connection.execute(
        f"SELECT count(*), count(DISTINCT record) {found}",
        values,
    ).fetchone()
    counts, order = {}, {}
    if query.limit_per_record is not None:
        # First choose the entries: FTS5 makes no snippets in a query that ranks rows.
        has_order = len(indexed) > 1 and not query.is_phrase
        phrase = quote_words(indexed, is_phrase=True) if has_order else None
        is_loose = f"entry NOT IN ({_PHRASE_ENTRIES})" if phrase else "0"
        chosen = connection.execute(
            "SELECT entry, record, total FROM (SELECT *, count(*) OVER of_record AS total, "
            "min(loose) OVER of_record AS looseness, max(time_ms) OVER of_record AS latest, "
            f"row_number() OVER (of_record ORDER BY loose, {_TIME_ORDER}, n DESC) AS position "
            f"FROM (SELECT entry, record, n, time_ms, {is_loose} AS loose {found}) "
            "WINDOW of_record AS (PARTITION BY record)) "
            "WHERE position <= ? ORDER BY looseness, latest DESC, record DESC, position LIMIT ?",
            (*([phrase] if phrase else []), *values, query.limit_per_record, query.limit),
        ).fetchall()
        counts = {record: total for _, record, total in chosen}
        order = {entry: position for position, (entry, *_) in enumerate(chosen)}
        found += f" AND entry IN ({', '.join(map(str, order))})"
    rows = connection.execute(
        f"SELECT entry, record, n, place, kind, speaker, tool, time_ms, is_error, {snippet}, "
        "records.session, agent, title, project, repo, source_path, entries.prompt, "
        f"{'text' if not indexed else 'NULL'} {found} "
        f"ORDER BY {_TIME_ORDER}, record DESC, n DESC LIMIT ?",
        (*values, query.limit),
    ).fetchall()
    if order:
        rows.sort(key=lambda row: order[row[0]])
    hits = [_build_hit(row[1:], plain) for row in rows]
    return SearchResult(hits, count, records, counts)


def _build_hit(row: Sequence[Any], plain: Sequence[str]) -> SearchHit:
    """Return a hit from the columns of the query, with a snippet for words outside the index.

    In a message with words of a person and of the host, the speaker is whoever said those found;
    the snippet of the person has no word of the host.
    """
    *columns, prompt, text = row
    columns[7] = bool(columns[7])
    if text is not None:
        columns[8] = _cut_snippet(text, plain[0])
    hit = SearchHit(*columns)
    if not prompt:
        return hit
    found = [piece for piece, is_word in split_snippet(hit.snippet) if is_word]
    of_person = _mark_words(prompt, found)
    return replace(hit, snippet=of_person) if of_person else replace(hit, speaker=HOST)


def _mark_words(text: str, words: Sequence[str]) -> str:
    """Return the text around the first of some words, with all of them marked.

    Return an empty text unless it has all words, each by itself.
    """
    patterns = {word: _match_word(word) for word in words}
    places = [
        match.span()
        for pattern in patterns.values()
        if (match := re.search(pattern, text, re.IGNORECASE))
    ]
    if not places or len(places) < len(patterns):
        return ""
    start = max(0, min(places)[0] - _PLAIN_SNIPPET_RADIUS)
    end = min(places)[1] + _PLAIN_SNIPPET_RADIUS
    marked = re.sub(
        "|".join(sorted(patterns.values(), key=len, reverse=True)),
        lambda match: f"{WORD_START}{match[0]}{WORD_END}",
        text[start:end],
        flags=re.IGNORECASE,
    )
    return f"{'…' if start else ''}{marked}{'…' if end < len(text) else ''}"


def _match_word(word: str) -> str:
    """Return the pattern of a word by itself, or inside a text of a script without spaces."""
    if _PART_PATTERN.search(word):
        return re.escape(word)
    return rf"(?<![^\W_]){re.escape(word)}(?![^\W_])"


def _split_words(query: SearchQuery) -> tuple[list[str], list[str]]:
    """Return the words to look for inside the text, and those to look up in the index.

    Raises:
        UsageError: no word has a letter or a digit, or there are too many words.
    """
    words = [word for word in query.words if any(map(str.isalnum, word))]
    if not words:
        raise UsageError(
            "nothing to search for: the words have no letter or digit",
            hint="For example: vacr search connection refused",
        )
    plain = [word for word in words if _PART_PATTERN.search(word)]
    if len(plain) > _MAX_PARTS:
        raise UsageError("too many words", hint=f"Look for at most {_MAX_PARTS} words.")
    if query.is_phrase and plain:
        return [" ".join(query.words)], []
    return plain, [word for word in words if word not in plain]


def quote_words(words: Sequence[str], *, is_phrase: bool) -> str:
    """Return an FTS5 query for all words, or for the words as one phrase, each in quotes."""
    texts = [" ".join(words)] if is_phrase else words
    return " ".join('"' + text.replace('"', '""').replace("\0", " ") + '"' for text in texts)


def _build_conditions(query: SearchQuery) -> tuple[list[str], list[Any]]:
    """Return the conditions of a query besides its words, and the values that they bind."""
    choices: list[tuple[object, str]] = [
        (query.agent or None, "records.agent = ?"),
        (query.model or None, "records.model = ?"),
        (query.repo.lower() or None, "instr(records.repo, ?)"),
        (query.tool or None, "entries.tool = ?"),
        (query.kind if query.kind not in ("", PROMPTS) else None, "entries.kind = ?"),
        (query.since_ms, "entries.time_ms >= ?"),
        (query.until_ms, "entries.time_ms < ?"),
    ]
    chosen = [(value, condition) for value, condition in choices if value is not None]
    conditions = [condition for _, condition in chosen]
    values: list[Any] = [value for value, _ in chosen]
    if query.project:
        conditions.append("(records.project = ? OR instr(records.project, ?) = 1)")
        values += [query.project, f"{query.project.rstrip('/')}/"]
    if query.kind == PROMPTS:
        conditions.append("entries.is_prompt")
    if query.only_errors:
        conditions.append("entries.is_error")
    if query.without_failures:
        conditions.append("NOT records.failed")
    return [*conditions, "NOT entries.is_copy", "NOT records.is_repeated"], values


def split_snippet(snippet: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a snippet in order, and whether each is a word that was looked for."""
    for number, piece in enumerate(re.split(f"[{WORD_START}{WORD_END}]", snippet)):
        if piece:
            yield piece, number % 2 == 1


def _cut_snippet(text: str, word: str) -> str:
    """Return the text around the first occurrence of a word, which is marked."""
    # Not by `lower`, which changes the length of some texts.
    match = re.search(re.escape(word), text, re.IGNORECASE)
    if match is None:
        return text[: 2 * _PLAIN_SNIPPET_RADIUS]
    start, end = match.span()
    before = text[max(0, start - _PLAIN_SNIPPET_RADIUS) : start]
    after = text[end : end + _PLAIN_SNIPPET_RADIUS]
    return f"{before}{WORD_START}{text[start:end]}{WORD_END}{after}"


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """An entry near a hit."""

    n: int
    kind: str
    tool: str
    text: str


def list_context(
    connection: sqlite3.Connection, record: int, n: int, count: int, length: int = 300
) -> list[ContextEntry]:
    """Return up to `count` entries before an entry, the entry, and up to `count` after it.

    Their texts are cut to `length` characters.
    """
    rows = connection.execute(
        "SELECT n, kind, tool, substr(text, 1, ?) FROM entries "
        "WHERE record = ? AND n BETWEEN ? AND ? ORDER BY n",
        (length, record, n - count, n + count),
    )
    return [ContextEntry(*row) for row in rows]


# --- SQL ---


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The names of the columns of an answer, and its rows."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def run_select(
    path: Path,
    statement: str,
    *,
    seconds: float = _DEFAULT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> SqlResult:
    """Run one SELECT over the index at a path, and return all rows.

    Call it in `SearchIndex.reading`, which describes an index that is lost.

    Raises:
        UsageError: it is not one SELECT, or it is wrong, reads another table, or takes too long.
        UnreadableInput: the index cannot be read.
    """
    answers: list[SqlResult | Exception] = []

    def answer() -> None:
        """Add the answer, or the error."""
        try:
            answers.append(_run_select(path, statement, seconds, clock))
        except Exception as error:  # noqa: BLE001 - raised again below
            answers.append(error)

    # SQLite asks the clock between its steps only, and one call of `instr` can take hours.
    worker = threading.Thread(target=answer, daemon=True)
    worker.start()
    worker.join(seconds + _GRACE_SECONDS)
    if not answers:
        raise _make_timeout_error(seconds)
    if isinstance(answers[0], Exception):
        raise answers[0]
    return answers[0]


def _run_select(
    path: Path, statement: str, seconds: float, clock: Callable[[], float]
) -> SqlResult:
    """Run one SELECT; the time is checked between the steps of SQLite, and after each row.

    Raises:
        UsageError: it is not one SELECT, or it is wrong, reads another table, or takes too long.
        UnreadableInput: the index cannot be read.
    """
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise UnreadableInput(f"cannot open the index: {error}", where=str(path)) from error
    end = clock() + seconds
    refused: list[str] = []
    with closing(connection):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_SIZE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: int(clock() > end), _PROGRESS_STEPS)
        try:
            connection.execute("BEGIN")
            check_search_tables(connection)
            # SQLite declares the full-text table on its first use, which is more than a SELECT.
            connection.execute("SELECT rowid FROM entry_texts LIMIT 0")
            connection.set_authorizer(_make_authorizer(refused))
            cursor = connection.execute(statement)
            if cursor.description is None:
                raise UsageError("not a query", hint=_SQL_HINT)
            columns = [column[0] for column in cursor.description]
            rows, size = [], 0
            for row in cursor:
                rows.append(row)
                size += sum(len(value) for value in row if isinstance(value, str | bytes))
                if size + len(row) * len(rows) * _NUMBER_SIZE > _MAX_ANSWER_SIZE:
                    raise UsageError(
                        f"the answer is larger than {_MAX_ANSWER_SIZE >> 20} MiB",
                        hint=_SMALLER_HINT,
                    )
                if clock() > end:
                    raise _make_timeout_error(seconds)
            return SqlResult(columns, rows)
        except sqlite3.Error as error:
            if isinstance(error, IndexTakenOver) or is_damage(error):
                raise  # The query is not wrong: `SearchIndex.reading` describes it.
            raise _describe_sql_error(error, refused, seconds) from error
        except UnicodeEncodeError as error:
            raise UsageError("the query is not valid Unicode", hint=_SQL_HINT) from error
        except MemoryError as error:
            raise UsageError("the answer does not fit into memory", hint=_SMALLER_HINT) from error


_SMALLER_HINT = "Add a condition or a LIMIT, or ask for fewer columns."
_SQL_HINT = "Write one SELECT over the tables that vacr sql --tables lists."


def _make_authorizer(
    refused: list[str],
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return a function that allows SQLite to read the documented tables, and nothing else.

    It adds the reason of each refusal to `refused`.
    """

    def authorize(
        action: int, first: str | None, second: str | None, database: str | None, _by: str | None
    ) -> int:
        """Return whether SQLite may take an action."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            # A table of a WITH clause belongs to no database.
            if database is None or first in _READABLE_TABLES:
                return sqlite3.SQLITE_OK
            refused.append(f"the table {first} is not readable")
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION:
            if str(second).lower() not in _FORBIDDEN_FUNCTIONS:
                return sqlite3.SQLITE_OK
            refused.append(f"the function {second} is not allowed")
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and (first, second) == ("data_version", None):
            return sqlite3.SQLITE_OK  # The full-text index asks whether its cache is current.
        refused.append("only a SELECT is allowed")
        return sqlite3.SQLITE_DENY

    return authorize


def _describe_sql_error(error: sqlite3.Error, refused: list[str], seconds: float) -> UsageError:
    """Return the error that explains to a user why SQLite did not answer."""
    if refused:
        return UsageError(f"{refused[0]}", hint=_SQL_HINT)
    if isinstance(error, sqlite3.OperationalError) and "interrupted" in str(error):
        return _make_timeout_error(seconds)
    return UsageError(f"SQLite refused the query: {error}", hint=_SQL_HINT)


def _make_timeout_error(seconds: float) -> UsageError:
    """Return the error about a query that took too long."""
    hint = "Add a condition or a LIMIT, or allow more time with --timeout SECONDS."
    return UsageError(f"the query took longer than {seconds:g} seconds", hint=hint)
