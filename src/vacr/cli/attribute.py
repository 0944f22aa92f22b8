"""`vacr attribute`: records or sessions → records that say which lines the agent wrote."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import click

from vacr import codec
from vacr.attribution import Base, Wishes, attribute, replayed, unknown_tools
from vacr.attribution import history as told
from vacr.cli import options, outputs
from vacr.cli.checking import check_all
from vacr.cli.given import Given, distinct, given
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.streams import write_bytes
from vacr.codec.canonical_json import encode
from vacr.errors import UsageError
from vacr.identity import identify
from vacr.model import Record
from vacr.sources import STDIN
from vacr.sources.git import base_of


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
@options.writing_options
@options.voice_options
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
    _refuse_both(history=history, check=check, output=output)
    tree = base_of(base) if base is not None else None
    if check:
        return check_all(files, tree, voice)
    found = distinct([one for path in files for one in given(path)], voice)
    wishes = Wishes(url, tuple(map(_pair, related)))
    if history:
        return _history(found, tree, voice)
    outputs.refuse_one_file_for_many([one.path for one in found], output)
    done, targets = [], set()
    for one, record in zip(
        found, attribute([one.record for one in found], tree, wishes), strict=True
    ):
        identify(cast("Record", record))
        tell_unknown(one, record["vacr"]["attribution"].get("unknown-tools", {}), voice)
        tell_doubt(one, record, tree, voice)
        form = _form(one, output)
        data = codec.encode(record, form)
        if output == STDIN:
            write_bytes([data, b"\n" if form == "json" else b""])
            continue
        target = (
            Path(output or ".") / f"{one.stem}.attributed.acr.{form}"
            if outputs.is_folder(output)
            else Path(output or "")
        )
        if target in targets:
            raise UsageError(
                f"two results would be {target}",
                hint="Attribute them one after the other, into different folders.",
            )
        targets.add(target)
        state = outputs.write_new(target, data, one.path, files, overwrite=overwrite)
        voice.result(f"{target}: {summary(record)}{', unchanged' if state == 'unchanged' else ''}")
        for line in _listed(record) if verbose else ():
            voice.result(f"  {line}")
        done.append(
            {
                "source": one.path,
                "output": str(target),
                "state": state,
                "id": record["id"],
                **counts_of(record),
            }
        )
    if output != STDIN:
        voice.data({"records": done})
    return 0


def _form(one: Given, output: str | None) -> codec.Form:
    """Give the form that the name of the output asks for, or else that of the input."""
    if (output or "").endswith(".cbor"):
        return "cbor"
    return "json" if (output or "").endswith(".json") else one.form


def _refuse_both(*, history: bool, check: bool, output: str | None) -> None:
    if history and check:
        raise UsageError("--history and --check do not go together", hint="Give one of them.")
    if output is not None and (history or check):
        raise UsageError(
            f"{'--history' if history else '--check'} writes nothing, so -o is of no use",
            hint="Leave -o out.",
        )


def _history(found: list[Given], tree: Base | None, voice: Voice) -> int:
    """Print what each call made, a line each."""
    replay, roots = replayed([one.record for one in found], tree)
    for number, one in enumerate(found):
        tell_unknown(one, unknown_tools(replay, number), voice)
    write_bytes(encode(line) + b"\n" for line in told(replay, roots))
    return 0


def tell_unknown(one: Given, unknown: dict[str, int], voice: Voice) -> None:
    """Say which tools a session used whose effects are not known."""
    if unknown:
        named = ", ".join(f"{name} ({count})" for name, count in unknown.items())
        voice.notice(
            f"{one.path}: what these tools do to files is not known, so it is left out: {named}"
        )


def _pair(text: str) -> tuple[str, str]:
    kind, equals, url = text.partition("=")
    if not kind or not equals or ":" not in url:
        raise UsageError(
            f"--related {text} is not TYPE=URL",
            hint="For example: --related issue=https://example.org/issues/7",
        )
    return kind, url


def counts_of(record: dict[str, Any]) -> dict[str, Any]:
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


def summary(record: dict[str, Any]) -> str:
    """Say how many files and lines are attributed."""
    counts = counts_of(record)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["lines"].items()))
    return f"{plural(counts['files'], 'file')}, lines: {kinds or 'none'}"


def _listed(record: dict[str, Any]) -> list[str]:
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


def tell_doubt(one: Given, record: dict[str, Any], tree: Base | None, voice: Voice) -> None:
    """Say so when a base knows nothing of what a session worked on."""
    files = record["vacr"]["attribution"]["files"]
    if tree is not None and files and not any(path in tree.names for path in files):
        told = (
            "the base has none of the files that the session changed: all of them are new, "
            "or it is another repository"
        )
        voice.notice(f"{one.path}: {told}")
