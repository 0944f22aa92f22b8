"""What came of a shell call: its exit code and what it printed, however the agent wraps it. Step:
attribute.

Which commands of a script surely ran, and which surely succeeded. Step: attribute.

The exit code of a script is that of its last command. What stands before it, joined by `&&`,
succeeded if that did; what stands before a `;` is told only by its silence, from commands that
complain when they fail.

Files that are named in code that is run and not read. Step: attribute.

A loop, a function, a program given to an interpreter: what it does to files is not followed. Where
it has something in it that writes, any file that it names may have been changed.

The folder in which each command of a script runs. Step: attribute.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vacr.agents import ShellResult, is_absolute_path
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellCommand, ShellScript
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
_SHELL_ERROR_LINE = re.compile(
    r"^(?:(?:/\S*/)?(?:ba|z|da|k)?sh|\(eval\)|error|fatal|CONFLICT)\b.{0,200}", re.MULTILINE
)
_MESSAGE_PREFIX = re.compile(r"^(\S{1,20}): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommandCertainty:
    """Whether a command surely ran, and whether it surely succeeded."""

    ran: bool
    succeeded: bool


def assess_certainty(script: ShellScript, result: ShellResult) -> list[CommandCertainty]:
    """Say it of each command."""
    lists: list[list[ShellCommand]] = []
    for command in script.commands:
        if not lists or command.joined in ("", ";"):
            lists.append([])
        lists[-1].append(command)
    strict = bool(script.commands) and script.commands[0].words[:2] in (
        ["set", "-e"],
        ["set", "-eu"],
        ["set", "-euo"],
    )
    said = f"{result.text}\n{result.errors}"
    complaining = (
        None if _SHELL_ERROR_LINE.search(said) else frozenset(_MESSAGE_PREFIX.findall(said))
    )
    found: list[CommandCertainty] = []
    for number, members in enumerate(lists):
        last = number == len(lists) - 1 and not script.opaque
        found += _assess_joined_commands(
            members, complaining, result, proved=(last or strict) and result.done
        )
    return found


def _assess_joined_commands(
    members: Sequence[ShellCommand],
    complaining: frozenset[str] | None,
    result: ShellResult,
    *,
    proved: bool,
) -> list[CommandCertainty]:
    """Say it of commands that are joined by other than `;`."""
    either = any(command.joined == "||" for command in members)
    found, ran, fine = [], True, True
    for command in members:
        if command.joined == "||" or (
            command.joined == "&&" and not fine and (either or not proved)
        ):
            ran = False
        fine = fine and ran and _has_no_error_message(command, complaining)
        found.append(
            CommandCertainty(
                ran,
                ran
                and result.done
                and not command.background
                and ((proved and not either) or fine),
            )
        )
    return found


def _has_no_error_message(command: ShellCommand, complaining: frozenset[str] | None) -> bool:
    """Tell whether a command would have complained, and has not; `None` when somebody did who gave
    no name.
    """
    if command.name not in _ERROR_REPORTING_COMMANDS or any(
        one.descriptor in ("2", "&") and one.operator in (">", ">>") for one in command.redirects
    ):
        return False
    return complaining is not None and command.name not in complaining


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
    r"write|unlink|remove|rename|rmtree|rmSync|copy|move|truncate|dump\(|save|inplace|system\(|subprocess|exec"
    r"|open\([^)\n]{0,200}[\"'][rbt]*[wax+]"
)
_PATH_PART = re.compile(r"[^\s'\"`/\\:=,;()<>|&{}\[\]$]+")


_NON_WILDCARD = re.compile(r"[^*?.]")


def collect_base_names(paths: Iterable[str]) -> frozenset[str]:
    """Give the last parts of paths, which may be patterns of the shell."""
    return frozenset(
        name for path in paths if _NON_WILDCARD.search(name := path.rstrip("/").rpartition("/")[2])
    )


def find_names_in_script(text: str) -> frozenset[str]:
    """Give the last parts of the paths that a shell script may change."""
    changes = _FILE_CHANGING_SHELL_CODE.search(text) or (
        _INTERPRETER_NAME.search(text) and _FILE_WRITING_CODE.search(text)
    )
    return collect_base_names(_PATH_PART.findall(text)) if changes else frozenset()


def find_names_in_program(words: Sequence[str | None], given: str | None) -> frozenset[str]:
    """Give those that a program may change which an interpreter was given as an argument or to
    read.
    """
    texts = [
        word
        for number, word in enumerate(words)
        if word and number and words[number - 1] in _INLINE_CODE_OPTIONS
    ]
    texts += [given] if given is not None else []
    if words[0] in _SHELL_INTERPRETERS:
        return frozenset().union(*map(find_names_in_script, texts))
    return collect_base_names(
        name
        for text in texts
        if _FILE_WRITING_CODE.search(text)
        for name in _PATH_PART.findall(text)
    )


FOLDER_CHANGING_COMMANDS = frozenset(["cd", "pushd", "popd", "Set-Location"])
_WORK_TREE_PATH = re.compile(r"(?:.*/)?\.?worktrees/[^/]+(?=/|$)")


class WorkingFolder:
    """The folder in which a script's commands run, `None` once it is not known, and where its
    session works.
    """

    def __init__(
        self, folder: str | None, session: str, top: str = "", *, lost: bool = False
    ) -> None:
        """Begin in a folder, which may be told from that of the session; `top` is where the session
        began.
        """
        self.folder = folder
        self.before = folder
        self.first = folder or session
        self.session = session
        self.top = top
        self.lost = lost

    def enters(self, command: ShellCommand, *, ran: bool) -> bool:
        """Follow a command that changes the folder; tells whether it is one."""
        if command.name not in FOLDER_CHANGING_COMMANDS:
            return False
        words = [word for word in command.words[1:] if word not in ("--", "-P", "-L", "-Path")]
        known = (
            ran
            and len(words) == 1
            and not self.lost
            and command.joined not in ("|", "||")
            and command.name != "popd"
        )
        to = words[0] if known else None
        if to == "-":
            self.folder, self.before = self.before, self.folder
            return True
        self.before = self.folder
        self.folder = self._into(to)
        return True

    def of(self, command: ShellCommand) -> "WorkingFolder":
        """Give the folder that a command works in."""
        if command.name != "git":
            return self
        folder, _ = parse_git_arguments(command.words)
        if folder == "":
            return self
        return WorkingFolder(self._into(folder), self.first, self.top)

    def _into(self, folder: str | None) -> str | None:
        if folder is None or (self.folder is None and not is_absolute_path(folder)):
            return None
        return _join_path(self.folder or "", folder)

    def named(self, event: FileAction) -> Iterator[FileAction]:
        """Name the files of an event from here; what cannot be named may be any file."""
        if not event.path:
            yield event
        elif self.folder is None and not is_absolute_path(event.path):
            if not isinstance(event, ObservedLines | ObservedDiff) and not (
                isinstance(event, FileMove) and event.told
            ):
                yield from _touch_anywhere(event)
        else:
            yield _prefix_event_paths(self.folder or "", event)

    def told(self, events: Sequence[FileAction]) -> Iterator[FileAction]:
        """Name the files of events from the top of the work tree, as git tells them."""
        top = self._top(events) if self.folder is not None else None
        for event in events if top is not None else ():
            yield _prefix_event_paths(top or "", event)

    def _top(self, events: Sequence[FileAction]) -> str:
        """Give the folder that git tells its paths from: where the session works, when this is
        below it, or else this.
        """
        folder = self.folder or ""
        here = make_absolute_path(folder, self.session)
        below = make_relative_path(here, self.top) if self.top else None
        own = _WORK_TREE_PATH.match(below) if below else None
        if own:
            return _join_path(self.top, own[0])
        if below and any(
            make_path_key(event.path).startswith(make_path_key(below) + "/") for event in events
        ):
            return self.top
        inside = not is_absolute_path(folder) or folder.startswith(self.first.rstrip("/") + "/")
        return self.first if inside and self.first and ".." not in folder.split("/") else folder


def _touch_anywhere(event: FileAction) -> Iterator[PossibleChange]:
    """Say that something may have changed files of a name, wherever they are."""
    if isinstance(event, PossibleChange):
        kinds = event.kinds if event.folder else (f"/{posixpath.basename(event.path)}",)
        yield replace(event, path="", folder=True, kinds=kinds)
    else:
        changed = (
            [event.path, event.to]
            if isinstance(event, FileMove)
            else [event.path]
            if isinstance(event, FileWrite | FileDeletion)
            else []
        )
        yield PossibleChange("", named=collect_base_names(changed))


def _prefix_event_paths(folder: str, event: FileAction) -> FileAction:
    if not folder:
        return event
    named = replace(event, path=_join_path(folder, event.path))
    if isinstance(named, FileMove):
        return replace(named, to=_join_path(folder, named.to))
    return (
        replace(named, paths=tuple(_join_path(folder, path) for path in named.paths))
        if isinstance(named, Stash)
        else named
    )


def _join_path(folder: str, path: str) -> str:
    return path if is_absolute_path(path) else posixpath.join(folder, path)
