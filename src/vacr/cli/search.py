"""`vacr search`: the words of all conversations on this machine.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["search", "rounding", "--path", "examples/claude-code.jsonl", "-n", "1"])
    6f0d1c52  claude-code  /home/mira/invoice  Fix invoice rounding
      2026-03-14 ...  reasoning  Totals off by a cent smell of float or late rounding. Read the ...
    <BLANKLINE>
    1 hit in 1 conversation
    0

The first search reads all sessions, and shows its progress. Later ones read only what changed.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import click
from rich.cells import cell_len

from vacr.agents import HUMAN, UNKNOWN_SPEAKER
from vacr.archive import (
    ContextEntry,
    SearchHit,
    SearchIndex,
    SearchQuery,
    SearchResult,
    list_context,
    search_entries,
    split_snippet,
)
from vacr.cli.index_answers import answer_from_index
from vacr.cli.options import PATH, Verb, complete_agent, streaming_voice_options
from vacr.cli.selection import check_agent_name
from vacr.console import (
    Voice,
    cut_to_width,
    get_terminal_width,
    join_escaped_lines,
    print_text,
    truncate_start,
)
from vacr.errors import escape_unprintable
from vacr.files import make_absolute
from vacr.viewer import PROMPTS, ROW_KINDS
from vacr.workflows import (
    abbreviate_home,
    format_count,
    parse_moment,
    shorten_session_ids,
)

_EXIT_NO_MATCH = 1
_MAX_LIMIT = 10_000
_CONTEXT_LENGTH = 120
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("--phrase", is_flag=True, help="Find the words as one phrase, in this order.")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Only conversations of this agent.",
)
@click.option(
    "--repo", metavar="TEXT", help="Only sessions in repositories whose address has this text."
)
@click.option(
    "--project", metavar="FOLDER", type=PATH, help="Only sessions that worked in this folder."
)
@click.option("--tool", metavar="NAME", help="Only calls of this tool.")
@click.option("--only", type=click.Choice((*ROW_KINDS, PROMPTS)), help="Only entries of this kind.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only from this time on: a date, `yesterday`, or `3d` for three days ago.",
)
@click.option(
    "--until", metavar="TIME", help="Only until this time; a date includes its whole day."
)
@click.option("--errors", is_flag=True, help="Only failed calls, and events that report an error.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, _MAX_LIMIT),
    metavar="N",
    default=20,
    show_default=True,
    help="Show the N newest hits.",
)
@click.option(
    "--context",
    type=click.IntRange(0, 100),
    metavar="N",
    default=0,
    help="Show N entries before and after each hit.",
)
@click.option(
    "--path",
    metavar="FILE|FOLDER",
    type=PATH,
    multiple=True,
    help="Search the records or sessions at this path, not those of this machine; repeatable.",
)
@streaming_voice_options
def command(
    words: tuple[str, ...],
    phrase: bool,
    agent: str | None,
    repo: str | None,
    project: str | None,
    tool: str | None,
    only: str | None,
    since: str | None,
    until: str | None,
    errors: bool,
    limit: int,
    context: int,
    path: tuple[str, ...],
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Search the text of all conversations on this machine, the newest hits first.

    All words must occur in one entry, in any order; case and accents do not matter. No character is
    special. `vacr show ID` shows a conversation that was found. The index is in vacr's state
    folder, only you can read it, and it is brought up to date first. Texts that vacr knows to be
    secrets are not in it.

    \b
    Example:
      vacr search connection refused
      vacr search --phrase "no such file" --errors --since yesterday
      vacr search rounding --repo acme/pay --tool Edit --context 3
    """
    voice = Voice(format, quiet, verbose)
    now = datetime.now().astimezone()
    query = SearchQuery(
        words,
        is_phrase=phrase,
        agent=check_agent_name(agent),
        repo=repo or "",
        project=make_absolute(project) if project else "",
        tool=tool or "",
        kind=only or "",
        since_ms=parse_moment(since, "--since", now) if since else None,
        until_ms=parse_moment(until, "--until", now, is_end=True) if until else None,
        only_errors=errors,
        limit=limit,
    )

    def find_hits(index: SearchIndex) -> tuple[SearchResult, list[list[ContextEntry]], list[Any]]:
        """Return the hits, the entries around each, and the sessions with their parents."""
        result = search_entries(index.connection, query)
        around = [
            list_context(index.connection, hit.record, hit.n, context) if context else []
            for hit in result.hits
        ]
        sessions = index.connection.execute("SELECT DISTINCT session, parent FROM records")
        return result, around, sessions.fetchall()

    result, contexts, sessions = answer_from_index(find_hits, voice, path)
    _report(result, query, contexts, _shorten_ids(sessions), voice, is_at_path=bool(path))
    if path and not sessions:
        where = ", ".join(path)
        voice.notice(f"vacr: no sessions found in {where}. Check the paths after --path.")
    return 0 if result.count else _EXIT_NO_MATCH


def _report(
    result: SearchResult,
    query: SearchQuery,
    contexts: list[list[ContextEntry]],
    short_ids: dict[str, str],
    voice: Voice,
    *,
    is_at_path: bool,
) -> None:
    """Print the hits with their contexts, grouped by conversation, and how many there are.

    `is_at_path` says that they are in files that the user named, and not in this machine's stores.
    """
    documents = []
    pairs = zip(result.hits, contexts, strict=True)
    for _, hits in groupby(pairs, key=lambda pair: pair[0].record):
        for number, (hit, around) in enumerate(hits):
            document = _build_hit_document(hit, around)
            documents.append(document)
            voice.line(document)
            if not number:
                voice.result(_cut_line(_format_conversation(hit, short_ids[hit.session])))
                if voice.verbose:
                    voice.result(f"  {abbreviate_home(hit.path)}")
            _print_hit(hit, around, voice)
        voice.result("")
    voice.data({"hits": documents, "count": result.count, "conversations": result.record_count})
    if not short_ids:
        return  # The caller reports that there are no sessions.
    if not result.count:
        words = " ".join(query.words)
        advice = "Fewer words or options find more."
        if len(query.words) == 1:
            advice = "Words are found whole: check the spelling, or use fewer options."
        voice.notice(f"vacr: no entries match: {words}. {advice}")
        return
    hits_text = format_count(result.count, "hit")
    found = f"{hits_text} in {format_count(result.record_count, 'conversation')}"
    more = f"; the newest {len(result.hits)} are shown" if result.count > len(result.hits) else ""
    voice.result(f"{found}{more}")
    first = result.hits[0]
    named = shlex.quote(first.path) if is_at_path else short_ids[first.session]
    voice.tip(f"To read one: vacr show {named}")


def _shorten_ids(sessions: list[tuple[str, str]]) -> dict[str, str]:
    """Return a beginning of each session's id that other verbs accept as its name.

    A beginning that two sessions share is refused, but sub-agents, which have a parent, do not
    count in that.
    """
    roots = shorten_session_ids(session for session, parent in sessions if not parent)
    return shorten_session_ids(session for session, _ in sessions) | roots


def _build_hit_document(hit: SearchHit, around: list[ContextEntry]) -> dict[str, Any]:
    """Return a hit for JSON output; found words are marked in the text by `**`."""
    document: dict[str, Any] = {
        "agent": hit.agent,
        "session": hit.session,
        "path": hit.path,
        "place": hit.place,
        "time": hit.time_ms,
        "kind": hit.kind,
        "tool": hit.tool,
        "is-error": hit.is_error,
        "title": hit.title,
        "project": hit.project,
        "repository": hit.repo,
        "text": "".join(f"**{text}**" if is_word else text for text, is_word in _split(hit)),
    }
    if around:
        document["context"] = [
            {"kind": entry.kind, "tool": entry.tool, "text": entry.text} for entry in around
        ]
    return document


def _split(hit: SearchHit) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a hit's text in one line, and whether each is a word of the search."""
    return ((re.sub(r"\s+", " ", text), is_word) for text, is_word in split_snippet(hit.snippet))


def _format_conversation(hit: SearchHit, short_id: str) -> str:
    """Return the line above the hits of a conversation: id, agent, project, title."""
    project = abbreviate_home(hit.project) or hit.repo
    shown = (short_id, hit.agent, project, join_escaped_lines(hit.title))
    return "  ".join(filter(None, shown))


def _name_author(hit: SearchHit) -> str:
    """Return who wrote an entry: its kind, or the host, a hook or another agent."""
    is_person = hit.speaker in ("", HUMAN, UNKNOWN_SPEAKER)
    return hit.kind if is_person else hit.speaker


def _cut_line(text: str) -> str:
    """Return a line that fits into the terminal, if there is one."""
    width = get_terminal_width(sys.stdout)
    return text if width is None else cut_to_width(escape_unprintable(text), width)


def _print_hit(hit: SearchHit, around: list[ContextEntry], voice: Voice) -> None:
    """Print a hit, with the found words in bold on a terminal, and the entries around it."""
    if voice.json or voice.quiet:
        return
    for entry in around:
        if entry.n < hit.n:
            voice.result(_cut_line(f"      {entry.tool or entry.kind}: {_shorten(entry.text)}"))
    when = ""
    if hit.time_ms is not None:
        moment = datetime.fromtimestamp(hit.time_ms / 1000, UTC).astimezone()
        when = f"{moment:%Y-%m-%d %H:%M}"
    mark = "failed " if hit.is_error else ""
    head = "  ".join(filter(None, (when, f"{mark}{hit.tool or _name_author(hit)}")))
    print_text(_format_hit_line(f"  {escape_unprintable(head)}  ", hit))
    if voice.verbose:
        voice.result(f"    --entry {hit.place}")
    for entry in around:
        if entry.n > hit.n:
            voice.result(_cut_line(f"      {entry.tool or entry.kind}: {_shorten(entry.text)}"))


def _format_hit_line(head: str, hit: SearchHit) -> str:
    """Return the line of a hit, with found words in bold, and cut to fit into the terminal."""
    width = get_terminal_width(sys.stdout)
    pieces = [(escape_unprintable(text), is_word) for text, is_word in _split(hit)]
    if width is None:
        return head + "".join(text for text, _ in pieces)
    line, left = head, width - cell_len(head)
    if pieces and not pieces[0][1] and sum(cell_len(text) for text, _ in pieces) > left:
        # The found word must be on the screen, not only the text before it.
        pieces[0] = (_keep_last_words(pieces[0][0], max(left // 3, 1)), False)
    for text, is_word in pieces:
        shown = cut_to_width(text, max(left, 1))
        line += f"{_BOLD}{shown}{_PLAIN}" if is_word else shown
        left -= cell_len(shown)
        if left <= 0 or shown != text:
            break
    return line


def _keep_last_words(text: str, width: int) -> str:
    """Return a text, or `…` and the words at its end that fit; a part of a word if none fits."""
    end = truncate_start(text, width)
    if end == text or text.endswith(f" {end[1:]}"):
        return end
    words = end.partition(" ")[2]
    return f"…{words}" if words.strip() else end


def _shorten(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _CONTEXT_LENGTH else f"{line[: _CONTEXT_LENGTH - 1]}…"
