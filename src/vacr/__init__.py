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

TYPE_CHECKING = False  # `typing` takes longer to import than everything else here.

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

    from vacr.model import Record
    from vacr.record import convert, decode, encode, validate
    from vacr.registration import register
    from vacr.signing import sign
    from vacr.verification import verify


def read(path: str | Path, *, agent: str | None = None) -> Iterator[Record]:
    """Read the sessions in a native file, a database or a folder, and those of sub-agents, as
    identified records.

    Raises:
        UnreadableInput: something cannot be read, or is of no agent that is known. What can be read
            beside it comes first.
    """
    from vacr.discovery import find_places
    from vacr.discovery import read_sessions as read_source
    from vacr.errors import NotASession, VacrError
    from vacr.record import assign_record_id

    failed = None
    for place in find_places(path):
        try:
            for found in read_source(
                place.path, session=place.session, agent=agent, sub_agents=not place.in_folder
            ):
                if isinstance(found, VacrError):
                    failed = failed or found
                else:
                    assign_record_id(found.reading.record)
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

    from vacr.attribution import attribute_records as attributed
    from vacr.blame import load_git_base
    from vacr.record import assign_record_id

    (made,) = attributed(
        [cast("dict[str, Any]", record)], load_git_base(base) if base is not None else None
    )
    assign_record_id(cast("Record", made))
    return cast("Record", made)


def __dir__() -> list[str]:
    return __all__


_PACKAGES = {
    "encode": "record",
    "decode": "record",
    "convert": "record",
    "validate": "record",
    "sign": "signing",
    "register": "registration",
    "verify": "verification",
}


def __getattr__(name: str) -> Any:
    if name not in _PACKAGES:
        raise AttributeError(f"module 'vacr' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"vacr.{_PACKAGES[name]}"), name)
