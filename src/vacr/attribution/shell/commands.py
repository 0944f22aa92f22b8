"""What the commands of one shell call did to files, and what its output showed of them. Step: attribute.

Only what a command's text proves is applied: writing a here-document or a literal, removing, moving, copying, putting back by
git. What other commands may have changed is said with `Touch`, so that the next look at the file decides.
"""

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.attribution import apply_patch, tools
from vacr.attribution.calls import Call
from vacr.attribution.events import DiffSeen, Event, Move, Stash, Touch
from vacr.attribution.shell import git, powershell
from vacr.attribution.shell.certainty import certainty
from vacr.attribution.shell.code import names_in_script
from vacr.attribution.shell.effects import effects
from vacr.attribution.shell.lexer import Command, Script, parse
from vacr.attribution.shell.literals import printed
from vacr.attribution.shell.outputs import shown_by
from vacr.attribution.shell.results import Result, result_of

_POWERSHELL = frozenset(["PowerShell", "powershell"])


def shell_events(call: Call) -> Iterator[Event]:
    """Say what a call of a shell did."""
    text, folder = command_of(call.input)
    if text is None:
        return
    result = result_of(call)
    if call.name in _POWERSHELL:
        script, result = powershell.parse(text), replace(result, text=result.text.replace("\r\n", "\n"))
    else:
        script = parse(text)
    yield from script_events(script, result, folder or "", call.folder)
    if script.opaque and not apply_patch.parse(text):
        yield Touch("", named=names_in_script(script.rest))


def script_events(script: Script, result: Result, folder: str, top: str = "") -> Iterator[Event]:
    """Say what a script did that ran in a folder; `top` is where its session worked."""
    certain = certainty(script, result)
    shown = shown_by(script, result, certain)
    place = _Place(folder, top, lost="cd: " in result.text or "cd: " in result.errors)
    given, said = None, result.text + result.errors
    for number, command in enumerate(script.commands):
        given = given_to(command, given)
        here = place.of(command)
        if not place.enters(command, ran=certain[number].ran):
            for event in effects(command, given, sure=certain[number].succeeded, said=said):
                yield from here.named(event)
        for event in shown.get(number, ()):
            yield from here.named(event, top=isinstance(event, DiffSeen) or "--porcelain" in command.words)
        given = printed(command.words, given)


def given_to(command: Command, piped: str | None) -> str | None:
    """Give what a command reads: a here-document, a here-string, or what the command before it prints."""
    for redirect in reversed(command.redirects):
        if redirect.operator in ("<<", "<<-"):
            return redirect.body
        if redirect.operator == "<<<":
            return None if redirect.target is None else redirect.target + "\n"
        if redirect.operator == "<":
            return None
    return piped if command.joined == "|" else None


def command_of(arguments: Any) -> tuple[str | None, str | None]:
    """Give the text of a command, and the folder it is to run in, as far as the arguments say them."""
    if isinstance(arguments, str):
        return arguments, None
    folder = tools.text(arguments, tools.FOLDERS)
    text = tools.text(arguments, tools.COMMANDS)
    if text is None and isinstance(arguments, dict) and isinstance(arguments.get("command"), list):
        words = [word for word in arguments["command"] if isinstance(word, str)]
        if words[2:] and words[1] in ("-c", "-lc", "-cl"):
            text = words[2]
        elif words:
            text = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return text, folder


class _Place:
    """The folder in which a script's commands run, `None` once it is not known."""

    def __init__(self, folder: str | None, top: str, *, lost: bool = False) -> None:
        self.folder = folder
        self.before = folder
        self.first = folder or top
        self.lost = lost

    def enters(self, command: Command, *, ran: bool) -> bool:
        """Follow a command that changes the folder; tells whether it is one."""
        if command.name not in ("cd", "pushd", "popd", "Set-Location"):
            return False
        words = [word for word in command.words[1:] if word not in ("--", "-P", "-L", "-Path")]
        known = ran and len(words) == 1 and not self.lost and command.joined not in ("|", "||") and command.name != "popd"
        to = words[0] if known else None
        if to == "-":
            self.folder, self.before = self.before, self.folder
            return True
        self.before = self.folder
        self.folder = self._into(to)
        return True

    def of(self, command: Command) -> "_Place":
        """Give the folder that a command works in."""
        if command.name != "git":
            return self
        folder, _ = git.arguments(command.words)
        if folder == "":
            return self
        return _Place(self._into(folder), self.first)

    def _into(self, folder: str | None) -> str | None:
        if folder is None or (self.folder is None and not _absolute(folder)):
            return None
        return _join(self.folder or "", folder)

    def named(self, event: Event, *, top: bool = False) -> Iterator[Event]:
        """Name the files of an event from here, or from the top of the work tree; what cannot be named may be any file."""
        if not event.path:
            yield event
        elif self.folder is None and not _absolute(event.path):
            yield Touch("")
        else:
            yield _from(self._top() if top else self.folder or "", event)

    def _top(self) -> str:
        """Give the folder that git tells its paths from: where the session works, when this is below it, or else this."""
        folder = self.folder or ""
        inside = not _absolute(folder) or folder.startswith(self.first.rstrip("/") + "/")
        return self.first if inside and self.first and ".." not in folder.split("/") else folder


def _from(folder: str, event: Event) -> Event:
    if not folder:
        return event
    named = replace(event, path=_join(folder, event.path))
    if isinstance(named, Move):
        return replace(named, to=_join(folder, named.to))
    return replace(named, paths=tuple(_join(folder, path) for path in named.paths)) if isinstance(named, Stash) else named


def _absolute(path: str) -> bool:
    return path.startswith(("/", "\\\\")) or path[1:2] == ":"


def _join(folder: str, path: str) -> str:
    return path if _absolute(path) else posixpath.join(folder, path)
