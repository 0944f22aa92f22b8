"""The picture of a conversation, for pull requests."""

import xml.etree.ElementTree as ET

import pytest

from tests.viewer.browser import NEEDS_CHROMIUM, build_record
from vacr.viewer.picture import HEIGHT, WIDTH, draw_summary
from vacr.viewer.totals import VERDICT_FAILED, VERDICT_UNSIGNED

SVG = "{http://www.w3.org/2000/svg}"


def draw(*entries, title="Fix it", verdict=VERDICT_UNSIGNED, **members):
    return draw_summary([build_record(*entries, **members)], title, verdict)


def read_texts(picture):
    """Return the lines of text in a picture."""
    lines = ET.fromstring(picture).iter(f"{SVG}text")  # noqa: S314 - we drew it
    return ["".join(line.itertext()) for line in lines]


ENTRIES = [
    {"type": "user", "content": "Please fix the total."},
    {
        "type": "assistant",
        "content": "The **total** is `right` now.\n\n- see [it](https://x.example)",
    },
]


def test_picture_shows_request_outcome_and_verdict():
    texts = read_texts(draw(*ENTRIES, verdict=VERDICT_FAILED))
    assert texts[:2] == ["✗ Not verified", "Fix it"]
    assert "Please fix the total." in texts
    assert "The total is right now." in texts
    assert "see it" in texts
    assert "no file changed     0 tool calls     no test run     no commit" in texts


def test_picture_says_that_it_proves_nothing():
    assert read_texts(draw(*ENTRIES))[-1].startswith("A picture proves nothing.")


def test_long_texts_end_in_an_ellipsis():
    long = {"type": "user", "content": "word " * 900}
    texts = read_texts(draw(long, title="t" * 400))
    assert [text.endswith("…") for text in texts if text.startswith(("word", "ttt"))] == [
        True,
        False,
        False,
        True,
    ]


def test_hostile_text_is_text():
    hostile = "</text><script>alert(1)</script>&amp; \u202e\x1b[31m\ud800"
    picture = draw({"type": "user", "content": hostile}, title=hostile)
    assert "<script" not in picture
    assert picture.encode()
    joined = " ".join(read_texts(picture))
    assert "</text><script>alert(1)</script>&amp; \\u202e\\x1b[31m\\ud800" in joined


def test_text_with_a_secret_is_left_out():
    marks = {"secrets": ["/session/entries/1/content"]}
    texts = read_texts(draw(*ENTRIES, vacr=marks))
    assert "Please fix the total." in texts
    assert not any("right" in text for text in texts)


def test_empty_conversation_has_a_picture():
    assert "Fix it" in read_texts(draw())


@pytest.mark.component
@NEEDS_CHROMIUM
@pytest.mark.parametrize("text", ["Wide WORDS " * 60, "iiil " * 300, "漢字" * 400, "MMMM" * 200])
def test_no_text_leaves_the_picture_or_meets_another(browser, tmp_path, text):
    """The browser measures what is drawn with its own font."""
    entries = [{"type": "user", "content": text}, {"type": "assistant", "content": text}]
    (tmp_path / "a.svg").write_text(draw(*entries, title=text))
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.goto((tmp_path / "a.svg").as_uri())
    boxes = page.evaluate(
        "[...document.querySelectorAll('text')].map(text => text.getBBox())"
        ".map(box => [box.x, box.y, box.width, box.height])"
    )
    page.close()
    for x, y, width, height in boxes:
        assert x >= 0
        assert x + width <= WIDTH
        assert y + height <= HEIGHT
    for at, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, other_width, other_height in boxes[at + 1 :]:
            is_beside = x + width <= other_x or other_x + other_width <= x
            is_above = y + 0.7 * height <= other_y or other_y + 0.7 * other_height <= y
            assert is_beside or is_above


def test_picture_names_the_agent_as_people_write_it_and_no_unknown_model():
    record = build_record({"type": "user", "content": "Fix it"})
    record["session"]["agent-meta"] |= {"cli-name": "copilot", "model-id": "unknown"}
    texts = read_texts(draw_summary([record], "Fix it", VERDICT_UNSIGNED))
    assert "GitHub Copilot CLI" in texts
    assert not any("unknown" in text for text in texts)


def test_picture_of_a_sub_agent_has_its_task():
    task = {"type": "user", "content": "Count the files", "vacr": {"speaker": "parent-agent"}}
    texts = read_texts(draw(task))
    assert "Task" in texts
    assert "Count the files" in texts
