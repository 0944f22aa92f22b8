"""The newest commit that a session shows. Step: attribute."""

import re
from collections.abc import Iterable, Iterator

from vacr.attribution.calls import FAILED, Call, Step
from vacr.attribution.shell import git
from vacr.attribution.shell.commands import command_of
from vacr.attribution.shell.lexer import parse

_COMMITTED = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,64})\] ", re.MULTILINE)
_WHOLE = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
_LOGGED = re.compile(r"\A(?:commit )?([0-9a-f]{7,64})\b")
_SPELLED = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_PLAIN_LOG = re.compile(
    r"--oneline|-\d+|-n\d*|\d+|--stat|--no-color|--decorate\S*|-p|HEAD|--no-pager"
)


def newest_revision(steps: Iterable[Step]) -> str | None:
    """Give the commit that a session made or looked at last, in full if the session spells it in
    full anywhere.
    """
    newest: str | None = None
    whole: dict[str, str] = {}
    for step in steps:
        if not isinstance(step, Call) or not step.output:
            continue
        text, _ = command_of(step.input)
        if text is None or "git" not in text:
            continue
        whole |= {name[:7]: name for name in _SPELLED.findall(step.output)}
        for found in _shown(text, step):
            newest = found
    full = whole.get(newest[:7]) if newest else None
    return full if newest and full and full.startswith(newest) else newest


def _shown(text: str, call: Call) -> Iterator[str]:
    """Give the commits that are the newest by what a script's commands print."""
    script = parse(text)
    verbs = [
        [word or "" for word in git.arguments(command.words)[1]]
        for command in script.commands
        if command.name == "git"
    ]
    for verb in verbs:
        if (
            verb[:1] == ["commit"]
            and call.state != FAILED
            and (made := _COMMITTED.findall(call.output))
        ):
            yield made[-1]
        elif verb == ["rev-parse", "HEAD"] and len(found := _WHOLE.findall(call.output)) == 1:
            yield found[0]
        elif (
            verb[:1] == ["log"]
            and len(script.commands) == 1
            and all(_PLAIN_LOG.fullmatch(word) for word in verb[1:])
        ):
            yield from _LOGGED.findall(call.output)
