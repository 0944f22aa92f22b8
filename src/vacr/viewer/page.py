"""A page that verifies and shows records by itself: one HTML file that needs no network.

The page consists of the viewer (`page.html`, built from `web/`), the bytes of the records,
compressed, and a description. It builds its rows from those bytes, and verifies them again: it does
not believe any verdict made here. Its content security policy allows no script but the
viewer's, and no request.

    >>> from vacr.viewer import Page, PageRecord
    >>> page = Page("Fix the tests", [PageRecord("a.acr.json", b"{}")])
    >>> html = b"".join(page.pieces("<title>vacr</title><!--vacr:data-->")).decode()
    >>> html.startswith("<title>Fix the tests</title>"), 'id="record-0"' in html
    (True, True)
"""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from vacr.errors import VacrError
from vacr.model import JsonObject
from vacr.record import decode, encode_canonical_json, encode_deterministic_cbor
from vacr.signing import PublicKey, build_cose_key
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.version import __version__
from vacr.viewer.archive_texts import SearchText, pack_search_texts
from vacr.viewer.content import make_visible
from vacr.viewer.costs import PriceTable, format_cost, list_cost_facts, load_price_table
from vacr.viewer.rows import RowFilter
from vacr.viewer.totals import Totals, count_totals

DATA_PLACEHOLDER = "<!--vacr:data-->"
"""The place of the data in the template."""
_COMPRESSION_LEVEL = 6
_TEXTS_ISLAND = "archive-texts"


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A record in a page: its bytes as stored, its statement, and the result of verification."""

    name: str
    data: bytes
    statement: bytes | None = None
    verification: Mapping[str, Any] | None = None
    record: JsonObject | None = None
    """The decoded record, where the caller has it; otherwise the bytes are decoded."""
    is_session: bool = False
    """Whether vacr made the record from a session just now, so that it is no file."""

    def compress(self) -> bytes:
        """Return the bytes of the record as gzip; the same bytes give the same result."""
        return gzip.compress(self.data, _COMPRESSION_LEVEL, mtime=0)


@dataclass(frozen=True, slots=True)
class PageParty:
    """A person or a service that the page names: an entry of the trust store."""

    name: str
    keys: Sequence[PublicKey]
    issuers: Sequence[str] = ()
    """The issuers that its statements may claim."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    note_key: str | None = None
    """The key of a log's checkpoints, or of a witness, as it is published."""


@dataclass(frozen=True, slots=True)
class PageTrust:
    """The keys and the rule that the page verifies with."""

    keys: Sequence[PublicKey] = ()
    log_keys: Sequence[PublicKey] = ()
    roots: bool = False
    """Whether certificates are trusted too; the page does not check those."""
    entry_rule: str = ENTRY_RULE_STATEMENT
    parties: Sequence[PageParty] = ()
    """The signers of the trust store that count for the records, with their names."""
    logs: Sequence[PageParty] = ()
    """The logs of the trust store that count for the records."""
    witnesses: Sequence[PageParty] = ()
    """The witnesses of the trust store that count for the records."""
    witnesses_required: int = 0
    """How many witnesses must have cosigned a log entry."""
    timestamps: bool = False
    """Whether timestamp authorities are trusted; the page does not check timestamps."""
    names_only: bool = False
    """Whether the parties only lend their names, and other signers are not refused."""
    lacks_signers: bool = False
    """Whether signers are trusted whose keys are left out, because they signed no record."""
    lacks_logs: bool = False
    """Whether logs are trusted whose keys are left out."""
    witnesses_left_out: int = 0
    """How many witnesses are left out, because they cosigned no record."""


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of a page: the record of a session, then the records of its sub-agents."""

    title: str
    records: Sequence[PageRecord]
    trust: PageTrust = field(default_factory=PageTrust)
    filter: RowFilter | None = None
    """The rows that the page shows at first; it contains all of them."""
    index: str = ""
    """The address of the index, if the page is part of an archive."""
    prices: PriceTable | None = None
    """Prices instead of those of the package."""
    lines: Mapping[str, Any] | None = None
    """The lines of a range of commits, if the page shows them."""

    def describe(self) -> dict[str, Any]:
        """Return the description of the page: trust, totals and verdicts, without the records."""
        return {
            "title": make_visible(self.title),
            "producer": f"vacr {__version__}",
            "keys": [_encode_key(key) for key in self.trust.keys],
            "logKeys": [_encode_key(key) for key in self.trust.log_keys],
            "roots": self.trust.roots,
            "entryRule": self.trust.entry_rule,
            "parties": [_describe_party(party) for party in self.trust.parties],
            "logs": [_describe_party(party) for party in self.trust.logs],
            "witnesses": [_describe_party(party) for party in self.trust.witnesses],
            "witnessesRequired": self.trust.witnesses_required,
            "timestamps": self.trust.timestamps,
            "namesOnly": self.trust.names_only,
            "lacksSigners": self.trust.lacks_signers,
            "lacksLogs": self.trust.lacks_logs,
            "witnessesLeftOut": self.trust.witnesses_left_out,
            "index": self.index,
            "filter": _describe_filter(self.filter) if self.filter is not None else None,
            "totals": _describe_totals(self.records, self.prices),
            "lines": self.lines,
            "records": [
                {
                    "name": make_visible(record.name),
                    "verification": record.verification,
                    "isSession": record.is_session,
                }
                for record in self.records
            ],
        }

    def pieces(self, template: str) -> Iterator[bytes]:
        """Yield the HTML of the page, piece by piece, from the template `page.html`."""
        islands = [_encode_description(self.describe())]
        for number, record in enumerate(self.records):
            islands.append(_encode_island(f"record-{number}", record.compress()))
            if record.statement is not None:
                islands.append(_encode_island(f"statement-{number}", record.statement))
        yield from _fill_template(template, self.title, islands)


def _describe_totals(records: Sequence[PageRecord], prices: PriceTable | None) -> dict[str, Any]:
    """Return the totals of a page for its description; the duration is that of the first record.

    They are computed here and not in the page, so that page and terminal show the same numbers. A
    record that cannot be decoded is left out; the page reports why.
    """
    total, milliseconds = Totals(), 0
    for number, shown in enumerate(records):
        try:
            record = decode(shown.data) if shown.record is None else shown.record
            own = count_totals(record, prices=prices)
        except (VacrError, LookupError, TypeError, AttributeError, ValueError):
            continue
        total += own
        milliseconds = own.milliseconds if number == 0 else milliseconds
    facts = list_cost_facts(total.cost, (prices or load_price_table()).date)
    return {
        "prompts": total.prompts,
        "calls": total.calls,
        "errors": total.errors,
        "failed": total.failed_calls,
        "input": total.tokens["input"],
        "output": total.tokens["output"],
        "cost": "; ".join(facts),
        "price": format_cost(total.cost),
        "milliseconds": milliseconds,
        "files": len(total.files),
        "added": total.added,
        "removed": total.removed,
        "tools": [
            {"name": tool, "value": count, "failed": total.failed_tools[tool]}
            for tool, count in total.tools.most_common()
        ],
        "models": [
            {"name": model, "value": count, "failed": 0}
            for model, count in total.models.most_common()
            if count
        ],
    }


def render_app_page(template: str) -> bytes:
    """Return the HTML of the local app, which asks its own server for everything it shows."""
    description = {"title": "vacr", "producer": f"vacr {__version__}", "records": [], "app": True}
    filled = b"".join(_fill_template(template, "vacr", [_encode_description(description)]))
    policy, addition = b"default-src 'none'", b"default-src 'none'; connect-src 'self'"
    return filled.replace(policy, addition, 1)


def render_site_index(
    template: str,
    title: str,
    pages: Sequence[Mapping[str, Any]],
    lines: Mapping[str, Any] | None = None,
    texts: Iterable[Sequence[SearchText]] = (),
) -> Iterator[bytes]:
    """Yield the HTML of the index of an archive, piece by piece.

    `pages` are the cards of `build_index_card`, and `texts` the texts of each conversation, for the
    search. `lines` are the lines of a range of commits, if the page shows them.
    """
    description: dict[str, Any] = {
        "title": make_visible(title),
        "producer": f"vacr {__version__}",
        "lines": lines,
        "records": [],
        "site": {"pages": list(pages)},
    }
    islands = [_encode_description(description)]
    if packed := [list(own) for own in texts]:
        islands.append(_make_island(_TEXTS_ISLAND, pack_search_texts(packed)))
    yield from _fill_template(template, title, islands)


def _fill_template(template: str, title: str, islands: list[bytes]) -> Iterator[bytes]:
    """Yield the template with its title set, and the data elements at the placeholder.

    Raises:
        ValueError: the template has no placeholder.
    """
    head, placeholder, tail = template.partition(DATA_PLACEHOLDER)
    if not placeholder:
        raise ValueError(f"the template of the page lacks {DATA_PLACEHOLDER}")
    title_element = f"<title>{html.escape(make_visible(title))}</title>"
    yield head.replace("<title>vacr</title>", title_element, 1).encode()
    yield from islands
    yield tail.encode()


def _encode_description(description: dict[str, Any]) -> bytes:
    """Return the element with the description of the page, as JSON."""
    # JSON escapes keep the text from ending the element, or from beginning a comment in it.
    text = (
        encode_canonical_json(description)
        .replace(b"<", b"\\u003c")
        .replace(b">", b"\\u003e")
        .replace(b"&", b"\\u0026")
    )
    return b'<script type="application/json" id="vacr-page">%s</script>\n' % text


def _encode_island(name: str, data: bytes) -> bytes:
    """Return an element with this id that contains data in base64."""
    return _make_island(name, base64.b64encode(data))


def _make_island(name: str, encoded: bytes) -> bytes:
    """Return an element with this id that contains text in base64."""
    return b'<script type="application/octet-stream" id="%s">%s</script>\n' % (
        name.encode(),
        encoded,
    )


def _encode_key(key: PublicKey) -> str:
    """Return a public key as COSE_Key in base64."""
    return base64.b64encode(encode_deterministic_cbor(build_cose_key(key))).decode()


def _describe_party(party: PageParty) -> dict[str, Any]:
    """Return a party for the description of the page; times are in seconds since 1970, or None."""
    begin, end = party.valid_from, party.valid_until
    return {
        "name": make_visible(party.name),
        "keys": [_encode_key(key) for key in party.keys],
        "issuers": list(party.issuers),
        "noteKey": party.note_key,
        "validFrom": begin.timestamp() if begin is not None else None,
        "validUntil": end.timestamp() if end is not None else None,
    }


def _describe_filter(chosen: RowFilter) -> dict[str, Any]:
    """Return a filter for the description of the page, with the names that the page expects."""
    return {
        "kinds": sorted(chosen.kinds),
        "tools": sorted(chosen.tools),
        "text": chosen.text,
        "errors": chosen.errors,
        "names": sorted(chosen.names),
        "repeated": chosen.repeated,
    }
