"""Aider's histories: runs, the split of ambiguous Markdown, edits, and the files beside a chat."""

import pytest

from tests.agents.rebuild import aider as way_back
from tests.conftest import FIXTURES, record_of, records_of, stranger
from tests.discovery import homes
from vacr import validate
from vacr.agents import find_agent
from vacr.agents.aider.edits import find_edits
from vacr.agents.aider.history import split_history
from vacr.attribution.attribute import replay_records
from vacr.discovery import list_sessions, read_sessions

CHAT = FIXTURES / "aider" / "aider-chat.md"
HEADING = "\n# aider chat started at 2026-05-02 08:15:00\n\n"
MODEL = "> Model: m-9 with {} edit format  \n"
ASKED = "\n#### Do it.  \n"


def run(answer, messages="", edit_format="diff"):
    """Return the record of a run with one answer."""
    text = HEADING + MODEL.format(edit_format) + ASKED + f"\n{answer}\n\n{messages}"
    return record_of(text.encode())


def block(path, old, new):
    return f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```"


def calls_of(record):
    return [
        (child["name"], child["input"].get("path"), child.get("vacr", {}).get("status"))
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == "tool-call"
    ]


def list_results(record):
    return [
        child["status"]
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == "tool-result"
    ]


# --- runs ---


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ("1k sent, 2 received. Cost: $0.00 message", {"input": 1000, "output": 2, "cost": 0}),
        ("1k sent, 2 received. Cost: $1.00 message", {"input": 1000, "output": 2, "cost": 1}),
        ("1.5M sent, 2 received. Cost: $0.00004 message", {"input": 1_500_000, "cost": 0.00004}),
        ("1.2.3k sent, 2 received.", None),
        (f"{'9' * 400} sent, 2 received.", None),
    ],
    ids=["no cost", "whole cost", "tiny cost", "two points", "too many digits"],
)
def test_counts_of_any_size_are_read_or_left_alone(counts, usage):
    record = run("Done.", f"> Tokens: {counts}  \n")
    assert validate(record).findings == []
    [answer] = [e for e in record["session"]["entries"] if e["type"] == "assistant"]
    found = answer.get("token-usage")
    assert found == usage if usage is None else usage.items() <= found.items()


def test_each_run_is_a_session():
    first, second = records_of(CHAT.read_bytes())
    assert first["session"]["started"] == "2026-05-02 08:15:00"
    assert first["session"]["agent-meta"]["cli-version"] == "0.86.2"
    assert [run["session"]["agent-meta"]["model-id"] for run in (first, second)] == [
        "sonnet-9",
        "openai/fake",
    ]
    assert "session-start" not in first["session"]


def test_id_of_a_run_stays_while_the_history_grows():
    text = CHAT.read_text()
    ids = [record["session"]["session-id"] for record in records_of(text.encode())]
    longer = records_of((text + "\nBye.\n\n" + HEADING + ASKED).encode())
    assert [record["session"]["session-id"] for record in longer][:2] == ids
    assert len({record["session"]["session-id"] for record in longer}) == 3


def test_runs_of_the_same_second_have_different_ids():
    records = records_of((HEADING + ASKED + HEADING + ASKED).encode())
    assert len({record["session"]["session-id"] for record in records}) == 2


def test_text_before_the_first_run_is_kept():
    data = ("a line\n" + HEADING + ASKED).encode()
    assert way_back.text(record_of(data)) == data


def test_local_times_are_never_times_of_the_record():
    record = run("Done.")
    assert "timestamp" not in str(record["session"])


# --- the split ---


@pytest.mark.parametrize(
    "quoted",
    [
        "#### A heading of the answer",
        "> a quote",
        "text\n> a quote  \nmore",
        "```\n\n#### in a fence  \n\n> in a fence  \n```",
        "# aider chat started at noon",
        "text\n# aider chat started at 2026-05-02 08:15:00",
    ],
)
def test_markdown_of_an_answer_stays_in_the_answer(quoted):
    record = run(quoted, "> Tokens: 1k sent, 2 received.  \n")
    kinds = [entry["type"] for entry in record["session"]["entries"]]
    assert kinds == ["system-event", "system-event", "user", "assistant", "system-event"]
    assert record["session"]["entries"][3]["content"][0]["text"] == quoted


def test_fence_that_never_ends_ends_at_a_sure_message_of_aider():
    record = run("```python\nx = 1", "> Tokens: 1k sent, 2 received.  \n" + ASKED)
    kinds = [entry["type"] for entry in record["session"]["entries"]]
    assert kinds == ["system-event", "system-event", "user", "assistant", "system-event", "user"]


def test_message_of_several_lines_is_one_message():
    commit = "> Applied edit to a.py  \n> Commit 4122143 I write it.\n\na.py\n```\n```  \n"
    *_, event = run("Done.", commit)["session"]["entries"]
    assert event["data"]["commits"] == [
        {"revision": "4122143", "message": "I write it.\n\na.py\n```\n```"}
    ]


def test_command_of_several_lines_is_not_an_answer():
    command = "> aider --model m-9 --message one\ntwo  \n> Aider v0.86.2  \n"
    record = record_of((HEADING + command + ASKED).encode())
    kinds = [entry["type"] for entry in record["session"]["entries"]]
    assert kinds == ["system-event", "system-event", "user"]
    assert record["session"]["agent-meta"]["cli-version"] == "0.86.2"


def test_input_of_several_lines():
    text = HEADING + "\n#### one  \n####   \n####   two  \n"
    (entry,) = [e for e in record_of(text.encode())["session"]["entries"] if e["type"] == "user"]
    assert entry["content"][0]["text"] == "one\n\n  two"
    assert (entry["vacr"]["speaker"], "raw" in entry) == ("human", False)


def test_answer_that_aider_repeats_is_not_the_persons():
    text = HEADING + "\n#### Add file to the chat? (Y)es/(N)o/(A)ll [Yes]: skip  \n"
    *_, entry = record_of(text.encode())["session"]["entries"]
    assert (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) == ("host", "stated")


def test_windows_line_ends_are_split_as_others():
    text = HEADING + MODEL.format("diff") + ASKED + "\nDone.\n\n> Tokens: 1k sent, 2 received.  \n"
    kinds = [kind for kind, _ in split_history(text)]
    assert [kind for kind, _ in split_history(text.replace("\n", "\r\n"))] == kinds


# --- edits ---


def test_edit_that_aider_applied_is_a_success():
    record = run(block("a.py", "x = 1\n", "x = 2\n"), "> Applied edit to a.py  \n")
    assert (calls_of(record), list_results(record)) == (
        [("search-replace", "a.py", None)],
        ["success"],
    )


def test_edit_without_a_word_of_aider_has_no_result():
    record = run(block("a.py", "x = 1\n", "x = 2\n"), "> Tokens: 1k sent, 2 received.  \n")
    assert calls_of(record) == [("search-replace", "a.py", "no-result")]


def test_blocks_that_matched_are_applied_beside_one_that_did_not():
    first, _ = records_of(CHAT.read_bytes())
    assert list_results(first) == ["success", "success", "error", "success"]


def test_edit_that_cannot_be_read_has_no_place():
    record = run("I changed it.", "> Applied edit to a.py  \n")
    assert calls_of(record) == [("edit", "a.py", None)]


@pytest.mark.parametrize(
    ("answer", "edit_format", "expected"),
    [
        (block("**a.py**", "", "x\n"), "diff", [("search-replace", "a.py")]),
        (block("`a.py`:", "", "x\n"), "diff-fenced", [("search-replace", "a.py")]),
        ("a.py\n<<<<<<< SEARCH\nx\n=======\n", "diff", []),
        (
            "a.py\n```\nx\n```\n\nb.py\n```\ny\n```",
            "whole",
            [("whole-file", "a.py"), ("whole-file", "b.py")],
        ),
        ("a.md\n```\n```js\nx\n```\n```", "whole", []),
        ("```diff\n--- a.py\n+++ a.py\n@@ @@\n x\n-y\n+z\n```", "udiff", [("udiff", "a.py")]),
        ("*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch", "patch", [("patch", None)]),
        ("Nothing to do.", "ask", []),
    ],
)
def test_edits_of_each_format(answer, edit_format, expected):
    found = find_edits(answer, edit_format)
    assert [(kind, arguments.get("path")) for kind, arguments in found] == expected


def replayed(record):
    return [(row["path"], row["ranges"]) for row in _changes(record)]


def _changes(record):
    from vacr.attribution.attribute import list_applied_changes

    return list_applied_changes(*replay_records([record]))


def test_new_file_is_attributed():
    messages = "> a.py  \n> Create new file? (Y)es/(N)o [Yes]: y  \n> Applied edit to a.py  \n"
    record = run(block("a.py", "", "x = 1\ny = 2\n"), messages)
    assert replayed(record) == [("a.py", [[1, 2]])]


def test_edit_that_was_not_applied_is_not_attributed():
    assert replayed(run(block("a.py", "", "x = 1\n"))) == []


def test_usage_is_counted_once():
    tokens = (
        "> Tokens: 3.2k sent, 2k cache hit, 81 received. Cost: $0.01 message, $0.02 session.  \n"
    )
    record = run("Done.", tokens * 2)
    usages = [e["token-usage"] for e in record["session"]["entries"] if "token-usage" in e]
    assert usages == [{"input": 3200, "cached": 2000, "output": 81, "cost": 0.01}]


# --- files beside the chat ---


def test_history_of_inputs_gives_the_time_of_an_input(tmp_path):
    homes.aider(tmp_path)
    typed = "\n# 2026-05-02 08:15:09.000123\n+The total is off by a cent.\n+\n+  - round it\n"
    (tmp_path / ".aider.input.history").write_text(typed)
    (tmp_path / ".aider.llm.history").write_bytes(
        (FIXTURES / "aider/aider-requests.txt").read_bytes()
    )
    first, second = [
        stranger(opened.reading) for opened in read_sessions(tmp_path / ".aider.chat.history.md")
    ]
    asked = [entry for entry in first["session"]["entries"] if entry["type"] == "user"]
    assert asked[0]["typed"] == "2026-05-02 08:15:09.000123"
    kept = {
        entry["data"]["name"]: entry["data"]["text"]
        for entry in second["session"]["entries"]
        if entry.get("event-type") == "attached-file"
    }
    assert kept[".aider.input.history"] == typed
    assert len(kept) == 2
    for record in (first, second):
        assert validate(record).findings == []


def test_log_of_requests_is_read_alone():
    data = (FIXTURES / "aider" / "aider-requests.txt").read_bytes()
    record = record_of(data)
    assert record["vacr"]["source"]["format"] == "aider-llm"
    request, answer = record["session"]["entries"]
    assert (request["event-type"], request["data"]["sent"]) == ("request", "2026-05-02T08:15:21")
    assert answer["content"] == [{"type": "text", "text": "I round it.\n\nDone."}]
    assert way_back.text(record) == data


def test_history_of_inputs_is_read_alone():
    data = (
        b"\n# 2026-05-02 08:15:09.000123\n+The total is off.\n+\n+# round it\n"
        b"\n# 2026-05-02 08:16:00.5\n+/exit\nodd \xff\n"
    )
    record = record_of(data)
    assert record["vacr"]["source"]["format"] == "aider-input"
    typed = [entry for entry in record["session"]["entries"] if entry["type"] == "user"]
    assert [entry["content"][0]["text"] for entry in typed] == [
        "The total is off.\n\n# round it",
        "/exit",
    ]
    assert typed[0]["typed"] == "2026-05-02 08:15:09.000123"
    assert typed[0]["vacr"]["speaker"] == "human"
    assert way_back.text(record) == data
    assert validate(record).findings == []


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_chat_of_the_current_project_is_listed(tmp_path, monkeypatch, system):
    homes.aider(tmp_path / "till")
    monkeypatch.chdir(tmp_path / "till")
    found = list(list_sessions("aider", homes.variables(tmp_path / "home", system), system))
    assert [session.title for session in found] == [
        "The total is off by a cent. - round it",
        "Write a note.",
    ]


def test_quoted_json_does_not_hide_a_chat():
    line = (FIXTURES.parent.parent / "examples" / "claude-code.jsonl").read_text().split("\n")[0]
    record = record_of((HEADING + ASKED + f"\n{line}\n\n").encode())
    assert record["session"]["agent-meta"]["cli-name"] == "aider"


def test_line_that_is_not_utf_8_is_kept_in_its_place():
    data = (HEADING + ASKED).encode() + b"\nbroken \xff\n" + ASKED.encode()
    record = record_of(data, "aider")
    assert way_back.text(record) == data
    assert [entry["type"] for entry in record["session"]["entries"]].count("user") == 2


def test_other_markdown_is_not_recognised():
    aider = find_agent("aider")
    assert aider.recognises(["# Notes\n\n#### aider chat started at noon\n"]) == 0
    assert aider.recognises([{"role": "user"}]) == 0
