"""Commands that rewrite files in place. Step: attribute.

A formatter changes how text is laid out and keeps its tokens; other commands may change anything.

Commands that may rewrite any file of a folder. Step: attribute.

A formatter that is given a folder, or nothing, rewrites what it finds there; so do tasks that are
called after it, code generators, and commands that get their files from another one. Where a
formatter says that it has left all files as they were, it has rewritten none.
"""

import re
from collections.abc import Iterator, Sequence

from vacr.edits import PossibleChange

# The words that make a command write, any of them; a command with no such words writes unless it is
# told only to check.
_WRITES_BY_DEFAULT: tuple[str, ...] = ()
FORMATTERS: dict[str, tuple[str, ...]] = {
    "autopep8": ("-i", "--in-place"),
    "biome": ("--write", "--fix", "--apply", "--apply-unsafe"),
    "black": _WRITES_BY_DEFAULT,
    "buf": ("-w", "--write"),
    "cargo": ("fmt", "--fix", "fix"),
    "clang-format": ("-i",),
    "dart": ("format", "fix"),
    "deno": ("fmt",),
    "djlint": ("--reformat",),
    "dprint": ("fmt",),
    "eslint": ("--fix",),
    "fieldalignment": ("-fix", "--fix"),
    "gci": ("write", "-w"),
    "go": ("fmt", "fix"),
    "gofmt": ("-w",),
    "gofumpt": ("-w",),
    "goimports": ("-w",),
    "golangci-lint": ("--fix", "fmt"),
    "google-java-format": ("-i", "--replace"),
    "isort": _WRITES_BY_DEFAULT,
    "ktlint": ("-F", "--format"),
    "markdownlint": ("--fix", "-f"),
    "markdownlint-cli2": ("--fix",),
    "mix": ("format",),
    "modernize": ("-fix", "--fix"),
    "nixfmt": _WRITES_BY_DEFAULT,
    "oxfmt": _WRITES_BY_DEFAULT,
    "oxlint": ("--fix",),
    "php-cs-fixer": ("fix",),
    "pint": _WRITES_BY_DEFAULT,
    "prettier": ("--write", "-w"),
    "rubocop": ("-a", "-A", "--autocorrect", "--autocorrect-all"),
    "ruff": ("format", "--fix"),
    "rustfmt": _WRITES_BY_DEFAULT,
    "shfmt": ("-w",),
    "sqlfluff": ("fix", "format"),
    "standard": ("--fix",),
    "stylelint": ("--fix",),
    "stylua": _WRITES_BY_DEFAULT,
    "swiftformat": _WRITES_BY_DEFAULT,
    "taplo": ("fmt", "format"),
    "terraform": ("fmt",),
    "tofu": ("fmt",),
    "yapf": ("-i", "--in-place"),
    "zig": ("fmt",),
}
_CHECK_ONLY_OPTIONS = frozenset(
    ["--check", "--diff", "-check", "-diff", "--dry-run", "--lint", "--check-formatted", "-l", "-d"]
)

# Commands that run another one; of those with several words, the second says so.
_COMMAND_WRAPPERS = frozenset(
    ["npx", "bunx", "uvx", "pnpx", "command", "sudo", "env", "nice", "nohup", "xvfb-run"]
)
_WRAPPER_VERBS = {
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx", "run"),
    "npm": ("exec",),
    "bun": ("x", "run"),
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "mise": ("exec", "x"),
    "python": ("-m",),
    "python3": ("-m",),
}


def strip_command_wrappers(words: Sequence[str | None]) -> list[str | None]:
    """Leave out what only runs the command: `npx --yes prettier` is `prettier`."""
    rest = list(words)
    while rest and rest[0] is not None:
        name, second = rest[0], rest[1] if rest[1:] else None
        if name in _COMMAND_WRAPPERS:
            rest = rest[1:]
        elif name == "timeout" or second in _WRAPPER_VERBS.get(name, ()):
            rest = rest[2:]
        else:
            break
        while (
            rest
            and rest[0] is not None
            and (rest[0].startswith("-") or ("=" in rest[0] and "/" not in rest[0]))
        ):
            rest = rest[1:]
    if rest and rest[0]:
        rest[0] = rest[0].rpartition("/")[2].partition("@")[0] or rest[0]
    return rest


def is_writing_formatter(words: Sequence[str | None]) -> bool | None:
    """Tell whether a command is a formatter that writes; `None` when it is no formatter."""
    name = words[0] if words else None
    if name is None or name not in FORMATTERS:
        return None
    marks = FORMATTERS[name]
    if any(word in _CHECK_ONLY_OPTIONS for word in words[1:]) and not any(
        word in ("-w", "-i") for word in words[1:]
    ):
        return False
    if marks:
        if any(word in marks for word in words[1:]):
            return True
        # A command that does other things too is no formatter when it does them.
        return (
            None
            if name in ("cargo", "go", "mix", "deno", "dart", "zig", "terraform", "tofu", "buf")
            else False
        )
    return True


def find_in_place_files(words: Sequence[str | None]) -> list[str] | None:
    """Give the files that `sed -i` and the like change; `None` when the command is none of them."""
    name = words[0] if words else None
    options = [word for word in words[1:] if word and word.startswith("-")]
    files = [word for word in words[1:] if word and not word.startswith("-")]
    short = [option for option in options if not option.startswith("--")]
    if name in ("sed", "gsed") and any(option.startswith("--in-place") for option in options) | any(
        "i" in option.partition("e")[0] for option in short
    ):
        scripted = any(
            option in ("-e", "-f") or option.startswith("--expression") for option in options
        )
        return files if scripted else files[1:]
    if name in ("perl", "ruby") and any("i" in option.partition("e")[0] for option in short):
        return files if any(option.endswith("e") for option in short) else files[1:]
    if name in ("gawk", "awk") and "inplace" in files:
        return files[1:]
    return None


CommandWords = Sequence[str | None]

_FORMATTER_NAMES_BY_SUFFIX = {
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
FORMATTER_SUFFIXES = {
    name: tuple(suffixes.split())
    for suffixes, names in _FORMATTER_NAMES_BY_SUFFIX.items()
    for name in names.split()
}

_FORMATTER_VERBS = frozenset(["check", "lint", "format", "fmt", "fix", "run", "write", "clippy"])
_VALUELESS_FLAG_NAMES = """
-a -A -F -q -r -s -v --all --apply --quiet --recursive --staged --unsafe --unsafe-fixes --verbose
"""
_VALUELESS_FLAGS = frozenset(_VALUELESS_FLAG_NAMES.split())
_TASK_RUNNER_NAMES = (
    "bun composer gradle gradlew just make mise mvn npm nox nx pnpm poe rake task tox turbo yarn"
)
_TASK_RUNNERS = frozenset(_TASK_RUNNER_NAMES.split())
_SCRIPT_INTERPRETERS = frozenset(
    ["bash", "deno", "node", "python", "python3", "ruby", "sh", "ts-node", "tsx", "zsh"]
)
_REWRITING_TOOLS = frozenset(["lint-staged", "pre-commit", "treefmt"])
_REWRITING_TASK_NAME = re.compile(
    r"(?:.*[:._-])?(?:fmt|format|formatting|prettier|fix|autofix|lintfix|tidy|spotless:?apply|codegen|gen|generate)(?:[:._-].*)?",
    re.IGNORECASE,
)
_FORMAT_SCRIPT_NAME = re.compile(r"(?:.*[._-])?(?:fmt|format)(?:[._-].*)?")
_CHECK_ONLY_NAME = re.compile(r"(?:^|[:._-])(?:check|dry|verify)", re.IGNORECASE)
_IN_PLACE_EDIT = re.compile(r"\b(?:sed|perl)\s(?:[^|;&\n]{0,300}?\s)?-\w{0,9}i|--in-place\b")
_FORMATTER_CALL = re.compile(
    r"\b(?:black|isort|prettier|ruff|gofmt|goimports|eslint|rustfmt|clang-format)\b[^|;&\n]*"
)

_XARGS_VALUE_OPTIONS = frozenset(
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


def derive_sweep_events(words: CommandWords) -> Iterator[PossibleChange]:
    """Give the folders in which a command may rewrite any file."""
    name = words[0] if words else None
    if name is not None and is_writing_formatter(words):
        kinds = FORMATTER_SUFFIXES.get(name, ())
        for path in _list_formatter_paths(name, words[1:]):
            if not _is_formatted_file(path, kinds):
                yield PossibleChange(path, formatter=True, folder=True, kinds=kinds)
    elif is_rewriting_task(words):
        yield PossibleChange(".", formatter=True, folder=True)


def _is_formatted_file(path: str, kinds: tuple[str, ...]) -> bool:
    return path.endswith(kinds) if kinds else bool(re.search(r"[^/.]\.[A-Za-z]\w*$", path))


def is_rewriting_task(words: CommandWords) -> bool:
    """Tell whether a command runs a task that is called after a formatter or a generator."""
    name = (words[0] or "").rpartition("/")[2] if words else ""
    if name in _REWRITING_TOOLS:
        return True
    called = [word.rpartition("/")[2] for word in words[1:] if word and not word.startswith("-")]
    if name in _SCRIPT_INTERPRETERS:
        return (
            bool(called)
            and bool(_FORMAT_SCRIPT_NAME.fullmatch(called[0]))
            and not _CHECK_ONLY_NAME.search(called[0])
        )
    called = called if name in _TASK_RUNNERS else [name]
    if name in FORMATTERS or any(
        _CHECK_ONLY_NAME.search(word) for word in [*called, *(word for word in words if word)]
    ):
        return False
    return any(map(_REWRITING_TASK_NAME.fullmatch, called)) or (
        name in _TASK_RUNNERS and "--fix" in words
    )


def can_rewrite_unnamed_files(text: str) -> bool:
    """Tell whether a script that is not read to its end may rewrite files that it does not name."""
    return bool(_IN_PLACE_EDIT.search(text)) or any(
        is_writing_formatter(found[0].split()) for found in _FORMATTER_CALL.finditer(text)
    )


def unwrap_xargs_or_find(words: CommandWords) -> list[str | None]:
    """Give the command that `xargs` or `find` runs on files that are not told; any other command as
    it is.
    """
    name = words[0] if words else None
    if name == "xargs":
        rest = list(words[1:])
        while rest and rest[0] is not None and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in _XARGS_VALUE_OPTIONS else rest[1:]
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


def _list_formatter_paths(name: str, words: CommandWords) -> list[str]:
    """Give the files and folders that a formatter is given; where it is given none, that is where
    it runs.
    """
    marks = (*FORMATTERS[name], *_VALUELESS_FLAGS)
    found, told, before = [], False, ""
    for word in words:
        if word is None:
            return [""]
        if not word.startswith("-") and word not in _FORMATTER_VERBS and not word.isdigit():
            found.append(
                re.split(r"[*?\[{]|\.\.\.", word)[0].rpartition("/")[0] or "."
                if is_path_pattern(word)
                else word
            )
            told = told or not before.startswith("-") or before in marks
        before = word
    return found if told else [*found, "."]


def is_path_pattern(word: str) -> bool:
    """Tell whether a word stands for files that it does not name."""
    return bool(re.search(r"[*?\[{]|\.\.\.", word))


def reports_no_changes(words: CommandWords, said: str) -> bool:
    """Tell whether a formatter says that it has rewritten nothing."""
    name = words[0] if words and "-q" not in words and "--quiet" not in words else None
    if name in ("black", "ruff") and "check" not in words:
        return "left unchanged" in said and "reformatted" not in said
    if name == "ruff":
        return "All checks passed!" in said and "fixed" not in said
    return False
