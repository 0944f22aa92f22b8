"""Attribution from the tools and results of Cline."""

import json

import pytest

from tests.attribution.sessions import list_changes, read_records
from tests.conftest import FIXTURES
from vacr.agents.cline.tools import list_commands, parse_numbered_diff, parse_search_blocks

PATH = "/home/mira/app/a.py"
BEFORE = "one = 1\ntwo = 2\nthree = 3\n"
ENVIRONMENT = "<environment_details>\n# Current Working Directory (/home/mira/app) Files\n"


def changes_of(path):
    from vacr import read

    return list_changes(list(read(path)))


# --- the SDK ---


class Sdk:
    """A session of the SDK."""

    def __init__(self):
        self.messages = [{"role": "user", "content": "Go.", "ts": 1}]

    def call(self, name, arguments, *reports, text=False):
        number = len(self.messages)
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        output = json.dumps(reports[0]) if text else list(reports)
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
        self.messages += [
            {"role": "assistant", "content": [call], "ts": number + 1},
            {"role": "user", "content": [result], "ts": number + 2},
        ]

    def edit(self, result, *, success=True, **arguments):
        report = {"query": f"edit:{PATH}", "result": result, "success": success}
        self.call("editor", {"path": PATH, **arguments}, report, text=True)

    def changes(self, tmp_path):
        manifest = {"version": 1, "session_id": "s", "enable_spawn": True, "cwd": "/home/mira/app"}
        (tmp_path / "s.json").write_text(json.dumps(manifest))
        session = {"agent": "lead", "sessionId": "s", "messages": self.messages}
        return list_changes(read_records(tmp_path, json.dumps(session), "s.messages.json"))


@pytest.fixture
def sdk():
    session = Sdk()
    listing = "1 | one = 1\n2 | two = 2\n3 | three = 3"
    report = {"query": PATH, "result": listing, "success": True}
    session.call("read_files", {"files": [{"path": PATH}]}, report)
    return session


DIFF = f"Edited {PATH}\n```diff\n-2: two = 2\n+2: two = 20\n```"


def test_edit_has_the_lines_of_the_numbered_diff(sdk, tmp_path):
    sdk.edit(DIFF, old_text="two = 2", new_text="two = 20")
    assert [row[:2] for row in sdk.changes(tmp_path)] == [("a.py", [[2, 2]])]


def test_diff_places_an_edit_in_a_file_that_was_never_shown(tmp_path):
    sdk = Sdk()
    sdk.edit(DIFF, old_text="two = 2", new_text="two = 20")
    assert [row[:2] for row in sdk.changes(tmp_path)] == [("a.py", [[2, 2]])]


def test_created_file_is_whole(tmp_path):
    sdk = Sdk()
    sdk.edit(f"File created successfully at: {PATH}", new_text=BEFORE)
    assert [row[:2] for row in sdk.changes(tmp_path)] == [("a.py", [[1, 3]])]


def test_inserted_lines_have_their_place(sdk, tmp_path):
    sdk.edit(f"Inserted content at line 2 in {PATH}.", new_text="half = 0.5", insert_line=2)
    assert [row[:2] for row in sdk.changes(tmp_path)] == [("a.py", [[2, 2]])]


def test_failed_edit_changes_nothing(sdk, tmp_path):
    sdk.edit("", success=False, old_text="two = 2", new_text="two = 20")
    assert sdk.changes(tmp_path) == []


def test_commands_change_files(sdk, tmp_path):
    reports = [{"query": "x", "result": "", "success": True}] * 2
    sdk.call(
        "run_commands", {"commands": ["echo 'four = 4' >> a.py", "printf 'b\\n' > b.py"]}, *reports
    )
    assert [row[0] for row in sdk.changes(tmp_path)] == ["a.py", "b.py"]


def test_failed_command_writes_nothing_for_sure(sdk, tmp_path):
    report = {"query": "x", "result": "[Command exited with code 1]\n", "success": False}
    sdk.call("run_commands", {"commands": ["false && echo b > b.py"]}, report)
    assert [row for row in sdk.changes(tmp_path) if row[1]] == []


@pytest.mark.parametrize(
    "diff",
    [
        "-1: a\n+1: b\n-2: c\n+2: d",
        "-1: a\n... diff truncated (3 more removed, 0 more added lines) ...",
        "-1: a\n+3: b",
        "",
    ],
)
def test_diff_that_does_not_state_one_place_is_not_used(diff):
    assert parse_numbered_diff(f"Edited x\n```diff\n{diff}\n```") == []


def test_commands_are_found_in_every_form():
    assert list_commands({"commands": ["a", {"command": "b", "args": ["c d"]}]}) == [
        "a",
        "'b' 'c d'",
    ]
    assert list_commands({"command": "a"}) == list_commands({"cmd": "a"}) == list_commands("a")
    assert list_commands({"command": "a", "args": ["b"]}) == ["'a' 'b'"]
    assert list_commands({"commands": [5]}) == [None]


# --- the extension ---


def task(name, arguments, result):
    call = {"type": "tool_use", "id": "t1", "name": name, "input": arguments}
    head = f"[{name} for 'a.py'] Result:\n"
    return json.dumps(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<task>\nGo.\n</task>"},
                    {"type": "text", "text": ENVIRONMENT},
                ],
            },
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "text", "text": head + result}]},
        ]
    )


def task_changes(tmp_path, *call):
    return list_changes(read_records(tmp_path, task(*call), "api_conversation_history.json"))


def final(text, before="The content was successfully saved to a.py."):
    return f'{before}\n\n<final_file_content path="a.py">\n{text}\n</final_file_content>\n\nIMPORTANT: …'


BLOCK = "------- SEARCH\ntwo = 2\n=======\ntwo = 20\n+++++++ REPLACE"


def test_replacement_follows_from_the_final_file(tmp_path):
    after = BEFORE.replace("two = 2", "two = 20")
    changes = task_changes(
        tmp_path, "replace_in_file", {"path": "a.py", "diff": BLOCK}, final(after)
    )
    assert changes == [("a.py", [[2, 2]], "recorded")]


def test_replacement_in_a_windows_file(tmp_path):
    after = BEFORE.replace("two = 2", "two = 20").replace("\n", "\r\n")
    changes = task_changes(
        tmp_path, "replace_in_file", {"path": "a.py", "diff": BLOCK}, final(after)
    )
    assert changes == [("a.py", [[2, 2]], "recorded")]


def test_lines_that_the_editor_formatted_elsewhere_are_not_claimed(tmp_path):
    after = BEFORE.replace("two = 2", "two = 20").replace("three = 3", "three  =  3")
    changes = task_changes(
        tmp_path, "replace_in_file", {"path": "a.py", "diff": BLOCK}, final(after)
    )
    assert changes == [("a.py", [[2, 2]], "recorded")]


def test_write_counts_as_it_was_saved(tmp_path):
    arguments = {"path": "a.py", "content": "one=1\n"}
    changes = task_changes(tmp_path, "write_to_file", arguments, final("one = 1\n"))
    assert changes == [("a.py", [[1, 1]], "recorded")]


@pytest.mark.parametrize("name", ["write_to_file", "replace_in_file"])
def test_refused_edit_changes_nothing(tmp_path, name):
    arguments = {"path": "a.py", "content": "one = 1\n", "diff": BLOCK}
    denied = "The user denied this operation. The file was not updated."
    assert task_changes(tmp_path, name, arguments, denied) == []


def test_edit_that_the_user_changed_is_mixed():
    records = FIXTURES / "cline" / "tasks" / "1790000000123" / "api_conversation_history.json"
    from tests.attribution.sessions import find_contributors
    from vacr import read

    (record,) = list(read(records))[:1]
    who = find_contributors(record)
    assert who["prices.py", 2]["type"] == "mixed"
    assert who["total.py", 2]["type"] == "ai"
    assert ("total.py", 1) not in who


def test_xml_calls_are_attributed():
    changes = changes_of(FIXTURES / "cline" / "task-xml.json")
    assert changes == [("hello.py", [[1, 1]], "recorded"), ("hello.py", [[1, 1]], "recorded")]


def test_search_blocks_of_all_versions():
    roo = "<<<<<<< SEARCH\n:start_line:2\n-------\nold\n=======\nnew\n>>>>>>> REPLACE"
    (edit,) = parse_search_blocks(roo)
    assert (edit.old, edit.new) == ("old\n", "new\n")
    (edit,) = parse_search_blocks("------- SEARCH\n=======\nnew\n+++++++ REPLACE\n")
    assert (edit.old, edit.new) == ("", "new\n")
    assert parse_search_blocks("------- SEARCH\nold\n=======\nnew") is None
    assert parse_search_blocks("no block") == []
