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

from vacr.cli.options import (
    PATH,
    Voice,
    format_count,
    format_size,
    log_key_option,
    output_options,
    voice_options,
)
from vacr.cli.outputs import is_output_folder, reserve_unused_name, write_output_file
from vacr.cli.showing import build_filter, filter_options
from vacr.cli.streams import write_bytes
from vacr.cli.verdicts import VerificationOptions
from vacr.cli.viewing import Conversation, build_page_trust, load_page_template, read_conversations
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import STDIN
from vacr.transparency import ENTRY_RULE_STATEMENT, ENTRY_RULES
from vacr.viewer import VERDICT_FAILED, RowFilter, render_site_index

_PAGE_SUFFIX = ".html"
_INDEX_FILE = "index.html"
_PAGE_MARKER, _PAGE_HEAD_BYTES = b'<meta name="vacr-sources"', 4096
_EXIT_NOT_VERIFIED = 1
_VERDICT_LABELS = {
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
@log_key_option(help="A key of a log, or a log's folder: there has to be a receipt of one.")
@click.option(
    "--entry-rule",
    type=click.Choice(ENTRY_RULES),
    default=ENTRY_RULE_STATEMENT,
    show_default=True,
    help="What of a statement is in the log.",
)
@filter_options
@partial(output_options, default="the current folder; for a FOLDER, site/")
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
@voice_options
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
    wanted = VerificationOptions(trust=trust, log_keys=log_key, entry_rule=entry_rule)
    chosen = build_filter(**asked)
    viewed = _ViewRun(path, wanted, chosen if chosen != RowFilter() else None, voice)
    if serve:
        return _serve_viewed_pages(viewed, host, port, opens=open)
    if output == STDIN:
        return viewed.print()
    viewed.write(output, overwrite=overwrite)
    if open and viewed.first is not None:
        webbrowser.open(viewed.first.resolve().as_uri())
    return viewed.exit_code


def _serve_viewed_pages(viewed: _ViewRun, host: str, port: int, *, opens: bool) -> int:
    from vacr.cli.view_server import serve_pages

    with TemporaryDirectory(prefix="vacr-") as folder:
        viewed.write(f"{folder}/", overwrite=True, silent=True)
        written = [viewed.first, *viewed.written] if viewed.first is not None else viewed.written
        pages = {path.relative_to(folder).as_posix(): path for path in written}
        return serve_pages(pages, host, port, viewed.voice, opens=opens)


class _ViewRun:
    """What is viewed, and how it went."""

    def __init__(
        self, path: str, wanted: VerificationOptions, chosen: RowFilter | None, voice: Voice
    ) -> None:
        """Read what trust rests on, and the viewer."""
        self.path, self.wanted, self.filter, self.voice = path, wanted, chosen, voice
        self.is_archive = Path(path).is_dir()
        self.trust, self.template = build_page_trust(wanted), load_page_template()
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
            if is_output_folder(output)
            else None
        )
        if (
            self.is_archive
            and output is not None
            and output.endswith(_PAGE_SUFFIX)
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
            name = reserve_unused_name(one.stem if self.is_archive else Path(one.stem).name, names)
            target = folder / f"{name}{_PAGE_SUFFIX}" if folder is not None else Path(output or "")
            if folder is None and self.written:
                raise UsageError(
                    f"several pages cannot go into one file, {output}",
                    hint="End the name in / for a folder.",
                )
            index = f"{'../' * name.count('/')}{_INDEX_FILE}" if self.is_archive else ""
            data = b"".join(one.page(self.trust, self.filter, index).pieces(self.template))
            sources = tuple(part.path for part in one.parts)
            again = overwrite or (self.is_archive and _is_own_page(target))
            outcome = write_output_file(
                target, data, sources[0], sources, overwrite=again, also=sources[1:]
            )
            read += sources
            self.written.append(target)
            cards.append(one.card(quote(f"{name}{_PAGE_SUFFIX}")))
            told = f": {one.told}" if one.told else ""
            if not silent:
                self.voice.result(
                    f"{target}: {_VERDICT_LABELS[one.verdict]}{told} ({format_size(len(data))}, {outcome})"
                )
            results.append(_build_page_document(one, target, outcome, len(data)))
        self.first = self.written[0] if self.written else None
        if self.is_archive and folder is not None:
            self.first = folder / _INDEX_FILE
            listed = b"".join(
                render_site_index(
                    self.template, f"Conversations in {Path(self.path).resolve().name}", cards
                )
            )
            write_output_file(
                self.first,
                listed,
                STDIN,
                (),
                overwrite=overwrite or _is_own_page(self.first),
                also=read,
            )
        if not silent:
            if self.is_archive:
                self.voice.result(f"{self.first}: {format_count(len(cards), 'conversation')}")
            self.voice.data(
                {"results": results, "index": str(self.first) if self.is_archive else None}
            )

    def _conversations(self) -> Iterator[Conversation]:
        for one in read_conversations(self.path, self.wanted):
            if isinstance(one, VacrError):
                if not self.is_archive:
                    raise one
                self.voice.error(f"vacr: {one}", one.hint)
                self.exit_code = self.exit_code or UnreadableInput.exit_code
                continue
            if one.verdict == VERDICT_FAILED:
                self.exit_code = _EXIT_NOT_VERIFIED
            yield one


def _is_own_page(target: Path) -> bool:
    """Tell whether a file is a page that was made here before: an archive is made anew as its
    records come and change.
    """
    try:
        with target.open("rb") as file:
            return _PAGE_MARKER in file.read(_PAGE_HEAD_BYTES)
    except OSError:
        return False


def _build_page_document(
    one: Conversation, target: Path, outcome: str, length: int
) -> dict[str, Any]:
    return {
        "source": one.parts[0].path,
        "output": str(target),
        "outcome": outcome,
        "records": len(one.parts),
        "verdict": one.verdict,
        "message": one.told or None,
        "bytes": length,
    }
