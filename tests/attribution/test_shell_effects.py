"""Effects of commands on files, compared with the effects of real commands."""

import os
import shutil
import subprocess
import time
from dataclasses import replace
from random import Random

import pytest

from tests.conftest import QUICK, slow
from vacr.agents import CALL_DONE, CALL_FAILED, ToolCall, find_agent
from vacr.attribution.base_files import BaseFiles
from vacr.attribution.file_state import EVIDENCE_SHELL
from vacr.attribution.reconcile import list_line_runs, unattribute_reverted_lines
from vacr.attribution.replay import Replay, derive_file_actions
from vacr.attribution.shell.effects import derive_shell_events
from vacr.edits.actions import (
    FileDeletion,
    FileMove,
    FileRewrite,
    FileWrite,
    GitStateChange,
    ObservedLines,
    PossibleChange,
    Revert,
    Stash,
    Unstash,
)
from vacr.edits.lines import encode_file_text

BASH, GIT = shutil.which("bash"), shutil.which("git")
ROOT = "/home/mira/app"


def make_call(command, output="", *, failed=False, folder=ROOT):
    native = {"toolUseResult": {"stdout": output, "stderr": "", "interrupted": False}}
    return ToolCall(
        "Bash",
        {"command": command},
        "e",
        "c",
        "m",
        folder,
        state=CALL_FAILED if failed else CALL_DONE,
        output=output,
        native=native,
    )


def run_shell(call):
    return derive_shell_events(call, find_agent("claude-code").shell_run(call))


def list_effects(command, output="", *, failed=False):
    """Return the effects of a command, without observations and unnamed possible changes."""
    events = run_shell(make_call(command, output, failed=failed))
    return [
        event
        for event in events
        if not isinstance(event, ObservedLines)
        and (event.path or not isinstance(event, PossibleChange))
    ]


def may_change_files(command):
    """Return whether a command may change any file, named or not."""
    return any(not isinstance(event, ObservedLines) for event in run_shell(make_call(command)))


def written(path, text, *, append=False):
    return FileWrite(path, text, append=append, by_shell=True)


def likely(path, **more):
    return PossibleChange(path, likely=True, **more)


@pytest.mark.parametrize(
    ("command", "events"),
    [
        ("cat > f <<'EOF'\na\nEOF", [written("f", "a\n")]),
        ("cat <<'EOF' > f\na\n$b\nEOF", [written("f", "a\n$b\n")]),
        ("cat <<EOF >> f\na\nEOF", [written("f", "a\n", append=True)]),
        ("cat > f <<EOF\n$a\nEOF", [likely("f", overwritten=True)]),
        ("tee f <<'EOF'\na\nEOF", [written("f", "a\n")]),
        (
            "cat <<'EOF' | tee -a f g\na\nEOF",
            [written("f", "a\n", append=True), written("g", "a\n", append=True)],
        ),
        ("echo 'a b' > f", [written("f", "a b\n")]),
        ("echo -n a >> f", [written("f", "a", append=True)]),
        ("echo 'a\\nb' > f", [likely("f", overwritten=True)]),
        ("echo -e 'a\\nb' > f", [written("f", "a\nb\n")]),
        ("printf 'a\\n%s\\n' b > f", [written("f", "a\nb\n")]),
        ("printf '%d' 1 > f", [likely("f", overwritten=True)]),
        (": > f", [written("f", "")]),
        ("> f", [written("f", "")]),
        ("sort a > f", [likely("f", overwritten=True)]),
        ("sort a >> f", [likely("f")]),
        ("git show HEAD:f > f", [likely("f", overwritten=True)]),
        ("a > /dev/null 2>&1", []),
        ("cd sub && echo a > f", [written("sub/f", "a\n")]),
        ("cd sub && cd .. && echo a > f", [written("sub/../f", "a\n")]),
        ("cd sub && cd - && echo a > f", [written("f", "a\n")]),
        ("cd $X && echo a > f", []),
        ("cd $X && echo a > /f", [written("/f", "a\n")]),
        ("rm f", [FileDeletion("f")]),
        ("rm -rf a b/", [FileDeletion("a", folder=True), FileDeletion("b/", folder=True)]),
        ("rm a*", [FileDeletion("a*", pattern=True)]),
        ("rm -- -f", [FileDeletion("-f")]),
        ("rm $f", []),
        ("mv a b", [FileMove("a", "b")]),
        ("mv a b c/", [FileMove("a", "c/a"), FileMove("b", "c/b")]),
        ("mv -n a.x b.x", [likely("a.x"), likely("b.x")]),
        ("cp -r a b", [FileMove("a", "b", copy=True)]),
        ("git mv a b", [FileMove("a", "b"), GitStateChange(".")]),
        ("git -C sub mv a b", [FileMove("sub/a", "sub/b"), GitStateChange("sub/.")]),
        ("git rm -q a", [FileDeletion("a"), GitStateChange(".")]),
        ("git rm --cached a", [GitStateChange(".")]),
        ("git checkout -- a b", [Revert("a"), Revert("b")]),
        ("git checkout HEAD -- a", [Revert("a")]),
        ("git checkout .", [Revert(".")]),
        (
            "git checkout main",
            [likely("main", pattern=True), GitStateChange(".")],
        ),  # perhaps it is a file
        ("git checkout -b main", [GitStateChange(".")]),
        ("git checkout src/a.py", [likely("src/a.py", pattern=True), GitStateChange(".")]),
        ("git checkout main -- a", [likely("a", pattern=True), GitStateChange(".")]),
        (
            "git checkout -- a; false || git checkout -- b",
            [Revert("a"), likely("b", pattern=True), GitStateChange(".")],
        ),
        ("git restore a", [Revert("a")]),
        ("git restore --staged a", [GitStateChange(".")]),
        ("git restore --source=main a", [likely("a", pattern=True), GitStateChange(".")]),
        ("git restore --staged --worktree a", [likely("a", pattern=True), GitStateChange(".")]),
        ("git reset --hard", [Revert(".", everything=True)]),
        (
            "git reset --hard HEAD~1",
            [GitStateChange("."), Revert(".", everything=True), GitStateChange(".")],
        ),
        (
            "git revert --no-edit HEAD",
            [GitStateChange("."), Revert(".", everything=True), GitStateChange(".")],
        ),
        ("git stash -q", [Stash(".", sure=False)]),
        ("git stash", [Stash(".", known=False, sure=False)]),
        ("git stash pop", [Unstash(".")]),
        ("git stash apply", [Unstash(".", keep=True)]),
        ("git stash list", []),
        ("git stash push -q -m why -- a b", [Stash(".", ("a", "b"), sure=False)]),
        ("git add a && git commit -m b", [GitStateChange("."), GitStateChange(".")]),
        ("git status; git log", []),
        ("sed -i 'N;s/a/b/' f.c", [likely("f.c")]),
        ("sed -i.bak -e y/a/b/ f.c g.c", [likely("f.c"), likely("g.c")]),
        ("perl -pi -e '$n++' f.c", [likely("f.c")]),
        ("gofmt -w f.go", [PossibleChange("f.go", formatter=True)]),
        ("gofmt -l f.go", []),
        ("npx --yes prettier@3 --write f.ts", [PossibleChange("f.ts", formatter=True)]),
        ("npx prettier --check f.ts", []),
        ("black f.py && ruff check f.py", [PossibleChange("f.py", formatter=True)]),
        ("uv run ruff format f.py", [PossibleChange("f.py", formatter=True)]),
        ("python -m black f.py", [PossibleChange("f.py", formatter=True)]),
        ("mix format f.ex", [PossibleChange("f.ex", formatter=True)]),
        ("eslint --fix f.js; eslint f.js", [PossibleChange("f.js", formatter=True)]),
        ("python f.py", []),
        ("unheard-of f.py", [PossibleChange("f.py")]),
        ("sudo rm f.py", [FileDeletion("f.py")]),
        ("true || cp a.x b.x", [likely("b.x")]),
        ("sort -o f.txt f.txt", [likely("f.txt"), likely("f.txt")]),
        ("grep -o x f.txt; ls -o f.txt", []),
        ("yq -i .a=1 f.yml", [likely("f.yml")]),
        ("sed -i 1G src/*.c", [likely("src/*.c", pattern=True)]),
        (
            "mv d/* . && false",
            [likely("d/*", pattern=True), PossibleChange(".", folder=True)],
        ),
        ("git clean -fdq", [Revert(".", new=True)]),
        ("xargs rm <<< f.c", [likely("f.c")]),
        ("dd if=/dev/null of=f.bin", [likely("f.bin")]),
        ("truncate -s 0 f.txt", [likely("f.txt")]),
        ("find . -name x | xargs -n 1 sed -i s/a/b/ f.c", [likely("f.c")]),
        ("find . -name x | xargs grep a", []),
        ("cat f; grep x g", []),
        (
            "apply_patch <<'E'\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nE",
            [FileDeletion("f")],
        ),
        ("cat > f <<'E'\na\nE\nls", [written("f", "a\n")]),
        ("test -f g && rm f; ls", []),
        ("rm f || true", [FileDeletion("f")]),
        ("false || rm f", []),
        ("rm f &", []),
    ],
)
def test_command_has_exactly_these_effects(command, events):
    # tests/cli/test_run_formatters.py covers the words of a formatter's command.
    effects = [
        replace(effect, command=()) if isinstance(effect, PossibleChange) else effect
        for effect in list_effects(command)
    ]
    assert effects == events


@pytest.mark.parametrize(
    "command",
    [
        "sed s/a/b/ f.txt >> n.txt && mv n.txt f.txt",
        "sed s/a/b/ f.txt > n.txt; mv n.txt f.txt",
        "sed s/a/b/ f.txt > n.txt & mv n.txt f.txt",
        "sed s/a/b/ f.txt > m.txt > n.txt && mv n.txt f.txt",
        "sed s/a/b/ f.txt > n.txt > m.txt && mv n.txt f.txt",
        "sed s/a/b/ f.txt &> n.txt && mv n.txt f.txt",
        "ls || sed s/a/b/ f.txt > n.txt && mv n.txt f.txt",
        "sed s/a/b/ f.txt > n.txt && mv -n n.txt f.txt",
        "sed s/a/b/ f.txt | sort > n.txt && mv n.txt f.txt",
    ],
)
def test_uncertain_output_of_a_filter_is_not_a_rewrite(command):
    effects = list_effects(command)
    assert likely("f.txt") in effects
    assert not any(isinstance(effect, FileRewrite | FileMove) for effect in effects)


@pytest.mark.parametrize("options", ["", "-f ", "-v ", "-- "])
@pytest.mark.parametrize("operator", [">", ">|"])
def test_output_of_a_filter_rewrites_its_file(operator, options):
    command = f"sed s/a/b/ f.txt {operator} n.txt && mv {options}n.txt f.txt"
    rewrite, deletion = list_effects(command)[1:]
    assert (type(rewrite), rewrite.path) == (FileRewrite, "f.txt")
    assert deletion == FileDeletion("n.txt")


def test_move_of_two_outputs_is_no_filter():
    assert FileMove("A", "F.txt/A") in list_effects("sed s/a/b/ F.txt > A > B && mv A B F.txt")


@pytest.mark.parametrize(
    ("command", "path", "kinds"),
    [
        ("rm {a,b}/{c,d}.py", "b/d.py", None),
        ("rm $DIR/{a,b}.py", "", ("/b.py",)),
        ("rm $D/[ab].py", "", (".py",)),
        ("rm {a,b}/[cd].py", "b", (".py",)),
    ],
)
def test_every_unknown_part_of_a_word_counts(command, path, kinds):
    effects = [event for event in run_shell(make_call(command)) if event.path == path]
    if kinds is None:
        assert likely(path) in effects
    else:
        assert PossibleChange(path, folder=True, kinds=kinds) in effects


@pytest.mark.parametrize(
    "script",
    [
        "IFS=/; D=a/b.txt; rm $D",
        "D=a/b.txt; IFS=/; rm $D",
        "export IFS=/; D=a/b.txt; rm $D",
        "read -r IFS; D=a/b.txt; rm $D",
    ],
)
def test_other_separators_split_unquoted_variables(script):
    assert not any(isinstance(effect, FileDeletion) for effect in list_effects(script))
    quoted = script.replace("rm $D", 'rm "$D"')
    assert FileDeletion("a/b.txt") in list_effects(quoted)


@pytest.mark.parametrize("target", ["docs/ab:c/f.txt", "mira@example.org:docs/f.txt"])
def test_only_a_host_at_the_start_is_removed(target):
    events = list(run_shell(make_call(f"rsync -a src/x.py {target}")))
    assert (likely("docs/f.txt") in events) == target.startswith("mira@")
    assert likely("docs/c/f.txt") not in events
    assert any("f.txt" in event.named for event in events if isinstance(event, PossibleChange))


def test_operand_after_two_dashes_may_begin_with_one():
    assert FileMove("-a", "b") in list_effects("git mv -- -a b")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("if true; then rm a/f.c; fi", "f.c"),
        ("(cd x && sed -i 1d f.c)", "f.c"),
        ("for f in src/*.c; do sed -i 1d $f; done", "*.c"),
        ("rm() { :; }; echo > f.c", "f.c"),
        ("bash -c 'mv f.c g.c'", "f.c"),
        ("eval 'rm f.c'", "f.c"),
        ("python3 -c \"open('src/f.c', 'w').write('')\"", "f.c"),
        ("python3 - <<'E'\nfrom pathlib import Path\nPath('f.c').write_text('')\nE", "f.c"),
        ("node -e \"fs.writeFileSync('f.c', '')\"", "f.c"),
        ("rm Makefile & wait", "Makefile"),
        ("F=$(pwd)/src/f.c; echo x > $F", "f.c"),
        ('F+=f.c; echo x | tee -a "$F"', "f.c"),
        ("git apply <<'E'\n--- a/src/f.c\n+++ b/src/f.c\n@@ -1 +1 @@\n-a\n+b\nE", "f.c"),
        ("patch -p1 <<'E'\n--- a/f.c\t2026-01-01\n+++ b/f.c\n@@ -1 +1 @@\n-a\n+b\nE", "f.c"),
        ("cd $D && cat > src/f.c <<'E'\na\nE", "f.c"),
        ("cd $D && mv f.c g.c", "f.c"),
    ],
)
def test_script_may_change_the_files_it_names(command, named):
    events = run_shell(make_call(command))
    assert any(
        isinstance(event, PossibleChange) and not event.path and named in event.named
        for event in events
    )


@pytest.mark.parametrize(
    "command",
    [
        "for f in *.c; do wc -l $f 2>/dev/null; done",
        "if test -f f.c; then echo '-> f.c'; fi",
        "python3 -c \"import json; print(json.load(open('f.c')))\"",
        "python3 f.c",
        "eval x; git add f.c; git commit -m 'write and copy > 2 things, cp too'",
    ],
)
def test_script_that_only_reads_changes_no_file(command):
    assert not any(
        event.named for event in run_shell(make_call(command)) if isinstance(event, PossibleChange)
    )


@pytest.mark.parametrize(
    ("read_only", "writing"),
    [
        ("dart analyze lib", "dart fix --apply lib"),
        ("flutter analyze", "flutter pub get"),
        ("fvm flutter test a.dart", "fvm flutter test --update-goldens a.dart"),
        ("flutter test", "flutter test --coverage"),
        ("plutil -lint a.plist", "plutil -convert xml1 a.plist"),
        ("rtk git diff a.py", "rtk git checkout a.py"),
        ("rtk read a.py", "rtk ruff format a.py"),
        ("rtk proxy git status", "rtk proxy git restore a.py"),
        ("rtk err cat a.py", "rtk err make"),
        ("rtk test cat a.py", "rtk test sed -i 1d a.py"),
        ("fish --no-execute a.fish", "fish -c 'rm a.py'"),
        ("fish -n a.fish", "fish a.fish -n"),
        ("bash -n a.sh", "bash a.sh -n"),
        ("node --check a.js", "node a.js --check"),
        ("go vet ./...", "go vet -vettool=bin/fixer ./..."),
        ("go list ./...", "go list -mod=mod ./..."),
        ("go version", "go generate ./..."),
        ("npx tsc --noEmit -p web", "npx tsc -p web"),
        ("mypy src", "mypy src --html-report docs"),
        ("shellcheck a.sh", "shellcheck $FILES"),
        ("mypy src", "mypy src > a.txt"),
        ("npm view vacr version", "npm version patch"),
        ("bd update --help", "./update.sh --help"),
        ("python --version", "python a.py --version"),
        ("docker ps", "docker cp app:/a.py a.py"),
        ("go vet -v ./...", "go vet -toolexec ./x ./..."),
        ("ty check", "ty check --add-ignore"),
        ("cppcheck --enable=all src", "cppcheck --cppcheck-build-dir=b src"),
        ("cppcheck src", "cppcheck --addon=x.py src"),
        ("tsc --noEmit --pretty", "tsc --noEmit --generateTrace out"),
        ("tsc --noEmit", "tsc --noEmit false"),
        ("ruby -c a.rb", "ruby -c -r./x a.rb"),
        ("staticcheck ./...", "staticcheck -debug.cpuprofile=x ./..."),
    ],
)
def test_only_the_reading_form_of_a_command_changes_no_file(read_only, writing):
    assert not may_change_files(read_only)
    assert may_change_files(writing)


@pytest.mark.parametrize(
    "command",
    [
        "false && x=2",
        ": $((x = 5))",
        ": $((x++))",
        ": ${y:=b} ${x=2}",
        "printf -v x 5",
        "builtin read x",
        "command export x=2",
        "declare -i x=1+1",
        "declare -u x=b",
        "declare -n x=y",
        "wait -p x",
        "true {x}>/dev/null",
        "export x+=2",
    ],
)
def test_variable_that_a_command_may_set_is_unknown(command):
    assert written("f.c", "1\n") in list_effects("x=1; echo $x > f.c")
    effects = list_effects(f"x=1; {command}; echo $x > f.c")
    assert effects == [likely("f.c", overwritten=True)]


def test_variable_of_a_list_is_known_within_it():
    assert written("f.c", "2\n") in list_effects("true && x=2 && echo $x > f.c")
    assert written("f.c", "2\n") not in list_effects("true && x=2; echo $x > f.c")


def test_variable_of_the_shell_is_unknown():
    assert list_effects("LINENO=5; echo $LINENO > f.c") == [likely("f.c", overwritten=True)]


@pytest.mark.parametrize("redirect", ["2> f.c", "2>> f.c", "3>f.c", "1<> f.c", ">& f.c", "2>| f.c"])
def test_file_of_another_output_may_change(redirect):
    assert likely("f.c") in list_effects(f"make {redirect}")
    assert list_effects("make 2>&1 2>/dev/null >&2") == []


def test_echo_with_contradicting_options_is_unknown():
    assert list_effects("echo -eE 'a\\nb' > f.c") == [likely("f.c", overwritten=True)]


def test_failed_command_proves_no_effect():
    assert list_effects("cat > f.x <<'E'\na\nE\n", failed=True) == [likely("f.x")]
    assert list_effects("mv a.x b.x && false", failed=True) == [likely("a.x"), likely("b.x")]
    assert list_effects("mv a b; ls", "mv: cannot stat 'a': No such file or directory\n") == []


def test_output_of_git_stash_shows_whether_it_stashed():
    assert list_effects(
        "git stash", "Saved working directory and index state WIP on main: 1 a"
    ) == [Stash(".")]
    assert list_effects("git stash", "No local changes to save") == []


def git(folder, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    name = [
        "-c",
        "user.name=Mira",
        "-c",
        "user.email=mira@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    return subprocess.run(
        [GIT, *name, *arguments], cwd=folder, env=environment, capture_output=True, check=True
    )


class Tree:
    """A work tree where commands run, and a replay that follows them."""

    def __init__(self, folder, random, *, with_base):
        self.folder, self.random, self.words = folder, random, 0
        base = {}
        for name in ("a.py", "b.py", "sub/c.py"):
            base[name] = "".join(
                f"base {name} {number}\n" for number in range(random.randint(1, 6))
            ).encode()
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(base[name])
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "base")
        self.replay = Replay(
            BaseFiles("0" * 40, base.keys(), base.__getitem__) if with_base else None, [str(folder)]
        )
        self.replay.checked = True
        if not with_base:
            self.look()

    def run(self, command):
        environment = os.environ | {
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "m",
            "GIT_AUTHOR_EMAIL": "m",
        }
        environment |= {"GIT_COMMITTER_NAME": "m", "GIT_COMMITTER_EMAIL": "m"}
        done = subprocess.run(
            [BASH, "-c", command],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        call = make_call(
            command,
            done.stdout.decode().strip(),
            failed=done.returncode != 0,
            folder=str(self.folder),
        )
        self.replay.step(call, derive_file_actions(find_agent("claude-code"), call))

    def look(self):
        for path in self.folder.rglob("*.py"):
            self.run(f"cat -n {path.relative_to(self.folder)}")

    def command(self):
        self.words += 1
        name, other = self.random.choice(NAMES), self.random.choice(NAMES)
        text = f"agent {self.words}\nagent {self.words} again"
        made = [
            f"cat > {name} <<'EOF'\n{text}\nEOF",
            f"cat >> {name} <<'EOF'\n{text}\nEOF",
            f"echo 'agent {self.words}' | tee -a {name}",
            f"printf 'agent %s\\n' {self.words} > {name}",
            f"rm {name}",
            f"rm -f {name}",
            "rm -rf sub",
            "mkdir -p sub; touch sub/x",
            f"mv {name} {other}",
            f"cp {name} {other}",
            f"mv {name} sub",
            f"cp {name} sub/",
            "mv sub other; mkdir -p sub",
            f"git mv {name} {other}",
            f"git checkout -- {name}",
            f"git restore {name}",
            "git checkout .",
            "git reset --hard",
            "git reset -q --hard HEAD",
            "git stash",
            "git stash -u",
            "git stash pop",
            "git stash -q && ls && git stash pop -q",
            f"git stash push -q -- {name}",
            f"git add {name}",
            "git add -A && git commit -qm x",
            f"sed -i 's/agent/changed/' {name}",
            f"test -f {other} && rm {name}; ls",
            f"rm {name}; ls",
            f"cd sub && cat > c.py <<'EOF'\n{text}\nEOF",
            f"sort -r {name} > {other}",
            "rm *.py",
            "cat -n a.py",
        ]
        return self.random.choice(made)

    def check(self, command):
        for file in self.replay.files.values():
            path, about = self.folder / file.path, (command, file.path)
            if file.gone:
                assert not path.exists() or file.dirty, about
                continue
            if file.file.text is None or file.dirty:
                continue
            assert path.is_file(), about
            assert encode_file_text(file.file.text) == path.read_bytes(), about
            unattribute_reverted_lines(file.file)
            for run in list_line_runs(file.file):
                if run.fresh and self.replay.makers[-run.maker - 1].kind == "ai":
                    assert all(line.startswith("agent") for line in run.text.splitlines()), about


NAMES = ["a.py", "b.py", "sub/c.py", "new.py", "sub/new.py"]


@pytest.mark.skipif(BASH is None or GIT is None, reason="bash or git is not installed")
@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("seed", range(2 if QUICK else 25))
def test_replayed_state_matches_the_real_work_tree(tmp_path, seed, with_base):
    tree = Tree(tmp_path, Random(seed), with_base=with_base)  # noqa: S311 - seeded
    done = []
    for _ in range(25):
        done.append(tree.command())
        tree.run(done[-1])
        tree.check(done)


def test_file_written_by_a_command_has_shell_evidence():
    replay = Replay(None, [ROOT])
    call = make_call("cat > f <<'EOF'\na\nEOF")
    replay.step(call, derive_file_actions(find_agent("claude-code"), call))
    assert [(change.ranges, change.evidence) for change in replay.history] == [
        ([(1, 1)], EVIDENCE_SHELL)
    ]
    assert [maker.kind for maker in replay.makers] == ["ai"]


@pytest.mark.parametrize(
    "piece",
    [
        "echo ---;",
        "rm a;",
        "cat a;",
        "cd a;",
        "git stash;",
        "grep -n x a;",
        "git diff;",
        "cat <<A;\nA\n",
        "sed -n 1,2p a|",
    ],
)
@pytest.mark.parametrize("line", ["---\n", "\n", "1:x\n", "cat: x\n", "a-1-" * 50 + "\n"])
@slow
def test_time_grows_linearly(piece, line):
    length = 50_000
    command, output = piece * (length // len(piece)), line * (length // len(line))
    start = time.process_time()
    list(run_shell(make_call(command, output)))
    assert time.process_time() - start < 3


@slow
@pytest.mark.parametrize("wrapper", ["env ", "sudo -n ", "timeout 5 "])
def test_many_wrappers_of_a_command_take_linear_time(wrapper):
    start = time.process_time()
    list(run_shell(make_call(wrapper * 60_000 + "ls", "")))
    assert time.process_time() - start < 6
