"""`vacr seal`: native sessions → attributed, signed, registered and verified records.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["key", "generate", "-o", "keys/", "-q"])
    0
    >>> session, key = "examples/claude-code.jsonl", "keys/signing.pem"
    >>> run_command_line(["seal", session, "--key", key, "-o", "sealed/"])
    sealed/claude-code.acr.json: 1 file, lines: 6 ai; signed by key ...
    0

The work is in `vacr.workflows.seal`; this module parses options and prints results.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.blame import load_git_base
from vacr.cli.options import (
    EXIT_NO_SESSION,
    PATH,
    Verb,
    load_map_file,
    load_service_settings,
    load_signing_settings,
    pop_signing_options,
    service_options,
    signing_options,
    source_options,
    voice_options,
)
from vacr.cli.register import report_registration
from vacr.cli.report import RecordingReport
from vacr.cli.selection import Selection, asks_for_latest, selection_options
from vacr.cli.sharing import SharingCaution
from vacr.console import Voice, show_job_progress, show_progress
from vacr.errors import UsageError, VacrError
from vacr.files import STDIN, is_folder, path_exists
from vacr.registration import STATE_PENDING
from vacr.workflows import (
    PlannedSession,
    RecordingOptions,
    RecordingOutcome,
    Sealer,
    SealResult,
    abbreviate_home,
    build_failure_documents,
    combine_exit_codes,
    complete_agent_name,
    find_named_session,
    find_public_key_file,
    format_count,
    plan_sealing,
)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@partial(signing_options, key_required=False, default="the one that vacr init chose")
@click.option("--service", metavar="URL", help="Transparency log to register in.  [default: none]")
@service_options
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="Git repository with the files before the session, to attribute lines.  "
    "[default revision: HEAD]",
)
@source_options
@partial(selection_options, agent=False)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=PATH,
    default=".",
    help="Output folder.  [default: the current folder]",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace records and statements that exist with different content.",
)
@voice_options
def command(
    paths: tuple[str, ...],
    service: str | None,
    base: str | None,
    agent: str | None,
    map: str | None,
    seal_source: bool,
    project: str | None,
    repo: str | None,
    since: str | None,
    until: str | None,
    output: str,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Record, attribute, validate, sign, register and verify sessions in one step.

    Writes a record with `file-attribution` for each session, and next to it the statement with the
    receipt of the log. A second run keeps everything that is still valid, and signs nothing twice.
    If the service cannot be reached, the statement waits in the outbox. Without paths, --agent,
    --project, --repo, --since and --until choose among all sessions on this machine; with `latest`,
    they choose the latest that matches.

    \b
    Example:
      vacr seal latest -o sealed/     # after vacr init
      vacr seal --project . --since 7d -o sealed/
      vacr seal abc.jsonl --key keys/signing.pem \\
        --service https://log.example.org -o sealed/
      vacr seal ~/.codex/sessions --key keys/signing.pem -o sealed/
      vacr seal abc.jsonl --key keys/signing.pem --base ~/repo@HEAD~3
    """
    voice = Voice(format, quiet, verbose)
    agent = complete_agent_name(agent) if agent is not None else None
    selection = Selection(None, project, repo, since, until)
    if not paths or not selection.is_empty or asks_for_latest(paths):
        # With paths, --agent does not choose among sessions, but says who wrote the files.
        selection = replace(selection, agent=agent)
    paths = selection.choose(paths, voice)
    if STDIN in paths:
        raise UsageError(
            "cannot seal standard input: the source must be a file",
            hint="Name sessions by their paths.",
        )
    if output == STDIN or (path_exists(output) and not is_folder(output)):
        shown = "standard output" if output == STDIN else output
        raise UsageError(
            f"seal writes several files, and {shown} is not a folder", hint="Name a folder: -o DIR/"
        )
    if options["key"] is None:
        raise _make_missing_key_error(paths)
    key = options["key"]
    signing = load_signing_settings(**pop_signing_options(options))
    registrar = None
    if service is not None:
        registrar = load_service_settings(**options).registrar(service)
    git_base = load_git_base(base) if base is not None else None
    sealer = Sealer(signing, git_base, registrar, overwrite, voice.notice)
    named = tuple(path for path in paths if not is_folder(path))
    recording = RecordingOptions(
        keep_source=seal_source,
        agent=agent,
        named=named,
        not_in_stores=Path(output) == Path(),
        map_file=load_map_file(map),
    )
    report = RecordingReport(voice, folder=len(named) < len(paths))
    with show_job_progress("reading sessions", voice) as progress:
        count = itertools.count(1)

        def add_outcome(outcome: RecordingOutcome) -> None:
            """Report what was read, and how much."""
            report.add(outcome)
            progress(next(count), 0 if report.folder else len(named))

        groups = plan_sealing(paths, Path(output), recording, add_outcome)
    documents: list[dict[str, Any]] = []
    reasons: set[str] = set()
    caution = SharingCaution(voice)
    with show_progress(lambda: len(groups), voice, "sealing") as advance:
        for group, result in sealer.seal_planned(groups):
            documents += _report_group(group, result, service, voice, reasons)
            if not isinstance(result, VacrError):
                caution.add(sealed.record for sealed in result)
            advance()
    if not documents and not report.failed:
        voice.error(
            f"vacr: {', '.join(paths)}: no sessions found", "To find sessions: vacr list -v"
        )
        return EXIT_NO_SESSION
    exit_code = _report_run(documents, report, service, voice)
    if any(document.get("statement") for document in documents):
        public_key = find_public_key_file(key, signing.signer.public_key)
        shown = abbreviate_home(str(public_key)) if public_key is not None else "YOUR-PUBLIC-KEY"
        voice.tip(f"Others verify with: vacr verify FILE --trust {shown}")
    caution.print_tip()
    return exit_code


def _make_missing_key_error(paths: Sequence[str]) -> UsageError:
    """Return the error for a run without a key.

    Raises:
        VacrError: a session is missing, too. Then a key would not help.
    """
    for path in paths:
        if not path_exists(path):
            find_named_session(path)
    return UsageError(
        "no key to sign with",
        hint="To choose a key for all commands: vacr init. Or add --key FILE.",
    )


def _report_group(
    group: list[PlannedSession],
    result: list[SealResult] | VacrError,
    service: str | None,
    voice: Voice,
    reasons: set[str],
) -> list[dict[str, Any]]:
    """Print the results of a session and its sub-agents, and return them for JSON output.

    `result` is an error if the session was not sealed. `service` is the URL of the log, if any, and
    `reasons` are the reasons against registering that were printed before.
    """
    if isinstance(result, VacrError):
        voice.error(f"vacr: {group[0].task.path}: not sealed: {result}", result.hint)
        return build_failure_documents(group, result)
    documents = []
    for sealed in result:
        voice.prose(sealed.describe())
        document = sealed.build_document(service)
        if sealed.outcome is not None and service is not None:
            report_registration(sealed.outcome, document, voice, reasons)
        documents.append(document)
    return documents


def _report_run(
    documents: list[dict[str, Any]], report: RecordingReport, service: str | None, voice: Voice
) -> int:
    """Print how many sessions were sealed and failed, or all results as JSON.

    Return the exit code that combines the codes of all sessions.
    """
    exit_codes = [document["exit"] for document in documents if document["exit"]]
    if service is None and len(exit_codes) < len(documents):
        voice.notice("Not registered in a log. To register: vacr register FILE --service URL")
    if len(documents) > 1:
        waiting = sum(document.get("state") == STATE_PENDING for document in documents)
        failed = len(exit_codes) - waiting
        sealed = len(documents) - failed
        more = f"; {waiting} not registered yet: vacr register --pending" if waiting else ""
        sessions = format_count(len(documents), "session")
        voice.result(f"{sessions}: {sealed} sealed, {failed} failed{more}")
    if documents and not exit_codes:
        common = os.path.commonpath([document["record"] for document in documents])
        voice.tip(f"To verify: vacr verify {shlex.quote(common) if common else '*.acr.json'}")
    report.print_remarks()
    skipped = {"skipped": report.skipped} if report.folder else {}
    voice.data({"sealed": documents, "errors": report.errors, **skipped})
    if report.exit_code:
        exit_codes.append(report.exit_code)
    return combine_exit_codes(exit_codes)
