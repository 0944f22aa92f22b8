"""Generate the man pages from the commands, or check that they are current (--check).

The package installs them under share/man: `man vacr`, `man vacr-trust`.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from vacr.cli import EXIT_CODES, group

FOLDER = Path(__file__).parent / "man1"
_EXAMPLE = "\b\nExample:\n"
_PREFIX = str(group.context_settings["auto_envvar_prefix"])


def escape_roff(text: str) -> str:
    """Return a text in which roff finds no command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def format_page(context: click.Context) -> str:
    """Return the man page of a verb with its sub-verbs, or of vacr itself."""
    name = context.command_path.replace(" ", "-")
    purpose = " ".join((context.command.help or "").split("\n\n", 1)[0].split()).rstrip(".")
    parts = [
        f'.TH "{name.upper()}" "1" "" "vacr" "vacr manual"',
        ".SH NAME",
        f"{escape_roff(name)} \\- {escape_roff(purpose)}",
        *_describe(context, ".SH"),
    ]
    if context.parent is None:
        parts.append(".SH COMMANDS")
        for below in walk(context):
            parts += [".TP", f"\\fBvacr\\-{below.info_name}\\fR(1)", escape_roff(_purpose(below))]
    else:
        for below in walk_deep(context):
            parts += [f'.SH "{escape_roff(below.command_path.upper())}"']
            parts += _describe(below, ".SS")
    parts.append('.SH "EXIT CODES"')
    for code, meaning in EXIT_CODES.items():
        parts += [".TP", f"\\fB{code}\\fR", escape_roff(meaning)]
    return "\n".join(parts) + "\n"


def _describe(context: click.Context, level: str) -> Iterator[str]:
    """Yield the synopsis, the prose, the options and the examples of a verb."""
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    yield from (f"{level} SYNOPSIS", escape_roff(usage), f"{level} DESCRIPTION")
    text, _, example = inspect.cleandoc(context.command.help or "").partition(_EXAMPLE)
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield from (".PP", escape_roff(" ".join(paragraph.split())))
    options = [param for param in context.command.params if isinstance(param, click.Option)]
    if options:
        yield f"{level} OPTIONS"
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            variable = f"{context.auto_envvar_prefix}_{str(option.name).upper()}"
            meaning = f"{' '.join(record[1].split())} Variable: {variable}."
            yield from (".TP", f"\\fB{escape_roff(record[0])}\\fR", escape_roff(meaning))
    if example:
        lines = escape_roff(textwrap.dedent(example).strip())
        yield from (f"{level} EXAMPLES", ".nf", lines, ".fi")


def _purpose(context: click.Context) -> str:
    """Return the purpose of a verb in one line."""
    verbs = getattr(context.parent.command if context.parent else None, "verbs", {})
    return str(verbs.get(context.info_name) or context.command.get_short_help_str(1000))


def walk(parent: click.Context) -> Iterator[click.Context]:
    """Yield the context of each verb of a group, also of a lazy one."""
    command = parent.command
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(parent):
        found = command.get_command(parent, name)
        if found is not None and not found.hidden:
            yield click.Context(found, info_name=name, parent=parent)


def walk_deep(parent: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of all verbs below a group."""
    for below in walk(parent):
        yield below
        yield from walk_deep(below)


def build_pages() -> dict[str, str]:
    """Return all pages by their file names."""
    root = click.Context(group, info_name="vacr", auto_envvar_prefix=_PREFIX)
    return {
        f"{context.command_path.replace(' ', '-')}.1": format_page(context)
        for context in (root, *walk(root))
    }


def main() -> int:
    """Write the pages and delete pages of former verbs; with --check, list outdated pages."""
    wanted = build_pages()
    existing = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.1")}
    stale = sorted(
        name for name in wanted.keys() | existing.keys() if wanted.get(name) != existing.get(name)
    )
    if "--check" in sys.argv:
        if stale:
            print(f"docs/man: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], "utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
