"""A paged text behaves like a plain string."""

import random

import pytest

from vacr.attribution.chunks import PagedText


@pytest.mark.parametrize("seed", range(20))
def test_paged_text_equals_the_plain_text_after_each_change(seed):
    chance = random.Random(seed)  # noqa: S311 - seeded, so that a failure can be repeated
    text = "".join(
        chance.choice(["\n", "a line\n", "x" * chance.randint(0, 400) + "\n"])
        for _ in range(chance.randint(0, 900))
    )
    paged = PagedText(text)
    for _ in range(200):
        start = chance.randint(0, len(text))
        stop = min(len(text), start + chance.choice([0, 1, 50, 20_000, 70_000]))
        new = chance.choice(
            ["", "\n", "some\nlines", "much\n" * chance.randint(1, 4_000), "y" * 40_000]
        )
        opening, closing = text.rfind("\n", 0, start) + 1, text.find("\n", stop) + 1 or len(text)
        changed = text[:start] + new + text[stop:]
        expected = (
            text.count("\n", 0, start),
            text[opening:closing],
            changed[opening : closing + len(changed) - len(text)],
        )
        assert paged.replace(start, stop, new) == expected
        text = changed
        if chance.random() < 0.5:
            assert paged.text == text
    assert paged.text == text
