"""Measure sealing a session against the work that it cannot avoid."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sessions import CORPUS, ROOT, compare

import vacr
from vacr.signing import KeySigner, generate_key
from vacr.workflows import RecordingOptions, Sealer, SigningSettings, plan_sealing

_TARGET = 1.3


def seal() -> None:
    """Compare sealing sessions into files with reading, attributing and signing them in memory."""
    signer = KeySigner(generate_key("eddsa"))
    real = sorted((CORPUS / "claude").glob("*"), key=lambda path: path.stat().st_size)[-5:]
    minimum_total = seal_total = 0.0
    for path in real or sorted((ROOT / "examples").glob("*.jsonl")):
        minimum, sealing = compare(
            lambda path=path: _read_attribute_sign(path, signer),
            lambda path=path: _seal_into_files(path, signer),
            3 if real else 15,
        )
        minimum_total += minimum
        seal_total += sealing
    sample = "the five largest real sessions" if real else "the examples"
    print(
        f"seal                {seal_total / minimum_total:.2f} x reading, attributing and signing "
        f"({sample}; target: at most {_TARGET})"
    )


def _read_attribute_sign(path: Path, signer: KeySigner) -> None:
    for record in vacr.read(path):
        attributed = vacr.attribute(record)
        vacr.sign(vacr.encode(attributed), signer)


def _seal_into_files(path: Path, signer: KeySigner) -> None:
    """Do the same work as `vacr seal`."""
    with tempfile.TemporaryDirectory() as folder:
        options = RecordingOptions(named=(str(path),))
        groups = plan_sealing([str(path)], Path(folder), options, lambda _: None)
        for _, results in Sealer(SigningSettings(signer)).seal_planned(groups):
            if not isinstance(results, list):
                raise results
