"""Commands that may rewrite any file of a folder. Step: attribute.

A formatter that is given a folder, or nothing, rewrites what it finds there; so do tasks that are
called after it, code generators, and commands that get their files from another one. Where a
formatter says that it has left all files as they were, it has rewritten none.
"""

import re
from collections.abc import Iterator, Sequence

from vacr.attribution.events import Touch
from vacr.attribution.shell.formatters import FORMATTERS, formats

Words = Sequence[str | None]

_SUFFIXES = {
    ".py .pyi .ipynb": "autopep8 black isort ruff yapf",
    ".go": "fieldalignment gci go gofmt gofumpt goimports golangci-lint modernize",
    ".rs": "cargo rustfmt",
    ".ex .exs .eex .heex .leex": "mix",
    ".dart": "dart",
    ".zig .zon": "zig",
    ".tf .tfvars .hcl": "terraform tofu",
    ".sh .bash": "shfmt",
    ".lua": "stylua",
    ".swift": "swiftformat",
    ".kt .kts": "ktlint",
    ".java": "google-java-format",
    ".php": "php-cs-fixer pint",
    ".toml": "taplo",
    ".sql": "sqlfluff",
    ".proto": "buf",
    ".nix": "nixfmt",
    ".md .mdx .markdown": "markdownlint markdownlint-cli2",
}
# What a formatter's files end with; one that is not here may rewrite any.
KINDS = {
    name: tuple(suffixes.split()) for suffixes, names in _SUFFIXES.items() for name in names.split()
}

_VERBS = frozenset(["check", "lint", "format", "fmt", "fix", "run", "write", "clippy"])
_BARE = """
-a -A -F -q -r -s -v --all --apply --quiet --recursive --staged --unsafe --unsafe-fixes --verbose
"""
_FLAGS = frozenset(_BARE.split())
_RUN = "bun composer gradle gradlew just make mise mvn npm nox nx pnpm poe rake task tox turbo yarn"
_RUNNERS = frozenset(_RUN.split())
_SHELLS = frozenset(
    ["bash", "deno", "node", "python", "python3", "ruby", "sh", "ts-node", "tsx", "zsh"]
)
_ALWAYS = frozenset(["lint-staged", "pre-commit", "treefmt"])
_TASK = re.compile(
    r"(?:.*[:._-])?(?:fmt|format|formatting|prettier|fix|autofix|lintfix|tidy|spotless:?apply|codegen|gen|generate)(?:[:._-].*)?",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"(?:.*[._-])?(?:fmt|format)(?:[._-].*)?")
_CHECK = re.compile(r"(?:^|[:._-])(?:check|dry|verify)", re.IGNORECASE)
_SED = re.compile(r"\b(?:sed|perl)\s(?:[^|;&\n]{0,300}?\s)?-\w{0,9}i|--in-place\b")
_WRITES = re.compile(
    r"\b(?:black|isort|prettier|ruff|gofmt|goimports|eslint|rustfmt|clang-format)\b[^|;&\n]*"
)

_GIVEN = frozenset(
    [
        "-I",
        "-n",
        "-P",
        "-L",
        "-d",
        "-E",
        "-s",
        "--max-args",
        "--max-procs",
        "--delimiter",
        "--replace",
    ]
)


def sweeps(words: Words) -> Iterator[Touch]:
    """Give the folders in which a command may rewrite any file."""
    name = words[0] if words else None
    if name is not None and formats(words):
        kinds = KINDS.get(name, ())
        for path in _places(name, words[1:]):
            if not _is_file(path, kinds):
                yield Touch(path, formatter=True, folder=True, kinds=kinds)
    elif is_task(words):
        yield Touch(".", formatter=True, folder=True)


def _is_file(path: str, kinds: tuple[str, ...]) -> bool:
    return path.endswith(kinds) if kinds else bool(re.search(r"[^/.]\.[A-Za-z]\w*$", path))


def is_task(words: Words) -> bool:
    """Tell whether a command runs a task that is called after a formatter or a generator."""
    name = (words[0] or "").rpartition("/")[2] if words else ""
    if name in _ALWAYS:
        return True
    called = [word.rpartition("/")[2] for word in words[1:] if word and not word.startswith("-")]
    if name in _SHELLS:
        return bool(called) and bool(_SCRIPT.fullmatch(called[0])) and not _CHECK.search(called[0])
    called = called if name in _RUNNERS else [name]
    if name in FORMATTERS or any(
        _CHECK.search(word) for word in [*called, *(word for word in words if word)]
    ):
        return False
    return any(map(_TASK.fullmatch, called)) or (name in _RUNNERS and "--fix" in words)


def hidden(text: str) -> bool:
    """Tell whether a script that is not read to its end may rewrite files that it does not name."""
    return bool(_SED.search(text)) or any(
        formats(found[0].split()) for found in _WRITES.finditer(text)
    )


def given_others(words: Words) -> list[str | None]:
    """Give the command that `xargs` or `find` runs on files that are not told; any other command as
    it is.
    """
    name = words[0] if words else None
    if name == "xargs":
        rest = list(words[1:])
        while rest and rest[0] is not None and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in _GIVEN else rest[1:]
        return [*rest, None] if rest else list(words)
    marks = {
        "find": ("-exec", "-execdir", "-ok"),
        "fd": ("-x", "-X", "--exec", "--exec-batch"),
    }.get(name or "", ())
    for at, word in enumerate(words):
        if word in marks:
            rest = list(words[at + 1 :])
            end = next((i for i, one in enumerate(rest) if one in (";", "+")), len(rest))
            return [None if one == "{}" else one for one in rest[:end]]
    return list(words)


def _places(name: str, words: Words) -> list[str]:
    """Give the files and folders that a formatter is given; where it is given none, that is where
    it runs.
    """
    marks = (*FORMATTERS[name], *_FLAGS)
    found, told, before = [], False, ""
    for word in words:
        if word is None:
            return [""]
        if not word.startswith("-") and word not in _VERBS and not word.isdigit():
            found.append(
                re.split(r"[*?\[{]|\.\.\.", word)[0].rpartition("/")[0] or "."
                if is_pattern(word)
                else word
            )
            told = told or not before.startswith("-") or before in marks
        before = word
    return found if told else [*found, "."]


def is_pattern(word: str) -> bool:
    """Tell whether a word stands for files that it does not name."""
    return bool(re.search(r"[*?\[{]|\.\.\.", word))


def leaves_all(words: Words, said: str) -> bool:
    """Tell whether a formatter says that it has rewritten nothing."""
    name = words[0] if words and "-q" not in words and "--quiet" not in words else None
    if name in ("black", "ruff") and "check" not in words:
        return "left unchanged" in said and "reformatted" not in said
    if name == "ruff":
        return "All checks passed!" in said and "fixed" not in said
    return False
