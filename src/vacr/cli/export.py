"""`vacr export`: records → what other tools, and people, read."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options, outputs
from vacr.cli.given import Given, opened
from vacr.cli.options import PATH, Voice, plural, size
from vacr.cli.showing import filter_of, filter_options
from vacr.cli.statements import key_options, key_signer
from vacr.cli.streams import write_bytes
from vacr.errors import NotASession, UnreadableInput, UsageError, VacrError
from vacr.exchange.atif import VERSIONS
from vacr.exchange.exported import Asked, Exported, told
from vacr.exchange.formats import FORMATS, Format
from vacr.recording.files import digest
from vacr.sources import STDIN, read_bytes
from vacr.sources.statements import COSE
from vacr.viewer.filters import Filter

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WRITABLE = [name for name, format_ in FORMATS.items() if format_.writer]


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RECORD|SESSION|FOLDER...", type=PATH)
@click.option("--to", type=click.Choice(_WRITABLE), required=True, help="The format to write.")
@click.option(
    "--atif-version",
    type=click.Choice(VERSIONS),
    help="Which ATIF.  [default: 1.7, or 1.8 where there is sound]",
)
@click.option(
    "--commit", metavar="SHA", help="The commit that has the files, for in-toto and git-ai-notes."
)
@partial(key_options, required=False, default="none; needed for in-toto")
@filter_options
@options.writing_options
@options.voice_options
def command(
    paths: tuple[str, ...],
    to: str,
    atif_version: str | None,
    commit: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,  # noqa: FBT001 - click passes flags so
    output: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Write records, or native sessions, in a format of other tools.

    What a format cannot hold is counted on standard error; filters leave out more, and that is
    told, too. An export is no evidence: it names the record that it was made of, and only that is
    signed and verified.

    \b
    Example:
      vacr export abc.acr.json --to atif                   writes ./abc.atif.json
      vacr export abc.acr.json --to markdown --only user --only assistant -o -
      vacr export records/ --to atif -o trajectories/
      vacr export abc.acr.json --to in-toto --key keys/signing.pem --commit $(git rev-parse HEAD)
      vacr export abc.acr.json --to git-ai-notes -o - | git notes --ref=ai add -F - HEAD
    """
    voice = Voice(format, quiet, verbose)
    chosen = filter_of(**asked)
    _refuse_what_means_nothing(to, chosen, atif_version=atif_version, key=key, commit=commit)
    signer = (
        key_signer(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
        if key is not None
        else None
    )
    wish = Asked("", chosen, atif_version, commit=commit, signer=signer)
    run = _Export(FORMATS[to], wish, output, paths, voice, overwrite=overwrite)
    for path in paths:
        run.path(path)
    return run.finish()


def _refuse_what_means_nothing(
    to: str, chosen: Filter, *, atif_version: str | None, key: str | None, commit: str | None
) -> None:
    """Refuse options that would have no effect.

    Raises:
        UsageError: there is one, or the commit is no name of one.
    """
    for name, value, formats in (
        ("--atif-version", atif_version, ["atif"]),
        ("--key", key, ["in-toto"]),
        ("--commit", commit, ["in-toto", "git-ai-notes"]),
    ):
        if value is not None and to not in formats:
            raise UsageError(f"{name} is for --to {' and --to '.join(formats)}")
    if commit is not None and not _COMMIT.fullmatch(commit):
        raise UsageError(
            f"{commit} is not the whole name of a commit", hint="git rev-parse HEAD gives it."
        )
    if chosen != Filter() and not FORMATS[to].of_rows:
        raise UsageError(
            f"{FORMATS[to].title} does not hold the conversation, so filters choose nothing of it"
        )


@dataclass
class _Export:
    """One run: what was asked for, and what came of it."""

    to: Format
    asked: Asked
    output: str | None
    paths: tuple[str, ...]
    voice: Voice
    overwrite: bool = field(kw_only=True)
    done: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    losses: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """What was written in this run, which nothing else is written over."""
    worst: int = 0
    found: int = 0

    def path(self, path: str) -> None:
        """Export what is at a path; what cannot be read keeps nothing else back."""
        is_folder = Path(path).is_dir()
        try:
            for one in self._opened(path):
                if isinstance(one, NotASession) and is_folder:
                    continue
                if isinstance(one, VacrError):
                    self._fail(path, one)
                    continue
                self.found += 1
                try:
                    self._one(one, level=1 if is_folder else 0)
                except VacrError as error:
                    self._fail(one.path, error)
        except VacrError as error:
            self._fail(path, error)

    def _opened(self, path: str) -> Iterator[Given | VacrError]:
        found = opened(path)
        if outputs.is_folder(self.output) or self.output == STDIN:
            return found
        # Two are enough to see that one file is too few.
        first = list(islice(found, 2))
        outputs.refuse_one_file_for_many(
            [*self.paths[1:], *(one.path for one in first if isinstance(one, Given))], self.output
        )
        return iter(first)

    def _one(self, one: Given, level: int) -> None:
        name = digest([one.stored_bytes() if one.stored else codec.encode(one.record, "json")])
        beside = f"{one.path}{COSE}"
        statement = read_bytes(beside) if one.stored and os.path.isfile(beside) else None  # noqa: PTH113 - no name is too long for it
        made = self.to.export(
            one.record, replace(self.asked, digest=name, form=one.form, statement=statement)
        )
        described = {
            "source": one.path,
            "record": one.record["id"],
            "losses": dict(made.losses),
            "left-out": made.left_out,
        }
        if self.output == STDIN:
            write_bytes([made.data])
        else:
            target = Path(self.output or "")
            if outputs.is_folder(self.output):
                target /= f"{outputs.unused(one.stem, self.names)}{self.to.ending}"
            state = outputs.write_new(
                target, made.data, one.path, (one.path, *self.paths), overwrite=self.overwrite
            )
            self.voice.result(
                f"{target}: {size(len(made.data))}{', unchanged' if state == 'unchanged' else ''}"
            )
            described |= {
                "output": str(target),
                "state": state,
                "bytes": len(made.data),
                "sha-256": digest([made.data]),
            }
        if self.voice.json:
            self.done.append(described)
        self.losses.update(made.losses)
        self._tell(one.path, made, level)

    def _tell(self, path: str, made: Exported, level: int) -> None:
        if made.left_out:
            self.voice.notice(
                f"vacr: {path}: {plural(made.left_out, 'row')} left out by the filters", level
            )
        if made.losses:
            self.voice.notice(
                f"vacr: {path}: not held by {self.to.title}: {told(made.losses)}", level
            )

    def _fail(self, path: str, error: VacrError) -> None:
        place = (
            error.where
            if error.where.startswith(path)
            else f"{path}: {error.where}"
            if error.where
            else path
        )
        self.voice.error(f"vacr: {place}: {error.message}", error.hint)
        self.errors.append(
            {"source": path, "error": error.message, "where": error.where, "hint": error.hint}
        )
        self.worst = max(self.worst, error.exit_code)

    def finish(self) -> int:
        """Say what the run came to, and give its exit code."""
        if self.output != STDIN:
            self.voice.data(
                {"exports": self.done, "errors": self.errors, "losses": dict(self.losses)}
            )
        if self.found > 1:
            lost = f"; not held by {self.to.title}: {told(self.losses)}" if self.losses else ""
            self.voice.notice(
                f"vacr: {plural(self.found, 'record')}, {plural(len(self.errors), 'failure')}{lost}"
            )
        elif not self.found and not self.errors:
            error = UnreadableInput(
                "there is no record in it, and no session",
                hint="vacr list -v shows where sessions are.",
            )
            self._fail(self.paths[0], error)
        return self.worst
