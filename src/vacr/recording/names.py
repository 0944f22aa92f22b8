"""The names of records: after what they record, and no two alike. They depend on names only, so
that every run gives the same.

A place's record has the name of the place; where a place holds several sessions, the session's
label follows, after a joint. All that could be two names at once is kept apart: by the ending of
the native file, by another joint, or by a digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable

SUFFIXES = (".jsonl", ".json", ".ndjson", ".txt", ".db", ".vscdb", ".sqlite")
"""Endings of native files that a record's name leaves out."""
JOINT = "."

_NO_NAMES = ("", ".", "..")
_LONGEST = 240
"""As many bytes as leave room for our longest ending in what file systems allow."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")
_DIGEST = re.compile(r"~[0-9a-f]{32}\Z")


def stem(name: str) -> str:
    """Give the name of a native file without its ending."""
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name.removesuffix(suffix) not in _NO_NAMES:
            return name.removesuffix(suffix)
    return name


def whole_name(session_id: str) -> str:
    """Give a session's id as the name of a file; what means a folder everywhere means none here."""
    return f"~{session_id}~" if session_id in _NO_NAMES else session_id


def place_names(files: Collection[str], sessions: Iterable[str] = ()) -> dict[str, str]:
    """Name the files of one folder: without their endings, unless that would be the name of another
    of them, or of a session.

    Sessions that lie in the folder as many files have the names that they are given.
    """
    stems, whole, taken = Counter(map(stem, files)), set(files), set(sessions)
    named = {}
    for file in files:
        name = stem(file)
        alone = stems[name] == 1 and name not in taken and (name == file or name not in whole)
        named[file] = name if alone else file
    for file, given in named.items():
        name = given
        # Only a session can still have the name, for files are never named alike.
        while name in taken or (name != given and name in whole):
            name += "~"
        named[file] = name
        taken.add(name)
    return named


class Joints:
    """What joins the name of a place and the label of a session, given the names of all places in
    the folder.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Keep the names in order."""
        self._ordered = sorted(names)
        self._names = frozenset(self._ordered)

    def of(self, name: str, label: str | None = None) -> str:
        """Give the joint after a name: one that makes no other name, whatever the label, or with
        this label if it is known.
        """
        if label is None:
            clashes = self._begins(f"{name}{JOINT}")
        else:
            clashes = label.startswith("~") or self._is_anothers(
                f"{name}{JOINT}{label}", len(name) + 1
            )
        if not clashes:
            return JOINT
        number = 1
        while self._begins(f"{name}{JOINT}~{number}"):
            number += 1
        return f"{JOINT}~{number}{JOINT}"

    def _begins(self, text: str) -> bool:
        """Tell whether a name begins so."""
        position = bisect_left(self._ordered, text)
        return position < len(self._ordered) and self._ordered[position].startswith(text)

    def _is_anothers(self, text: str, start: int) -> bool:
        """Tell whether a name with a label is, or may be, that of another place: alone, or with a
        label of its own.
        """
        ends = [found.start() for found in re.finditer(re.escape(JOINT), text[start:])]
        return any(text[: start + end] in self._names for end in ends) or text in self._names


def record_name(name: str, joint: str, label: str) -> str:
    """Name a record, without ending: as plainly as a file can be named, else with a digest of what
    could not be said.
    """
    plain = f"{name}{joint}{label}" if label else name
    told = f"{name}{joint}{_UNSAFE.sub('-', label)}" if label else name
    if told == plain and len(os.fsencode(plain)) <= _LONGEST and not _DIGEST.search(plain):
        return plain
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{os.fsencode(told)[: _LONGEST - 33].decode('utf-8', 'ignore')}~{digest}"
