"""`vacr view`: a conversation as a page that verifies itself; a folder as an archive of them."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import click

from vacr.cli import options
from vacr.cli.options import PATH, Voice, plural, size
from vacr.cli.outputs import is_folder, write_new, write_stdout
from vacr.cli.showing import filter_of, filter_options
from vacr.cli.verdicts import Wanted
from vacr.cli.viewing import Conversation, conversations, template, trust_of
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.receipts.entries import RULES, STATEMENT
from vacr.sources import STDIN
from vacr.viewer.cards import FAILED
from vacr.viewer.filters import Filter
from vacr.viewer.page import site_index

_HTML = ".html"
_DOES_NOT_HOLD = 1
_MARKS = {
    "verified": "✓ verified",
    "signed": "signed by a key that nobody named",
    "failed": "✗ does not hold",
    "unsigned": "not signed",
}


@click.command(no_args_is_help=True)
@click.argument("path", metavar="RECORD|SESSION|FOLDER", type=PATH)
@click.option("--trust", metavar="FILE", multiple=True, help="A public key, or a root certificate; may be given again.")
@options.log_key_option(help="A key of a log, or a log's folder: there has to be a receipt of one.")
@click.option(
    "--entry-rule", type=click.Choice(RULES), default=STATEMENT, show_default=True, help="What of a statement is in the log."
)
@filter_options
@options.writing_options
@click.option("--serve", is_flag=True, help="Serve it to a browser instead of writing it.")
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Where to serve.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="On which port.  [default: any that is free]")
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
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
    opens: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Make a page of a conversation: one HTML file that needs no network, shows it, and verifies it again in the browser.

    The page holds the record's own bytes, its statement, and the keys that --trust and --log-key name. The session of a sub-agent
    goes into the page of its parent. Of a FOLDER, an archive is made: a page for each, and index.html with search. Filters choose
    what a page shows at first: it holds the whole record still, and says that it shows a part. Exit 1 when a signature does not
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
        raise UsageError("a page is served, or written: one of both", hint="Leave out --serve, or -o.")
    wanted = Wanted(trust=trust, log_keys=log_key, entry_rule=entry_rule)
    viewed = _Viewed(path, wanted, filter_of(**asked), voice)
    if serve:
        from vacr.cli.view_server import serve_pages

        return serve_pages(viewed.pages(), host, port, voice, opens=opens)
    targets = viewed.write(output, overwrite=overwrite)
    if opens and targets:
        webbrowser.open(targets[0].resolve().as_uri())
    return viewed.exit_code


class _Viewed:
    """What is viewed, and how it went."""

    def __init__(self, path: str, wanted: Wanted, chosen: Filter, voice: Voice) -> None:
        """Read and verify all of it."""
        self.path, self.voice = path, voice
        self.is_archive = Path(path).is_dir()
        self.filter = chosen if chosen != Filter() else None
        self.trust = trust_of(wanted)
        self.template = template()
        self.found: list[Conversation] = []
        self.exit_code = 0
        for one in conversations(path, wanted):
            if isinstance(one, VacrError):
                voice.error(f"vacr: {one.diagnostics()}")
                self.exit_code = self.exit_code or UnreadableInput.exit_code
            else:
                self.found.append(one)
        if any(one.verdict == FAILED for one in self.found):
            self.exit_code = _DOES_NOT_HOLD

    def pages(self) -> dict[str, bytes]:
        """Make the pages by their names; the first is where to begin."""
        names = [f"{one.stem}{_HTML}" for one in self.found]
        made = {
            name: b"".join(one.page(self.trust, self.filter).pieces(self.template))
            for name, one in zip(names, self.found, strict=True)
        }
        if not self.is_archive:
            return made
        title = f"Conversations in {Path(self.path).resolve().name}"
        cards = [one.card(name) for name, one in zip(names, self.found, strict=True)]
        return {"index.html": b"".join(site_index(self.template, title, cards)), **made}

    def write(self, output: str | None, *, overwrite: bool) -> list[Path]:
        """Write the pages, and tell of each."""
        pages = self.pages()
        if output == STDIN:
            if len(pages) > 1:
                raise UsageError("an archive cannot go to standard output", hint="Give a folder: -o site/.")
            write_stdout(pages.values())
            return []
        targets = self._targets(list(pages), output)
        outcomes = [
            write_new(target, data, self.path, (self.path,), overwrite=overwrite)
            for target, data in zip(targets, pages.values(), strict=True)
        ]
        self._tell(dict(zip(targets, pages.values(), strict=True)), outcomes)
        return targets

    def _targets(self, names: list[str], output: str | None) -> list[Path]:
        if self.is_archive:
            folder = Path(output or "site")
            if folder.is_file():
                raise UsageError(f"an archive is a folder, and {folder} is a file", hint="Give another name with -o.")
            return [folder / name for name in names]
        if is_folder(output):
            return [Path(output or ".") / Path(name).name for name in names]
        if len(names) > 1:
            raise UsageError(f"several pages cannot go into one file, {output}", hint="End the name in / for a folder.")
        return [Path(output or names[0])]

    def _tell(self, written: dict[Path, bytes], outcomes: list[str]) -> None:
        results = []
        paths = list(written)
        for one, target, outcome in zip(
            self.found, paths[len(paths) - len(self.found) :], outcomes[len(paths) - len(self.found) :], strict=True
        ):
            told = f": {one.told}" if one.told else ""
            self.voice.result(f"{target}: {_MARKS[one.verdict]}{told} ({size(len(written[target]))}, {outcome})")
            results.append(
                {
                    "source": one.parts[0].path,
                    "output": str(target),
                    "outcome": outcome,
                    "records": len(one.parts),
                    "verdict": one.verdict,
                    "message": one.told or None,
                    "bytes": len(written[target]),
                }
            )
        if self.is_archive:
            self.voice.result(f"{paths[0]}: {plural(len(self.found), 'conversation')}")
        self.voice.data({"results": results, "index": str(paths[0]) if self.is_archive else None})
