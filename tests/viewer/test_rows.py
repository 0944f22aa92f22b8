"""A record as rows: every entry has a row, and a call includes its result."""

import pytest

import vacr
from tests.conftest import COMPANIONS, EXAMPLES, FIXTURES
from vacr.viewer.call_summaries import summarise_tool_call
from vacr.viewer.content import TextPart
from vacr.viewer.diffs import FileDiff, build_diffs, format_changes
from vacr.viewer.rows import (
    ASSISTANT_ROW,
    EVENT_ROW,
    PROMPTS,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    RowFilter,
    build_rows,
)
from vacr.viewer.terminal import BRIEF_DETAIL, DETAIL_LEVELS, FULL_DETAIL, RowFormatter
from vacr.viewer.totals import Totals, count_totals

FILES = sorted(
    path
    for folder in (EXAMPLES, FIXTURES)
    for path in folder.rglob("*.json*")
    if path.is_file() and "storage" not in path.parts and not path.name.endswith(COMPANIONS)
)


def name_agent(path):
    """Return the agent to name for a file; None if vacr recognises the file by itself."""
    return "generic" if path.parent.name == "generic" else None


def walk_entries(entries):
    for entry in entries:
        yield entry
        yield from walk_entries(entry.get("children", ()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_entry_is_in_a_row(path):
    for record in vacr.read(path, agent=name_agent(path)):
        rows = list(build_rows(record))
        parts = [part for row in rows for part in (row, row.result) if part is not None]
        places = [part.place for part in parts]
        assert len(set(places)) == len(places)
        shown = {id(part.entry) for part in parts}
        for entry in walk_entries(record["session"]["entries"]):
            children_have_rows = entry["type"] in (
                USER_ROW,
                ASSISTANT_ROW,
                REASONING_ROW,
            ) and entry.get("children")
            assert id(entry) in shown or children_have_rows, entry
        for detail in DETAIL_LEVELS:
            for row in rows:
                for line in RowFormatter(detail, events=True).lines(row):
                    assert "\n" not in line.text
                    assert "\x1b" not in line.text
        assert count_totals(record).entries == len(list(walk_entries(record["session"]["entries"])))


def test_rows_of_the_example_session():
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    rows = [row for row in build_rows(record) if row.kind != EVENT_ROW]
    assert [row.kind for row in rows].count(USER_ROW) == 1
    calls = [row for row in rows if row.kind == TOOL_ROW]
    assert [(row.tool, row.is_error, len(row.diffs)) for row in calls] == [
        ("Read", False, 0),
        ("Edit", False, 1),
        ("Bash", True, 0),
        ("Edit", False, 1),
    ]
    assert all(row.result is not None and row.model == "claude-opus-4-6" for row in calls)
    assert calls[2].summary == "python -m pytest -q"
    assert calls[1].diffs[0].lines[1][0] == "-"
    (failed,) = RowFilter(errors=True).chosen(rows)
    assert failed is calls[2]
    assert [row.tool for row in RowFilter(tools=frozenset({"Edit"})).chosen(rows)] == [
        "Edit",
        "Edit",
    ]
    assert list(RowFilter(text="QUANTIZE").chosen(rows)) == [calls[1]]
    assert list(RowFilter(names=frozenset({calls[1].place})).chosen(rows)) == [calls[1]]
    text = [line.text for row in rows for line in RowFormatter(FULL_DETAIL).lines(row)]
    assert any("NameError" in line for line in text)
    assert sum(len(list(RowFormatter(BRIEF_DETAIL).lines(row))) for row in calls) == len(calls)


def test_totals_add_up():
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    one = count_totals(record)
    assert (one.prompts, one.calls, one.errors, one.added, one.removed) == (1, 4, 1, 6, 1)
    assert one.tokens["output"] == one.models["claude-opus-4-6"] == 606
    both = one + one
    assert (both.sessions, both.calls, both.tools["Edit"], both.milliseconds) == (
        2,
        8,
        4,
        2 * one.milliseconds,
    )
    assert Totals() + one == one


def build_prompt(content, **labels):
    return {"type": "user", "content": content, "vacr": labels}


def show(*entries, detail="normal"):
    """Return the lines that a terminal shows, without empty ones."""
    formatter = RowFormatter(detail)
    rows = build_rows({"session": {"entries": list(entries)}})
    return [line.text for row in rows for line in formatter.lines(row) if line.text]


@pytest.mark.parametrize(
    ("speaker", "heading", "prompts"),
    [
        ("human", "User", 1),
        ("unknown", "User (author unknown)", 1),
        ("host", "Host", 0),
        ("hook", "Hook", 0),
        ("parent-agent", "Parent agent", 0),
    ],
)
def test_the_label_tells_who_spoke(speaker, heading, prompts):
    entry = build_prompt("Go on", speaker=speaker)
    assert show(entry) == [heading, "  Go on"]
    assert count_totals({"session": {"entries": [entry]}}).prompts == prompts


def test_text_of_the_host_is_left_out_of_a_brief_view():
    host, person = build_prompt("Be brief.", speaker="host"), build_prompt("Hi", speaker="human")
    assert show(host, person, detail="brief") == ["User", "  Hi"]


def test_a_wrapped_prompt_is_shown_in_the_persons_words():
    entry = build_prompt("<command-name>/review</command-name>", speaker="human", prompt="/review")
    assert show(entry) == ["User", "  /review"]
    assert show(entry, detail="full") == ["User", "  <command-name>/review</command-name>"]


def test_an_older_mark_tells_the_text_of_the_host():
    entries = [
        {"type": "user", "content": "Base directory for this skill", "isMeta": True},
        {"type": "user", "content": "Go on"},
    ]
    assert show(*entries) == ["Host", "  Base directory for this skill", "User", "  Go on"]
    assert count_totals({"session": {"entries": entries}}).prompts == 1


def build_call(call_id, command):
    return {"type": "tool-call", "call-id": call_id, "name": "Bash", "input": {"command": command}}


def build_run(command, code=None, **members):
    """Return a call of a shell, and its result."""
    result = {"type": "tool-result", "call-id": "c", "output": "", **members}
    if code is not None:
        result["vacr"] = {"exit-code": code}
    return build_call("c", command), result


@pytest.mark.parametrize(
    ("run", "line", "errors"),
    [
        (build_run("make", 2, status="error", **{"is-error": True}), "  → Bash make ✗ exit 2", 1),
        (build_run("make", 0, status="success", **{"is-error": False}), "  → Bash make", 0),
        (
            build_run("grep x f", 1, status="error", **{"is-error": True}),
            "  → Bash grep x f exit 1, no match",
            0,
        ),
        (
            build_run("cd a && grep x f", 1, status="error", **{"is-error": True}),
            "  → Bash cd a && grep x f ✗ exit 1",
            1,
        ),
        (build_run("rm x", status="denied", **{"is-error": True}), "  → Bash rm x ✗ denied", 1),
        (build_run("serve", status="running"), "  → Bash serve running", 0),
        (build_run("ls"), "  → Bash ls", 0),
    ],
)
def test_a_call_shows_how_it_ended(run, line, errors):
    meta = {"cli-name": "claude-code"}
    record = {"session": {"agent-meta": meta, "entries": list(run)}}
    [row] = build_rows(record)
    assert next(iter(RowFormatter().lines(row))).text == line
    assert count_totals(record).errors == errors


def test_a_failed_edit_changes_no_file():
    call = {
        "type": "tool-call",
        "name": "Edit",
        "call-id": "c",
        "input": {"file_path": "/a", "old_string": "x", "new_string": "y"},
    }
    result = {"type": "tool-result", "call-id": "c", "output": "no", "is-error": True}
    session = {"agent-meta": {"cli-name": "claude-code"}, "entries": [call, result]}
    totals = count_totals({"session": session})
    assert (totals.added, totals.removed, len(totals.files)) == (0, 0, 0)
    assert totals.outcomes == {"unknown": 1}


def test_result_without_a_call_and_call_without_a_result_have_rows():
    entries = [
        {"type": "tool-result", "call-id": "x", "output": "late"},
        {"type": "tool-call", "call-id": "y", "name": "Bash", "input": {"command": "sleep 9"}},
    ]
    late, pending = build_rows({"session": {"entries": entries}})
    assert (late.tool, late.parts) == ("", [TextPart("late")])
    assert (pending.tool, pending.result) == ("Bash", None)
    assert [line.text for line in RowFormatter().lines(pending)] == ["  → Bash sleep 9 no result"]


def test_refused_call_without_a_result_has_failed():
    call = {"type": "tool-call", "call-id": "y", "name": "Bash", "input": {"command": "rm a"}}
    session = {"entries": [{**call, "vacr": {"status": "denied"}}]}
    [row] = build_rows({"session": session})
    assert [line.text for line in RowFormatter().lines(row)] == ["  → Bash rm a ✗ denied"]
    assert count_totals({"session": session}).failed_calls == 1


@pytest.mark.parametrize(
    ("members", "lines"),
    [
        (
            {"stop-reason": "error", "message": {"errorMessage": "401 Invalid token"}},
            ["  failed: 401 Invalid token"],
        ),
        ({"stop-reason": "error"}, ["  failed"]),
        ({"isApiErrorMessage": True, "content": "API error"}, ["  API error", "  failed"]),
    ],
)
def test_answer_that_failed_is_a_failure(members, lines):
    session = {"entries": [{"type": "assistant", "content": [], **members}]}
    [row] = build_rows({"session": session})
    assert row.is_error
    assert [line.text for line in RowFormatter().lines(row)] == ["", "Assistant", *lines]
    totals = count_totals({"session": session})
    assert (totals.errors, totals.failed_calls) == (1, 0)


def test_plan_is_summarised_by_its_progress():
    steps = [{"step": "Read", "status": "completed"}, {"step": "Fix", "status": "pending"}]
    assert summarise_tool_call("update_plan", {"plan": steps}) == "1 of 2 done: Fix"
    assert summarise_tool_call("update_plan", {"plan": steps[:1]}) == "1 of 1 done"
    assert summarise_tool_call("x", {"plan": ["a"]}) == '{"plan":["a"]}'


@pytest.mark.parametrize(
    ("tool", "arguments", "summary"),
    [
        (
            "read_files",
            {"files": [{"path": "a.py", "start_line": 1}, {"path": "b.py"}]},
            "a.py, b.py",
        ),
        ("run_commands", {"commands": ["ls a", {"command": "ls b"}]}, "ls a, ls b"),
        ("fetch", {"urls": ["https://example.org/"]}, "https://example.org/"),
        ("ask", {"questions": [{"question": "Which one?", "options": []}]}, "Which one?"),
        ("x", {"files": [{"size": 1}]}, '{"files":[{"size":1}]}'),
        ("x", {"files": []}, '{"files":[]}'),
    ],
)
def test_call_with_a_list_is_summarised_by_its_items(tool, arguments, summary):
    assert summarise_tool_call(tool, arguments) == summary


@pytest.mark.parametrize(
    "members", [{"agentId": "helper"}, {"data": {"parentToolCallId": "helper"}}]
)
def test_sub_agent_in_the_file_of_its_session_is_named(members):
    entries = [build_call("t1", "ls") | members, {"type": "assistant", "content": "Hi."} | members]
    session = {"agent-meta": {"cli-name": "copilot"}, "entries": entries}
    assert [row.agent for row in build_rows({"session": session})] == ["helper", "helper"]
    session["agent-meta"]["cli-name"] = "parrot"
    assert [row.agent for row in build_rows({"session": session})] == ["", ""]


EDITORS = [("openhands", "file_editor"), ("swe-agent", "str_replace_editor")]
EDITORS += [("copilot", "str_replace_editor"), ("goose", "developer__text_editor")]


@pytest.mark.parametrize(("agent", "tool"), EDITORS)
def test_editor_with_commands_is_summarised_by_command_and_path(agent, tool):
    call = {"type": "tool-call", "name": tool, "input": {"command": "view", "path": "/w/a.py"}}
    session = {"agent-meta": {"cli-name": agent}, "entries": [call]}
    [row] = build_rows({"session": session})
    assert (row.summary, row.diffs) == ("view /w/a.py", [])
    edit = {"command": "str_replace", "path": "/w/a.py", "old_str": "a", "new_str": "b"}
    if agent != "goose":
        [diff] = build_diffs(agent, tool, edit)
        assert (diff.path, diff.kind, diff.lines) == ("/w/a.py", "edit", ["@@", "-a", "+b"])
    insert = {"command": "insert", "path": "/w/a.py", "insert_line": 3, "new_str": "b"}
    [diff] = build_diffs(agent, tool, insert)
    assert (diff.kind, diff.lines) == ("edit", ["+b"])


@pytest.mark.parametrize(
    ("old", "kind", "lines"),
    [("a\n", "edit", ["@@", "-a", "+b"]), (None, "write", ["+b"]), ("", "write", ["+b"])],
)
def test_change_that_only_the_result_shows_is_a_diff(old, kind, lines):
    shown = {"type": "diff", "path": "/w/a.py", "oldText": old, "newText": "b\n"}
    call = {"type": "tool-call", "name": "edit", "input": None, "call-id": "c"}
    entries = [call, build_result("c", [shown])]
    session = {"agent-meta": {"cli-name": "acp"}, "entries": entries}
    [row] = build_rows({"session": session})
    assert [(diff.path, diff.kind, diff.lines) for diff in row.diffs] == [("/w/a.py", kind, lines)]


def test_separator_stands_before_each_hunk():
    old = [f"line {number}" for number in range(1, 31)]
    new = ["first", *old[1:-1], "last"]
    arguments = {"file_path": "a.py", "old_string": "\n".join(old), "new_string": "\n".join(new)}
    [diff] = build_diffs("claude-code", "Edit", arguments)
    start = ["@@", "-line 1", "+first", " line 2", " line 3", " line 4"]
    end = ["@@", " line 27", " line 28", " line 29", "-line 30", "+last"]
    assert diff.lines == [*start, *end]
    assert (diff.added, diff.removed) == (2, 2)


def test_file_that_cline_creates_is_shown():
    created = {"path": "/w/a.py", "new_text": "x = 1\ny = 2\n"}
    [diff] = build_diffs("cline", "editor", created)
    assert (diff.path, diff.kind, diff.lines) == ("/w/a.py", "write", ["+x = 1", "+y = 2"])
    [diff] = build_diffs("cline", "editor", {**created, "insert_line": 2})
    assert (diff.kind, diff.lines) == ("edit", ["+x = 1", "+y = 2"])


def build_result(call_id, output):
    return {"type": "tool-result", "call-id": call_id, "output": output}


def list_pairs(entries):
    """Return the command and the output of each row."""
    return [
        (row.summary, row.result.parts[0].text if row.result else None)
        if row.tool
        else (None, row.parts[0].text)
        for row in build_rows({"session": {"entries": entries}})
    ]


def test_calls_that_share_an_id_have_their_own_results():
    first, second = build_call("x", "one"), build_call("x", "two")
    entries = [first, build_result("x", "1"), second, build_result("x", "2")]
    assert list_pairs(entries) == [("one", "1"), ("two", "2")]
    assert list_pairs([first, second, build_result("x", "2")]) == [("one", None), ("two", "2")]
    entries = [build_result("x", "1"), first, second, build_result("x", "2")]
    assert list_pairs(entries) == [("one", "1"), ("two", "2")]


def test_first_result_of_a_call_is_in_its_row():
    call, first, second = build_call("x", "one"), build_result("x", "1"), build_result("x", "2")
    assert list_pairs([call, first, second]) == [("one", "1"), (None, "2")]
    assert list_pairs([first, call, second]) == [("one", "1"), (None, "2")]
    assert list_pairs([first, second, call]) == [(None, "2"), ("one", "1")]


def test_diff_of_distant_changes_in_a_huge_edit_keeps_its_context():
    before = [f"l{number}" for number in range(3000)]
    after = list(before)
    after[10] = after[2990] = "new"
    arguments = {
        "file_path": "/a",
        "old_string": "\n".join(before),
        "new_string": "\n".join(after),
    }
    (diff,) = build_diffs("claude-code", "Edit", arguments)
    assert diff.lines == [
        "@@",
        *(f" {line}" for line in before[7:10]),
        *(f"-{line}" for line in before[10:2991]),
        *(f"+{line}" for line in after[10:2991]),
        *(f" {line}" for line in before[2991:2994]),
    ]
    assert (diff.added, diff.removed) == (2981, 2981)


def test_diff_of_a_huge_edit_is_fast():
    old, new = (
        "\n".join(
            line for number in range(20_000) for line in (f"same {number}", f"{which} {number}")
        )
        for which in "ab"
    )
    (diff,) = build_diffs(
        "claude-code", "Edit", {"file_path": "f", "old_string": old, "new_string": new}
    )
    # A comparison line by line would take minutes. Only the first line is common to the start of both.
    assert diff.lines[:3] == ["@@", " same 0", "-a 0"]
    assert (diff.removed, diff.added) == (39_999, 39_999)
    (diff,) = build_diffs(
        "claude-code", "Edit", {"file_path": "f", "old_string": old, "new_string": f"{old}\nmore"}
    )
    assert (diff.removed, diff.added, len(diff.lines)) == (0, 1, 5)


ORDERS = [
    (None, "think text run end"),
    (["children/0", "content/0", "children/1", "children/3"], "think text run end"),
    (["children/0", "children/1", "content/0", "children/3"], "think run text end"),
    (["children/0", "children/1", "children/3", "content"], "think run end text"),
    (["content/0", "children/0", "content/1", "children/1", "children/3"], "text think run end"),
    (["children/0", "children/1", "children/3"], "think text run end"),
    (["content/0", "children/99"], "think run end text"),
    ([5, None, "children/x", "content/0", "children/-1", "children/1"], "think text run end"),
    ("content/0", "think text run end"),
]


def build_ordered_message(order):
    children = [
        {"type": "reasoning", "content": "think"},
        {"type": "tool-call", "name": "run", "input": {}, "call-id": "x"},
        build_result("x", "1"),
        {"type": "system-event", "event-type": "end", "data": {}},
    ]
    marks = {} if order is None else {"vacr": {"order": order}}
    text = {"type": "text", "text": "text"}
    return {"type": "assistant", "content": [text], "children": children, **marks}


@pytest.mark.parametrize(("order", "expected"), ORDERS)
def test_rows_of_a_message_come_in_the_native_order(order, expected):
    rows = list(build_rows({"session": {"entries": [build_ordered_message(order)]}}))
    shown = [row.tool or row.summary or row.parts[0].text for row in rows]
    assert " ".join(shown) == expected
    places = {"text": "", "think": "/children/0", "run": "/children/1", "end": "/children/3"}
    assert [row.place for row in rows] == [f"/session/entries/0{places[name]}" for name in shown]


def test_text_before_a_thought_in_the_content_stays_first():
    message = build_ordered_message(None)
    message["content"].append({"type": "thinking", "thinking": "think"})
    rows = build_rows({"session": {"entries": [message]}})
    assert [row.kind for row in rows][:2] == [ASSISTANT_ROW, REASONING_ROW]


def list_shown_texts(*entries, detail="normal"):
    """Return the lines of a conversation in a terminal, without empty ones."""
    rows = build_rows({"session": {"entries": list(entries)}})
    conversation = RowFormatter(detail).conversation(rows)
    return [line.text for lines in conversation for line in lines if line.text]


def test_call_after_a_prompt_has_a_heading_of_the_model():
    call = {**build_call("c", "ls"), "model-id": "m-1"}
    event = {"type": "system-event", "event-type": "turn", "data": {}}
    lines = list_shown_texts(build_prompt("Go", speaker="human"), event, call, call)
    assert lines == [
        "User",
        "  Go",
        "Assistant (m-1)",
        "  → Bash ls no result",
        "  → Bash ls no result",
    ]
    thought = {"type": "reasoning", "content": "Hm"}
    assert list_shown_texts(thought, call)[2:3] == ["Assistant (m-1)"]
    answer = {"type": "assistant", "content": "I look."}
    assert list_shown_texts(answer, call) == ["Assistant", "  I look.", "  → Bash ls no result"]
    assert list_shown_texts(answer, thought, call, detail="brief")[2] == "  → Bash ls no result"


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"data": {"message": "Quota\nexceeded"}}, ": Quota exceeded"),
        ({"data": {"error": {"data": {"message": "overloaded"}}}}, ": overloaded"),
        ({"data": {"content": "[API Error]"}}, ": [API Error]"),
        ({"message": "stopped"}, ": stopped"),
        ({"data": {"status": 529}}, ""),
    ],
)
def test_error_event_shows_its_message(members, reason):
    event = {"type": "system-event", "event-type": "api_error", **members}
    assert show(event) == [f"· api_error{reason}"]


def test_error_events_are_not_failed_calls():
    event = {"type": "system-event", "event-type": "error", "data": {}}
    failed = build_run("make", 2, status="error", **{"is-error": True})
    totals = count_totals({"session": {"entries": [event, *failed]}})
    assert (totals.errors, totals.failed_calls, totals.error_events) == (2, 1, 1)


def build_edit(path):
    return {
        "type": "tool-call",
        "name": "Edit",
        "call-id": path,
        "input": {"file_path": path, "old_string": "x", "new_string": "y"},
    }


def test_relative_and_absolute_path_are_one_file():
    session = {
        "agent-meta": {"cli-name": "claude-code"},
        "environment": {"working-dir": "/home/mira/invoice"},
        "entries": [build_edit("total.py"), build_edit("/home/mira/invoice/total.py")],
    }
    assert count_totals({"session": session}).files == {"/home/mira/invoice/total.py": 2}


def test_deleted_file_is_shown_as_deleted():
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
    call = {"type": "tool-call", "name": "apply_patch", "call-id": "c", "input": patch}
    session = {"agent-meta": {"cli-name": "codex-cli"}, "entries": [call]}
    [row] = build_rows({"session": session})
    assert "(deleted)" in next(iter(RowFormatter().lines(row))).text
    assert len(count_totals({"session": session}).files) == 1


@pytest.mark.parametrize(
    ("diffs", "text"),
    [
        ([FileDiff("a", "edit", ["+x"] * 1536 + ["-y"] * 89)], "+1,536 -89"),
        ([FileDiff("a", "edit", ["+x", "+y"])], "+2"),
        ([FileDiff("a", "edit", ["-x"])], "-1"),
        ([FileDiff("a", "add", [])], "+0"),
        ([FileDiff("a", "delete", [])], "deleted"),
        ([FileDiff("a", "delete", ["-x"])], "deleted, -1"),
        ([FileDiff("a", "delete", []), FileDiff("b", "add", ["+x"])], "+1, 1 deleted"),
        ([FileDiff("a", "delete", []), FileDiff("b", "delete", [])], "2 deleted"),
    ],
)
def test_changes_of_diffs_are_summed(diffs, text):
    assert format_changes(diffs) == text


def test_prompt_filter_leaves_out_text_of_the_host():
    entries = [build_prompt("Be brief.", speaker="host"), build_prompt("Hi", speaker="human")]
    rows = build_rows({"session": {"entries": entries}})
    [row] = RowFilter(kinds=frozenset({PROMPTS})).chosen(rows)
    assert row.speaker == "human"


def test_one_hidden_line_is_singular():
    thought = {"type": "reasoning", "content": "\n".join("abcdefghijklm")}
    assert show(thought)[-1].strip() == "… 1 more line"


def test_attached_file_is_shown_by_its_name_and_text():
    block = {"type": "file", "path": "/w/a.py", "content": "x = 1\n"}
    [row] = build_rows({"session": {"entries": [{"type": "user", "content": [block]}]}})
    lines = [line.text for line in RowFormatter().lines(row)]
    assert lines == ["", "User", "  [file /w/a.py]", "  x = 1"]
