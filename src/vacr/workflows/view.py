"""Pages of conversations as HTML: one page, an archive of a folder, or the page of the local app.

A page holds the bytes of a record, its statement, and the keys to verify it with again. Sessions of
sub-agents go into the page of their parent. `PageRun` writes one page, or an archive of a folder:

    >>> from vacr.workflows import PageRun, VerificationOptions
    >>> run = PageRun("session.jsonl", VerificationOptions())
    >>> [page] = run.write("pages/")
    >>> str(page.target), page.conversation.verdict, page.state
    ('pages/session.html', 'unsigned', 'written')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import STDIN
from vacr.viewer import (
    VERDICT_FAILED,
    VERDICT_SIGNED,
    VERDICT_UNSIGNED,
    VERDICT_VERIFIED,
    PriceTable,
    RowFilter,
    SearchText,
    get_session_key,
    list_search_texts,
    render_app_page,
    render_site_index,
)
from vacr.workflows.conversations import Conversation, read_conversations
from vacr.workflows.inputs import InputRecord
from vacr.workflows.output_files import (
    format_size,
    is_output_folder,
    reserve_unused_name,
    write_output_file,
)
from vacr.workflows.page_trust import build_page_trust
from vacr.workflows.statement_files import find_sealed_record
from vacr.workflows.verify import (
    EXIT_NOT_VERIFIED,
    VerificationOptions,
    load_verification_policy,
)

_PAGE_SUFFIX = ".html"
_INDEX_FILE = "index.html"
_PAGE_MARKER, _PAGE_HEAD_BYTES = b'<meta name="vacr-sources"', 4096
_PICTURE_MARKER = b'<svg data-vacr="summary"'
_VERDICT_LABELS = {
    VERDICT_VERIFIED: "✓ verified",
    VERDICT_SIGNED: "signed by an untrusted key",
    VERDICT_FAILED: "✗ not verified",
    VERDICT_UNSIGNED: "not signed",
}


@dataclass(frozen=True)
class WrittenPage:
    """A page that was written."""

    conversation: Conversation
    target: Path
    state: str
    """Either "written", or "unchanged" if the file had the same bytes."""
    size: int
    """The size of the page in bytes."""
    picture: Path | None = None
    """The picture next to the page, if one was written."""

    def describe(self) -> str:
        """Return a line for the terminal: the file, the state, the size and the verdict."""
        conversation = self.conversation
        is_modified = conversation.failure in [part.modified for part in conversation.parts]
        # The warning about a modified record is printed before, with the reason.
        reason = "modified" if is_modified else conversation.failure
        failure = f": {reason}" if conversation.failure else ""
        label = _VERDICT_LABELS[conversation.verdict]
        picture = f", with a picture in {self.picture}" if self.picture is not None else ""
        done = f"{self.state}, {format_size(self.size)}{picture}"
        return f"{self.target}: {done}, {label}{failure}"

    def build_document(self) -> dict[str, Any]:
        """Return the facts about a written page for JSON output."""
        conversation = self.conversation
        return {
            "source": conversation.parts[0].path,
            "output": str(self.target),
            "outcome": self.state,
            "records": len(conversation.parts),
            "verdict": conversation.verdict,
            "message": conversation.failure or None,
            "modified": any(part.modified for part in conversation.parts),
            "bytes": self.size,
            "picture": str(self.picture) if self.picture is not None else None,
        }


@dataclass
class PageRun:
    """The pages of a file, or the archive of a folder."""

    path: str
    """The record, session or folder to show."""
    options: VerificationOptions
    row_filter: RowFilter | None = None
    """Selects the entries that are shown; None shows all."""
    report_error: Callable[[VacrError], None] = lambda _: None
    """Takes the error of each unreadable item in a folder."""
    report_page: Callable[[WrittenPage], None] = lambda _: None
    """Takes each page as soon as it is written."""
    report_modified: Callable[[InputRecord], None] = lambda _: None
    """Takes each modified record, before its page is written."""
    prices: PriceTable | None = None
    """Prices instead of those of the package."""
    lines: Mapping[str, Any] | None = None
    """The lines of a range of commits, from `build_statistics_page`; an archive shows them in its
    index."""
    draws_pictures: bool = False
    """Whether to write a picture of the summary next to each page."""
    selected: tuple[str, ...] = ()
    """Several sessions by path or id, to show as an archive instead of the path."""
    exit_code: int = 0
    """The exit code so far: 1 if a verification failed or a record was modified, 3 if an item is
    unreadable."""
    index: Path | None = None
    """The first page of an archive, once it is written."""
    pages: list[WrittenPage] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the trusted keys and the template of pages.

        Raises:
            UnreadableInput: the template is not in the package.
        """
        self.is_archive = bool(self.selected) or Path(self.path).is_dir()
        policy = load_verification_policy(self.options)
        self._trust = build_page_trust(policy, self.options)
        self._template = load_page_template()

    @property
    def first(self) -> Path | None:
        """Return the page to open first, or `None` if none was written."""
        return self.index or (self.pages[0].target if self.pages else None)

    def render_single(self) -> Iterable[bytes]:
        """Return the only page in pieces, for standard output.

        Raises:
            UsageError: there are several pages, or the path is a folder.
        """
        conversations = list(self._read_conversations())
        if self.is_archive or len(conversations) != 1:
            raise UsageError(
                "cannot write the pages of a folder to standard output"
                if self.is_archive
                else "cannot write several pages to standard output",
                hint="Name a folder: -o site/",
            )
        page = conversations[0].page(
            self._trust, self.row_filter, prices=self.prices, lines=self.lines
        )
        return page.pieces(self._template)

    def write(self, output: str | None, *, overwrite: bool = False) -> list[WrittenPage]:
        """Write the pages, and for an archive its index, and return the written pages.

        `output` is a file or a folder; None stands for the current folder, or `site` for an
        archive.

        Raises:
            UsageError: the output is a file, but several pages need a folder; or a file with other
                content exists.
        """
        folder = self._choose_folder(output)
        names = {"index"} if self.is_archive else set()
        cards: list[dict[str, Any]] = []
        texts: list[list[SearchText]] = []
        sources_read: list[str] = []
        for conversation in self._read_conversations():
            is_tree = self.is_archive and not self.selected
            stem = conversation.stem if is_tree else Path(conversation.stem).name
            name = reserve_unused_name(stem, names)
            target = Path(output or "") if folder is None else folder / f"{name}{_PAGE_SUFFIX}"
            if folder is None and self.pages:
                raise UsageError(
                    f"cannot write several pages into one file, {output}",
                    hint=f"Add a slash to make it a folder: -o {output}/",
                )
            page = self._write_page(conversation, name, target, overwrite=overwrite)
            self.pages.append(page)
            self.report_page(page)
            sources_read += [part.path for part in conversation.parts]
            cards.append(conversation.card(quote(f"{name}{_PAGE_SUFFIX}"), self.prices))
            if self.is_archive:
                records = [part.record for part in conversation.parts]
                texts.append(list(list_search_texts(records)))
        if self.is_archive and folder is not None:
            _mark_repeated_cards([page.conversation for page in self.pages], cards)
            target = folder / _INDEX_FILE
            self._write_index(target, cards, texts, sources_read, overwrite=overwrite)
        return self.pages

    def _choose_folder(self, output: str | None) -> Path | None:
        """Return the folder that pages go into, or None for a single file.

        Raises:
            UsageError: there is a file in the place of the folder, or an archive was to go into a
                page.
        """
        if self.is_archive:
            folder = Path(output or "site")
        elif is_output_folder(output):
            folder = Path(output or ".")
        else:
            return None
        if (
            self.is_archive
            and output is not None
            and output.endswith(_PAGE_SUFFIX)
            and not folder.is_dir()
        ):
            raise UsageError(
                f"an archive needs a folder, but {output} ends in {_PAGE_SUFFIX}",
                hint=f"Name a folder: -o site/. For one of them: vacr view ID -o {output}",
            )
        if folder.is_file():
            raise UsageError(
                f"the pages go into a folder, but {folder} is a file",
                hint="Name a folder: -o site/",
            )
        return folder

    def _write_page(
        self, conversation: Conversation, name: str, target: Path, *, overwrite: bool
    ) -> WrittenPage:
        """Write the page of a conversation; an archive may replace its own older page."""
        index = f"{'../' * name.count('/')}{_INDEX_FILE}" if self.is_archive else ""
        lines = self.lines if not self.is_archive else None
        page = conversation.page(self._trust, self.row_filter, index, self.prices, lines)
        data = b"".join(page.pieces(self._template))
        sources = tuple(part.path for part in conversation.parts)
        state = write_output_file(
            target,
            data,
            sources[0],
            sources,
            overwrite=overwrite or (self.is_archive and _is_own_page(target)),
            also=sources[1:],
        )
        picture = target.with_suffix(".svg") if self.draws_pictures else None
        if picture is not None:
            drawn = conversation.draw(self.prices).encode()
            replaces = overwrite or _is_own_page(picture, _PICTURE_MARKER)
            write_output_file(picture, drawn, sources[0], sources, overwrite=replaces)
        return WrittenPage(conversation, target, state, len(data), picture)

    def _write_index(
        self,
        target: Path,
        cards: list[dict[str, Any]],
        texts: list[list[SearchText]],
        sources: list[str],
        *,
        overwrite: bool,
    ) -> None:
        """Write the first page of an archive, with a card for each conversation.

        Only people who may read the `sources` may read it.

        Raises:
            UsageError: another file exists there, and `overwrite` is false.
        """
        title = f"Conversations in {Path(self.path).resolve().name}"
        if self.selected:
            title = f"{len(self.pages)} conversations"
        data = b"".join(render_site_index(self._template, title, cards, self.lines, texts))
        replaces = overwrite or _is_own_page(target)
        write_output_file(target, data, STDIN, (), overwrite=replaces, also=sources)
        self.index = target

    def _read_conversations(self) -> Iterator[Conversation]:
        """Yield the conversations, and set the exit code for a failed verification.

        In an archive, report unreadable items and go on; otherwise, raise the first error.
        """
        for item in self._read_items():
            if isinstance(item, VacrError):
                if not self.is_archive:
                    raise item
                self.report_error(item)
                self.exit_code = self.exit_code or UnreadableInput.exit_code
                continue
            for part in item.parts:
                if part.modified:
                    self.report_modified(part)
            if item.verdict == VERDICT_FAILED:
                self.exit_code = EXIT_NOT_VERIFIED
            yield item

    def _read_items(self) -> Iterator[Conversation | VacrError]:
        """Yield the conversations, and the error of each that cannot be read.

        Raises:
            VacrError: the only path cannot be read, or has no records or sessions.
        """
        if not self.selected:
            yield from read_conversations(self.path, self.options)
        for path in self.selected:
            try:
                yield from read_conversations(path, self.options)
            except VacrError as error:
                yield error


def load_page_template() -> str:
    """Return the HTML template of all pages, which `make web` builds.

    Raises:
        UnreadableInput: the template is missing from the package.
    """
    try:
        return files("vacr.viewer").joinpath("page.html").read_text("utf-8")
    except OSError as error:
        raise UnreadableInput(
            "the viewer is missing from the package",
            where="page.html",
            hint="To build it: make web",
        ) from error


def find_sealed_page_record(conversation: Conversation) -> Path | None:
    """Return the sealed record of an unsigned session, in its folder or below the current one."""
    part = conversation.parts[0]
    if part.stored:
        return None
    stem = Path(conversation.stem).name
    return find_sealed_record(part.path, stem, part.record["session"]["session-id"])


def _is_own_page(target: Path, marker: bytes = _PAGE_MARKER) -> bool:
    """Return whether a file is a page or picture that vacr wrote, so that it may replace it.

    Return False if the file cannot be read.
    """
    try:
        with target.open("rb") as file:
            return marker in file.read(_PAGE_HEAD_BYTES)
    except OSError:
        return False


def load_app_page() -> bytes:
    """Return the HTML of the local app.

    Raises:
        UnreadableInput: the template is missing from the package.
    """
    return render_app_page(load_page_template())


def _mark_repeated_cards(
    conversations: Sequence[Conversation], cards: Sequence[dict[str, Any]]
) -> None:
    """Mark the cards of all but the best recording of each session, so that it counts once."""
    best: dict[tuple[str, str], tuple[tuple[bool, bool, int], dict[str, Any]]] = {}
    for conversation, card in zip(conversations, cards, strict=True):
        key, rank = get_session_key(conversation.parts[0].record), conversation.rank
        if key in best and best[key][0] >= rank:
            card["isRepeated"] = True
            continue
        if key in best:
            best[key][1]["isRepeated"] = True
        best[key] = rank, card
