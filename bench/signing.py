"""What signing costs beside hashing, what verifying a folder gains by cores, and the memory for a
large file.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import peak
from sessions import compare

import vacr
from vacr.record.encoding import encode
from vacr.signing.keys import KeySigner, encode_private_pem, encode_public_pem, generate_key
from vacr.signing.statement import sign
from vacr.workflows.sign import read_signable_file

_RECORD = 30_000_000
_LARGE = 1 << 30
_STATEMENTS = 2000


def signing() -> None:
    """Compare signing a record with hashing it, verifying a folder on one core and on all, and
    memory with the size.
    """
    signer = KeySigner(generate_key("eddsa"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record = folder / "large.acr.json"
        record.write_bytes(_record(_RECORD))
        least, work = compare(
            lambda: hashlib.sha256(record.read_bytes()).digest(),
            lambda: _sign(str(record), signer),
            7,
        )
        print(
            f"sign                {work / least:.2f} x SHA-256 of the file "
            f"({_RECORD // 1_000_000} MB record, at most 1.3)"
        )
        _folder(folder, signer)
        _memory(folder, signer)


def _sign(path: str, signer: KeySigner) -> bytes:
    found = read_signable_file(path, whole=False)
    return sign(None, signer, digest=found.digest, unprotected={100: found.metadata})


def _record(size: int) -> bytes:
    """Make a valid record of about a size: a session with long messages."""
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
        file.write("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines).encode())
        file.flush()
        return encode(next(vacr.read(file.name)), "json")


def _folder(folder: Path, signer: KeySigner) -> None:
    many = folder / "many"
    many.mkdir()
    data = _record(200_000)
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
    one = _timed(["taskset", "-c", "0", *command])
    all_cores = _timed(command)
    print(
        f"verify              {one / all_cores:.2f} x as fast on all cores as on one "
        f"({_STATEMENTS} statements)"
    )


def _timed(command: list[str]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def _memory(folder: Path, signer: KeySigner) -> None:
    (folder / "signing.pem").write_bytes(encode_private_pem(signer.key))
    (folder / "signing.pem").chmod(0o600)
    peaks = []
    for name, size in (("small.bin", 1 << 20), ("large.bin", _LARGE)):
        with (folder / name).open("wb") as file:
            file.truncate(size)
        path, key, out = (str(folder / one) for one in (name, "signing.pem", f"{name}.cose"))
        peaks.append(
            peak(sys.executable, "-m", "vacr", "sign", path, "--key", key, "-o", out, "-q")
        )
    print(
        f"sign                {peaks[1] / peaks[0]:.2f} x the memory for 1 GB of that for 1 MB "
        f"({peaks[1] / 1e6:.0f} MB)"
    )
