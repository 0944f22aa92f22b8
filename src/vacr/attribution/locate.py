"""The place of a change in a partly known file.

A successful call that names a text once proves that the file contained it once. So a single place
in the known lines is the place, however little of the file is known. Several places, or none, prove
that the known lines are outdated: then the place is unknown, until the session shows the new lines.

A host may add line numbers: in a hunk that it recorded with the result, or in a notice. Some hosts
keep the text of each file that they have read as a whole or written, and show the model where the
file on disk differs from it. Such a notice has hunks with eight lines around each change, as they
are now, and numbers that count from where the hunk began in the kept text.

    >>> from vacr.attribution.file_state import FileState
    >>> from vacr.attribution.locate import apply_edits
    >>> from vacr.edits import Edit
    >>> state = FileState()
    >>> state.observe(40, ["limit = 3\\n", "retry = 3\\n"], maker=0)
    True
    >>> apply_edits(state, [Edit("limit = 3", "limit = 5")], maker=-1)
    [(40, 40)]
    >>> apply_edits(state, [Edit("timeout", "delay")], maker=-2) is None
    True
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile

from vacr.attribution.chunks import Chunk, LineRanges, group_line_ranges
from vacr.attribution.file_state import FileState
from vacr.attribution.reconcile import reformat_line, unattribute_reverted_lines
from vacr.edits import (
    AppliedPatch,
    Edit,
    FileWrite,
    Hunk,
    ObservedLines,
    PatchHunk,
    Replacement,
    find_patch_lines,
    list_hunk_variants,
    render_as_host,
    split_keeping_ends,
    strip_line_end,
)

# A shorter text may occur anywhere.
_MIN_DISTINCTIVE_LENGTH = 8
_LEADING_TABS = re.compile(r"\t+")
_LEADING_SPACE_PAIRS = re.compile(r"(?: {2})+")
_NOTICE_CONTEXT_LINES = 8

NoticeHunk = tuple[int, list[str]]
"""The number of a hunk's first line in the text that the host kept, and its lines as they are now.
"""


# --- edits by text ---


def apply_edits(file: FileState, edits: Sequence[Edit], maker: int) -> LineRanges | None:
    """Apply edits in order, and return the ranges of the lines that they wrote.

    These lines get `maker`. Return `None` if no edit was applied: there is none, or its place is
    not certain.
    """
    if len(edits) > 1:
        return _apply_edit_sequence(file, edits, maker)
    plan = _plan_edit(file, edits[0]) if edits else None
    if plan is None and len(file.chunks) > 1 and edits:
        file.join_chunks()
        plan = _plan_edit(file, edits[0])
    if plan is not None and _apply_lost_indentation(file, *plan):
        plan = _plan_edit(file, edits[0])
    return None if plan is None else _rewrite_hits(file, *plan, maker)


def _apply_lost_indentation(file: FileState, edit: Edit, hits: Sequence[tuple[Chunk, int]]) -> bool:
    """Remove the indentation of a known line if the edit shows that the file has lost it.

    An edit of whole lines whose text begins after the indentation shows that. Return whether a
    line was changed.
    """
    first, _, rest = edit.old.partition("\n")
    whole = edit.old.endswith("\n") or (rest and first in edit.new.split("\n")[1:])
    if not file.may_have_moved or len(hits) != 1 or not whole:
        return False
    chunk, at = hits[0]
    start = chunk.text.rfind("\n", 0, at) + 1
    if not chunk.text[start:at].isspace():
        return False
    i = chunk.text.count("\n", 0, start)
    reformat_line(file, chunk, i, chunk.lines[i].lstrip(" \t"))
    return True


def _apply_edit_sequence(file: FileState, edits: Sequence[Edit], maker: int) -> LineRanges | None:
    """Apply several edits: to the whole text as one change, or else where each is found.

    Return the ranges of the lines they wrote, or `None` if none was applied. In a whole text, all
    of them apply or none; otherwise, the first one without a certain place ends the sequence.
    Written lines get `maker`.
    """
    text = file.text
    if text is not None:
        for edit in edits:
            old, new = edit.old, file.convert_line_ends(edit.new)
            if old not in text:
                old, new = old.replace("\n", "\r\n"), _convert_to_crlf(edit.new)
            if old not in text:
                return None
            text = text.replace(old, new) if edit.every else text.replace(old, new, 1)
        return file.write_text(text, maker)
    for number, edit in enumerate(edits):
        plan = _plan_edit(file, edit)
        if plan is None:
            if any(rest.old.count("\n") != rest.new.count("\n") for rest in edits[number:]):
                file.mark_stale()  # It may have moved the lines that the others wrote.
            return _list_maker_ranges(file, maker) or None
        _rewrite_hits(file, *plan, maker)
    return _list_maker_ranges(file, maker)


def _list_maker_ranges(file: FileState, maker: int) -> LineRanges:
    """Return the ranges of all lines that have this maker, with their present numbers."""
    return [
        pair
        for chunk in file.chunks
        for pair in group_line_ranges(
            [chunk.first + i for i, other in enumerate(chunk.makers) if other == maker]
        )
    ]


def _plan_edit(file: FileState, edit: Edit) -> tuple[Edit, list[tuple[Chunk, int]]] | None:
    """Return an edit with the line ends of the file, and the chunk and offset of each place.

    An edit without old text has no places; it writes a file without known lines. Return `None` if
    the place is not certain.
    """
    if not edit.old:
        return (edit, []) if not file.chunks else None
    for spelled in (
        Edit(edit.old, file.convert_line_ends(edit.new), edit.every),
        Edit(_convert_to_crlf(edit.old), _convert_to_crlf(edit.new), edit.every),
    ):
        hits = list(file.find_text(spelled.old))
        if hits:
            certain = edit.every or (len(hits) == 1 and not _would_join_lines(file, edit, *hits[0]))
            return (spelled, hits) if certain else None
        if "\n" not in edit.old or "\r" in edit.old:
            break
    return None


def _convert_to_crlf(text: str) -> str:
    """Return a text where each line ends in CR LF."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _would_join_lines(file: FileState, edit: Edit, chunk: Chunk, at: int) -> bool:
    """Return whether the edit at offset `at` would join two lines of a partly known file.

    Agents rarely join lines, so the file probably has an empty line there that is unknown.
    """
    return (
        edit.old[:1] == "\n" != edit.new[:1]
        and not file.is_whole
        and chunk.text[max(0, at - 1) : at] not in ("", "\n")
    )


def _rewrite_hits(
    file: FileState, edit: Edit, hits: Sequence[tuple[Chunk, int]], maker: int
) -> LineRanges:
    """Apply an edit at the chunks and offsets in `hits`; return the ranges of the written lines.

    Without hits, the new text becomes the whole file. Written lines get `maker`.
    """
    if not hits:
        return file.write_text(edit.new, maker)
    written: LineRanges = []
    for chunk in {id(chunk): chunk for chunk, _ in hits}.values():
        places = [at for other, at in hits if other is chunk]
        start, stop = places[0], places[-1] + len(edit.old)
        text = chunk.text[start:stop].replace(edit.old, edit.new) if len(places) > 1 else edit.new
        written += file.change_chunk(chunk, partial(chunk.rewrite, start, stop, text, maker))
    return written


def place_shown_edit(
    file: FileState, edits: Sequence[Edit], seen: Sequence[ObservedLines], maker: int, outside: int
) -> LineRanges | None:
    """Apply edits at the place that the numbered lines of their result show.

    `seen` are these lines, `outside` is the maker of shown lines that contradict known ones. Return
    the ranges of the lines that the edits wrote, or `None` if the result does not show the place.
    """
    for look in seen:
        text = "".join(look.lines)
        for edit in edits:
            if len(edit.new.strip()) >= _MIN_DISTINCTIVE_LENGTH and text.count(edit.new) == 1:
                file.observe(
                    look.first, split_keeping_ends(text.replace(edit.new, edit.old)), outside
                )
                return apply_edits(file, edits, maker)
    return None


# --- hunks that a host recorded ---


def matches_hunks(file: FileState, hunks: Sequence[Hunk]) -> bool:
    """Return whether the whole file is known, and has the lines that the hunks expect."""
    if not file.is_whole:
        return False
    lines = [strip_line_end(line) for line in file.chunks[0].lines] if file.chunks else []
    for hunk in hunks:
        before, at = [strip_line_end(line) for line in hunk.before()], max(hunk.old_first, 1) - 1
        if before and lines[at : at + len(before)] != before:
            return False
    return True


def adds_to_edits(hunks: Sequence[Hunk], edits: Sequence[Edit]) -> bool:
    """Return whether recorded hunks show that more than the edits changed, as a formatter does.

    Return `False` where the hunks do not show all old texts of the edits.
    """
    if not hunks:
        return False
    before = ["".join(hunk.before()) for hunk in hunks]
    after = ["".join(hunk.after()) for hunk in hunks]
    for edit in edits:
        if not edit.old or not any(edit.old in text for text in before):
            return False
        before = [text.replace(edit.old, edit.new) for text in before]
    return before != after


def confirms_hunk_places(file: FileState, hunks: Sequence[Hunk]) -> bool:
    """Return whether certain lines confirm the line numbers of hunks, and none contradicts them."""
    known = {
        chunk.first + i: strip_line_end(line)
        for chunk in file.chunks
        if chunk.fresh
        and any(
            chunk.first < hunk.old_first + len(hunk.lines) and hunk.old_first < chunk.next
            for hunk in hunks
        )
        for i, line in enumerate(chunk.lines)
    }
    same = 0
    for hunk in hunks:
        for number, line in enumerate(hunk.before(), hunk.old_first):
            if known.get(number, strip_line_end(line)) != strip_line_end(line):
                return False
            same += number in known and bool(line.strip())
    return same > 0


def apply_recorded_hunks(
    file: FileState, hunks: Sequence[Hunk], maker: int, outside: int
) -> LineRanges | None:
    """Apply hunks at the line numbers that the host recorded.

    Added lines get `maker`; `outside` is the maker of old lines that contradict known ones. Return
    the ranges of the added lines, or `None` if a hunk cannot be applied.
    """
    written: LineRanges = []
    for hunk in hunks:
        file.observe(max(hunk.new_first, 1), hunk.before(), outside)
        ranges = file.apply_hunk(max(hunk.new_first, 1), hunk.lines, maker)
        if ranges is None:
            return None
        written += ranges
    return written


def restore_hunk_tabs(
    hunks: Sequence[Hunk], known: Callable[[int], str | None], edits: Sequence[Edit]
) -> list[Hunk]:
    """Return hunks with the tabs of the file; `known` returns an earlier line by its number.

    Some hosts record a patch with two spaces for each tab that indents a line. The known lines of
    the file, and the arguments of the call, show which lines have tabs.
    """
    return [
        replace(hunk, lines=list(_restore_line_tabs(hunk, known, edits)))
        if hunk.tabs_as_spaces
        else hunk
        for hunk in hunks
    ]


def _restore_line_tabs(
    hunk: Hunk, known: Callable[[int], str | None], edits: Sequence[Edit]
) -> Iterator[str]:
    """Yield the signed lines of a hunk, with tabs for pairs of spaces where the file has tabs.

    `known` and `edits` have the same meaning as in `restore_hunk_tabs`.
    """
    written = {
        _expand_leading_tabs(line): line
        for edit in edits
        for text in (edit.old, edit.new)
        for line in text.split("\n")
    }
    number = max(hunk.old_first, 1)
    rows = []
    for line in hunk.lines:
        text, before = strip_line_end(line[1:]), None
        if line[:1] != "+":
            before, number = known(number), number + 1
        exact = written.get(text)
        if before is not None and _expand_leading_tabs(strip_line_end(before)) == text:
            exact = strip_line_end(before)
        rows.append((line, text, exact))
    exact_lines = [*written.values(), *(exact for _, _, exact in rows if exact)]
    has_tabs = any(exact.startswith("\t") for exact in exact_lines)
    has_spaces = any(exact.startswith("  ") for exact in exact_lines)
    for line, text, exact in rows:
        spelled = text
        if exact is not None:
            spelled = exact
        elif has_tabs and not has_spaces and text[:1] == " ":
            spelled = _LEADING_SPACE_PAIRS.sub(_replace_space_pairs, text, count=1)
        yield line[:1] + spelled + line[1 + len(text) :]


def _expand_leading_tabs(line: str) -> str:
    """Return a line with two spaces for each tab at its beginning."""
    tabs = _LEADING_TABS.match(line)
    return "  " * len(tabs[0]) + line[tabs.end() :] if tabs else line


def _replace_space_pairs(pairs: re.Match[str]) -> str:
    """Return one tab for each pair of spaces in a match."""
    return "\t" * (len(pairs[0]) // 2)


# --- patches without line numbers ---


def apply_patch_hunks(file: FileState, parts: Sequence[PatchHunk], maker: int) -> LineRanges | None:
    """Apply the hunks of a patch without line numbers, from the top of the file to its end.

    Return the ranges of the added lines, or `None`, without a change, if a hunk has no certain
    place. The added lines get `maker`.
    """
    places, after = [], 1
    for part in parts:
        place = _find_hunk_place(file, part, after)
        if place is None:
            return None
        places.append(place)
        after = place[0].first + place[1] + len(place[2])
    if file.may_have_moved:
        unattribute_reverted_lines(file)  # Do so before the layout of lines changes.
    written: LineRanges = []
    moved: dict[int, int] = {}
    for chunk, unmoved_at, old, lines in places:
        at = unmoved_at + moved.get(id(chunk), 0)
        before = len(chunk.lines)
        for i, line in enumerate(old, at):
            if file.may_have_moved and strip_line_end(chunk.lines[i]) != line:
                # The patch has the line in its present layout, so that changed since it was seen.
                reformat_line(file, chunk, i, line + _get_line_end(chunk, i))
        new = [line + _get_line_end(chunk, at) for line in lines]
        written += file.change_chunk(chunk, partial(chunk.splice, at, at + len(old), new, maker))
        moved[id(chunk)] = moved.get(id(chunk), 0) + len(chunk.lines) - before
    return written + _end_last_line(file, maker)


def _end_last_line(file: FileState, maker: int) -> LineRanges:
    """Add a line end to the last line if it has none, as the patch tool always does.

    Return the range of that line, now the maker's. Return no range if nothing changed, or if the
    file is not known as a whole: then the line may have had an end before.
    """
    chunk = file.chunks[-1] if file.chunks else None
    if chunk is None or not chunk.lines or chunk.lines[-1].endswith("\n"):
        return []
    if not file.is_whole:
        chunk.replace_line(-1, chunk.lines[-1] + _get_line_end(chunk, 0))
        return []
    at = len(chunk.lines) - 1
    return chunk.splice(at, at + 1, [chunk.lines[at] + _get_line_end(chunk, 0)], maker)


def _get_line_end(chunk: Chunk, at: int) -> str:
    """Return the end of the line at an index: CR LF or LF.

    Behind the last line, its end counts. A chunk without lines, and a line without an end, have LF.
    """
    near = chunk.lines[min(at, len(chunk.lines) - 1)] if chunk.lines else ""
    return "\r\n" if near.endswith("\r\n") else "\n"


def _find_hunk_place(
    file: FileState, part: PatchHunk, after: int
) -> tuple[Chunk, int, list[str], list[str]] | None:
    """Find where a hunk applies, at the line number `after` or further down.

    Return the chunk, the index of the first old line in it, the old lines and the new lines. Return
    `None` if the known lines do not show the place.
    """
    for chunk in file.chunks:
        if chunk.next < after:
            continue
        begin, lines = max(0, after - chunk.first), [strip_line_end(line) for line in chunk.lines]
        if part.anchor:
            anchor = find_patch_lines(lines, [part.anchor], begin)
            if anchor is None:
                continue
            begin = anchor + 1
        if not part.old:
            if chunk is file.chunks[-1] and file.is_whole:
                return chunk, len(lines), [], part.new
            continue
        for old, new in list_hunk_variants(part):
            at = find_patch_lines(lines, old, begin, last=part.last and file.is_whole)
            if at is not None:
                return chunk, at, old, new
    return None


# --- diffs that a command printed ---


def apply_shown_diff(text: str, hunks: Sequence[Hunk]) -> str | None:
    """Return the known text of a file with the changes that a printed diff shows.

    A hunk whose new lines are there already changes nothing. Return `None` if a hunk does not fit.
    """
    lines = split_keeping_ends(text)
    for hunk in hunks:
        old, new = hunk.before(), hunk.after()
        at = max(hunk.new_first, 1) - 1
        if _has_lines_at(lines, at, new):
            continue
        stop = at + len(old)
        if not _has_lines_at(lines, at, old):
            found = _find_changed_part(lines, at, hunk)
            if found is None:
                return None
            stop = found
        lines[at:stop] = new
    return "".join(lines)


def _has_lines_at(lines: Sequence[str], at: int, part: Sequence[str]) -> bool:
    """Return whether `lines` has the lines `part` from index `at` on, whatever their line ends."""
    there = lines[at : at + len(part)]
    return len(there) == len(part) and all(map(_is_same_text, there, part))


def _is_same_text(line: str, other: str) -> bool:
    """Return whether two lines are equal but for their line ends."""
    return line == other or strip_line_end(line) == strip_line_end(other)


def _find_changed_part(lines: Sequence[str], at: int, hunk: Hunk) -> int | None:
    """Return the index after the lines that stand for a hunk if a part of it is there already.

    The lines around its changes show where it begins and ends. Return `None` if they do not fit.
    The hunk begins at index `at`.
    """
    signs = "".join(line[:1] for line in hunk.lines)
    lead = len(signs) - len(signs.lstrip(" "))
    trail = len(signs) - len(signs.rstrip(" "))
    after = hunk.after()
    if not lead or not trail or not _has_lines_at(lines, at, after[:lead]):
        return None
    stops = [
        stop
        for stop in range(at + lead + trail, at + len(hunk.lines) + 1)
        if _has_lines_at(lines, stop - trail, after[-trail:])
    ]
    return stops[0] if len(stops) == 1 else None


# --- notices of changed files ---


def apply_notice_hunks(text: str, parts: Sequence[NoticeHunk]) -> tuple[str, bool] | None:
    """Apply the hunks of a notice to the text that the host kept.

    Return the new text, and whether it is known how its last line ends: a hunk that reaches the end
    of the file does not show that. Return `None` unless the hunks fit in exactly one way.
    """
    lines = split_keeping_ends(text)
    old = [strip_line_end(line) for line in lines]
    new: list[str] = []
    at = 0
    for number, (first, shown) in enumerate(parts):
        start = max(first - 1, 0)
        is_last = number == len(parts) - 1
        limit = len(old) if is_last else parts[number + 1][0] - 1
        if not at <= start <= limit <= len(old):
            return None
        if start and shown[:_NOTICE_CONTEXT_LINES] != old[start : start + _NOTICE_CONTEXT_LINES]:
            return None
        stop = _find_hunk_end(old, start, limit, shown, is_last=is_last)
        if stop is None:
            return None
        new += lines[at:start] + [line + "\n" for line in shown]
        at = stop
    new += lines[at:]
    return "".join(new), at < len(old)


def place_notice_hunks(file: FileState, parts: Sequence[NoticeHunk]) -> Iterator[NoticeHunk]:
    """Yield the hunks of a notice with their present line numbers.

    A hunk moves the lines after it. Stop after the first hunk where it is unknown by how much.
    """
    moved = 0
    for number, (first, shown) in enumerate(parts):
        yield first + moved, shown
        limit = parts[number + 1][0] if number + 1 < len(parts) else first
        known = list(
            takewhile(
                lambda line: line is not None, (file.get_line(at) for at in range(first, limit))
            )
        )
        old = [strip_line_end(render_as_host(line)) for line in known if line is not None]
        if first != 1 and shown[:_NOTICE_CONTEXT_LINES] != old[:_NOTICE_CONTEXT_LINES]:
            return
        stop = _find_hunk_end(old, 0, len(old), shown, is_last=False)
        if stop is None:
            return
        moved += len(shown) - stop


def _find_hunk_end(
    old: Sequence[str], start: int, limit: int, shown: Sequence[str], *, is_last: bool
) -> int | None:
    """Return the index in the old lines where a hunk ends.

    The hunk begins at index `start`, and ends at `limit` at the latest: after its last context
    lines, or with the file if it `is_last`. Return `None` if the end is uncertain. `shown` are the
    lines of the hunk as they are now.
    """
    around = list(shown[-_NOTICE_CONTEXT_LINES:])
    stops = [
        stop
        for stop in range(start + len(around), limit + 1)
        if list(old[stop - len(around) : stop]) == around and list(old[start:stop]) != list(shown)
    ]
    has_context = len(around) == _NOTICE_CONTEXT_LINES
    if has_context and len(stops) == 1:
        # Lines that were removed after them, at the end of the file, would not show.
        is_clear = not is_last or len(old) - stops[0] > 2 * _NOTICE_CONTEXT_LINES
        return stops[0] if is_clear else None
    is_ambiguous = has_context and bool(stops)
    reaches_end = is_last and not is_ambiguous and list(old[start:]) != list(shown)
    return len(old) if reaches_end else None


# --- edits whose lines are seen later ---


def convert_to_edits(event: Replacement | AppliedPatch | FileWrite) -> Sequence[Edit]:
    """Return a change as edits of text; appended text replaces an empty text."""
    if isinstance(event, Replacement):
        return event.edits
    if isinstance(event, FileWrite):
        return [Edit("", event.text)]
    return [Edit("\n".join([*part.old, ""]), "\n".join([*part.new, ""])) for part in event.parts]


def anchor_unplaced_edits(
    file: FileState, unplaced: Sequence[tuple[Sequence[Edit], int]]
) -> set[int]:
    """Find the places of changes that were made before their lines were first seen.

    `unplaced` has the edits and the maker of each change. The changes are undone in a copy of the
    lines, the last one first, and made again. Lines that they write there get their maker. Return
    the makers whose place was found.
    """
    placed: set[int] = set()
    kept = {
        maker: {line.strip() for edit in edits for line in edit.old.split("\n")}
        for edits, maker in unplaced
    }
    for chunk in file.chunks:
        text, done = chunk.text, []
        for edits, maker in reversed(unplaced):
            before = _undo_edits(text, edits)
            if before is not None:
                text = before
                done.append((edits, maker))
        copy = FileState.from_text(text)
        for edits, maker in reversed(done):
            _redo_edits(copy, edits, maker)
            placed.add(maker)
        unattribute_reverted_lines(copy, ended=False)
        if copy.text == chunk.text:
            _assign_makers(file, chunk, copy.chunks[0].makers if copy.chunks else [], kept)
    return placed


def _redo_edits(copy: FileState, edits: Sequence[Edit], maker: int) -> None:
    """Apply edits again; a single edit without old text appends its new text.

    Written lines get `maker`.
    """
    if len(edits) == 1 and not edits[0].old and copy.chunks:
        copy.write_text(copy.chunks[0].text + edits[0].new, maker)
    else:
        apply_edits(copy, edits, maker)


def _undo_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """Return the text before the edits, or `None` unless each new text has one certain place."""
    for edit in reversed(edits):
        if len(edit.new.strip()) < _MIN_DISTINCTIVE_LENGTH or text.count(edit.new) != 1:
            return None
        if edit.new[:1] == "\n" and text[max(0, text.index(edit.new) - 1) :][:1] != "\n":
            return None  # The empty line at its beginning is gone.
        if not edit.old and not ("\n" + text).endswith("\n" + edit.new):
            return None  # The appended text may have been elsewhere before.
        text = text.replace(edit.new, edit.old)
    return text


def _assign_makers(
    file: FileState, chunk: Chunk, makers: Sequence[int], kept: Mapping[int, Collection[str]]
) -> None:
    """Assign makers to the lines of a chunk that no agent has made so far.

    `kept` has the old lines of each maker's change; the change did not write these.
    """
    for i, maker in enumerate(makers):
        if maker and not chunk.makers[i] and chunk.lines[i].strip() not in kept[maker]:
            file.base.forget(chunk.places[i])
            chunk.makers[i] = maker
