"""Where the shell of a session was when each of its calls began. Step: attribute.

The shells of Claude Code and Cursor go on from call to call, so that a `cd` holds. Claude Code
tells the folder on each line, and the next call is in it, unless the call failed; but there are
stretches in which what it tells does not follow, and a sub-agent's shell may be put back without a
word. In its desktop application each prompt puts the shell back. Where the commands and the lines
do not agree, the folder is not known until a line tells another one, or until both agree again. The
shells of other agents begin anew with each call.
"""

import re
from typing import Any

from vacr.attribution import paths, tools
from vacr.attribution.calls import DONE, PENDING, Call, Shown, Step, agent_of, steps
from vacr.attribution.prompts import asked
from vacr.attribution.shell.certainty import certainty
from vacr.attribution.shell.commands import command_of, refuses_folder, script_of
from vacr.attribution.shell.lexer import Script
from vacr.attribution.shell.places import Place
from vacr.attribution.shell.results import result_of

_GOING_ON = frozenset(["claude-code", "cursor"])
_TELLING = frozenset(["claude-code"])
_ENTERS = re.compile(r"(?<![\w-])(?:cd|pushd|popd|Set-Location|chdir)(?![\w-])", re.IGNORECASE)
# Claude Code does not call it an error when these end with another code than 0.
_LENIENT = frozenset(["grep", "egrep", "fgrep", "rg", "find", "diff", "test", "["])
_FOUND = re.compile(r"\d+[:-]|--$")
_PUT_BACK = "Shell cwd was reset to "


def placed(record: dict[str, Any]) -> list[Step]:
    """Give the steps of a record, with what is known of where their shells were."""
    agent, found = agent_of(record), list(steps(record))
    if agent in _GOING_ON:
        kinds = tools.TOOLS[agent]
        shells: dict[str, _Shell] = {}
        for step in found:
            shell = shells.setdefault(step.chain, _Shell(stuck=None if agent in _TELLING else True))
            if isinstance(step, Shown):
                shell.hears(step)
            elif step.state != PENDING:
                shell.runs(step, is_shell=kinds.get(step.name) == tools.SHELL)
    return found


class _Shell:
    """A shell that goes on; `stuck` tells whether the folder that lines tell has not followed, once
    that could be seen.
    """

    def __init__(self, *, stuck: bool | None) -> None:
        self.stuck = stuck
        self.told: str | None = None
        self.moved = 0
        self.lost = False
        self.early: list[
            Call
        ] = []  # calls of a session that goes on from another, before it is known where it is
        self.continued = False
        self.calls = 0

    def hears(self, shown: Shown) -> None:
        """Take in a line that is no call."""
        summary = shown.value.get("isCompactSummary") is True
        self.continued = self.continued or (summary and not self.calls)
        self._tell(shown.folder)
        if not summary and shown.value.get("entrypoint") == "claude-desktop" and asked(shown.value):
            self.lost = self.continued = False  # each turn begins where the session does

    def _tell(self, folder: str) -> None:
        if self.told is not None and folder != self.told:
            self.lost = False
        self.told = folder

    def runs(self, call: Call, *, is_shell: bool) -> None:
        """Take in a call that has ended."""
        self.calls += 1
        if call.began <= self.moved:
            call.lost = call.lost or call.folder != self.told  # it ran beside the one that moved
        else:
            self._tell(call.folder)
        call.lost = call.lost or self.lost
        if self.continued:
            self.early.append(call)
        if not is_shell:
            return
        if call.left != call.folder:
            self._follows(call)
            return
        entered, folder = _left(call)
        if _PUT_BACK in call.output or (
            entered and folder == paths.key(paths.absolute(call.folder, ""))
        ):
            self.lost = False
        elif entered and (folder is not None or self.stuck):
            self._doubts()

    def _follows(self, call: Call) -> None:
        self.stuck, self.lost, self.told, self.early, self.continued = (
            False,
            False,
            call.left,
            [],
            False,
        )
        self.moved = call.ended

    def _doubts(self) -> None:
        """Doubt where the shell is, and in a session that was begun elsewhere also where it was
        before.
        """
        for call in self.early if self.stuck is None else ():
            call.lost = True
        self.stuck, self.lost, self.continued = True, True, False


def _left(call: Call) -> tuple[bool, str | None]:
    """Tell whether the commands of a call may have changed the folder, and which one they left the
    shell in.
    """
    text, folder = command_of(call.input)
    if text is None or not _ENTERS.search(text):
        return False, None
    script, result = script_of(call, text), result_of(call)
    place = Place(None if call.lost else folder or "", call.folder, lost=refuses_folder(result))
    certain = certainty(script, result)
    entered = sum(
        place.enters(command, ran=certain[number].ran)
        for number, command in enumerate(script.commands)
    )
    hidden = script.opaque and len(_ENTERS.findall(text)) > entered  # in what is not read
    if (
        hidden
        or call.state != DONE
        or place.folder is None
        or _may_have_failed(script, result.text)
    ):
        return hidden or entered > 0, None
    return entered > 0, paths.key(paths.absolute(place.folder, call.folder))


def _may_have_failed(script: Script, text: str) -> bool:
    """Tell whether a call that is called no error may be one."""
    last = script.commands[-1] if script.commands and not script.opaque else None
    if last is None or last.name not in _LENIENT:
        return False
    return (
        not text
        or "-n" not in last.words
        or not all(map(_FOUND.match, text.removesuffix("\n").split("\n")))
    )
