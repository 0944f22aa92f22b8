"""Pages of conversations: read records with their statements, verify them, and write HTML.

A page holds the bytes of a record, its statement, and the keys to verify it with again. Sessions of
sub-agents go into the page of their parent. `PageRun` writes one page, or an archive of a folder:

    >>> from vacr.workflows import PageRun, VerificationOptions
    >>> run = PageRun("session.jsonl", VerificationOptions())
    >>> [page] = run.write("pages/")
    >>> str(page.target), page.conversation.verdict, page.state
    ('pages/session.html', 'unsigned', 'written')

A folder may hold more than fits into memory: only the names of its records are kept, and each
record is read again when its turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vacr.blame import normalize_remote
from vacr.errors import InvalidStatement, NotASession, UnreadableInput, UsageError, VacrError
from vacr.files import STDIN, read_bytes
from vacr.record import encode, get_keeping_agent
from vacr.signing import HEADER_X5CHAIN, find_carried_key, parse_sign1, parse_x5chain
from vacr.verification import (
    CHECK_PASSED,
    CHECK_UNDECIDED,
    ROLE_LOG,
    ROLE_SIGNER,
    ROLE_TIMESTAMP_AUTHORITY,
    ROLE_WITNESS,
    Check,
    Policy,
    TrustStore,
    VerificationFailed,
    verify,
)
from vacr.viewer import (
    VERDICT_FAILED,
    VERDICT_SIGNED,
    VERDICT_UNSIGNED,
    VERDICT_VERIFIED,
    Page,
    PageParty,
    PageRecord,
    PageTrust,
    PriceTable,
    RowFilter,
    SearchText,
    build_index_card,
    draw_summary,
    format_record_title,
    get_session_key,
    list_search_texts,
    render_site_index,
)
from vacr.workflows.inputs import (
    InputRecord,
    read_input_records,
    read_session_inputs,
    scan_input_records,
)
from vacr.workflows.record_files import (
    STATEMENT_SUFFIX,
    StatementPair,
    find_statement_pairs,
    format_size,
    is_output_folder,
    reserve_unused_name,
    write_output_file,
)
from vacr.workflows.verify import (
    EXIT_NOT_VERIFIED,
    VerificationOptions,
    judge_statement,
    load_joint_records,
    load_verification_policy,
)

_PAGE_SUFFIX = ".html"
_INDEX_FILE = "index.html"
_PAGE_MARKER, _PAGE_HEAD_BYTES = b'<meta name="vacr-sources"', 4096
_PICTURE_MARKER = b'<svg data-vacr="summary"'
_UNTRUSTED_KEY_MESSAGE = "the key in the statement; no trusted key was named"
_VERDICT_LABELS = {
    VERDICT_VERIFIED: "✓ verified",
    VERDICT_SIGNED: "signed by an untrusted key",
    VERDICT_FAILED: "✗ not verified",
    VERDICT_UNSIGNED: "not signed",
}
_VERDICTS_WORST_FIRST = (VERDICT_FAILED, VERDICT_UNSIGNED, VERDICT_SIGNED, VERDICT_VERIFIED)


@dataclass(frozen=True)
class Conversation:
    """A session and its sub-agents, shown together on one page."""

    stem: str
    """The name of its page without the ending."""
    parts: Sequence[InputRecord]
    """The records: first the session, then its sub-agents."""
    shown: Sequence[PageRecord]
    """The same records with their statements and verdicts."""

    @property
    def verdict(self) -> str:
        """Return the worst verdict about the records: failed, unsigned, signed or verified."""
        verdicts = (_classify_verdict(record.verification) for record in self.shown)
        return min(verdicts, key=_VERDICTS_WORST_FIRST.index)

    @property
    def failure(self) -> str:
        """Return the message of the first failed verification, or an empty text if none failed."""
        failures = (
            str(record.verification["message"])
            for record in self.shown
            if record.verification and not record.verification["verified"]
        )
        return next(failures, "")

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Return how good a recording it is: unmodified, the agent's own, and its entries."""
        entries = sum(len(part.record["session"].get("entries", ())) for part in self.parts)
        is_own = not get_keeping_agent(self.parts[0].record)
        return not any(part.modified for part in self.parts), is_own, entries

    def page(
        self,
        trust: PageTrust,
        chosen: RowFilter | None,
        index: str = "",
        prices: PriceTable | None = None,
        lines: Mapping[str, Any] | None = None,
    ) -> Page:
        """Return the page of the conversation.

        `trust` has the keys for verifying it in the browser, `chosen` selects the entries that are
        shown, and `index` is the link to the archive's first page; empty without an archive.
        `prices` replace the price table of the package. `lines` are the lines of a range of
        commits; None shows none.
        """
        title = format_record_title(self.parts[0].record, self.stem)
        return Page(title, self.shown, trust, chosen, index, prices, lines)

    def card(self, href: str, prices: PriceTable | None = None) -> dict[str, Any]:
        """Return the entry for the conversation in an archive's index; `href` links to its page.

        `prices` replace the price table of the package.
        """
        records = [part.record for part in self.parts]
        card = build_index_card(records, self.stem, href, self.verdict, self.failure, prices)
        remote = records[0].get("vcs", {}).get("repository")
        return card | {"repo": normalize_remote(remote) if isinstance(remote, str) else ""}

    def draw(self, prices: PriceTable | None = None) -> str:
        """Return a picture of the summary, as SVG; `prices` replace those of the package."""
        records = [part.record for part in self.parts]
        title = format_record_title(records[0], self.stem)
        return draw_summary(records, title, self.verdict, prices)


def _classify_verdict(verdict: Mapping[str, Any] | None) -> str:
    """Return the class of a verdict: failed, unsigned, signed or verified.

    None stands for an unsigned record where no signature is required. A valid signature by a key
    that the user does not trust is only `signed`.
    """
    if verdict is None:
        return VERDICT_UNSIGNED
    if not verdict["verified"]:
        return VERDICT_FAILED
    return VERDICT_VERIFIED if verdict["trusted"] else VERDICT_SIGNED


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
    """The picture beside the page, if one was written."""

    def describe(self) -> str:
        """Return a line for the terminal: the file, the verdict, the size and the state."""
        conversation = self.conversation
        is_modified = conversation.failure in [part.modified for part in conversation.parts]
        # The warning about a modified record is printed before, with the reason.
        reason = "modified" if is_modified else conversation.failure
        failure = f": {reason}" if conversation.failure else ""
        label = _VERDICT_LABELS[conversation.verdict]
        line = f"{self.target}: {label}{failure} ({format_size(self.size)}, {self.state})"
        return line if self.picture is None else f"{line}, with a picture in {self.picture}"

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
    """Whether to write a picture of the summary beside each page."""
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
        paths = self.selected or (self.path,)
        items = (item for path in paths for item in read_conversations(path, self.options))
        for item in items:
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


def _is_own_page(target: Path, marker: bytes = _PAGE_MARKER) -> bool:
    """Return whether a file is a page or picture that vacr wrote, so that it may replace it.

    Return False if the file cannot be read.
    """
    try:
        with target.open("rb") as file:
            return marker in file.read(_PAGE_HEAD_BYTES)
    except OSError:
        return False


def read_conversations(
    path: str, options: VerificationOptions, session: str = ""
) -> Iterator[Conversation | VacrError]:
    """Yield the verified conversations in a file or a folder, and errors for unreadable items.

    `session` selects one session of a database or of a folder that an agent uses as a store.

    Raises:
        UnreadableInput: the path itself cannot be read, or contains no records or sessions.
    """
    references: list[_RecordReference] = []
    items: Iterator[InputRecord | VacrError] = (
        read_session_inputs(path, session)
        if session
        else scan_input_records(_find_record_path(path), changed=True)
    )
    for item in items:
        if isinstance(item, InputRecord):
            references.append(_RecordReference.of(item))
        elif not isinstance(item, NotASession):
            yield item
    if not references:
        raise UnreadableInput(
            "no records or sessions found",
            where=path,
            hint="To find sessions: vacr list -v",
        )
    stored = tuple(reference.path for reference in references if reference.kept is None)
    for group in _group_by_parent(references):
        try:
            parts = [reference.load() for reference in group]
            shown = [
                _mark_modified(part, _build_shown_record(part, options, stored)) for part in parts
            ]
            yield Conversation(parts[0].stem, parts, shown)
        except VacrError as error:
            yield error


def _find_record_path(path: str) -> str:
    """Return the path of the record that a statement file is about, or another path unchanged.

    Raises:
        UnreadableInput: the record of the statement does not exist.
    """
    if not path.endswith(STATEMENT_SUFFIX):
        return path
    record = path.removesuffix(STATEMENT_SUFFIX)
    if not Path(record).is_file():
        raise UnreadableInput(
            "the record of this statement is missing",
            where=path,
            hint=f"Save the record as {record}.",
        )
    return record


@dataclass(frozen=True)
class _RecordReference:
    """A record by its file, with the ids that assign it to its parent."""

    path: str
    stem: str
    session: Any
    """The id of its session."""
    parent: Any
    """The id of the session that started it as a sub-agent, or None."""
    kept: InputRecord | None
    """The record itself, if it comes from a native session or a pipe."""

    @classmethod
    def of(cls, item: InputRecord) -> _RecordReference:
        """Return a reference to a record; it keeps only a record that cannot be read again."""
        # Members that vacr does not know may be of any type.
        metadata = item.record.get("vacr")
        above = metadata.get("parent") if isinstance(metadata, dict) else None
        parent = above.get("session-id") if isinstance(above, dict) else None
        session = item.record["session"].get("session-id")
        is_on_disk = item.stored and item.data is None
        return cls(
            item.path,
            item.stem,
            session,
            parent if isinstance(parent, str | bytes) else None,
            None if is_on_disk else item,
        )

    def load(self) -> InputRecord:
        """Return the record, read again from its file unless it was kept.

        Raises:
            VacrError: the file can no longer be read.
        """
        if self.kept is not None:
            return self.kept
        (item,) = read_input_records(self.path, changed=True)
        return replace(item, stem=self.stem)


def _group_by_parent(references: list[_RecordReference]) -> list[list[_RecordReference]]:
    """Group each session with its sub-agents; a sub-agent without its parent is a group."""
    roots = {reference.session: reference for reference in references if reference.parent is None}
    groups: dict[int, list[_RecordReference]] = {
        id(reference): [reference] for reference in references if reference.parent not in roots
    }
    for reference in references:
        if (parent := roots.get(reference.parent)) is not None:
            groups[id(parent)].append(reference)
    return list(groups.values())


def _build_shown_record(
    item: InputRecord, options: VerificationOptions, run_files: tuple[str, ...]
) -> PageRecord:
    """Return a record as the page shows it: its bytes, its statement and the verdict.

    `run_files` are all record files of the run.
    """
    name = Path(item.path).name
    if not item.stored:
        data = encode(item.record, item.form)
        return PageRecord(name, data, None, _judge_unsigned(options), item.record)
    if item.data is not None:
        return PageRecord(name, item.data, None, _judge_unsigned(options), item.record)
    (pair,) = find_statement_pairs(item.path)
    data = read_bytes(item.path)
    if pair.statement is None:
        return PageRecord(name, data, None, _judge_unsigned(options), item.record)
    statement = read_bytes(pair.statement)
    verdict = _judge_signed(pair, statement, data, options, run_files)
    return PageRecord(name, data, statement, verdict, item.record)


def _mark_modified(item: InputRecord, shown: PageRecord) -> PageRecord:
    """Return a record for the page; the verdict about a modified record is that it failed."""
    if not item.modified:
        return shown
    verdict = shown.verification
    if verdict is None or verdict["verified"]:
        checks = verdict["checks"] if verdict is not None else []
        verdict = {"trusted": False, "message": item.modified, "checks": checks}
    verification = {**verdict, "verified": False, "modified": item.modified}
    return replace(shown, verification=verification)


def build_page_trust(policy: Policy, options: VerificationOptions) -> PageTrust:
    """Return the keys and names for verifying in the browser."""
    store = policy.trust_store or TrustStore()
    has_authorities = bool(store.list_authorities(ROLE_SIGNER))
    has_clocks = bool(store.list_parties(ROLE_TIMESTAMP_AUTHORITY) or policy.timestamp_roots)
    return PageTrust(
        policy.keys,
        policy.log_keys,
        bool(policy.roots) or has_authorities,
        policy.entry_rule,
        _list_page_parties(store, ROLE_SIGNER),
        _list_page_parties(store, ROLE_LOG),
        _list_page_parties(store, ROLE_WITNESS),
        store.witnesses_required,
        has_clocks,
        not _is_trust_named(options),
    )


def _list_page_parties(store: TrustStore, role: str) -> list[PageParty]:
    """Return the parties with a role that have keys, as the page needs them.

    A key of a witness is listed once, so that the page judges it by the same party as Python.
    """
    # Of a witness in two stores, only the first entry counts: the second may have no end of trust.
    parties = store.witnesses if role == ROLE_WITNESS else store.list_parties(role)
    return [
        PageParty(
            party.name,
            party.keys,
            party.issuers,
            party.valid_from,
            party.valid_until,
            str(party.note_key) if party.note_key is not None else None,
        )
        for party in parties
        if party.keys or party.note_key is not None
    ]


def _is_trust_named(options: VerificationOptions) -> bool:
    """Return whether the caller named whom to trust.

    Otherwise the default trust stores lend names to known signers, but refuse nobody.
    """
    return bool(options.trust) or any(not file.is_default for file in options.stores)


def _judge_unsigned(options: VerificationOptions) -> dict[str, Any] | None:
    """Return the failed verdict about an unsigned record.

    Return `None` if no signature is required: the options name neither whom to trust nor log keys.
    """
    if not _is_trust_named(options) and not options.log_keys:
        return None
    return {"verified": False, "trusted": False, "message": "unsigned", "checks": []}


def _is_known_signer(statement: bytes, options: VerificationOptions) -> bool:
    """Return whether a statement carries the key or certificate of a signer in a trust store.

    Return True if it carries no key: then only the store can verify it.

    Raises:
        InvalidStatement: the statement or its key cannot be read.
    """
    store = load_verification_policy(options).trust_store
    if store is None or not store.list_parties(ROLE_SIGNER):
        return False
    message = parse_sign1(statement)
    key = find_carried_key(message)
    if key is None or store.find_by_key(key, ROLE_SIGNER) is not None:
        return True
    chain = message.protected.get(HEADER_X5CHAIN, message.unprotected.get(HEADER_X5CHAIN))
    if chain is None:
        return False
    return bool(store.list_by_certificate(parse_x5chain(chain)[0], ROLE_SIGNER))


def _judge_signed(
    pair: StatementPair,
    statement: bytes,
    data: bytes,
    options: VerificationOptions,
    run_files: tuple[str, ...],
) -> dict[str, Any]:
    """Verify a statement about a record, and return the verdict for the page.

    If the options name nobody to trust, and no default trust store knows the signer, verify with
    the key in the statement, and mark the verdict as not `trusted`.
    """
    now = datetime.now(UTC)
    try:
        is_judged_by_trust = _is_trust_named(options) or _is_known_signer(statement, options)
    except InvalidStatement:
        is_judged_by_trust = False
    if is_judged_by_trust:
        # The page has these bytes: the files may have changed since they were read.
        verdict = judge_statement(pair, options, run_files, now, (data, statement))
        return {
            "verified": verdict["verified"],
            "trusted": True,
            "message": verdict.get("message", ""),
            "checks": verdict["checks"],
        }
    verdict = {"verified": False, "trusted": False, "message": "", "checks": []}
    try:
        key = find_carried_key(parse_sign1(statement))
        policy = load_verification_policy(options)
        policy = replace(
            policy,
            keys=(key,) if key is not None else (),
            # The witnesses of a default store are required only of signers that it knows.
            trust_store=replace(policy.trust_store or TrustStore(), witnesses_required=0),
            needs_record=True,
        )
        verified = verify(
            statement,
            policy,
            payload=data,
            joint=lambda: load_joint_records(run_files, options.run),
            now=now,
        )
    except VerificationFailed as error:
        return {
            **verdict,
            "message": error.message,
            "checks": [_build_check_document(check) for check in error.checks],
        }
    except InvalidStatement as error:
        return {**verdict, "message": error.message}
    checks = [_build_check_document(check) for check in verified.checks]
    return {**verdict, "verified": True, "checks": checks}


def _build_check_document(check: Check) -> dict[str, str]:
    """Return a check for the page; without a trusted key, the check of trust stays undecided."""
    # A key in the statement itself proves only that the signer has its private half.
    if check.name == "trust" and check.outcome == CHECK_PASSED:
        return {"name": check.name, "outcome": CHECK_UNDECIDED, "told": _UNTRUSTED_KEY_MESSAGE}
    return {"name": check.name, "outcome": check.outcome, "told": check.finding}
