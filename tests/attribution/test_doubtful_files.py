"""Files that a command likely changed are doubtful until the session shows them again."""

import pytest

from tests.attribution.sessions import (
    MODEL,
    ROOT,
    Claude,
    find_contributors,
    read_records,
)
from tests.attribution.test_unobserved_changes import make_base
from vacr.attribution.attribute import attribute_records, list_changed_files, replay_records


@pytest.mark.parametrize(
    "command",
    ["sed -i 1d a.py", "mv a.py b.py; false", "if true; then rm a.py; fi", "sed -i 1d *.py"],
)
def test_file_that_a_command_likely_changed_has_no_ranges(tmp_path, command):
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": command}, error="false" in command)
    (record,) = read_records(tmp_path, claude.data())
    (attributed,) = attribute_records([record])
    assert attributed["file-attribution"] == {"files": []}
    proof = attributed["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof["ranges"]) == (False, [])
    assert [call["call-id"] for call in proof["content-only"]] == ["toolu_2"]
    claude.read("a.py", "one\n2\n")
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record) == {
        ("a.py", 2): {"type": "ai", "model-id": f"anthropic/{MODEL}"}
    }


def test_reading_command_keeps_the_ranges(tmp_path):
    claude = Claude()
    claude.read("a.yml", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.yml", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": "actionlint a.yml"})
    (record,) = read_records(tmp_path, claude.data())
    assert list(find_contributors(record)) == [("a.yml", 2)]


@pytest.mark.parametrize(
    ("command", "complete", "doubt"),
    [
        ("ruff check .", True, None),
        ("black .", True, "formatter"),
        ("npm run format", True, "formatter"),
        ("black . && black a.py", True, "formatter"),
        ("gofmt -w a.py", True, "formatter"),
        ("npm run lint:fix", True, "formatter"),
        ("swiftlint --fix a.py", True, "formatter"),
        ("rtk codespell -w a.py", True, "formatter"),
        ("npx next lint --fix", True, "formatter"),
        ("plutil -convert json a.py", False, None),
        ("sed -i s/a/b/ $(git ls-files)", True, "command"),
        ("unknown-tool a.py", True, "command"),
        ("black . && unknown-tool a.py", True, "command"),
        ("truncate -s 2 a.py", False, None),
    ],
)
def test_command_that_may_have_changed_a_file_is_reported_as_doubt(
    tmp_path, command, complete, doubt
):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": command}, "")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (complete, doubt)
    assert ("sha-256" in proof) is complete
    assert bool(proof["ranges"]) is complete


READ_ONLY_COMMANDS = """
dart analyze a.py
flutter test a.py
plutil -lint a.py
rtk git diff a.py
fish --no-execute a.py
prettier --check a.py
eslint a.py
npx eslint a.py
poetry run mypy a.py
mise exec -- pytest a.py
direnv exec . pytest a.py
timeout 30 pytest a.py
nice -n 10 pytest a.py
env CI=1 pytest a.py
sudo cat a.py
swiftlint a.py
vale a.py
xcodebuild test
cargo clippy
fvm flutter analyze a.py
vale --output line a.py
mypy --output json a.py
"""


@pytest.mark.parametrize("command", READ_ONLY_COMMANDS.strip().split("\n"))
def test_checker_leaves_no_doubt(tmp_path, command):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": command}, "ok")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (True, None)


@pytest.mark.parametrize(
    "output",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "<tool_use_error>Error: No such tool available: Bash</tool_use_error>",
        'Tool "Bash" not found. Did you mean one of: "Read", "Grep"?',
    ],
)
def test_command_that_never_ran_leaves_no_doubt(tmp_path, output):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "truncate -s 2 a.py"}, output, error=True)
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (True, None)


WRITING_COMMANDS = """
git diff --output a.py
git diff --output=a.py HEAD
git log -p --output a.py
git config -f a.py core.editor vi
sort -o a.py b.txt
sort -uo a.py b.txt
sort --output=a.py b.txt
uniq b.txt a.py
xxd -r b.hex a.py
find . -name a.py -delete
find . -name b.txt -exec cat {} + -delete
find . -name '*.txt' -fprint a.py
find . -name '*.txt' -exec cat {} + -exec sed -i 1d {} +
awk '{ print $1 > "a.py" }' b.txt
sed -n 'w a.py' b.txt
sed 's/x/y/w a.py' b.txt
tee a.py < b.txt
curl -o a.py https://example.org/a.py
curl --output a.py https://example.org/a.py
wget -O a.py https://example.org/x
rsync b.txt a.py
tree -o a.py
yq -Pi '.a = 1' a.py
less -o a.py b.txt
eslint -o a.py b.js
vale --output a.py b.md
sed s/x/y/ a.py > new && mv new a.py
sort a.py | uniq > new && mv new a.py
hyperfine 'make a.py'
gh repo fork --clone
git stash pop
git apply b.diff
xargs rm < names.txt
echo b | xargs -I{} sh -c 'cat {} > a.py'
(cat b.txt > a.py)
{ cat b.txt > a.py; }
cat b.txt >| a.py
cat b.txt &> a.py
echo $(cat b.txt > a.py)
"""


@pytest.mark.parametrize("command", WRITING_COMMANDS.strip().split("\n"))
def test_option_that_writes_makes_a_reading_command_a_change(tmp_path, command):
    """A line that appears after such a command need not be a person's."""
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Bash", {"command": command}, "")
    claude.read("a.py", "one\ntwo\nthree\n")
    records = read_records(tmp_path, claude.data())
    replay, _ = replay_records(records, make_base(a_py="one\ntwo\n"))
    last = replay.makers[-1]
    assert (last.kind, last.evidence) != ("user", "external")


@pytest.mark.parametrize(
    "command",
    [
        "git diff a.py",
        "git log --oneline",
        "sort -u a.py",
        "uniq -f 1 a.py",
        "awk '$1 > 5' a.py",
        "awk '{ print $1 }' a.py",
        "sed -n '/show w/p' a.py",
        "sed -n 's/new word/x/p' a.py",
        "grep -o 'a.py' b.txt",
        "find . -name '*.py' -o -name '*.txt'",
        "less a.py",
        "gh pr view 5",
    ],
)
def test_reading_command_is_no_change(tmp_path, command):
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Bash", {"command": command}, "")
    claude.read("a.py", "one\ntwo\nthree\n")
    records = read_records(tmp_path, claude.data())
    replay, _ = replay_records(records, make_base(a_py="one\ntwo\n"))
    assert {maker.kind for maker in replay.makers} == {"user"}
    assert {maker.evidence for maker in replay.makers} == {"external"}


def test_hook_that_changed_files_is_a_formatter(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\n"},
        "File created successfully at: a.py",
    )
    claude.call(
        "Bash",
        {"command": "git commit -am x"},
        "trim trailing whitespace...Failed\n- files were modified by this hook",
    )
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    assert record["vacr"]["attribution"]["files"]["a.py"]["doubt"] == "formatter"


def test_wrapped_git_command_restores_the_file(tmp_path):
    claude = Claude()
    claude.read("a.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": "sudo git checkout -- a.py"})
    left = list_changed_files(
        *replay_records(read_records(tmp_path, claude.data()), make_base(a_py="one\ntwo\n"))
    )
    assert [data for _, data, _ in left] == [b"one\ntwo\n"]


def test_change_from_outside_that_was_partly_shown_is_a_doubt(tmp_path):
    known = [f"line {number}\n" for number in range(1, 41)]
    base = make_base(a_py="".join(known))
    claude = Claude()
    claude.call("Bash", {"command": "sed -n 1,40p a.py"}, "".join(known))
    claude.call("Bash", {"command": "sed -n 20,21p a.py"}, "inserted\nline 20\n")
    (left,) = list_changed_files(*replay_records(read_records(tmp_path, claude.data()), base))
    _, data, about = left
    assert data == "".join([*known[:19], "inserted\n", *known[19:]]).encode()
    assert (about["complete"], about["doubt"]) == (True, "unseen")


def test_printed_diff_shows_changes_from_outside(tmp_path):
    known = [f"line {number}\n" for number in range(1, 41)]
    claude = Claude()
    claude.call("Bash", {"command": "cat a.py"}, "".join(known))
    diff = [
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n",
        "@@ -1,6 +1,7 @@\n line 1\n line 2\n line 3\n+new\n line 4\n line 5\n line 6\n",
        "@@ -28,7 +29,6 @@\n line 28\n line 29\n line 30\n-line 31\n",
        " line 32\n line 33\n line 34\n",
    ]
    claude.call("Bash", {"command": "git diff"}, "".join(diff))
    (left,) = list_changed_files(
        *replay_records(read_records(tmp_path, claude.data()), make_base(a_py="".join(known)))
    )
    assert left[1] == "".join([*known[:3], "new\n", *known[3:30], *known[31:]]).encode()
    assert left[2]["doubt"] == "unseen"


def test_removed_file_may_exist_again(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "rm a.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("deleted") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [True]
    claude.call("Bash", {"command": "make > a.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("complete") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [False]


def test_partial_look_does_not_prove_the_rest(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\nthree\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "truncate -s 8 a.py"})
    claude.call(
        "Bash",
        {"command": "grep -n o a.py"},
        "1:one\n2:two",
        {"stdout": "1:one\n2:two", "stderr": "", "interrupted": False},
    )
    (record,) = read_records(tmp_path, claude.data())
    assert [data for _, data, _ in list_changed_files(*replay_records([record]))] == [None]


def test_trimmed_empty_lines_match_only_empty_lines(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\n"},
        "File created successfully at: a.py",
    )
    claude.call("Bash", {"command": "python3 change.py"})
    claude.call(
        "Bash",
        {"command": "head -1 a.py"},
        "two",
        {"stdout": "two", "stderr": "", "interrupted": False},
    )
    (record,) = read_records(tmp_path, claude.data())
    assert list(find_contributors(record)) == [("a.py", 1)]
