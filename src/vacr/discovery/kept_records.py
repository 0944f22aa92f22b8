"""Records of sessions that the user keeps in the state folder; they outlive the agent's own files.

Each agent has a folder there. The record of a session is named after its id and a digest of its
place; the name of a sub-agent's record begins with that of its session:

    >>> from pathlib import Path
    >>> from vacr.discovery import find_kept_folder, is_kept_record, list_kept_family
    >>> folder = find_kept_folder(Path("state"))
    >>> record = folder / "parrot" / "6f0d1c52.0123abcd.acr.json"
    >>> record.parent.mkdir(parents=True)
    >>> for name in (record.name, "6f0d1c52.0123abcd.child.acr.json", "7a0d1c52.0123abcd.acr.json"):
    ...     _ = record.with_name(name).write_text("{}")
    >>> [path.name for path in list_kept_family(record)]
    ['6f0d1c52.0123abcd.acr.json', '6f0d1c52.0123abcd.child.acr.json']
    >>> is_kept_record(record)
    True

`list_sessions` lists these sessions like all others, once the agent no longer has them.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vacr.discovery.session_stores import find_parent_session
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_state_folder, make_absolute, read_bytes
from vacr.record import (
    detect_and_decode,
    find_session_title,
    flatten_to_line,
    get_epoch_milliseconds,
)

KEPT_SUFFIX = ".acr.json"
_FOLDER_NAME = "kept"
_NAME_PATTERN = re.compile(r"([0-9A-Za-z_-]+)\.[0-9a-f]{8}((?:\..+)?)\.acr\.json")
"""The id of the session, a digest of its place, and the label of a sub-agent after a dot."""
_DAMAGED_HINT = "Move the file to another folder. If the agent still has the session: vacr keep"


def find_kept_folder(state: Path) -> Path:
    """Return the folder of the kept sessions in the state folder; it need not exist."""
    return state / _FOLDER_NAME


def list_kept_records(state: Path) -> list[Path]:
    """Return the records of all kept sessions and their sub-agents; empty if nothing was kept."""
    return sorted(find_kept_folder(state).glob(f"*/*{KEPT_SUFFIX}"))


def is_kept_record(path: str | Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a path is that of a record among the kept sessions."""
    if not str(path).endswith(KEPT_SUFFIX):
        return False
    try:
        folder = find_kept_folder(find_state_folder(environment))
    except UsageError:
        return False
    return Path(make_absolute(str(path))).parent.parent == Path(make_absolute(str(folder)))


def list_kept_family(record: Path) -> list[Path]:
    """Return the record of a kept session, then those of its sub-agents."""
    stem = record.name.removesuffix(KEPT_SUFFIX)
    sub_agents = record.parent.glob(f"{glob.escape(stem)}.*{KEPT_SUFFIX}")
    return [record, *sorted(sub_agents)]


def split_kept_name(record: Path) -> tuple[str, str]:
    """Return the id in the name of a kept record, and the label of a sub-agent, or no text."""
    name = _NAME_PATTERN.fullmatch(record.name)
    if name is None:
        return record.name.removesuffix(KEPT_SUFFIX), ""
    return name[1], name[2].removeprefix(".")


def summarize_kept_record(path: Path) -> dict[str, Any]:
    """Return what a kept record says about its session, by the names of `SessionSummary`.

    The record is not validated: a summary is for a listing, and is no evidence.

    Raises:
        UnreadableInput: the file cannot be read, or is not the record of a session.
    """
    try:
        record, _ = detect_and_decode(read_bytes(str(path)))
        trace = record["session"]
        end = trace.get("session-end")
        status = path.stat()
        return {
            "session_id": str(trace["session-id"]),
            "project": flatten_to_line(str(trace.get("environment", {}).get("working-dir", ""))),
            "start": _parse_milliseconds(trace.get("session-start")),
            "updated": _parse_milliseconds(end) or status.st_mtime_ns // 1_000_000,
            "size": status.st_size,
            "title": find_session_title(trace),
            "parent": find_parent_session(record),
        }
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=_DAMAGED_HINT) from error
    except (TypeError, KeyError, ValueError, AttributeError, LookupError) as error:
        reason = "not the record of a session"
        raise UnreadableInput(reason, where=str(path), hint=_DAMAGED_HINT) from error


def _parse_milliseconds(stamp: Any) -> int | None:
    """Return a time as milliseconds since 1970, or None for anything but a time."""
    return get_epoch_milliseconds(stamp) if type(stamp) in (str, int) else None
