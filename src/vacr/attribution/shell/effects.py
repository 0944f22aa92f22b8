"""The effects of shell calls on files, and the file contents that their output shows.

Only effects that the text of a command proves are applied: writing a here-document or a literal,
removing, moving, copying, restoring by git. Any other command that can change files yields a
`PossibleChange`, and the next observation of the file shows its real content.

Paths are relative to the folder that a `cd` moved to; see `working_folder`.

    >>> from vacr.agents import ShellResult
    >>> from vacr.attribution.shell.effects import derive_script_events
    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> script = parse_shell_script("cd src && echo 1 > a.txt && cat b.txt")
    >>> written, shown = derive_script_events(script, ShellResult(0, True, "two\\n"), "")
    >>> written.path, written.text
    ('src/a.txt', '1\\n')
    >>> shown.path, shown.lines
    ('src/b.txt', ['two\\n'])
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from vacr.agents import RunShell, ShellResult, ToolCall, is_absolute_path, parse_patch_actions
from vacr.attribution.shell.command_outputs import (
    PROGRAM_READERS,
    find_output_files,
    find_written_files,
    has_unknown_output,
)
from vacr.attribution.shell.command_results import (
    CommandCertainty,
    assess_certainty,
    derive_output_events,
    predict_output,
)
from vacr.attribution.shell.file_commands import (
    EVENT_DERIVERS,
    FILE_CHANGING_COMMANDS,
    doubt_possible_targets,
    touch_command_targets,
    touch_likely_files,
    touch_named_files,
)
from vacr.attribution.shell.git_commands import derive_git_events
from vacr.attribution.shell.parser import (
    UNKNOWN_PART,
    Redirect,
    ShellCommand,
    ShellScript,
    parse_inner_commands,
    parse_powershell_script,
    parse_shell_script,
)
from vacr.attribution.shell.read_only import (
    READ_ONLY_COMMANDS,
    is_read_only_command,
)
from vacr.attribution.shell.rewriters import (
    can_powershell_change_unnamed_files,
    can_rewrite_unnamed_files,
    collect_base_names,
    derive_sweep_events,
    find_in_place_files,
    find_names_in_powershell,
    find_names_in_program,
    find_names_in_script,
    is_path_pattern,
    is_writing_formatter,
    list_known_words,
    reports_no_changes,
    strip_command_wrappers,
    unwrap_xargs_or_find,
)
from vacr.attribution.shell.stream_editor import parse_stream_edit
from vacr.attribution.shell.unknown_targets import (
    doubt_shapes,
    doubt_unknown_words,
    doubt_unpacked_files,
)
from vacr.attribution.shell.words import CommandWords, is_file_like, list_operands, list_options
from vacr.attribution.shell.working_folder import WorkingFolder, has_cd_error
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileRewrite,
    FileWrite,
    ObservedDiff,
    PossibleChange,
    parse_apply_patch,
)

# Verbs of `gh` that change no file of the folder, verbs that do, and options that do with any verb.
_GH_READING_VERB_NAMES = """
api auth browse cancel checks close comment create delete diff disable edit enable list lock merge
pin ready reopen rerun review run search set status transfer unlock unpin unset view watch
"""
_GH_READING_VERBS = frozenset(_GH_READING_VERB_NAMES.split())
_GH_WRITING_VERBS = frozenset(["checkout", "clone", "download", "sync"])
_GH_WRITING_OPTIONS = frozenset(["--checkout", "--clone", "--delete-branch", "-O"])


# Commands that read the files they name and may change any others: interpreters, compilers, and
# test runners.
_PROGRAM_RUNNER_NAMES = """
ansible ansible-lint ava bandit bash bazel biome brakeman buck bun bundle cargo cc checkov clang
clang++ clang-tidy cmake codespell commitlint coverage cppcheck credo cspell ctest curl cypress
dart dash deno detekt dialyzer docker docker-compose dotnet elixir erl eslint fastlane fish flake8
flutter g++ gcc ghc go golint golangci-lint gosec gotestsum gradle gradlew htmlhint hyperfine iex
java javac jest jscpd julia kotlinc ktlint kubectl lint-imports lua luacheck make markdownlint
markdownlint-cli2 maven mix mocha msbuild mvn mvnw mypy next ninja node npm npx nox nx nyc oxlint
perl phpstan phpunit php playwright pnpm podman prettier psalm pwsh py.test pycodestyle pydocstyle
pyflakes pylint pyre pyright pytest python python3 R Rscript rake revive rspec rubocop ruby ruff
rustc sbt scala scalac semgrep sh shellcheck sqlfluff staticcheck stylelint svelte-check swift
swiftc swiftlint tap tflint tfsec tox trivy ts-node tsc tsx turbo ty uv vite vitest vue-tsc
vulture webpack wget xcodebuild xcrun yarn zig zsh
"""
_PROGRAM_RUNNERS = frozenset(_PROGRAM_RUNNER_NAMES.split())
_PLAIN_TEE_OPTIONS = frozenset(["-a", "--append", "-i", "--ignore-interrupts"])
# With these words, a `find` may select other files than its `-name` says.
_FIND_OTHER_TEST_NAMES = "! -not -o -or , -path -iname -regex -iregex -wholename -iwholename"
_FIND_WORDS_BESIDES_NAMES = frozenset(_FIND_OTHER_TEST_NAMES.split())
_MOVE_OPERANDS = 2
_OVERWRITING_OPTIONS = frozenset(["-f", "-v", "--force", "--verbose"])
"""Options of `mv` with which it always replaces its target."""
_DIFF_FILE_HEADER = re.compile(r"^(?:---|\+\+\+) ([^\t\n]+)", re.MULTILINE)

# A command inside of a word that redirects its output to a file, as in `echo $(make > log)`.
_WRITING_SUBSTITUTION = re.compile(r"(?:\$\(|`|[<>]\()[^()`\n]*>(?!&|\s*/dev/null)")


# --- scripts ---


def derive_shell_events(call: ToolCall, run: RunShell) -> Iterator[FileAction]:
    """Yield the effects of a shell call on files, and the lines of files that it printed.

    For the part of the script that is not parsed, yield possible changes.
    """
    script, result, folder = parse_run_script(run), run.result, run.folder
    applies_patch = script.opaque and bool(parse_apply_patch(run.script))
    if run.is_powershell:
        result = replace(result, text=result.text.replace("\r\n", "\n"))
    lost = call.lost and not (folder and is_absolute_path(folder))
    start = None if lost else folder or ""
    yield from derive_script_events(
        script, result, start, call.folder, call.top, skips_unread=applies_patch
    )
    writes_inside = _WRITING_SUBSTITUTION.search(run.script) and any(
        None in command.words for command in script.commands
    )
    if writes_inside or any(map(_has_unknown_target, script.commands)):
        yield PossibleChange("", named=find_names_in_script(run.script))
    if script.unread and not applies_patch:
        yield _doubt_unread_part(script)


def parse_run_script(run: RunShell) -> ShellScript:
    """Parse the script of a call, as PowerShell or as a POSIX shell."""
    if run.is_powershell:
        return parse_powershell_script(run.script)
    return parse_shell_script(run.script)


def _doubt_unread_part(script: ShellScript) -> PossibleChange:
    """Return the possible change of the files that the unread part of a script may change."""
    text = script.unread
    if script.is_powershell:
        folder = can_powershell_change_unnamed_files(text)
        return PossibleChange("", folder=folder, named=find_names_in_powershell(text))
    named = find_names_in_script(text)
    is_whole = not named or parse_inner_commands(text)[1]
    return PossibleChange("", folder=not is_whole or can_rewrite_unnamed_files(text), named=named)


def _has_unknown_target(command: ShellCommand) -> bool:
    """Return whether a command writes to a file that a variable or a substitution names."""
    shapes = [
        shape for redirect in command.redirects if redirect.writes for shape in redirect.shapes
    ]
    if command.name == "tee":
        shapes += [shape for texts in command.shapes.values() for shape in texts]
    return any(
        shape.startswith(UNKNOWN_PART) and not shape.startswith(UNKNOWN_PART + "/")
        for shape in shapes
    )


def derive_script_events(
    script: ShellScript,
    result: ShellResult,
    folder: str | None,
    session: str = "",
    top: str = "",
    *,
    skips_unread: bool = False,
) -> Iterator[FileAction]:
    """Yield the effects of a script that ran in a folder, and the lines of files that it printed.

    The folder is `None` if it is unknown. `session` is the session's folder at that time, `top` the
    session's first folder. With `skips_unread`, the unread part has no effect of its own, because
    it is the text of a patch.
    """
    certainties = assess_certainty(script, result)
    observations = derive_output_events(script, result, certainties)
    place = WorkingFolder(folder, session, top, lost=has_cd_error(result))
    stdin, printed = None, result.text + result.errors
    filters = _find_replacing_filters(script.commands, certainties)
    for number, wrapped in enumerate(script.commands):
        command = _unwrap_file_command(wrapped)
        stdin = _find_stdin_text(command, stdin)
        certainty = certainties[number]
        here = place.enter_git_folder(command)
        if number in filters:
            for event in _derive_filter_events(filters[number]):
                yield from here.resolve_paths(event)
        elif not place.follow(command, ran=certainty.ran):
            for event in _derive_command_events(
                command, stdin, succeeded=certainty.succeeded, printed=printed
            ):
                yield from here.resolve_paths(event)
        yield from _resolve_observations(here, command, observations.get(number, ()))
        stdin = predict_output(command.words, stdin)
    if skips_unread or script.is_powershell:  # Inside of PowerShell, nothing is parsed.
        return
    for inner in parse_inner_commands(script.unread)[0]:
        yield from _derive_inner_events(inner, place, printed)


def _derive_inner_events(
    wrapped: ShellCommand, place: WorkingFolder, printed: str
) -> Iterator[FileAction]:
    """Yield what a command inside of a loop, a branch or a function may change."""
    command = _unwrap_file_command(wrapped)
    here = place.enter_git_folder(command)
    if not place.follow(command, ran=False):
        for event in _derive_command_events(command, None, succeeded=False, printed=printed):
            yield from here.resolve_paths(event)


class _ReplacingFilter(NamedTuple):
    """A pipeline, and the `mv` after it that replaces a file with its output."""

    pipeline: Sequence[ShellCommand]
    new: str
    """The file with the output."""
    target: str
    is_moved: bool
    """Whether the `mv` surely succeeded."""
    is_output: bool
    """Whether the file surely has the output of this run and nothing else."""


def _find_replacing_filters(
    commands: Sequence[ShellCommand], certainties: Sequence[CommandCertainty]
) -> dict[int, _ReplacingFilter]:
    """Return the pipelines whose output replaces a file that they read, by the index of the `mv`.

    That is the idiom `sed s/a/b/ FILE > NEW && mv NEW FILE`. Other moves are left out.
    """
    found: dict[int, _ReplacingFilter] = {}
    pipeline: list[ShellCommand] = []
    for number, command in enumerate(commands):
        if command.joined == "|":
            pipeline.append(command)
            continue
        operands = list_operands(command.words) if command.name == "mv" else []
        if len(operands) == _MOVE_OPERANDS and pipeline and None not in command.words:
            new, target = operands
            outputs = [redirect for redirect in pipeline[-1].redirects if redirect.writes]
            is_new = any(output.target == new for output in outputs) and new != target
            if is_new and any(_reads_file(before, target) for before in pipeline):
                is_moved = certainties[number].succeeded and not pipeline[-1].background
                is_moved = is_moved and list_options(command.words) <= _OVERWRITING_OPTIONS
                is_output = command.joined == "&&" and _writes_new_file(pipeline, outputs)
                found[number] = _ReplacingFilter(pipeline, new, target, is_moved, is_output)
        pipeline = [command]
    return found


def _writes_new_file(pipeline: Sequence[ShellCommand], outputs: Sequence[Redirect]) -> bool:
    """Return whether a pipeline surely ran, and wrote its output alone to a file.

    After `||` it may not have run; `>>` adds to a file, and `&>` adds error messages.
    """
    [output, *others] = outputs
    is_alone = output.operator in (">", ">|") and output.descriptor != "&" and not others
    return is_alone and pipeline[0].joined != "||"


def _reads_file(command: ShellCommand, path: str) -> bool:
    """Return whether a command names a file as an argument or as its input."""
    inputs = [redirect.target for redirect in command.redirects if redirect.operator == "<"]
    return path in (*command.words[1:], *inputs)


def _derive_filter_events(filter_: _ReplacingFilter) -> Iterator[FileAction]:
    """Yield the change of a file that the output of a pipeline replaces."""
    pipeline, new, target, is_moved, is_output = filter_
    words = [*pipeline[0].words[:1], "-i", *pipeline[0].words[1:]]
    rewrites: list[FileAction] = []
    if is_moved and is_output and len(pipeline) == 1 and words[0] in ("sed", "gsed"):
        rewrites = list(_derive_rewrites(words, ()))
    is_known = len(rewrites) == 1 and rewrites[0].path == target
    yield rewrites[0] if is_known else PossibleChange(target, likely=True)
    yield FileDeletion(new) if is_moved else PossibleChange(new, likely=True)


def _unwrap_file_command(command: ShellCommand) -> ShellCommand:
    """Return the command that a wrapper such as `sudo` runs, if its effects are known.

    Otherwise return the command itself.
    """
    words = strip_command_wrappers(command.words)
    skipped = len(command.words) - len(words)
    if not skipped or not words or words[0] not in ("git", "tee", *EVENT_DERIVERS):
        return command
    globs = {number - skipped: pattern for number, pattern in command.globs.items()}
    shapes = {number - skipped: texts for number, texts in command.shapes.items()}
    return replace(command, words=words, globs=globs, shapes=shapes)


def _find_stdin_text(command: ShellCommand, piped: str | None) -> str | None:
    """Return the standard input of a command: its here-document, or the `piped` text.

    Return `None` if the command has no such input, or if the text is unknown.
    """
    for redirect in reversed(command.redirects):
        if redirect.operator in ("<<", "<<-"):
            return redirect.body
        if redirect.operator == "<<<":
            return None if redirect.target is None else redirect.target + "\n"
        if redirect.operator == "<":
            return None
    return piped if command.joined == "|" else None


def _resolve_observations(
    place: WorkingFolder, command: ShellCommand, events: Sequence[FileAction]
) -> Iterator[FileAction]:
    """Yield the observations of one command with their paths resolved in its folder.

    Reports of git name paths from the top of the work tree.
    """
    porcelain = "--porcelain" in command.words
    git_events = [event for event in events if porcelain or isinstance(event, ObservedDiff)]
    if git_events:
        yield from place.resolve_git_paths(git_events)
        return
    for event in events:
        yield from place.resolve_paths(event)


# --- commands ---


def _derive_command_events(
    command: ShellCommand, stdin: str | None, *, succeeded: bool, printed: str
) -> Iterator[FileAction]:
    """Yield the effects of one command on files; paths are relative to its folder.

    `stdin` is its known input, `succeeded` when it surely succeeded, `printed` the output of the
    whole script.
    """
    words = command.words
    if command.name in ("apply_patch", "applypatch"):
        argument = words[1] if len(words) > 1 else None
        patch = argument if stdin is None else stdin
        if patch and succeeded:
            yield from parse_patch_actions(patch)
        return
    output = predict_output(words, stdin) if succeeded else None
    yield from _derive_redirect_events(command, output, succeeded=succeeded)
    applies_patch = command.name == "patch" or (command.name == "git" and "apply" in words)
    if applies_patch and stdin is not None:
        yield PossibleChange("", named=collect_base_names(_DIFF_FILE_HEADER.findall(stdin)))
    else:
        yield from doubt_unpacked_files(_unwrap_command(words, stdin))
    derive_events = EVENT_DERIVERS.get(command.name)
    if command.name == "tee":
        yield from _derive_tee_events(command, stdin if succeeded else None)
    elif command.name == "git":
        yield from derive_git_events(command, succeeded=succeeded, printed=printed)
    elif derive_events is None:
        yield from _derive_other_events(command, stdin, printed, succeeded=succeeded)
    elif succeeded:
        yield from derive_events(command)
    else:
        yield from touch_command_targets(words, command.globs.values())
        if f"{command.name}: cannot stat" not in printed:
            yield from doubt_possible_targets(command)


def _derive_redirect_events(
    command: ShellCommand, output: str | None, *, succeeded: bool
) -> Iterator[FileAction]:
    """Yield the writes of the redirections of a command; only the last one gets the output.

    Without a known `output`, the target has possibly changed. An unknown target may be any file;
    `/dev/null` is skipped.
    """
    redirects = [
        redirect
        for redirect in command.redirects
        if redirect.writes and redirect.target != "/dev/null"
    ]
    for number, redirect in enumerate(redirects):
        appends = redirect.operator == ">>"
        last = number == len(redirects) - 1
        if redirect.target is None:
            yield from doubt_shapes(redirect.shapes)
        elif output is not None and last:
            yield FileWrite(redirect.target, output, append=appends, by_shell=True)
        else:
            overwritten = succeeded and not appends
            yield PossibleChange(redirect.target, overwritten=overwritten, likely=True)
    for redirect in command.redirects:
        if redirect.writes_something_else and redirect.target != "/dev/null":
            if redirect.target is None:
                yield from doubt_shapes(redirect.shapes)
            else:
                yield PossibleChange(redirect.target, likely=True)


def _derive_tee_events(command: ShellCommand, text: str | None) -> Iterator[FileAction]:
    """Yield the writes of `tee`; its files have possibly changed if `text` is unknown."""
    words = command.words
    options = list_options(words)
    append = bool(options & {"-a", "--append"})
    text = text if options <= _PLAIN_TEE_OPTIONS else None
    for target in list_operands(words):
        if text is None:
            yield PossibleChange(target, likely=True)
        else:
            yield FileWrite(target, text, append=append, by_shell=True)
    yield from doubt_unknown_words(command)


def _derive_other_events(
    command: ShellCommand, stdin: str | None, printed: str, *, succeeded: bool
) -> Iterator[FileAction]:
    """Yield the possible changes of a command whose exact effects are unknown.

    Yield none for commands that only read. `printed` is the output of the whole script, `succeeded`
    when the command surely succeeded. `stdin` is its known input.
    """
    words = command.words
    yield from _derive_find_events(strip_command_wrappers(words))
    yield from _derive_xargs_events(strip_command_wrappers(words), stdin)
    words, patterns = _unwrap_command(words, stdin), list(command.globs.values())
    words = _show_options(words, command)
    if not words:
        return
    name = words[0]
    if name not in READ_ONLY_COMMANDS:
        yield from (PossibleChange(path, likely=True) for path in find_output_files(words))
        if has_unknown_output(words):
            yield from doubt_unknown_words(command)
    edited, formatter = find_in_place_files(words), is_writing_formatter(words)
    if formatter and reports_no_changes(words, printed):
        return
    yield from derive_sweep_events(words)
    rewrites = list(_derive_rewrites(words, patterns)) if edited is not None and succeeded else []
    if rewrites:
        yield from rewrites
    elif edited is not None:
        yield from touch_likely_files(edited, patterns)
        if None in words:
            yield PossibleChange("", folder=True)
    elif formatter is not None:
        if formatter:
            yield from _touch_possible_files(words, formatter=True)
    elif name in EVENT_DERIVERS:
        yield from touch_command_targets(words, patterns)
        yield from doubt_unknown_words(command)
    elif name in FILE_CHANGING_COMMANDS:
        yield from touch_named_files(command, words, patterns)
    elif is_read_only_command(words):
        return
    elif name in _PROGRAM_RUNNERS:
        yield PossibleChange("", named=find_names_in_program(words, stdin))
    elif name == "gh":
        if not _is_reading_gh(words):
            yield PossibleChange("")
    elif (written := find_written_files(words)) is not None:
        yield from touch_likely_files(written)
        if written or name not in PROGRAM_READERS:
            yield from doubt_unknown_words(command)
        if name not in READ_ONLY_COMMANDS:
            yield from _touch_possible_files(words)
    elif name not in READ_ONLY_COMMANDS:
        yield from _touch_possible_files(words)


def _show_options(words: CommandWords, command: ShellCommand) -> list[str | None]:
    """Return words with options in place of unknown ones that surely are options, as `-o$FILE`."""
    shown = {number: shapes[0] for number, shapes in command.shapes.items()}
    skipped = len(command.words) - len(words)
    return [
        shape if word is None and (shape := shown.get(number, "")).startswith("-") else word
        for number, word in enumerate(words, skipped)
    ]


def _is_reading_gh(words: CommandWords) -> bool:
    """Return whether a command of `gh` changes no file of the folder."""
    verbs = [
        word
        for before, word in pairwise(words)
        if word and not word.startswith("-") and before not in ("-R", "--repo")
    ][:2]
    options = list_options(words)
    if options & _GH_WRITING_OPTIONS or ("merge" in verbs and "-d" in options):
        return False
    is_reading = _GH_WRITING_VERBS.isdisjoint(verbs) and not _GH_READING_VERBS.isdisjoint(verbs)
    return is_reading or not verbs


def _derive_find_events(words: CommandWords) -> Iterator[FileAction]:
    """Yield the possible changes of a `find` that deletes or lists files, or runs two commands."""
    if words[:1] != ["find"]:
        return
    inner = unwrap_xargs_or_find(words)
    runs_writer = inner != list(words) and _may_write_given_files(inner)
    if find_written_files(words) is not None or runs_writer:
        names = [value for option, value in pairwise(words) if value and option == "-name"]
        if None in words or not _FIND_WORDS_BESIDES_NAMES.isdisjoint(words):
            names = []
        yield from touch_likely_files(list_operands(words), names)
        if not names:
            yield PossibleChange("", folder=True)
    if sum(word is not None and word.startswith(("-exec", "-ok")) for word in words) > 1:
        yield PossibleChange("")


def _derive_xargs_events(words: CommandWords, stdin: str | None) -> Iterator[FileAction]:
    """Yield a possible change of any file if `xargs` removes or writes files with unknown names."""
    if words[:1] != ["xargs"] or stdin is not None:
        return
    inner = strip_command_wrappers(unwrap_xargs_or_find(words))
    name = posixpath.basename(inner[0] or "") if inner else ""
    if name in EVENT_DERIVERS or name in FILE_CHANGING_COMMANDS or name == "tee":
        yield PossibleChange("", folder=True)


def _may_write_given_files(words: CommandWords) -> bool:
    """Return whether a command that another one runs may write the files that it is given.

    Formatters and editors such as `sed -i` are left out: they have changes of their own.
    """
    words = strip_command_wrappers(words)
    if not words or words[0] is None:
        return len(words) > 1
    name = posixpath.basename(words[0])
    words = [name, *words[1:]]
    if find_in_place_files(words) is not None or is_writing_formatter(words) is not None:
        return False
    reads = is_read_only_command(words) or name in READ_ONLY_COMMANDS
    return not reads or name == "tee" or find_written_files(words) is not None


def _derive_rewrites(words: CommandWords, patterns: Sequence[str]) -> Iterator[FileAction]:
    """Yield the changes of `sed -i` or `perl -pi`, if its program and all its files are known.

    `patterns` are the unquoted wildcards among its files.
    """
    edit = parse_stream_edit(words)
    if edit is None or words.count(None) != len(patterns):
        return
    rewrite, by_line = edit.program.rewrite, edit.program.by_line
    for path in edit.files:
        yield FileRewrite(path, rewrite, by_line)
    for path in patterns:
        yield FileRewrite(path, rewrite, by_line, pattern=True)


def _unwrap_command(words: CommandWords, stdin: str | None) -> list[str | None]:
    """Return the words of the command that `sudo`, `npx`, `find`, `xargs` and such ones run.

    With `xargs`, the words of the known input follow, because they name its files. An unknown word
    is `None`.
    """
    words = strip_command_wrappers(words)
    inner = unwrap_xargs_or_find(words)
    if words[:1] == ["xargs"]:
        inner += (stdin or "").split()
    return strip_command_wrappers(inner)


# --- possible changes ---


def _touch_possible_files(
    words: CommandWords, *, formatter: bool = False
) -> Iterator[PossibleChange]:
    """Yield possible changes of the files that a command names, and of any other file.

    `formatter` states that only a formatter may have changed them.
    """
    for path in list_operands(words):
        if is_file_like(path) and not is_path_pattern(path):
            command = list_known_words(words) if formatter else ()
            yield PossibleChange(path, formatter=formatter, command=command)
    yield PossibleChange("", formatter=formatter)
