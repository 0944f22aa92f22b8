"""What the pages have in common: Markdown, tables of moves, and how content blocks are seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vacr.agents.agent import SessionStore
from vacr.agents.lift import Lift
from vacr.model import CANONICAL_ENTRY_MEMBERS
from vacr.record.message_content import BLOCK_VIEWS, UNTYPED_PART_VIEWS, BlockView

HEAD = """# {title}

Made from the tables of the reader by `make docs`; do not edit. Trace format id: {formats}.

A native member that no table below names stays in its entry, under its native name, at its native place. A member whose
name has another meaning in an entry ({canonical}) stays in `vacr.native`, and so does a timestamp outside the schema's
pattern. Members that are null are left out, but never inside content, input, output or data. Bytes that cannot be decoded
become an event of type `undecodable` that holds them in base64; a line that could be read but for something in it is
marked `vacr.repaired` and followed by such an event.

## Where sessions are looked for

{stores}"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def code(*names: str) -> str:
    """Write names as code."""
    return ", ".join(f"`{name}`" for name in names)


def moves(lift: Lift, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Give the rows of a table of moves."""
    for move in lift.moves:
        yield (
            code(f"{place}{move.native}"),
            code(move.canonical),
            "any" if move.kind is None else "text",
        )


def views(kinds: dict[str, BlockView] = BLOCK_VIEWS) -> str:
    """Describe how content blocks are seen."""
    rows = (
        (
            code(kind),
            code(view.entry_type),
            ", ".join(f"{code(name)} ← {code(native)}" for name, native, _ in view.members),
        )
        for kind, view in kinds.items()
    )
    return table(("block", "child", "members"), rows)


def parts() -> str:
    """Describe how parts without a type are seen."""
    return (
        views(UNTYPED_PART_VIEWS)
        + "\nA part with `thought` is seen as `reasoning`, its `text` as the content.\n"
    )


def members(lift: Lift) -> str:
    """Write a table of moves in one line."""
    return ", ".join(f"{code(move.canonical)} ← {code(move.native)}" for move in lift.moves)


def sums(table_of_sums: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """Describe canonical counters as sums of native ones."""
    return table(
        ("canonical", "native"),
        ((code(name), " + ".join(map(code, parts))) for name, parts in table_of_sums),
    )


def head(reader: object, title: str) -> str:
    """Open a page."""
    return HEAD.format(
        title=title,
        formats=code(*reader.formats),  # type: ignore[attr-defined]
        canonical=code(*sorted(CANONICAL_ENTRY_MEMBERS)),
        stores=stores(reader.STORES),
    )


def stores(found: Iterable[SessionStore]) -> str:
    """Say where an agent keeps its sessions."""
    rows = (
        (_place(store), _instead(store), code(*filter(None, store.sessions)) or "it is one")
        for store in found
    )
    return table(("folder", "environment variable that names another", "sessions in it"), rows)


def _place(store: SessionStore) -> str:
    places = {
        "": store.default,
        **{system: place for system, place in store.systems.items() if place != store.default},
    }
    named = [
        f"{code(_joined(place, store.under))}{f' ({system})' if system else ''}"
        for system, place in places.items()
        if place
    ]
    return ", ".join(named) or "–"


def _instead(store: SessionStore) -> str:
    variables = {"": store.variable, **store.variables}
    named = [
        f"{code(name)}{f' ({system})' if system else ''}"
        for system, name in variables.items()
        if name
    ]
    follows = f", then {code(store.under)}" if named and store.under else ""
    unless = f"; not where {code(store.unless)} is set" if store.unless else ""
    return (", ".join(named) + follows + unless) or "–"


def _joined(place: str, under: str) -> str:
    return f"{place}/{under}" if under else place
