"""Formatters that a session ran, run again on rebuilt texts, in a sandbox.

After `gofmt -w a.go`, the formatter determines the text of the file, if the text before is known.
If the same formatter is installed here, it makes that text again. This is never done by default: it
runs a program of this machine on text of a session.

    >>> from vacr.workflows.formatters import find_formatter
    >>> find_formatter(["black", "--line-length", "100", "app.py"], "app.py").arguments
    ('--line-length', '100')
    >>> find_formatter(["black", "--preview", "app.py"], "app.py") is None    # not known here
    True

Only formatters whose result depends on nothing but the text, their version, options in the command
and settings that are data are in the table. The text goes in through a pipe. The program has
no network, an environment of `PATH` and an empty home, and limits on time and memory. Settings that
run code (plugins, `prettier.config.js`) are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from vacr.blame import FormattedText, ReadProjectFile
from vacr.edits import decode_file_text, encode_file_text
from vacr.errors import VacrError
from vacr.record import decode_json, encode_sorted_json

_SECONDS = 20
_DATA_KILOBYTES = 1_500_000
_OUTPUT_BLOCKS = 131_072  # of 512 bytes
_MAX_TEXT_LENGTH = 10_000_000
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PYTHON_SUFFIXES = (".py", ".pyi")
_PRETTIER_SUFFIXES = (
    ".js .jsx .mjs .cjs .ts .tsx .mts .cts .json .css .scss .less .html .vue .md .yaml .yml"
)


@dataclass(frozen=True, slots=True)
class Formatter:
    """A formatter: how it is called, and which options and settings it may have."""

    program: str
    suffixes: tuple[str, ...]
    """The endings of the files that it formats."""
    fixed: tuple[str, ...]
    """The arguments of every call; `{path}` stands for the path of the file."""
    version: tuple[str, ...]
    """The command that prints the version."""
    options: Mapping[str, bool] = field(default_factory=dict)
    """The options that are passed on, and whether each has a value."""
    ignored: frozenset[str] = frozenset()
    """Options and words that do not change the result."""
    settings: tuple[str, ...] = ()
    """The names of files with settings; the nearest one counts."""
    with_settings: tuple[str, ...] = ()
    """The arguments for settings; `{settings}` stands for the file."""
    without_settings: tuple[str, ...] = ()
    clean_settings: Callable[[str, bytes], bytes | None] = lambda _name, data: data
    """Takes the name and content of settings; returns them without code, `None` to refuse."""


@dataclass(frozen=True, slots=True)
class FormatterCall:
    """A formatter, and the options of the session's command."""

    formatter: Formatter
    arguments: tuple[str, ...]


def _select_section(section: str) -> Callable[[str, bytes], bytes | None]:
    """Return a function that keeps `pyproject.toml` only if it has settings for a tool.

    `section` is the text that begins them, such as `[tool.black]`. Other files are kept.
    """

    def clean(name: str, data: bytes) -> bytes | None:
        """Return the settings, or empty bytes if they are for other tools."""
        return data if name != "pyproject.toml" or section.encode() in data else b""

    return clean


def _clean_prettier_settings(name: str, data: bytes) -> bytes | None:
    """Return prettier's settings in JSON; `None` if they are not JSON, or name plugins."""
    del name
    try:
        settings: Any = decode_json(data)
    except VacrError:
        return None
    if not isinstance(settings, dict) or "plugins" in settings:
        return None
    return encode_sorted_json(settings)


FORMATTERS: dict[str, Formatter] = {
    "gofmt": Formatter(
        "gofmt",
        (".go",),
        (),
        ("go", "version"),
        options={"-s": False},
        ignored=frozenset(["-w", "-l", "fmt"]),
    ),
    "black": Formatter(
        "black",
        _PYTHON_SUFFIXES,
        ("--quiet", "--stdin-filename", "{path}", "-"),
        ("black", "--version"),
        options={
            "-l": True,
            "--line-length": True,
            "-t": True,
            "--target-version": True,
            "-S": False,
            "--skip-string-normalization": False,
            "-C": False,
            "--skip-magic-trailing-comma": False,
            "--pyi": False,
        },
        ignored=frozenset(["-q", "--quiet", "-v", "--verbose"]),
        settings=("pyproject.toml",),
        with_settings=("--config", "{settings}"),
        # An empty file: the settings of this machine do not count.
        without_settings=("--config", "{settings}"),
        clean_settings=_select_section("[tool.black]"),
    ),
    "ruff": Formatter(
        "ruff",
        _PYTHON_SUFFIXES,
        ("--no-cache", "--quiet", "--stdin-filename", "{path}", "-"),
        ("ruff", "--version"),
        options={"--line-length": True, "--target-version": True},
        ignored=frozenset(["format", "-q", "--quiet", "-v", "--verbose"]),
        settings=("ruff.toml", ".ruff.toml", "pyproject.toml"),
        with_settings=("--config", "{settings}"),
        without_settings=("--isolated",),
        clean_settings=_select_section("[tool.ruff"),
    ),
    "prettier": Formatter(
        "prettier",
        tuple(_PRETTIER_SUFFIXES.split()),
        ("--no-editorconfig", "--stdin-filepath", "{path}"),
        ("prettier", "--version"),
        options={
            "--print-width": True,
            "--tab-width": True,
            "--use-tabs": False,
            "--no-semi": False,
            "--single-quote": False,
            "--jsx-single-quote": False,
            "--trailing-comma": True,
            "--no-bracket-spacing": False,
            "--prose-wrap": True,
        },
        ignored=frozenset(
            ["-w", "--write", "--log-level", "--loglevel", "warn", "error", "silent", "--cache"]
        ),
        settings=(".prettierrc", ".prettierrc.json"),
        with_settings=("--config", "{settings}"),
        without_settings=("--no-config",),
        clean_settings=_clean_prettier_settings,
    ),
}
"""The formatters, by the name of the command. `goimports` looks for packages, and is not here."""

# Settings with code, or in a form that is not read here: the result would be another one.
_REFUSED_SETTINGS = {
    "prettier": (
        *(f".prettierrc.{ending}" for ending in ("yaml", "yml", "json5", "toml", "ts")),
        *(f".prettierrc.{ending}" for ending in ("js", "mjs", "cjs")),
        *(f"prettier.config.{ending}" for ending in ("js", "mjs", "cjs", "ts")),
    ),
}


def find_formatter(command: Sequence[str], path: str) -> FormatterCall | None:
    """Return the formatter of a command for a file, and the options to run it with.

    `command` has the words of the session's command. Return `None` if the formatter is not in the
    table, does not format such files, or has an option whose effect is not known here.
    """
    name = command[0] if command else ""
    if tuple(command[:2]) == ("go", "fmt"):
        name = "gofmt"
    formatter = FORMATTERS.get(name)
    if formatter is None or not path.endswith(formatter.suffixes):
        return None
    if name == "ruff" and "format" not in command:
        return None
    arguments: list[str] = []
    words = iter(command[1:])
    for word in words:
        option, equals, _ = word.partition("=")
        if option in formatter.options and (formatter.options[option] or not equals):
            arguments.append(word)
            if formatter.options[option] and not equals:
                arguments.append(next(words, ""))
        elif word.startswith("-") and option not in formatter.ignored:
            return None
    return FormatterCall(formatter, tuple(arguments))


class FormatterRunner:
    """Runs formatters of this machine in a sandbox, and remembers which are missing."""

    def __init__(self, *, needs_isolation: bool = True) -> None:
        """Find the program that isolates others; `needs_isolation` to run nothing without it."""
        self.isolation = find_isolation()
        self.needs_isolation = needs_isolation
        self.missing: set[str] = set()
        """The formatters that the sessions ran and that are not installed, or failed here."""
        self.versions: dict[str, str] = {}

    def __call__(
        self, command: Sequence[str], path: str, text: str, read_file: ReadProjectFile
    ) -> FormattedText | None:
        """Return the text that a command's formatter makes of a text, with its name and version.

        `read_file` returns files of the project, for settings. Return `None` if the formatter is
        unknown, missing or fails, or if the text is too long; a missing one is added to `missing`.
        """
        call = find_formatter(command, path)
        if call is None or len(text) > _MAX_TEXT_LENGTH:
            return None
        formatter = call.formatter
        program = _find_program(formatter.program)
        if program is None or (self.isolation is None and self.needs_isolation):
            self.missing.add(formatter.program)
            return None
        settings = _find_settings(formatter, path, read_file)
        if settings is None:
            return None
        with tempfile.TemporaryDirectory(prefix="vacr-format-") as folder:
            arguments = _build_arguments(call, path, settings, Path(folder))
            data = self._run([program, *arguments], encode_file_text(text), folder)
        if data is None or (not data and text):
            self.missing.add(formatter.program)
            return None
        version = self._find_version(formatter)
        return FormattedText(decode_file_text(data), f"{formatter.program} {version}".strip())

    def _find_version(self, formatter: Formatter) -> str:
        """Return the version of a formatter, or an empty text if it prints none."""
        if formatter.program not in self.versions:
            program = _find_program(formatter.version[0])
            printed = None
            if program is not None:
                with tempfile.TemporaryDirectory(prefix="vacr-format-") as folder:
                    printed = self._run([program, *formatter.version[1:]], b"", folder)
            found = _VERSION.search((printed or b"").decode("utf-8", "replace"))
            self.versions[formatter.program] = found[0] if found else ""
        return self.versions[formatter.program]

    def _run(self, command: Sequence[str], stdin: bytes, folder: str) -> bytes | None:
        """Run a program in the sandbox with input; return its output, or `None` if it fails.

        It fails also if it takes too much time or memory. `folder` is the only one it may write to,
        where that can be enforced.
        """
        limits = f"-t {_SECONDS}", f"-d {_DATA_KILOBYTES}", f"-f {_OUTPUT_BLOCKS}", "-c 0"
        script = "".join(f"ulimit {limit} && " for limit in limits) + 'exec "$@"'
        limited = ["/bin/sh", "-c", script, "sh", *command]
        isolated = [*(self.isolation.build(folder) if self.isolation else ()), *limited]
        # A file, because the limit on the size of files does not apply to pipes.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    isolated,
                    input=stdin,
                    stdout=output,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                    env={"PATH": os.environ.get("PATH", os.defpath), "HOME": folder},
                    timeout=2 * _SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired):
                return None
            output.seek(0)
            return output.read() if done.returncode == 0 else None


def _find_program(name: str) -> str | None:
    """Return the absolute path of an installed program; folders relative to here do not count."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in folders if Path(folder).is_absolute())
    return shutil.which(name, path=absolute)


def _find_settings(
    formatter: Formatter, path: str, read_file: ReadProjectFile
) -> tuple[str, bytes] | None:
    """Return the name and content of the settings nearest to a file; empty if it has none.

    Return `None` if its settings run code, or cannot be read here.
    """
    for folder in PurePosixPath(path).parents:
        for name in _REFUSED_SETTINGS.get(formatter.program, ()):
            if read_file((folder / name).as_posix()) is not None:
                return None
        for name in formatter.settings:
            data = read_file((folder / name).as_posix())
            if data is None:
                continue
            cleaned = formatter.clean_settings(name, data)
            if cleaned is None:
                return None
            if cleaned:
                return name, cleaned
    return "", b""


def _build_arguments(
    call: FormatterCall, path: str, settings: tuple[str, bytes], folder: Path
) -> list[str]:
    """Return the arguments of a formatter, and write its settings, if any, into the folder.

    `settings` are the name and the content of the file from `_find_settings`.
    """
    formatter, (name, data) = call.formatter, settings
    file = folder / (name or "settings.toml")
    templates = formatter.with_settings if name else formatter.without_settings
    if templates:
        file.write_bytes(data)
    filled = [
        word.replace("{settings}", str(file)).replace("{path}", PurePosixPath(path).name)
        for word in (*templates, *formatter.fixed)
    ]
    verb = ["format"] if formatter.program == "ruff" else []
    return [*verb, *call.arguments, *filled]


# --- isolation ---


@dataclass(frozen=True, slots=True)
class Isolation:
    """A program that runs another one without network."""

    name: str
    build: Callable[[str], list[str]]
    """Returns the words before the command; takes the folder that may be written."""


def find_isolation() -> Isolation | None:
    """Return the first program here that can run another one without network, or `None`."""
    for isolation in (
        Isolation("bwrap", _build_bubblewrap_command),
        Isolation("unshare", _build_unshare_command),
    ):
        if _find_program(isolation.name) is None:
            continue
        with tempfile.TemporaryDirectory(prefix="vacr-format-") as folder:
            command = [*isolation.build(folder), "/bin/sh", "-c", "exit 0"]
            try:
                done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
            except (OSError, subprocess.TimeoutExpired):
                continue
        if done.returncode == 0:
            return isolation
    return None


def _build_bubblewrap_command(folder: str) -> list[str]:
    """Return the words that run a command with all files read-only, except one folder."""
    return [
        _find_program("bwrap") or "bwrap",
        *("--unshare-all", "--die-with-parent", "--new-session"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--bind", folder, folder, "--chdir", folder),
    ]


def _build_unshare_command(folder: str) -> list[str]:
    """Return the words that run a command without network."""
    del folder
    return [_find_program("unshare") or "unshare", "--user", "--map-root-user", "--net", "--"]
