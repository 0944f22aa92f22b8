"""What git commands did to the files of a work tree. Step: attribute."""

from collections.abc import Iterator, Sequence

from vacr.attribution.shell.parser import ShellCommand
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

# These change no file, and nothing that could be put back into one.
_READ_ONLY_VERB_NAMES = """
blame branch cat-file check-ignore config count-objects describe diff fetch for-each-ref grep help log ls-files ls-remote ls-tree
merge-base name-rev push reflog remote rev-list rev-parse shortlog show show-ref status tag var version whatchanged
"""
READ_ONLY_GIT_VERBS = frozenset(_READ_ONLY_VERB_NAMES.split())
_OPTIONS_WITH_VALUE = frozenset(
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"]
)
_STAGING_VERBS = frozenset(["add", "commit", "stage", "update-index", "gc", "notes"])


def parse_git_arguments(words: Sequence[str | None]) -> tuple[str | None, list[str | None]]:
    """Give the folder that `-C` names (`""` without one, `None` where it is not known), and the
    words from the verb on.
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
    """Tell whether a git command prints nothing when all is well."""
    _, rest = parse_git_arguments(words) if words[:1] == ["git"] else ("", [])
    return rest[:1] in (["add"], ["mv"]) and not any(
        word in ("-v", "-n", "--dry-run", "--verbose") for word in rest
    )


def prints_no_diff(words: Sequence[str | None]) -> bool:
    """Tell whether a git command prints no diff, or none that could be one of the files as they
    are.
    """
    _, rest = parse_git_arguments(words)
    if rest[:1] in (["diff"], ["show"], ["log"], ["stash"]):
        short = (
            "--stat",
            "--name-only",
            "--name-status",
            "--shortstat",
            "--numstat",
            "--check",
            "--oneline",
            "push",
            "pop",
        )
        return any(word in short for word in rest) and not any(
            word in ("-p", "-u", "--patch", "--cc") for word in rest
        )
    return bool(rest) and rest[0] not in (
        None,
        "format-patch",
        "range-diff",
        "reflog",
        "am",
        "apply",
        "diff-tree",
        "diff-index",
    )


def derive_git_events(command: ShellCommand, *, sure: bool, said: str) -> Iterator[FileAction]:
    """Say what a git command did; paths are told from the folder that `arguments` gives."""
    _, rest = parse_git_arguments(command.words)
    verb = rest[0] if rest else None
    if verb in READ_ONLY_GIT_VERBS:
        return
    if verb in _STAGING_VERBS:
        yield GitStateChange(".")
        return
    if verb == "stash":
        yield from _derive_stash_events(
            [word or "" for word in rest[1:]], said, sure=sure and None not in rest
        )
        return
    done = list(_derive_certain_events(str(verb), rest)) if sure and None not in rest else []
    if done:
        yield from done
        return
    yield PossibleChange("")
    yield from _derive_possible_reverts(str(verb), [word or "" for word in rest[1:]])
    if verb == "clean" and not any(word in ("-n", "--dry-run") for word in rest):
        yield Revert(".", new=True)
    if verb not in ("mv", "rm", "clean", "apply", "worktree"):
        yield GitStateChange(".")


def _derive_certain_events(verb: str, words: Sequence[str | None]) -> Iterator[FileAction]:
    rest = [word or "" for word in words[1:]]
    match verb:
        case "mv":
            yield from _derive_mv_events(rest)
        case "rm":
            yield from _derive_rm_events(rest)
        case "checkout" | "restore":
            yield from _derive_revert_events(verb, rest)
        case "reset":
            if set(rest) <= {"--hard", "HEAD", "-q"} and "--hard" in rest:
                yield Revert(".", everything=True)
            elif "--hard" not in rest and "--merge" not in rest and "--keep" not in rest:
                yield GitStateChange(".")


def _list_operands(rest: Sequence[str]) -> list[str]:
    return [word for word in rest if word != "--" and not word.startswith("-")]


def _derive_mv_events(rest: Sequence[str]) -> Iterator[FileAction]:
    files = _list_operands(rest)
    if not files[1:] or any(word in ("-n", "--dry-run") for word in rest):
        return
    *sources, target = files
    for source in sources:
        into = len(sources) > 1 or target.endswith("/") or target == "."
        yield FileMove(
            source,
            f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}" if into else target,
        )
    yield GitStateChange(".")


def _derive_rm_events(rest: Sequence[str]) -> Iterator[FileAction]:
    if any(word in ("-n", "--dry-run") for word in rest):
        return
    if "--cached" not in rest:
        folder = any(
            word.startswith("-") and not word.startswith("--") and "r" in word for word in rest
        )
        for path in _list_operands(rest):
            yield FileDeletion(path, folder=folder, pattern="*" in path)
    yield GitStateChange(".")


def _derive_revert_events(verb: str, rest: Sequence[str]) -> Iterator[FileAction]:
    """Read `git checkout [HEAD] -- path` and `git restore path`."""
    if verb == "restore" and "--staged" in rest and "--worktree" not in rest:
        yield GitStateChange(".")
        return
    before = (
        list(rest[: rest.index("--")]) if "--" in rest else list(rest) if verb == "restore" else []
    )
    if verb == "checkout":
        named = (
            list(rest[rest.index("--") + 1 :])
            if "--" in rest
            else [word for word in rest if word == "."]
        )
        fine = set(before) <= {"HEAD", "-q", "-f", "--quiet"} and (
            bool(before) or "--" in rest or list(rest) == ["."]
        )
    else:
        named = [word for word in rest if not word.startswith("-")]
        fine = {word for word in rest if word.startswith("-")} <= {
            "--",
            "-q",
            "--quiet",
            "--worktree",
            "-W",
            "--source=HEAD",
        }
    for path in named if fine and named else ():
        yield Revert(path)


def _derive_possible_reverts(verb: str, rest: Sequence[str]) -> Iterator[FileAction]:
    """Say which known files may be as another commit has them, or as the last one has: it is not
    known that they are.
    """
    if verb == "revert" or (verb == "reset" and "--hard" in rest):
        yield GitStateChange(".")
        yield Revert(".", everything=True)
        return
    makes_branch = bool({"-b", "-B", "--orphan"} & set(rest))
    only_index = "--staged" in rest and "--worktree" not in rest
    if (verb == "checkout" and not makes_branch) or (verb == "restore" and not only_index):
        for path in _list_operands(rest[rest.index("--") :] if "--" in rest else rest):
            yield PossibleChange(path, likely=True, pattern=True)


def _derive_stash_events(rest: Sequence[str], said: str, *, sure: bool) -> Iterator[FileAction]:
    verb = rest[0] if rest and not rest[0].startswith("-") else "push"
    options = list(rest[1:]) if rest and rest[0] == verb else list(rest)
    if verb in ("list", "show", "create"):
        return
    if verb in ("pop", "apply", "drop"):
        plain = sure and set(options) <= {"-q", "--quiet", "--index", "stash@{0}", "0"}
        yield Unstash(".", bring=verb != "drop", keep=verb == "apply", known=plain)
    elif verb in ("push", "save"):
        if "No local changes to save" not in said:
            yield _parse_git_stash_push(options, said, sure=sure, named=verb == "push")
    else:
        yield Stash(".", known=False, sure=False)


def _parse_git_stash_push(options: Sequence[str], said: str, *, sure: bool, named: bool) -> Stash:
    paths, at = [], 0
    saved = "Saved working directory" in said
    known = sure and (saved or any(option in ("-q", "--quiet") for option in options))
    while at < len(options):
        option = options[at]
        if option in ("-m", "--message"):
            at += 1
        elif option in ("--", "-q", "--quiet", "-u", "--include-untracked") or option.startswith(
            "--message="
        ):
            pass
        elif option.startswith("-"):
            known = False
        elif named:
            paths.append(option)
        at += 1
    untracked = "-u" in options or "--include-untracked" in options
    return Stash(".", tuple(paths), untracked=untracked, known=known, sure=saved)
