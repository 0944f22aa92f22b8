"""`vacr attribute`: records or sessions → records with the lines that the agent wrote.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["attribute", "examples/claude-code.jsonl", "-v"])
    claude-code.attributed.acr.json: 1 file, lines: 6 ai
      total.py: 1-5 ai recorded, 7 ai recorded
    0

With `--check`, the attribution of a record is recomputed and compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from vacr.attribution import (
    BaseFiles,
    ConversationLinks,
    JointRecords,
    attribute_records,
    count_unknown_tools,
    list_applied_changes,
    replay_records,
)
from vacr.blame import load_git_base
from vacr.cli.options import PATH, Verb, output_options, voice_options
from vacr.console import Voice, write_bytes
from vacr.errors import UsageError, VacrError
from vacr.files import STDIN
from vacr.model import Record
from vacr.record import RecordEncoding, assign_record_id, encode, encode_canonical_json
from vacr.workflows import (
    InputRecord,
    check_single_output,
    count_attributed_lines,
    drop_duplicate_recordings,
    find_attribution_failure,
    format_attribution_summary,
    format_line_ranges,
    is_output_folder,
    name_failed_input,
    read_input_records,
    report_attribution_gaps,
    report_unknown_tools,
    write_output_file,
)

_EXIT_FAILED = 1


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="Git repository with the files before the session.  [default revision: HEAD]",
)
@click.option(
    "--history",
    is_flag=True,
    help="Print a JSON line for each change of a file by a tool call; write no files.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Recompute the attribution of records and compare; write no files.",
)
@click.option(
    "--url", metavar="URL", help="Web address of the conversation, to add to the attribution."
)
@click.option(
    "--related",
    metavar="TYPE=URL",
    multiple=True,
    help="Related resource to add to the attribution, such as issue=https://…; repeatable.",
)
@output_options
@voice_options
def command(
    files: tuple[str, ...],
    base: str | None,
    history: bool,
    check: bool,
    url: str | None,
    related: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Add to records which lines of files the agent wrote.

    FILE is a record or a native session; FOLDER has such files. vacr replays their edits: several
    files are replayed together, in order of time. A line counts as the agent's only if an entry
    proves it. Without --base, vacr knows only the file contents that the session shows. -v lists
    the lines. --check recomputes the attribution of records, and exits with 1 if one differs. A
    record that was modified after it was made is refused.

    \b
    Example:
      vacr attribute abc.acr.json  # writes ./abc.attributed.acr.json
      vacr attribute abc.jsonl --base ~/repo@HEAD~3
      vacr attribute abc.jsonl --history
      vacr attribute abc.attributed.acr.json --check --base ~/repo@HEAD~3
    """
    voice = Voice("text" if output == STDIN else format, quiet, verbose)
    _check_option_conflicts(history=history, check=check, output=output)
    git_base = load_git_base(base) if base is not None else None
    if check:
        return _check_attributions(files, git_base, voice)
    inputs = drop_duplicate_recordings(
        [recording for path in files for recording in read_input_records(path)], voice.notice
    )
    links = ConversationLinks(url, tuple(map(_parse_related_link, related)))
    if history:
        return _print_call_history(inputs, git_base, voice)
    check_single_output([recording.path for recording in inputs], output)
    targets: set[Path] = set()
    documents = []
    with name_failed_input(inputs):
        attributed = attribute_records([recording.record for recording in inputs], git_base, links)
    for recording, record in zip(inputs, attributed, strict=True):
        assign_record_id(cast("Record", record))
        report_attribution_gaps(recording.path, record, git_base, voice.notice)
        form = _choose_output_form(recording, output)
        data = encode(record, form)
        if output == STDIN:
            write_bytes([data, b"\n" if form == "json" else b""])
            continue
        target = _reserve_target(recording, form, output, targets)
        state = write_output_file(target, data, recording.path, files, overwrite=overwrite)
        unchanged = ", unchanged" if state == "unchanged" else ""
        voice.result(f"{target}: {format_attribution_summary(record)}{unchanged}")
        for line in format_line_ranges(record) if verbose else ():
            voice.result(f"  {line}")
        document: dict[str, Any] = {
            "source": recording.path,
            "output": str(target),
            "state": state,
            "id": record["id"],
        }
        documents.append(document | count_attributed_lines(record))
    if output != STDIN:
        voice.data({"records": documents})
    return 0


def _check_option_conflicts(*, history: bool, check: bool, output: str | None) -> None:
    """Raise a UsageError unless at most one of `--history`, `--check` and `-o` is set."""
    if history and check:
        raise UsageError("--history and --check exclude each other", hint="Omit one of them.")
    if output is not None and (history or check):
        raise UsageError(
            f"{'--history' if history else '--check'} writes no files: it cannot be used with -o",
            hint="Omit -o.",
        )


def _check_attributions(files: tuple[str, ...], base: BaseFiles | None, voice: Voice) -> int:
    """Recompute the attributions of records, and print whether each is identical.

    Return the exit code: 1 if an attribution differs, else the code of an unreadable file, else 0.
    `base` has the files before the sessions, if named.
    """
    inputs: list[InputRecord] = []
    results, exit_codes = [], [0]
    for path in files:
        try:
            inputs += read_input_records(path, changed=True)
        except VacrError as error:
            voice.error(f"vacr: {error}", error.hint)
            results.append({"source": path, "same": False, "reason": str(error)})
            exit_codes.append(error.exit_code)
    joint = JointRecords([recording.record for recording in inputs])
    for recording in inputs:
        reason = find_attribution_failure(recording, joint, base)
        voice.result(f"{recording.path}: {reason or 'attribution recomputed, identical'}")
        results.append({"source": recording.path, "same": not reason, "reason": reason})
        exit_codes.append(_EXIT_FAILED if reason else 0)
    voice.data({"results": results})
    # A failure outranks an unreadable input.
    return _EXIT_FAILED if _EXIT_FAILED in exit_codes else max(exit_codes)


def _parse_related_link(text: str) -> tuple[str, str]:
    """Return the type and the address in a text such as `issue=https://example.org/7`.

    Raises:
        UsageError: the text is not `TYPE=URL`.
    """
    kind, equals, url = text.partition("=")
    if not kind or not equals or ":" not in url:
        raise UsageError(
            f"--related {text} is not TYPE=URL",
            hint="For example: --related issue=https://example.org/issues/7",
        )
    return kind, url


def _print_call_history(inputs: list[InputRecord], base: BaseFiles | None, voice: Voice) -> int:
    """Print a JSON line for each change of a file by a tool call; return the exit code, 0.

    `base` has the files before the sessions, if named.
    """
    with name_failed_input(inputs):
        replay, roots = replay_records([recording.record for recording in inputs], base)
    for number, recording in enumerate(inputs):
        report_unknown_tools(recording.path, count_unknown_tools(replay, number), voice.notice)
    changes = list_applied_changes(replay, roots)
    write_bytes(encode_canonical_json(change) + b"\n" for change in changes)
    return 0


def _choose_output_form(recording: InputRecord, output: str | None) -> RecordEncoding:
    """Return `json` or `cbor`: by the ending of the output file, or else as in the input."""
    if (output or "").endswith(".cbor"):
        return "cbor"
    return "json" if (output or "").endswith(".json") else recording.form


def _reserve_target(
    recording: InputRecord, form: RecordEncoding, output: str | None, targets: set[Path]
) -> Path:
    """Return the output file for an attributed record, and add it to `targets`.

    Raises:
        UsageError: `targets` already contains the file.
    """
    target = Path(output or "")
    if is_output_folder(output):
        target /= f"{recording.stem}.attributed.acr.{form}"
    if target in targets:
        raise UsageError(
            f"two records would be written to {target}",
            hint="Attribute the files one by one, into different folders.",
        )
    targets.add(target)
    return target
