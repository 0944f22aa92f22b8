"""Which commands of a script surely ran, and which surely succeeded. Step: attribute.

The exit code of a script is that of its last command. What stands before it, joined by `&&`,
succeeded if that did; what stands before a `;` is told only by its silence, from commands that
complain when they fail.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vacr.attribution.shell.lexer import Command, Script
from vacr.attribution.shell.results import Result

_COMPLAINING = (
    "cat cd chmod cp echo export git head ls mkdir mv nl printf pwd rm sed set tail "
    "tee touch true wc :"
)
_LOUD = frozenset(_COMPLAINING.split())
_COMPLAINT = re.compile(
    r"^(?:(?:/\S*/)?(?:ba|z|da|k)?sh|\(eval\)|error|fatal|CONFLICT)\b.{0,200}", re.MULTILINE
)
_SPEAKER = re.compile(r"^(\S{1,20}): ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Certain:
    """Whether a command surely ran, and whether it surely succeeded."""

    ran: bool
    succeeded: bool


def certainty(script: Script, result: Result) -> list[Certain]:
    """Say it of each command."""
    lists: list[list[Command]] = []
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
    complaining = None if _COMPLAINT.search(said) else frozenset(_SPEAKER.findall(said))
    found: list[Certain] = []
    for number, members in enumerate(lists):
        last = number == len(lists) - 1 and not script.opaque
        found += _list(members, complaining, result, proved=(last or strict) and result.done)
    return found


def _list(
    members: Sequence[Command], complaining: frozenset[str] | None, result: Result, *, proved: bool
) -> list[Certain]:
    """Say it of commands that are joined by other than `;`."""
    either = any(command.joined == "||" for command in members)
    found, ran, fine = [], True, True
    for command in members:
        if command.joined == "||" or (
            command.joined == "&&" and not fine and (either or not proved)
        ):
            ran = False
        fine = fine and ran and _quiet(command, complaining)
        found.append(
            Certain(
                ran,
                ran
                and result.done
                and not command.background
                and ((proved and not either) or fine),
            )
        )
    return found


def _quiet(command: Command, complaining: frozenset[str] | None) -> bool:
    """Tell whether a command would have complained, and has not; `None` when somebody did who gave
    no name.
    """
    if command.name not in _LOUD or any(
        one.descriptor in ("2", "&") and one.operator in (">", ">>") for one in command.redirects
    ):
        return False
    return complaining is not None and command.name not in complaining
