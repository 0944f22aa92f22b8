"""Which files a command may write besides its output, and which it surely leaves alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attribution.sessions import ROOT, Claude, read_records
from vacr.agents import ShellResult
from vacr.attribution.attribute import replay_records
from vacr.attribution.shell.command_outputs import (
    _MAX_AWK_PROGRAM,
    find_output_files,
    find_written_files,
    may_awk_program_write,
)
from vacr.attribution.shell.effects import derive_script_events
from vacr.attribution.shell.parser import ShellCommand, ShellScript

KNOWN_FILES = ("x.py", "y.py", "src/x.py", "Makefile", "src/Dockerfile", "notes.md")


def find_doubted(folder, command, known=KNOWN_FILES):
    """Return the files whose text is uncertain after a command, of those that were written."""
    claude = Claude()
    for path in known:
        claude.call(
            "Write",
            {"file_path": f"{ROOT}/{path}", "content": "one\ntwo\n"},
            f"File created successfully at: {path}",
        )
    claude.call("Bash", {"command": command}, "")
    replay, _ = replay_records(read_records(folder, claude.data()))
    files = {path: replay.files[f"{ROOT}/{path}"] for path in known}
    return {path for path, file in files.items() if file.gone or file.text is None or file.doubt}


# --- find, cp and gh ---

WORDS = """
find fd xargs sudo sed awk gawk sort cp mv rm tee git gh curl wget yq uniq cat python npx timeout
-exec -execdir ; + {} -- - -delete -name -o -i -n -e -R --help a.py
"""


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", *WORDS.split()])), max_size=6))
def test_events_of_any_words_are_derived(words):
    script = ShellScript([ShellCommand("", words)])
    list(derive_script_events(script, ShellResult(0, True, ""), ""))
    list(derive_script_events(script, ShellResult(None, False, "", ""), None))


@pytest.mark.parametrize("command", ["find . -exec", "find . -exec \\;", "find . -exec {} +"])
def test_find_without_a_command_changes_nothing(tmp_path, command):
    assert find_doubted(tmp_path, command) == set()


@pytest.mark.parametrize(
    ("command", "doubted"),
    [
        ('cp "$SRC" src/Dockerfile', {"src/Dockerfile"}),
        ('cp "$SRC" ./Makefile', {"Makefile"}),
        ('cp "$SRC" Makefile', {"Makefile"}),
        ('cp "$SRC" e/x.py src', {"src/x.py"}),
    ],
)
def test_target_of_a_copy_is_doubted_without_an_extension(tmp_path, command, doubted):
    assert find_doubted(tmp_path, command) >= doubted
    assert "y.py" not in find_doubted(tmp_path, command)


@pytest.mark.parametrize(
    ("command", "doubted"),
    [
        ("find . -type f -name 'x.*' -delete", {"x.py", "src/x.py"}),
        ("find . -type f ! -name '*.md' -delete", set(KNOWN_FILES)),
        ("find . -type f -not -name '*.md' -delete", set(KNOWN_FILES)),
        ("find . -name '*.md' -o -path './src/*' -delete", set(KNOWN_FILES)),
        ("find . -name '*.md' -o -type f -exec rm {} +", set(KNOWN_FILES)),
        ("find . -iname 'X.PY' -delete", set(KNOWN_FILES)),
        ('find . -name "$NAME" -delete', set(KNOWN_FILES)),
    ],
)
def test_names_of_find_count_only_if_they_select(tmp_path, command, doubted):
    assert find_doubted(tmp_path, command) == doubted


@pytest.mark.parametrize(
    "command",
    [
        r"find . -name x.py -exec /bin/rm {} \;",
        r"find . -name x.py -exec env rm {} \;",
        r"find . -name x.py -exec sort -o {} {} \;",
        r"find . -name x.py -exec tee {} \;",
        r"""find . -name x.py -exec sh -c 'echo > "$1"' _ {} \;""",
        "find . -name x.py | xargs rm",
        "git ls-files -z -o | xargs -0 rm",
        "git grep -Orm alpha",
        "git grep --open-files-in-pager=rm alpha",
        "git checkout-index -f x.py",
        "git checkout-index -f -a",
        "git -c alias.st='!rm x.py' st",
        "git -c core.pager='rm x.py' log",
    ],
)
def test_command_that_another_command_runs_may_write(tmp_path, command):
    assert "x.py" in find_doubted(tmp_path, command)


@pytest.mark.parametrize(
    "command",
    [
        r"find . -name x.py -exec grep a {} \;",
        r"find . -exec env cat {} \;",
        r"find . -name x.py -exec /usr/bin/sort {} \;",
        "find . -name x.py | xargs grep a",
        "find . -type f | xargs wc -l",
        "git grep -n O",
        "git -c core.quotepath=off status",
        "git -c core.pager=cat log",
    ],
)
def test_command_that_another_command_runs_only_reads(tmp_path, command):
    assert find_doubted(tmp_path, command) == set()


def may_change_folder(words):
    """Return whether a command has any effect on files."""
    script = ShellScript([ShellCommand("", words)])
    return bool(list(derive_script_events(script, ShellResult(0, True, ""), "")))


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("gh pr merge -sd 12", True),
        ("gh pr merge 12 -d", True),
        ("gh pr merge 12 --delete-branch=true", True),
        ("gh -R o/r pr checkout 5", True),
        ("gh run download 5", True),
        ("gh repo fork --clone=true", True),
        ("gh -R o/r pr view", False),
        ("gh --repo o/r issue list", False),
        ("gh pr create -d", False),
        ("gh pr merge -s 12", False),
        ("gh pr comment 5 -b clone", False),
    ],
)
def test_verbs_and_options_of_gh(command, changes):
    assert may_change_folder(command.split()) is changes


# --- awk ---


@pytest.mark.parametrize(
    "program",
    [
        """{print gensub(/[0-9]{3}/,"N",1) > "x.py"}""",
        """{print gensub(/;/,"N",1) > "x.py"}""",
        """{print gensub(/"/,"N",1) > "x.py"}""",
        """/"/ {print > "x.py"} /"/""",
        """/[[:alpha:]/"]/ {print > "x.py"; print "a}""",
        """{x++ / 2; print > "x.py" / 1}""",
        """{if (/a/) print $1, \n $2 > "x.py"}""",
        """BEGIN {for (print "a" > "x.py"; 0;) 1}""",
        """{print a || b > "x.py"}""",
        """{print (1) > "x.py"}""",
        """{print "a\\"" > "x.py"}""",
        """{print; # "\n print > "x.py" # "\n}""",
        """{printf("%s", $1) >> "x.py"}""",
        """{print | "cat > x.py"}""",
        """{"rm x.py" | getline}""",
        """{system("rm x.py")}""",
        """@include "x"\n{f()}""",
        """{f = "system"; @f("rm x.py")}""",
        "{print > x" + " " * 5000 + "}",
    ],
)
def test_awk_program_that_writes_is_found(program):
    assert may_awk_program_write(program)
    assert find_written_files(["awk", program, "b.txt"]) is not None


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "NR > 2",
        "$1 > 5 {print}",
        "/a/ {n++} n > 3 {print NR / 2}",
        "{if ($1 > 5) print ($2 > 3)}",
        """{print "a > b | c"}""",
        """/^>|[|]/ {print}""",
        """$2 ~ /a|b/ || $3 ~ "x|y" {print $2 "|" $3}""",
        """{while ((getline line < "x.py") > 0) print line}""",
        """NR >= 2 && $1 > 3 {print FILENAME ":" NR} # > all""",
    ],
)
def test_awk_program_that_only_reads_is_known(program):
    assert not may_awk_program_write(program)
    assert find_written_files(["awk", "-F", "|", "-v", "a=>", program, "x.py"]) is None


def measure_awk_check(program):
    """Return the least CPU time of some checks of a program."""
    times = []
    for _ in range(5):
        start = time.process_time()
        assert not may_awk_program_write(program)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("part", ['"a" ', "/a/;", "(a)", "a ", "||", "\n"])
def test_awk_program_is_checked_in_linear_time(part):
    short, long = (part * (size // len(part)) + ";a>b" for size in (400, 4000))
    assert measure_awk_check(long) < 40 * measure_awk_check(short)


def test_long_awk_program_may_write():
    assert may_awk_program_write("a " * _MAX_AWK_PROGRAM + "> b")
    assert not may_awk_program_write("print " * _MAX_AWK_PROGRAM)


@pytest.mark.parametrize(
    "command", ["gawk -W include=inplace 1 x.py", "awk -f a.awk x.py", "gawk -i inplace 1 x.py"]
)
def test_option_of_awk_that_may_write_is_a_doubt(tmp_path, command):
    doubted = find_doubted(tmp_path, command)
    assert "x.py" in doubted
    assert "y.py" not in doubted


# --- sed ---

READING_SED = [
    r"""sed -n '\|one|p' x.py""",
    r"""sed -n '\,/usr/,,\#two#p' x.py""",
    "sed 's/[/]/x/' x.py",
    "sed 's/[^/]*[]/]$//; s/[[:space:]/]//' x.py",
    """sed -n "${A},${B}p" x.py""",
    """sed "s/one/$Y/" x.py""",
    """sed -n -e "$A" x.py""",
    "sed --help",
]


@pytest.mark.parametrize("command", READING_SED)
def test_sed_that_prints_leaves_its_file_certain(tmp_path, command):
    assert find_doubted(tmp_path, command) == set()


@pytest.mark.parametrize(
    "command",
    [
        r"""sed -n '\|one|w x.py' b.txt""",
        r"""sed 's/[\n/]/p;#/w x.py' b.txt""",
        r"""sed 's/[\]/w x.py' b.txt""",
        "sed 's/[/]/a/w x.py' b.txt",
        "sed 'y/[/]/;w x.py' b.txt",
        """sed "s/one/$Y/" -e 'w x.py' b.txt""",
        """sed -i "s/one/$Y/" x.py""",
        "sed '' -f a.sed x.py",
    ],
)
def test_sed_that_may_write_is_a_doubt(tmp_path, command):
    doubted = find_doubted(tmp_path, command)
    assert "x.py" in doubted
    if '"' not in command:
        assert "y.py" not in doubted


def test_unknown_sed_program_may_change_an_unnamed_file():
    assert find_written_files(["sed", "-n", None, "x.py"]) == []
    assert find_written_files(["sed", "1p", None, "x.py"]) is None
    assert find_written_files(["sed", "", "x.py"]) is None


# --- options ---


@pytest.mark.parametrize(
    "command", ["sort --help", "rg --version", "find --help", "awk --version", "yq --help"]
)
def test_help_and_version_only_read(command):
    assert find_written_files(command.split()) is None


def test_split_option_of_yq_writes_files():
    assert find_written_files(["yq", "-s", ".a", "x.yml"]) is not None


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("curl -o Makefile https://example.org", ["Makefile"]),
        ("curl -fsSLo Makefile https://example.org", ["Makefile"]),
        ("curl -fsSLoMakefile https://example.org", ["Makefile"]),
        ("curl --output Makefile https://example.org", ["Makefile"]),
        ("curl --output=Makefile https://example.org", ["Makefile"]),
        ("wget -O Makefile https://example.org", ["Makefile"]),
        ("wget -qO- https://example.org", []),
        ("curl -o /dev/null https://example.org", []),
        ("curl -o - https://example.org", []),
        ("curl -O https://example.org/e/Makefile", ["Makefile"]),
        ("gcc -foo a.c", []),
        ("gcc -o a/main a.c", ["a/main"]),
        ("gcc -oa/main a.c", ["a/main"]),
        ("unzip -qo a/b.zip", []),
        ("pandoc -o a.html a.md", ["a.html"]),
    ],
)
def test_output_options_name_files(command, files):
    assert find_output_files(command.split()) == files
