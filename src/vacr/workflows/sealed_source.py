"""The sealed source of a record: its native bytes in a zip file, for `vacr restore`.

Everybody can open a zip file, but its own bytes may differ between versions of the zip library. So
the manifest in the record decides: it has the size and the SHA-256 of every part. Each part is
checked before it is handed over:

    >>> from pathlib import Path
    >>> from vacr.agents import Source, SourcePart
    >>> from vacr.workflows.sealed_source import *
    >>> build_sealed_source_path(Path("abc.acr.json"))
    PosixPath('abc.acr.source.zip')
    >>> source = Source((SourcePart("session.jsonl", b"{}"),))
    >>> _ = Path("abc.acr.source.zip").write_bytes(encode_sealed_source(source))
    >>> list(unseal_source(Path("abc.acr.source.zip"), source.manifest()))
    [(PurePosixPath('session.jsonl'), b'{}')]
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from vacr.edits import is_inside_git_folder
from vacr.errors import InvalidRecord, UnreadableInput, VacrError
from vacr.files import describe_file_error

if TYPE_CHECKING:
    # Most verbs need neither, and both take long to load.
    from zipfile import ZipFile

    from vacr.agents import Source

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_ZIP_PART_START = b"PK\3\4"
_MAX_PART_BYTES = 1 << 40
_OTHER_SOURCE_HINT = (
    "Name another sealed source with --source, or record the session again with --seal-source."
)


def build_sealed_source_path(record: Path) -> Path:
    """Return the path of a record's sealed source: `x.acr.json` becomes `x.acr.source.zip`.

    So does `x.acr.cbor`. The file need not exist.
    """
    name = record.name
    for suffix in (".json", ".cbor"):
        name = name.removesuffix(suffix)
    return record.with_name(f"{name}.source.zip")


def encode_sealed_source(source: Source) -> memoryview:
    """Return a zip file with the parts of a source; the dates in it are always the same."""
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in source.parts:
            archive.writestr(
                zipfile.ZipInfo(part.name, _ZIP_EPOCH), part.data, zipfile.ZIP_DEFLATED
            )
    return buffer.getbuffer()


def matches_source(path: Path, source: Source) -> bool:
    """Return whether a sealed source has all parts of a source, with the same bytes.

    Return False if the file is missing or damaged.
    """
    try:
        return len(list(unseal_source(path, source.manifest()))) == len(source.parts)
    except VacrError:
        return False


def get_source_manifest(record: Any) -> list[dict[str, Any]]:
    """Return name, size and digest of each native file that a record was made from.

    Return an empty list if the record does not list them.
    """
    try:
        parts = record["vacr"]["source"]["parts"]
        manifest = [
            {"name": part["name"], "size": part["size"], "sha-256": part["sha-256"]}
            for part in parts
        ]
    except (TypeError, KeyError, IndexError):
        return []
    well_formed = all(
        type(part["name"]) is str
        and type(part["sha-256"]) is str
        and type(part["size"]) is int
        and 0 <= part["size"] < _MAX_PART_BYTES
        for part in manifest
    )
    return manifest if well_formed else []


def is_sealed_source(path: Path, record: Any) -> bool:
    """Return whether a file is a zip file with the native files of a record, and nothing else.

    A link does not count: its target may have any name.
    """
    import zipfile

    manifest = get_source_manifest(record)
    if not manifest or path.is_symlink():
        return False
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            # A zip file may begin with other bytes, such as a program.
            has_only_parts = sorted(archive.namelist()) == sorted(part["name"] for part in manifest)
            file.seek(0)
            starts_with_part = file.read(len(_ZIP_PART_START)) == _ZIP_PART_START
        count = sum(1 for _ in unseal_source(path, manifest))
    except (OSError, VacrError, zipfile.BadZipFile, ValueError, EOFError, NotImplementedError):
        return False
    return has_only_parts and starts_with_part and count == len(manifest)


def unseal_source(
    path: Path, manifest: list[dict[str, Any]]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the name and the bytes of each part in the manifest, after checking its digest.

    Raises:
        UnreadableInput: the sealed source is missing, or is not a zip file.
        InvalidRecord: a part is missing, differs, or has a name that leads out of the folder.
    """
    import zipfile
    import zlib

    names = [_check_part_name(part["name"]) for part in manifest]
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidRecord(f"the record names {name} twice", where="/vacr/source/parts")
    try:
        with zipfile.ZipFile(path) as archive:
            for name, part in zip(names, manifest, strict=True):
                yield name, _read_checked_part(archive, part, path)
    except FileNotFoundError as error:
        hint = (
            "If it is elsewhere, name it with --source. Otherwise record the session again with "
            "--seal-source."
        )
        raise UnreadableInput(
            "the sealed source is not here", where=str(path), hint=hint
        ) from error
    except OSError as error:
        raise UnreadableInput(
            f"cannot read the sealed source: {describe_file_error(error)}", where=str(path)
        ) from error
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError) as error:
        raise UnreadableInput(
            f"the sealed source is damaged, or not a zip file: {error}",
            where=str(path),
            hint=_OTHER_SOURCE_HINT,
        ) from error


def _read_checked_part(archive: ZipFile, part: dict[str, Any], path: Path) -> bytes:
    """Return the bytes of a part, after checking its size and digest against the manifest.

    Raises:
        InvalidRecord: the part is missing, differs from the manifest, or cannot be unpacked.
    """
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    name, where = part["name"], str(path)
    try:
        packed = archive.getinfo(name)
        if packed.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise InvalidRecord(
                f"{name} is compressed by a method vacr never uses",
                where=where,
                hint=_OTHER_SOURCE_HINT,
            )
        with archive.open(name) as opened:
            # One byte more shows that a part is too long, without unpacking all of it.
            data = opened.read(part["size"] + 1) if packed.file_size == part["size"] else b""
    except KeyError as error:
        raise InvalidRecord(
            f"the sealed source does not contain {name}, which the record lists",
            where=where,
            hint=_OTHER_SOURCE_HINT,
        ) from error
    except RuntimeError as error:
        raise InvalidRecord(
            f"{name} cannot be unpacked: {error}", where=where, hint=_OTHER_SOURCE_HINT
        ) from error
    if len(data) != part["size"] or hashlib.sha256(data).hexdigest() != part["sha-256"]:
        raise InvalidRecord(
            f"{name} does not match the digest in the record",
            where=where,
            hint=_OTHER_SOURCE_HINT,
        )
    return data


def _check_part_name(name: Any) -> PurePosixPath:
    """Return the name of a part as a path; raise InvalidRecord if it leads out of the folder."""
    path = PurePosixPath(str(name))
    if (
        path.is_absolute()
        or ".." in path.parts
        or "\0" in str(name)
        or not path.parts
        or (os.sep in str(name) and os.sep != "/")
    ):
        raise InvalidRecord(
            f"the name of the part {name!r} leads out of the folder",
            where="/vacr/source/parts",
            hint="Do not restore this record: it could overwrite other files of yours.",
        )
    if is_inside_git_folder(str(name)):
        raise InvalidRecord(
            f"the part {name!r} lies in a .git folder",
            where="/vacr/source/parts",
            hint="Do not restore this record: files there can make git run commands.",
        )
    return path
