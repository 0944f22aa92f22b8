"""The HTML transcript: text of a session never becomes markup."""

import copy
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.sessions import load_example, read_all_records
from vacr.exchange.export import ExportRequest
from vacr.exchange.transcript import export_html

REQUEST = ExportRequest("ab" * 32)
TAGS = frozenset(
    (
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "dl",
        "dt",
        "dd",
        "nav",
        "ol",
        "li",
        "a",
        "main",
    )
    + ("section", "details", "summary", "pre", "div", "img")
)
ATTRIBUTES = frozenset(
    (
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "aria-label",
        "href",
        "class",
        "id",
        "alt",
        "src",
    )
)


class ParsedPage(HTMLParser):
    """The tags, attributes, addresses and texts of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.addresses, self.texts = set(), set(), [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        self.texts.append(data)


def build_record(*entries):
    made = copy.deepcopy(load_example("cursor.jsonl"))
    made["session"]["entries"] = list(entries)
    return made


def check_page(page):
    parsed = ParsedPage(page)
    assert parsed.tags <= TAGS
    assert parsed.attributes <= ATTRIBUTES
    assert all(address.startswith(("#e", "data:image/")) for address in parsed.addresses)
    assert "default-src 'none'" in page
    return parsed


hostile = st.lists(
    st.sampled_from(
        [
            "<script>",
            '"',
            "'",
            ">",
            "<",
            "&",
            "</pre>",
            "</style>",
            "<img src=x onerror=y>",
            "]]>",
            "<!--",
            "x",
            "\n",
            "\x1b]8;;",
        ]
    ),
    max_size=8,
).map("".join)


@given(hostile, hostile)
def test_hostile_text_stays_text(one, other):
    image = {"type": "image", "source": {"media_type": one, "data": other}}
    call = {"type": "tool-call", "name": one, "input": {"path": other, "x": one}}
    edit = {
        "type": "tool-call",
        "name": "StrReplace",
        "input": {"path": other, "old_string": "", "new_string": one},
    }
    entries = [
        {"type": "user", "content": [{"type": "text", "text": one}, image]},
        call,
        edit,
        {"type": "system-event", "event-type": other, "data": {one: other}},
    ]
    check_page(export_html(build_record(*entries), REQUEST).data.decode())


def test_text_of_a_message_is_complete():
    text = '<b>bold</b> & "quoted" <script>alert(1)</script>'
    parsed = check_page(
        export_html(build_record({"type": "user", "content": text}), REQUEST).data.decode()
    )
    assert text in "".join(parsed.texts)


def test_only_images_of_known_types_are_embedded():
    def export_image(media_type, data):
        image = {"type": "image", "source": {"media_type": media_type, "data": data}}
        return export_html(build_record({"type": "user", "content": [image]}), REQUEST)

    assert b'src="data:image/png;base64,QUJD"' in export_image("image/png", "QUJD").data
    for media_type, data in (
        ("image/svg+xml", "QUJD"),
        ("image/png", '"onerror=x'),
        ("text/html", "QUJD"),
    ):
        made = export_image(media_type, data)
        assert b"<img" not in made.data
        assert made.losses["images that are not in the record, or of another type"] == 1


def test_every_session_gives_a_page():
    for _, record in read_all_records():
        check_page(export_html(record, REQUEST).data.decode())
