"""A page that verifies and shows records by itself. Step: view. Template + bytes → HTML.

The page is made of the viewer (`page.html`, built from `web/`), of the records' own bytes,
compressed, and of a description. What it shows, it makes of those bytes, and verifies them again:
nothing that was found out here is believed there. Its policy (CSP) lets no script run but the
viewer's, and nothing be fetched.
"""

from __future__ import annotations

import base64
import gzip
import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.record import encode_canonical_json, encode_deterministic_cbor
from vacr.signing import PublicKey, build_cose_key
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.version import __version__
from vacr.viewer.rows import RowFilter, make_visible

DATA_PLACEHOLDER = "<!--vacr:data-->"
"""Where in the template the data go."""
_COMPRESSION_LEVEL = 6


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A record in a page: its bytes as they are stored, the statement about it, and what
    verification found here.
    """

    name: str
    data: bytes
    statement: bytes | None = None
    found: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PageTrust:
    """What the page verifies with."""

    keys: Sequence[PublicKey] = ()
    log_keys: Sequence[PublicKey] = ()
    roots: bool = False
    """Whether certificates are trusted, too, which the page does not follow."""
    entry_rule: str = ENTRY_RULE_STATEMENT


@dataclass(frozen=True, slots=True)
class Page:
    """What a page is made of; the first record is the session, others are those of its
    sub-agents.
    """

    title: str
    records: Sequence[PageRecord]
    trust: PageTrust = field(default_factory=PageTrust)
    filter: RowFilter | None = None
    """What the page shows at first, if not all; it holds all."""
    index: str = ""
    """Where the index is of the archive that the page is in."""

    def pieces(self, template: str) -> Iterator[bytes]:
        """Give the HTML, piece by piece."""
        description = {
            "title": make_visible(self.title),
            "made": f"vacr {__version__}",
            "keys": [_encode_key(key) for key in self.trust.keys],
            "logKeys": [_encode_key(key) for key in self.trust.log_keys],
            "roots": self.trust.roots,
            "entryRule": self.trust.entry_rule,
            "index": self.index,
            "filter": _describe_filter(self.filter) if self.filter is not None else None,
            "records": [
                {"name": make_visible(one.name), "found": one.found} for one in self.records
            ],
        }
        islands = [_encode_description(description)]
        for number, one in enumerate(self.records):
            islands.append(
                _encode_island(
                    f"record-{number}", gzip.compress(one.data, _COMPRESSION_LEVEL, mtime=0)
                )
            )
            if one.statement is not None:
                islands.append(_encode_island(f"statement-{number}", one.statement))
        yield from _fill_template(template, self.title, islands)


def render_site_index(
    template: str, title: str, pages: Sequence[Mapping[str, Any]]
) -> Iterator[bytes]:
    """Give the index of an archive."""
    description = {
        "title": make_visible(title),
        "made": f"vacr {__version__}",
        "records": [],
        "site": {"pages": list(pages)},
    }
    yield from _fill_template(template, title, [_encode_description(description)])


def _fill_template(template: str, title: str, islands: list[bytes]) -> Iterator[bytes]:
    head, place, tail = template.partition(DATA_PLACEHOLDER)
    if not place:
        raise ValueError("a template without a place for the data")
    named = head.replace(
        "<title>vacr</title>", f"<title>{html.escape(make_visible(title))}</title>", 1
    )
    yield named.encode()
    yield from islands
    yield tail.encode()


def _encode_description(description: dict[str, Any]) -> bytes:
    # What could end the element, or begin a comment in it, is spelled in a way that JSON reads
    # alike.
    text = (
        encode_canonical_json(description)
        .replace(b"<", b"\\u003c")
        .replace(b">", b"\\u003e")
        .replace(b"&", b"\\u0026")
    )
    return b'<script type="application/json" id="vacr-page">%s</script>\n' % text


def _encode_island(name: str, data: bytes) -> bytes:
    return b'<script type="application/octet-stream" id="%s">%s</script>\n' % (
        name.encode(),
        base64.b64encode(data),
    )


def _encode_key(key: PublicKey) -> str:
    return base64.b64encode(encode_deterministic_cbor(build_cose_key(key))).decode()


def _describe_filter(chosen: RowFilter) -> dict[str, Any]:
    return {
        "kinds": sorted(chosen.kinds),
        "tools": sorted(chosen.tools),
        "text": chosen.text,
        "errors": chosen.errors,
        "names": sorted(chosen.names),
        "repeated": chosen.repeated,
    }
