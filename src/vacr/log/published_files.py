"""What a log has published as files, compared with its database. Step: register."""

from __future__ import annotations

from pathlib import Path

from vacr.errors import VacrError
from vacr.log.findings import Findings
from vacr.log.folder import Folder
from vacr.log.keyring import descriptions
from vacr.log.rollback import check_published
from vacr.log.service.publishing import ENTRIES, bundle_bytes, changed, published_size, tile_bytes
from vacr.log.storage import Reading
from vacr.receipts.description import Description
from vacr.receipts.tiles import WIDTH, number_of
from vacr.signing import keys
from vacr.sources.files import read_bytes
from vacr.sources.key_files import RECEIPT_KEYS


def check_files(storage: Reading, folder: Folder, findings: Findings) -> int:
    """Compare the files of a log with its database; gives how many there are."""
    try:
        said = descriptions(storage)
    except VacrError as error:
        findings.add(str(error))
        return 0
    public = folder.path / RECEIPT_KEYS
    wanted = [keys.thumbprint(one.receipt_key) for one in said]
    try:
        if [keys.thumbprint(key) for key in keys.load_public(read_bytes(public))] != wanted:
            findings.add(f"{public} does not hold the keys that the log names")
    except VacrError as error:
        findings.add(f"{public}: {error.message}")
    if not folder.public.is_dir():
        return 0
    _check_checkpoint(storage, folder, said, findings)
    count = 0
    for path in sorted((folder.public / "tile").rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            count += 1
            _check_file(storage, path, folder.public / "tile", findings)
    return count


def _check_checkpoint(
    storage: Reading, folder: Folder, said: list[Description], findings: Findings
) -> None:
    """Check that what was published last is of this log, and that the tiles it needs are there."""
    try:
        check_published(storage, said, folder.checkpoint)
    except VacrError as error:
        findings.add(str(error))
        return
    for name, _ in changed(storage, 0, published_size(folder.public)):
        if not (folder.public / "tile" / name).is_file():
            findings.add(
                f"{folder.public / 'tile' / name} is missing: vacr log serve makes it again"
            )


def _check_file(storage: Reading, path: Path, folder: Path, findings: Findings) -> None:
    level, _, name = path.relative_to(folder).as_posix().partition("/")
    try:
        number, width = number_of(name)
        wanted = (
            bundle_bytes(storage, number, width)
            if level == ENTRIES
            else tile_bytes(storage, int(level), number, width)
        )
    except (VacrError, ValueError) as error:
        findings.add(f"{path}: {error}")
        return
    if read_bytes(path) != wanted:
        findings.add(f"{path} is not what the log has")
    elif level == ENTRIES and width < WIDTH:
        _check_head(storage, path, number * WIDTH + width, findings)


def _check_head(storage: Reading, path: Path, size: int, findings: Findings) -> None:
    """Check that the head is kept of which a bundle was the last: it ends where a tree that was
    published ended.
    """
    stored = storage.head_until(size)
    if stored is None or stored.head.size != size:
        findings.add(
            f"{path} was published for a tree of {size} entries, and the head of that size is gone"
        )
