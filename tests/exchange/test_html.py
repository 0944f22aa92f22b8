"""The plain page: what is in a session is shown in it and never becomes a part of it."""

import copy
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.sessions import all_records, example
from vacr.exchange.export import ExportRequest
from vacr.exchange.html import export

ASKED = ExportRequest("ab" * 32)
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


class Seen(HTMLParser):
    """What a parser sees in a page."""

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


def record(*entries):
    made = copy.deepcopy(example("cursor.jsonl"))
    made["session"]["entries"] = list(entries)
    return made


def check(page):
    seen = Seen(page)
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES
    assert all(address.startswith(("#e", "data:image/")) for address in seen.addresses)
    assert "default-src 'none'" in page
    return seen


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
def test_what_is_said_is_text(one, other):
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
    check(export(record(*entries), ASKED).data.decode())


def test_the_text_of_what_is_said_is_whole():
    said = '<b>bold</b> & "quoted" <script>alert(1)</script>'
    seen = check(export(record({"type": "user", "content": said}), ASKED).data.decode())
    assert said in "".join(seen.texts)


def test_pictures_are_in_it_if_they_are_pictures():
    def page(media_type, data):
        image = {"type": "image", "source": {"media_type": media_type, "data": data}}
        return export(record({"type": "user", "content": [image]}), ASKED)

    assert b'src="data:image/png;base64,QUJD"' in page("image/png", "QUJD").data
    for media_type, data in (
        ("image/svg+xml", "QUJD"),
        ("image/png", '"onerror=x'),
        ("text/html", "QUJD"),
    ):
        made = page(media_type, data)
        assert b"<img" not in made.data
        assert made.losses["images that are not in the record, or of another type"] == 1


def test_every_session_gives_a_page():
    for _, one in all_records():
        check(export(one, ASKED).data.decode())
