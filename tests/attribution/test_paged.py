"""A text that counts its line ends by pages agrees with one that counts them all."""

import random

import pytest

from vacr.attribution.paged import PagedText


@pytest.mark.parametrize("seed", range(20))
def test_changes(seed):
    chance = random.Random(seed)  # noqa: S311 - the same texts every time
    text = "".join(chance.choice(["\n", "a line\n", "x" * chance.randint(0, 400) + "\n"]) for _ in range(chance.randint(0, 900)))
    paged = PagedText(text)
    for _ in range(200):
        start = chance.randint(0, len(text))
        stop = min(len(text), start + chance.choice([0, 1, 50, 20_000]))
        assert paged.line_at(start) == text.count("\n", 0, start)
        new = chance.choice(["", "\n", "some\nlines", "much\n" * chance.randint(1, 4_000)])
        paged.replace(start, stop, new)
        text = text[:start] + new + text[stop:]
        assert paged.text == text
    assert paged.line_at(len(text)) == text.count("\n")
