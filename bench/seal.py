"""How much sealing a session costs beside the work that cannot be avoided."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sessions import CORPUS, ROOT, compare

import vacr
from vacr.signing import KeySigner, generate_key
from vacr.workflows import RecordingOptions, Sealer, SigningSettings, plan_sealing

_MOST = 1.3


def seal() -> None:
    """Compare sealing sessions into files with reading, attributing and signing them in memory."""
    signer = KeySigner(generate_key("eddsa"))
    real = sorted((CORPUS / "claude").glob("*"), key=lambda path: path.stat().st_size)[-5:]
    least_all = work_all = 0.0
    for path in real or sorted((ROOT / "examples").glob("*.jsonl")):
        least, work = compare(
            lambda path=path: _read_attribute_sign(path, signer),
            lambda path=path: _seal_into_files(path, signer),
            3 if real else 15,
        )
        least_all, work_all = least_all + least, work_all + work
    which = "the five largest real sessions" if real else "the examples"
    print(
        f"seal                {work_all / least_all:.2f} x reading, attributing and signing "
        f"({which}, at most {_MOST})"
    )


def _read_attribute_sign(path: Path, signer: KeySigner) -> None:
    for record in vacr.read(path):
        attributed = vacr.attribute(record)
        vacr.sign(vacr.encode(attributed), signer)


def _seal_into_files(path: Path, signer: KeySigner) -> None:
    """Do all that `vacr seal` does."""
    with tempfile.TemporaryDirectory() as folder:
        options = RecordingOptions(named=(str(path),))
        groups = plan_sealing([str(path)], Path(folder), options, lambda _: None)
        for _, results in Sealer(SigningSettings(signer)).seal_planned(groups):
            if not isinstance(results, list):
                raise results
