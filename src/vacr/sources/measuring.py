"""What can be measured on this machine: the files of this package, Python, configuration, an
agent's executable.

All of it is read from the disk by the very program that is measured. That shows what is installed;
a program that was changed can say something else, which only a measurement from below could show.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.evidence.components import (
    AGENT,
    CONFIGURATION,
    PACKAGE,
    PYTHON,
    Component,
    Manifest,
    of_files,
)
from vacr.sources.files import reason_of
from vacr.version import __version__

_PACKAGE = Path(__file__).parent.parent
_MADE_BY_PYTHON = "__pycache__"


def recorder() -> list[Component]:
    """Measure this package and the Python that runs it.

    Raises:
        UnreadableInput: a file of it cannot be read.
    """
    return [package(_PACKAGE), python()]


def package(folder: Path) -> Component:
    """Measure all files of a package but for those that Python makes of them.

    Raises:
        UnreadableInput: a file of it cannot be read.
    """
    manifest: Manifest = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _MADE_BY_PYTHON not in path.parts:
            manifest[path.relative_to(folder).as_posix()] = digest(path)
    return of_files(PACKAGE, __version__, manifest)


def python() -> Component:
    """Measure the Python that runs this, by the file that its name leads to.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return Component(
        PYTHON, digest(Path(os.path.realpath(sys.executable))), platform.python_version()
    )


def configuration(name: str) -> Component:
    """Measure a file of configuration, under its own name.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return Component(f"{CONFIGURATION}{Path(name).name}", digest(Path(name)))


def agent(name: str, version: str | None, executable: str) -> Component:
    """Measure the executable of an agent, by its path or as the shell finds it.

    Raises:
        UsageError: there is none of that name.
        UnreadableInput: it cannot be read.
    """
    found = shutil.which(executable)
    if found is None:
        raise UsageError(
            f"there is no executable {executable}", hint="Name the agent's executable by its path."
        )
    return Component(f"{AGENT}{name}", digest(Path(os.path.realpath(found))), version)


def digest(path: Path) -> bytes:
    """Give the SHA-256 of a file.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError) as error:
        raise UnreadableInput(reason_of(error), where=str(path)) from error
