"""The settings files as defaults of the options of a verb.

An option on the command line wins, then its environment variable, then the project's settings, then
the user's, and last the default of the verb.

    >>> import click
    >>> from vacr.cli.settings import convert_setting
    >>> from vacr.workflows import Setting
    >>> option = click.Option(["--port"], type=click.IntRange(0, 65535))
    >>> context = click.Context(click.Command("serve", params=[option]))
    >>> convert_setting(Setting("port", "8080", "vacr.toml:2"), option, ".", context)
    8080
    >>> try:
    ...     convert_setting(Setting("port", 70000, "vacr.toml:2"), option, ".", context)
    ... except Exception as error:
    ...     print(error)
    vacr.toml:2: port: 70000 is not in the range 0<=x<=65535.

Paths start at the folder of the file, not at the current folder, so that the same settings mean the
same files everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from vacr.console import print_message
from vacr.errors import UsageError
from vacr.files import STDIN, find_home_folder
from vacr.workflows import (
    COUNTED_STATES,
    PROJECT_STORE,
    STORE_OWN,
    Setting,
    SettingsFile,
    describe_ignored_settings,
    read_settings_files,
)

_PATH_WORDS = ("FILE", "FOLDER", "REPOSITORY")
# The options that name whom to trust.
_TRUST_OPTIONS = frozenset(
    [
        "trust",
        "trust-store",
        "log-key",
        "timestamp-trust",
        "verifier-key",
        "evidence-policy",
        "policy",
        "ek-root",
        "ca",
        "client-ca",
    ]
)
_TRUST_VERB = "trust"
_QUIET_OPTIONS = frozenset(("-q", "--quiet"))
_CLOSE = 0.75


def apply_settings(context: click.Context, arguments: list[str]) -> None:
    """Make the settings for a verb its defaults; report settings that do not count.

    Raises:
        UsageError: a setting is not an option of the verb, or its value is wrong; the error names
            the file and line.
        UnreadableInput: a settings file cannot be read.
    """
    words = tuple(context.command_path.split()[1:])
    moved = getattr(context.find_root().command, "moved", {})
    if words[0] in moved:
        words = (moved[words[0]], *words)
    defaults: dict[str, Any] = {}
    for file in read_settings_files():
        if file.state in COUNTED_STATES:
            _check_verbs(file, context)
            defaults |= _convert_settings(file, words, context)
        elif _sets_verb(file, words) and not _QUIET_OPTIONS & set(arguments):
            message, hint = describe_ignored_settings(file)
            print_message(f"vacr: {message}. {hint}")
    if defaults:
        context.default_map = defaults


def _sets_verb(file: SettingsFile, words: tuple[str, ...]) -> bool:
    """Return whether a file has settings for a verb, or cannot be read."""
    return not file.tables or words[0] in file.tables


def _check_verbs(file: SettingsFile, context: click.Context) -> None:
    """Check that each table of a file has the name of a verb.

    A project must not have one for `vacr trust`: it could answer the question about itself.

    Raises:
        UsageError: a table has another name, or is not allowed.
    """
    root = context.find_root()
    if file.state != STORE_OWN and _TRUST_VERB in file.tables:
        raise UsageError(
            "a project cannot set the options of vacr trust",
            where=file.get_place((_TRUST_VERB,)),
            hint="Remove the table, or move it to your own settings.",
        )
    verbs = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    for name, table in file.tables.items():
        if name in verbs and isinstance(table, dict):
            continue
        hint = "Each option belongs to the table of its verb, for example [seal]."
        if isinstance(table, dict):
            close = get_close_matches(name, verbs, 1, _CLOSE)
            hint = f"Did you mean [{close[0]}]?" if close else "To list the verbs: vacr --help"
        raise UsageError(
            f"{name!r} is not a verb with a table", where=file.get_place((name,)), hint=hint
        )


def _convert_settings(
    file: SettingsFile, words: tuple[str, ...], context: click.Context
) -> dict[str, Any]:
    """Return the settings of a file for a verb, by the names of its parameters.

    Raises:
        UsageError: the verb has no such option, or the value is wrong.
    """
    options = {
        spelling.lstrip("-"): option
        for option in context.command.params
        if isinstance(option, click.Option)
        for spelling in option.opts
        if spelling.startswith("--")
    }
    converted = {}
    for setting in file.find_options(words):
        option = options.get(setting.name)
        if option is None:
            close = get_close_matches(setting.name, options, 1, _CLOSE)
            raise UsageError(
                f"vacr {' '.join(words)} has no option --{setting.name}",
                where=setting.where,
                hint=f"Did you mean {close[0]}?"
                if close
                else f"To list the options: vacr {' '.join(words)} --help",
            )
        value = convert_setting(setting, option, file.folder, context)
        if file.state != STORE_OWN and setting.name in _TRUST_OPTIONS:
            _check_outside_project(setting, value, file.folder)
        converted[str(option.name)] = value
    return converted


def _check_outside_project(setting: Setting, value: Any, folder: str) -> None:
    """Check that a setting of a project names no key or certificate in the project.

    Raises:
        UsageError: it does. The approval of the settings would not cover the content of that file.
    """
    top = os.path.realpath(folder)
    for name in value if isinstance(value, list) else [value]:
        paths = (os.path.normpath(name), os.path.realpath(name))
        if any(Path(path).is_relative_to(root) for path in paths for root in (folder, top)):
            raise UsageError(
                f"{setting.name}: {name} is in the project, and can change without your approval",
                where=setting.where,
                hint=f"List its keys in {PROJECT_STORE}, or name a file outside of the project.",
            )


def check_settings(file: SettingsFile, root: click.Context) -> Iterator[UsageError]:
    """Yield an error for each setting of a file that is wrong, without running a verb."""
    try:
        _check_verbs(file, root)
    except UsageError as error:
        yield error
        return
    for context in _list_set_verbs(file.tables, root):
        try:
            _convert_settings(file, tuple(context.command_path.split()[1:]), context)
        except UsageError as error:
            yield error


def _list_set_verbs(tables: Mapping[str, Any], parent: click.Context) -> Iterator[click.Context]:
    """Yield a context for each verb below `parent` that has a table."""
    group = parent.command
    for name, table in tables.items():
        verb = group.get_command(parent, name) if isinstance(group, click.Group) else None
        if verb is None or not isinstance(table, dict):
            continue
        context = click.Context(verb, parent=parent, info_name=name, resilient_parsing=True)
        if isinstance(verb, click.Group):
            yield from _list_set_verbs(table, context)
        else:
            yield context


def convert_setting(
    setting: Setting, option: click.Option, folder: str, context: click.Context
) -> Any:
    """Return the value of a setting in the type of its option; paths start at `folder`.

    Raises:
        UsageError: the value is wrong; the error names the file and line.
    """
    value = setting.value
    if option.multiple and not isinstance(value, list):
        value = [value]
    values = value if isinstance(value, list) else [value]
    is_list_wrong = isinstance(value, list) and not (option.multiple or option.nargs > 1)
    if is_list_wrong or (option.is_flag and not isinstance(value, bool)):
        expected = "true or false" if option.is_flag else "one value"
        raise UsageError(
            f"{setting.name}: expected {expected}",
            where=setting.where,
            hint=f"The option is {option.opts[-1]}.",
        )
    if not option.is_flag and not option.count:
        values = [_make_text(item, option, folder) for item in values]
        value = values if isinstance(value, list) else values[0]
    try:
        option.type_cast_value(context, value)
    except click.BadParameter as error:
        raise UsageError(
            f"{setting.name}: {error.message}",
            where=setting.where,
            hint=f"The option is {option.opts[-1]}.",
        ) from error
    return value if option.is_flag or option.multiple else option.type_cast_value(context, value)


def _make_text(value: Any, option: click.Option, folder: str) -> Any:
    """Return a value as the text that a user would type; a path becomes absolute."""
    if isinstance(value, list):
        return [_make_text(item, option, folder) for item in value]
    text = str(value)
    metavar = option.metavar or ""
    if not any(word in metavar for word in _PATH_WORDS):
        return text
    # Such as `v3|v2|v1|FILE` or `FILE|pkcs11:…`: not every value is a path.
    others = [form for form in metavar.split("|") if not any(word in form for word in _PATH_WORDS)]
    schemes = tuple(form.rstrip("…") for form in others if form.endswith(":…"))
    if text in (STDIN, "", *others) or "://" in text or (schemes and text.startswith(schemes)):
        return text
    return _resolve_path(text, folder, os.environ)


def _resolve_path(text: str, folder: str, environment: Mapping[str, str]) -> str:
    """Return a path that starts at the user's home or at a folder as an absolute path."""
    if text.startswith("~/"):
        folder, text = find_home_folder(environment), text[2:]
    joined = str(Path(folder) / text)
    return f"{joined}/" if text.endswith("/") else joined
