r"""A record as Markdown, for tickets and for handing work over. Follows CommonMark 0.31.

Turns are in their order, tool calls take a line each, and edits are diffs. Outputs of tools are
left to the record, unless they failed; images are named and never embedded.

The text is foreign, and must not break out. Messages are quoted, so that they cannot pass for a
turn of the conversation. Code blocks get a fence longer than any in them. Everywhere else, HTML,
images and links are defused: a page made of the Markdown loads nothing and runs nothing.

    >>> from vacr.exchange.markdown import quote_text
    >>> print(*quote_text("## Approved\n<img src=//evil.example> [ok](//evil.example)"), sep="\n")
    > ## Approved
    > &lt;img src=//evil.example> [ok]\(//evil.example)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_events,
    count_lost_members,
    is_encrypted_reasoning,
    select_rows,
)
from vacr.model import JsonObject, Timestamp
from vacr.record import format_timestamp
from vacr.viewer import (
    ASSISTANT_ROW,
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    ContentPart,
    FileDiff,
    ImagePart,
    Row,
    TextPart,
    Totals,
    count_totals,
    format_json,
    make_visible,
)

SHOWN_SESSION_MEMBERS = frozenset(
    (
        "session-start",
        "session-end",
        "cli-name",
        "cli-version",
        "model-id",
        "models",
        "working-dir",
        "repository",
        "branch",
        "revision",
    )
)
"""The members that `format_title` and `list_session_facts` show."""
OMITTED_ENTRY_MEMBERS = (
    "id",
    "parent-id",
    "call-id",
    "stop-reason",
    "status",
    "subject",
    "token-usage",
)
"""The members of entries that people do not get to see."""

_ROW_HEADINGS = {USER_ROW: "## User", ASSISTANT_ROW: "### Assistant", REASONING_ROW: "### Thought"}

_FENCE_LINE = re.compile(r" {0,3}(?:(?P<ticks>`{3,})(?P<info>[^`]*)|(?P<tildes>~{3,})(?P<rest>.*))")
_MIN_FENCE_LENGTH = 3
_MAX_FENCE_INDENT = 3
_BACKTICKS = re.compile("`+")
_LANGUAGE_NAME = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
_CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ACTIVE_MARKUP = re.compile(r"[<&]|!\[|\]\(|\]\[|\]:")
_PUNCTUATION = re.compile(r"[!-,.:-@\[-`{-~]")
_SPECIAL_CHARACTER = re.compile(r"[^A-Za-z0-9 .,:/-]")


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as Markdown."""
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, request.chosen, losses)
    if EVENT_ROW not in request.chosen.kinds:
        hidden = [row for row in kept if row.kind == EVENT_ROW and not row.is_error]
    else:
        hidden = []
    count_lost_events(hidden, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *OMITTED_ENTRY_MEMBERS, about=SHOWN_SESSION_MEMBERS)
    lines = [f"# {escape_markdown(format_title(record))}", ""]
    for name, value in list_session_facts(record, request, left_out):
        lines.append(f"- {name}: {format_code(value)}")
    hidden_places = {row.place for row in hidden}
    in_list = False
    for row in kept:
        if row.place in hidden_places or is_encrypted_reasoning(row):
            continue
        is_item = row.kind in (TOOL_ROW, EVENT_ROW)
        # Items that follow each other are one list.
        if not (is_item and in_list and lines[-1].startswith("- ")):
            lines.append("")
        lines += _render_row(row, losses)
        in_list = is_item
    lines += ["", "---", ""]
    lines += [f"- {name}: {value}" for name, value in list_totals(count_totals(record, kept))]
    return ExportedDocument(("\n".join(lines) + "\n").encode(), losses, left_out)


# Facts about a conversation, also for the HTML export


def format_title(record: JsonObject) -> str:
    """Return the names of the agent and its models."""
    meta = record["session"].get("agent-meta", {})
    agent = " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
    models = ", ".join(map(str, meta.get("models") or [meta.get("model-id", "unknown")]))
    return f"{agent or 'an agent'}, {models}"


def list_session_facts(
    record: JsonObject, request: ExportRequest, left_out: int
) -> list[tuple[str, str]]:
    """Return names and values of facts that identify the conversation and its record."""
    session = record["session"]
    vcs = record.get("vcs", {})
    version = [str(vcs[name]) for name in ("repository", "branch", "revision") if name in vcs]
    facts = [
        ("session", str(session["session-id"])),
        ("folder", str(session.get("environment", {}).get("working-dir", ""))),
        ("repository", " ".join(version)),
        ("began", _format_time(session.get("session-start"))),
        ("ended", _format_time(session.get("session-end"))),
        ("record", record["id"]),
        ("SHA-256 of the record", request.digest),
        ("left out", f"{left_out} rows, by filters" if left_out else ""),
    ]
    return [(name, value) for name, value in facts if value]


def _format_time(time: Timestamp | None) -> str:
    return (format_timestamp(time) if time is not None else None) or ""


def list_totals(totals: Totals) -> list[tuple[str, str]]:
    """Return names and values of the totals of a conversation."""
    facts = [
        ("prompts", str(totals.prompts)),
        ("tool calls", str(totals.calls)),
        ("errors", str(totals.errors)),
    ]
    if totals.files:
        facts.append(("files", f"{len(totals.files)} (+{totals.added} -{totals.removed})"))
    if totals.tokens:
        tokens = totals.tokens
        facts.append(("tokens", f"{tokens['input']:,} in, {tokens['output']:,} out"))
    if totals.cost:
        facts.append(("cost", f"{totals.cost:.2f} $"))
    return facts


def format_row_time(row: Row) -> str:
    """Return the time of a row, to the second."""
    return _format_time(row.time)[:19].replace("T", " ")


def describe_image(image: ImagePart) -> str:
    """Describe an image by its name or type, and its size."""
    size = f", {len(image.data) * 3 // 4} bytes" if image.data else ""  # base64
    return f"image {image.name or image.media_type or 'of no type'}{size}"


# Rows


def _render_row(row: Row, losses: ExportLosses) -> Iterator[str]:
    if row.kind == EVENT_ROW:
        failed = " ✗" if row.is_error else ""
        yield f"- {format_code(row.summary)} {format_row_time(row)}{failed}".rstrip()
        if "data" in row.entry:
            losses["data of events"] += 1
    elif row.kind == TOOL_ROW:
        yield from _render_tool_call(row, losses)
    else:
        model = row.model if row.kind != USER_ROW else ""
        details = (row.agent, model, row.superseded, format_row_time(row))
        shown = [escape_markdown(detail) for detail in details if detail]
        yield " · ".join([_ROW_HEADINGS[row.kind], *shown])
        yield from _render_parts(row.parts, losses)


def _render_tool_call(row: Row, losses: ExportLosses) -> Iterator[str]:
    call = "a result without its call"
    if row.tool:
        call = " ".join(filter(None, (format_code(row.tool), format_code(row.summary))))
    agent = f"{escape_markdown(row.agent)}: " if row.agent else ""
    yield f"- {agent}{call}{' ✗' if row.is_error else ''}"
    arguments = row.entry.get("input")
    if isinstance(arguments, dict) and len(arguments) > 1:
        losses["inputs of tools, told in a line"] += 1
    for diff in row.diffs:
        yield from _render_diff(diff)
    output = (row.result or row).parts
    if row.is_error:
        yield from _render_parts(output, losses)
    elif output:
        losses["outputs of tools"] += 1


def _render_diff(diff: FileDiff) -> Iterator[str]:
    yield ""
    yield f"{format_code(diff.path)} (+{diff.added} -{diff.removed})"
    if diff.lines:
        lines = [visible for line in diff.lines for visible in make_visible(line).split("\n")]
        yield ""
        yield from _fence_lines(lines, "diff")


def _render_parts(parts: list[ContentPart], losses: ExportLosses) -> Iterator[str]:
    for part in parts:
        yield ""
        if isinstance(part, TextPart):
            yield from quote_text(part.text)
        elif isinstance(part, ImagePart):
            losses["images"] += 1
            yield f"> {format_code(f'[{describe_image(part)}]')}"
        else:
            lines = make_visible(format_json(part.value)).split("\n")
            for line in _fence_lines(lines, "json"):
                yield f"> {line}"


# Foreign text


def quote_text(text: str) -> Iterator[str]:
    """Yield the lines of a text as a quotation, with defused markup."""
    for line in _defuse_lines(make_visible(text).strip("\n").split("\n")):
        yield f"> {line}".rstrip()


def format_code(text: str) -> str:
    """Return a text as code within a line."""
    line = _make_one_line(text)
    if not line:
        return ""
    ticks = "`" * (_count_longest_backticks([line]) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def escape_markdown(text: str) -> str:
    """Return a text within a line, without any meaning in Markdown."""
    return _SPECIAL_CHARACTER.sub(
        lambda special: f"&#{ord(special[0])};" if special[0].isascii() else special[0],
        _make_one_line(text),
    )


def format_table_cell(text: str) -> str:
    """Return a text as code in a table cell, without meaning to Markdown or to its extensions."""
    escaped = _PUNCTUATION.sub(lambda mark: f"&#{ord(mark[0])};", _make_one_line(text))
    return f"<code>{escaped}</code>"


def _make_one_line(text: str) -> str:
    return " ".join(make_visible(text).split())


def _fence_lines(lines: list[str], language: str = "") -> Iterator[str]:
    """Yield lines as a block of code."""
    fence = "`" * max(_MIN_FENCE_LENGTH, _count_longest_backticks(lines) + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _count_longest_backticks(lines: list[str]) -> int:
    return max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)


def _defuse_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines without active markup, and blocks of code in fences of our own."""
    index = 0
    while index < len(lines):
        opening = _FENCE_LINE.fullmatch(lines[index])
        index += 1
        if opening is None:
            yield _defuse_line(lines[index - 1])
            continue
        mark = opening["ticks"] or opening["tildes"]
        language = _LANGUAGE_NAME.match((opening["info"] or opening["rest"] or "").strip())
        code = []
        while index < len(lines) and not _closes_fence(lines[index], mark):
            code.append(lines[index])
            index += 1
        index += 1
        yield from _fence_lines(code, language[0] if language else "")


def _closes_fence(line: str, mark: str) -> bool:
    fence = line.strip()
    indent = len(line) - len(line.lstrip())
    is_fence = len(fence) >= len(mark) and set(fence) == {mark[0]}
    return is_fence and indent <= _MAX_FENCE_INDENT


def _defuse_line(line: str) -> str:
    """Return a line without HTML, images and links.

    A code span with such markup in it becomes a `<code>` element, because backslashes would show.
    """
    if not _ACTIVE_MARKUP.search(line):
        return line
    pieces, last = [], 0
    for span in _CODE_SPAN.finditer(line):
        if _ACTIVE_MARKUP.search(span[1]):
            pieces.append(_defuse_markup(line[last : span.start()]))
            pieces.append(f"<code>{escape_markdown(span[1])}</code>")
            last = span.end()
    pieces.append(_defuse_markup(line[last:]))
    return "".join(pieces)


def _defuse_markup(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = text.replace("![", "!\\[").replace("](", "]\\(")
    return text.replace("][", "]\\[").replace("]:", "]\\:")
