"""Any database of any version of Cursor: its record has every value, and the rows come back."""

import base64
import itertools
import json
import re
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.natives import COUNTS, PARTS, STAMPS, objects, some
from tests.agents.rebuild import comparable
from tests.discovery.cursor_databases import digest, field
from tests.discovery.leaves import lost
from tests.discovery.recorded import read_all_sessions, record_bytes
from vacr import validate
from vacr.errors import NotASession
from vacr.workflows.sealed_source import encode_sealed_source, unseal_source

# Stands for a word that occurs nowhere else, so that its origin is certain.
WORD = "\u2047"
WORDS = st.just(WORD)
ANY = some(
    WORD,
    [WORD],
    {"a": WORD, "b": [WORD, None]},
    f'{{"a":"{WORD}"}}',
    f'{{ "a": "{WORD}" }}',
    None,
    1.5,
    2**70,
    "",
)
NAMES = ("b1", "b2", "b3")
COMPOSERS = ("c1", "c10", "task-x\nfc_y")
OTHER_KINDS = (
    "checkpointId",
    "ofsContent",
    "messageRequestContext",
    "kindOfTomorrow",
    "agentKv:bubbleCheckpoint",
)
BARE_KINDS = ("composerVirtualRowHeights", "agentKv:checkpoint")
CHAT_KEYS = (
    "workbench.panel.aichat.view.aichat.chatdata",
    "workbench.panel.chat.view.chat.chatdata",
)

TOOL = objects(
    {"name": WORDS},
    toolCallId=WORDS | st.just(7),
    rawArgs=ANY,
    params=ANY,
    result=ANY,
    error=ANY,
    status=some("completed", "error", 5),
)
BUBBLE = objects(
    type=some(1, 2, 2, "user", "ai", 3, [1]),
    bubbleId=some(*NAMES, 7),
    id=ANY,
    text=ANY,
    rawText=ANY,
    richText=ANY,
    content=PARTS | ANY,
    createdAt=STAMPS,
    thinking=st.fixed_dictionaries({"text": ANY, "signature": WORDS}) | ANY,
    allThinkingBlocks=ANY,
    toolFormerData=TOOL | ANY,
    tokenCount=st.fixed_dictionaries({"inputTokens": COUNTS, "outputTokens": COUNTS}) | ANY,
    modelInfo=st.fixed_dictionaries({"modelName": WORDS | st.just("default")}) | ANY,
    modelType=ANY,
    images=ANY,
    workspaceUris=some(["file:///home/nora"], [5], WORD),
)
HEADERS = st.lists(
    st.fixed_dictionaries({"bubbleId": some(*NAMES, 7)}, optional={"grouping": ANY}) | ANY,
    max_size=3,
)
COMPOSER = objects(
    composerId=some(*COMPOSERS, WORD),
    name=ANY,
    createdAt=STAMPS,
    lastUpdatedAt=STAMPS,
    conversation=st.lists(BUBBLE | ANY, max_size=2) | ANY,
    conversationMap=st.dictionaries(some(*NAMES), BUBBLE | ANY, max_size=2) | ANY,
    fullConversationHeadersOnly=HEADERS | ANY,
    modelConfig=st.fixed_dictionaries({"modelName": WORDS}) | ANY,
    workspaceIdentifier=some({"uri": {"fsPath": "/home/nora"}}, {"uri": 5}, WORD),
    subagentInfo=some({"parentComposerId": WORD}, WORD),
    blobEncryptionKey=ANY,
)
TAB = objects(
    {"tabId": some("t1", "c1", "t1", 5, None)},
    chatTitle=ANY,
    bubbles=st.lists(BUBBLE | ANY, max_size=2) | ANY,
)
MESSAGE = objects(
    {"role": some("user", "assistant", "tool", "system", WORD)},
    content=PARTS | ANY,
    id=ANY,
    providerOptions=ANY,
)


def cells(values):
    """Draw the cell of a column: text or bytes, in one notation or another, damaged, or empty."""
    written = st.builds(
        lambda value, form: form(value),
        values,
        some(json.dumps, compact, compact_bytes, damaged, cut),
    )
    return written | written | some(None, f'{{"a":"{WORD}","a":"{WORD}"}}', WORD, 5, b"\xff")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def compact_bytes(value):
    return compact(value).encode()


def damaged(value):
    return compact(value).encode() + b"\xff"


def cut(value):
    return compact(value)[:-1]


def key_values(kinds, values, names=NAMES):
    return st.tuples(
        st.builds(
            ":".join, st.tuples(some(*kinds), some(*COMPOSERS), *([some(*names)] if names else []))
        ),
        cells(values),
    )


EDITOR = st.fixed_dictionaries(
    {
        "unique": st.booleans(),
        "rows": st.lists(
            key_values(["composerData"], COMPOSER, ())
            | key_values(["bubbleId"], BUBBLE)
            | key_values(OTHER_KINDS, ANY, (*NAMES, "file:///a:b"))
            | key_values(BARE_KINDS, ANY, ()),
            max_size=10,
        ),
        "chats": st.lists(st.tuples(some(*CHAT_KEYS), st.lists(TAB | ANY, max_size=3)), max_size=2),
        "headers": st.lists(st.tuples(some(*COMPOSERS, "t1"), cells(ANY)), max_size=3),
    }
)
STORE = st.fixed_dictionaries(
    {
        "unique": st.booleans(),
        "head": cells(
            objects(
                agentId=ANY, name=ANY, createdAt=STAMPS, lastUsedModel=ANY, blobEncryptionKey=ANY
            )
        ),
        "hex": st.booleans(),
        "blobs": st.lists(cells(MESSAGE), max_size=5),
        "named": st.lists(st.integers(0, 4), max_size=6),
        "pending": st.lists(MESSAGE, max_size=1),
        "meta": st.lists(st.tuples(some("0", "1", None), cells(ANY)), max_size=2),
        "turns": st.lists(st.tuples(some(1, "x", None), cells(ANY)), max_size=2),
    }
)


class Words:
    """Numbers words, so that each occurs once."""

    def __init__(self):
        self.numbers = itertools.count()

    def __call__(self, value):
        if isinstance(value, dict):
            return {name: self(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self(item) for item in value)
        if isinstance(value, bytes):
            # The last byte of text that is not UTF-8 comes from `damaged`.
            return (
                self(value.removesuffix(b"\xff").decode()).encode()
                + value[len(value.removesuffix(b"\xff")) :]
            )
        if isinstance(value, str):
            # The placeholder may be spelled as json.dumps spells it.
            return re.sub(f"{WORD}|\\\\u2047", lambda _: f"word{next(self.numbers)};", value)
        return value


def words(value) -> Counter:
    """Return the words of rows or of a record, also in bytes and in hexadecimal."""
    text = json.dumps(value, default=lambda data: {"base64": base64.b64encode(data).decode()})
    hidden = [
        base64.b64decode(found) for found in re.findall(r'"base64": "([A-Za-z0-9+/=]+)"', text)
    ]
    hidden += [bytes.fromhex(found) for found in re.findall(r'"((?:[0-9a-f]{2}){4,})"', text)]
    text += "".join(data.decode("utf-8", "replace") for data in hidden)
    return set(re.findall(r"word\d+;", text))


def create(connection, name, columns, unique, rows):
    connection.execute("PRAGMA synchronous = OFF")
    key, *rest = columns
    connection.execute(
        f"CREATE TABLE {name} "
        f"({', '.join([f'{key} UNIQUE ON CONFLICT REPLACE' if unique else key, *rest])})"
    )
    connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)  # noqa: S608 - the test's own
    connection.commit()


def table(path, name):
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]  # noqa: S608 - the test's own


def exported(row):
    """Return a row as an export writes it."""
    return {name: _exported(value) for name, value in row.items()}


def _exported(value):
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def sorted_rows(rows):
    return sorted(map(comparable, rows))


def check(found, rows, folder):
    """Check that a record has every value of the rows, and that its sealed source restores them."""
    record = json.loads(record_bytes(found))
    assert validate(record).findings == []
    values = [
        value
        for row in rows.values()
        for part in row
        for name, value in part.items()
        if name not in ("key", "id", "tabId")
    ]
    assert lost(values, record) == set()
    assert words([record["session"], record["vacr"]]) == words(list(rows.values()))
    archive = folder / "session.source.zip"
    archive.write_bytes(encode_sealed_source(found.source))
    ((_, data),) = unseal_source(archive, record["vacr"]["source"]["parts"])
    archive.unlink()
    lines = [json.loads(line) for line in data.splitlines()][1:]
    for name in {line["table"] for line in lines} | rows.keys():
        own = [line["row"] for line in lines if line["table"] == name]
        assert sorted_rows(own) == sorted_rows(map(exported, rows.get(name, [])))


def is_of(key, composer):
    """Return whether a row belongs to a conversation, by its key."""
    kind = re.match(r"(?:agentKv:)?[^:]*:", key)
    return key[kind.end() :].startswith(f"{composer}:") or key[kind.end() :] == composer


def tabs_of(items, identity):
    """Return the chats with this id, or the chats without an id."""
    for row in items:
        for tab in json.loads(row["value"])["tabs"]:
            said = tab.get("tabId") if isinstance(tab, dict) else None
            if (said if isinstance(said, str) else "") == identity:
                yield tab if isinstance(tab, dict) else {"value": tab}


@settings(max_examples=60)
@given(EDITOR)
def test_every_value_of_the_editors_rows_is_in_the_record(native):
    number = Words()
    with (
        tempfile.TemporaryDirectory() as name,
        closing(sqlite3.connect(f"{name}/state.vscdb")) as connection,
    ):
        path = Path(name) / "state.vscdb"
        values = [(key, number(value), number(WORD)) for key, value in native["rows"]]
        create(connection, "cursorDiskKV", ("key", "value", "origin"), native["unique"], values)
        chats = [(key, json.dumps(number({"tabs": tabs}))) for key, tabs in native["chats"]]
        create(connection, "ItemTable", ("key", "value"), native["unique"], chats)
        heads = [(key, number(value), 5) for key, value in native["headers"]]
        create(
            connection,
            "composerHeaders",
            ("composerId", "value", "recency"),
            native["unique"],
            heads,
        )
        rows, items, headers = (
            table(path, name) for name in ("cursorDiskKV", "ItemTable", "composerHeaders")
        )
        tabs = {identity: list(tabs_of(items, identity)) for identity in ("t1", "c1", "")}
        named = {identity for identity, own in tabs.items() if own}
        named |= {
            composer
            for composer in COMPOSERS
            for row in rows
            if row["value"] is not None and row["key"].startswith(f"bubbleId:{composer}:")
        }
        if not named and not any(row["key"].startswith("composerData") for row in rows):
            return
        try:
            sessions = read_all_sessions(path)
        except NotASession:
            sessions = []
        assert len({session.label for session in sessions}) == len(sessions)
        assert named <= {session.label for session in sessions}
        for found in sessions:
            own = {
                "cursorDiskKV": [row for row in rows if is_of(row["key"], found.label)],
                "composerHeaders": [row for row in headers if row["composerId"] == found.label],
                "chatdata": tabs.get(found.label, []),
            }
            check(found, own, Path(name))


@settings(max_examples=60)
@given(STORE)
def test_every_value_of_the_command_lines_rows_is_in_the_record(native):
    number = Words()
    with (
        tempfile.TemporaryDirectory() as name,
        closing(sqlite3.connect(f"{name}/store.db")) as connection,
    ):
        path = Path(name) / "store.db"
        blobs = [number(blob) for blob in native["blobs"]]
        stored = [
            (digest(blob if isinstance(blob, bytes) else str(blob).encode()), blob, number(WORD))
            for blob in blobs
        ]
        root = b"".join(
            field(1, bytes.fromhex(stored[index][0]))
            for index in native["named"]
            if index < len(stored)
        )
        root += b"".join(field(4, compact(number(message))) for message in native["pending"])
        head = number(native["head"])
        if isinstance(head, str) and head.startswith("{"):
            head = (
                head.replace("{", f'{{"latestRootBlobId":"{digest(root)}",', 1)
                if len(head) > 2
                else head
            )
            head = head.encode().hex() if native["hex"] else head
        create(
            connection,
            "blobs",
            ("id", "data", "origin"),
            native["unique"],
            [*stored, (digest(root), root, None)],
        )
        meta = [("0", head), *((key, number(value)) for key, value in native["meta"])]
        create(connection, "meta", ("key", "value"), native["unique"], meta)
        turns = [(key, number(value)) for key, value in native["turns"]]
        create(connection, "turns", ("id", "data"), False, turns)
        (found,) = read_all_sessions(path)
        check(found, {name: table(path, name) for name in ("blobs", "meta", "turns")}, Path(name))
