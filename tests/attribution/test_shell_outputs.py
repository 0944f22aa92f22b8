"""Lines of files in the output of commands, compared with real files and commands."""

import posixpath
import shutil
import subprocess
from random import Random

import pytest

from vacr.agents.file_tools import ShellResult
from vacr.attribution.shell.effects import derive_script_events
from vacr.attribution.shell.parser import parse_shell_script
from vacr.edits.actions import FileMove, ObservedDiff, ObservedLines
from vacr.edits.lines import split_keeping_ends, strip_line_end

BASH = shutil.which("bash")
TEXT = "".join(f"line {number}\n" for number in range(1, 31))
TEN = "".join(f"line {number}\n" for number in range(1, 11))


def list_observations(script, output, code=0, *, done=True, **more):
    events = derive_script_events(
        parse_shell_script(script), ShellResult(code, done and code == 0, output, **more), ""
    )
    return [
        (event.path, event.first, event.first + len(event.lines) - 1)
        for event in events
        if isinstance(event, ObservedLines)
    ]


def lines(first, last):
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def numbered(first, last):
    return "".join(f"{number:6}\tline {number}\n" for number in range(first, last + 1))


@pytest.mark.parametrize(
    ("script", "output", "expected"),
    [
        ("cat f", TEXT, [("f", 1, 30)]),
        ("cat < f", TEXT, []),
        ("cat f g", TEXT, []),
        ("cat f | wc -l", "30\n", []),
        ("cat -n f", numbered(1, 30), [("f", 1, 30)]),
        ("nl -ba f | sed -n '5,9p'", numbered(5, 9), [("f", 5, 9)]),
        ("nl -ba f | tail -3", numbered(28, 30), [("f", 28, 30)]),
        ("nl f", numbered(1, 30), []),
        ("sed -n '5,9p' f", lines(5, 9), [("f", 5, 9)]),
        ("sed -n 5p f", lines(5, 5), [("f", 5, 5)]),
        ("sed -n '5,+2p' f", lines(5, 7), [("f", 5, 7)]),
        ("sed -n '28,$p' f", lines(28, 30), [("f", 28, 30)]),
        ("sed -n '5,9p;12,13p' f", lines(5, 9) + lines(12, 13), [("f", 5, 9), ("f", 12, 13)]),
        ("sed -n -e '5,9p' -e 12,13p f", lines(5, 9) + lines(12, 13), [("f", 5, 9), ("f", 12, 13)]),
        ("sed -n '5,9p;7,13p' f", lines(5, 13), []),
        ("sed -n '/x/,/y/p' f", lines(5, 9), []),
        ("sed 3q f", lines(1, 3), [("f", 1, 3)]),
        ("sed s/a/b/ f", TEXT, []),
        ("head f", lines(1, 10), [("f", 1, 10)]),
        ("head -n 3 f", lines(1, 3), [("f", 1, 3)]),
        ("head -3 f", lines(1, 3), [("f", 1, 3)]),
        ("head -c 3 f", "lin", []),
        ("head -3 f g", lines(1, 3), []),
        ("tail -n +28 f", lines(28, 30), [("f", 28, 30)]),
        ("tail -3 f", lines(28, 30), []),
        ("tail -n +5 f | head -4", lines(5, 8), [("f", 5, 8)]),
        ("cat f | sed -n '5,9p' | head -2", lines(5, 6), [("f", 5, 6)]),
        ("cat f; echo --; cat g", TEN + "--\n" + TEN, [("f", 1, 10), ("g", 1, 10)]),
        (
            "cat f && echo '=== g ===' && head -2 g",
            TEN + "=== g ===\n" + lines(1, 2),
            [("f", 1, 10), ("g", 1, 2)],
        ),
        ("cat f; echo ---; cat g", TEN + "---\nx\n---\ny\n", []),
        ("cat f; echo ---; cat g", "no end---\nx\n---\ny\n", []),
        ("cat f; echo ---; cat g", "no end---\nx\ny\n", [("f", 1, 1), ("g", 1, 2)]),
        ("ls; echo '--- f'; cat f", "a\nb\n--- f\n" + TEN, [("f", 1, 10)]),
        ("ls; cat f", "a\nb\n" + TEN, []),
        ("cat f; ls", TEN + "a\nb\n", []),
        ("head -3 f; head -4 g", lines(1, 3) + lines(1, 4), [("f", 1, 3), ("g", 1, 4)]),
        ("head -3 f; head -4 g", lines(1, 2) + lines(1, 4), []),
        ("nl -ba f; nl -ba g", numbered(1, 4) + numbered(1, 3), [("f", 1, 4), ("g", 1, 3)]),
        ("cat f & cat g", TEN, []),
        ("cat f || echo none", TEN, []),
        ("[ -f f ] && cat f; cat g", TEN, []),
        ("for x in 1; do cat f; done", TEN, []),
        ("cat f; (cat g)", TEN, []),
        ("cat $f", TEN, []),
        ("cat f > g", "", []),
        ("cat f 2>/dev/null | head -5", lines(1, 5), [("f", 1, 5)]),
        ("cat f; cat g", "cat: f: No such file or directory\n" + TEN, []),
        ("cat f", "cat: f: No such file or directory\n", []),
        ("printf '%s\\n' a b; cat f", "a\nb\n" + TEN, [("f", 1, 10)]),
        ("echo -n a; cat f", "a" + TEN, []),
        (
            "grep -n line f",
            "3:line 3\n7:line 7\n8-line 8\n--\n11:line 11\n",
            [("f", 3, 3), ("f", 7, 8), ("f", 11, 11)],
        ),
        (
            "grep -rn line src",
            "src/a:3:line\nsrc/a-4-more\nsrc/b:1:line\n",
            [("src/a", 3, 3), ("src/a", 4, 4), ("src/b", 1, 1)],
        ),
        ("grep -rn line src", "src/a:3:line\nwhat is this\n", []),
        ("grep -rn line src", "other/a:3:line\n", []),
        ("grep -n -B1 x f g", "f-2-a\nf:3:x\n", [("f", 2, 2), ("f", 3, 3)]),
        ("grep -c x f", "3\n", []),
        ("grep -on x f", "3:x\n", []),
        ("rg -n x", "a/b.py:3:x\n", [("a/b.py", 3, 3)]),
        ("rg -n x f.py", "3:x\n", [("f.py", 3, 3)]),
        ("rg x f.py", "x\n", []),
        ("cat f | grep -n x", "3:x\n", [("f", 3, 3)]),
        ("sed -n '5,9p' f | grep -n x", "3:x\n", []),
        ("grep -n x f | head -1", "3:x\n", [("f", 3, 3)]),
        ("grep -n x f | grep -v y", "3:x\n", [("f", 3, 3)]),
        ("grep -n x f | sort | uniq -c", "3:x\n", []),
        ("git show HEAD:f", TEN, []),
        ("git show HEAD:./f.py | cat", TEN, []),
        ("git show HEAD:f | sed -n '1,10p'", TEN, []),
        ("git show HEAD~2:f.py | grep -n line", "3:line 3\n", []),
        ("git cat-file -p HEAD:f.py", TEN, []),
        (
            "git show HEAD:f.py; echo '--- now'; cat f.py",
            TEN + "--- now\n" + TEN,
            [("f.py", 1, 10)],
        ),
        ("cd sub && cat f", TEN, [("sub/f", 1, 10)]),
        ('cd "$X" && cat f', TEN, []),
        ("cd sub; cat f", "bash: line 1: cd: sub: No such file or directory\n" + TEN, []),
    ],
)
def test_output_shows_lines_of_files(script, output, expected):
    assert list_observations(script, output) == expected


def test_search_without_a_match_prints_nothing():
    assert list_observations("cat f; grep -n x g", TEN, code=1) == [("f", 1, 10)]


def test_truncated_output_shows_the_lines_before_the_cut():
    assert list_observations("cat f", TEN, cut=True) == [("f", 1, 10)]
    assert list_observations("cat f; echo ---; cat g", TEN, cut=True) == []


def test_stripped_output_may_lack_leading_empty_lines():
    events = list(
        derive_script_events(
            parse_shell_script("sed -n '5,20p' f"),
            ShellResult(0, done=True, text=lines(6, 20), stripped=True),
            "",
        )
    )
    assert [(event.first, event.slack) for event in events] == [(5, 1)]
    events = list(
        derive_script_events(
            parse_shell_script("sed -n '5,20p' f"),
            ShellResult(0, done=True, text=lines(5, 20), stripped=True),
            "",
        )
    )
    assert [(event.first, event.slack) for event in events] == [(5, 0)]


def test_tail_of_head_requires_a_long_enough_file():
    events = list(
        derive_script_events(
            parse_shell_script("head -20 f | tail -5"),
            ShellResult(0, done=True, text=lines(16, 20)),
            "",
        )
    )
    assert [(event.first, event.least) for event in events] == [(16, 20)]


DIFF = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n"


@pytest.mark.parametrize(
    ("script", "output", "expected"),
    [
        ("git diff", DIFF, ["f.py"]),
        ("git diff HEAD -- f.py", DIFF, ["f.py"]),
        ("git --no-pager diff f.py | cat", DIFF, ["f.py"]),
        ("git diff --color", DIFF.replace("+b", "\x1b[32m+b\x1b[m"), ["f.py"]),
        ("git diff --cached", DIFF, []),
        ("git diff main..HEAD", DIFF, []),
        ("git diff a b", DIFF, []),
        ("git show", DIFF, []),
        ("git diff D:/work/f.py", DIFF, ["f.py"]),
        ("git diff HEAD:f.py f.py", DIFF, []),
        ("git diff HEAD~1:f.py HEAD:f.py", DIFF, []),
        ("git show; git diff", DIFF, []),
        ("git diff | head -5", "\n".join(DIFF.split("\n")[:5]), []),
        ("git status --short && git diff", " M f.py\n" + DIFF, ["f.py"]),
        ("go build; git diff", "what\n" + DIFF, ["f.py"]),
        ("git diff -w", DIFF, []),
    ],
)
def test_git_diff_shows_hunks(script, output, expected):
    events = derive_script_events(
        parse_shell_script(script), ShellResult(0, done=True, text=output), ""
    )
    assert [event.path for event in events if isinstance(event, ObservedDiff)] == expected


def test_git_status_reports_renames():
    events = derive_script_events(
        parse_shell_script("git add -A && git status --short"),
        ShellResult(0, done=True, text="R  a -> b\n M c\n"),
        "",
    )
    assert [
        (event.path, event.to, event.reported) for event in events if isinstance(event, FileMove)
    ] == [("a", "b", True)]


def random_files(random, folder):
    files = {}
    for name in ("a.py", "b.py", "sub/c.py"):
        count = random.choice([0, 1, 3, 8, 20, 40])
        texts = [
            random.choice(
                [
                    "",
                    "",
                    "---",
                    "x = 1",
                    "    y",
                    "12:z",
                    "a.py:3:x",
                    "  7\tq",
                    f"u{random.random()}",
                ]
            )
            for _ in range(count)
        ]
        text = "\n".join(texts) + random.choice(["\n", "\n", ""])
        files[name] = text
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return files


def random_script(random):
    def command():
        file = random.choice(["a.py", "b.py", "sub/c.py", "missing.py"])
        low = random.randint(1, 12)
        high = low + random.randint(0, 12)
        return random.choice(
            [
                f"cat {file}",
                f"cat -n {file}",
                f"nl -ba {file}",
                f"nl -ba {file} | sed -n '{low},{high}p'",
                f"sed -n '{low},{high}p' {file}",
                f"sed -n '{low},{high}p;{high + 2},{high + 4}p' {file}",
                f"head -n {low} {file}",
                f"head -{high} {file} | tail -{low}",
                f"tail -n +{low} {file}",
                f"tail -n +{low} {file} | head -{high}",
                f"tail -{low} {file}",
                f"grep -n x {file}",
                f"grep -n -A1 -B1 x {file} | head -{high}",
                "grep -rn x .",
                "grep -n x a.py b.py",
                f"cat {file} | grep -n x",
                f"wc -l {file}",
                "ls",
                "echo ---",
                "echo ---",
                "echo '=== next ==='",
                "echo",
                "printf '\\n-- x --\\n'",
                "echo -n x",
                f"test -f {file}",
                "true",
                "cd sub",
                "cat c.py",
            ]
        )

    text = command()
    for _ in range(random.randint(0, 5)):
        text += random.choice(["; ", " && ", "\n", "; ", " || ", " && echo --- && "]) + command()
    return text


def matches_files(look, files):
    path = posixpath.normpath(look.path)
    if path not in files:
        return False
    known = [strip_line_end(line) for line in split_keeping_ends(files[path])]
    if look.least > len(known):
        return True
    seen = [strip_line_end(line) for line in look.lines]
    return any(
        known[look.first - 1 + by : look.first - 1 + by + len(seen)] == seen
        for by in range(min(look.slack, 30) + 1)
    )


@pytest.mark.component
@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize("seed", range(40))
def test_every_observation_matches_the_real_files(tmp_path, seed):
    random = Random(seed)  # noqa: S311 - seeded, so that a script can be run again
    for _ in range(12):
        files = random_files(random, tmp_path)
        script = random_script(random)
        done = subprocess.run(
            [BASH, "-c", script],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output = done.stdout.decode()
        stripped = random.random() < 0.5
        if stripped:
            output = output.rstrip()
            while output.startswith("\n"):
                output = output[1:]
        result = ShellResult(done.returncode, done.returncode == 0, output, stripped=stripped)
        for event in derive_script_events(parse_shell_script(script), result, ""):
            if isinstance(event, ObservedLines):
                assert matches_files(event, files), (script, output, event)
