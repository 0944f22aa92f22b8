"""The folder that a session worked in. Step: attribute.

Most agents write it down. Gemini CLI writes only its SHA-256, which one of the folders above the
files that it names has to have.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from vacr.attribution import tools


def working_folder(record: dict[str, Any]) -> str:
    """Give the folder, or nothing where it is not known."""
    session = record["session"]
    told, digest = session.get("environment", {}).get("working-dir"), session.get("projectHash")
    if told or not isinstance(digest, str):
        return str(told or "")
    tried: set[str] = set()
    for path in _named(session.get("entries")):
        for end in (found.start() or 1 for found in re.finditer(r"[\\/]|\Z", path)):
            folder = path[:end]
            if (
                folder not in tried
                and hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest() == digest
            ):
                return folder
            tried.add(folder)
    return ""


def _named(entries: Any) -> Iterator[str]:
    """Give the files and folders that calls name."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            for names in (tools.PATHS, tools.FOLDERS) if entry.get("type") == "tool-call" else ():
                if (path := tools.text(entry.get("input"), names)) is not None:
                    yield path
            yield from _named(entry.get("children"))
