"""Sessions that agents rewrite: changes of settled entries are named, and sealing restores them."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.discovery.opencode_database import SESSION, filled
from vacr.agents.documents import encode_session_rows
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.journal import Journal
from vacr.capture.journal_checks import check_journal
from vacr.capture.line_changes import find_splices
from vacr.capture.session_journal import get_session_journal_path
from vacr.capture.settled_entries import parse_comparable_entries

NAME = "opencode/ses_1-0123456789abcdef"
SECOND = 1_000_000_000
START = 1_785_000_000 * SECOND


def message(number, role, **more):
    data = json.dumps({"role": role, "time": {"created": number}, **more})
    return "message", {"id": f"msg_{number}", "session_id": "ses_1", "data": data}


def part(number, *, of, **data):
    return "part", {
        "id": f"prt_{number}",
        "message_id": f"msg_{of}",
        "session_id": "ses_1",
        "data": json.dumps(data),
    }


def text(number, words, *, of):
    return part(number, of=of, type="text", text=words)


def tool(number, *, of, **state):
    return part(number, of=of, type="tool", tool="bash", callID=f"call_{number}", state=state)


HEAD = ("session", {"id": "ses_1", "title": "first"})
TURN = [
    message(1, "user"),
    text(1, "count the files", of=1),
    message(2, "assistant", modelID="m"),
    text(2, "There are three.", of=2),
]
NEXT = [message(30, "user"), text(30, "and now?", of=30)]


def rows(*unsorted):
    """Encode rows in the order of the database: the messages, then the parts."""
    tables = ("session", "message", "part")
    return encode_session_rows(
        "opencode-sqlite", "ses_1", sorted(unsorted, key=lambda row: tables.index(row[0]))
    )


def list_entries(data):
    return [
        (str(entry), entry.canonical)
        for entry in parse_comparable_entries("opencode", [("x.jsonl", data)])
    ]


class Captured:
    """A session in a journal, captured at the times that a test chooses."""

    def __init__(self, folder, agent="opencode", session="ses_1", file="opencode.ses_1.jsonl"):
        self.folder = folder
        self.journal = Journal(folder)
        self.session = self.journal.session(NAME)
        self.session.begin(agent, f"/nowhere/{file}", session)
        self.part = self.session.open_part(file, f"/nowhere/{file}", rewritten=True)
        self.now = START

    def see(self, data, *, after):
        """Capture the session as `data`, some seconds after the last capture."""
        self.now += after * SECOND
        self.session.note_changes(
            self.part, *find_splices(self.session.read_part(self.part), data), seen=self.now
        )

    def seal(self):
        self.session.note_seal(self.session.head, bytes(32), bytes(32))

    def check(self, now=None):
        """Check the journal, and return findings and remarks without names and times."""
        self.journal.checkpoint()
        current = None if now is None else lambda _state: {self.part.name: now}
        checked = check_journal(self.folder, current=current)
        assert checked.notices == [] or now is not None
        plain = [
            [message.removeprefix(f"{NAME}: ").partition(" after it")[0] for message in messages]
            for messages in (checked.findings, checked.remarks)
        ]
        return plain[0], plain[1]

    def first_seen(self):
        (data,) = restore_first_seen_parts(
            get_session_journal_path(self.folder, NAME), NAME, self.session.head
        ).values()
        return data

    def restores(self, data):
        """Return whether the first-seen session has the same entries as `data`."""
        return list_entries(self.first_seen()) == list_entries(data)


@pytest.fixture
def captured(tmp_path):
    found = Captured(tmp_path / "journal")
    yield found
    found.journal.close()


def test_normal_work_of_an_agent_is_not_a_finding(captured):
    """Answers grow, calls get results, and the session's own row changes, even after long pauses."""
    asked = [HEAD, *TURN[:3]]
    captured.see(rows(*asked), after=1)
    captured.see(rows(*asked, text(2, "There", of=2)), after=100)
    captured.see(rows(*asked, text(2, "There are three", of=2)), after=100)
    running = tool(4, of=2, status="running", input={"command": "ls"})
    captured.see(
        rows(*asked, text(2, "There are three.", of=2), tool(4, of=2, status="pending", input={})),
        after=100,
    )
    captured.see(rows(*asked, text(2, "There are three.", of=2), running), after=100)
    done = tool(
        4,
        of=2,
        status="completed",
        input={"command": "ls"},
        output="a b c",
        time={"start": 1, "end": 2},
    )
    captured.see(rows(("session", {"id": "ses_1", "title": "Files"}), *TURN, done), after=100)
    last = rows(("session", {"id": "ses_1", "title": "Files", "cost": 3}), *TURN, done, *NEXT)
    captured.see(last, after=100)
    assert captured.check() == ([], [])
    assert captured.check(last) == ([], [])
    assert captured.first_seen() == last


@pytest.mark.parametrize(
    ("after", "finding"),
    [
        ([*TURN[:3], text(2, "There are four.", of=2)], "entry 2 (assistant msg_2) changed"),
        ([TURN[0], text(1, "delete the files", of=1), *TURN[2:]], "entry 1 (user msg_1) changed"),
        (
            [*TURN[:2], message(2, "assistant", modelID="other"), TURN[3]],
            "entry 2 (assistant msg_2) changed",
        ),
        ([*TURN[:2]], "entry 2 (assistant msg_2) vanished"),
        ([message(1, "user"), *TURN[2:]], "entry 1 (user msg_1) changed"),
    ],
    ids=["answer", "prompt", "model", "message-gone", "part-gone"],
)
def test_rewritten_entry_is_found_and_restored(captured, after, finding):
    before, more = rows(HEAD, *TURN, *NEXT), [message(40, "assistant"), text(40, "Five.", of=40)]
    captured.see(before, after=1)
    captured.see(rows(HEAD, *after, *NEXT), after=61)
    captured.see(rows(HEAD, *after, *NEXT, *more), after=5)
    assert captured.check() == ([finding], [])
    assert captured.restores(rows(HEAD, *TURN, *NEXT, *more))


def test_last_answer_settles(captured):
    captured.see(rows(HEAD, *TURN), after=1)
    captured.see(rows(HEAD, *TURN[:3], text(2, "There are four.", of=2)), after=61)
    captured.see(rows(HEAD, *TURN[:3], text(2, "There are four.", of=2), *NEXT), after=5)
    assert captured.check() == (["entry 2 (assistant msg_2) changed"], [])
    assert captured.first_seen() == rows(HEAD, *TURN, *NEXT)


def test_recent_entry_has_not_settled(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    last = rows(HEAD, *TURN[:3], text(2, "There are four.", of=2), *NEXT)
    captured.see(last, after=5)
    assert captured.check() == ([], [])
    assert captured.first_seen() == last


def test_busy_session_settles(captured):
    """It settles although it never pauses for a minute."""
    words = [HEAD, *TURN]
    for number in range(10, 60):
        words = [*words, message(number, "user"), text(number, "more", of=number)]
        captured.see(rows(*words), after=5)
    words[4] = text(2, "There are four.", of=2)
    captured.see(rows(*words), after=5)
    captured.see(rows(*words, message(70, "user"), text(70, "more", of=70)), after=5)
    assert captured.check() == (["entry 2 (assistant msg_2) changed"], [])
    words[4] = TURN[3]
    assert captured.first_seen() == rows(*words, message(70, "user"), text(70, "more", of=70))


def test_sealed_entry_has_settled(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.seal()
    forged = [
        message(25, "user"),
        text(25, "delete them", of=25),
        message(26, "assistant"),
        text(26, "Done.", of=26),
    ]
    captured.see(rows(HEAD, *TURN, *forged, *NEXT), after=1)
    captured.see(
        rows(HEAD, *TURN, *forged, *NEXT, message(40, "assistant"), text(40, "Five.", of=40)),
        after=5,
    )
    new = "entry {} ({}) was inserted before entry 3 (user msg_30)"
    assert captured.check() == (
        [new.format(3, "user msg_25"), new.format(4, "assistant msg_26")],
        [],
    )
    assert captured.restores(
        rows(HEAD, *TURN, *NEXT, message(40, "assistant"), text(40, "Five.", of=40))
    )


def test_open_call_may_finish_after_sealing(captured):
    """The user allowed a call on the next morning."""
    waiting, done = (
        tool(5, of=2, status="running", input={}),
        tool(5, of=2, status="completed", input={}, output="a b c"),
    )
    other = tool(6, of=2, status="completed", input={}, output="ok")
    captured.see(rows(HEAD, *TURN, waiting, other), after=1)
    captured.seal()
    captured.see(rows(HEAD, *TURN, done, other, *NEXT), after=40_000)
    captured.see(rows(HEAD, *TURN, done, other, *NEXT, message(40, "assistant")), after=100)
    assert captured.check() == ([], [])


def test_changed_details_are_a_remark(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(
        rows(HEAD, *TURN[:2], message(2, "assistant", modelID="m", mode="build"), TURN[3], *NEXT),
        after=100,
    )
    captured.see(
        rows(HEAD, *TURN[:2], message(2, "assistant", modelID="m", mode="plan"), TURN[3], *NEXT),
        after=100,
    )
    last = rows(
        HEAD,
        *TURN[:2],
        message(2, "assistant", modelID="m", mode="plan"),
        text(2, "There are three. All small.", of=2),
        *NEXT,
    )
    captured.see(last, after=100)
    assert captured.check(last) == (
        [],
        [
            "entry 2 (assistant msg_2): its metadata changed",
            "entry 2 (assistant msg_2) was continued although it was complete",
        ],
    )


def test_settled_entries_are_compared_with_the_store(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    assert captured.check(rows(HEAD, *TURN, *NEXT)) == ([], [])
    assert captured.check(rows(("session", {"id": "ses_1", "title": "x"}), *TURN, *NEXT)) == (
        [],
        [],
    )
    changed = rows(HEAD, *TURN[:3], text(2, "There are four.", of=2), *NEXT)
    assert captured.check(changed) == (
        ["entry 2 (assistant msg_2) changed since it was captured"],
        [],
    )
    assert captured.check(rows(HEAD)) == (
        [
            f"entry {number} ({kind}) vanished since it was captured"
            for number, kind in ((1, "user msg_1"), (2, "assistant msg_2"), (3, "user msg_30"))
        ],
        [],
    )
    assert captured.check(b'{"half')[0] == [
        "/nowhere/opencode.ses_1.jsonl is no longer a readable session"
    ]


def chat(*words, indent):
    messages = [
        {
            "id": f"m{number}",
            "timestamp": f"2026-07-25T10:00:{number:02}.000Z",
            "type": kind,
            "content": words,
        }
        for number, (kind, words) in enumerate(words)
    ]
    return json.dumps(
        {
            "sessionId": "s",
            "projectHash": "p",
            "startTime": "2026-07-25T10:00:00.000Z",
            "messages": messages,
        },
        indent=indent,
    ).encode()


@pytest.mark.parametrize("indent", [2, None])
def test_rewritten_document_is_restored_by_lines(tmp_path, indent):
    """Rewritten lines are restored; a document in one line stays as last seen."""
    captured = Captured(tmp_path / "journal", "gemini-cli", "", "session-1.json")
    before = [("user", "count the files"), ("gemini", "There are three.")]
    after = [before[0], ("gemini", "There are four.")]
    more = [("user", "and now?"), ("gemini", "Five.")]
    captured.see(chat(*before, indent=indent), after=1)
    captured.see(
        chat(*before, indent=indent)[:70], after=100
    )  # half of it is written when it is looked at
    captured.see(chat(*before, *more[:1], indent=indent), after=1)
    captured.see(chat(*after, *more[:1], indent=indent), after=100)
    captured.see(chat(*after, *more, indent=indent), after=5)
    assert captured.check() == (["entry 2 (assistant m1) changed"], [])
    kept = before if indent else after
    assert captured.first_seen() == chat(*kept, *more, indent=indent)
    captured.journal.close()


def row(number, words, *, of, updated, **more):
    """Return the row of a part, with the time of its last update."""
    kind, written = part(number, of=of, type="text", text=words, **more)
    return kind, written | {"time_created": 1, "time_updated": updated}


def test_slow_answer_is_not_a_finding(captured):
    """OpenCode writes a part when it begins and when it is complete; a message may have none yet."""
    asked, thought = [HEAD, *TURN[:3]], part(3, of=2, type="reasoning", text="Well.")
    last = rows(
        *asked, thought, row(4, "There are three.", of=2, updated=2, time={"start": 1, "end": 2})
    )
    captured.see(rows(*asked), after=1)
    captured.see(rows(*asked, thought), after=100)
    captured.see(rows(*asked, thought, row(4, "", of=2, updated=1, time={"start": 1})), after=100)
    captured.see(last, after=100)
    assert captured.check(last) == ([], [])
    assert captured.first_seen() == last


def test_details_may_change_until_the_user_goes_on(captured):
    for tokens, after in ((0, 1), (0, 100), (7, 100)):
        given = [*TURN[:2], message(2, "assistant", modelID="m", tokens={"input": tokens}), TURN[3]]
        captured.see(rows(HEAD, *given), after=after)
    captured.see(rows(HEAD, *given, *NEXT), after=100)
    assert captured.check() == ([], [])


def test_constant_rewrites_do_not_mask_a_lasting_one(captured):
    for second in range(300):
        title = ("session", {"id": "ses_1", "title": str(second)})
        answer = "There are three." if second < 200 else "There are four."
        captured.see(rows(title, *TURN[:3], text(2, answer, of=2), *NEXT), after=1)
    assert captured.check() == (["entry 2 (assistant msg_2) changed"], [])
    assert captured.restores(rows(HEAD, *TURN, *NEXT))


def test_result_turned_into_an_error_is_found(captured):
    done = tool(4, of=2, status="completed", input={}, output="ok", time={"start": 1, "end": 2})
    captured.see(rows(HEAD, *TURN, done), after=1)
    captured.see(
        rows(
            HEAD,
            *TURN,
            tool(4, of=2, status="error", input={}, error="ok", time={"start": 1, "end": 2}),
        ),
        after=100,
    )
    assert captured.check() == (["entry 4 (tool-result call_4) changed"], [])
    assert captured.restores(rows(HEAD, *TURN, done))


def test_message_with_another_speaker_is_found(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(rows(HEAD, message(1, "assistant"), *TURN[1:], *NEXT), after=100)
    assert captured.check() == (["entry 1 (user msg_1) vanished"], [])
    assert captured.restores(rows(HEAD, *TURN, *NEXT))


def test_new_message_is_not_a_continuation(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(
        rows(HEAD, *TURN, message(31, "user"), text(31, "and now? Delete them.", of=31)), after=100
    )
    assert captured.check() == (["entry 3 (user msg_30) vanished"], [])


def test_continued_user_message_is_a_remark(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(rows(HEAD, *TURN, NEXT[0], text(30, "and now? Delete them.", of=30)), after=100)
    assert captured.check() == (
        [],
        ["entry 3 (user msg_30) was continued although it was complete"],
    )


def test_insertion_before_sealing_is_a_remark(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(
        rows(HEAD, *TURN, message(25, "user"), text(25, "delete them", of=25), *NEXT), after=100
    )
    assert captured.check() == (
        [],
        ["entry 3 (user msg_25) was inserted before entry 3 (user msg_30)"],
    )


def test_rewrite_is_restored_after_further_changes(captured):
    for mode, model, after in (("build", "m", 1), ("build", "other", 100), ("plan", "other", 100)):
        captured.see(
            rows(
                HEAD, *TURN[:2], message(2, "assistant", modelID=model, mode=mode), TURN[3], *NEXT
            ),
            after=after,
        )
    assert captured.check()[0] == ["entry 2 (assistant msg_2) changed"]
    assert captured.restores(rows(HEAD, *TURN, *NEXT))


def test_deleted_message_with_an_open_call_is_restored(captured):
    waiting = tool(5, of=2, status="running", input={"command": "ls"})
    words = [*TURN, waiting, text(6, "One moment.", of=2)]
    captured.see(rows(HEAD, *words, *NEXT), after=1)
    captured.see(rows(HEAD, *TURN[:2], *NEXT), after=100)
    assert captured.check() == (["entry 2 (assistant msg_2) vanished"], [])
    assert captured.restores(rows(HEAD, *words, *NEXT))


def test_message_deleted_while_another_is_added_is_restored(captured):
    words = [*TURN, text(6, "One moment.", of=2)]
    captured.see(rows(HEAD, *words), after=1)
    captured.see(rows(HEAD, *TURN[:2], *NEXT), after=100)
    assert captured.check() == (["entry 2 (assistant msg_2) vanished"], [])
    assert captured.restores(rows(HEAD, *words, *NEXT))


def test_restoring_keeps_changes_by_the_agent(captured):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    forged = [message(1, "assistant"), *TURN[1:]]
    captured.see(rows(("session", {"id": "ses_1", "title": "second"}), *forged, *NEXT), after=100)
    last = ("session", {"id": "ses_1", "title": "third"})
    captured.see(rows(last, *forged, *NEXT), after=100)
    assert captured.first_seen() == rows(last, *TURN, *NEXT)


@pytest.mark.parametrize("last", [b"", b"no rows", b'{"half'])
def test_unreadable_session_is_restored(captured, last):
    captured.see(rows(HEAD, *TURN, *NEXT), after=1)
    captured.see(last, after=100)
    assert captured.first_seen() == rows(HEAD, *TURN, *NEXT)


ASKED = [
    ("user", "one?"),
    ("gemini", "Yes."),
    ("user", "two?"),
    ("gemini", "No."),
    ("user", "three?"),
    ("gemini", "Maybe."),
]
MESSAGES = json.loads(chat(*ASKED, indent=None))["messages"]
FORGED = MESSAGES[0] | {"id": "m9", "content": "delete them"}


def document(messages):
    return json.dumps(json.loads(chat(indent=None)) | {"messages": messages}, indent=2).encode()


@pytest.mark.parametrize(
    ("after", "findings"),
    [
        (
            [*MESSAGES[:3], MESSAGES[3] | {"content": "Yes."}, *MESSAGES[4:]],
            ["entry 4 (assistant m3) changed"],
        ),
        (
            [*MESSAGES[:2], *MESSAGES[4:]],
            ["entry 3 (user m2) vanished", "entry 4 (assistant m3) vanished"],
        ),
        (MESSAGES[:4], ["entry 5 (user m4) vanished", "entry 6 (assistant m5) vanished"]),
        ([MESSAGES[1], MESSAGES[0], *MESSAGES[2:]], ["entry 2 (assistant m1) was moved"]),
        (
            [*MESSAGES[:2], FORGED, *MESSAGES[2:]],
            ["entry 3 (user m9) was inserted before entry 3 (user m2)"],
        ),
    ],
    ids=["as-another", "gone", "last-gone", "order", "new"],
)
@pytest.mark.parametrize(
    "more", [[], [MESSAGES[0] | {"id": "m10", "content": "four?"}]], ids=["alone", "goes-on"]
)
def test_repeated_lines_are_restored_in_place(tmp_path, after, findings, more):
    """Many lines of a document are equal: each is restored at its place, and nothing else changes."""
    captured = Captured(tmp_path / "journal", "gemini-cli", "", "session-1.json")
    captured.see(document(MESSAGES), after=1)
    captured.seal()
    captured.see(document(after), after=100)
    captured.see(document([*after, *more]), after=100)
    assert captured.check() == (findings, [])
    assert json.loads(captured.first_seen()) == json.loads(document([*MESSAGES, *more]))
    captured.journal.close()


def test_database_edited_after_sealing_is_found(machine):
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    filled(path).close()
    machine.once("--all", "--quiet-after", 0)
    machine.check_intact()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = replace(data, 'it is done', 'it is undone')")
        connection.commit()
    findings = machine.verify()["findings"]
    assert any(SESSION in finding for finding in findings)
    assert all("changed since it was captured" in finding for finding in findings)
    machine.once("--all", "--quiet-after", 0)
    again = machine.verify()["findings"]
    assert len(again) == len(findings)
    assert all("changed after it had been captured" in finding for finding in again)
    records = [path.read_text() for path in machine.sealed() if SESSION in path.read_text()]
    assert len(records) > 0
    assert all("it is done" in record and "it is undone" not in record for record in records)
