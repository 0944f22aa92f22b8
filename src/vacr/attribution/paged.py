"""A long text that is changed here and there. Step: attribute.

It is kept in pages of whole lines, so that a change at one place neither copies what is before and
after nor counts its lines.
"""

_PAGE = 1 << 14


class PagedText:
    """A text, in pages, and for each page how many lines end in it."""

    __slots__ = ("_ends", "_pages", "_whole")

    def __init__(self, text: str) -> None:
        """Part it only when it is asked about places."""
        self._whole: str | None = text
        self._pages: list[str] = []
        self._ends: list[int] = []

    @property
    def text(self) -> str:
        """The whole text."""
        if self._whole is None:
            self._whole = "".join(self._pages)
        return self._whole

    def replace(self, start: int, stop: int, new: str) -> tuple[int, str, str]:
        """Replace the text between two offsets.

        Gives how many lines are before those that this changes, and these as they were and as they
        are.
        """
        if not self._pages:
            self._pages = _paged(self.text)
            self._ends = [page.count("\n") for page in self._pages]
        first, at = self._page_at(start, 0, 0)
        last, _ = self._page_at(stop, first, at)
        near = self._pages[first] if first == last else "".join(self._pages[first : last + 1])
        start, stop = start - at, stop - at
        opening = near.rfind("\n", 0, start) + 1
        closing = near.find("\n", stop) + 1 or len(near)
        before = sum(self._ends[:first]) + near.count("\n", 0, opening)
        old, new = near[opening:closing], near[opening:start] + new + near[stop:closing]
        pages = _paged(near[:opening] + new + near[closing:])
        self._pages[first : last + 1] = pages
        self._ends[first : last + 1] = [page.count("\n") for page in pages]
        self._whole = None
        return before, old, new

    def _page_at(self, offset: int, number: int, at: int) -> tuple[int, int]:
        """Give the page that an offset is in, and where it starts, from a page on; the last one for
        the end of the text.
        """
        last = len(self._pages) - 1
        while number < last and at + len(self._pages[number]) <= offset:
            at += len(self._pages[number])
            number += 1
        return number, at


def _paged(text: str) -> list[str]:
    """Part a text at line ends; a line that is longer than a page is not parted."""
    pages, at = [], 0
    while len(text) - at > 2 * _PAGE:
        stop = text.find("\n", at + _PAGE) + 1 or len(text)
        pages.append(text[at:stop])
        at = stop
    pages.append(text[at:])
    return pages
