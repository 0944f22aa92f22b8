"""The effects of git commands on the files of a work tree.

Most verbs of git change no file. The others restore the base version of files, put changes aside
and bring them back, or move and remove files. An effect counts as certain only for
a command that surely succeeded and has no unknown words; otherwise files may have changed.

    >>> from vacr.attribution.shell.git_commands import derive_git_events
    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> script = parse_shell_script("git checkout -- a.py; git add a.py; git log")
    >>> for command in script.commands:
    ...     print(list(derive_git_events(command, succeeded=True, printed="")))
    [Revert(path='a.py', everything=False, new=False)]
    [GitStateChange(path='.')]
    []
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from vacr.attribution.shell.command_outputs import find_output_files, is_abbreviation
from vacr.attribution.shell.parser import ShellCommand
from vacr.attribution.shell.words import list_operands, list_options
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileMove,
    GitStateChange,
    PossibleChange,
    Revert,
    Stash,
    Unstash,
)

# Verbs that change neither files nor the state that git restores files from.
_READ_ONLY_VERB_NAMES = """
blame branch cat-file check-ignore config count-objects describe diff fetch for-each-ref grep
help log ls-files ls-remote ls-tree merge-base name-rev push reflog remote rev-list rev-parse
shortlog show show-ref status tag var version whatchanged
"""
_READ_ONLY_VERBS = frozenset(_READ_ONLY_VERB_NAMES.split())
# Verbs that change only the files that they name, or whose effect on files is derived elsewhere.
_OBJECT_VERB_NAMES = """
archive bundle check-attr check-mailmap check-ref-format cherry clean clone commit-graph commit-tree
column diff-files diff-index diff-tree fmt-merge-msg format-patch fsck hash-object init
interpret-trailers maintenance merge-tree mktag mktree mv multi-pack-index pack-objects pack-refs
patch-id prune prune-packed range-diff repack replace request-pull rerere reset restore rm
show-branch show-index stripspace symbolic-ref unpack-objects update-ref verify-commit verify-pack
verify-tag worktree write-tree
"""
_OBJECT_VERBS = frozenset(_OBJECT_VERB_NAMES.split())
_BRANCH_MAKING_OPTIONS = frozenset(["-b", "-B", "-c", "-C", "--create", "--orphan"])
_READING_SUB_VERBS = {
    "bisect": ("log", "view", "visualize"),
    "lfs": ("env", "locks", "ls-files", "status", "version"),
    "sparse-checkout": ("list",),
    "submodule": ("status", "summary"),
}
_APPLY_CHECKS = ("--check", "--stat", "--numstat", "--summary", "--cached")
_UP_TO_DATE = re.compile(
    r"^(?:Already up to date\.|Current branch .* is up to date\.)", re.MULTILINE
)
_UPDATED = re.compile(r"^(?:Updating |Merge made by |Successfully rebased )", re.MULTILINE)
_EXTENSION_NOT_VERSION = re.compile(r"(?<!\bv)(?<!\d)\.[A-Za-z]\w*$")
_STAGING_VERBS = frozenset(["add", "commit", "stage", "update-index", "gc", "notes"])
_VERBS_THAT_KEEP_STATE = ("mv", "rm", "clean", "apply", "worktree")
_OPTIONS_WITH_VALUE = frozenset(
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"]
)
_DRY_RUN_OPTIONS = ("-n", "--dry-run")
_QUIET_OPTIONS = ("-q", "--quiet")

_HARMLESS_SETTING = re.compile(
    r"(?!alias\.|core\.)|core\.(?:quotepath|autocrlf|eol|safecrlf|filemode|ignorecase|abbrev"
    r"|longpaths|precomposeunicode|commentchar|preloadindex|untrackedcache)(?:=|$)"
    r"|core\.(?:pager|editor|fsmonitor|hookspath)=(?:cat|true|false|:|/dev/null)?$"
)
_PAGER_OPTION = re.compile(r"-[^\W_ABCefmO]*O")

_SKIP_HOOKS_OPTIONS = frozenset(["-n", "--no-verify", "--dry-run"])
# What hooks of a commit print after they rewrote files.
_HOOK_CHANGE = re.compile(r"files were modified by this hook|Applying modifications from tasks")

_SUMMARY_WORD_NAMES = (
    "--stat --name-only --name-status --shortstat --numstat --check --oneline push pop"
)
_SUMMARY_WORDS = frozenset(_SUMMARY_WORD_NAMES.split())
_PATCH_OPTIONS = frozenset(["-p", "-u", "--patch", "--cc"])
_DIFF_PRINTING_VERB_NAMES = "format-patch range-diff reflog am apply diff-tree diff-index"
_DIFF_PRINTING_VERBS = frozenset(_DIFF_PRINTING_VERB_NAMES.split())

# With other options, the effects of these verbs are not certain.
_PLAIN_MV_OPTIONS = frozenset(["-f", "-v", "--force", "--verbose"])
_PLAIN_RM_OPTIONS = frozenset(["-f", "-q", "-r", "--cached", "--force", "--quiet"])
_PLAIN_RESET_OPTIONS = frozenset(["-q", "--quiet", "--soft", "--mixed", "-N"])
_PLAIN_CHECKOUT_WORDS = {"HEAD", "-q", "-f", "--quiet"}
_INDEX_OPTIONS = frozenset(["--staged", "-S", "-q", "--quiet", "--source=HEAD"])
_PLAIN_RESTORE_OPTIONS = {"--", "-q", "--quiet", "--worktree", "-W", "--source=HEAD"}
_PLAIN_STASH_PUSH_OPTIONS = ("--", "-q", "--quiet", "-u", "--include-untracked")
_PLAIN_STASH_POP_WORDS = {"-q", "--quiet", "--index", "stash@{0}", "0"}


def parse_git_arguments(words: Sequence[str | None]) -> tuple[str | None, list[str | None]]:
    """Return the folder that `-C` names, and the words from the verb on.

    `words` begin with `git`. The folder is `""` without `-C`, and `None` if it is unknown.
    """
    folder: str | None = ""
    rest = list(words[1:])
    while rest and rest[0] is not None and rest[0].startswith("-"):
        option = rest[0].partition("=")[0]
        if option in ("--git-dir", "--work-tree") or (option == "-C" and folder != ""):
            folder = None
        elif option == "-C":
            folder = rest[1] if rest[1:] else None
        rest = rest[2:] if rest[0] in _OPTIONS_WITH_VALUE else rest[1:]
    return folder, rest


def is_silent_git_command(words: Sequence[str | None]) -> bool:
    """Return whether a command is `git add` or `git mv`, which print nothing when they succeed."""
    if words[:1] != ["git"]:
        return False
    _, rest = parse_git_arguments(words)
    has_output = any(word in ("-v", "--verbose", *_DRY_RUN_OPTIONS) for word in rest)
    return rest[:1] in (["add"], ["mv"]) and not has_output


def prints_no_diff(words: Sequence[str | None]) -> bool:
    """Return whether a git command surely prints no diff, for example `git diff --stat`."""
    _, rest = parse_git_arguments(words)
    if rest[:1] in (["diff"], ["show"], ["log"], ["stash"]):
        summarizes = any(word in _SUMMARY_WORDS for word in rest)
        return summarizes and not any(word in _PATCH_OPTIONS for word in rest)
    return bool(rest) and rest[0] is not None and rest[0] not in _DIFF_PRINTING_VERBS


def derive_git_events(
    command: ShellCommand, *, succeeded: bool, printed: str
) -> Iterator[FileAction]:
    """Yield the effects of a git command on files; paths are relative to its folder.

    Yield none for a command that only reads. `succeeded` when it surely succeeded, `printed` is the
    output of the whole script.
    """
    _, words = parse_git_arguments(command.words)
    verb = words[0] if words else None
    if _may_run_program(command.words, words):
        yield PossibleChange("", folder=True)
    if verb in _READ_ONLY_VERBS:
        yield from _derive_written_files(str(verb), words[1:])
        return
    if verb in _STAGING_VERBS:
        if verb == "commit" and _HOOK_CHANGE.search(printed):
            yield PossibleChange(".", formatter=True, folder=True)
        if verb == "commit" and _SKIP_HOOKS_OPTIONS.isdisjoint(map(str, words)):
            yield PossibleChange("")  # A hook may change any file without a word.
        yield GitStateChange(".")
        return
    rest = [word or "" for word in words[1:]]
    certain = succeeded and None not in words
    if verb == "stash":
        yield from _derive_stash_events(rest, printed, certain=certain)
        return
    certain_events = list(_derive_certain_events(str(verb), rest)) if certain else []
    if certain_events:
        yield from certain_events
    else:
        if _may_change_any_file(verb, rest, printed):
            yield PossibleChange("", folder=True)
        yield from _derive_possible_events(verb, rest)


def _may_change_any_file(verb: str | None, rest: Sequence[str], printed: str) -> bool:
    """Return whether a command may write files of the work tree that it does not name.

    Every verb may, unless it is known not to: a program may have any name. `rest` are the words
    after the verb, with an empty text for an unknown one; `printed` is the output of the script.
    """
    if verb in _OBJECT_VERBS:
        return "" in rest and verb in ("mv", "restore", "rm")
    operands = list_operands(["git", *rest])
    if verb in ("checkout", "switch"):
        if _BRANCH_MAKING_OPTIONS & list_options(["git", *rest]):
            return len(operands) > 1  # Without a start point, files stay as they are.
        names_paths = "--" in rest or (bool(operands[1:]) and "--track" not in rest)
        is_path = len(operands) == 1 and bool(_EXTENSION_NOT_VERSION.search(operands[0]))
        return "" in rest or not (names_paths or is_path) or verb == "switch"
    if verb in _READING_SUB_VERBS and operands[:1]:
        return operands[0] not in _READING_SUB_VERBS[verb]
    if verb == "apply" and any(word in _APPLY_CHECKS for word in rest):
        return False
    if verb in ("pull", "merge", "rebase") and _UP_TO_DATE.search(printed):
        return _UPDATED.search(printed) is not None
    return True


def _derive_written_files(verb: str, rest: Sequence[str | None]) -> Iterator[FileAction]:
    """Yield the file that `git diff --output FILE` or `git config --file FILE` writes, if any."""
    for option, value in pairwise([*rest, None]):
        _, sign, joined = (option or "").partition("=")
        path = joined if sign else value
        if verb != "config":
            names_file = is_abbreviation(option or "", "--output")
        elif option and option.startswith("-f"):
            names_file, path = True, option[2:] or value
        else:
            names_file = is_abbreviation(option or "", "--file")
        if names_file:
            yield PossibleChange(path or "", likely=bool(path))


def _may_run_program(words: Sequence[str | None], rest: Sequence[str | None]) -> bool:
    """Return whether a setting or an option makes git run another program.

    `words` begin with `git`, `rest` are those from the verb on.
    """
    settings = [
        (value or "").lower()
        for option, value in pairwise(words[: len(words) - len(rest)])
        if option == "-c"
    ]
    if any(value.startswith(("alias.", "core.")) for value in settings):
        return not all(map(_HARMLESS_SETTING.match, settings))
    return rest[:1] == ["grep"] and any(
        _PAGER_OPTION.match(word) or is_abbreviation(word, "--open-files-in-pager")
        for word in takewhile(lambda word: word != "--", rest[1:])
        if word
    )


# --- certain effects ---


def _derive_certain_events(verb: str, rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the effects of a successful command, or none if its words do not determine them.

    `rest` are the words after the verb.
    """
    match verb:
        case "mv":
            yield from _derive_mv_events(rest)
        case "rm":
            yield from _derive_rm_events(rest)
        case "checkout":
            yield from _derive_checkout_events(rest)
        case "restore":
            yield from _derive_restore_events(rest)
        case "reset":
            if set(rest) <= {"--hard", "HEAD", "-q"} and "--hard" in rest:
                yield Revert(".", everything=True)
            elif list_options(["git", *rest]) <= _PLAIN_RESET_OPTIONS:
                yield GitStateChange(".")


def _is_dry_run(rest: Sequence[str]) -> bool:
    """Return whether `-n` or `--dry-run` is among the words."""
    return any(word in _DRY_RUN_OPTIONS for word in rest)


def _derive_mv_events(rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the effects of `git mv SOURCE… TARGET`; none with options such as `--dry-run`.

    `rest` are the words after `mv`.
    """
    files = list_operands(["git", *rest])
    if not files[1:] or not list_options(["git", *rest]) <= _PLAIN_MV_OPTIONS:
        return
    *sources, target = files
    into_folder = len(sources) > 1 or target.endswith("/") or target == "."
    for source in sources:
        base_name = source.rstrip("/").rpartition("/")[2]
        yield FileMove(source, f"{target.rstrip('/')}/{base_name}" if into_folder else target)
    yield GitStateChange(".")


def _derive_rm_events(rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the effects of `git rm PATH…`; none with options such as `--dry-run`.

    `rest` are the words after `rm`. With `--cached`, no file is deleted.
    """
    options = list_options(["git", *rest])
    if not options <= _PLAIN_RM_OPTIONS:
        return
    if "--cached" not in options:
        for path in list_operands(["git", *rest]):
            yield FileDeletion(path, folder="-r" in options, pattern="*" in path)
    yield GitStateChange(".")


def _derive_checkout_events(rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the effects of `git checkout [HEAD] -- PATH…` and `git checkout .`, else none.

    `rest` are the words after `checkout`.
    """
    if "--" in rest:
        separator = rest.index("--")
        if set(rest[:separator]) <= _PLAIN_CHECKOUT_WORDS:
            for path in rest[separator + 1 :]:
                yield Revert(path)
    elif list(rest) == ["."]:
        yield Revert(".")


def _derive_restore_events(rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the effects of `git restore PATH…`, unless it has options that change its meaning.

    `rest` are the words after `restore`.
    """
    if _restores_only_index(rest):
        yield GitStateChange(".")
        return
    options = {word for word in rest if word.startswith("-")}
    if options <= _PLAIN_RESTORE_OPTIONS:
        for path in rest:
            if not path.startswith("-"):
                yield Revert(path)


def _restores_only_index(rest: Sequence[str]) -> bool:
    """Return whether `git restore` unstages files without changing them.

    `rest` are the words after `restore`.
    """
    options = list_options(["git", *rest])
    return bool(options & {"--staged", "-S"}) and options <= _INDEX_OPTIONS


# --- possible effects ---


def _derive_possible_events(verb: str | None, rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the possible effects of a command that may have failed or has unknown words.

    `rest` are the words after the verb, with an empty text for an unknown one.
    """
    yield PossibleChange("")
    yield from (PossibleChange(path, likely=True) for path in find_output_files(rest))
    yield from _derive_possible_reverts(verb, rest)
    if verb == "checkout-index":
        if not {"-a", "--all", "--stdin"}.isdisjoint(rest):
            yield PossibleChange("", folder=True)
        yield from (PossibleChange(path, likely=True) for path in list_operands(["git", *rest]))
    if verb == "clean" and not _is_dry_run(rest):
        yield Revert(".", new=True)
    if verb not in _VERBS_THAT_KEEP_STATE:
        yield GitStateChange(".")


def _derive_possible_reverts(verb: str | None, rest: Sequence[str]) -> Iterator[FileAction]:
    """Yield the files that a command may have restored from a commit.

    `rest` are the words after the verb, with an empty text for an unknown one.
    """
    resets_files = verb == "reset" and not list_options(["git", *rest]) <= _PLAIN_RESET_OPTIONS
    if verb == "revert" or resets_files:
        yield GitStateChange(".")
        yield Revert(".", everything=True)
        return
    makes_branch = bool({"-b", "-B", "--orphan"} & set(rest))
    checks_out = verb == "checkout" and not makes_branch
    restores = verb == "restore" and not _restores_only_index(rest)
    plain_options = {"mv": _PLAIN_MV_OPTIONS, "rm": _PLAIN_RM_OPTIONS}.get(verb or "")
    removes = plain_options is not None and not list_options(["git", *rest]) <= plain_options
    removes = removes and not _is_dry_run(rest)
    if checks_out or restores or removes:
        start = rest.index("--") if "--" in rest else 0
        for path in list_operands(["git", *rest[start:]]):
            yield PossibleChange(path, likely=True, pattern=True)
            if path in (".", "./", ":/"):
                yield PossibleChange("", folder=True)


# --- stashes ---


def _derive_stash_events(
    rest: Sequence[str], printed: str, *, certain: bool
) -> Iterator[FileAction]:
    """Yield the effects of `git stash`; `rest` are the words after `stash`.

    `certain` when it surely succeeded and all words are known. `printed` is the output of the whole
    script.
    """
    verb = rest[0] if rest and not rest[0].startswith("-") else "push"
    options = list(rest[1:]) if rest and rest[0] == verb else list(rest)
    if verb in ("list", "show", "create"):
        return
    if verb in ("pop", "apply", "drop"):
        newest = certain and set(options) <= _PLAIN_STASH_POP_WORDS
        yield Unstash(".", bring=verb != "drop", keep=verb == "apply", known=newest)
    elif verb in ("push", "save"):
        if "No local changes to save" not in printed:
            yield _parse_git_stash_push(
                options, printed, certain=certain, takes_paths=verb == "push"
            )
    else:
        yield Stash(".", known=False, sure=False)


def _parse_git_stash_push(
    options: Sequence[str], printed: str, *, certain: bool, takes_paths: bool
) -> Stash:
    """Return the stash that `git stash push` or `save` makes.

    `takes_paths` when operands are paths; the operands of `save` are a message. `options` are the
    words after the verb, and `printed` is the output of the whole script. The content is known only
    if `certain`, and the output confirms the stash or is quiet.
    """
    paths = []
    saved = "Saved working directory" in printed
    known = certain and (saved or any(option in _QUIET_OPTIONS for option in options))
    remaining = iter(options)
    for option in remaining:
        if option in ("-m", "--message"):
            next(remaining, None)
        elif option in _PLAIN_STASH_PUSH_OPTIONS or option.startswith("--message="):
            continue
        elif option.startswith("-"):
            known = False
        elif takes_paths:
            paths.append(option)
    untracked = "-u" in options or "--include-untracked" in options
    return Stash(".", tuple(paths), untracked=untracked, known=known, sure=saved)
