"""Settings of the command line: the files `vacr.toml` of the user and of a project.

A table has the name of a verb, and its keys are the options of that verb:

    >>> from vacr.workflows import parse_settings
    >>> text = b'[seal]\\nservice = "https://log.example.org"\\n\\n[log.serve]\\nport = 8080\\n'
    >>> settings = parse_settings(text, "vacr.toml")
    >>> for setting in settings.find_options(("log", "serve")):
    ...     print(setting.name, setting.value, setting.where)
    port 8080 vacr.toml:5

The user's file lies in vacr's configuration folder. A project may bring a file, too. A clone could
so choose the key, the log or the trust of its users. Therefore the project's file
counts only after the user approved its bytes, like a project's trust store.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_config_folder, read_bytes
from vacr.workflows.trust_places import (
    STORE_APPROVED,
    STORE_OWN,
    STORE_UNAPPROVED,
    TrustStoreFile,
    check_write_permission,
    find_project_folder,
    read_project_file,
)

SETTINGS_NAME = "vacr.toml"
PROJECT_SETTINGS = f".vacr/{SETTINGS_NAME}"
"""The path of a project's settings in its repository."""
MAX_SETTINGS_BYTES = 1 << 16
_TABLE = re.compile(r"\s*\[\s*([^\[\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*=""")
_SYNTAX_PLACE = re.compile(r"\s*\(at line (\d+), column \d+\)")


@dataclass(frozen=True)
class Setting:
    """The value of an option in a settings file, and the file and line."""

    name: str
    value: Any
    where: str


@dataclass(frozen=True)
class SettingsFile:
    """The settings of one file, and why they count or not."""

    path: str
    tables: dict[str, Any] = field(default_factory=dict)
    lines: dict[tuple[str, ...], int] = field(default_factory=dict)
    state: str = STORE_OWN
    """STORE_OWN or STORE_APPROVED if the settings count, or another state of project files."""
    folder: str = "."
    """The folder where relative paths in the file start."""
    data: bytes = b""

    def get_place(self, names: tuple[str, ...]) -> str:
        """Return the file and line of a table or key; the file alone if the line is unknown."""
        line = self.lines.get(names)
        return f"{self.path}:{line}" if line else self.path

    def find_options(self, words: tuple[str, ...]) -> list[Setting]:
        """Return the settings of a verb, such as `("log", "serve")`; there may be none.

        Raises:
            UsageError: the table of the verb is not a table.
        """
        table: Any = self.tables
        for number, word in enumerate(words):
            table = table.get(word, {})
            if not isinstance(table, dict):
                names = words[: number + 1]
                raise UsageError(
                    f"{word!r} is a verb, so it needs a table with its options",
                    where=self.get_place(names),
                    hint=f"Write [{'.'.join(names)}] on a line of its own, and its options "
                    "on the lines below.",
                )
        return [
            Setting(name, value, self.get_place((*words, name)))
            for name, value in table.items()
            if not isinstance(value, dict)
        ]


def find_own_settings(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's settings, which need not exist.

    Raises:
        UsageError: the user has no configuration folder.
    """
    return find_config_folder(environment) / SETTINGS_NAME


def find_project_settings(folder: Path) -> Path | None:
    """Return the path of the settings of the repository around a folder, or None without any."""
    top = find_project_folder(folder)
    if top is None or not os.path.lexists(top / PROJECT_SETTINGS):
        return None
    return top / PROJECT_SETTINGS


def read_settings_files(environment: Mapping[str, str] = os.environ) -> list[SettingsFile]:
    """Return the user's settings, then the settings of the project around the current folder.

    A project's file that does not count is returned with its state, so that the caller can report
    it, and without its settings if it is malformed.

    Raises:
        UsageError: others can write to the user's settings.
        UnreadableInput: a file that counts is malformed, or the approvals cannot be read.
    """
    try:
        own = find_own_settings(environment)
    except UsageError:
        # Without a configuration folder, nothing can be approved either.
        return []
    files = []
    if own.exists():
        check_write_permission(own)
        data = read_bytes(own, MAX_SETTINGS_BYTES + 1)
        files.append(replace(parse_settings(data, str(own)), folder=str(own.parent)))
    project = find_project_settings(Path.cwd())
    if project is not None:
        files.append(_parse_project_settings(read_project_file(project, environment)))
    return files


def _parse_project_settings(file: TrustStoreFile) -> SettingsFile:
    """Return the settings of a project's file; empty if they are malformed and do not count."""
    folder = str(Path(file.path).parent.parent)
    try:
        settings = parse_settings(file.data, file.path)
    except UnreadableInput:
        if file.state == STORE_APPROVED:
            raise
        settings = SettingsFile(file.path)
    return replace(settings, state=file.state, folder=folder, data=file.data)


def describe_ignored_settings(file: SettingsFile) -> tuple[str, str]:
    """Return the warning about a project's settings that do not count, and the hint."""
    reason = (
        "you have not approved this project's settings"
        if file.state == STORE_UNAPPROVED
        else "they changed since you approved them, or cannot be read"
    )
    return f"{file.path}: ignored: {reason}", "To review and approve them: vacr trust approve"


def parse_settings(data: bytes, path: str) -> SettingsFile:
    """Parse the text of a settings file.

    Raises:
        UnreadableInput: it is too large, or not TOML.
    """
    if len(data) > MAX_SETTINGS_BYTES:
        raise UnreadableInput(
            f"the settings have more than {MAX_SETTINGS_BYTES:,} bytes",
            where=path,
            hint="Settings are a few lines of TOML. Check that this is the right file.",
        )
    try:
        text = data.decode("utf-8")
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        message = str(error)
        found = _SYNTAX_PLACE.search(message)
        last = data.rstrip().count(b"\n") + 1
        raise UnreadableInput(
            f"the settings are not TOML: {_SYNTAX_PLACE.sub('', message)}",
            where=f"{path}:{found[1] if found else last}",
            hint="Correct the line. A table has the name of a verb, and its keys are options.",
        ) from error
    return SettingsFile(path, tables, _find_lines(text), data=data)


def _find_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line of each table and key in a text, as far as the usual layout shows them."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _TABLE.match(line):
            table = tuple(part.strip().strip("\"'") for part in found[1].split("."))
            lines.setdefault(table, number)
        elif found := _KEY.match(line):
            lines.setdefault((*table, found[1]), number)
    return lines
