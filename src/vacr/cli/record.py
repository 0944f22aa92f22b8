"""`vacr record`: native sessions → canonical records."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from vacr.cli import options, outputs
from vacr.cli.options import FINDINGS, PATH, Voice, plural
from vacr.cli.report import Report
from vacr.cli.streams import print_message, write_bytes
from vacr.errors import UsageError
from vacr.recording import plan
from vacr.recording.files import tidy_all
from vacr.recording.journal import Journal
from vacr.recording.run import Run, cores
from vacr.recording.tasks import Outcome, Task, Wish
from vacr.recording.work import record_place
from vacr.sources import STDIN
from vacr.sources.discovery import Session

_WORTH_PROCESSES = 8
"""As many files as make starting processes worth their while."""
_INTERRUPTED = 130
_NOTHING_FOUND = 1


@click.command()
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@click.option(
    "-o",
    "--output",
    metavar="FILE|FOLDER/|-",
    type=PATH,
    help="Where to write; a folder ends in /.  [default: the current folder]",
)
@click.option(
    "--session",
    metavar="ID",
    help="Only this one of the sessions in a database or an agent's folder.",
)
@click.option("--cbor", is_flag=True, help="Write deterministic CBOR instead of canonical JSON.")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=options.complete_agent,
    help="Whose session it is, whatever its content tells.",
)
@click.option(
    "--seal-source",
    is_flag=True,
    help="Keep the native bytes beside the record, for `vacr restore`.",
)
@click.option(
    "--sub-agents/--no-sub-agents",
    default=True,
    help="Also record the sub-agents' own files.  [default: yes]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace any file that is there, also a record with a signature (.cose) beside it.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="How many processes to use.  [default: one for each core]",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on a Dask cluster, by its scheduler's address; needs vacr[cluster].",
)
@click.option(
    "--strict", is_flag=True, help="Exit 5 when something was unknown or could not be decoded."
)
@options.streaming_voice_options
def command(
    paths: tuple[str, ...],
    output: str | None,
    session: str | None,
    jobs: int | None,
    cluster: str | None,
    strict: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **wishes: Any,
) -> int:
    """Turn native sessions into canonical records that lose nothing.

    FILE is a session as the agent wrote it, a database of sessions, or - for standard input. The
    agent is recognised by the content. A FOLDER is gone through with all below it: its tree is that
    of the records, a second run does only what is new or changed, and what is no session is
    counted; -v names it. Without either, the sessions on this machine are offered.

    The record is reproducible: the same bytes from the same session, on any machine. With -o - the
    records themselves are the output, one a line.

    \b
    Example:
      vacr record ~/.claude/projects/x/abc.jsonl           writes ./abc.acr.json
      vacr record                                          one of the sessions on this machine
      vacr record ~/.codex/sessions -o records/            all of them, on all cores
      vacr record big/ -o out/ --cluster tcp://host:8786
      vacr record abc.jsonl -o - | jq .session.entries[0]
    """
    # Where the records themselves are the output, nothing else may stand between them.
    voice = Voice("text" if output == STDIN else format, quiet, verbose)
    helpers: list[Session] = []
    if session is not None and len(paths) != 1:
        raise UsageError(
            "--session is one of the sessions of one file or folder",
            hint="Name that, and only that.",
        )
    if not paths:
        from vacr.cli.choose import choose
        from vacr.cli.list import looked_in

        picked = choose(wishes["agent"], voice)
        if picked is None:
            voice.error(
                f"vacr: no sessions found in {looked_in(wishes['agent'])}",
                "Name a file or a folder.",
            )
            return _NOTHING_FOUND
        chosen, helpers = picked
        paths, session = (chosen.path,), chosen.session
    if wishes["cbor"] and (output or "").endswith(".json"):
        raise UsageError(
            f"{output} is the name of a JSON file", hint="End it in .cbor, or leave --cbor out."
        )
    wish = Wish(
        cbor=wishes["cbor"] or (output or "").endswith(".cbor"),
        seal=wishes["seal_source"],
        overwrite=wishes["overwrite"],
        agent=wishes["agent"],
        sub_agents=wishes["sub_agents"],
        named=tuple(path for path in paths if not os.path.isdir(path)),  # noqa: PTH112 - a path that a user gave
        digests=voice.json,
        not_in_stores=output is None,
    )
    if wish.seal and output == STDIN:
        raise UsageError(
            "--seal-source has no place beside standard output",
            hint="Give a file or a folder with -o.",
        )
    folders = [path for path in paths if path not in wish.named and session is None]
    report = Report(voice, folder=bool(folders))
    if folders:
        exit_code = _folders(folders, output, wish, report, jobs, cluster)
    elif cluster:
        raise UsageError(
            "--cluster is for folders", hint="Name the folder that holds the sessions."
        )
    else:
        exit_code = _files(paths, session, output, wish, report, jobs)
    if wish.sub_agents:
        _tell_of(helpers, report)
    return FINDINGS if strict and report.findings and exit_code == 0 else exit_code


def _files(
    paths: tuple[str, ...],
    session: str | None,
    output: str | None,
    wish: Wish,
    report: Report,
    jobs: int | None,
) -> int:
    """Record files that were named one by one, or one session; give the exit code."""
    outputs.refuse_one_file_for_many(paths, output)
    if output == STDIN:
        _print(paths, session, wish, report)
        return report.exit_code
    if session is not None or not outputs.is_folder(output):
        chosen = None if outputs.is_folder(output) else output
        report.add(record_place(plan.file_task(paths[0], output or "", chosen, wish, session)))
    else:
        _in_order(plan.file_tasks(list(paths), output or "", wish), report, jobs)
    report.finish()
    return report.exit_code


def _tell_of(helpers: list[Session], report: Report) -> None:
    """Tell of the sub-agents of a session that was picked which nothing but the search for sessions
    finds.
    """
    elsewhere = [
        shlex.quote(helper.path) for helper in helpers if helper.session_id not in report.sessions
    ]
    if elsewhere:
        how = f"for that: vacr record {' '.join(elsewhere)}"
        report.voice.notice(
            f"vacr: {plural(len(elsewhere), 'sub-agent')} of it in files elsewhere, not "
            f"recorded; {how}"
        )


def _in_order(tasks: list[Task], report: Report, jobs: int | None) -> None:
    """Do tasks, in several processes if that is worth their while; the results keep their order."""
    many = len(tasks) >= _WORTH_PROCESSES and all(task.path != STDIN for task in tasks)
    run = Run(jobs or (min(cores(), len(tasks)) if many else 1), report.voice.notice)
    with options.progress(lambda: len(tasks), report.voice) as step:
        waiting: dict[Task, Outcome] = {}
        following = iter(tasks)
        expected = next(following, None)
        for outcome in run.outcomes(tasks):
            waiting[outcome.task] = outcome
            step()
            while expected in waiting:
                report.add(waiting.pop(expected))
                expected = next(following, None)


def _print(paths: tuple[str, ...], session: str | None, wish: Wish, report: Report) -> None:
    """Write the records themselves to standard output."""
    printed = 0

    def emit(pieces: list[bytes | memoryview]) -> None:
        nonlocal printed
        write_bytes([*([b"\n"] if printed and not wish.cbor else []), *pieces])
        printed += 1

    for path in paths:
        report.add(record_place(plan.file_task(path, "", None, wish, session), emit))
    if printed and not wish.cbor and sys.stdout.isatty():
        write_bytes([b"\n"])


def _folders(
    folders: list[str],
    output: str | None,
    wish: Wish,
    report: Report,
    jobs: int | None,
    cluster: str | None,
) -> int:
    """Record all that lies in folders, going on where an earlier run stopped; give the
    exit code.
    """
    if output is None or output == STDIN or (os.path.exists(output) and not os.path.isdir(output)):  # noqa: PTH110, PTH112
        raise UsageError("the records of a folder need a folder", hint="Say which with -o FOLDER/.")
    if not outputs.is_folder(output) and Path(output).suffix in (".json", ".cbor", ".acr"):
        raise UsageError(
            f"the records of a folder cannot go into one file, {output}",
            hint="End the name in / for a folder.",
        )
    # In a folder, sub-agents' files are places of their own.
    wish = replace(wish, sub_agents=False, not_in_stores=False)
    target = Path(output).absolute() if cluster else Path(output)
    trees = plan.trees(
        [Path(folder).absolute() if cluster else Path(folder) for folder in folders],
        target,
        wish.named,
    )
    journal = Journal(target)

    def tasks() -> Iterator[Task]:
        yield from plan.file_tasks(list(wish.named), str(target), wish)
        for folder, place in trees:
            yield from plan.folder_tasks(folder, place, target, wish)

    with (
        _workers(cluster, [folder for folder, _ in trees], target, jobs, report.voice) as run,
        _stoppable(run, report.voice),
        options.progress(lambda: sum(1 for _ in tasks()), report.voice) as step,
        closing(journal),
    ):

        def undone() -> Iterator[Task]:
            for task in tasks():
                done = (
                    Outcome(task, skipped=task.passed_over)
                    if task.passed_over
                    else journal.done(task)
                )
                if done is None:
                    yield task
                else:
                    report.add(done)
                    step()

        for outcome in run.outcomes(undone()):
            journal.write(outcome)
            report.add(outcome)
            step()
    if cluster or run.broken:
        tidy_all(target)  # another process may have died while it wrote
    if journal.failed:
        report.voice.notice(
            "vacr: what is done cannot be noted, so that the next run begins anew: "
            f"{journal.failed}"
        )
    report.finish()
    if run.stopping:
        report.voice.error("vacr: interrupted; run the same again to go on from here")
        return _INTERRUPTED
    if not report.agents and not report.failed:
        report.voice.error(f"vacr: {', '.join(folders)}: no session in it")
        return _NOTHING_FOUND
    return report.exit_code


@contextmanager
def _workers(
    cluster: str | None, sources: list[Path], target: Path, jobs: int | None, voice: Voice
) -> Iterator[Run]:
    """Give the run with its workers: processes here, or those of a cluster."""
    if cluster is None:
        yield Run(jobs or cores(), voice.notice)
        return
    from vacr.recording.cluster import Cluster

    connected = Cluster(cluster, sources, target)
    try:
        yield Run(connected.jobs, voice.notice, connected.pool, connected.check)
    finally:
        connected.close()


@contextmanager
def _stoppable(run: Run, voice: Voice) -> Iterator[None]:
    """Let Ctrl-C end the run when what has begun is done; a second one ends it at once."""

    def stop(*_: Any) -> None:
        if run.stopping:
            raise KeyboardInterrupt
        run.stopping = True
        if sys.stderr.isatty():
            print_message("")  # ends the line of the progress bar
        voice.error("vacr: stopping when what has begun is done; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
