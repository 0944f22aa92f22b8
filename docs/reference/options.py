"""Arguments and options as tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

_SAID = re.compile(r"\s*\[(default: (?P<default>[^]]+)|required)\]$")
_OPTION = re.compile(r"(?<![\w`])(--?[a-z][a-z0-9-]*(?: -(?= ))?)")
_SEVERAL = -1


def arguments(found: Iterable[click.Argument]) -> str:
    """Write the arguments of a verb."""
    rows = "".join(
        f"| {_code(name)} | {how_many} |\n"
        for argument in found
        for name, how_many in _list_places(argument)
    )
    return f"| argument | how many |\n| --- | --- |\n{rows}"


def _list_places(argument: click.Argument) -> list[tuple[str, str]]:
    """Return the name of an argument, and how many there may be; for `[A] [B]`, both places."""
    parts = (argument.metavar or "").split()
    if len(parts) > 1 and all(part.startswith("[") for part in parts):
        return [(part.strip("[]"), "one, or none") for part in parts]
    return [(_named(argument), _how_many(argument))]


def _named(argument: click.Argument) -> str:
    if isinstance(argument.type, click.Choice):
        return "|".join(argument.type.choices)
    return (argument.metavar or str(argument.name).upper()).removesuffix("...").strip("[]")


def _how_many(argument: click.Argument) -> str:
    if argument.nargs == _SEVERAL:
        return "one or more" if argument.required else "any number"
    return "one" if argument.required else "one, or none"


def table(found: Iterable[click.Option], prefix: str) -> str:
    """Write the options of a verb, whose environment variables begin with a prefix."""
    rows = "".join(f"| {' | '.join(_row(option, prefix))} |\n" for option in found)
    return (
        f"| option | meaning | default | environment variable |\n| --- | --- | --- | --- |\n{rows}"
    )


def _row(option: click.Option, prefix: str) -> tuple[str, ...]:
    said = _SAID.search(option.help or "")
    told = prose((option.help or "")[: said.start()] if said else option.help or "")
    values = _values(option)
    return (
        _spelled(option),
        f"{told} {values}".strip(),
        _default(option, said),
        f"`{prefix}_{str(option.name).upper()}`",
    )


def _spelled(option: click.Option) -> str:
    value = (
        "" if option.is_flag or option.count else f" {option.metavar or option.type.name.upper()}"
    )
    if isinstance(option.type, click.Choice) and not option.is_flag:
        value = " " + (option.metavar or "VALUE")
    *short, last = option.opts
    names = [*short, f"{last}{value}", *option.secondary_opts]
    return ", ".join(_code(name) for name in names)


def _values(option: click.Option) -> str:
    """Return the allowed values of an option as text, if they are limited."""
    kind = option.type
    if isinstance(kind, click.Choice) and not option.is_flag:
        return f"One of {', '.join(_code(str(choice)) for choice in kind.choices)}."
    if isinstance(kind, click.IntRange | click.FloatRange) and not option.count:
        if kind.min is not None and kind.max is not None:
            return f"{kind.min} to {kind.max}."
        if kind.min is not None:
            return f"At least {kind.min}."
    return ""


def _default(option: click.Option, said: re.Match[str] | None) -> str:
    """Return the default: as the help words it, or the value itself."""
    if option.required or (said and not said["default"]):
        return "required"
    if said:
        return prose(said["default"])
    plain = isinstance(option.default, str | int | float) and not isinstance(option.default, bool)
    return (
        _code(str(option.default)) if plain and option.default != "" and not option.count else "–"
    )


def prose(text: str) -> str:
    """Escape Markdown in a text, and mark the names of options as code."""
    parts = text.split("`")
    parts[::2] = [_OPTION.sub(r"`\1`", _plain(part)) for part in parts[::2]]
    return "`".join(parts)


def _plain(text: str) -> str:
    return re.sub(r"([<*|])", r"\\\1", text)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
