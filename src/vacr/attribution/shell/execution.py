"""How the commands of a script ran: their success, and their working folder.

A script exits with the code of its last command. Commands joined to it by `&&` succeeded if it did.
A command before a `;` counts as successful only if it prints an error when it fails, and printed no
error. A `cd` moves all commands after it, so paths are relative to the folder at that point. Once
that folder is unknown, a relative path could be any file of that name.

    >>> from vacr.agents import ShellResult
    >>> from vacr.attribution.shell.execution import WorkingFolder, assess_certainty
    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> script = parse_shell_script("cd src && make; rm a.py")
    >>> certainty = assess_certainty(script, ShellResult(0, done=True, text=""))
    >>> [(one.ran, one.succeeded) for one in certainty]
    [(True, True), (True, False), (True, True)]
    >>> place = WorkingFolder("", "/app")
    >>> place.follow(script.commands[0], ran=True), place.folder
    (True, 'src')
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.agents import ShellResult, is_absolute_path
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellCommand, ShellScript
from vacr.attribution.shell.rewriters import collect_base_names
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    ObservedDiff,
    ObservedLines,
    PossibleChange,
    Stash,
    make_absolute_path,
    make_path_key,
    make_relative_path,
)

_ERROR_REPORTING_NAMES = (
    "cat cd chmod cp echo export git head ls mkdir mv nl printf pwd rm sed set tail "
    "tee touch true wc :"
)
_ERROR_REPORTING_COMMANDS = frozenset(_ERROR_REPORTING_NAMES.split())
_EXIT_ON_ERROR_COMMANDS = (["set", "-e"], ["set", "-eu"], ["set", "-euo"])
_SHELL_ERROR_LINE = re.compile(
    r"^(?:(?:/\S*/)?(?:ba|z|da|k)?sh|\(eval\)|error|fatal|CONFLICT)\b.{0,200}", re.MULTILINE
)
_MESSAGE_PREFIX = re.compile(r"^(\S{1,20}): ", re.MULTILINE)

_FOLDER_CHANGING_COMMANDS = frozenset(["cd", "pushd", "popd", "Set-Location"])
_WORK_TREE_PATH = re.compile(r"(?:.*/)?\.?worktrees/[^/]+(?=/|$)")


@dataclass(frozen=True, slots=True)
class CommandCertainty:
    """Whether a command surely ran, and whether it surely succeeded."""

    ran: bool
    succeeded: bool


def assess_certainty(script: ShellScript, result: ShellResult) -> list[CommandCertainty]:
    """Return for each command of a script whether it surely ran and succeeded."""
    lists: list[list[ShellCommand]] = []
    for command in script.commands:
        if not lists or command.joined in ("", ";"):
            lists.append([])
        lists[-1].append(command)
    exits_on_error = bool(lists) and script.commands[0].words[:2] in _EXIT_ON_ERROR_COMMANDS
    failed_names = _find_failed_names(result)
    certainties: list[CommandCertainty] = []
    for number, members in enumerate(lists):
        last = number == len(lists) - 1 and not script.opaque
        proved = (last or exits_on_error) and result.done
        certainties += _assess_joined_commands(members, failed_names, result, proved=proved)
    return certainties


def _find_failed_names(result: ShellResult) -> frozenset[str] | None:
    """Return the commands that printed an error, or `None` where one is not named."""
    printed = f"{result.text}\n{result.errors}"
    if _SHELL_ERROR_LINE.search(printed):
        return None
    return frozenset(_MESSAGE_PREFIX.findall(printed))


def _assess_joined_commands(
    members: Sequence[ShellCommand],
    failed_names: frozenset[str] | None,
    result: ShellResult,
    *,
    proved: bool,
) -> list[CommandCertainty]:
    """Assess commands that are joined by operators other than `;`.

    `proved` when the exit code of the script says that the last of them succeeded.
    """
    has_alternative = any(command.joined == "||" for command in members)
    exit_code_covers_all = proved and not has_alternative
    certainties, ran, fine = [], True, True
    for command in members:
        may_be_skipped = not fine and not exit_code_covers_all
        if command.joined == "||" or (command.joined == "&&" and may_be_skipped):
            ran = False
        fine = fine and ran and _has_no_error_message(command, failed_names)
        finished = ran and result.done and not command.background
        certainties.append(CommandCertainty(ran, finished and (exit_code_covers_all or fine)))
    return certainties


def _has_no_error_message(command: ShellCommand, failed_names: frozenset[str] | None) -> bool:
    """Return whether a command would have printed an error, and printed none."""
    hides_errors = any(
        redirect.descriptor in ("2", "&") and redirect.operator in (">", ">>")
        for redirect in command.redirects
    )
    if command.name not in _ERROR_REPORTING_COMMANDS or hides_errors:
        return False
    return failed_names is not None and command.name not in failed_names


class WorkingFolder:
    """The current folder of a script, command by command; `None` once it is unknown."""

    def __init__(
        self, folder: str | None, session: str, top: str = "", *, lost: bool = False
    ) -> None:
        """Start in a folder, which may be relative to the session's folder.

        `top` is the session's first folder; `lost` when some `cd` of the script failed.
        """
        self.folder = folder
        self.previous = folder
        self.start = folder or session
        self.session = session
        self.top = top
        self.lost = lost

    def follow(self, command: ShellCommand, *, ran: bool) -> bool:
        """Follow a command that changes the folder; return whether the command is one."""
        if command.name not in _FOLDER_CHANGING_COMMANDS:
            return False
        words = [word for word in command.words[1:] if word not in ("--", "-P", "-L", "-Path")]
        known = (
            ran
            and len(words) == 1
            and not self.lost
            and command.joined not in ("|", "||")
            and command.name != "popd"
        )
        target = words[0] if known else None
        if target == "-":
            self.folder, self.previous = self.previous, self.folder
            return True
        self.previous = self.folder
        self.folder = self._resolve_folder(target)
        return True

    def enter_git_folder(self, command: ShellCommand) -> "WorkingFolder":
        """Return the working folder of a command: `git -C` has its own."""
        if command.name != "git":
            return self
        folder, _ = parse_git_arguments(command.words)
        if folder == "":
            return self
        return WorkingFolder(self._resolve_folder(folder), self.start, self.top)

    def _resolve_folder(self, folder: str | None) -> str | None:
        if folder is None or (self.folder is None and not is_absolute_path(folder)):
            return None
        return _join_path(self.folder or "", folder)

    def resolve_paths(self, event: FileAction) -> Iterator[FileAction]:
        """Yield an event with its paths resolved in this folder.

        Where the folder is unknown, observations are dropped, and a change could be any file's.
        """
        if not event.path:
            yield event
        elif self.folder is not None or is_absolute_path(event.path):
            yield _prefix_event_paths(self.folder or "", event)
        elif not _is_observation(event):
            yield _build_change_anywhere(event)

    def resolve_git_paths(self, events: Sequence[FileAction]) -> Iterator[FileAction]:
        """Yield events of git's output, whose paths are relative to the top of the work tree."""
        if self.folder is None:
            return
        top = self._find_work_tree_top(self.folder, events)
        for event in events:
            yield _prefix_event_paths(top, event)

    def _find_work_tree_top(self, folder: str, events: Sequence[FileAction]) -> str:
        """Guess the top of the work tree that a folder belongs to.

        It is the linked work tree around the folder, if there is one. Otherwise it is the session's
        first folder, if the paths of git fit it, or else the folder where the script started.
        """
        here = make_absolute_path(folder, self.session)
        below = make_relative_path(here, self.top) if self.top else None
        linked = _WORK_TREE_PATH.match(below) if below else None
        if linked:
            return _join_path(self.top, linked[0])
        if below:
            prefix = make_path_key(below) + "/"
            if any(make_path_key(event.path).startswith(prefix) for event in events):
                return self.top
        inside = not is_absolute_path(folder) or folder.startswith(self.start.rstrip("/") + "/")
        leaves_start = ".." in folder.split("/")
        return self.start if inside and self.start and not leaves_start else folder


def _is_observation(event: FileAction) -> bool:
    if isinstance(event, FileMove):
        return event.told
    return isinstance(event, ObservedLines | ObservedDiff)


def _build_change_anywhere(event: FileAction) -> PossibleChange:
    """Return the possible change of files with the event's names, in any folder."""
    if isinstance(event, PossibleChange):
        kinds = event.kinds if event.folder else (f"/{posixpath.basename(event.path)}",)
        return replace(event, path="", folder=True, kinds=kinds)
    changed: list[str] = []
    if isinstance(event, FileMove):
        changed = [event.path, event.to]
    elif isinstance(event, FileWrite | FileDeletion):
        changed = [event.path]
    return PossibleChange("", named=collect_base_names(changed))


def _prefix_event_paths(folder: str, event: FileAction) -> FileAction:
    if not folder:
        return event
    event = replace(event, path=_join_path(folder, event.path))
    if isinstance(event, FileMove):
        return replace(event, to=_join_path(folder, event.to))
    if isinstance(event, Stash):
        return replace(event, paths=tuple(_join_path(folder, path) for path in event.paths))
    return event


def _join_path(folder: str, path: str) -> str:
    return path if is_absolute_path(path) else posixpath.join(folder, path)
