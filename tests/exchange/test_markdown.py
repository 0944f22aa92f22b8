"""Markdown: what a renderer of others makes of it, whatever a session says."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.exchange.sessions import all_records, example
from vacr.exchange.export import ExportRequest
from vacr.exchange.markdown import export
from vacr.viewer.rows import RowFilter

ASKED = ExportRequest("ab" * 32)
RENDERER = MarkdownIt("commonmark", {"html": True})
ALPHABET = [
    "`",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "<",
    ">",
    "> ",
    "<script>",
    "</code>",
    "<!--",
    "![",
    "]",
    "(",
    ")",
    "[a](javascript:x)",
    "]: ",
    "#",
    "## User",
    "- ",
    "    ",
    "\t",
    "&lt;",
    "\\",
    "*",
    "_",
    "x",
    " ",
    "1. ",
    "|",
    "<a@b.c>",
    "<http://x>",
    "---",
    "===",
    "\r",
    "\u202e",
    "\x1b[31m",
]
hostile = st.lists(st.sampled_from(ALPHABET), max_size=14).map("".join)


def record(*entries):
    made = copy.deepcopy(example("cursor.jsonl"))
    made["session"]["entries"] = list(entries)
    return made


def tokens(text):
    """Give all tokens that a renderer sees, those within lines, too."""
    for token in RENDERER.parse(text):
        yield token
        yield from token.children or ()


def headings(text):
    return [
        token.tag
        for token in RENDERER.parse(text)
        if token.type == "heading_open" and token.level == 0
    ]


@given(hostile, hostile, hostile)
def test_nothing_that_is_said_gets_out_of_its_quotation(said, thought, path):
    call = {"type": "tool-call", "name": path or "x", "input": {"command": thought}}
    edit = {
        "type": "tool-call",
        "name": "StrReplace",
        "input": {"path": path, "old_string": said, "new_string": thought},
        "call-id": "e",
    }
    failed = {"type": "tool-result", "call-id": "e", "output": said, "is-error": True}
    entries = [
        {"type": "user", "content": said},
        {"type": "reasoning", "content": thought},
        call,
        edit,
        failed,
    ]
    text = export(record(*entries, {"type": "assistant", "content": "end"}), ASKED).data.decode()
    seen = list(tokens(text))
    assert not {"image", "link_open", "html_block"} & {token.type for token in seen}
    assert {token.content for token in seen if token.type == "html_inline"} <= {"<code>", "</code>"}
    assert headings(text) == ["h1", "h2", "h3", "h3"]
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(
    st.lists(
        st.sampled_from(["`", "``", "```", "x", "\n", "~~~", " "]), min_size=1, max_size=12
    ).map("".join)
)
def test_a_diff_is_one_block_of_code(new):
    edit = {
        "type": "tool-call",
        "name": "StrReplace",
        "input": {"path": "a.md", "old_string": "", "new_string": new},
    }
    text = export(record(edit), ASKED).data.decode()
    blocks = [token for token in RENDERER.parse(text) if token.type == "fence"]
    wanted = [f"+{line}" for line in new.splitlines()]
    assert sum(len(block.content.splitlines()) for block in blocks) == (
        len(wanted) + 1 if wanted else 0
    )
    assert len(blocks) <= 1


def test_code_in_what_was_said_stays_code():
    text = export(
        record(
            {
                "type": "assistant",
                "content": "See `Vec<T>` and\n```rust\nlet a: Vec<T>;\n```\nor <b>.",
            }
        ),
        ASKED,
    ).data.decode()
    html = RENDERER.render(text)
    assert "<code>Vec&lt;T&gt;</code>" in html
    assert '<code class="language-rust">let a: Vec&lt;T&gt;;' in html
    assert "or &lt;b&gt;." in html


@pytest.mark.parametrize(
    "content", ["hello", [{"type": "text", "text": "hello"}], ["hello"], {"text": "hello"}]
)
def test_content_is_shown_alike_whatever_its_shape(content):
    assert (
        "\n> hello\n" in export(record({"type": "user", "content": content}), ASKED).data.decode()
    )


def test_pictures_are_named_and_counted_and_never_in_it():
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="},
    }
    made = export(record({"type": "user", "content": [image]}), ASKED)
    assert b"QUJD" not in made.data
    assert b"[image image/png, 6 bytes]" in made.data
    assert made.losses["images"] == 1


def test_tools_are_a_line_each_and_outputs_are_counted():
    made = export(example("claude-code.jsonl"), ASKED)
    lines = made.data.decode().splitlines()
    assert "- `Read` `/home/mira/invoice/total.py`" in lines
    assert "- `Bash` `python -m pytest -q` ✗" in lines
    assert made.losses["outputs of tools"] == 3


def test_filters_are_honoured_and_told():
    made = export(
        example("claude-code.jsonl"), ExportRequest("", RowFilter(kinds=frozenset(["user"])))
    )
    assert headings(made.data.decode()) == ["h1", "h2"]
    assert f"{made.left_out} rows, by filters" in made.data.decode()
    events = export(
        example("claude-code.jsonl"), ExportRequest("", RowFilter(kinds=frozenset(["event"])))
    )
    assert b"`file-history-snapshot`" in events.data


def test_every_session_gives_markdown():
    for name, made in all_records():
        text = export(made, ASKED).data.decode()
        seen = {token.type for token in tokens(text)}
        assert not {"image", "link_open", "html_block"} & seen, name
