"""Commands that may change files without naming the new content.

Formatters change the layout of text and keep its tokens. Given a folder, or nothing, they rewrite
all files there; so do tasks named after formatting, code generators, and commands that get their
files from `xargs` or `find`. Editors such as `sed -i` may change anything in the files they name,
and a program may change the files that its code names. A formatter that reports that it left all
files unchanged has rewritten none.

    >>> from vacr.attribution.shell.rewriters import derive_sweep_events, strip_command_wrappers
    >>> words = strip_command_wrappers("uv run ruff format src".split())
    >>> words
    ['ruff', 'format', 'src']
    >>> [(event.path, event.kinds) for event in derive_sweep_events(words)]
    [('src', ('.py', '.pyi', '.ipynb'))]
"""

import re
from collections.abc import Iterable, Iterator

from vacr.attribution.shell.command_outputs import is_abbreviation
from vacr.attribution.shell.read_only import RTK_READING_VERBS
from vacr.attribution.shell.words import CommandWords
from vacr.edits import PossibleChange

# Words that make a formatter write; one of them is enough. A formatter without such words writes,
# unless an option makes it only check.
_WRITES_BY_DEFAULT: tuple[str, ...] = ()
_FORMATTERS: dict[str, tuple[str, ...]] = {
    "ansible-lint": ("--fix", "--write"),
    "autopep8": ("-i", "--in-place"),
    "biome": ("--write", "--fix", "--apply", "--apply-unsafe"),
    "black": _WRITES_BY_DEFAULT,
    "buf": ("-w", "--write"),
    "cargo": ("fmt", "--fix", "fix"),
    "clang-format": ("-i",),
    "clang-tidy": ("-fix", "--fix", "-fix-errors", "--fix-errors"),
    "codespell": ("-w", "--write-changes"),
    "dart": ("format", "fix"),
    "deno": ("fmt",),
    "detekt": ("-ac", "--auto-correct"),
    "djlint": ("--reformat",),
    "dotnet": ("format",),
    "dprint": ("fmt",),
    "eslint": ("--fix",),
    "fieldalignment": ("-fix", "--fix"),
    "flutter": ("format",),
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
    "next": ("--fix",),
    "nixfmt": _WRITES_BY_DEFAULT,
    "oxfmt": _WRITES_BY_DEFAULT,
    "oxlint": ("--fix",),
    "php-cs-fixer": ("fix",),
    "pint": _WRITES_BY_DEFAULT,
    "prettier": ("--write", "-w"),
    "psalm": ("--alter",),
    "rubocop": ("-a", "-A", "--autocorrect", "--autocorrect-all"),
    "ruff": ("format", "--fix"),
    "rustfmt": _WRITES_BY_DEFAULT,
    "semgrep": ("--autofix",),
    "shfmt": ("-w",),
    "sqlfluff": ("fix", "format"),
    "standard": ("--fix",),
    "stylelint": ("--fix",),
    "stylua": _WRITES_BY_DEFAULT,
    "swiftformat": _WRITES_BY_DEFAULT,
    "swiftlint": ("--fix", "--autocorrect", "autocorrect"),
    "taplo": ("fmt", "format"),
    "terraform": ("fmt",),
    "tflint": ("--fix",),
    "tofu": ("fmt",),
    "yapf": ("-i", "--in-place"),
    "zig": ("fmt",),
}
_MULTI_PURPOSE_FORMATTER_NAMES = "cargo go mix deno dart dotnet flutter next zig terraform tofu buf"
_MULTI_PURPOSE_FORMATTERS = frozenset(_MULTI_PURPOSE_FORMATTER_NAMES.split())
_CHECK_ONLY_OPTION_NAMES = "--check --diff -check -diff --dry-run --lint --check-formatted -l -d"
_CHECK_ONLY_OPTIONS = frozenset(_CHECK_ONLY_OPTION_NAMES.split())
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
# The endings of a formatter's files; a formatter that is not listed may rewrite any file.
_FORMATTER_SUFFIXES = {
    name: tuple(suffixes.split())
    for suffixes, names in _FORMATTER_NAMES_BY_SUFFIX.items()
    for name in names.split()
}
_FORMATTER_VERBS = frozenset(["check", "lint", "format", "fmt", "fix", "run", "write", "clippy"])
_VALUELESS_FLAG_NAMES = """
-a -A -F -q -r -s -v --all --apply --quiet --recursive --staged --unsafe --unsafe-fixes --verbose
"""
_VALUELESS_FLAGS = frozenset(_VALUELESS_FLAG_NAMES.split())
_WILDCARD = re.compile(r"[*?\[{]|\.\.\.")
_EXTENSION_AFTER_NAME = re.compile(r"[^/.]\.[A-Za-z]\w*$")

# Commands that run another one; for those with a second word, only together with it.
_COMMAND_WRAPPER_NAMES = """
npx bunx uvx pnpx command sudo doas env nice ionice nohup xvfb-run time caffeinate chronic stdbuf
unbuffer setsid dotenv rtk
"""
_COMMAND_WRAPPERS = frozenset(_COMMAND_WRAPPER_NAMES.split())
# With these verbs, `rtk` runs the command that follows; with others, the command of that name.
_RTK_RUNNING_VERBS = frozenset(["err", "proxy", "summary", "test"])
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
    "pdm": ("run",),
    "pixi": ("run",),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "rbenv": ("exec",),
    "pyenv": ("exec",),
    "nodenv": ("exec",),
    "bundle": ("exec",),
    "fvm": ("exec",),
    "doppler": ("run",),
    "op": ("run",),
    "python": ("-m",),
    "python3": ("-m",),
}
_XARGS_VALUE_OPTION_NAMES = "-I -n -P -L -d -E -s --max-args --max-procs --delimiter --replace"
_XARGS_VALUE_OPTIONS = frozenset(_XARGS_VALUE_OPTION_NAMES.split())
_FIND_EXEC_OPTIONS = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
}

_TASK_RUNNER_NAMES = (
    "bun composer gradle gradlew just make mise mvn npm nox nx pnpm poe rake task tox turbo yarn"
)
_TASK_RUNNERS = frozenset(_TASK_RUNNER_NAMES.split())
_SCRIPT_INTERPRETERS = frozenset(
    ["bash", "deno", "node", "python", "python3", "ruby", "sh", "ts-node", "tsx", "zsh"]
)
_REWRITING_TOOLS = frozenset(["lint-staged", "pre-commit", "treefmt"])
_REWRITING_TASK_NAME = re.compile(
    r"(?:.*[:._-])?"
    r"(?:fmt|format|formatting|prettier|fix|autofix|lintfix|tidy|spotless:?apply"
    r"|codegen|gen|generate)"
    r"(?:[:._-].*)?",
    re.IGNORECASE,
)
_FORMAT_SCRIPT_NAME = re.compile(r"(?:.*[._-])?(?:fmt|format)(?:[._-].*)?")
_CHECK_ONLY_NAME = re.compile(r"(?:^|[:._-])(?:check|dry|verify)", re.IGNORECASE)

_IN_PLACE_EDIT = re.compile(r"\b(?:sed|perl)\s(?:[^|;&\n]{0,300}?\s)?-\w{0,9}i|--in-place\b")
_FORMATTER_CALL = re.compile(
    r"\b(?:black|isort|prettier|ruff|gofmt|goimports|eslint|rustfmt|clang-format)\b[^|;&\n]*"
)
_SHELL_INTERPRETERS = frozenset(["bash", "dash", "sh", "zsh"])
_INLINE_CODE_OPTIONS = frozenset(["-c", "-lc", "-e", "-", "--eval", "-E"])
_FILE_CHANGING_SHELL_CODE = re.compile(
    r"(?:^|[;&|({'\"`]|\b(?:do|then|else|xargs|sudo|command|exec|time)\b(?: +-\S+)*) "
    r"*(?:rm|mv|cp|tee|truncate|unlink|dd|ln|patch"
    r"|(?:sed|perl|ruby|awk|yq) +(?:-\S+ +)*-\S*i|git "
    r"+(?:checkout|restore|stash|reset|mv|rm|apply|clean|pull|merge|rebase))\b"
    r"|(?<![-=0-9&<>])>{1,2} *[\"']?(?!/dev/null)[\w/~{}-]*[./$]",
    re.MULTILINE,
)
_INTERPRETER_NAME = re.compile(r"\b(?:python3?|node|ruby|perl|php|deno|bun)\b")
_FILE_WRITING_CODE = re.compile(
    r"write|unlink|remove|rename|rmtree|rmSync|copy|move|truncate|dump\(|save|inplace|system\("
    r"|subprocess|exec|open\([^)\n]{0,200}[\"'][rbt]*[wax+]"
)
_PATH_PART = re.compile(r"[^\s'\"`/\\:=,;()<>|&{}\[\]$]+")
_POWERSHELL_CHANGE = re.compile(
    r"\b(?:Remove|Set|Add|Clear|Move|Copy|Rename|Out|Tee)-(?:Item|Content|File|Object)\b"
    r"|\b(?:WriteAll|AppendAll|rm|del|ri|mv|move|cp|copy|ren|git)|>",
    re.IGNORECASE,
)
_NON_WILDCARD = re.compile(r"[^*?.]")


# --- the command that another one runs ---


def strip_command_wrappers(words: CommandWords) -> list[str | None]:
    """Return a command without its wrappers: `npx --yes prettier .` becomes `prettier .`.

    Its name loses the folder and the version, as in `bin/prettier@3`. An unknown word is `None`,
    and ends the search.
    """
    at, end = 0, len(words)
    while at < end and (name := words[at]) is not None:
        second = words[at + 1] if at + 1 < end else None
        if name == "rtk" and second in RTK_READING_VERBS:
            break
        if name == "rtk" and second in _RTK_RUNNING_VERBS:
            at += 2
        elif name in _COMMAND_WRAPPERS:
            at += 1
        elif name == "direnv" and second == "exec":
            at += 3
        elif name == "fvm" and second in ("dart", "flutter"):
            at += 1
        elif name in ("timeout", "gtimeout", "chroot", "flock") or second in _WRAPPER_VERBS.get(
            name, ()
        ):
            at += 2
        else:
            break
        while at < end and _is_option_or_assignment(words[at]):
            at += 2 if name in ("nice", "timeout") and words[at] in ("-n", "-k") else 1
    rest = list(words[at:])
    if rest and rest[0]:
        rest[0] = rest[0].rpartition("/")[2].partition("@")[0] or rest[0]
    return rest


def _is_option_or_assignment(word: str | None) -> bool:
    """Return whether a known word is an option, or an assignment such as `CI=1`."""
    return word is not None and (word.startswith("-") or ("=" in word and "/" not in word))


def unwrap_xargs_or_find(words: CommandWords) -> list[str | None]:
    """Return the command that `xargs`, `find` or `fd` runs, with `None` for its unknown files.

    Return any other command unchanged.
    """
    name = words[0] if words else None
    if name == "xargs":
        rest = list(words[1:])
        while rest and rest[0] is not None and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in _XARGS_VALUE_OPTIONS else rest[1:]
        return [*rest, None] if rest else list(words)
    exec_options = _FIND_EXEC_OPTIONS.get(name or "", ())
    for number, word in enumerate(words):
        if word in exec_options:
            return _list_exec_words(words[number + 1 :])
    return list(words)


def _list_exec_words(words: CommandWords) -> list[str | None]:
    """Return the words up to `;` or `+`, with `None` for `{}`, which stands for any file."""
    command: list[str | None] = []
    for word in words:
        if word in (";", "+"):
            break
        command.append(None if word == "{}" else word)
    return command


# --- formatters and tasks ---


def is_writing_formatter(words: CommandWords) -> bool | None:
    """Return whether a formatter writes files, or only checks them.

    Return `None` if the command is not a formatter, for example `cargo build`.
    """
    name = words[0] if words else None
    if name is None or name not in _FORMATTERS:
        return None
    only_checks = any(word in _CHECK_ONLY_OPTIONS for word in words[1:])
    if only_checks and not any(word in ("-w", "-i") for word in words[1:]):
        return False
    writing_words = _FORMATTERS[name]
    if not writing_words or any(word in writing_words for word in words[1:]):
        return True
    return None if name in _MULTI_PURPOSE_FORMATTERS else False


def reports_no_changes(words: CommandWords, printed: str) -> bool:
    """Return whether the output of `black` or `ruff` reports that it has rewritten no file.

    Return `False` for other formatters, and for quiet ones.
    """
    name = words[0] if words and "-q" not in words and "--quiet" not in words else None
    if name in ("black", "ruff") and "check" not in words:
        return "left unchanged" in printed and "reformatted" not in printed
    if name == "ruff":
        return "All checks passed!" in printed and "fixed" not in printed
    return False


def derive_sweep_events(words: CommandWords) -> Iterator[PossibleChange]:
    """Yield a possible change of each folder where a command may have rewritten any file.

    Only formatters, and tasks named after formatting or code generation, do so.
    """
    name = words[0] if words else None
    if name is not None and is_writing_formatter(words):
        suffixes = _FORMATTER_SUFFIXES.get(name, ())
        for path in _list_formatter_paths(name, words[1:]):
            if not _is_formatted_file(path, suffixes):
                yield PossibleChange(
                    path,
                    formatter=True,
                    folder=True,
                    kinds=suffixes,
                    command=list_known_words(words),
                )
    elif _is_rewriting_task(words):
        yield PossibleChange(".", formatter=True, folder=True)


def list_known_words(words: CommandWords) -> tuple[str, ...]:
    """Return the words of a command, or an empty tuple if only the shell knows one of them."""
    known = tuple(word for word in words if word is not None)
    return known if len(known) == len(words) else ()


def _list_formatter_paths(name: str, words: CommandWords) -> list[str]:
    """Return the files and folders that a formatter may rewrite, relative to its working folder.

    `name` is the formatter, `words` are its arguments. If a word is None, which only the shell
    knows, return `[""]`: any file. A pattern stands for its folder; verbs such as `format`, and
    numbers, are skipped. A word after an option may be the value of that option. So the list ends
    with `.` for the working folder, unless some word surely is a path.
    """
    flags = (*_FORMATTERS[name], *_VALUELESS_FLAGS)
    paths, names_path, previous = [], False, ""
    for word in words:
        if word is None:
            return [""]
        if not word.startswith("-") and word not in _FORMATTER_VERBS and not word.isdigit():
            paths.append(_find_pattern_folder(word) if is_path_pattern(word) else word)
            names_path = names_path or not previous.startswith("-") or previous in flags
        previous = word
    return paths if names_path else [*paths, "."]


def _find_pattern_folder(pattern: str) -> str:
    """Return the folder before the first wildcard: `src` for `src/*/a.py`, `.` for `*.py`."""
    return _WILDCARD.split(pattern)[0].rpartition("/")[0] or "."


def is_path_pattern(word: str) -> bool:
    """Return whether a word contains a wildcard: `*`, `?`, `[`, `{` or `...`."""
    return bool(_WILDCARD.search(word))


def _is_formatted_file(path: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether a path is a file, not a folder: it ends in a suffix or has an extension."""
    return path.endswith(suffixes) if suffixes else bool(_EXTENSION_AFTER_NAME.search(path))


def _is_rewriting_task(words: CommandWords) -> bool:
    """Return whether a command runs a task that is named after a formatter or a generator."""
    name = (words[0] or "").rpartition("/")[2] if words else ""
    if name in _REWRITING_TOOLS:
        return True
    operands = [word.rpartition("/")[2] for word in words[1:] if word and not word.startswith("-")]
    if name in _SCRIPT_INTERPRETERS:
        return bool(operands) and _is_format_script(operands[0])
    if name in _FORMATTERS:
        return False
    tasks = operands if name in _TASK_RUNNERS else [name]
    if any(_CHECK_ONLY_NAME.search(word) for word in (*tasks, *words) if word):
        return False
    is_task = any(map(_REWRITING_TASK_NAME.fullmatch, tasks))
    return is_task or (name in _TASK_RUNNERS and "--fix" in words)


def _is_format_script(name: str) -> bool:
    """Return whether a script is named after formatting: `format.sh`, but not `format-check.sh`."""
    return bool(_FORMAT_SCRIPT_NAME.fullmatch(name)) and not _CHECK_ONLY_NAME.search(name)


# --- editors and programs ---


def find_in_place_files(words: CommandWords) -> list[str] | None:
    """Return the files that `sed -i`, `perl -i`, `ruby -i` or `awk -i inplace` edits.

    Return `None` for other commands.
    """
    name = words[0] if words else None
    options = [word for word in words[1:] if word and word.startswith("-")]
    files = [word for word in words[1:] if word and not word.startswith("-")]
    short_options = [option for option in options if not option.startswith("--")]
    # In `-pie`, the letters after `e` are no longer options.
    in_place = any("i" in option.partition("e")[0] for option in short_options)
    if name in ("sed", "gsed"):
        in_place = in_place or any("I" in option.partition("e")[0] for option in short_options)
        if not in_place and not any(is_abbreviation(option, "--in-place") for option in options):
            return None
        has_script_option = any(
            option in ("-e", "-f") or is_abbreviation(option, "--expression") for option in options
        )
        return files if has_script_option else files[1:]
    if name in ("perl", "ruby") and in_place:
        return files if any(option.endswith("e") for option in short_options) else files[1:]
    if name in ("gawk", "awk") and "inplace" in files:
        return files[1:]
    return None


def can_rewrite_unnamed_files(text: str) -> bool:
    """Return whether the unparsed rest of a script may rewrite files that it does not name."""
    if _IN_PLACE_EDIT.search(text):
        return True
    return any(is_writing_formatter(call[0].split()) for call in _FORMATTER_CALL.finditer(text))


def find_names_in_script(text: str) -> frozenset[str]:
    """Return all words of a shell script that may be names of files.

    Return an empty set if the script changes no files.
    """
    changes_files = _FILE_CHANGING_SHELL_CODE.search(text) or (
        _INTERPRETER_NAME.search(text) and _FILE_WRITING_CODE.search(text)
    )
    return collect_base_names(_PATH_PART.findall(text)) if changes_files else frozenset()


def can_powershell_change_unnamed_files(text: str) -> bool:
    """Return whether PowerShell code may change a file whose name is in a variable."""
    return "$" in text and bool(_POWERSHELL_CHANGE.search(text))


def find_names_in_powershell(text: str) -> frozenset[str]:
    """Return all words of PowerShell code that may be names of files that it changes."""
    return collect_base_names(_PATH_PART.findall(text))


def find_names_in_program(words: CommandWords, stdin: str | None) -> frozenset[str]:
    """Return all words that may be names of files in the code that an interpreter runs.

    The code is an argument of the interpreter, or its standard input. Code that changes no files
    does not count.
    """
    texts = [
        word
        for number, word in enumerate(words)
        if word and number and words[number - 1] in _INLINE_CODE_OPTIONS
    ]
    if stdin is not None:
        texts.append(stdin)
    if words[0] in _SHELL_INTERPRETERS:
        return frozenset().union(*map(find_names_in_script, texts))
    writing_texts = [text for text in texts if _FILE_WRITING_CODE.search(text)]
    return collect_base_names(name for text in writing_texts for name in _PATH_PART.findall(text))


def collect_base_names(paths: Iterable[str]) -> frozenset[str]:
    """Return the last parts of paths: `src/a.py` becomes `a.py`.

    Parts that consist only of wildcards and dots are left out.
    """
    names = (path.rstrip("/").rpartition("/")[2] for path in paths)
    return frozenset(name for name in names if _NON_WILDCARD.search(name))
