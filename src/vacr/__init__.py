"""Verifiable Agent Conversation Records: what an AI coding agent did, as evidence.

    import vacr
    for record in vacr.read("session.jsonl"):       # native file → records
        vacr.validate(record).raise_for_errors()
        data = vacr.encode(record, "json")          # canonical bytes; decode is its inverse
        older = vacr.convert(record, "v2")          # as another version of the format has it
        record = vacr.attribute(record)             # → record that says which lines the agent wrote
        statement = vacr.sign(data, signer)         # → COSE_Sign1, as bytes
        receipt = vacr.register(statement, service)  # → of a transparency service, by its address
        vacr.verify(statement, policy, payload=data, now=now)   # → what was verified, or raises

Everything is loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from vacr.version import __version__

TYPE_CHECKING = False  # Type checkers know the name; importing it from `typing` would cost as much as all the rest.

__all__ = [
    "__version__",
    "attribute",
    "convert",
    "decode",
    "encode",
    "read",
    "register",
    "sign",
    "validate",
    "verify",
]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from vacr.codec import decode, encode
    from vacr.log.client import register
    from vacr.model import Record
    from vacr.schema import validate
    from vacr.signing import sign
    from vacr.verification import verify
    from vacr.versions import convert


def read(path: str | Path, *, agent: str | None = None) -> Iterator[Record]:
    """Read the sessions in a native file, a database or a folder, and those of sub-agents, as
    identified records.

    Raises:
        UnreadableInput: something cannot be read, or is of no agent that is known. What can be read
            beside it comes first.
    """
    from vacr.errors import NotASession, VacrError
    from vacr.identity import identify
    from vacr.recording.places import at
    from vacr.sources import read as read_source

    failed = None
    for place in at(path):
        try:
            for found in read_source(
                place.path, session=place.session, agent=agent, sub_agents=not place.in_folder
            ):
                if isinstance(found, VacrError):
                    failed = failed or found
                else:
                    identify(found.reading.record)
                    _own_marks(found.reading.record["session"]["entries"])
                    yield found.reading.record
        except NotASession:
            if not place.in_folder:
                raise
    if failed is not None:
        raise failed


def _own_marks(entries: list[Any]) -> None:
    """Give each entry its own marks: readers let entries share them, and what a caller changes must
    not change others.
    """
    for entry in entries:
        if "vacr" in entry:
            entry["vacr"] = {
                name: dict(value) if type(value) is dict else value
                for name, value in entry["vacr"].items()
            }
        if "children" in entry:
            _own_marks(entry["children"])


def attribute(record: Record, *, base: str | None = None) -> Record:
    """Give a record that says which lines of which files its agent wrote; `base` is a git
    repository, `~/repo@HEAD~3`.

    Raises:
        UnreadableInput: the base cannot be read.
    """
    from typing import cast

    from vacr.attribution import attribute as attributed
    from vacr.identity import identify
    from vacr.sources.git import base_of

    (made,) = attributed(
        [cast("dict[str, Any]", record)], base_of(base) if base is not None else None
    )
    identify(cast("Record", made))
    return cast("Record", made)


def __dir__() -> list[str]:
    return __all__


_PLACES = {
    "encode": "codec",
    "decode": "codec",
    "validate": "schema",
    "sign": "signing",
    "register": "log.client",
    "verify": "verification",
    "convert": "versions",
}
"""Where the functions are that others import from here."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'vacr' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"vacr.{_PLACES[name]}"), name)
