"""What the commands of one shell call did to files, and what its output showed of them. Step:
attribute.

Only what a command's text proves is applied: writing a here-document or a literal, removing,
moving, copying, putting back by git. What other commands may have changed is said with `Touch`, so
that the next look at the file decides.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from vacr.attribution import apply_patch, tools
from vacr.attribution.calls import Call
from vacr.attribution.events import DiffSeen, Event, Touch
from vacr.attribution.shell import powershell
from vacr.attribution.shell.certainty import certainty
from vacr.attribution.shell.code import names_in_script
from vacr.attribution.shell.effects import effects
from vacr.attribution.shell.lexer import Command, Script, parse
from vacr.attribution.shell.literals import printed
from vacr.attribution.shell.outputs import shown_by
from vacr.attribution.shell.places import Place, is_absolute
from vacr.attribution.shell.results import Result, result_of
from vacr.attribution.shell.sweeps import hidden

_POWERSHELL = frozenset(["PowerShell", "powershell"])


def shell_events(call: Call) -> Iterator[Event]:
    """Say what a call of a shell did."""
    text, folder = command_of(call.input)
    if text is None:
        return
    script, result = script_of(call, text), result_of(call)
    if call.name in _POWERSHELL:
        result = replace(result, text=result.text.replace("\r\n", "\n"))
    lost = call.lost and not (folder and is_absolute(folder))
    yield from script_events(script, result, None if lost else folder or "", call.folder, call.top)
    if any(map(_writes_somewhere, script.commands)):
        yield Touch("", named=names_in_script(text))
    if script.opaque and not apply_patch.parse(text):
        yield Touch("", folder=hidden(script.unread), named=names_in_script(script.unread))


def _writes_somewhere(command: Command) -> bool:
    """Tell whether a command writes to a file whose name only the shell knows."""
    untold = any(one.writes and one.target is None for one in command.redirects)
    return untold or (command.name == "tee" and None in command.words)


def script_of(call: Call, text: str) -> Script:
    """Read the text of a call in the language of its shell."""
    return powershell.parse(text) if call.name in _POWERSHELL else parse(text)


def script_events(
    script: Script, result: Result, folder: str | None, session: str = "", top: str = ""
) -> Iterator[Event]:
    """Say what a script did that ran in a folder; `session` is where its session worked then, `top`
    where it began.
    """
    certain = certainty(script, result)
    shown = shown_by(script, result, certain)
    place = Place(folder, session, top, lost=refuses_folder(result))
    given, said = None, result.text + result.errors
    for number, command in enumerate(script.commands):
        given = given_to(command, given)
        here = place.of(command)
        if not place.enters(command, ran=certain[number].ran):
            for event in effects(command, given, sure=certain[number].succeeded, said=said):
                yield from here.named(event)
        seen = shown.get(number, ())
        by_git = [
            event for event in seen if isinstance(event, DiffSeen) or "--porcelain" in command.words
        ]
        yield from here.told(by_git)
        for event in seen if not by_git else ():
            yield from here.named(event)
        given = printed(command.words, given)


def refuses_folder(result: Result) -> bool:
    """Tell whether a shell said that it could not enter a folder."""
    return "cd: " in result.text or "cd: " in result.errors


def given_to(command: Command, piped: str | None) -> str | None:
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


def command_of(arguments: Any) -> tuple[str | None, str | None]:
    """Give the text of a command, and the folder it is to run in, as far as the arguments
    say them.
    """
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
