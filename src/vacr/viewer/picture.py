"""A picture of a conversation for a pull request: its summary card as SVG.

Like the card of the page, the picture has request, outcome, files, calls, tests, commits. It is
drawn by this module alone. It contains no script, no link and no font, so that every viewer shows
it, in the size of link previews.

    >>> import vacr
    >>> from vacr.viewer import draw_summary
    >>> [record] = vacr.read("session.jsonl")
    >>> picture = draw_summary([record], "Fix invoice rounding", "unsigned")
    >>> picture[:4], "Fix invoice rounding" in picture, "4 tool calls" in picture
    ('<svg', True, True)

A picture proves nothing, and says so. Texts that a reader marked as secrets are left out.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence

from vacr.agents import UNKNOWN, find_agent
from vacr.model import JsonObject
from vacr.record import format_timestamp, list_secret_places
from vacr.viewer.content import make_visible
from vacr.viewer.costs import PriceTable, format_cost
from vacr.viewer.diffs import format_line_counts
from vacr.viewer.story import Story, tell_story
from vacr.viewer.totals import (
    VERDICT_FAILED,
    VERDICT_SIGNED,
    VERDICT_UNSIGNED,
    VERDICT_VERIFIED,
    Totals,
    count_totals,
)

WIDTH, HEIGHT = 1200, 630
_MARGIN = 60
_INK, _SOFT, _LINE, _GROUND = "#1c1d1f", "#5a5d63", "#d9d9d4", "#fbfbfa"
_GOOD, _BAD, _FAIR = "#12683a", "#a81620", "#7a4d00"
_FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
_MAX_TEXT = 2_000
_RULE, _LINE_HEIGHT = 512, 37
_NAME_WIDTH = 160
_BOLD = 1.15
"""How much wider bold text is."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_VERDICTS = {
    VERDICT_VERIFIED: ("✓ Verified", _GOOD),
    VERDICT_SIGNED: ("Signed", _FAIR),
    VERDICT_FAILED: ("✗ Not verified", _BAD),
    VERDICT_UNSIGNED: ("Not signed", _SOFT),
}
_NARROW, _WIDE = frozenset("fijlrtI.,:;!|'`()[]/\\ "), frozenset("mwMW@%—…")
_FOOTER = "A picture proves nothing. To check the record: vacr verify"
_Figure = list[tuple[str, str]]
"""A text in pieces, each with its colour."""


def draw_summary(
    records: Sequence[JsonObject], title: str, verdict: str, prices: PriceTable | None = None
) -> str:
    """Return the summary of a conversation as SVG.

    `records` are the session and its sub-agents, and `verdict` is the class of the card in an
    archive. `prices` replace the price table of the package.
    """
    totals_of_records = [count_totals(record, prices=prices) for record in records]
    totals = sum(totals_of_records, Totals())
    story = tell_story([withhold_secret_entries(record) for record in records])
    facts = list(
        _list_facts(records[0], totals_of_records[0].milliseconds, format_cost(totals.cost))
    )
    canvas = _Canvas()
    label, colour = _VERDICTS[verdict]
    chip = _measure(label, 22) * _BOLD + 44
    canvas.draw_chip(WIDTH - _MARGIN - chip, 50, chip, label, colour)
    room = (WIDTH - 2 * _MARGIN - chip - 30) / _BOLD
    canvas.write_lines([title], _MARGIN, 84, 40, room, 1, weight=700)
    canvas.write_lines([" · ".join(facts)], _MARGIN, 122, 22, WIDTH - 2 * _MARGIN, 1, _SOFT)
    canvas.rule(150)
    y = _draw_words(canvas, "Asked" if story.asked else "Task", story.asked or story.task, 196, 3)
    y += 18
    outcome = _strip_markdown(story.outcome)
    name_y = y
    if outcome and story.answered != story.asked:
        left = _MARGIN + _NAME_WIDTH
        prompt = f"to “{' '.join(story.answered[:_MAX_TEXT].split())}”"
        y = canvas.write_lines([prompt], left, y, 22, WIDTH - left - _MARGIN, 1, _SOFT) + 5
    _draw_words(canvas, story.outcome_name, outcome, y, (_RULE - y) // _LINE_HEIGHT, name_y)
    canvas.rule(_RULE)
    canvas.write_figures(_list_figures(totals, story), _MARGIN, 556, 22)
    canvas.write_lines([_FOOTER], _MARGIN, 600, 18, WIDTH - 2 * _MARGIN, 1, _SOFT)
    return canvas.finish(title)


def _draw_words(
    canvas: _Canvas, name: str, text: str, y: int, lines: int, name_y: int | None = None
) -> int:
    """Draw a text with its name; return the place below it, or `y` without a text.

    The name is at `name_y` if something stands above the text.
    """
    if not text:
        return y
    name_y = y if name_y is None else name_y
    canvas.write_lines([name], _MARGIN, name_y, 24, _NAME_WIDTH - 10, 1, _SOFT)
    left = _MARGIN + _NAME_WIDTH
    return canvas.write_lines(
        text[:_MAX_TEXT].split("\n"), left, y, 26, WIDTH - left - _MARGIN, lines
    )


def _list_facts(record: JsonObject, milliseconds: int, cost: str) -> Iterator[str]:
    """Yield agent, model, project, day, duration and cost, as far as they are known."""
    session = record["session"]
    meta = session.get("agent-meta", {})
    folder = str(session.get("environment", {}).get("working-dir", ""))
    start = format_timestamp(session["session-start"]) if "session-start" in session else ""
    models = [name for name in meta.get("models") or [meta.get("model-id")] if name != UNKNOWN]
    program = str(meta.get("cli-name", ""))
    agent = find_agent(program).title or program
    project = re.split(r"[\\/]", folder.rstrip("\\/"))[-1]
    facts = (agent, ", ".join(str(name) for name in models if name), project, (start or "")[:10])
    yield from filter(None, facts)
    if milliseconds >= _SECOND:
        yield _format_duration(milliseconds)
    if cost and cost != "?":
        yield cost


def _format_duration(milliseconds: int) -> str:
    """Return a duration such as "18 s", "3 min", "1 h 5 min" or from two days on "8 d 7 h"."""
    hours, minutes = milliseconds // _HOUR, milliseconds % _HOUR // _MINUTE
    days = milliseconds // _DAY
    if days > 1:
        return f"{days} d {milliseconds % _DAY // _HOUR} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{milliseconds // _SECOND} s"


def _list_figures(totals: Totals, story: Story) -> list[_Figure]:
    """Return files, calls, tests and commits in words, each in pieces of one colour."""
    files: _Figure = [("no file changed", _SOFT)]
    if totals.files:
        counts = format_line_counts(totals.added, totals.removed).replace("-", "−").split()
        files = [(_pluralize(len(totals.files), "file"), _INK)]
        files += [(f" {count}", _GOOD if count[0] == "+" else _BAD) for count in counts]
    calls: _Figure = [(_pluralize(totals.calls, "tool call"), _INK)]
    if totals.failed_calls:
        calls.append((f", {totals.failed_calls:,} failed", _BAD))
    tests: _Figure = [("no test run", _SOFT)]
    if story.tests is not None:
        passed = story.tests.passed
        unknown = "unknown" if story.tests.has_output else "not recorded"
        word, colour = {
            True: ("✓ tests passed", _GOOD),
            False: ("✗ tests failed", _BAD),
            None: (f"tests: result {unknown}", _SOFT),
        }[passed]
        tests = [(word, colour), (f" ({story.tests.program})", _SOFT)]
    commits = "no commit"
    if story.has_unclear_commit:
        commits = f"commit: result {'unknown' if story.has_commit_output else 'not recorded'}"
    if story.commits:
        commits = _pluralize(len(story.commits), "commit")
    return [files, calls, tests, [(commits, _INK if story.commits else _SOFT)]]


def _pluralize(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1,200 lines"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _strip_markdown(text: str) -> str:
    """Return a text without the marks of Markdown that a reader would stumble over."""
    text = re.sub(r"```[^\n]*\n?", "", text[: 2 * _MAX_TEXT])
    text = re.sub(r"^#{1,6}\s+|^[^\S\n]*[-*]\s+(?=\S)", "", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]\n]{1,200})\]\([^)\n]{1,500}\)", r"\1", text)
    return re.sub(r"\*\*|__|`", "", text)


def withhold_secret_entries(record: JsonObject) -> JsonObject:
    """Return the record without the entries at the places in `vacr.secrets`."""
    places = list_secret_places(record)
    if not places:
        return record
    numbers = {"".join(place.split("/")[3:4]) for place in places}
    session = record["session"]
    # Without the whole entry: a part of a text could still tell the secret.
    kept = [entry for at, entry in enumerate(session["entries"]) if str(at) not in numbers]
    return {**record, "session": {**session, "entries": kept}}


def _measure(text: str, size: float) -> float:
    """Return about how wide a text is. No font is known here, so there is room to spare."""
    return sum(_measure_character(character) for character in text) * size


def _measure_character(character: str) -> float:
    """Return about how wide a character is, as a part of the size of the font."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.38
    return 0.95 if character in _WIDE else 0.7 if character.isupper() else 0.61


class _Canvas:
    """Collects the elements of a picture."""

    def __init__(self) -> None:
        self._elements = [
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{_GROUND}"/>',
            f'<rect width="{WIDTH}" height="12" fill="#2457c5"/>',
        ]

    def rule(self, y: int) -> None:
        """Draw a line across the picture."""
        ends = f'x1="{_MARGIN}" x2="{WIDTH - _MARGIN}" y1="{y}" y2="{y}"'
        self._elements.append(f'<line {ends} stroke="{_LINE}" stroke-width="2"/>')

    def draw_chip(self, x: float, y: int, width: float, label: str, colour: str) -> None:
        """Draw a label in a frame with round ends."""
        self._elements.append(
            f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="46" rx="23" fill="#fff" '
            f'stroke="{colour}" stroke-width="3"/>'
        )
        self._add_text([(label, colour)], x + width / 2, y + 31, 22, 600, "middle")

    def write_lines(
        self,
        paragraphs: Sequence[str],
        x: int,
        y: int,
        size: int,
        width: float,
        limit: int,
        colour: str = _INK,
        weight: int = 400,
    ) -> int:
        """Write paragraphs in at most `limit` lines; return the place below them.

        The last line ends in an ellipsis if something is left out.
        """
        lines = [
            line
            for paragraph in paragraphs
            if paragraph.strip()
            for line in _wrap(make_visible(paragraph).split(), size, width)
        ]
        shown = lines[:limit]
        if len(lines) > limit:
            last = shown[-1]
            if _measure(last, size) < 0.75 * width:
                # A long word, such as an address, follows: show its beginning.
                last = f"{last} {lines[limit]}"
            shown[-1] = f"{_cut(last, size, width - size)}…"
        for at, line in enumerate(shown):
            self._add_text([(line, colour)], x, y + round(at * size * 1.4), size, weight)
        return y + round(len(shown) * size * 1.4)

    def write_figures(self, figures: Sequence[_Figure], x: float, y: int, size: int) -> None:
        """Write texts in one line, as many as there is room for."""
        line: _Figure = []
        for figure in figures:
            longer = [*line, *([("     ", _INK)] if line else []), *figure]
            width = _measure("".join(text for text, _ in longer), size) * _BOLD
            if x + width <= WIDTH - _MARGIN:
                line = longer
        self._add_text(line, x, y, size, 600)

    def _add_text(
        self,
        pieces: _Figure,
        x: float,
        y: int,
        size: int,
        weight: int,
        anchor: str = "start",
    ) -> None:
        """Write a line of text in pieces of one colour each."""
        spans = "".join(
            f'<tspan fill="{colour}">{html.escape(make_visible(text))}</tspan>'
            for text, colour in pieces
        )
        self._elements.append(
            f'<text x="{x:.0f}" y="{y}" font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}" xml:space="preserve">{spans}</text>'
        )

    def finish(self, title: str) -> str:
        """Return the picture as text."""
        name = html.escape(make_visible(title))
        return (
            '<svg data-vacr="summary" xmlns="http://www.w3.org/2000/svg" '
            f'width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="{_FONT}">\n'
            f"<title>{name}</title>\n" + "\n".join(self._elements) + "\n</svg>\n"
        )


def _wrap(words: Sequence[str], size: int, width: float) -> Iterator[str]:
    """Yield lines of at most `width`; a longer word goes on in the next line."""
    line = ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if line and _measure(longer, size) > width:
            yield line
            longer = word
        while len(line := _cut(longer, size, width)) < len(longer):
            yield line
            longer = longer[len(line) :]
    if line:
        yield line


def _cut(text: str, size: int, width: float) -> str:
    """Return the beginning of a text that fits into `width`."""
    used = 0.0
    for at, character in enumerate(text):
        used += _measure_character(character) * size
        if used > width:
            return text[:at]
    return text
