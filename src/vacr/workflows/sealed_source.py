"""The sealed source of a record: its native bytes, compressed, for `vacr restore`.

It is a zip file, because everybody can open one. Its own bytes may differ between versions of the
library. The manifest in the record decides: it names every part with its size and digest.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from vacr.agents import Source
from vacr.errors import InvalidRecord, UnreadableInput, VacrError

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_sealed_source_path(record: Path) -> Path:
    """Return the path of a record's sealed source."""
    name = record.name
    for suffix in (".json", ".cbor"):
        name = name.removesuffix(suffix)
    return record.with_name(f"{name}.source.zip")


def encode_sealed_source(source: Source) -> memoryview:
    """Encode the parts of a source as a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in source.parts:
            archive.writestr(
                zipfile.ZipInfo(part.name, _ZIP_EPOCH), part.data, zipfile.ZIP_DEFLATED
            )
    return buffer.getbuffer()


def matches_source(path: Path, source: Source) -> bool:
    """Return whether a sealed source holds the parts of a source."""
    try:
        return len(list(unseal_source(path, source.manifest()))) == len(source.parts)
    except VacrError:
        return False


def unseal_source(
    path: Path, manifest: list[dict[str, Any]]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield each part in the manifest, after checking its bytes against the digest.

    Raises:
        UnreadableInput: the sealed source is missing or no zip file.
        InvalidRecord: a part is missing, differs, or has a name that leads out of the folder.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for part in manifest:
                yield _check_part_name(part["name"]), _read_checked_part(archive, part, path)
    except FileNotFoundError as error:
        hint = "Record with --seal-source to have one, or name it with --source."
        raise UnreadableInput("no sealed source", where=str(path), hint=hint) from error
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError) as error:
        raise UnreadableInput(f"not a sealed source: {error}", where=str(path)) from error


def _read_checked_part(archive: zipfile.ZipFile, part: dict[str, Any], path: Path) -> bytes:
    """Read one part, and no more of it than the manifest allows."""
    try:
        if archive.getinfo(part["name"]).compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise InvalidRecord(f"{part['name']} is not packed as vacr packs", where=str(path))
        with archive.open(part["name"]) as opened:
            data = opened.read(part["size"] + 1)
    except KeyError as error:
        raise InvalidRecord(f"the sealed source lacks {part['name']}", where=str(path)) from error
    except RuntimeError as error:
        raise InvalidRecord(
            f"{part['name']} cannot be unpacked: {error}", where=str(path)
        ) from error
    if len(data) != part["size"] or hashlib.sha256(data).hexdigest() != part["sha-256"]:
        raise InvalidRecord(
            f"{part['name']} is not what was recorded: its bytes differ from the record's manifest",
            where=str(path),
        )
    return data


def _check_part_name(name: Any) -> PurePosixPath:
    path = PurePosixPath(str(name))
    if (
        path.is_absolute()
        or ".." in path.parts
        or "\0" in str(name)
        or not path.parts
        or (os.sep in str(name) and os.sep != "/")
    ):
        raise InvalidRecord(
            f"a part is named {name!r}, which leads out of the folder", where="/vacr/source/parts"
        )
    return path
