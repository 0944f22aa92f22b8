"""Parsed shell scripts, compared with a real shell."""

import shutil
import subprocess
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import slow
from vacr.attribution.shell.parser import parse_shell_script

BASH = shutil.which("bash")


def list_words(text):
    return [(command.joined, command.words) for command in parse_shell_script(text).commands]


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", []),
        ("# nothing", []),
        ("a b  c", [("", ["a", "b", "c"])]),
        (
            "a&&b||c;d\ne|f",
            [("", ["a"]), ("&&", ["b"]), ("||", ["c"]), (";", ["d"]), (";", ["e"]), ("|", ["f"])],
        ),
        ("a |& b", [("", ["a"]), ("|", ["b"])]),
        ("a &&\n  # why\n\n  b", [("", ["a"]), ("&&", ["b"])]),
        ("a \\\n  b\\\nc", [("", ["a", "bc"])]),
        ("a b#c #d", [("", ["a", "b#c"])]),
        ("a 'b c'\"d e\"f\\ g ''", [("", ["a", "b cd ef g", ""])]),
        (r'a "b\"c\\d\e\$f" ', [("", ["a", r'b"c\d\e$f'])]),
        ("a $b ${c} $(d) `e` \"$f\" $'g' $((1+1))", [("", ["a", *[None] * 7])]),
        ("a $ b$ \"c$\" '$d'", [("", ["a", "$", "b$", "c$", "$d"])]),
        (
            "a *.py b? [c] {d,e} {} ~ ~/f g~ x=~/y",
            [("", ["a", None, None, None, None, "{}", None, None, "g~", None])],
        ),
        ("a \"*\" '?' \\*", [("", ["a", "*", "?", "*"])]),
        ("a {} b{}c 0{},} {}{} {} }", [("", ["a", "{}", "b{}c", None, None, "{}", "}"])]),
        ("[ -f x ]", [("", ["[", "-f", "x", "]"])]),
        ("A=1 B=$(x) c d=e", [("", ["c", "d=e"])]),
        ("A=1; b", [("", []), (";", ["b"])]),
        ("a $(echo ')' \"(\" '(') b", [("", ["a", None, "b"])]),
        ('a "$(b "c d" \'e)\')" f', [("", ["a", None, "f"])]),
        ("a $'it\\'s' b", [("", ["a", None, "b"])]),
        (
            "git commit -m \"$(cat <<'EOF'\n1) it's \"one\n`two\nEOF\n)\" && b",
            [("", ["git", "commit", "-m", None]), ("&&", ["b"])],
        ),
        ("a é\u00a0ß\u2028x", [("", ["a", "é\u00a0ß\u2028x"])]),
    ],
)
def test_script_is_split_into_commands_and_words(text, commands):
    assert list_words(text) == commands
    assert not parse_shell_script(text).opaque


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("(a)", 0),
        ("a; (b)", 1),
        ("a; for x in 1 2; do b; done; c", 1),
        ("if a; then b; fi", 0),
        ("while a; do b; done", 0),
        ("case a in b) c;; esac", 0),
        ("f() { a; }", 0),
        ("{ a; }", 0),
        ("! a", 0),
        ("[[ a && b ]]", 0),
        ("eval a", 0),
        ("a <(b)", 0),
        ("a 'b", 0),
        ('a "b', 0),
        ("a $(b", 0),
        ("a `b", 0),
        ("a >", 0),
        ("&& a", 0),
        ("a && ; b", 1),
        ("a $(case b in c) d;; esac) e", 0),
        ("a ${b:-'}'} c", 0),
    ],
)
def test_unsupported_construct_makes_the_rest_opaque(text, before):
    script = parse_shell_script(text)
    assert script.opaque
    assert len(script.commands) == before


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("cat <<EOF\na\nb\nEOF", ["a\nb\n"]),
        ("cat <<'EOF'\n$a `b` \\\nEOF", ["$a `b` \\\n"]),
        ('cat <<"E F"\n$a\nE F\n', ["$a\n"]),
        ("cat <<\\EOF\n$a\nEOF\n", ["$a\n"]),
        ("cat <<EOF\n$a\nEOF", [None]),
        ("cat <<EOF\n\\$a \\`b\\` c\\\\d $ e\\\nf\nEOF", ["$a `b` c\\d $ ef\n"]),
        ("cat <<EOF\na\\\nEOF\nEOF", ["aEOF\n"]),
        ("cat <<-EOF\n\ta\n\t\tb\n\tEOF", ["a\nb\n"]),
        ("cat <<-EOF\na\\\n\tb\nEOF", [None]),
        ("cat <<A <<B\na\nA\nb\nB\necho", ["a\n", "b\n"]),
        ("cat <<A; cat <<B\na\nA\nb\nB", ["a\n", "b\n"]),
        ("cat <<EOF && echo x\nEOF\n", [""]),
        ("cat <<EOF\na", [None]),
        ("cat <<EOF |\na\nEOF\ntee b", ["a\n"]),
    ],
)
def test_bodies_of_here_documents_are_read(text, bodies):
    script = parse_shell_script(text)
    assert [
        r.body
        for command in script.commands
        for r in command.redirects
        if r.operator in ("<<", "<<-")
    ] == bodies
    if BASH and None not in bodies and len(bodies) == 1 and "tee" not in text:
        shown = subprocess.run(
            [BASH, "-c", text], capture_output=True, text=True, check=True
        ).stdout
        assert shown.removesuffix("x\n" if "echo x" in text else "") == bodies[0]


def test_redirections_are_parsed():
    redirects = (
        parse_shell_script("a>b 2>/dev/null >>c &>d 2>&1 3<e >|f <<<g").commands[0].redirects
    )
    assert [(r.descriptor, r.operator, r.target) for r in redirects] == [
        ("", ">", "b"),
        ("2", ">", "/dev/null"),
        ("", ">>", "c"),
        ("&", ">", "d"),
        ("2", ">&", "1"),
        ("3", "<", "e"),
        ("", ">|", "f"),
        ("", "<<<", "g"),
    ]


def test_glob_patterns_are_kept():
    command = parse_shell_script("rm repro* a/b?.py 'c'* $d*").commands[0]
    assert command.globs == {1: "repro*", 2: "a/b?.py"}


def test_background_command_is_marked():
    assert [command.background for command in parse_shell_script("a & b; c &").commands] == [
        True,
        False,
        True,
    ]


PIECE = st.one_of(
    st.text("abcXYZ019_-./:,@%+=^]}!é\u00a0", min_size=1, max_size=6),
    st.text(st.characters(codec="utf-8", exclude_characters="'\0"), max_size=8).map(
        lambda text: f"'{text}'"
    ),
    st.text(st.characters(codec="utf-8", exclude_characters='"\0$`\\'), max_size=8).map(
        lambda text: f'"{text}"'
    ),
    st.sampled_from(
        [
            '"\\$"',
            '"\\`"',
            '"\\\\"',
            '"\\""',
            '"\\a"',
            '"a\\\nb"',
            "\\\n",
            '"$"',
            '"$ "',
            "a#b",
            "a~b",
            "{}",
        ]
    ),
    st.characters(codec="utf-8", exclude_characters="\n\0").map(lambda char: "\\" + char),
)
WORD = st.lists(PIECE, min_size=1, max_size=4).map("".join)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(WORD, max_size=6).map(" ".join), min_size=8, max_size=8))
def test_words_equal_those_of_bash(lines):
    # One shell runs many commands, because starting it takes most of the time.
    script = "\n".join(f'printf "%s\\0" {line}\nprintf "\\n\\n\\0"' for line in lines)
    run = subprocess.run([BASH, "-c", script], capture_output=True, check=True)
    shown = run.stdout.decode().split("\0")
    ours = []
    parsed = parse_shell_script(script)
    assert not parsed.opaque
    for command in parsed.commands:
        words = command.words[2:] or ([""] if command.words[1] == "%s\\0" else ["\n\n"])
        ours += words
    assume(None not in ours)  # for example a list in braces, which the shell expands
    assert ours == shown[:-1]


HOSTILE = [
    "$(",
    '"$(',
    "`",
    '"',
    "'",
    "\\",
    "${",
    "$((",
    "<<a\n",
    "(",
    "a;",
    "a|",
    "\n",
    "#\n",
    "<<-'",
    "$'\\",
    "case ",
    "{",
    "&&",
]


@given(
    st.lists(
        st.sampled_from(
            [*HOSTILE, "a", " ", ")", "}", "EOF", "<", ">", "b=", "*", "~", "\x00", "\ud800"]
        ),
        max_size=60,
    )
)
def test_parser_accepts_any_shell_text(pieces):
    parse_shell_script("".join(pieces))


@given(st.text())
def test_parser_accepts_any_characters(text):
    parse_shell_script(text)


@pytest.mark.parametrize(
    "piece",
    [
        *HOSTILE,
        "$()",
        '"$(a)"',
        "`a`",
        "cat <<A\nA\n",
        "\\\n",
        "a ",
        "<<A ",
        '$("',
        "x=$(",
        "$(<<A\n",
    ],
)
@slow
def test_time_grows_linearly(piece):
    def measure_time(size):
        text = piece * (size // len(piece))
        start = time.process_time()
        parse_shell_script(text)
        return time.process_time() - start

    assert measure_time(100_000) < 1.5
