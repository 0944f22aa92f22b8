"""Where OpenCode kept its sessions before version 1.2: the storage folder. Step: read; what is read
is data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from vacr.readers.lines import Repaired
from vacr.readers.source import Source

Files = Callable[[str], list[str]]
"""Gives the paths of a folder's files that match a pattern, in order. A path may end where nothing
more is known.
"""


class _Folder:
    """The storage folder: a file for each session, message and part."""

    marks = frozenset(("session", "message"))
    """The folders that a storage folder has."""
    signs = ("session/*/ses_*.json", "message/ses_*/msg_*.json", "part/msg_*/prt_*.json")
    """The files of which a folder that was restored has at least some, if not all those folders."""
    pieces = frozenset(("message", "part"))
    """The folders whose files are no sessions."""

    def holds(self, source: Source) -> bool:
        """Tell whether a source was made of a storage folder."""
        return source.main.name.startswith(
            ("session/", "message/", "part/")
        ) and source.main.name.endswith(".json")

    def session_of(self, source: Source) -> str:
        """Give the session that the files of a source are of, if their paths tell."""
        kind, above, name = source.main.name.split("/")[:3]
        return {"session": name.removesuffix(".json"), "message": above}.get(kind, "")

    def sessions(self, files: Files) -> list[str]:
        """List the ids of the sessions: those that have a file, and those that only messages name.

        Parts whose message has no file are of a session that no path tells: they go by the message.
        """
        own = {_stem(path) for path in files("session/*/*.json")}
        messages = files("message/*/*.json")
        parts = {path.split("/")[1] for path in files("part/*/*.json")}
        # Where not all messages are known, no part is known to be without its message.
        orphans = parts - {_stem(path) for path in messages} if all(map(_stem, messages)) else set()
        return sorted((own | {path.split("/")[1] for path in messages} | orphans) - {""})

    def glimpse(self, files: Files, session_id: str) -> list[str]:
        """Name the files of a session that tell what it is: its own, or else one of the others."""
        own = files(f"session/*/{session_id}.json")
        others = (files(f"{folder}/{session_id}/*.json") for folder in ("message", "part"))
        return own or list(itertools.islice(itertools.chain.from_iterable(others), 1))

    def parts(self, files: Files, session_id: str) -> list[str]:
        """Name the files of a session, its own first."""
        own, messages = files(f"session/*/{session_id}.json"), files(f"message/{session_id}/*.json")
        if not own and not messages:
            return files(f"part/{session_id}/*.json")
        parts = [part for path in messages for part in files(f"part/{_stem(path)}/*.json")]
        beside = [
            path
            for name in ("session_diff", "todo", "session_share")
            for path in files(f"{name}/{session_id}.json")
        ]
        projects = [
            project for path in own for project in files(f"project/{path.split('/')[1]}.json")
        ]
        return own + messages + parts + beside + projects


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


FOLDER = _Folder()


def from_file(path: str, document: Any) -> Any:
    """Give what a file of the storage folder holds the ids that its path names: migrations moved
    files and not what they say.
    """
    value = document.value if isinstance(document, Repaired) else document
    if type(value) is dict:
        folder, *between, name = path.removesuffix(".json").split("/")
        above = between[-1] if between else ""
        ids = {
            "session": {"id": name, "projectID": above},
            "message": {"id": name, "sessionID": above},
            "part": {"id": name, "messageID": above},
        }.get(folder, {})
        for member, identity in ids.items():
            value.setdefault(member, identity)
    return document
