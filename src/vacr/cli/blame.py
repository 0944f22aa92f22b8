"""`vacr blame`: who wrote the lines of a file or of a commit, as far as records prove it."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.cells import cell_len

from vacr.attribution.blame import Found
from vacr.attribution.stored import Claim
from vacr.cli import options
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.records import given
from vacr.cli.tables import cell, columns_of
from vacr.errors import InvalidRecord, NotASession, UnreadableInput, UsageError, printable
from vacr.sources.blaming import Line, blame_commit, blame_file
from vacr.sources.git import Repository
from vacr.sources.worktrees import place_of

NOTHING = 1
_KINDS = ("ai", "human", "mixed", "unknown")
_PROMPT = 200
_COLUMN = 40
_NAME = 8


@click.command(no_args_is_help=True)
@click.argument("file", required=False, type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    required=True,
    type=PATH,
    help="Records or native sessions; may be given again.",
)
@click.option("--commit", metavar="REVISION", help="Count the lines that a commit added, instead of showing a file.")
@click.option("--rev", metavar="REVISION", help="Show the file as it is there, instead of in the work tree.")
@click.option(
    "--repository", metavar="FOLDER", type=PATH, help="The repository. Default: that of the file, or of the current folder."
)
@options.voice_options
def command(
    file: str | None,
    records: tuple[str, ...],
    commit: str | None,
    rev: str | None,
    repository: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Say who wrote each line of a file, or the lines that a commit added: which model, in which conversation, for which prompt.

    Lines are joined to records by whole files first, then by blocks of lines; never by time, and never by a short line alone. So
    they stay known when a commit is rebased, squashed, amended or picked, and when a file is renamed. What nothing proves is
    unknown. Records may be attributed already; native sessions and other records are attributed on the way. Exit code 1: no
    record says anything about these lines.

    \b
    Example:
      vacr blame src/app.py --records records/
      vacr blame src/app.py --rev HEAD~3 --records abc.jsonl --format json
      vacr blame --commit HEAD --records records/ --format json
      vacr blame --commit main --repository ~/mirror.git --records records/
    """
    voice = Voice(format, quiet, verbose)
    if (file is None) == (commit is None):
        raise UsageError("name a file, or a commit with --commit", hint="For example: vacr blame src/app.py --records records/")
    if commit is not None:
        if rev is not None:
            raise UsageError("--rev goes with a file, not with --commit", hint="Name the commit with --commit alone.")
        return _commit(Repository(repository or "."), commit, _records(records, voice), voice)
    return _file(file or "", repository, rev, _records(records, voice), voice)


def _records(named: tuple[str, ...], voice: Voice) -> list[dict[str, Any]]:
    """Read all records and sessions; what cannot be read in a folder does not keep the others back."""
    found: list[dict[str, Any]] = []
    for name in named:
        if not Path(name).is_dir():
            found += _read(name)
            continue
        for path in _inside(name):
            try:
                found += _read(path)
            except (UnreadableInput, InvalidRecord) as error:
                voice.notice(f"{path}: left out: {error.message}", isinstance(error, NotASession))
    if not found:
        raise UnreadableInput("there are no records", where=", ".join(named), hint="Make some: vacr record FOLDER -o records/")
    return found


def _read(path: str) -> list[dict[str, Any]]:
    records = [one.record for one in given(path)]
    if not all(isinstance(record, dict) and isinstance(record.get("session"), dict) for record in records):
        raise UnreadableInput("this is no record", where=path, hint="See what is wrong with it: vacr validate FILE.")
    return records


def _inside(folder: str) -> list[str]:
    """Give the records of a folder and, where other files are beside them, those too."""
    files = sorted(str(Path(place) / name) for place, _, names in os.walk(folder) for name in names)
    if not any(path.endswith((".acr.json", ".acr.cbor")) for path in files):
        return [folder]
    return [path for path in files if path.endswith((".json", ".jsonl", ".cbor"))]


def _file(file: str, repository: str | None, rev: str | None, records: list[dict[str, Any]], voice: Voice) -> int:
    place = place_of(file, repository)
    lines = blame_file(place, rev, records)
    counts = Counter(line.type for line in lines)
    _show(lines, voice)
    voice.data(
        {
            "path": place.path,
            "lines": [{"line": number, **_line(line)} for number, line in enumerate(lines, 1)],
            "total": _counts(counts),
            "models": _models(line.found for line in lines),
        }
    )
    return 0 if set(counts) - {"unknown"} else _nothing(voice, len(records), "file")


def _show(lines: list[Line], voice: Voice) -> None:
    """Print each line with what is known of it, which only a terminal is too narrow for."""
    if voice.json or voice.quiet:
        return
    short = columns_of(sys.stdout) is not None
    known = {id(line.found): printable(_who(line.found, short=short)) for line in lines}
    width = _COLUMN if short else max(map(cell_len, known.values()), default=0)
    digits = len(str(len(lines)))
    for number, line in enumerate(lines, 1):
        voice.result(f"{line.commit[:8]} {cell(known[id(line.found)], width)} {number:>{digits}}) {line.text}")


def _commit(repository: Repository, revision: str, records: list[dict[str, Any]], voice: Voice) -> int:
    commit, files = blame_commit(repository, revision, records)
    total: Counter[str] = Counter()
    report = []
    for path, lines in files:
        counts = Counter(line.type for line in lines)
        total += counts
        report.append({"path": path, **_counts(counts), "ranges": _ranges(lines)})
        voice.result(f"{path}: {_said(counts)}")
    voice.result(f"{commit[:12]}: {plural(len(files), 'file')}, {_said(total)}")
    found = [line.found for _, lines in files for line in lines]
    voice.data({"commit": commit, "files": report, "total": _counts(total), "models": _models(found)})
    return 0 if set(total) - {"unknown"} else _nothing(voice, len(records), "commit")


def _nothing(voice: Voice, count: int, what: str) -> int:
    voice.notice(f"No line of this {what} is in {plural(count, 'record')}.")
    return NOTHING


def _who(found: Found | None, *, short: bool) -> str:
    if found is None:
        return "unknown"
    claim = found.claim
    model = claim.model or "ai" if found.type == "ai" else found.type
    words = [model, claim.session[:_NAME] if short else claim.session, claim.evidence, _asked(claim)]
    return " ".join(word for word in words if word)


def _asked(claim: Claim) -> str:
    """Give the beginning of what the user asked for."""
    asked = claim.prompt.strip().split("\n")[0]
    return asked if len(asked) <= _PROMPT else asked[: _PROMPT - 1] + "…"


def _line(line: Line) -> dict[str, Any]:
    place = {"commit": line.commit, "original-path": line.path, "original-line": line.number}
    return place | {"contributor": _contributor(line)} | _proof(line.found)


def _contributor(line: Line) -> dict[str, str]:
    model = line.found.claim.model if line.found is not None and line.type != "human" else ""
    return {"type": line.type} | ({"model-id": model} if model else {})


def _proof(found: Found | None) -> dict[str, Any]:
    if found is None:
        return {}
    claim = found.claim
    proof = {
        "session-id": claim.session,
        "record": claim.record,
        "entry": claim.entry,
        "evidence": claim.evidence,
        "join": found.join,
    }
    if claim.call_id:
        proof["call-id"] = claim.call_id
    if asked := _asked(claim):
        proof["prompt"] = asked
    return proof


def _ranges(lines: list[Line]) -> list[dict[str, Any]]:
    """Gather consecutive lines of which the same is known."""
    ranges: list[dict[str, Any]] = []
    for line in lines:
        about = {"contributor": _contributor(line), **_proof(line.found)}
        last = ranges[-1] if ranges else None
        if last and last["end-line"] == line.number - 1 and last == last | about and len(last) == len(about) + 2:
            last["end-line"] = line.number
        else:
            ranges.append({"start-line": line.number, "end-line": line.number, **about})
    return ranges


def _counts(counts: Counter[str]) -> dict[str, int]:
    return {kind: counts[kind] for kind in _KINDS} | {"lines": sum(counts.values())}


def _models(found: Any) -> dict[str, int]:
    return dict(Counter(one.claim.model for one in found if one is not None and one.type in ("ai", "mixed") and one.claim.model))


def _said(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind]) or "no lines"
