"""`vacr record`: native sessions → canonical records.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["record", "examples/codex-cli.jsonl"])
    codex-cli.acr.json: codex-cli 0.121.0, 22 entries, 9.4 kB
    0
    >>> run_command_line(["record", "examples/codex-cli.jsonl"])
    codex-cli.acr.json: codex-cli 0.121.0, 22 entries, 9.4 kB, unchanged
    0

Files are recorded in order, folders on all cores or on a cluster. A run over a folder continues
where an earlier one stopped. Without a path, the user picks a session of this machine.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import (
    EXIT_FINDINGS,
    EXIT_NO_SESSION,
    PATH,
    Verb,
    load_map_file,
    source_options,
    streaming_voice_options,
)
from vacr.cli.report import RecordingReport
from vacr.cli.selection import SessionWithSubAgents, list_newest_sessions
from vacr.console import Voice, get_terminal_width, print_message, show_progress, write_bytes
from vacr.discovery import SessionSummary
from vacr.errors import UsageError
from vacr.files import STDIN, is_folder, path_exists, remove_leftover_files
from vacr.workflows import (
    RecordingOptions,
    RecordingOutcome,
    RecordingRun,
    RecordingTask,
    RunJournal,
    assign_output_folders,
    check_single_output,
    count_cores,
    format_count,
    is_output_folder,
    plan_file_task,
    plan_file_tasks,
    plan_folder_tasks,
    record_place,
)

_MIN_FILES_FOR_PROCESSES = 8
"""For this many files, starting processes costs less than it saves."""
_EXIT_INTERRUPTED = 130
_MAX_SESSIONS_SHOWN = 20
_CANCEL_ANSWERS = ("", "q")


@click.command(cls=Verb)
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER/|-",
    type=PATH,
    help="Output file, a folder if it ends in /, or - for standard output.  "
    "[default: the current folder; required for all sessions of a FOLDER]",
)
@click.option(
    "--session",
    metavar="ID",
    help="Record only this session of a database or of an agent's folder.",
)
@click.option("--cbor", is_flag=True, help="Write deterministic CBOR instead of canonical JSON.")
@source_options
@click.option(
    "--sub-agents/--no-sub-agents",
    default=True,
    help="Also record the session's sub-agents. For Codex, name the FOLDER with all sessions: a "
    "single FILE is recorded without them.  [default: yes]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace existing files, even a signed record (with a .cose file).",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Number of processes.  [default: one for each core]",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Record the sessions of a folder on a Dask cluster: the address of its scheduler; needs "
    "vacr[cluster].",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 5 if a session has parts that vacr does not know or cannot decode.",
)
@streaming_voice_options
def command(
    paths: tuple[str, ...],
    output: str | None,
    session: str | None,
    jobs: int | None,
    cluster: str | None,
    strict: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Turn native sessions into canonical records, without loss.

    FILE is a session file, a database of sessions, or - for standard input. A FOLDER is searched
    with its subfolders; -o gets the same tree of folders. A second run records only new and changed
    sessions. Files that are not sessions are counted, and listed with -v. Without FILE or FOLDER,
    you choose one of the sessions on this machine.

    The same session gives the same record, byte for byte, on every machine. With -o - the records
    are printed, one per line.

    \b
    Example:
      vacr record ~/.claude/projects/x/abc.jsonl  # writes ./abc.acr.json
      vacr record                                 # choose a session
      vacr record ~/.codex/sessions -o records/   # all sessions, on all cores
      vacr record big/ -o out/ --cluster tcp://host:8786
      vacr record abc.jsonl -o - | jq .session.entries[0]
    """
    # Printed records must not be mixed with anything else.
    voice = Voice("text" if output == STDIN else format, quiet, verbose)
    sub_agents: list[SessionSummary] = []
    if session is not None and len(paths) != 1:
        raise UsageError(
            "--session needs exactly one file or folder",
            hint="Name one file or folder: the one that holds the session.",
        )
    if session is not None and cluster:
        raise UsageError("--cluster and --session exclude each other", hint="Omit one of them.")
    if not paths:
        picked = _choose_session(options["agent"], voice)
        if picked is None:
            from vacr.cli.list import describe_session_folders

            voice.error(
                f"vacr: no sessions found in {describe_session_folders(options['agent'])}",
                "Name a file or a folder: vacr record FILE",
            )
            return EXIT_NO_SESSION
        chosen, sub_agents = picked
        paths, session = (chosen.path,), chosen.session
    if options["cbor"] and (output or "").endswith(".json"):
        raise UsageError(
            f"--cbor writes CBOR, but {output} ends in .json",
            hint="End the name in .cbor, or omit --cbor.",
        )
    recording = RecordingOptions(
        cbor=options["cbor"] or (output or "").endswith(".cbor"),
        keep_source=options["seal_source"],
        overwrite=options["overwrite"],
        agent=options["agent"],
        sub_agents=options["sub_agents"],
        named=tuple(path for path in paths if not is_folder(path)),
        digests=voice.json,
        not_in_stores=output is None,
        map_file=load_map_file(options["map"]),
    )
    if recording.keep_source and output == STDIN:
        raise UsageError(
            "--seal-source cannot be used with -o -",
            hint="Name a file or a folder with -o.",
        )
    folders = [path for path in paths if path not in recording.named and session is None]
    report = RecordingReport(voice, folder=bool(folders))
    if folders:
        exit_code = _record_folders(folders, output, recording, report, jobs, cluster)
    elif cluster:
        raise UsageError(
            "--cluster needs a folder", hint="Name the folder that holds the sessions."
        )
    else:
        exit_code = _record_files(paths, session, output, recording, report, jobs)
    if recording.sub_agents:
        _report_unrecorded_sub_agents(sub_agents, report)
    return EXIT_FINDINGS if strict and report.findings and exit_code == 0 else exit_code


def _choose_session(agent: str | None, voice: Voice) -> SessionWithSubAgents | None:
    """Return the session that the user picks from a list, with its sub-agents.

    Without a terminal, return the newest session. Return `None` if there are no sessions.

    Raises:
        click.Abort: the user declined.
    """
    sessions = list_newest_sessions(agent, voice)
    if not sessions:
        return None
    if voice.json or sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        newest = sessions[0][0]
        label = f" ({newest.session})" if newest.session else ""
        voice.notice(f"vacr: recording the newest session: {newest.path}{label}")
        return sessions[0]
    shown = sessions[:_MAX_SESSIONS_SHOWN]
    _print_choices(shown, len(sessions))

    def parse_answer(typed: str) -> SessionWithSubAgents:
        """Return the session with the typed number; raise `click.Abort` for `q` or no text."""
        if typed.strip().lower() in _CANCEL_ANSWERS:
            raise click.Abort
        if not typed.strip().isdecimal() or not 1 <= int(typed) <= len(shown):
            raise click.BadParameter(f"Enter a number from 1 to {len(shown)}, or q.")
        return shown[int(typed) - 1]

    question = "Session to record (number, or q to quit)"
    picked: SessionWithSubAgents = click.prompt(
        question, default="", show_default=False, value_proc=parse_answer, err=True
    )
    return picked


def _print_choices(shown: list[SessionWithSubAgents], total: int) -> None:
    """Print a numbered table of sessions on standard error, and how many of `total` are left."""
    from vacr.cli.list import format_session_table

    width = get_terminal_width(sys.stderr)
    head, *rows = format_session_table(shown, width and width - 4)
    click.echo(f"    {head}", err=True)
    for number, row in enumerate(rows, 1):
        click.echo(f"{number:3} {row}", err=True)
    if total > len(shown):
        click.echo(
            f"    {total - len(shown)} older sessions: see vacr list -v",
            err=True,
        )


def _record_files(
    paths: tuple[str, ...],
    session: str | None,
    output: str | None,
    recording: RecordingOptions,
    report: RecordingReport,
    jobs: int | None,
) -> int:
    """Record files named one by one, or one `session` of a store; return the exit code.

    Raises:
        UsageError: there are several files, and the output is one file.
    """
    check_single_output(paths, output)
    if output == STDIN:
        _print_records(paths, session, recording, report)
        return report.exit_code
    if session is not None or not is_output_folder(output):
        chosen = None if is_output_folder(output) else output
        report.add(record_place(plan_file_task(paths[0], output or "", chosen, recording, session)))
    else:
        _record_in_order(plan_file_tasks(list(paths), output or "", recording), report, jobs)
    report.finish()
    return report.exit_code


def _report_unrecorded_sub_agents(
    sub_agents: list[SessionSummary], report: RecordingReport
) -> None:
    """Print how to record the sub-agents of the picked session that the report lacks."""
    elsewhere = [
        shlex.quote(session.path)
        for session in sub_agents
        if session.session_id not in report.sessions
    ]
    if elsewhere:
        report.voice.notice(
            f"vacr: {format_count(len(elsewhere), 'sub-agent')} not recorded, because the files "
            f"are elsewhere. To record: vacr record {' '.join(elsewhere)}"
        )


def _record_in_order(tasks: list[RecordingTask], report: RecordingReport, jobs: int | None) -> None:
    """Carry out tasks, many of them in several processes; report the outcomes in order.

    `jobs` is the number of processes; `None` for one per core.
    """
    many = len(tasks) >= _MIN_FILES_FOR_PROCESSES and all(task.path != STDIN for task in tasks)
    run = RecordingRun(jobs or (min(count_cores(), len(tasks)) if many else 1), report.voice.notice)
    with show_progress(lambda: len(tasks), report.voice) as step:
        waiting: dict[RecordingTask, RecordingOutcome] = {}
        following = iter(tasks)
        expected = next(following, None)
        for outcome in run.outcomes(tasks):
            waiting[outcome.task] = outcome
            step()
            while expected in waiting:
                report.add(waiting.pop(expected))
                expected = next(following, None)


def _print_records(
    paths: tuple[str, ...],
    session: str | None,
    recording: RecordingOptions,
    report: RecordingReport,
) -> None:
    """Write the records of the sessions at some paths to standard output.

    Several JSON records are lines, each with a line end. A single one has the bytes of its file;
    only on a terminal does a line end follow. In CBOR, the records follow each other directly.
    """
    printed = 0

    def write_record(pieces: list[bytes | memoryview]) -> None:
        """Write a record; JSON records are separated by line ends."""
        nonlocal printed
        write_bytes([*([b"\n"] if printed and not recording.cbor else []), *pieces])
        printed += 1

    for path in paths:
        report.add(record_place(plan_file_task(path, "", None, recording, session), write_record))
    needs_line_end = printed > 1 or (printed == 1 and sys.stdout.isatty())
    if needs_line_end and not recording.cbor:
        write_bytes([b"\n"])


def _record_folders(
    folders: list[str],
    output: str | None,
    recording: RecordingOptions,
    report: RecordingReport,
    jobs: int | None,
    cluster: str | None,
) -> int:
    """Record the sessions in folders into the folder `output`; return the exit code.

    Sessions that an earlier run recorded, and that have not changed, are skipped.

    Raises:
        UsageError: `output` is missing, or is not a folder.
    """
    target = _check_output_folder(output)
    sources = [Path(folder) for folder in folders]
    if cluster:  # Its workers may have another current folder.
        target, sources = target.absolute(), [source.absolute() for source in sources]
    # In a folder, the files of sub-agents are found on their own.
    recording = replace(recording, sub_agents=False, not_in_stores=False)
    plan = _FolderPlan(assign_output_folders(sources, target, recording.named), target, recording)
    journal = RunJournal(target)
    with (
        _start_workers(cluster, plan.sources, target, jobs, report.voice) as run,
        _stop_on_interrupt(run, report.voice),
        show_progress(plan.count_tasks, report.voice) as step,
        closing(journal),
    ):
        for outcome in run.outcomes(_skip_done_tasks(plan.list_tasks(), journal, report, step)):
            journal.write(outcome)
            report.add(outcome)
            step()
    if cluster or run.broken:
        remove_leftover_files(target)  # A process that died may have left some.
    if journal.failed:
        report.voice.notice(
            f"vacr: cannot write the journal of this run: {journal.failed}. The next run will "
            "start over."
        )
    report.finish()
    if run.stopping:
        report.voice.error("vacr: interrupted. To continue, run the same command again.")
        return _EXIT_INTERRUPTED
    if not report.agents and not report.failed:
        report.voice.error(
            f"vacr: {', '.join(folders)}: no sessions found", "To find sessions: vacr list -v"
        )
        return EXIT_NO_SESSION
    return report.exit_code


def _check_output_folder(output: str | None) -> Path:
    """Return the folder for the records of folders.

    Raises:
        UsageError: `output` is missing, or is not a folder.
    """
    hint = "Name a folder for the records: -o DIR/"
    if output is None:
        raise UsageError("recording a folder needs -o", hint=hint)
    if output == STDIN:
        raise UsageError("the sessions of a folder cannot be recorded to -o -", hint=hint)
    has_file_suffix = Path(output).suffix in (".json", ".cbor", ".acr")
    is_existing_file = path_exists(output) and not is_folder(output)
    if is_existing_file or (has_file_suffix and not is_output_folder(output)):
        raise UsageError(
            f"recording a folder writes one file per session, but {output} is one file", hint=hint
        )
    return Path(output)


@dataclass(frozen=True)
class _FolderPlan:
    """The folders to record, each with its place in the output folder."""

    trees: list[tuple[Path, Path]]
    target: Path
    recording: RecordingOptions

    @property
    def sources(self) -> list[Path]:
        """The folders to record."""
        return [folder for folder, _ in self.trees]

    def list_tasks(self) -> Iterator[RecordingTask]:
        """Yield a task for each named file, and for each file in the folders."""
        yield from plan_file_tasks(list(self.recording.named), str(self.target), self.recording)
        for folder, place in self.trees:
            yield from plan_folder_tasks(folder, place, self.target, self.recording)

    def count_tasks(self) -> int:
        """Return the number of tasks; this walks the folders."""
        return sum(1 for _ in self.list_tasks())


def _skip_done_tasks(
    tasks: Iterator[RecordingTask],
    journal: RunJournal,
    report: RecordingReport,
    step: Callable[[], None],
) -> Iterator[RecordingTask]:
    """Yield the tasks that remain; report the outcomes of an earlier run."""
    for task in tasks:
        if task.passed_over:
            known: RecordingOutcome | None = RecordingOutcome(task, skipped=task.passed_over)
        else:
            known = journal.done(task)
        if known is None:
            yield task
        else:
            report.add(known)
            step()


@contextmanager
def _start_workers(
    cluster: str | None, sources: list[Path], target: Path, jobs: int | None, voice: Voice
) -> Iterator[RecordingRun]:
    """Yield a run with its workers: `jobs` local processes, or the workers of a cluster.

    `jobs` defaults to the number of cores. The connection to a cluster ends with the block.
    """
    if cluster is None:
        yield RecordingRun(jobs or count_cores(), voice.notice)
        return
    from vacr.workflows import DaskCluster

    connected = DaskCluster(cluster, sources, target)
    try:
        yield RecordingRun(connected.jobs, voice.notice, connected.pool, connected.check)
    finally:
        connected.close()


@contextmanager
def _stop_on_interrupt(run: RecordingRun, voice: Voice) -> Iterator[None]:
    """Within the block, let Ctrl-C finish the running tasks, and a second Ctrl-C stop at once."""

    def stop(*_: Any) -> None:
        """Let the run stop after its tasks; at the second call, raise KeyboardInterrupt."""
        if run.stopping:
            raise KeyboardInterrupt
        run.stopping = True
        if sys.stderr.isatty():
            print_message("")  # End the line in which the terminal shows ^C.
        voice.error("vacr: stopping after the current sessions; press Ctrl-C again to stop at once")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
