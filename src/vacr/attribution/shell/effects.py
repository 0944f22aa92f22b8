"""What a command did to files, as far as its words prove it. Step: attribute.

What a command may have changed is said with `Touch`, so that the next look at the file decides.

What the commands of one shell call did to files, and what its output showed of them. Step:
attribute.

Only what a command's text proves is applied: writing a here-document or a literal, removing,
moving, copying, putting back by git. What other commands may have changed is said with `Touch`, so
that the next look at the file decides.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from vacr.agents import RunShell, ShellResult, ToolCall, is_absolute_path, parse_patch_actions
from vacr.attribution.shell.execution import (
    WorkingFolder,
    assess_certainty,
    collect_base_names,
    find_names_in_program,
    find_names_in_script,
)
from vacr.attribution.shell.git_commands import derive_git_events
from vacr.attribution.shell.outputs import derive_output_events, predict_output
from vacr.attribution.shell.parser import (
    ShellCommand,
    ShellScript,
    parse_powershell_script,
    parse_shell_script,
)
from vacr.attribution.shell.rewriters import (
    can_rewrite_unnamed_files,
    derive_sweep_events,
    find_in_place_files,
    is_path_pattern,
    is_writing_formatter,
    reports_no_changes,
    strip_command_wrappers,
    unwrap_xargs_or_find,
)
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    ObservedDiff,
    PossibleChange,
    parse_apply_patch,
)

# Commands that change no file of a project. Options that do are in `_WRITING` and `_ANY`.
_READ_ONLY_NAMES = """
[ alias awk basename cat cd chmod cmp column command cut date df diff dirname du echo egrep env export expr false fd fgrep file
find gh git grep head hexdump history id jq kill less locale ls lsof md5sum mkdir nl od paste pgrep popd printf ps pushd pwd
readlink realpath rg rmdir sed seq set sha256sum shasum sleep sort stat strings tail tee test time top touch tr tree true type
uname uniq unset wait wc which whoami xargs xxd yes yq :
Get-Content Get-ChildItem Get-Item Get-Location Select-Object Select-String Measure-Object Set-Location Sort-Object Test-Path
Where-Object Write-Host Write-Output Format-Table
"""
READ_ONLY_COMMANDS = frozenset(_READ_ONLY_NAMES.split())
_DEFAULT_WRITING_OPTIONS = ("-delete", "-exec", "--in-place", "--output", "-ok")
_WRITING_OPTIONS = {
    "sort": ("-o", "--output"),
    "find": ("-delete", "-exec", "-ok"),
    "yq": ("-i", "--inplace"),
    "tree": ("-o",),
}

# Commands that are there to change the files that they name.
_FILE_CHANGING_COMMANDS = frozenset(
    ["dd", "ed", "ex", "install", "ln", "patch", "rename", "shred", "truncate"]
)

# Commands that read the files they are given and may change any others: interpreters, compilers,
# runners of tests.
_PROGRAM_RUNNER_NAMES = """
bash bazel bun cargo cc clang clang++ cmake ctest curl deno docker dotnet elixir eslint flake8 g++ gcc go gradle java javac jest
julia kubectl lua make mix mocha mypy ninja node npm npx perl php playwright pnpm pwsh py.test pylint pyright pytest python
python3 ruby ruff rustc sh shellcheck swift tox ts-node tsc tsx turbo uv vitest wget yarn zig zsh
"""
_PROGRAM_RUNNERS = frozenset(_PROGRAM_RUNNER_NAMES.split())
_DIFF_FILE_HEADER = re.compile(r"^(?:---|\+\+\+) ([^\t\n]+)", re.MULTILINE)
_PATH_LIKE_WORD = re.compile(r"[^:=\s]*(?:/|\.[A-Za-z0-9]+$)[^:=\s]*")


def derive_command_events(
    command: ShellCommand, given: str | None, *, sure: bool, said: str
) -> Iterator[FileAction]:
    """Say what a command did that was given a text to read; `sure` when it surely succeeded, `said`
    what the script printed.
    """
    words = command.words
    if command.name in ("apply_patch", "applypatch"):
        patch = given if given is not None else words[1] if len(words) > 1 else None
        if patch and sure:
            yield from parse_patch_actions(patch)
        return
    yield from _derive_redirect_events(
        command, predict_output(words, given) if sure else None, sure=sure
    )
    if given is not None and (
        command.name == "patch" or (command.name == "git" and "apply" in words)
    ):
        yield PossibleChange("", named=collect_base_names(_DIFF_FILE_HEADER.findall(given)))
    if command.name == "tee":
        yield from _derive_tee_events(words, given if sure else None)
    elif command.name in _EVENT_DERIVERS:
        yield from (
            _EVENT_DERIVERS[command.name](command)
            if sure
            else _touch_command_targets(words, command.globs.values())
        )
    elif command.name == "git":
        yield from derive_git_events(command, sure=sure, said=said)
    else:
        yield from _derive_other_events(words, given, command.globs.values(), said)


def _derive_redirect_events(
    command: ShellCommand, text: str | None, *, sure: bool
) -> Iterator[FileAction]:
    writes = [one for one in command.redirects if one.writes and one.target != "/dev/null"]
    for number, write in enumerate(writes):
        if write.target is None:
            yield PossibleChange("")
        elif text is None or number < len(writes) - 1:
            yield PossibleChange(
                write.target, overwritten=sure and write.operator != ">>", likely=True
            )
        else:
            yield FileWrite(write.target, text, append=write.operator == ">>", by_shell=True)


def _derive_tee_events(words: Sequence[str | None], text: str | None) -> Iterator[FileAction]:
    append = any(word in ("-a", "--append") for word in words)
    for target in _list_operands(words):
        yield (
            PossibleChange(target, likely=True)
            if text is None
            else FileWrite(target, text, append=append, by_shell=True)
        )
    if None in words:
        yield PossibleChange("")


def _list_operands(words: Sequence[str | None]) -> list[str]:
    """Give the words that are no options."""
    found, options = [], True
    for word in words[1:]:
        if word == "--" and options:
            options = False
        elif word and not (options and word.startswith("-")):
            found.append(word)
    return found


def _list_options(words: Sequence[str | None]) -> set[str]:
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


def _touch_possible_files(
    words: Sequence[str | None], *, formatter: bool = False
) -> Iterator[FileAction]:
    for path in _list_operands(words):
        if _PATH_LIKE_WORD.fullmatch(path) and not path.endswith("/") and not is_path_pattern(path):
            yield PossibleChange(path, formatter=formatter)
    yield PossibleChange("", formatter=formatter)


def _touch_likely_files(files: Sequence[str], patterns: Iterable[str] = ()) -> Iterator[FileAction]:
    """Say that files were likely changed; what may be a folder is only looked for among the known
    files.
    """
    for path in files:
        if _PATH_LIKE_WORD.fullmatch(path) and not path.endswith("/"):
            yield PossibleChange(path, likely=True)
    for path in patterns:
        yield PossibleChange(path, likely=True, pattern=True)
    yield PossibleChange("", named=collect_base_names(files))


def _touch_command_targets(
    words: Sequence[str | None], patterns: Iterable[str] = ()
) -> Iterator[FileAction]:
    """Say that files may have been removed, moved or written over; what is copied stays
    as it is.
    """
    files = _list_operands(words)
    yield from _touch_likely_files(files[-1:] if words[0] == "cp" else files, patterns)


def _derive_other_events(
    words: Sequence[str | None], given: str | None, patterns: Iterable[str], said: str
) -> Iterator[FileAction]:
    words = strip_command_wrappers(words)
    words = strip_command_wrappers(
        [*unwrap_xargs_or_find(words), *(given or "").split()]
        if words[:1] == ["xargs"]
        else unwrap_xargs_or_find(words)
    )
    if not words:
        return
    edited, formatter = find_in_place_files(words), is_writing_formatter(words)
    if formatter and reports_no_changes(words, said):
        return
    yield from derive_sweep_events(words)
    if edited is not None:
        yield from _touch_likely_files(edited, patterns)
        if None in words:
            yield PossibleChange("", folder=True)
    elif formatter is not None:
        yield from _touch_possible_files(words, formatter=True) if formatter else ()
    elif words[0] in _EVENT_DERIVERS:
        yield from _touch_command_targets(words, patterns)
    elif words[0] in _FILE_CHANGING_COMMANDS:
        yield from _touch_likely_files(
            [path.removeprefix("of=") for path in _list_operands(words)], patterns
        )
    elif words[0] in _PROGRAM_RUNNERS:
        yield PossibleChange("", named=find_names_in_program(words, given))
    elif any(
        word and word.startswith(_WRITING_OPTIONS.get(words[0] or "", _DEFAULT_WRITING_OPTIONS))
        for word in words[1:]
    ):
        yield from (
            _touch_likely_files(_list_operands(words))
            if words[0] in _WRITING_OPTIONS
            else _touch_possible_files(words)
        )
    elif words[0] not in READ_ONLY_COMMANDS:
        yield from _touch_possible_files(words)


def _derive_rm_events(command: ShellCommand) -> Iterator[FileAction]:
    options = _list_options(command.words)
    folder = bool(options & {"-r", "-R", "--recursive", "-d", "-Recurse"})
    for path in _list_operands(command.words):
        yield FileDeletion(path, folder=folder)
    for number, word in enumerate(command.words):
        if word is None:
            pattern = command.globs.get(number)
            yield (
                FileDeletion(pattern, folder=folder, pattern=True)
                if pattern is not None
                else PossibleChange("")
            )


def _derive_mv_events(command: ShellCommand) -> Iterator[FileAction]:
    yield from derive_move_events(command.words, copy=False, patterns=command.globs.values())


def _derive_cp_events(command: ShellCommand) -> Iterator[FileAction]:
    yield from derive_move_events(command.words, copy=True)


def derive_move_events(
    words: Sequence[str | None], *, copy: bool, patterns: Iterable[str] = ()
) -> Iterator[FileAction]:
    """Say what `mv` or `cp` does with its words."""
    options, files = _list_options(words), _list_operands(words)
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
        yield from _touch_command_targets(words, patterns)
        return
    *sources, target = files
    for source in sources:
        into = len(sources) > 1 or target in (".", "..") or target.endswith(("/", "/.", "/.."))
        yield FileMove(
            source,
            posixpath.join(target, posixpath.basename(source.rstrip("/"))) if into else target,
            copy=copy,
        )


_EVENT_DERIVERS: dict[str, Callable[[ShellCommand], Iterator[FileAction]]] = {
    "rm": _derive_rm_events,
    "mv": _derive_mv_events,
    "cp": _derive_cp_events,
    "unlink": _derive_rm_events,
    "Remove-Item": _derive_rm_events,
}


def derive_shell_events(call: ToolCall, run: RunShell) -> Iterator[FileAction]:
    """Yield what the script of a shell call did to files and showed of them."""
    script, result, folder = parse_run_script(run), run.result, run.folder
    if run.is_powershell:
        result = replace(result, text=result.text.replace("\r\n", "\n"))
    lost = call.lost and not (folder and is_absolute_path(folder))
    yield from derive_script_events(
        script, result, None if lost else folder or "", call.folder, call.top
    )
    if any(map(_has_unknown_target, script.commands)):
        yield PossibleChange("", named=find_names_in_script(run.script))
    if script.opaque and not parse_apply_patch(run.script):
        yield PossibleChange(
            "",
            folder=can_rewrite_unnamed_files(script.unread),
            named=find_names_in_script(script.unread),
        )


def _has_unknown_target(command: ShellCommand) -> bool:
    """Tell whether a command writes to a file whose name only the shell knows."""
    untold = any(one.writes and one.target is None for one in command.redirects)
    return untold or (command.name == "tee" and None in command.words)


def parse_run_script(run: RunShell) -> ShellScript:
    """Parse the script of a call in the language of its shell."""
    if run.is_powershell:
        return parse_powershell_script(run.script)
    return parse_shell_script(run.script)


def derive_script_events(
    script: ShellScript, result: ShellResult, folder: str | None, session: str = "", top: str = ""
) -> Iterator[FileAction]:
    """Say what a script did that ran in a folder; `session` is where its session worked then, `top`
    where it began.
    """
    certain = assess_certainty(script, result)
    shown = derive_output_events(script, result, certain)
    place = WorkingFolder(folder, session, top, lost=has_cd_error(result))
    given, said = None, result.text + result.errors
    for number, command in enumerate(script.commands):
        given = find_stdin_text(command, given)
        here = place.of(command)
        if not place.enters(command, ran=certain[number].ran):
            for event in derive_command_events(
                command, given, sure=certain[number].succeeded, said=said
            ):
                yield from here.named(event)
        seen = shown.get(number, ())
        by_git = [
            event
            for event in seen
            if isinstance(event, ObservedDiff) or "--porcelain" in command.words
        ]
        yield from here.told(by_git)
        for event in seen if not by_git else ():
            yield from here.named(event)
        given = predict_output(command.words, given)


def has_cd_error(result: ShellResult) -> bool:
    """Tell whether a shell said that it could not enter a folder."""
    return "cd: " in result.text or "cd: " in result.errors


def find_stdin_text(command: ShellCommand, piped: str | None) -> str | None:
    """Give what a command reads: a here-document, a here-string, or what the command before it
    prints.
    """
    for redirect in reversed(command.redirects):
        if redirect.operator in ("<<", "<<-"):
            return redirect.body
        if redirect.operator == "<<<":
            return None if redirect.target is None else redirect.target + "\n"
        if redirect.operator == "<":
            return None
    return piped if command.joined == "|" else None
