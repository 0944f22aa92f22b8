"""Measure signing against hashing, verifying on one core and on all, and memory use."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import measure_peak_memory
from sessions import compare

import vacr
from vacr.record.encoding import encode
from vacr.signing.keys import KeySigner, encode_private_pem, encode_public_pem, generate_key
from vacr.signing.statement import ATTACHED, sign
from vacr.workflows.sign import read_signable_file

_RECORD_SIZE = 30_000_000
_LARGE_FILE_SIZE = 1 << 30
_ATTACHED_SIZE = 200_000_000
_STATEMENTS = 2000


def signing() -> None:
    """Measure signing a large record, verifying a folder, and the memory for both."""
    signer = KeySigner(generate_key("eddsa"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record = folder / "large.acr.json"
        record.write_bytes(_build_record(_RECORD_SIZE))
        hashing, signing_time = compare(
            lambda: hashlib.sha256(record.read_bytes()).digest(),
            lambda: _sign_file(str(record), signer),
            7,
        )
        print(
            f"sign                {signing_time / hashing:.2f} x SHA-256 of the file "
            f"(a record of {_RECORD_SIZE // 1_000_000} MB; target: at most 1.3)"
        )
        _measure_folder_verification(folder, signer)
        _measure_signing_memory(folder, signer)
        _measure_verifying_memory(folder, signer)


def _sign_file(path: str, signer: KeySigner) -> bytes:
    signable = read_signable_file(path, whole=False)
    return sign(None, signer, digest=signable.digest, unprotected={100: signable.metadata})


def _build_record(size: int) -> bytes:
    """Return a valid record of about this size: a session with long messages."""
    line = {
        "type": "user",
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "version": "2.1.0",
        "cwd": "/w",
    }
    lines = [
        {**line, "uuid": f"u{i}", "message": {"role": "user", "content": "x" * 2000}}
        for i in range(size // 2150)
    ]
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        texts = [json.dumps(entry, separators=(",", ":")) + "\n" for entry in lines]
        file.write("".join(texts).encode())
        file.flush()
        return encode(next(vacr.read(file.name)), "json")


def _measure_folder_verification(folder: Path, signer: KeySigner) -> None:
    many = folder / "many"
    many.mkdir()
    data = _build_record(200_000)
    for number in range(_STATEMENTS):
        (many / f"{number}.acr.json").write_bytes(data)
        (many / f"{number}.acr.json.cose").write_bytes(sign(data, signer))
    (folder / "key.pem").write_bytes(encode_public_pem(signer.public_key))
    command = [
        sys.executable,
        "-m",
        "vacr",
        "verify",
        str(many),
        "--trust",
        str(folder / "key.pem"),
        "-q",
    ]
    one_core = _time_command(["taskset", "-c", "0", *command])
    all_cores = _time_command(command)
    print(
        f"verify              {one_core / all_cores:.2f} x as fast on all cores as on one "
        f"({_STATEMENTS} statements)"
    )


def _time_command(command: list[str]) -> float:
    """Run a command three times, and return the shortest time."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def _measure_signing_memory(folder: Path, signer: KeySigner) -> None:
    key = folder / "signing.pem"
    key.write_bytes(encode_private_pem(signer.key))
    key.chmod(0o600)
    peaks = []
    for name, size in (("small.bin", 1 << 20), ("large.bin", _LARGE_FILE_SIZE)):
        path = folder / name
        with path.open("wb") as file:
            file.truncate(size)
        options = ["--key", str(key), "-o", f"{path}.cose", "-q"]
        peaks.append(measure_peak_memory(sys.executable, "-m", "vacr", "sign", str(path), *options))
    print(
        f"sign                {peaks[1] / peaks[0]:.2f} x the memory for 1 MB, with a file of 1 GB "
        f"({peaks[1] / 1e6:.0f} MB)"
    )


def _measure_verifying_memory(folder: Path, signer: KeySigner) -> None:
    key = folder / "signing.pub.pem"
    key.write_bytes(encode_public_pem(signer.public_key))
    peaks = []
    for name, size in (("small.cose", 1), ("attached.cose", _ATTACHED_SIZE)):
        path = folder / name
        path.write_bytes(sign(b"x" * size, signer, profile=ATTACHED))
        options = ["--trust", str(key), "-q"]
        peaks.append(
            measure_peak_memory(sys.executable, "-m", "vacr", "verify", str(path), *options)
        )
    ratio = (peaks[1] - peaks[0]) / _ATTACHED_SIZE
    print(
        f"verify              {ratio:.2f} x the size of an attached statement in memory "
        f"({_ATTACHED_SIZE // 1_000_000} MB; target: at most 2)"
    )
