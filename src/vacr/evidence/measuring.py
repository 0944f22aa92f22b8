"""Measure the recorder on this machine: vacr, Python, configuration, the agent's executable.

The measured program reads these files itself. That shows which files are installed; only a
measurement from below could show that the running program was not changed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from pathlib import Path

from vacr.errors import UnreadableInput, UsageError
from vacr.evidence.attester import (
    AGENT_COMPONENT_PREFIX,
    CONFIGURATION_COMPONENT_PREFIX,
    PACKAGE_COMPONENT,
    PYTHON_COMPONENT,
    Component,
    Manifest,
    build_file_component,
)
from vacr.files import describe_file_error
from vacr.version import __version__

_PACKAGE_FOLDER = Path(__file__).parent.parent
_BYTECODE_FOLDER = "__pycache__"


def measure_recording_agent() -> list[Component]:
    """Measure this package and the Python that runs it.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    return [measure_package(_PACKAGE_FOLDER), measure_python()]


def measure_package(folder: Path) -> Component:
    """Measure all files of a package except compiled ones.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    manifest: Manifest = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _BYTECODE_FOLDER not in path.parts:
            manifest[path.relative_to(folder).as_posix()] = hash_file(path)
    return build_file_component(PACKAGE_COMPONENT, __version__, manifest)


def measure_python() -> Component:
    """Measure the Python executable, after resolving symbolic links.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return Component(
        PYTHON_COMPONENT,
        hash_file(Path(os.path.realpath(sys.executable))),
        platform.python_version(),
    )


def measure_configuration(name: str) -> Component:
    """Measure a configuration file, under its own name.

    Raises:
        UnreadableInput: it cannot be read.
    """
    return Component(f"{CONFIGURATION_COMPONENT_PREFIX}{Path(name).name}", hash_file(Path(name)))


def measure_agent(name: str, version: str | None, executable: str) -> Component:
    """Measure the executable of an agent, by its path or as the shell finds it.

    Raises:
        UsageError: it does not exist.
        UnreadableInput: it cannot be read.
    """
    path = shutil.which(executable)
    if path is None:
        raise UsageError(
            f"there is no executable {executable}", hint="Name the agent's executable by its path."
        )
    return Component(
        f"{AGENT_COMPONENT_PREFIX}{name}", hash_file(Path(os.path.realpath(path))), version
    )


def hash_file(path: Path) -> bytes:
    """Return the SHA-256 of a file.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError) as error:
        raise UnreadableInput(describe_file_error(error), where=str(path)) from error
