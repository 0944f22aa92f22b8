"""The Markdown transcript, as another renderer reads it."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.exchange.sessions import load_example, read_all_records
from vacr.exchange.export import ExportRequest
from vacr.exchange.transcript import export_markdown
from vacr.viewer.rows import RowFilter

REQUEST = ExportRequest("ab" * 32)
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


def build_record(*entries):
    made = copy.deepcopy(load_example("cursor.jsonl"))
    made["session"]["entries"] = list(entries)
    return made


def walk_tokens(text):
    """Yield all tokens of a renderer, including inline tokens."""
    for token in RENDERER.parse(text):
        yield token
        yield from token.children or ()


def list_headings(text):
    return [
        token.tag
        for token in RENDERER.parse(text)
        if token.type == "heading_open" and token.level == 0
    ]


@given(hostile, hostile, hostile)
def test_hostile_text_stays_in_its_quotation(message, thought, path):
    call = {"type": "tool-call", "name": path or "x", "input": {"command": thought}}
    edit = {
        "type": "tool-call",
        "name": "StrReplace",
        "input": {"path": path, "old_string": message, "new_string": thought},
        "call-id": "e",
    }
    failed = {"type": "tool-result", "call-id": "e", "output": message, "is-error": True}
    entries = [
        {"type": "user", "content": message},
        {"type": "reasoning", "content": thought},
        call,
        edit,
        failed,
    ]
    text = export_markdown(
        build_record(*entries, {"type": "assistant", "content": "end"}), REQUEST
    ).data.decode()
    seen = list(walk_tokens(text))
    assert not {"image", "link_open", "html_block"} & {token.type for token in seen}
    assert {token.content for token in seen if token.type == "html_inline"} <= {"<code>", "</code>"}
    assert list_headings(text) == ["h1", "h2", "h3", "h3", "h3"]
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(
    st.lists(
        st.sampled_from(["`", "``", "```", "x", "\n", "~~~", " "]), min_size=1, max_size=12
    ).map("".join)
)
def test_diff_is_a_single_code_block(new):
    edit = {
        "type": "tool-call",
        "name": "StrReplace",
        "input": {"path": "a.md", "old_string": "", "new_string": new},
    }
    text = export_markdown(build_record(edit), REQUEST).data.decode()
    blocks = [token for token in RENDERER.parse(text) if token.type == "fence"]
    wanted = [f"+{line}" for line in new.splitlines()]
    assert sum(len(block.content.splitlines()) for block in blocks) == (
        len(wanted) + 1 if wanted else 0
    )
    assert len(blocks) <= 1


def test_code_in_a_message_stays_code():
    text = export_markdown(
        build_record(
            {
                "type": "assistant",
                "content": "See `Vec<T>` and\n```rust\nlet a: Vec<T>;\n```\nor <b>.",
            }
        ),
        REQUEST,
    ).data.decode()
    html = RENDERER.render(text)
    assert "<code>Vec&lt;T&gt;</code>" in html
    assert '<code class="language-rust">let a: Vec&lt;T&gt;;' in html
    assert "or &lt;b&gt;." in html


@pytest.mark.parametrize(
    "content", ["hello", [{"type": "text", "text": "hello"}], ["hello"], {"text": "hello"}]
)
def test_every_shape_of_content_gives_the_same_text(content):
    assert (
        "\n> hello\n"
        in export_markdown(
            build_record({"type": "user", "content": content}), REQUEST
        ).data.decode()
    )


def test_images_are_named_and_counted_but_not_embedded():
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="},
    }
    made = export_markdown(build_record({"type": "user", "content": [image]}), REQUEST)
    assert b"QUJD" not in made.data
    assert b"[image image/png, 6 bytes]" in made.data
    assert made.losses["images"] == 1


def test_tool_calls_take_a_line_and_outputs_are_counted():
    made = export_markdown(load_example("claude-code.jsonl"), REQUEST)
    lines = made.data.decode().splitlines()
    assert "- `Read` `/home/mira/invoice/total.py`" in lines
    assert "- `Bash` `python -m pytest -q` ✗" in lines
    assert made.losses["outputs of tools"] == 3


def test_title_comes_first_and_hashes_last():
    lines = export_markdown(load_example("claude-code.jsonl"), REQUEST).data.decode().splitlines()
    assert lines[:3] == [
        "# Fix invoice rounding",
        "",
        "- agent: `claude-code 2.1.72, claude-opus-4-6`",
    ]
    ids = [line.partition(":")[0] for line in lines[-3:]]
    assert ids == ["- session", "- record", "- SHA-256 of the record"]


def test_filters_apply_and_are_reported():
    made = export_markdown(
        load_example("claude-code.jsonl"), ExportRequest("", RowFilter(kinds=frozenset(["user"])))
    )
    assert list_headings(made.data.decode()) == ["h1", "h2"]
    assert f"{made.left_out} rows, by filters" in made.data.decode()
    events = export_markdown(
        load_example("claude-code.jsonl"), ExportRequest("", RowFilter(kinds=frozenset(["event"])))
    )
    assert b"`file-history-snapshot`" in events.data


def test_every_session_gives_markdown():
    for name, made in read_all_records():
        text = export_markdown(made, REQUEST).data.decode()
        seen = {token.type for token in walk_tokens(text)}
        assert not {"image", "link_open", "html_block"} & seen, name
