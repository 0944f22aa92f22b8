"""The parts that all pages share: Markdown tables, moves of members, views of content blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vacr.agents.agent import SessionStore
from vacr.agents.labels import (
    _STATUS_WORDS,
    FAILED_STATUSES,
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    NO_RESULT,
    PARENT_AGENT,
    STATED,
    SUCCESS,
    UNKNOWN_SPEAKER,
)
from vacr.agents.lift import Lift, UsageSums
from vacr.model import CANONICAL_ENTRY_MEMBERS
from vacr.record.message_content import BLOCK_VIEWS, UNTYPED_PART_VIEWS, BlockView

_HEAD = """# {title}

Made from the tables of the reader by `make docs`; do not edit. Trace format id: {formats}.

If no table below names a native member, it stays in its entry, with its native name and place. Two kinds of members move to `vacr.native`: members whose
name has another meaning in an entry ({canonical}), and timestamps that do not match the schema's pattern.
Null members are left out, except inside content, input, output and data. Bytes that cannot be decoded become an event of type `undecodable`, which holds them
in base64. A line that is readable except for some detail is marked `vacr.repaired`, and such an event follows it.

## Where vacr looks for sessions

{stores}"""


def render_head(reader: object, title: str) -> str:
    """Return the opening of a page: its title, the rules for all agents, the session stores."""
    return _HEAD.format(
        title=title,
        formats=quote(*reader.formats),  # type: ignore[attr-defined]
        canonical=quote(*sorted(CANONICAL_ENTRY_MEMBERS)),
        stores=_render_stores(reader.STORES),
    )


def render_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def quote(*names: str) -> str:
    """Return names as Markdown code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def list_move_rows(lift: Lift, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield a table row for each member that a lift moves."""
    for move in lift.moves:
        yield (
            quote(f"{prefix}{move.native}"),
            quote(move.canonical),
            "any" if move.kind is None else "text",
        )


def format_moves(lift: Lift) -> str:
    """Return the members that a lift moves, in one line."""
    return ", ".join(f"{quote(move.canonical)} ← {quote(move.native)}" for move in lift.moves)


def render_block_views(kinds: dict[str, BlockView] = BLOCK_VIEWS) -> str:
    """Return a table of the child entries that content blocks become."""
    rows = (
        (
            quote(kind),
            quote(view.entry_type),
            ", ".join(f"{quote(name)} ← {quote(native)}" for name, native, _ in view.members),
        )
        for kind, view in kinds.items()
    )
    return render_table(("block", "child", "members"), rows)


def render_part_views() -> str:
    """Return a table of the child entries that parts without a type become."""
    return (
        render_block_views(UNTYPED_PART_VIEWS)
        + "\nA part with `thought` becomes `reasoning`, with its `text` as the content.\n"
    )


def render_usage_sums(table: UsageSums) -> str:
    """Return a table of canonical counters as sums of native ones."""
    rows = ((quote(name), " + ".join(map(quote, counters))) for name, counters in table.sums)
    return render_table(("canonical", "native"), rows)


STATED_BY_HUMAN = (quote(HUMAN), quote(STATED))
STATED_BY_HOST = (quote(HOST), quote(STATED), "–")
STATED_BY_HOOK = (quote(HOOK), quote(STATED), "–")
STATED_BY_PARENT = (quote(PARENT_AGENT), quote(STATED), "–")
INFERRED_AS_HOST = (quote(HOST), quote(INFERRED), "–")
INFERRED_AS_HOOK = (quote(HOOK), quote(INFERRED), "–")
INFERRED_AS_HUMAN = (quote(HUMAN), quote(INFERRED))
INFERRED_AS_UNKNOWN = (quote(UNKNOWN_SPEAKER), quote(INFERRED))
UNKNOWN_OUTCOME_ROW = "left out: unknown"
_STATUS_ORDER = tuple(_STATUS_WORDS)


def render_labels(
    outcomes: Iterable[tuple[str, str, str]],
    speakers: Iterable[tuple[str, str, str, str]],
    *,
    unanswered: str = "A call without a result",
    notes: Iterable[str] = (),
) -> str:
    """Return the section about labels: how calls ended, and who wrote user messages.

    In both tables the first row that fits counts. `unanswered` names the calls that are marked as
    having no result, and `notes` are paragraphs after the tables.
    """
    failed = [status for status in _STATUS_ORDER if status in FAILED_STATUSES]
    return "\n".join(
        (
            "## Labels\n",
            "How a call ended. The first row that fits counts. `is-error` is true for "
            f"{quote(*failed)}, false for {quote(SUCCESS)}, and left out otherwise. A native "
            f"`status` moves to `vacr.native.status`. {unanswered} is marked `vacr.status`: "
            f"{quote(NO_RESULT)}.\n",
            render_table(("evidence", "`status`", "`vacr.exit-code`"), outcomes),
            "Who wrote a user message. Again, the first row that fits counts.\n",
            render_table(
                ("evidence", "`vacr.speaker`", "`vacr.speaker-basis`", "`vacr.prompt`"), speakers
            ),
            *(f"{note}\n" for note in notes),
        )
    )


def render_status_words() -> str:
    """Return the words of agents that stand for each status."""
    return "; ".join(
        f"{quote(*words.split())} → {quote(status)}" for status, words in _STATUS_WORDS.items()
    )


def group_names(names: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each value of a table with the names that have it."""
    for value in dict.fromkeys(names.values()):
        yield value, [name for name, own in names.items() if own == value]


def _render_stores(stores: Iterable[SessionStore]) -> str:
    """Return a table of the folders in which an agent keeps its sessions."""
    rows = (
        (
            _format_folder(store),
            _format_variables(store),
            quote(*filter(None, store.sessions)) or "the file itself",
        )
        for store in stores
    )
    return render_table(("folder", "variable for another folder", "sessions in it"), rows)


def _format_folder(store: SessionStore) -> str:
    """Return the default folder, and the folders of systems that differ."""
    folders = {
        "": store.default,
        **{system: folder for system, folder in store.systems.items() if folder != store.default},
    }
    by_system = [
        f"{quote(_join(folder, store.under))}{f' ({system})' if system else ''}"
        for system, folder in folders.items()
        if folder
    ]
    return ", ".join(by_system) or "–"


def _format_variables(store: SessionStore) -> str:
    """Return the environment variables that name another folder."""
    variables = {"": store.variable, **store.variables}
    by_system = [
        f"{quote(name)}{f' ({system})' if system else ''}"
        for system, name in variables.items()
        if name
    ]
    below = f", then {quote(store.under)}" if by_system and store.under else ""
    exception = f"; unless {quote(store.unless)} is set" if store.unless else ""
    return (", ".join(by_system) + below + exception) or "–"


def _join(folder: str, under: str) -> str:
    return f"{folder}/{under}" if under else folder
