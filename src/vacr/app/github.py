"""The job of an action: its inputs, its log, and the files where GitHub reads its results.

An action gets its inputs as environment variables. It writes outputs and a summary into files, and
annotations into the log of the job:

    >>> import os
    >>> from vacr.app.github import GitHubWorkflow, read_choice_input
    >>> os.environ["INPUT_FAIL_ON"] = "unknown"
    >>> read_choice_input("fail-on", ("unverified", "unknown"))
    'unknown'
    >>> GitHubWorkflow().annotate("error", "100 % wrong", "a.py", (3, 4))   # doctest: +ELLIPSIS
    ::...::
    ::error file=a.py,line=3,endLine=4::100 %25 wrong
    ::stop-commands::...

A line in the log that begins with two colons is a command to GitHub. While an action runs, all
commands are stopped except for its own, and untrusted text in its own is escaped.

A pull request may change any file of the repository. So `InputKeys` reads a key or a trust store
inside the repository from the base of the pull request, and ignores a key that the pull request
adds until it is merged. It also ignores links and submodules, because the pull request chooses
their targets.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from vacr.blame import Repository, find_work_tree_names
from vacr.console import flush_streams, prepare_streams
from vacr.errors import (
    Unreachable,
    UnreadableInput,
    UnwritableOutput,
    UsageError,
    VacrError,
    escape_unprintable,
)
from vacr.exchange import format_table_cell
from vacr.files import read_bytes
from vacr.signing import RECEIPT_KEYS_FILE, read_trust_file
from vacr.viewer import make_visible
from vacr.workflows import PROJECT_STORE, TrustStoreFile

BUG_EXIT_CODE = 70
ANNOTATION_LEVELS = ("notice", "warning", "error")
MAX_ANNOTATIONS = 10
"""How many annotations of a level GitHub shows for a step."""
TRUST_INPUT, TRUST_STORE_INPUT = "trust", "trust-store"
CONTRIBUTOR_LABELS = {"ai": "AI", "human": "human", "mixed": "mixed", "unknown": "unknown"}
_PEM_START = "-----BEGIN "
_MAX_TABLE_ROWS = 100
_MAX_CELL_LENGTH = 160


def read_input(name: str) -> str:
    """Return an input of the action without blanks at its ends; empty if it is not set."""
    return os.environ.get(_name_input_variable(name), "").strip()


def pop_secret_input(name: str) -> str:
    """Return a secret input without line ends, and remove it from the environment.

    Return an empty text if it is not set.
    """
    return os.environ.pop(_name_input_variable(name), "").strip("\r\n")


def _name_input_variable(name: str) -> str:
    """Return the environment variable of an input: `fail-on` becomes `INPUT_FAIL_ON`."""
    return f"INPUT_{name.upper().replace('-', '_')}"


def read_input_lines(name: str) -> list[str]:
    """Return the lines of an input, each without blanks at its ends; empty lines are left out."""
    return [line.strip() for line in read_input(name).splitlines() if line.strip()]


def read_input_paths(name: str) -> list[str]:
    """Return the paths in an input, one per line, with `~` expanded."""
    return [str(Path(line).expanduser()) for line in read_input_lines(name)]


def read_choice_input(name: str, choices: tuple[str, ...]) -> str:
    """Return an input with a fixed set of values; if it is not set, the first of them.

    Raises:
        UsageError: the input has another value.
    """
    value = read_input(name) or choices[0]
    if value not in choices:
        raise UsageError(
            f"the input `{name}` has an invalid value, {value}",
            hint=f"Choose one of: {', '.join(filter(None, choices))}.",
        )
    return value


def read_flag_input(name: str) -> bool:
    """Return whether an input is `true`; an input that is not set counts as `false`.

    Raises:
        UsageError: it is neither `true` nor `false`.
    """
    return read_choice_input(name, ("false", "true")) == "true"


@dataclass
class InputKeys:
    """The keys and certificates in inputs: paths of files, or text in PEM."""

    folder: Path
    """A temporary folder for copies."""
    repository: Repository | None = None
    base: str | None = None
    remarks: list[str] = field(default_factory=list)
    """Messages about keys that are ignored, or read from the base."""

    def files(self, name: str) -> tuple[str, ...]:
        """Return the paths of files with the keys of an input; empty if it is not set.

        Keys that may come from the pull request itself are left out. If that leaves none of the
        trusted keys, return an empty tuple: then no record is verified.

        Raises:
            Unreachable: it leaves none of another kind of keys, so their requirement would be
                dropped.
        """
        text = read_input(name)
        if _PEM_START in text:
            return (self._write_copy(f"{name}.pem", text.encode() + b"\n"),)
        candidates = [self._find_trusted_file(name, path) for path in read_input_lines(name)]
        files = tuple(file for file in candidates if file is not None)
        # Dropping all trusted keys is safe: no record is verified. Dropping all log keys is not: no
        # receipt would be required.
        if text and not files and name != TRUST_INPUT:
            raise Unreachable(
                f"no key of the input `{name}` is in the base commit", hint="; ".join(self.remarks)
            )
        return files

    def stores(self) -> tuple[TrustStoreFile, ...]:
        """Return the trust stores of the input `trust-store`, as they are in the base commit.

        Without the inputs `trust-store` and `trust`, it is the project's own store, if the base
        has one. A path outside the repository is read as it is.

        Raises:
            Unreachable: a store that the input names is not in the base commit.
            UnreadableInput: a store is malformed.
        """
        named = read_input_lines(TRUST_STORE_INPUT)
        if named:
            return tuple(self._read_store(path) for path in named)
        tree = self._list_base_files()
        if read_input(TRUST_INPUT) or self.repository is None:
            return ()
        if PROJECT_STORE not in tree:
            if (self.repository.path / PROJECT_STORE).exists():
                self.remarks.append(
                    f"{PROJECT_STORE} is ignored: it is not in the base commit, so it may come "
                    "from the audited commits"
                )
            return ()
        return (self._read_base_store(PROJECT_STORE, tree[PROJECT_STORE]),)

    def _read_store(self, path: str) -> TrustStoreFile:
        """Return the trust store at a path; inside the repository, only the base counts."""
        names = find_work_tree_names(self.repository, path) if self.repository is not None else []
        if not names:
            return TrustStoreFile(path, read_trust_file(path))
        # The path as it is written: a link of the pull request could lead to another file.
        tree, name = self._list_base_files(), names[0]
        if name in tree:
            return self._read_base_store(name, tree[name])
        raise Unreachable(
            "the trust store is not in the base commit",
            where=path,
            hint="Merge it first: a pull request must not bring its own trust.",
        )

    def _read_base_store(self, name: str, blob: str) -> TrustStoreFile:
        """Return a trust store from the base, and add a remark if the audited commits change it."""
        if self.repository is None:
            raise TypeError("a store of the base needs a repository")
        data = self.repository.read_blob(blob)
        if not _has_content(str(self.repository.path / name), data):
            self.remarks.append(f"{name} differs from the base commit; using the base's version")
        return TrustStoreFile(name, data)

    def _list_base_files(self) -> dict[str, str]:
        """Return the blobs of the base commit by path; empty without a base."""
        if self.repository is None or self.base is None:
            return {}
        return self.repository.list_files(self.base)

    def _find_trusted_file(self, name: str, path: str) -> str | None:
        """Return a file with the key at a path, as it is in the base of the pull request.

        A path outside the repository is returned unchanged. Return `None`, and add a remark, if the
        key may come from the pull request itself. The copy gets its name from the input `name`.
        """
        if self.repository is None:
            return path
        names = find_work_tree_names(self.repository, path)
        tree = self._list_base_files()
        # The path may be the folder of a log.
        for inside in ("", f"/{RECEIPT_KEYS_FILE}"):
            if names and names[0] + inside in tree:
                data = self.repository.read_blob(tree[names[0] + inside])
                if not _has_content(path + inside, data):
                    self.remarks.append(
                        f"{path}{inside} differs from the base commit; using the base's version"
                    )
                return self._write_copy(f"{name}-{names[0].replace('/', '-')}", data)
        head = self.repository.resolve_commit("HEAD")
        if not any(self.repository.has_path(head, tracked) for tracked in names):
            return path
        if self.base is None:
            self.remarks.append(
                f"{path} may come from the audited commits: vacr cannot check that without a base "
                "commit; set the input `base`"
            )
            return path
        self.remarks.append(
            f"{path} is ignored: it is not in the base commit, so it may come from the audited "
            "commits; first merge it into the base branch"
        )
        return None

    def _write_copy(self, name: str, data: bytes) -> str:
        """Write data to a new file in the temporary folder, and return its path."""
        copy = self.folder / f"{len(list(self.folder.iterdir()))}-{name}"
        copy.write_bytes(data)
        return str(copy)


def _has_content(path: str, data: bytes) -> bool:
    """Return whether a file contains exactly this data; False if it cannot be read.

    The audited commits choose the file: it may be a link to a device that never ends.
    """
    try:
        return read_bytes(path, len(data) + 1) == data
    except UnreadableInput:
        return False


class GitHubWorkflow:
    """The results of an action, in the formats of GitHub."""

    def __init__(self) -> None:
        """Choose a secret word that stops and resumes commands."""
        self._word = secrets.token_hex(16)
        self._counts = dict.fromkeys(ANNOTATION_LEVELS, 0)

    @contextmanager
    def stop_commands(self) -> Iterator[None]:
        """Make GitHub ignore commands in the log while the block runs."""
        self._print_command(f"::stop-commands::{self._word}")
        try:
            yield
        finally:
            # If the log cannot be written, keep the error that ended the work.
            with suppress(OSError):
                self._print_command(f"::{self._word}::")

    def annotate(
        self, level: str, message: str, file: str = "", lines: tuple[int, int] | None = None
    ) -> None:
        """Annotate lines of a file, the file, or without a file the run.

        `level` is `notice`, `warning` or `error`. After ten annotations of a level, do nothing:
        GitHub would not show them.
        """
        self._counts[level] += 1
        if self._counts[level] > MAX_ANNOTATIONS:
            return
        place = {"file": file, "line": lines and lines[0], "endLine": lines and lines[1]}
        properties = ",".join(
            f"{name}={_escape_command_property(str(value))}"
            for name, value in place.items()
            if value
        )
        self._print_command(f"::{self._word}::")
        command = f"::{level} {properties}".rstrip()
        self._print_command(f"{command}::{_escape_command_data(message)}")
        self._print_command(f"::stop-commands::{self._word}")

    def output(self, name: str, value: object) -> None:
        """Set an output of the action to the text of a value; do nothing outside of GitHub."""
        text = _replace_surrogates(str(value))
        _append_to_github_file("GITHUB_OUTPUT", f"{name}<<{self._word}\n{text}\n{self._word}\n")

    def summarise(self, markdown: str) -> None:
        """Append Markdown to the summary of the job."""
        _append_to_github_file("GITHUB_STEP_SUMMARY", markdown + "\n")

    def _print_command(self, text: str) -> None:
        """Print a command to GitHub into the log of the job."""
        print(text, flush=True)  # noqa: T201 - GitHub reads commands from the log


def run_action(work: Callable[[GitHubWorkflow], int]) -> int:
    """Run an action and return its exit code; errors become annotations in the log of the job.

    If the log itself cannot be written, return 3.
    """
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
    """Call a function with a workflow, and return its exit code.

    An error becomes an annotation; then return the exit code of the error.
    """
    workflow = GitHubWorkflow()
    with workflow.stop_commands():
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
        except Exception as error:  # noqa: BLE001 - a bug is reported while commands are stopped
            traceback.print_exc()
            workflow.annotate(
                "error", f"vacr: internal error: {type(error).__name__}; see the log for details"
            )
            return BUG_EXIT_CODE


def _append_to_github_file(variable: str, text: str) -> None:
    """Append to the file that an environment variable names; do nothing outside of GitHub."""
    name = os.environ.get(variable)
    if name:
        with Path(name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _replace_surrogates(text: str) -> str:
    """Return a text with `?` for each surrogate; they stand for invalid bytes in file names."""
    return text.encode("utf-8", "replace").decode()


def _escape_command_data(text: str) -> str:
    """Return the message of a command: `%` becomes `%25`, a line end `%0A`."""
    lines = "\n".join(escape_unprintable(line) for line in _replace_surrogates(text).split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_command_property(text: str) -> str:
    """Return a property of a command, such as a file name, with `:` and `,` escaped, too."""
    escaped = (
        _replace_surrogates(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    )
    return escaped.replace(":", "%3A").replace(",", "%2C")


# Markdown tables for the summary of the job


def format_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0
) -> Iterator[str]:
    """Yield the lines of a table in Markdown; nothing if it has no rows.

    The last `numbers` columns are aligned to the right. Rows after the first 100 are only counted.
    """
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * (len(head) - numbers)}{'---:|' * numbers}"
    for row in rows[:_MAX_TABLE_ROWS]:
        yield f"| {' | '.join(row)} |"
    yield ""
    if len(rows) > _MAX_TABLE_ROWS:
        yield from (f"And {len(rows) - _MAX_TABLE_ROWS} more; the report lists all of them.", "")


def format_cell(text: str) -> str:
    """Return untrusted text for a cell of a table: escaped, and cut to 160 characters."""
    # Cut the visible text, because an invisible character becomes up to ten visible ones, and
    # GitHub drops a summary that is too large.
    visible = make_visible(text)
    cut = visible if len(visible) <= _MAX_CELL_LENGTH else visible[: _MAX_CELL_LENGTH - 1] + "…"
    return format_table_cell(cut) if cut else ""
