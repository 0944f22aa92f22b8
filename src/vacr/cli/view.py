"""`vacr view`: a conversation as a page that verifies itself; a folder as an archive of them."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import click

from vacr.cli import options
from vacr.cli.options import PATH, Voice, plural, size
from vacr.cli.outputs import is_folder, unused, write_new
from vacr.cli.showing import filter_of, filter_options
from vacr.cli.streams import write_bytes
from vacr.cli.verdicts import Wanted
from vacr.cli.viewing import Conversation, conversations, template, trust_of
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.receipts.entries import RULES, STATEMENT
from vacr.sources import STDIN
from vacr.viewer.cards import FAILED
from vacr.viewer.filters import Filter
from vacr.viewer.page import site_index

_HTML = ".html"
_INDEX = "index.html"
_MADE_HERE, _HEAD = b'<meta name="vacr-sources"', 4096
_DOES_NOT_HOLD = 1
_MARKS = {
    "verified": "✓ verified",
    "signed": "signed by a key that nobody named",
    "failed": "✗ does not hold",
    "unsigned": "not signed",
}


@click.command(no_args_is_help=True)
@click.argument("path", metavar="RECORD|SESSION|FOLDER", type=PATH)
@click.option(
    "--trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A public key, or a root certificate; may be given again.",
)
@options.log_key_option(help="A key of a log, or a log's folder: there has to be a receipt of one.")
@click.option(
    "--entry-rule",
    type=click.Choice(RULES),
    default=STATEMENT,
    show_default=True,
    help="What of a statement is in the log.",
)
@filter_options
@partial(options.writing_options, default="the current folder; for a FOLDER, site/")
@click.option("--serve", is_flag=True, help="Serve it to a browser instead of writing it.")
@click.option(
    "--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to serve."
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="On which port.  [default: any that is free]",
)
@click.option("--open", is_flag=True, help="Open it in a browser.")
@options.voice_options
def command(
    path: str,
    trust: tuple[str, ...],
    log_key: tuple[str, ...],
    entry_rule: str,
    output: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    serve: bool,  # noqa: FBT001
    host: str,
    port: int,
    open: bool,  # noqa: A002, FBT001 - the option's name
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Make a page of a conversation: one HTML file that needs no network, shows it, and verifies it
    again in the browser.

    The page holds the record's own bytes, its statement, and the keys that --trust and --log-key
    name. The session of a sub-agent goes into the page of its parent. Of a FOLDER, an archive is
    made: a page for each, and index.html with search. Filters choose what a page shows at first: it
    holds the whole record still, and says that it shows a part. Exit 1 when a signature does not
    hold; the page is made and says why.

    \b
    Example:
      vacr view abc.acr.json -o abc.html --trust keys/signing.pub.pem
      vacr view ~/.claude/projects/x/abc.jsonl --open
      vacr view records/ -o site/ --trust keys/signing.pub.pem --log-key mylog/
      vacr view records/ --serve --open
    """
    voice = Voice(format, quiet, verbose)
    if serve and output is not None:
        raise UsageError(
            "a page is served, or written: one of both", hint="Leave out --serve, or -o."
        )
    wanted = Wanted(trust=trust, log_keys=log_key, entry_rule=entry_rule)
    chosen = filter_of(**asked)
    viewed = _Viewed(path, wanted, chosen if chosen != Filter() else None, voice)
    if serve:
        return _served(viewed, host, port, opens=open)
    if output == STDIN:
        return viewed.print()
    viewed.write(output, overwrite=overwrite)
    if open and viewed.first is not None:
        webbrowser.open(viewed.first.resolve().as_uri())
    return viewed.exit_code


def _served(viewed: _Viewed, host: str, port: int, *, opens: bool) -> int:
    from vacr.cli.view_server import serve_pages

    with TemporaryDirectory(prefix="vacr-") as folder:
        viewed.write(f"{folder}/", overwrite=True, silent=True)
        written = [viewed.first, *viewed.written] if viewed.first is not None else viewed.written
        pages = {path.relative_to(folder).as_posix(): path for path in written}
        return serve_pages(pages, host, port, viewed.voice, opens=opens)


class _Viewed:
    """What is viewed, and how it went."""

    def __init__(self, path: str, wanted: Wanted, chosen: Filter | None, voice: Voice) -> None:
        """Read what trust rests on, and the viewer."""
        self.path, self.wanted, self.filter, self.voice = path, wanted, chosen, voice
        self.is_archive = Path(path).is_dir()
        self.trust, self.template = trust_of(wanted), template()
        self.exit_code = 0
        self.first: Path | None = None
        """Where to begin."""
        self.written: list[Path] = []

    def print(self) -> int:
        """Write the page to standard output."""
        found = list(self._conversations())
        if self.is_archive or len(found) != 1:
            raise UsageError(
                "several pages cannot go to standard output", hint="Give a folder: -o site/."
            )
        write_bytes(found[0].page(self.trust, self.filter).pieces(self.template))
        return self.exit_code

    def write(self, output: str | None, *, overwrite: bool, silent: bool = False) -> None:
        """Write the pages, each as it is made, and tell of each."""
        folder = (
            Path(output or "site")
            if self.is_archive
            else Path(output or ".")
            if is_folder(output)
            else None
        )
        if (
            self.is_archive
            and output is not None
            and output.endswith(_HTML)
            and not Path(output).is_dir()
        ):
            raise UsageError(
                f"an archive is a folder, and {output} is named like a page",
                hint="Give a folder: -o site/.",
            )
        if folder is not None and folder.is_file():
            raise UsageError(
                f"an archive is a folder, and {folder} is a file", hint="Give another name with -o."
            )
        names, cards, results = {"index"} if self.is_archive else set(), [], []
        read: list[str] = []
        for one in self._conversations():
            name = unused(one.stem if self.is_archive else Path(one.stem).name, names)
            target = folder / f"{name}{_HTML}" if folder is not None else Path(output or "")
            if folder is None and self.written:
                raise UsageError(
                    f"several pages cannot go into one file, {output}",
                    hint="End the name in / for a folder.",
                )
            index = f"{'../' * name.count('/')}{_INDEX}" if self.is_archive else ""
            data = b"".join(one.page(self.trust, self.filter, index).pieces(self.template))
            sources = tuple(part.path for part in one.parts)
            again = overwrite or (self.is_archive and _is_page(target))
            outcome = write_new(
                target, data, sources[0], sources, overwrite=again, also=sources[1:]
            )
            read += sources
            self.written.append(target)
            cards.append(one.card(quote(f"{name}{_HTML}")))
            told = f": {one.told}" if one.told else ""
            if not silent:
                self.voice.result(
                    f"{target}: {_MARKS[one.verdict]}{told} ({size(len(data))}, {outcome})"
                )
            results.append(_result(one, target, outcome, len(data)))
        self.first = self.written[0] if self.written else None
        if self.is_archive and folder is not None:
            self.first = folder / _INDEX
            listed = b"".join(
                site_index(
                    self.template, f"Conversations in {Path(self.path).resolve().name}", cards
                )
            )
            write_new(
                self.first,
                listed,
                STDIN,
                (),
                overwrite=overwrite or _is_page(self.first),
                also=read,
            )
        if not silent:
            if self.is_archive:
                self.voice.result(f"{self.first}: {plural(len(cards), 'conversation')}")
            self.voice.data(
                {"results": results, "index": str(self.first) if self.is_archive else None}
            )

    def _conversations(self) -> Iterator[Conversation]:
        for one in conversations(self.path, self.wanted):
            if isinstance(one, VacrError):
                if not self.is_archive:
                    raise one
                self.voice.error(f"vacr: {one}", one.hint)
                self.exit_code = self.exit_code or UnreadableInput.exit_code
                continue
            if one.verdict == FAILED:
                self.exit_code = _DOES_NOT_HOLD
            yield one


def _is_page(target: Path) -> bool:
    """Tell whether a file is a page that was made here before: an archive is made anew as its
    records come and change.
    """
    try:
        with target.open("rb") as file:
            return _MADE_HERE in file.read(_HEAD)
    except OSError:
        return False


def _result(one: Conversation, target: Path, outcome: str, length: int) -> dict[str, Any]:
    return {
        "source": one.parts[0].path,
        "output": str(target),
        "outcome": outcome,
        "records": len(one.parts),
        "verdict": one.verdict,
        "message": one.told or None,
        "bytes": length,
    }
