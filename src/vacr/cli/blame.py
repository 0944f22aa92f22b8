"""`vacr blame`: who wrote the lines of a file or of a commit, as far as records prove it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from vacr.attribution.blame import Found
from vacr.attribution.stored import Claim
from vacr.cli import options
from vacr.cli.given import Given, opened
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.tables import laid_out
from vacr.errors import NotASession, UnreadableInput, UsageError
from vacr.sources.blaming import Line, blame_commit, blame_file
from vacr.sources.git import Repository
from vacr.sources.worktrees import place_of

NOTHING = 1
_KINDS = ("ai", "human", "mixed", "unknown")
_PROMPT = 200
_ASKED = 40


@click.command(no_args_is_help=True)
@click.argument("file", required=False, type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions; may be given again.  [required]",
)
@click.option("--commit", metavar="REVISION", help="Count the lines that a commit added, instead of showing a file.")
@click.option("--rev", metavar="REVISION", help="Show the file as it is there, instead of in the work tree.")
@click.option(
    "--repository", metavar="FOLDER", type=PATH, help="The repository.  [default: that of the file, or of the current folder]"
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
    unknown. Records may be attributed already; native sessions are read as `vacr record` reads them.

    \b
    Example:
      vacr blame src/app.py --records records/
      vacr blame src/app.py --rev HEAD~3 --records abc.jsonl --format json
      vacr blame --commit HEAD --records records/ --format json
      vacr blame --commit main --repository ~/mirror.git --records records/
    """
    voice = Voice(format, quiet, verbose)
    _refuse(file, commit, records)
    if commit is not None:
        if rev is not None:
            raise UsageError("--rev goes with a file, not with --commit", hint="Name the commit with --commit alone.")
        return _commit(Repository(repository or "."), commit, _records(records, voice), voice)
    return _file(file or "", repository, rev, _records(records, voice), voice)


def _refuse(file: str | None, commit: str | None, records: tuple[str, ...]) -> None:
    """Refuse a call that does not say what to blame, or by what."""
    if file is None and commit is None:
        raise UsageError("name a file, or a commit with --commit", hint="For example: vacr blame src/app.py --records records/")
    if file is not None and commit is not None:
        hint = "For a file as a commit has it: --rev; for all that a commit added: --commit alone."
        raise UsageError("a file and --commit do not go together", hint=hint)
    if not records:
        hint = "They are files or folders of records or sessions. vacr list -v shows the sessions here; vacr record keeps them."
        raise UsageError("name what is known of the lines with --records", hint=hint)


def _records(named: tuple[str, ...], voice: Voice) -> list[dict[str, Any]]:
    """Read all records and sessions; what cannot be read in a folder does not keep the others back."""
    found: list[dict[str, Any]] = []
    for name in named:
        for one in opened(name):
            if isinstance(one, Given):
                found.append(one.record)
            else:
                where = one.where or name
                voice.notice(f"{where}: left out: {one.message}", isinstance(one, NotASession))
    if not found:
        raise UnreadableInput("there are no records", where=", ".join(named), hint="Make some: vacr record FOLDER -o records/")
    return found


def _file(file: str, repository: str | None, rev: str | None, records: list[dict[str, Any]], voice: Voice) -> int:
    place = place_of(file, repository)
    lines = blame_file(place, rev, records)
    counts = Counter(line.type for line in lines)
    rows = [[line.commit[:8], *_who(line.found), f"{number})"] for number, line in enumerate(lines, 1)]
    for told, line in zip(laid_out(rows, right=frozenset({len(rows[0]) - 1})) if rows else (), lines, strict=True):
        voice.result(f"{told} {line.text}")
    voice.data(
        {
            "path": place.path,
            "lines": [{"line": number, **_line(line)} for number, line in enumerate(lines, 1)],
            "total": _counts(counts),
            "models": _models(line.found for line in lines),
        }
    )
    return 0 if set(counts) - {"unknown"} else _nothing(voice, len(records), "file", len(lines))


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
    return 0 if set(total) - {"unknown"} else _nothing(voice, len(records), "commit", len(found))


def _nothing(voice: Voice, count: int, what: str, lines: int) -> int:
    """Say that nothing is known, and why."""
    if not lines:
        voice.notice("This commit adds no line of text." if what == "commit" else "This file has no lines.")
    else:
        hint = "vacr list shows which sessions worked in which folder."
        voice.notice(f"No line of this {what} is in {plural(count, 'record')}. {hint}")
    return NOTHING


def _who(found: Found | None) -> list[str]:
    """Say in columns who made a line, in which conversation, what proves it, and what was asked for."""
    if found is None:
        return ["unknown", "", "", ""]
    model = found.type if found.type != "ai" else found.claim.model or "ai"
    return [model, found.claim.session[:8], found.claim.evidence, _asked(found.claim, _ASKED)]


def _asked(claim: Claim, most: int = _PROMPT) -> str:
    """Give the beginning of what the user asked for."""
    asked = claim.prompt.strip().split("\n")[0]
    return asked if len(asked) <= most else asked[: most - 1] + "…"


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
