"""Round trips through formats of others over real sessions: what each could not hold, and the time
beside encoding the record.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from sessions import AGENTS, CORPUS, compare

import vacr
from vacr.agents.agent import Source, SourcePart
from vacr.errors import VacrError
from vacr.exchange.export import ExportRequest, format_losses
from vacr.exchange.formats import EXCHANGE_FORMATS
from vacr.record.encoding import assign_record_id, encode
from vacr.record.validation import validate
from vacr.signing.keys import KeySigner, generate_key


def exchange() -> None:
    """Export every record to every format, import what can be, export that again, and compare."""
    if not CORPUS.is_dir():
        print("exchange            no real sessions here: nothing is measured")
        return
    records = [
        _attributed(record)
        for agent in AGENTS.values()
        for path in sorted((CORPUS / agent).iterdir())
        for record in _read(path)
    ]
    signer = KeySigner(generate_key("eddsa"))
    for name, form in EXCHANGE_FORMATS.items():
        losses: Counter[str] = Counter()
        sizes, refused, same, made = 0, Counter[str](), 0, []
        for record in records:
            asked = ExportRequest(hashlib.sha256(encode(record)).hexdigest(), signer=signer)
            try:
                exported = form.export(record, asked)
            except VacrError as error:
                refused[error.message] += 1
                continue
            losses.update(exported.losses)
            sizes += len(exported.data)
            made.append((record, asked))
            same += bool(form.reader) and _comes_back(name, exported.data, asked)
        print(
            f"{name:<19} {len(made)} of {len(records)} records, {sizes / 1e6:.1f} MB; "
            f"{_trips(form.reader, same, len(made))}"
        )
        for reason, count in refused.most_common():
            print(f"{'':<19} {count} refused: {reason}")
        print(f"{'':<19} not held: {format_losses(losses, 8)}")
        _speed(name, made)


def _read(path: Any) -> list[Any]:
    try:
        return list(vacr.read(path))
    except VacrError:
        return []


def _attributed(record: Any) -> Any:
    return vacr.attribute(record)


def _comes_back(name: str, data: bytes, asked: ExportRequest) -> bool:
    """Tell whether a document that was imported is exported as the same."""
    found = []
    for reading in EXCHANGE_FORMATS[name].read(Source((SourcePart("x", data),))):
        assign_record_id(reading.record)
        validate(reading.record).raise_for_errors()
        found.append(EXCHANGE_FORMATS[name].export(reading.record, asked).data)  # type: ignore[arg-type]
    return b"".join(found) == data


def _trips(reader: str, same: int, count: int) -> str:
    return f"{same} of {count} come back the same" if reader else "one way"


def _speed(name: str, made: list[tuple[Any, ExportRequest]]) -> None:
    least, work = compare(
        lambda: [encode(record) for record, _ in made],
        lambda: [EXCHANGE_FORMATS[name].export(record, asked) for record, asked in made],
        3,
    )
    print(f"{'':<19} {work / least:.2f} x the time of encoding the records")
