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
from vacr.attribution.shell.command_outputs import _READING_OPTIONS


@pytest.mark.parametrize(
    "command",
    ["sed -i 1d x.py", "mv x.py b.py; false", "if true; then rm x.py; fi", "sed -i 1d *.py"],
)
def test_file_that_a_command_likely_changed_has_no_ranges(tmp_path, command):
    claude = Claude()
    claude.read("x.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/x.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": command}, error="false" in command)
    (record,) = read_records(tmp_path, claude.data())
    (attributed,) = attribute_records([record])
    assert attributed["file-attribution"] == {"files": []}
    proof = attributed["vacr"]["attribution"]["files"]["x.py"]
    assert (proof["complete"], proof["ranges"]) == (False, [])
    assert [call["call-id"] for call in proof["content-only"]] == ["toolu_2"]
    claude.read("x.py", "one\n2\n")
    (record,) = read_records(tmp_path, claude.data())
    assert find_contributors(record) == {
        ("x.py", 2): {"type": "ai", "model-id": f"anthropic/{MODEL}"}
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
        ("black . && black x.py", True, "formatter"),
        ("gofmt -w x.py", True, "formatter"),
        ("npm run lint:fix", True, "formatter"),
        ("swiftlint --fix x.py", True, "formatter"),
        ("rtk codespell -w x.py", True, "formatter"),
        ("npx next lint --fix", True, "formatter"),
        ("plutil -convert json x.py", False, None),
        ("sed -i s/a/b/ $(git ls-files)", True, "command"),
        ("unknown-tool x.py", True, "command"),
        ("black . && unknown-tool x.py", True, "command"),
        ("truncate -s 2 x.py", False, None),
    ],
)
def test_command_that_may_have_changed_a_file_is_reported_as_doubt(
    tmp_path, command, complete, doubt
):
    claude = write_and_run(command, "")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["x.py"]
    assert (proof["complete"], proof.get("doubt")) == (complete, doubt)
    assert ("sha-256" in proof) is complete
    assert bool(proof["ranges"]) is complete


READ_ONLY_COMMANDS = """
dart analyze x.py
flutter test x.py
plutil -lint x.py
rtk git diff x.py
fish --no-execute x.py
prettier --check x.py
eslint x.py
npx eslint x.py
poetry run mypy x.py
mise exec -- pytest x.py
direnv exec . pytest x.py
timeout 30 pytest x.py
nice -n 10 pytest x.py
env CI=1 pytest x.py
sudo cat x.py
swiftlint x.py
vale x.py
xcodebuild test
cargo clippy
fvm flutter analyze x.py
vale --output line x.py
mypy --output json x.py
"""


def write_and_run(command, printed):
    """Return an agent that wrote x.py, and then ran a command."""
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/x.py", "content": "one\ntwo\n"},
        "File created successfully at: x.py",
    )
    claude.call("Bash", {"command": command}, printed)
    return claude


@pytest.mark.parametrize("command", READ_ONLY_COMMANDS.strip().split("\n"))
def test_checker_leaves_no_doubt(tmp_path, command):
    claude = write_and_run(command, "ok")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["x.py"]
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
        {"file_path": f"{ROOT}/x.py", "content": "one\ntwo\n"},
        "File created successfully at: x.py",
    )
    claude.call("Bash", {"command": "truncate -s 2 x.py"}, output, error=True)
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["x.py"]
    assert (proof["complete"], proof.get("doubt")) == (True, None)


WRITING_COMMANDS = """
git diff --output x.py
git diff --output=x.py HEAD
git log -p --output x.py
git config -f x.py core.editor vi
sort -o x.py b.txt
sort -uo x.py b.txt
sort --output=x.py b.txt
uniq b.txt x.py
xxd -r b.hex x.py
find . -name x.py -delete
find . -name b.txt -exec cat {} + -delete
find . -name '*.txt' -fprint x.py
find . -name '*.txt' -exec cat {} + -exec sed -i 1d {} +
awk '{ print $1 > "x.py" }' b.txt
sed -n 'w x.py' b.txt
sed 's/x/y/w x.py' b.txt
tee x.py < b.txt
curl -o x.py https://example.org/x.py
curl --output x.py https://example.org/x.py
wget -O x.py https://example.org/x
rsync b.txt x.py
tree -o x.py
yq -Pi '.a = 1' x.py
less -o x.py b.txt
eslint -o x.py b.js
vale --output x.py b.md
sed s/x/y/ x.py > new && mv new x.py
sort x.py | uniq > new && mv new x.py
hyperfine 'make x.py'
gh repo fork --clone
git stash pop
git apply b.diff
xargs rm < names.txt
echo b | xargs -I{} sh -c 'cat {} > x.py'
(cat b.txt > x.py)
{ cat b.txt > x.py; }
cat b.txt >| x.py
cat b.txt &> x.py
echo $(cat b.txt > x.py)
"""


# Each of these may change x.py, by an option that is new, abbreviated, or joined to others, in a
# program, or through a target that only the shell knows.
HIDDEN_OUTPUTS = """
sort --outp=x.py b.txt
sort -nrox.py b.txt
sort --compress-program=./x.py b.txt
sed --in-pl s/x/y/ x.py
sed --in=.bak s/x/y/ x.py
sed -I .bak s/x/y/ x.py
sed -n 'w x.py' b.txt
sed -n -e 1p -e '2w x.py' b.txt
sed --expr='w x.py' b.txt
sed 's/x/rm x.py/e' b.txt
sed -f a.sed x.py
xxd -r -p - x.py
xxd -s 0x10 b.bin x.py
uniq - x.py
awk '{print > "x.py"}' b.txt
awk '{print "};" > "x.py"}' b.txt
awk '{printf "%s", $1 >> "x.py"}' b.txt
awk -v out=x.py '{print > out}' b.txt
awk 'BEGIN { "rm x.py" | getline }'
awk -o x.py 1
git archive -o x.py HEAD
git archive --outp=x.py HEAD
git diff --output=x.py
git diff --outp x.py
git log -p --output=x.py
git config --fil x.py a.b c
git rm --cach x.py
git mv --dry x.py b.py
git checkout -f HEAD~1 x.py
git restore --staged -W x.py
git reset --har
cp e/x.py $PWD
cp e/x.py "$PWD/"
cp e/x.py .  # in another folder
cp -t . e/x.py
install e/x.py .
rsync e/x.py $PWD
tee --app x.py < b.txt
rm --recur .
curl -fsSLo x.py https://example.org/b
curl -O https://example.org/e/x.py
curl -ox.py https://example.org/b
wget https://example.org/e/x.py
tree -Jox.py
rg --pre ./x.py x
fd --exec=rm x.py
find . -name x.py -okdir rm {} +
find e -exec rm {} +
find . -name 'x.*' -exec truncate -s 1 {} +
find . -fprint0 x.py
history -w x.py
yq --inpl .a=1 x.py
jq --in-place .a x.py
bat --generate-config-file x.py
journalctl --cursor-file=x.py
cloc --sum-reports x.py
dd of=x.py
cat b.txt | sponge x.py
"""


# These may change any file of the folder, or a file that no word names.
SWEEPING_OUTPUTS = (
    "rm --recur .",
    "git reset --har",
    "find e -exec rm {} +",
    "find . -fprint0 x.py",
)


@pytest.mark.parametrize("command", HIDDEN_OUTPUTS.strip().split("\n"))
def test_file_that_a_command_may_write_is_doubted(tmp_path, command):
    claude = Claude()
    for name in ("x.py", "y.py"):
        claude.call(
            "Write",
            {"file_path": f"{ROOT}/{name}", "content": "one\ntwo\n"},
            f"File created successfully at: {name}",
        )
    claude.call("Bash", {"command": command}, "")
    replay, _ = replay_records(read_records(tmp_path, claude.data()))
    doubted = [
        name
        for name in ("x.py", "y.py")
        for tracked in [replay.files[f"{ROOT}/{name}"]]
        if tracked.gone or tracked.best_text is None or tracked.doubt
    ]
    assert doubted == (["x.py", "y.py"] if command in SWEEPING_OUTPUTS else ["x.py"])


# Each of these may change x.py, though a word, an archive or a branch of the script decides it.
UNDECIDED_OUTPUTS = r"""
rm $(ls x.py)
rm "$FILE"
rm `ls`
sort -o "$(ls x.py)" b.txt
sort -o$OUT b.txt
rm -f {x,b}.py
rm -f {x,b}.*
rm x.p[xyz]
cp sub/* .
cp sub/*.py .
cp -r sub/. .
cp "$SRC" "$TARGET"
cp b.py "$TARGET"
mv sub/* .
mv "$X" old/
cat b > "$OUT"
cat b 2> "$OUT"
cat b &> "$OUT"
cat b | tee "$OUT"
case $1 in a) rm x.py;; esac
case $1 in (a|b) echo > x.py;; *) true;; esac
if test -f b; then cp b x.py; else rm x.py; fi
for f in *.py; do rm "$f"; done
for f in $(ls); do sed -i s/a/b/ $f; done
for f in a b; do cp $f.new $f.py; done
while read -r f; do truncate -s 0 "$f"; done < names
until rm x.py; do sleep 1; done
f() { rm x.py; }; f
function f { rm "$1"; }; f x.py
(cd sub; rm -f ../x.py)
{ rm $F; }
( rm "$F" )
if true; then git checkout main; fi
git switch main
git checkout main
git checkout -
git checkout -b new origin/main
git merge other
git pull
git rebase main
git cherry-pick abc
git revert --no-commit abc
git am < a.patch
git apply b.diff
git read-tree -u -m HEAD~1
git read-tree -u --reset HEAD~1
git merge-file x.py a b
git checkout-index -a
git checkout-index -f x.py
git clean -fdx
git submodule update
git sparse-checkout set sub
git lfs pull
git filter-branch --tree-filter 'rm x.py' HEAD
git bisect start
git mv "$A" x.py
git rm -r "$A"
git restore --source=HEAD~3 .
git restore "$A"
git stash apply
git unknown-alias
curl --output-dir . -O https://example.org/x.py
curl -OJ https://example.org/e
curl -o "$OUT" https://example.org/e
curl -O "$URL"
wget "$URL"
wget -P . https://example.org/x.py
wget -i list.txt
wget -qO "$OUT" https://example.org/e
tar xzf a.tgz
tar -C . -xf a.tar
tar --extract --file=a.tar
unzip -o a.zip
unzip a.zip -d .
7z x a.7z
patch -p1 < b.diff
patch -i b.diff
patch x.py b.diff
rsync -a sub/ .
rsync -a "$SRC" .
scp host:x.py .
install -m 644 sub/x.py .
install -t . sub/x.py
dd if=b of=x.py
dd if=b of="$OUT"
cpio -i < a.cpio
ln -sf b.py "$X"
truncate -s 0 "$X"
xargs rm < names
find . -name '*.py' | xargs truncate -s 0
"""


@pytest.mark.parametrize("command", UNDECIDED_OUTPUTS.strip().split("\n"))
def test_file_that_an_undecided_command_may_write_is_doubted(tmp_path, command):
    assert "x.py" in list_doubted_files(tmp_path, command)


def list_doubted_files(folder, command, output=""):
    """Return which of two files of a session are in doubt after a command."""
    claude = Claude()
    for name in ("x.py", "d/y.go"):
        claude.call(
            "Write",
            {"file_path": f"{ROOT}/{name}", "content": "one\ntwo\n"},
            f"File created successfully at: {name}",
        )
    claude.call("Bash", {"command": command}, output)
    replay, _ = replay_records(read_records(folder, claude.data()))
    tracked = {name: replay.files[f"{ROOT}/{name}"] for name in ("x.py", "d/y.go")}
    return [
        name for name, file in tracked.items() if file.gone or file.best_text is None or file.doubt
    ]


@pytest.mark.parametrize(
    ("command", "doubted"),
    [
        ("rm {x,b}.py", ["x.py"]),
        ("rm -rf d/$X", ["d/y.go"]),
        ('rm "$DIR"/x.py', ["x.py"]),
        ("rm $X.go", ["d/y.go"]),
        ("rm d/*", ["d/y.go"]),
        ("rm -rf {d,e}", ["d/y.go"]),
        ("cp sub/*.py .", ["x.py"]),
        ("for f in a b; do cp $f.new $f.py; done", ["x.py"]),
        ("tar xf a.tar -C d", ["d/y.go"]),
        ("unzip -d d a.zip", ["d/y.go"]),
        ("cat b > d/$X", ["d/y.go"]),
        ("if true; then mv d e; fi", ["d/y.go"]),
        ("git checkout main d/y.go", ["d/y.go"]),
    ],
)
def test_known_part_of_a_word_limits_the_doubt(tmp_path, command, doubted):
    assert list_doubted_files(tmp_path, command) == doubted


# None of these changes a file, or only one outside of the project.
UNDECIDED_READS = r"""
cat {x,b}.py
grep -n one *.py | head
for f in *.py; do grep -c one "$f"; done
if [ -f x.py ]; then cat x.py; fi
while read -r l; do echo "$l"; done < x.py
case $1 in a) cat x.py;; esac
git checkout -b new
git switch -c new
git log --oneline "$BASE"..HEAD
git diff $(git merge-base main HEAD)
git apply --check b.diff
git worktree list
git submodule status
git lfs ls-files
git format-patch -1
git fetch origin
git push
git show "$REV":x.py
sed -n "${A},${B}p" x.py
awk "{print $1}" x.py
sort "$F" | uniq -c
head -n "$N" x.py
tar tzf a.tgz
tar czf a.tgz .
unzip -l a.zip
curl -s https://example.org/x.py
curl -sS "$URL"
patch --dry-run -p1 < b.diff
echo "$X"
cat "$(ls x.py)"
python -m pytest tests/test_x.py
f() { grep -n "$1" x.py; }; f one
(cd d && cat y.go)
diff <(sort x.py) <(sort d/y.go)
for i in 1 2 3; do curl -s "localhost:$i" > /dev/null; done
echo hi > "$TMPDIR/a.log"
cat x.py > /tmp/$$.txt
cp x.py "$TMPDIR/"
rm -rf /tmp/$DIR
[[ $a > b ]] && echo yes
source .venv/bin/activate && pytest
export A=$(cat x.py)
xxd "$F"
ls *.py && wc -l x.py
test -n "$A" || exit 1
time cat x.py
! grep -q one x.py
find . -name "$P" -print
jq -r ".a" "$F"
cd "$DIR" && ls
"""


@pytest.mark.parametrize("command", UNDECIDED_READS.strip().split("\n"))
def test_reading_command_with_unknown_words_casts_no_doubt(tmp_path, command):
    assert list_doubted_files(tmp_path, command) == []


def test_pull_without_news_casts_no_doubt(tmp_path):
    assert list_doubted_files(tmp_path, "git pull", "Already up to date.\n") == []
    output = "Already up to date.\nUpdating 1f2e3d4..9a8b7c6\n"
    assert list_doubted_files(tmp_path, "git pull; git merge b", output) == ["x.py", "d/y.go"]


READING_OPTIONS = """
sort -k 2,2nr --reverse x.py
sort -t , -u x.py | uniq -c | head -3
sed -n '30,40p' x.py
sed -n -e '/def /,/^$/p' -e '$=' x.py
sed -E 's#one|two#x#g; /x/!d' x.py
sed '/one/{n;d;}' x.py
awk 'NR >= 2 && $1 > 3 {print FILENAME ":" NR}' x.py
awk -F, '{ if ($1 > 5) print $2 }' x.py
xxd -s 0x10 -l 16 x.py
less -N x.py
jq -r --arg x x.py .a x.py
yq -o json .a x.py
rg -n --no-heading -g '*.py' one x.py
fd -H -e py . src
find . -type f -name x.py -not -path './e/*' -print0
find . -name x.py -exec grep -n one {} +
tree -L 2 -a -I node_modules
bat -p --line-range 1:5 x.py
git diff --stat --oneline x.py
git log --oneline --ours x.py
git config user.name x.py
git mv --dry-run x.py b.py
git reset -q HEAD x.py
git restore -S x.py
history 20
xmllint --noout x.py
curl -s https://example.org/b.py
cp x.py "$TMPDIR/"
gh pr merge 3 --squash
grep -o one x.py
ls -o x.py
"""


@pytest.mark.parametrize("command", READING_OPTIONS.strip().split("\n"))
def test_reading_option_casts_no_doubt(tmp_path, command):
    claude = write_and_run(command, "")
    replay, _ = replay_records(read_records(tmp_path, claude.data()))
    tracked = replay.files[f"{ROOT}/x.py"]
    assert (tracked.text, tracked.doubt) == ("one\ntwo\n", "")


@pytest.mark.parametrize("command", WRITING_COMMANDS.strip().split("\n"))
def test_option_that_writes_makes_a_reading_command_a_change(tmp_path, command):
    """A line that appears after such a command need not be a person's."""
    claude = Claude()
    claude.read("x.py", "one\ntwo\n")
    claude.call("Bash", {"command": command}, "")
    claude.read("x.py", "one\ntwo\nthree\n")
    records = read_records(tmp_path, claude.data())
    replay, _ = replay_records(records, make_base(x_py="one\ntwo\n"))
    last = replay.makers[-1]
    assert (last.kind, last.evidence) != ("user", "external")


@pytest.mark.parametrize(
    "command",
    [
        "git diff x.py",
        "git log --oneline",
        "sort -u x.py",
        "uniq -f 1 x.py",
        "awk '$1 > 5' x.py",
        "awk '{ print $1 }' x.py",
        "sed -n '/show w/p' x.py",
        "sed -n 's/new word/x/p' x.py",
        "grep -o 'x.py' b.txt",
        "find . -name '*.py' -o -name '*.txt'",
        "less x.py",
        "gh pr view 5",
    ],
)
def test_reading_command_is_no_change(tmp_path, command):
    claude = Claude()
    claude.read("x.py", "one\ntwo\n")
    claude.call("Bash", {"command": command}, "")
    claude.read("x.py", "one\ntwo\nthree\n")
    records = read_records(tmp_path, claude.data())
    replay, _ = replay_records(records, make_base(x_py="one\ntwo\n"))
    assert {maker.kind for maker in replay.makers} == {"user"}
    assert {maker.evidence for maker in replay.makers} == {"external"}


def test_hook_that_changed_files_is_a_formatter(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/x.py", "content": "one\n"},
        "File created successfully at: x.py",
    )
    claude.call(
        "Bash",
        {"command": "git commit -am x"},
        "trim trailing whitespace...Failed\n- files were modified by this hook",
    )
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    assert record["vacr"]["attribution"]["files"]["x.py"]["doubt"] == "formatter"


def test_wrapped_git_command_restores_the_file(tmp_path):
    claude = Claude()
    claude.read("x.py", "one\ntwo\n")
    claude.call("Edit", {"file_path": f"{ROOT}/x.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": "sudo git checkout -- x.py"})
    left = list_changed_files(
        *replay_records(read_records(tmp_path, claude.data()), make_base(x_py="one\ntwo\n"))
    )
    assert [data for _, data, _ in left] == [b"one\ntwo\n"]


def test_change_from_outside_that_was_partly_shown_is_a_doubt(tmp_path):
    known = [f"line {number}\n" for number in range(1, 41)]
    base = make_base(x_py="".join(known))
    claude = Claude()
    claude.call("Bash", {"command": "sed -n 1,40p x.py"}, "".join(known))
    claude.call("Bash", {"command": "sed -n 20,21p x.py"}, "inserted\nline 20\n")
    (left,) = list_changed_files(*replay_records(read_records(tmp_path, claude.data()), base))
    _, data, about = left
    assert data == "".join([*known[:19], "inserted\n", *known[19:]]).encode()
    assert (about["complete"], about["doubt"]) == (True, "unseen")


def test_printed_diff_shows_changes_from_outside(tmp_path):
    known = [f"line {number}\n" for number in range(1, 41)]
    claude = Claude()
    claude.call("Bash", {"command": "cat x.py"}, "".join(known))
    diff = [
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n",
        "@@ -1,6 +1,7 @@\n line 1\n line 2\n line 3\n+new\n line 4\n line 5\n line 6\n",
        "@@ -28,7 +29,6 @@\n line 28\n line 29\n line 30\n-line 31\n",
        " line 32\n line 33\n line 34\n",
    ]
    claude.call("Bash", {"command": "git diff"}, "".join(diff))
    (left,) = list_changed_files(
        *replay_records(read_records(tmp_path, claude.data()), make_base(x_py="".join(known)))
    )
    assert left[1] == "".join([*known[:3], "new\n", *known[3:30], *known[31:]]).encode()
    assert left[2]["doubt"] == "unseen"


def test_removed_file_may_exist_again(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/x.py", "content": "one\n"},
        "File created successfully at: x.py",
    )
    claude.call("Bash", {"command": "rm x.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("deleted") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [True]
    claude.call("Bash", {"command": "make > x.py"})
    (record,) = read_records(tmp_path, claude.data())
    assert [
        about.get("complete") for _, _, about in list_changed_files(*replay_records([record]))
    ] == [False]


def test_partial_look_does_not_prove_the_rest(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/x.py", "content": "one\ntwo\nthree\n"},
        "File created successfully at: x.py",
    )
    claude.call("Bash", {"command": "truncate -s 8 x.py"})
    claude.call(
        "Bash",
        {"command": "grep -n o x.py"},
        "1:one\n2:two",
        {"stdout": "1:one\n2:two", "stderr": "", "interrupted": False},
    )
    (record,) = read_records(tmp_path, claude.data())
    assert [data for _, data, _ in list_changed_files(*replay_records([record]))] == [None]


def test_trimmed_empty_lines_match_only_empty_lines(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/x.py", "content": "one\ntwo\n"},
        "File created successfully at: x.py",
    )
    claude.call("Bash", {"command": "python3 change.py"})
    claude.call(
        "Bash",
        {"command": "head -1 x.py"},
        "two",
        {"stdout": "two", "stderr": "", "interrupted": False},
    )
    (record,) = read_records(tmp_path, claude.data())
    assert list(find_contributors(record)) == [("x.py", 1)]


def test_no_name_in_the_table_of_options_is_cut():
    names = [name for options in _READING_OPTIONS.values() for name in options.split()]
    assert len(names) > 500
    assert [name for name in names if name.startswith("-") or name.endswith("-")] == []
