"""The workflow that an action runs in: its inputs, and GitHub's files and commands for what an
action has to say.

What stands in the log may drive the workflow: a line that begins with two colons is a command. So
commands are stopped while the action runs, but for its own, in which nothing of others is left as
it was.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vacr.cli.streams import flush_streams, prepare_streams
from vacr.errors import UnreadableInput, UnwritableOutput, UsageError, VacrError, escape_unprintable

BUG_EXIT_CODE = 70
ANNOTATION_LEVELS = ("notice", "warning", "error")
MAX_ANNOTATIONS = 10
"""So many annotations of a level GitHub shows of a step."""


def read_input(name: str) -> str:
    """Give an input of the action; without one it is empty."""
    return os.environ.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip()


def pop_secret_input(name: str) -> str:
    """Give an input that is a secret, as it is but for the end of its line, and leave it in no
    environment.
    """
    return os.environ.pop(f"INPUT_{name.upper().replace('-', '_')}", "").strip("\r\n")


def read_input_lines(name: str) -> list[str]:
    """Give the lines of an input."""
    return [line.strip() for line in read_input(name).splitlines() if line.strip()]


def read_input_paths(name: str) -> list[str]:
    """Give the files and folders that an input names, one a line; ~ is the home folder, as no shell
    has seen it.
    """
    return [str(Path(line).expanduser()) for line in read_input_lines(name)]


def read_choice_input(name: str, among: tuple[str, ...]) -> str:
    """Give an input that is one of some words, of which the first is the default.

    Raises:
        UsageError: it is another.
    """
    value = read_input(name) or among[0]
    if value not in among:
        raise UsageError(
            f"the input {name} is {value}", hint=f"It is one of: {', '.join(filter(None, among))}."
        )
    return value


def read_flag_input(name: str) -> bool:
    """Tell whether an input says yes.

    Raises:
        UsageError: it says neither yes nor no.
    """
    return read_choice_input(name, ("false", "true")) == "true"


class GitHubWorkflow:
    """What is told to the workflow."""

    def __init__(self) -> None:
        """Take a word that nobody can guess, by which commands are stopped and heard again."""
        self._word = secrets.token_hex(16)
        self._told = dict.fromkeys(ANNOTATION_LEVELS, 0)

    @contextmanager
    def deaf(self) -> Iterator[None]:
        """Have nothing in the log taken for a command."""
        self._command(f"::stop-commands::{self._word}")
        try:
            yield
        finally:
            # A log that cannot be written any more must not replace the reason why the work ended.
            with suppress(OSError):
                self._command(f"::{self._word}::")

    def annotate(
        self, level: str, message: str, file: str = "", lines: tuple[int, int] | None = None
    ) -> None:
        """Put a remark beside a file, or on the run; more of them than GitHub shows are
        left out.
        """
        self._told[level] += 1
        if self._told[level] > MAX_ANNOTATIONS:
            return
        place = {"file": file, "line": lines and lines[0], "endLine": lines and lines[1]}
        told = ",".join(
            f"{name}={_escape_command_property(str(value))}"
            for name, value in place.items()
            if value
        )
        self._command(f"::{self._word}::")
        self._command(f"::{level} {told}".rstrip() + f"::{_escape_command_data(message)}")
        self._command(f"::stop-commands::{self._word}")

    def output(self, name: str, value: object) -> None:
        """Give an output of the action, whatever is in it."""
        _append_to_github_file(
            "GITHUB_OUTPUT",
            f"{name}<<{self._word}\n{_replace_surrogates(str(value))}\n{self._word}\n",
        )

    def summarise(self, markdown: str) -> None:
        """Add to the summary of the job."""
        _append_to_github_file("GITHUB_STEP_SUMMARY", markdown + "\n")

    def _command(self, text: str) -> None:
        print(text, flush=True)  # noqa: T201 - the log is where commands are given


def run_action(work: Callable[[GitHubWorkflow], int]) -> int:
    """Run an action and return its exit code; errors become annotations in the log of the job."""
    atexit.register(flush_streams)
    try:
        prepare_streams()
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        return _run_annotated(work)
    except (OSError, UnwritableOutput):
        # The log cannot be written; only the exit code can report it.
        return UnwritableOutput.exit_code


def _run_annotated(work: Callable[[GitHubWorkflow], int]) -> int:
    workflow = GitHubWorkflow()
    with workflow.deaf():
        try:
            return work(workflow)
        except VacrError as error:
            workflow.annotate("error", f"vacr: {error.diagnostics()}")
            return error.exit_code
        except OSError as error:
            workflow.annotate(
                "error", f"vacr: {error.filename or 'the output'}: {error.strerror or error}"
            )
            return UnreadableInput.exit_code
        except Exception as error:  # noqa: BLE001 - what is not ours to catch is told all the same, while no command is heard
            traceback.print_exc()
            workflow.annotate(
                "error", f"vacr: a bug in vacr: {type(error).__name__}; the log has more"
            )
            return BUG_EXIT_CODE


def _append_to_github_file(variable: str, text: str) -> None:
    """Add to one of the files that GitHub reads; elsewhere there are none."""
    name = os.environ.get(variable)
    if name:
        with Path(name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _replace_surrogates(text: str) -> str:
    """Leave nothing in a text that is no character; names of files may hold any bytes."""
    return text.encode("utf-8", "replace").decode()


def _escape_command_data(text: str) -> str:
    lines = "\n".join(escape_unprintable(line) for line in _replace_surrogates(text).split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_command_property(text: str) -> str:
    escaped = (
        _replace_surrogates(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    )
    return escaped.replace(":", "%3A").replace(",", "%2C")
