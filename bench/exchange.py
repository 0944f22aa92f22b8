"""Measure the export formats on real sessions: losses, round trips, and time against encoding."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from sessions import AGENTS, CORPUS, compare

import vacr
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.errors import VacrError
from vacr.exchange.export import ExportRequest, format_losses
from vacr.exchange.formats import EXCHANGE_FORMATS
from vacr.record.encoding import assign_record_id, encode
from vacr.signing.keys import KeySigner, generate_key


def exchange() -> None:
    """Export every record to every format; import and export again where the format allows it."""
    if not CORPUS.is_dir():
        print("exchange            not measured: ../shared/corpus with real sessions is missing")
        return
    records = [
        vacr.attribute(record)
        for agent in AGENTS.values()
        for path in sorted((CORPUS / agent).iterdir())
        for record in _read_records(path)
    ]
    signer = KeySigner(generate_key("eddsa"))
    for name in EXCHANGE_FORMATS:
        _measure_format(name, records, signer)


def _read_records(path: Any) -> list[Any]:
    try:
        return list(vacr.read(path))
    except VacrError:
        return []


def _measure_format(name: str, records: list[Any], signer: KeySigner) -> None:
    form = EXCHANGE_FORMATS[name]
    losses: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    total_size = 0
    identical_count = 0
    exports = []
    for record in records:
        request = ExportRequest(hashlib.sha256(encode(record)).hexdigest(), signer=signer)
        try:
            exported = form.export(record, request)
        except VacrError as error:
            refusals[error.message] += 1
            continue
        losses.update(exported.losses)
        total_size += len(exported.data)
        exports.append((record, request))
        identical_count += bool(form.reader) and _survives_round_trip(name, exported.data, request)
    round_trips = (
        f"{identical_count} of {len(exports)} round trips are identical"
        if form.reader
        else "export only"
    )
    print(
        f"{name:<19} {len(exports)} of {len(records)} records, {total_size / 1e6:.1f} MB; "
        f"{round_trips}"
    )
    for reason, count in refusals.most_common():
        print(f"{'':<19} {count} refused: {reason}")
    print(f"{'':<19} lost: {format_losses(losses, 8)}")
    _compare_with_encoding(name, exports)


def _survives_round_trip(name: str, data: bytes, request: ExportRequest) -> bool:
    """Return whether importing and exporting a document gives the same bytes."""
    exported = []
    for reading in EXCHANGE_FORMATS[name].read(Source((SourcePart("x", data),))):
        assign_record_id(reading.record)
        validate(reading.record).raise_for_errors()
        exported.append(EXCHANGE_FORMATS[name].export(reading.record, request).data)  # type: ignore[arg-type]
    return b"".join(exported) == data


def _compare_with_encoding(name: str, exports: list[tuple[Any, ExportRequest]]) -> None:
    encoding, exporting = compare(
        lambda: [encode(record) for record, _ in exports],
        lambda: [EXCHANGE_FORMATS[name].export(record, request) for record, request in exports],
        3,
    )
    print(f"{'':<19} {exporting / encoding:.2f} x encoding the records")
