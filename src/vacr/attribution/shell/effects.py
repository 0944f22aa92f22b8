"""What a command did to files, as far as its words prove it. Step: attribute.

What a command may have changed is said with `Touch`, so that the next look at the file decides.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from vacr.attribution.events import Delete, Event, Move, Touch, Write
from vacr.attribution.patches import patch_events
from vacr.attribution.shell import git
from vacr.attribution.shell.code import last_names, names_in_program
from vacr.attribution.shell.formatters import formats, in_place, unwrapped
from vacr.attribution.shell.lexer import Command
from vacr.attribution.shell.literals import printed
from vacr.attribution.shell.sweeps import given_others, is_pattern, leaves_all, sweeps

# Commands that change no file of a project. Options that do are in `_WRITING` and `_ANY`.
_READ_ONLY = """
[ alias awk basename cat cd chmod cmp column command cut date df diff dirname du echo egrep env export expr false fd fgrep file
find gh git grep head hexdump history id jq kill less locale ls lsof md5sum mkdir nl od paste pgrep popd printf ps pushd pwd
readlink realpath rg rmdir sed seq set sha256sum shasum sleep sort stat strings tail tee test time top touch tr tree true type
uname uniq unset wait wc which whoami xargs xxd yes yq :
Get-Content Get-ChildItem Get-Item Get-Location Select-Object Select-String Measure-Object Set-Location Sort-Object Test-Path
Where-Object Write-Host Write-Output Format-Table
"""
READ_ONLY = frozenset(_READ_ONLY.split())
_ANY = ("-delete", "-exec", "--in-place", "--output", "-ok")
_WRITING = {
    "sort": ("-o", "--output"),
    "find": ("-delete", "-exec", "-ok"),
    "yq": ("-i", "--inplace"),
    "tree": ("-o",),
}

# Commands that are there to change the files that they name.
_CHANGES = frozenset(["dd", "ed", "ex", "install", "ln", "patch", "rename", "shred", "truncate"])

# Commands that read the files they are given and may change any others: interpreters, compilers,
# runners of tests.
_RUNS = """
bash bazel bun cargo cc clang clang++ cmake ctest curl deno docker dotnet elixir eslint flake8 g++ gcc go gradle java javac jest
julia kubectl lua make mix mocha mypy ninja node npm npx perl php playwright pnpm pwsh py.test pylint pyright pytest python
python3 ruby ruff rustc sh shellcheck swift tox ts-node tsc tsx turbo uv vitest wget yarn zig zsh
"""
_RUN = frozenset(_RUNS.split())
_DIFFERS = re.compile(r"^(?:---|\+\+\+) ([^\t\n]+)", re.MULTILINE)
_PATH = re.compile(r"[^:=\s]*(?:/|\.[A-Za-z0-9]+$)[^:=\s]*")


def effects(command: Command, given: str | None, *, sure: bool, said: str) -> Iterator[Event]:
    """Say what a command did that was given a text to read; `sure` when it surely succeeded, `said`
    what the script printed.
    """
    words = command.words
    if command.name in ("apply_patch", "applypatch"):
        patch = given if given is not None else words[1] if len(words) > 1 else None
        if patch and sure:
            yield from patch_events(patch)
        return
    yield from _redirected(command, printed(words, given) if sure else None, sure=sure)
    if given is not None and (
        command.name == "patch" or (command.name == "git" and "apply" in words)
    ):
        yield Touch("", named=last_names(_DIFFERS.findall(given)))
    if command.name == "tee":
        yield from _tee(words, given if sure else None)
    elif command.name in _EFFECTS:
        yield from (
            _EFFECTS[command.name](command) if sure else _perhaps(words, command.globs.values())
        )
    elif command.name == "git":
        yield from git.effects(command, sure=sure, said=said)
    else:
        yield from _others(words, given, command.globs.values(), said)


def _redirected(command: Command, text: str | None, *, sure: bool) -> Iterator[Event]:
    writes = [one for one in command.redirects if one.writes and one.target != "/dev/null"]
    for number, write in enumerate(writes):
        if write.target is None:
            yield Touch("")
        elif text is None or number < len(writes) - 1:
            yield Touch(write.target, overwritten=sure and write.operator != ">>", likely=True)
        else:
            yield Write(write.target, text, append=write.operator == ">>", by_shell=True)


def _tee(words: Sequence[str | None], text: str | None) -> Iterator[Event]:
    append = any(word in ("-a", "--append") for word in words)
    for target in _files(words):
        yield (
            Touch(target, likely=True)
            if text is None
            else Write(target, text, append=append, by_shell=True)
        )
    if None in words:
        yield Touch("")


def _files(words: Sequence[str | None]) -> list[str]:
    """Give the words that are no options."""
    found, options = [], True
    for word in words[1:]:
        if word == "--" and options:
            options = False
        elif word and not (options and word.startswith("-")):
            found.append(word)
    return found


def _options(words: Sequence[str | None]) -> set[str]:
    """Give the options, short ones each for itself."""
    found: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word and word.startswith("--"):
            found.add(word.partition("=")[0])
        elif word and word.startswith("-"):
            found |= {"-" + letter for letter in word[1:]}
    return found


def _touched(words: Sequence[str | None], *, formatter: bool = False) -> Iterator[Event]:
    for path in _files(words):
        if _PATH.fullmatch(path) and not path.endswith("/") and not is_pattern(path):
            yield Touch(path, formatter=formatter)
    yield Touch("", formatter=formatter)


def _changed(files: Sequence[str], patterns: Iterable[str] = ()) -> Iterator[Event]:
    """Say that files were likely changed; what may be a folder is only looked for among the known
    files.
    """
    for path in files:
        if _PATH.fullmatch(path) and not path.endswith("/"):
            yield Touch(path, likely=True)
    for path in patterns:
        yield Touch(path, likely=True, pattern=True)
    yield Touch("", named=last_names(files))


def _perhaps(words: Sequence[str | None], patterns: Iterable[str] = ()) -> Iterator[Event]:
    """Say that files may have been removed, moved or written over; what is copied stays
    as it is.
    """
    files = _files(words)
    yield from _changed(files[-1:] if words[0] == "cp" else files, patterns)


def _others(
    words: Sequence[str | None], given: str | None, patterns: Iterable[str], said: str
) -> Iterator[Event]:
    words = unwrapped(words)
    words = unwrapped(
        [*given_others(words), *(given or "").split()]
        if words[:1] == ["xargs"]
        else given_others(words)
    )
    if not words:
        return
    edited, formatter = in_place(words), formats(words)
    if formatter and leaves_all(words, said):
        return
    yield from sweeps(words)
    if edited is not None:
        yield from _changed(edited, patterns)
        if None in words:
            yield Touch("", folder=True)
    elif formatter is not None:
        yield from _touched(words, formatter=True) if formatter else ()
    elif words[0] in _EFFECTS:
        yield from _perhaps(words, patterns)
    elif words[0] in _CHANGES:
        yield from _changed([path.removeprefix("of=") for path in _files(words)], patterns)
    elif words[0] in _RUN:
        yield Touch("", named=names_in_program(words, given))
    elif any(word and word.startswith(_WRITING.get(words[0] or "", _ANY)) for word in words[1:]):
        yield from _changed(_files(words)) if words[0] in _WRITING else _touched(words)
    elif words[0] not in READ_ONLY:
        yield from _touched(words)


def _rm(command: Command) -> Iterator[Event]:
    options = _options(command.words)
    folder = bool(options & {"-r", "-R", "--recursive", "-d", "-Recurse"})
    for path in _files(command.words):
        yield Delete(path, folder=folder)
    for number, word in enumerate(command.words):
        if word is None:
            pattern = command.globs.get(number)
            yield Delete(pattern, folder=folder, pattern=True) if pattern is not None else Touch("")


def _mv(command: Command) -> Iterator[Event]:
    yield from moved(command.words, copy=False, patterns=command.globs.values())


def _cp(command: Command) -> Iterator[Event]:
    yield from moved(command.words, copy=True)


def moved(
    words: Sequence[str | None], *, copy: bool, patterns: Iterable[str] = ()
) -> Iterator[Event]:
    """Say what `mv` or `cp` does with its words."""
    options, files = _options(words), _files(words)
    plain = options <= {
        "-f",
        "-v",
        "-r",
        "-R",
        "-a",
        "-p",
        "-k",
        "--force",
        "--verbose",
        "--recursive",
        "--archive",
    }
    if None in words or not files[1:] or not plain:
        yield from _perhaps(words, patterns)
        return
    *sources, target = files
    for source in sources:
        into = len(sources) > 1 or target in (".", "..") or target.endswith(("/", "/.", "/.."))
        yield Move(
            source,
            posixpath.join(target, posixpath.basename(source.rstrip("/"))) if into else target,
            copy=copy,
        )


_EFFECTS: dict[str, Callable[[Command], Iterator[Event]]] = {
    "rm": _rm,
    "mv": _mv,
    "cp": _cp,
    "unlink": _rm,
    "Remove-Item": _rm,
}
