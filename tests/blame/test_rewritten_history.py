"""Blame after each way to rewrite history, and of lines that only look like an agent's."""

import json

import pytest

from tests.blame.made_history import MadeHistory, join_lines


@pytest.fixture
def history(tmp_path):
    return MadeHistory(tmp_path / "repo")


def list_types(history, path="app.py"):
    """Return the type of each line of a file, by its text without blanks around it."""
    return {line.text.strip(): line.type for line in history.blame_file(path)}


def find_types(history, lines, path="app.py"):
    """Return the types of some lines of a file."""
    types = list_types(history, path)
    return {types[line.strip()] for line in lines}


def list_recorded_lines(history, path="app.py"):
    """Return the lines of a file that are an agent's by a patch that its host recorded."""
    return [
        line.text
        for line in history.blame_file(path)
        if line.blame is not None and line.type == "ai" and line.blame.claim.evidence == "recorded"
    ]


@pytest.fixture
def work(history):
    """Return a history with a commit of lines of a person, then a commit of lines of an agent."""
    history.tick()
    typed = history.make_lines(3)
    history.person_inserts("app.py", 2, typed)
    history.commit("Typed")
    history.tick()
    written = history.make_lines(4)
    assert history.agent_inserts("app.py", 4, written)
    history.tick(0)
    history.commit("Written")
    return history, typed, written


def test_rebase_with_new_dates_keeps_the_writers(work):
    history, typed, written = work
    history.tick(86_400)
    history.git("rebase", "-q", "--no-ff", "HEAD~2")
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


def test_old_lines_in_a_rewritten_file_stay_a_persons_after_a_rebase(history):
    """The agent's call contains lines that are older than it, in commits that look newer."""
    typed = history.make_lines(3)
    history.tick()
    history.person_inserts("app.py", 2, typed)
    history.commit("Typed")
    history.tick()
    written = history.make_lines(3)
    history.agent_rewrites("app.py", written)
    history.commit("Written")
    history.tick(86_400)
    history.git("rebase", "-q", "--no-ff", "HEAD~2")
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


def test_rebase_with_dates_of_authors_keeps_the_writers(work):
    history, typed, written = work
    history.tick(86_400)
    history.git("rebase", "-q", "--no-ff", "--committer-date-is-author-date", "HEAD~2")
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


def test_call_after_the_date_of_an_amended_commit_proves_nothing(work):
    """An amended commit keeps its author's date, and a rebase makes it the committer's."""
    history, _, written = work
    history.tick(3600)
    later = history.make_lines(3)
    assert history.agent_inserts("app.py", 0, later)
    history.commit("Written", "--amend", "--no-edit")
    assert find_types(history, [*written, *later]) == {"ai"}
    history.git("rebase", "-q", "--no-ff", "--committer-date-is-author-date", "HEAD~2")
    assert find_types(history, later) == {"unknown"}
    assert history.list_wrong_answers() == []


def test_squash_keeps_the_writers(work):
    history, typed, written = work
    history.tick()
    history.git("reset", "-q", "--soft", "HEAD~2")
    history.commit("Squashed")
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


def test_cherry_pick_keeps_the_writers(work):
    history, typed, written = work
    history.tick()
    picked = history.git("rev-parse", "HEAD")
    history.git("checkout", "-q", "-b", "other", "HEAD~1")
    history.person_writes("notes.py", history.make_lines(2))
    history.commit("Notes")
    history.git("cherry-pick", picked)
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


def test_merge_keeps_the_writers(work):
    history, typed, written = work
    history.tick()
    history.git("checkout", "-q", "-b", "other", "HEAD~1")
    merged = history.make_lines(2)
    history.person_inserts("app.py", 0, merged)
    history.commit("Other")
    history.tick()
    history.git("merge", "-q", "--no-ff", "--no-edit", "main")
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, [*typed, *merged])
    assert history.list_wrong_answers() == []


def test_move_keeps_the_writers(work):
    history, typed, written = work
    history.tick()
    history.git("mv", "app.py", "moved.py")
    history.commit("Moved")
    assert find_types(history, written, "moved.py") == {"ai"}
    assert "ai" not in find_types(history, typed, "moved.py")
    assert history.list_wrong_answers() == []


def test_formatter_in_a_hook_keeps_the_writers(history):
    history.tick()
    history.add_reindent_hook()
    typed, written = history.make_lines(3), history.make_lines(4)
    history.person_inserts("app.py", 2, typed)
    assert history.agent_inserts("app.py", 0, written)
    history.commit("Both")
    assert all(line.startswith("\t") for line in history.read("app.py"))
    assert find_types(history, written) == {"ai"}
    assert "ai" not in find_types(history, typed)
    assert history.list_wrong_answers() == []


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("""s/'/"/g""", "ai"),
        ("""s/$/;/; s/'/"/g; s/^    /  /""", "ai"),
        ("s/find_/FIND_/", "mixed"),
    ],
    ids=["quotes", "quotes and ends", "case"],
)
def test_formatter_in_a_hook_that_changes_letters_keeps_the_writers(history, program, expected):
    history.tick()
    history.add_hook(program)
    typed, written = history.make_lines(3), history.make_lines(4)
    history.person_inserts("app.py", 2, typed)
    assert history.agent_inserts("app.py", 0, written)
    history.tick()
    history.commit("Both")
    types = {line.text.split(" ")[-3].strip(): line.type for line in history.blame_file("app.py")}
    assert {types[line.split(" ")[-3]] for line in written} == {expected}
    assert {types[line.split(" ")[-3]] for line in typed} == {"unknown"}


def test_two_sessions_and_a_person_share_a_file(history):
    history.tick()
    blocks = {}
    for writer in ("one", "person", "two", "person", "one", "two"):
        lines = history.make_lines(3, idiom=1)
        if writer == "person":
            history.person_inserts("app.py", 3, lines)
        else:
            assert history.agent_inserts("app.py", 2, lines, writer)
        blocks.setdefault(writer, []).extend(line for line in lines if "line_" in line)
        history.tick()
    history.commit("All")
    assert find_types(history, blocks["one"] + blocks["two"]) == {"ai"}
    assert "ai" not in find_types(history, blocks["person"])
    assert history.list_wrong_answers() == []


def test_agent_keeps_its_lines_beside_lines_of_a_person(history):
    """The agent replaces a person's lines one by one, and reads the file in between."""
    history.agent().look("app.py")
    history.tick()
    history.person_inserts("app.py", 0, history.make_lines(2), drop=1)
    history.tick()
    first, second = history.make_lines(2), history.make_lines(2)
    assert history.agent_inserts("app.py", 0, first, drop=True)
    history.tick()
    history.person_inserts("app.py", 7, history.make_lines(1))
    history.tick()
    assert history.agent_inserts("app.py", 2, second, drop=True)
    history.commit("All")
    assert find_types(history, [*first, *second]) == {"ai"}


@pytest.mark.parametrize("inserted_by", ["person", "two"])
def test_line_cut_off_from_its_block_is_found(history, inserted_by):
    history.tick()
    written, inserted = history.make_lines(4), history.make_lines(3)
    history.agent_writes("billing.py", written)
    history.tick()
    if inserted_by == "person":
        history.person_inserts("billing.py", 1, inserted)
    else:
        assert history.agent_inserts("billing.py", 0, inserted, inserted_by)
    history.commit("Both")
    assert find_types(history, written, "billing.py") == {"ai"}
    assert history.list_wrong_answers() == []


# --- lines that only look like an agent's ---


def test_reverted_edit_does_not_claim_what_a_person_typed_later(history):
    history.tick()
    lines = history.make_lines(3)
    assert history.agent_inserts("app.py", 2, lines)
    history.tick()
    assert history.agent_takes_back("app.py", lines)
    history.tick()
    history.person_inserts("app.py", 4, lines)
    history.commit("Typed")
    assert "ai" not in find_types(history, lines)
    assert list_recorded_lines(history) == []


def test_plan_that_a_person_copied_is_no_record_of_the_file(history):
    history.tick()
    lines = history.make_lines(4)
    plan = ["# Plan", "", "Add this to app.py:", "", *lines]
    history.agent().write("../plans/plan.md", join_lines(plan))
    history.tick()
    history.person_inserts("app.py", 2, lines)
    history.commit("Typed")
    assert "ai" not in find_types(history, lines)
    assert list_recorded_lines(history) == []


@pytest.mark.parametrize("path", ["../other/billing.py", "../other/src/billing.py"])
def test_file_of_another_project_does_not_claim_a_file_of_this_one(history, path):
    history.tick()
    lines = history.make_lines(4)
    history.agent().write(path, join_lines(lines))
    history.tick()
    history.person_writes("billing.py", lines)
    history.commit("Typed")
    assert "ai" not in find_types(history, lines, "billing.py")
    assert list_recorded_lines(history, "billing.py") == []


REJECTION = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)


@pytest.mark.parametrize("native", [None, "User rejected tool use"], ids=["no report", "report"])
def test_rejected_call_without_an_error_mark_claims_nothing(history, native):
    history.tick()
    agent, lines = history.agent(), history.make_lines(3)
    agent.look("app.py")
    anchor = history.read("app.py")[1]
    arguments = {
        "file_path": str(history.folder / "app.py"),
        "old_string": f"{anchor}\n",
        "new_string": join_lines([anchor, *lines]),
    }
    agent.call("Edit", arguments, REJECTION, native)
    history.tick()
    history.person_inserts("app.py", 2, lines)
    history.commit("Typed")
    assert "ai" not in find_types(history, lines)
    assert list_recorded_lines(history) == []


def test_write_whose_result_is_only_ok_is_not_recorded(history):
    """The answer does not say that the file was written; here a person typed it instead."""
    history.tick()
    agent, lines = history.agent(), history.make_lines(3)
    path = str(history.folder / "billing.py")
    agent.call("Write", {"file_path": path, "content": join_lines(lines)}, "ok")
    history.tick()
    history.person_writes("billing.py", lines)
    history.commit("Typed")
    assert list_recorded_lines(history, "billing.py") == []


def test_idiom_of_an_agent_does_not_claim_the_idiom_of_a_person(history):
    for idiom in range(6):
        history.tick()
        history.person_inserts("app.py", 2, history.make_lines(2, idiom))
        history.commit("Typed")
        history.agent_rewrites("app.py", history.make_lines(2, idiom))
        history.commit("Written")
    assert history.list_wrong_answers() == []


COMMON_LINES = [
    "    for name, value in sorted(settings.items()):",
    "        if value is None:",
    "            continue",
    "        result[name] = str(value)",
    "    return result",
]


def test_five_common_lines_that_a_person_typed_again_are_not_an_agents(history):
    """The agent's block never reached the history: a person took it back unseen."""
    for name in ("a", "b", "c"):
        history.person_writes(f"{name}.py", [*history.make_lines(2), *COMMON_LINES])
    history.commit("Typed")
    history.tick()
    assert history.agent_inserts("app.py", 2, [*history.make_lines(1), *COMMON_LINES])
    history.git("checkout", "-q", "--", "app.py")
    history.tick()
    history.person_inserts("app.py", 4, [*history.make_lines(1), *COMMON_LINES])
    history.commit("Typed again")
    assert "ai" not in find_types(history, COMMON_LINES)


def test_common_lines_of_an_agent_at_their_place_are_its_own(history):
    for name in ("a", "b", "c"):
        history.person_writes(f"{name}.py", [*history.make_lines(2), *COMMON_LINES])
    history.commit("Typed")
    history.tick()
    assert history.agent_inserts("app.py", 2, COMMON_LINES)
    history.commit("Written")
    assert find_types(history, COMMON_LINES) == {"ai"}


@pytest.mark.parametrize("idiom", range(6))
def test_idiom_in_a_block_of_a_person_on_another_branch(history, idiom):
    """The agent's block is on a branch that the person's commit does not know."""
    history.tick()
    assert history.agent_inserts("app.py", 2, history.make_lines(2, idiom))
    history.commit("Written")
    history.tick()
    history.git("checkout", "-q", "-b", "other", "HEAD~1")
    history.person_inserts("app.py", 4, history.make_lines(2, idiom))
    history.commit("Typed")
    assert history.list_wrong_answers() == []


@pytest.mark.parametrize("deletes", [False, True], ids=["file stays", "file is deleted"])
def test_lines_that_an_agent_moved_to_a_new_file_are_not_its_own(history, deletes):
    typed = history.make_lines(5)
    history.tick()
    history.person_writes("old.py", typed if deletes else [*history.make_lines(3), *typed])
    history.commit("Typed")
    history.tick()
    agent = history.agent()
    agent.look("old.py")
    agent.write("new.py", join_lines([*typed, *history.make_lines(9)]))
    if deletes:
        agent.shell("rm old.py")
    else:
        agent.edit("old.py", join_lines(typed), "")
    history.tick()
    history.commit("Moved")
    types = {line.text: line.type for _, lines in history.blame_commit() for line in lines}
    assert {types[line] for line in typed} == {"unknown"}
    assert list(types.values()).count("ai") == 9
    assert find_types(history, typed, "new.py") == {"unknown"}


@pytest.mark.parametrize("mover", ["person", "agent"])
def test_lines_that_a_commit_moved_to_an_existing_file_are_not_an_agents(history, mover):
    typed = history.make_lines(5)
    history.tick()
    history.person_writes("old.py", [*history.make_lines(3), *typed])
    history.person_writes("new.py", history.make_lines(3))
    history.commit("Typed")
    history.tick()
    agent, written = history.agent(), history.make_lines(4)
    # The agent never read the lines: it knows them from somewhere else.
    agent.look("new.py")
    last = history.read("new.py")[-1]
    agent.edit("new.py", f"{last}\n", join_lines([last, *typed, *written]))
    if mover == "agent":
        agent.shell("sed -i '4,$d' old.py")
    else:
        history.person_inserts("old.py", 3, [], drop=5)
    history.tick()
    history.commit("Moved")
    types = {line.text: line.type for _, lines in history.blame_commit() for line in lines}
    assert {types[line] for line in typed} == {"unknown"}
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


@pytest.mark.parametrize("indent", ["", "    "], ids=["as they are", "indented"])
def test_lines_that_an_agent_read_and_copied_to_a_new_file_are_not_its_own(history, indent):
    typed, written = history.make_lines(4), history.make_lines(3)
    history.tick()
    history.person_writes("old.py", [*history.make_lines(3), *typed])
    history.commit("Typed")
    history.tick()
    agent = history.agent()
    agent.look("old.py")
    history.tick()
    copies = [indent + line for line in typed]
    agent.write("new.py", join_lines([*written[:2], *copies, *written[2:]]))
    history.tick()
    history.commit("Copied")
    types = {line.text.strip(): line.type for _, lines in history.blame_commit() for line in lines}
    assert {types[line.strip()] for line in typed} == {"unknown"}
    assert {types[line.strip()] for line in written} == {"ai"}
    assert find_types(history, typed, "new.py") == {"unknown"}


def test_lines_of_a_file_that_was_moved_often_are_no_idioms(history):
    typed = history.make_lines(4)
    history.tick()
    history.person_writes("first.py", typed)
    history.commit("Typed")
    agent = history.agent()
    for old, new in (("first", "second"), ("second", "third"), ("third", "fourth")):
        agent.look(f"{old}.py")
        history.git("mv", f"{old}.py", f"{new}.py")
        history.tick()
    agent.look("fourth.py")
    history.tick()
    agent.write("copy.py", join_lines([*typed, *history.make_lines(2)]))
    history.commit("Copied")
    assert find_types(history, typed, "copy.py") == {"unknown"}


def test_own_lines_that_an_agent_read_and_copied_stay_its_own(history):
    written = history.make_lines(4)
    history.tick()
    history.agent_writes("old.py", written)
    agent = history.agent()
    agent.read("old.py")
    history.tick()
    agent.write("new.py", join_lines(written))
    history.commit("Copied")
    assert find_types(history, written, "old.py") == {"ai"}
    assert find_types(history, written, "new.py") == {"ai"}


@pytest.mark.parametrize("indent", ["", "    "], ids=["as they are", "indented by others"])
def test_line_that_an_agent_copied_twice_is_not_its_own(history, indent):
    """The first copy is in the file of the agent, but the line is still a person's."""
    typed, written = history.make_lines(1), history.make_lines(4)
    history.tick()
    history.person_writes("old.py", typed)
    history.commit("Typed")
    agent = history.agent()
    agent.look("old.py")
    history.tick()
    agent.write("new.py", join_lines([*written, *typed]))
    history.tick()
    moved = [indent + line for line in [*written, *typed]]
    (history.folder / "new.py").write_text(join_lines(moved))
    agent.read("new.py")
    history.tick()
    agent.write("newer.py", join_lines(moved))
    history.commit("Copied")
    assert find_types(history, typed, "newer.py") == {"unknown"}
    assert find_types(history, written, "newer.py") == {"ai"}


def test_short_line_that_a_person_typed_where_an_agent_wrote_it_before_is_not_the_agents(history):
    idiom = "    if error is not None:"
    before, after = history.make_lines(2), history.make_lines(2)
    history.tick()
    first, second = history.read("app.py")[:2]
    agent = history.agent()
    agent.look("app.py")
    agent.edit("app.py", f"{second}\n", join_lines([second, *before, idiom, *after]))
    history.tick()
    typed = [first, *history.make_lines(1), idiom, *history.make_lines(1), second]
    rest = history.read("app.py")[7:]
    (history.folder / "app.py").write_text(join_lines([*typed, *rest]))
    history.tick()
    agent.read("app.py")
    history.commit("Typed")
    assert find_types(history, typed) == {"unknown"}


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD~1:old.py",
        "git show HEAD",
        "git diff HEAD~1",
        "cat missing.py; cat first.py old.py",
        "python3 -c 'print(open(\"old.py\").read())'",
        "for file in *.py; do cat -n $file; done",
        "grep -n line_ *.py",
    ],
)
def test_lines_that_an_agent_copied_from_an_output_are_not_its_own(history, command):
    typed, written = history.make_lines(4), history.make_lines(3)
    history.tick()
    history.person_writes("old.py", [*history.make_lines(3), *typed])
    history.commit("Typed")
    (history.folder / "first.py").write_text("import os\n")
    if "git" in command:
        history.person_inserts("old.py", 3, [], drop=4)
        history.commit("Removed")
    history.tick()
    history.agent().shell(command)
    history.tick()
    history.agent().write("new.py", join_lines([*typed, *written]))
    history.commit("Copied")
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


def test_lines_that_an_agent_copied_from_a_prompt_are_not_its_own(history):
    typed, written = history.make_lines(4), history.make_lines(3)
    history.tick()
    agent = history.agent()
    agent.asked(join_lines(["Please put these lines into a file:", *typed]))
    history.tick()
    agent.write("new.py", join_lines([*typed, *written]))
    history.commit("Copied")
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


def _list_outputs(lines):
    """Return calls whose outputs show lines: a tool, its arguments and the output, by a name."""
    text = join_lines(lines)
    patch = "@@ -1,0 +1,4 @@\n" + "".join(f"+{line}\n" for line in lines)
    search = {"pattern": "line_", "output_mode": "content"}
    blamed = "".join(
        f"^3f2a9bc (Mira 2026-03-14 08:00:00 +0000 {number}) {line}\n"
        for number, line in enumerate(lines, 4)
    )
    return {
        "a server of tools": ("mcp__files__open_document", {"path": "old.py"}, text),
        "JSON": ("mcp__files__load", {"path": "old.py"}, json.dumps({"content": text})),
        "JSON lists": ("mcp__files__load", {"path": "old.py"}, json.dumps([{"lines": lines}])),
        "a patch in JSON": ("Bash", {"command": "gh api files"}, json.dumps([{"patch": patch}])),
        "a sub-agent": ("Task", {"prompt": "Look"}, f"I found:\n```python\n{text}```\n"),
        "a build": ("Bash", {"command": "make print"}, text),
        "a search without numbers": ("Grep", search, "".join(f"old.py:{line}\n" for line in lines)),
        "diff": ("Bash", {"command": "diff a b"}, "".join(f"< {line}\n" for line in lines)),
        "git blame": ("Bash", {"command": "git blame old.py"}, blamed),
        "a test runner": (
            "Bash",
            {"command": "pytest"},
            "".join(f">   {line}\n" for line in lines),
        ),
        "an edit": ("Bash", {"command": "echo x > log.txt; cat old.py"}, text),
        "a reminder": ("TodoWrite", {"todos": []}, f"<system-reminder>\n{text}</system-reminder>"),
    }


@pytest.mark.parametrize("name", _list_outputs([]))
def test_lines_that_an_agent_copied_from_any_output_are_not_its_own(history, name):
    typed, written = history.make_lines(4), history.make_lines(3)
    history.tick()
    history.person_writes("old.py", typed)
    history.commit("Typed")
    history.tick()
    tool, arguments, output = _list_outputs(typed)[name]
    native = {"stdout": output, "stderr": "", "interrupted": False} if tool == "Bash" else None
    history.agent().call(tool, arguments, output, native)
    history.tick()
    history.agent().write("new.py", join_lines([*typed, *written]))
    history.commit("Copied")
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


def _show_selection(agent, text):
    """Record lines that the user selected in an editor."""
    agent.asked("Move it")
    line = agent.lines[-1]
    line |= {
        "type": "attachment",
        "attachment": {"type": "selected_lines_in_ide", "filename": "old.py", "content": text},
    }
    del line["message"]


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(_show_selection, id="selection"),
        pytest.param(
            lambda agent, text: agent._add(
                "user", f"<ide_selection>\n{text}</ide_selection>", isMeta=True
            ),
            id="host",
        ),
        pytest.param(
            lambda agent, text: agent._add(
                "user", f"This session is being continued.\n{text}", isCompactSummary=True
            ),
            id="summary",
        ),
        pytest.param(
            lambda agent, text: agent._add(
                "user",
                [{"type": "text", "text": f"<system-reminder>\n{text}</system-reminder>"}],
                isMeta=True,
            ),
            id="reminder",
        ),
    ],
)
def test_lines_that_an_agent_copied_from_a_text_of_its_host_are_not_its_own(history, show):
    typed, written = history.make_lines(4), history.make_lines(3)
    history.tick()
    history.person_writes("old.py", typed)
    history.commit("Typed")
    history.tick()
    show(history.agent(), join_lines(typed))
    history.tick()
    history.agent().write("new.py", join_lines([*typed, *written]))
    history.commit("Copied")
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


def test_short_line_that_an_agent_read_and_copied_alone_is_not_its_own(history):
    line = "    timeout_seconds = compute_limit(3)"
    history.tick()
    history.person_writes("old.py", [*history.make_lines(3), line, *history.make_lines(2)])
    history.commit("Typed")
    agent = history.agent()
    agent.look("old.py")
    agent.look("app.py")
    history.tick()
    anchor = history.read("app.py")[1]
    agent.edit("app.py", f"{anchor}\n", join_lines([anchor, line]))
    history.tick()
    history.commit("Copied")
    assert find_types(history, [line]) == {"unknown"}


def test_lines_that_an_agent_reindented_without_a_look_are_not_its_own(history):
    """Only the edit itself shows the old lines, as in a session that continues another one."""
    typed = history.make_lines(4)
    history.tick()
    history.person_inserts("app.py", 6, typed)
    history.tick()
    condition = "if the_configuration_is_complete(settings):"
    indented = [f"    {line}" for line in typed]
    history.agent().edit("app.py", join_lines(typed), join_lines([condition, *indented]))
    history.tick()
    history.commit("Both")
    assert find_types(history, typed) == {"unknown"}
    assert find_types(history, [condition]) == {"ai"}


def test_lines_that_an_agent_cut_without_a_look_and_wrote_elsewhere_are_not_its_own(history):
    typed, written = history.make_lines(4), history.make_lines(2)
    history.tick()
    history.person_inserts("app.py", 6, typed)
    history.tick()
    history.agent().edit("app.py", join_lines(typed), "")
    history.tick()
    history.agent().write("new.py", join_lines([*typed, *written]))
    history.commit("Both")
    assert find_types(history, typed, "new.py") == {"unknown"}
    assert find_types(history, written, "new.py") == {"ai"}


def test_own_lines_that_an_agent_reindented_stay_its_own(history):
    written = history.make_lines(4)
    history.tick()
    assert history.agent_inserts("app.py", 2, written)
    history.tick()
    indented = ["if ready:", *(f"    {line}" for line in written)]
    history.agent().edit("app.py", join_lines(written), join_lines(indented))
    history.commit("Both")
    assert find_types(history, written) == {"ai"}


def test_own_lines_that_an_agent_saw_in_an_output_stay_its_own(history):
    written = history.make_lines(4)
    program = f"open('old.py', 'w').write('''\n{join_lines(written)}''')"
    history.tick()
    (history.folder / "old.py").write_text(join_lines(written))
    history.agent().call("Bash", {"command": f"python3 - <<'EOF'\n{program}\nEOF"}, "")
    history.agent().shell("cat missing.py; git add old.py; git diff --cached")
    history.tick()
    history.agent().write("new.py", join_lines(written))
    history.commit("Copied")
    assert find_types(history, written, "new.py") == {"ai"}


def test_idioms_that_an_agent_saw_in_many_files_are_its_own_in_a_new_one(history):
    idioms = [
        "def test_renders_the_template_of_the_segment():",
        "    environment = make_environment_for_tests()",
        "    assert render_template(environment) == expected",
    ]
    history.tick()
    for name in ("a", "b", "c"):
        history.person_writes(f"test_{name}.py", [*idioms, *history.make_lines(9)])
    history.commit("Typed")
    for name in ("a", "b", "c"):
        history.agent().look(f"test_{name}.py")
    history.tick()
    written = history.make_lines(2)
    history.agent_writes("test_d.py", [*idioms, *written])
    history.commit("Written")
    assert find_types(history, [*idioms, *written], "test_d.py") == {"ai"}


@pytest.mark.parametrize("header", [None, "# Code generated by make. DO NOT EDIT."])
def test_generated_file_with_lines_of_an_agent_is_nobodys(history, header):
    """A person's run of the generator copies the agent's lines into the output."""
    history.tick()
    written = history.make_lines(6)
    history.agent_writes("source.py", written)
    history.commit("Written")
    history.tick()
    path = "dist/bundle.py" if header is None else "bundle.py"
    (history.folder / path).parent.mkdir(exist_ok=True)
    (history.folder / path).write_text(join_lines([header or "#", *written]))
    history.commit("Generated")
    assert find_types(history, written, path) == {"unknown"}
    assert find_types(history, written, "source.py") == {"ai"}


@pytest.mark.parametrize("author", ["dependabot[bot]", "renovate[bot]", "Renovate Bot"])
def test_version_that_an_updater_of_dependencies_wrote_is_not_an_agents(history, author):
    """An agent wrote the same version before, and its change was thrown away."""
    history.tick()
    old, new = (f'    "typescript": "^5.{minor}.0-beta.20260314",' for minor in (3, 4))
    rest = history.make_lines(2)
    history.person_writes("package.json", [rest[0], old, rest[1]])
    history.commit("Start")
    agent = history.agent()
    agent.look("package.json")
    history.tick()
    agent.edit("package.json", f"{old}\n", f"{new}\n")
    history.tick()
    history.commit("Tried")
    assert find_types(history, [new], "package.json") == {"ai"}
    history.git("reset", "-q", "--hard", "HEAD~1")
    history.tick(86_400)
    (history.folder / "package.json").write_text(join_lines([rest[0], new, rest[1]]))
    history.commit("Bump typescript", "--author", f"{author} <bot@example.org>")
    assert find_types(history, [new], "package.json") == {"unknown"}
    types = {line.text: line.type for _, lines in history.blame_commit() for line in lines}
    assert types == {new: "unknown"}


def test_licence_that_a_person_added_elsewhere_is_not_an_agents(history):
    words = [
        "Permission is hereby granted, free of charge, to any person obtaining a copy",
        "of this software and associated documentation files (the Software), to deal",
        "in the Software without restriction, including without limitation the rights",
    ]
    for folder in ("first", "second"):
        (history.folder / folder).mkdir()
    history.tick()
    history.agent_writes("first/LICENSE", words)
    history.commit("Written")
    history.tick()
    history.person_writes("second/LICENSE", words)
    history.commit("Added")
    assert find_types(history, words, "first/LICENSE") == {"ai"}
    assert find_types(history, words, "second/LICENSE") == {"unknown"}


def test_lines_that_a_generator_of_an_agent_made_are_nobodys(history):
    history.tick()
    lines = history.make_lines(5)
    agent = history.agent()
    (history.folder / "app.lock").write_text(join_lines(lines))
    agent.call("Bash", {"command": "npm install"}, "added 5 packages", {"stdout": "", "stderr": ""})
    agent.read("app.lock")
    history.tick()
    history.commit("Installed")
    assert find_types(history, lines, "app.lock") == {"unknown"}


def test_line_that_an_agent_wrote_into_a_lock_file_is_its_own(history):
    history.tick()
    lines = history.make_lines(5)
    history.agent_writes("app.lock", lines)
    history.commit("Written")
    assert find_types(history, lines, "app.lock") == {"ai"}


@pytest.mark.parametrize("mark", ["REDACTED", "[REDACTED]", "<redacted>", "***REDACTED***"])
def test_redacted_text_of_a_session_matches_no_line(history, mark):
    """The session's text was redacted: a line of it may stand for any other line."""
    history.tick()
    written = history.make_lines(4)
    secret = f"    database_password_of_the_service = {mark!r}"
    history.agent_writes("settings.py", [*written[:2], secret, *written[2:]])
    history.commit("Written")
    assert find_types(history, written, "settings.py") == {"ai"}
    assert find_types(history, [secret], "settings.py") == {"unknown"}
    history.tick()
    real = "    database_password_of_the_service = 'correct horse battery'"
    (history.folder / "settings.py").write_text(join_lines([*written[:2], real, *written[2:]]))
    history.commit("Written", "--amend", "--no-edit")
    assert find_types(history, written, "settings.py") == {"ai"}
    assert find_types(history, [real], "settings.py") == {"unknown"}


def test_folder_of_the_same_name_on_this_machine_is_another_project(history, tmp_path):
    lines = ["    app = create_app(settings)", "    database.init_app(app)"]
    other = tmp_path / "elsewhere" / history.folder.name
    other.mkdir(parents=True)
    history.tick()
    agent = history.agent()
    agent.folder = other
    agent.write("app.py", join_lines(lines))
    history.tick()
    history.person_inserts("app.py", 2, lines)
    history.commit("Typed")
    assert find_types(history, lines) == {"unknown"}


def test_plan_file_of_the_repository_that_a_person_copied_is_not_recorded(history):
    planned = history.make_lines(4)
    history.tick()
    plan = ["# Plan", "```python", *planned, "```"]
    history.agent_writes("docs/plan.md", plan)
    history.tick()
    old = history.read("app.py")
    (history.folder / "app.py").write_text(join_lines([*old, *planned]))
    (history.folder / "plan.md").write_text(join_lines(plan))
    history.commit("Copied")
    assert find_types(history, planned) == {"ai"}
    assert list_recorded_lines(history) == []
    assert list_recorded_lines(history, "plan.md") == []
