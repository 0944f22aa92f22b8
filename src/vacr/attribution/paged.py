"""A long text that is changed here and there. Step: attribute.

Its line ends are counted by pages, so that a change at one place need not count all that come before it.
"""

_PAGE = 1 << 14


class PagedText:
    """A text, and for each page of it how long it is and how many lines end in it."""

    __slots__ = ("_pages", "text")

    def __init__(self, text: str) -> None:
        """Count nothing until it is asked for."""
        self.text = text
        self._pages: list[tuple[int, int]] = []

    def line_at(self, offset: int) -> int:
        """Give how many lines end before an offset."""
        self._pages = self._pages or _paged(self.text)
        _, start, lines = self._page_at(offset)
        return lines + self.text.count("\n", start, offset)

    def replace(self, start: int, stop: int, new: str) -> None:
        """Replace the text between two offsets."""
        if self._pages:
            first, _, _ = self._page_at(start)
            last, _, _ = self._page_at(stop)
            size, lines = map(sum, zip(*self._pages[first : last + 1], strict=True))
            size += len(new) - (stop - start)
            lines += new.count("\n") - self.text.count("\n", start, stop)
            self._pages[first : last + 1] = [(size, lines)]
            if size > 2 * _PAGE:
                self._pages.clear()
        self.text = "".join((self.text[:start], new, self.text[stop:]))

    def _page_at(self, offset: int) -> tuple[int, int, int]:
        """Give the page that an offset is in, where it starts, and how many lines end before that."""
        start = lines = number = 0
        for number, (size, ends) in enumerate(self._pages):  # noqa: B007 - the last one counts
            if start + size > offset:
                break
            start += size
            lines += ends
        return number, start, lines


def _paged(text: str) -> list[tuple[int, int]]:
    pages = [text[at : at + _PAGE] for at in range(0, len(text), _PAGE)]
    return [(len(page), page.count("\n")) for page in pages]
