"""`vacr seal`: native sessions → records that are attributed, signed, registered and verified, in
one go.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from vacr.blame import load_git_base
from vacr.cli.attribute import count_attributed_lines
from vacr.cli.options import PATH, Voice, complete_agent, format_count, show_progress, voice_options
from vacr.cli.report import RecordingReport
from vacr.cli.sealed import Sealer, SealResult, UnsealedRecord, format_seal_result
from vacr.cli.services import (
    ServiceSettings,
    combine_exit_codes,
    report_registration,
    service_options,
)
from vacr.cli.statements import SigningSettings, signing_options
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import STDIN
from vacr.signing import compute_thumbprint_uri
from vacr.workflows import (
    STATEMENT_SUFFIX,
    RecordingOptions,
    RecordingOutcome,
    RecordingTask,
    assign_output_folders,
    plan_file_tasks,
    plan_folder_tasks,
    record_place,
)

_EXIT_NO_SESSION = 1


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@signing_options
@click.option(
    "--service", metavar="URL", help="The transparency service to register in.  [default: none]"
)
@service_options
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="The files as they were before: a git repository, bare or not.",
)
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Whose session it is, whatever its content tells.",
)
@click.option(
    "--seal-source",
    is_flag=True,
    help="Keep the native bytes beside the record, for `vacr restore`.",
)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=PATH,
    default=".",
    help="Where to write.  [default: the current folder]",
)
@click.option(
    "--overwrite", is_flag=True, help="Replace records and statements that are there and differ."
)
@voice_options
def command(
    paths: tuple[str, ...],
    service: str | None,
    base: str | None,
    agent: str | None,
    seal_source: bool,  # noqa: FBT001 - click passes flags so
    output: str,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Record, validate, attribute, sign, register and verify native sessions in one go.

    For each session there is a record with `file-attribution`, and its statement beside it with the
    receipt of the log. Run it again, and what holds stays as it is: nothing is signed twice. When
    the service cannot be reached, all else is done, and the statement is remembered in the outbox.

    \b
    Example:
      vacr seal abc.jsonl --key keys/signing.pem --service https://log.example.org -o sealed/
      vacr seal ~/.codex/sessions --key keys/signing.pem --service https://log.example.org -o
      sealed/ vacr seal abc.jsonl --key keys/signing.pem --base ~/repo@HEAD~3
    """
    voice = Voice(format, quiet, verbose)
    if STDIN in (*paths, output) or (os.path.exists(output) and not os.path.isdir(output)):  # noqa: PTH110, PTH112
        raise UsageError(
            "sessions are sealed from files, into a folder", hint="Say which with -o FOLDER/."
        )
    signing = SigningSettings.of(**{name: asked.pop(name) for name in _SIGNING_OPTIONS})
    registrar = ServiceSettings.of(**asked).registrar(service) if service is not None else None
    sealer = Sealer(
        signing, load_git_base(base) if base is not None else None, registrar, overwrite, voice
    )
    named = tuple(path for path in paths if not os.path.isdir(path))  # noqa: PTH112
    wish = RecordingOptions(seal=seal_source, agent=agent, named=named, not_in_stores=output == ".")
    report = RecordingReport(voice, folder=len(named) < len(paths))
    done: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="vacr-seal-") as work:
        groups = _record_sessions(
            _plan_tasks(paths, wish, Path(work), Path(output)), Path(work), Path(output), report
        )
        with show_progress(lambda: len(groups), voice, "sealing") as step:
            for together in groups:
                done += _seal_session(sealer, together, service, voice)
                step()
    if not done and not report.failed:
        voice.error(f"vacr: {', '.join(paths)}: no session in it")
        return _EXIT_NO_SESSION
    if service is None and done:
        voice.notice(
            "Not registered in a log: no --service was named. vacr register does that later."
        )
    left = [one["exit"] for one in done if one["exit"]]
    if len(done) > 1:
        voice.result(
            f"{format_count(len(done), 'session')}: {len(done) - len(left)} sealed, {len(left)} not"
        )
    report.tell_remarks()
    voice.data(
        {
            "sealed": done,
            "errors": report.errors,
            **({"skipped": report.skipped} if report.folder else {}),
        }
    )
    return combine_exit_codes([*left, *([report.exit_code] if report.exit_code else [])])


_SIGNING_OPTIONS = ("key", "alg", "x5chain", "issuer", "timestamp", "passphrase_file", "force")


def _plan_tasks(
    paths: tuple[str, ...], wish: RecordingOptions, work: Path, output: Path
) -> Iterator[RecordingTask]:
    """Give what is to be recorded; records go where nobody sees them, for they are not yet what
    will be sealed.
    """
    yield from plan_file_tasks(list(wish.named), str(work), wish)
    folders = [Path(path) for path in paths if path not in wish.named]
    for folder, place in assign_output_folders(folders, work, wish.named) if folders else ():
        alone = RecordingOptions(
            seal=wish.seal, agent=wish.agent, sub_agents=False, named=wish.named
        )
        yield from plan_folder_tasks(folder, place, output, alone)


def _record_sessions(
    tasks: Iterator[RecordingTask], work: Path, output: Path, report: RecordingReport
) -> list[list[UnsealedRecord]]:
    """Record, and tell what went wrong; gives the records of each session with those of its
    sub-agents.
    """
    groups: dict[tuple[str, int], list[UnsealedRecord]] = {}
    seen: Counter[str] = Counter()
    for task in tasks:
        outcome = (
            RecordingOutcome(task, skipped=task.passed_over)
            if task.passed_over
            else record_place(task)
        )
        for record in outcome.records:
            path, session = Path(record["output"]), record["session-id"]
            record["output"] = None  # it is not there for long
            if not path.exists():
                error = UnreadableInput(
                    "its name is no text",
                    where=record["source"],
                    hint="Give the file another name.",
                )
                outcome.errors.append(
                    {
                        "source": record["source"],
                        "error": str(error),
                        "where": "",
                        "hint": error.hint,
                    }
                )
                outcome.exit_code = max(outcome.exit_code, error.exit_code)
                continue
            # The same session may have been copied: each copy is one of its own.
            group = (session.partition("/")[0], seen[session])
            seen[session] += 1
            groups.setdefault(group, []).append(
                UnsealedRecord(task.path, path, output / path.relative_to(work))
            )
        report.add(outcome)
    return list(groups.values())


def _seal_session(
    sealer: Sealer, together: list[UnsealedRecord], service: str | None, voice: Voice
) -> list[dict[str, Any]]:
    """Seal a session with its sub-agents, and tell what came of it."""
    try:
        return [_report_sealed(one, service, voice) for one in sealer.seal(together)]
    except VacrError as error:
        voice.error(f"vacr: {together[0].source}: not sealed: {error}", error.hint)
        told = {"error": str(error), "hint": error.hint, "exit": error.exit_code}
        return [
            {"source": one.source, "record": str(one.target), "state": "failed", **told}
            for one in together
        ]


def _report_sealed(sealed: SealResult, service: str | None, voice: Voice) -> dict[str, Any]:
    voice.result(format_seal_result(sealed))
    statement = str(sealed.one.target) + STATEMENT_SUFFIX
    found = {
        "source": sealed.one.source,
        "record": str(sealed.one.target),
        "statement": statement,
        "id": sealed.record["id"],
        "signed": sealed.signed,
        "thumbprint": compute_thumbprint_uri(sealed.verified.signer.key),
        **count_attributed_lines(sealed.record),
    }
    if sealed.outcome is None or service is None:
        return found | {"state": "signed", "exit": 0}
    return found | report_registration(sealed.outcome, service, voice)
