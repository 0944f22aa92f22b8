"""`vacr attribute`: records or sessions → records that say which lines the agent wrote."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import click

from vacr.attribution import (
    BaseFiles,
    ConversationLinks,
    attribute_records,
    count_unknown_tools,
    replay_records,
)
from vacr.attribution import list_applied_changes as told
from vacr.blame import load_git_base
from vacr.cli.checking import check_attributions
from vacr.cli.given import InputRecord, drop_duplicate_recordings, read_input_records
from vacr.cli.options import PATH, Voice, format_count, output_options, voice_options
from vacr.cli.outputs import check_single_output, is_output_folder, write_output_file
from vacr.cli.streams import write_bytes
from vacr.errors import UsageError
from vacr.files import STDIN
from vacr.model import Record
from vacr.record import RecordEncoding, assign_record_id, encode, encode_canonical_json


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="The files as they were before: a git repository, bare or not.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Print what each call made, a JSON line each, and write nothing.",
)
@click.option(
    "--check", is_flag=True, help="Redo the attribution of records and compare; write nothing."
)
@click.option("--url", metavar="URL", help="Where the conversation can be read.")
@click.option(
    "--related",
    metavar="TYPE=URL",
    multiple=True,
    help="What the conversation is related to; may be given again.",
)
@output_options
@voice_options
def command(
    files: tuple[str, ...],
    base: str | None,
    history: bool,  # noqa: FBT001 - click passes flags so
    check: bool,  # noqa: FBT001
    url: str | None,
    related: tuple[str, ...],
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Say which lines of which files an agent wrote, by replaying what it did: a new record with
    `file-attribution`.

    Files are records or native sessions; several are replayed together, in the order of time. A
    line is an agent's only when an entry proves it. Without a base, only what the session shows is
    known. -v lists the lines. With --check each record is replayed again, with the others that it
    was made with, and has a verdict: exit code 1 when one is not what it says.

    \b
    Example:
      vacr attribute abc.acr.json                          writes ./abc.attributed.acr.json
      vacr attribute abc.jsonl --base ~/repo@HEAD~3
      vacr attribute abc.jsonl --history
      vacr attribute abc.attributed.acr.json --check --base ~/repo@HEAD~3
    """
    voice = Voice(format, quiet, verbose)
    if output == STDIN:
        voice = Voice("text", quiet, verbose)
    _check_option_conflicts(history=history, check=check, output=output)
    tree = load_git_base(base) if base is not None else None
    if check:
        return check_attributions(files, tree, voice)
    found = drop_duplicate_recordings(
        [one for path in files for one in read_input_records(path)], voice
    )
    wishes = ConversationLinks(url, tuple(map(_parse_related_link, related)))
    if history:
        return _print_call_history(found, tree, voice)
    check_single_output([one.path for one in found], output)
    done, targets = [], set()
    for one, record in zip(
        found, attribute_records([one.record for one in found], tree, wishes), strict=True
    ):
        assign_record_id(cast("Record", record))
        report_unknown_tools(one, record["vacr"]["attribution"].get("unknown-tools", {}), voice)
        warn_if_base_unrelated(one, record, tree, voice)
        form = _choose_output_form(one, output)
        data = encode(record, form)
        if output == STDIN:
            write_bytes([data, b"\n" if form == "json" else b""])
            continue
        target = (
            Path(output or ".") / f"{one.stem}.attributed.acr.{form}"
            if is_output_folder(output)
            else Path(output or "")
        )
        if target in targets:
            raise UsageError(
                f"two results would be {target}",
                hint="Attribute them one after the other, into different folders.",
            )
        targets.add(target)
        state = write_output_file(target, data, one.path, files, overwrite=overwrite)
        voice.result(
            f"{target}: {format_attribution_summary(record)}{', unchanged' if state == 'unchanged' else ''}"
        )
        for line in _format_line_ranges(record) if verbose else ():
            voice.result(f"  {line}")
        done.append(
            {
                "source": one.path,
                "output": str(target),
                "state": state,
                "id": record["id"],
                **count_attributed_lines(record),
            }
        )
    if output != STDIN:
        voice.data({"records": done})
    return 0


def _choose_output_form(one: InputRecord, output: str | None) -> RecordEncoding:
    """Give the form that the name of the output asks for, or else that of the input."""
    if (output or "").endswith(".cbor"):
        return "cbor"
    return "json" if (output or "").endswith(".json") else one.form


def _check_option_conflicts(*, history: bool, check: bool, output: str | None) -> None:
    if history and check:
        raise UsageError("--history and --check do not go together", hint="Give one of them.")
    if output is not None and (history or check):
        raise UsageError(
            f"{'--history' if history else '--check'} writes nothing, so -o is of no use",
            hint="Leave -o out.",
        )


def _print_call_history(found: list[InputRecord], tree: BaseFiles | None, voice: Voice) -> int:
    """Print what each call made, a line each."""
    replay, roots = replay_records([one.record for one in found], tree)
    for number, one in enumerate(found):
        report_unknown_tools(one, count_unknown_tools(replay, number), voice)
    write_bytes(encode_canonical_json(line) + b"\n" for line in told(replay, roots))
    return 0


def report_unknown_tools(one: InputRecord, unknown: dict[str, int], voice: Voice) -> None:
    """Say which tools a session used whose effects are not known."""
    if unknown:
        named = ", ".join(f"{name} ({count})" for name, count in unknown.items())
        voice.notice(
            f"{one.path}: what these tools do to files is not known, so it is left out: {named}"
        )


def _parse_related_link(text: str) -> tuple[str, str]:
    kind, equals, url = text.partition("=")
    if not kind or not equals or ":" not in url:
        raise UsageError(
            f"--related {text} is not TYPE=URL",
            hint="For example: --related issue=https://example.org/issues/7",
        )
    return kind, url


def count_attributed_lines(record: dict[str, Any]) -> dict[str, Any]:
    """Count files, and lines by contributor."""
    lines: Counter[str] = Counter()
    files = record["file-attribution"]["files"]
    for file in files:
        for conversation in file["conversations"]:
            for one in conversation["ranges"]:
                kind = one.get("contributor", conversation.get("contributor", {})).get(
                    "type", "unknown"
                )
                lines[kind] += one["end-line"] - one["start-line"] + 1
    return {"files": len(files), "lines": dict(lines)}


def format_attribution_summary(record: dict[str, Any]) -> str:
    """Say how many files and lines are attributed."""
    counts = count_attributed_lines(record)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["lines"].items()))
    return f"{format_count(counts['files'], 'file')}, lines: {kinds or 'none'}"


def _format_line_ranges(record: dict[str, Any]) -> list[str]:
    """Say of each file which lines are whose, and what proves it."""
    listed = []
    for file in record["file-attribution"]["files"]:
        proofs = record["vacr"]["attribution"]["files"][file["path"]]["ranges"]
        ranges = [
            (one, conversation)
            for conversation in file["conversations"]
            for one in conversation["ranges"]
        ]
        told = []
        for (one, conversation), proof in zip(ranges, proofs, strict=True):
            first, last = one["start-line"], one["end-line"]
            kind = one.get("contributor", conversation["contributor"])["type"]
            told.append(
                f"{first if first == last else f'{first}-{last}'} {kind} {proof['evidence']}"
            )
        listed.append(f"{file['path']}: {', '.join(told)}")
    return listed


def warn_if_base_unrelated(
    one: InputRecord, record: dict[str, Any], tree: BaseFiles | None, voice: Voice
) -> None:
    """Say so when a base knows nothing of what a session worked on."""
    files = record["vacr"]["attribution"]["files"]
    if tree is not None and files and not any(path in tree.names for path in files):
        told = (
            "the base has none of the files that the session changed: all of them are new, "
            "or it is another repository"
        )
        voice.notice(f"{one.path}: {told}")
