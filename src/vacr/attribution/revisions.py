"""The newest commit that a session shows. Step: attribute."""

import re
from collections.abc import Iterable

from vacr.attribution.calls import Call, Step
from vacr.attribution.shell.commands import command_of
from vacr.attribution.shell.lexer import parse

_COMMITTED = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,64})\] ", re.MULTILINE)
_WHOLE = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)


def newest_revision(steps: Iterable[Step]) -> str | None:
    """Give the commit that a session made or looked at last, as long as it is spelled anywhere in the session."""
    newest: str | None = None
    for step in steps:
        if not isinstance(step, Call) or not step.output:
            continue
        text, _ = command_of(step.input)
        if text is None or "git" not in text:
            continue
        verbs = {tuple(command.words[:2]) for command in parse(text).commands}
        if ("git", "commit") in verbs and (made := _COMMITTED.findall(step.output)):
            newest = made[-1]
        whole = _WHOLE.findall(step.output) if ("git", "rev-parse") in verbs else []
        if len(whole) == 1 and "HEAD" in text:
            newest = whole[0]
    return newest
