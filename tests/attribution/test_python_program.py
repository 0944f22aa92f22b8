"""Small Python programs that rewrite files: the same text as the programs themselves write."""

import hashlib
import subprocess
import sys

import pytest

from tests.attribution.sessions import ROOT, Claude, read_records
from tests.attribution.test_shell_effects import list_effects, written
from vacr.attribution.attribute import attribute_records
from vacr.attribution.shell.python_program import derive_python_writes
from vacr.edits import FileRewrite

TEXT = "import os\n\nfoo(1, 2)\n  x = 'a' + \"b\"\nfoo(3)\né ☃\n"
KNOWN_PROGRAMS = [
    "s = open('f').read()\nopen('f', 'w').write(s.replace('foo', 'bar'))",
    "p = 'f'\ns = open(p).read()\ns = s.replace('foo', 'bar', 1)\nopen(p, 'w').write(s)",
    (
        "p = 'f'\ns = open(p, encoding='utf-8').read()\nold = 'foo(1, 2)\\n'\nassert old in s\n"
        "assert s.count(old) == 1, s.count(old)\ns = s.replace(old, old + 'more()\\n')\n"
        "with open(p, 'w', encoding='utf-8') as f:\n    f.write(s)\nprint('done', len(s))"
    ),
    "from pathlib import Path\np = Path('f')\np.write_text(p.read_text().replace('foo', 'bar'))",
    (
        "import pathlib, re\np = pathlib.Path('f')\ns = p.read_text()\ns = s.replace('''foo(3)\n''', '')\n"
        "p.write_text(s)"
    ),
    "with open('f') as f:\n    s = f.read()\nwith open('f', 'w') as f:\n    f.write(s.replace('é', 'e'))",
    (
        "for name in ['f', 'g']:\n    s = open(name).read()\n"
        "    open(name, 'w').write(s.replace('o', '0'))"
    ),
    (
        "s = open('f').read()\nopen('f', 'w').write(s.replace('a', 'b'))\n"
        "s = open('f').read()\nopen('f', mode='w').write(s.replace('b', 'c'))"
    ),
    "open('f', 'w').write('new\\n')",
    "text = 'a'\ntext += 'b\\n'\nopen('f', 'w').write(text.replace('a', 'c'))",
    "open('f', 'w').write(open('f').read().replace('foo', 'bar'))",
    "s = open('f').read()\nopen('f', 'w').write(s.replace('', '-'))",
]
UNKNOWN_PROGRAMS = [
    "import app\nopen('f', 'w').write('x')",
    "from os import open\nopen('f', 'w').write('x')",
    "import io as open\nopen('f', 'w').write('x')",
    "import re\ns = open('f').read()\nopen('f', 'w').write(re.sub('a+', 'b', s))",
    "import os\nopen('f', 'w').write('x')\nos.remove('g')",
    "s = open('f').read()\nif 'foo' in s:\n    open('f', 'w').write(s.replace('a', 'b'))",
    "s = open('f').read()\nopen('g', 'w').write(s.replace('a', 'b'))",
    "s = open('f').read()\nopen('f', 'a').write('x')",
    "s = open('f', 'rb').read()\nopen('f', 'wb').write(s)",
    "s = open('f', encoding='latin-1').read()\nopen('f', 'w').write(s)",
    "f = open('f', 'w')\nf.write('a')\nf.write('b')",
    "f = open('f')\nf.read()\nopen('g', 'w').write(f.read())",
    "import sys\np = sys.argv[1]\ns = open(p).read()\nopen(p, 'w').write(s)",
    "open('f', 'w').write(x)",
    "def write():\n    open('f', 'w').write('x')",
    "print(open('f', 'w').write('x'))",
    "assert open('f', 'w').write('x')",
    "print('only reads')",
    "open('~/f', 'w').write('x')",
    "open('f', 'w').write('x' * 9)",
    "open('f', 'w'",
    "(" * 5000 + ")" * 5000,
]


@pytest.mark.parametrize("code", KNOWN_PROGRAMS)
def test_rewritten_text_is_that_of_the_real_program(tmp_path, code):
    for name in "fg":
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-X", "utf8", "-"], input=code.encode(), cwd=tmp_path, check=True
    )
    writes = derive_python_writes(code)
    assert writes
    for write in writes:
        text = write.rewrite(TEXT) if isinstance(write, FileRewrite) else write.text
        assert text == (tmp_path / write.path).read_text(encoding="utf-8")


@pytest.mark.parametrize("code", UNKNOWN_PROGRAMS)
def test_program_with_another_effect_is_unknown(code):
    assert derive_python_writes(code) is None


def test_text_with_carriage_returns_is_uncertain():
    [write] = derive_python_writes(KNOWN_PROGRAMS[0])
    assert write.rewrite("foo\r\n") is None


def test_program_counts_only_if_it_succeeds_alone_and_not_on_windows():
    code = "python3 - <<'E'\nopen('f.x', 'w').write('a\\n')\nE\n"
    assert list_effects(code) == [written("f.x", "a\n")]
    assert list_effects("python3 -c \"open('f.x', 'w').write('a')\"") == [written("f.x", "a")]
    assert list_effects(code, failed=True) == []
    assert list_effects(f"cd 'D:/app' && {code}") != []
    assert list_effects("python3 a.py <<'E'\nopen('f.x', 'w').write('a')\nE\n") == []


def test_file_after_a_python_program_is_known(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": f"{ROOT}/a.py", "content": "one\ntwo\nthree\n"},
        "File created successfully at: a.py",
    )
    code = "p = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s.replace('two', '2'))\n"
    claude.call("Bash", {"command": f"python3 - <<'E'\n{code}E"}, "")
    (record,) = attribute_records(read_records(tmp_path, claude.data()))
    proof = record["vacr"]["attribution"]["files"]["a.py"]
    assert (proof["complete"], proof.get("doubt")) == (True, None)
    assert proof["sha-256"] == hashlib.sha256(b"one\n2\nthree\n").hexdigest()
