"""Find the places of sessions in a folder, and name the record of each.

A place is a file, or one session of a database or of a folder that contains several. Everything in
a folder is a place, belongs to one (a database's journal, a session's large outputs), or is passed
over with a reason. Only files that must be opened are opened.

    >>> from pathlib import Path
    >>> from vacr.discovery import walk_places
    >>> Path("sessions").mkdir()
    >>> for name in ("fix.jsonl", "plan.json", "plan.jsonl", "old.acr.json"):
    ...     _ = Path("sessions", name).write_text("{}")
    >>> for place in walk_places(Path("sessions")):
    ...     print(Path(place.path).name, "->", place.passed_over or place.name)
    fix.jsonl -> fix
    old.acr.json -> written by vacr
    plan.json -> plan.json
    plan.jsonl -> plan.jsonl

A record is named after its place, and no two have the same name. Where a place has several
sessions, a joint and the session's label follow. A name that could be mistaken for another gets the
ending of the native file, another joint, or a digest. Names depend on names only, so every run
assigns the same ones.
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vacr.agents import Agent, Source, SourcePart, load_agents, recognise_agent
from vacr.discovery.kept_records import is_kept_record, split_kept_name
from vacr.discovery.opening import list_attached_files
from vacr.discovery.session_stores import (
    SQLITE_SIDE_SUFFIXES,
    DatabaseFile,
    find_folder_store,
    is_database,
)
from vacr.discovery.sessions import read_file_ends
from vacr.errors import UnreadableInput, VacrError
from vacr.files import describe_file_error, is_folder

NATIVE_FILE_SUFFIXES = (".jsonl", ".json", ".ndjson", ".txt", ".db", ".vscdb", ".sqlite")
"""Endings of native files that a record's name leaves out."""
VACR_FILE_SUFFIXES = (".acr.json", ".acr.cbor", ".acr.source.zip", ".cose")
VACR_FILE_PREFIX = ".vacr-"
SKIPPED_FOLDERS = frozenset((".git", "node_modules", "__pycache__", ".venv"))
NAME_JOINT = "."
"""The usual joint between the name of a place and the label of a session."""

_RESERVED_NAMES = ("", ".", "..")
_MAX_NAME_BYTES = 240
"""What file systems allow, less our longest ending."""
_DIGEST_LENGTH = 32
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_SESSION_FOLDER = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9]{12}|[0-9a-f]{16}|\A[0-9]{4}-[0-9]{2}-[0-9]{2}-"
)
"""What the name of a session's own folder contains: an id, or a date with more behind it."""
_DIGEST_SUFFIX = re.compile(r"~[0-9a-f]{32}\Z")

_LINK_REASON = "a link, not followed"
_SPECIAL_FILE_REASON = "a pipe, socket or device, not a file"
_VACR_FILE_REASON = "written by vacr"
_SKIPPED_FOLDER_REASON = "a folder that is not entered"
_OUTPUT_FOLDER_REASON = "the folder that the records go to"


@dataclass(frozen=True)
class SessionPlace:
    """A file that may be a session, or one session of a database or a folder of several."""

    path: str
    name: str
    """The path of its record without the ending, relative to the output folder."""
    session: str | None = None
    """The id of the session, if the path has several."""
    in_folder: bool = True
    """Whether the place was found in a folder.

    If so, it may be something else than a session, and sub-agents are places of their own.
    """
    joint: str = NAME_JOINT
    """The joint between the name and a session's label."""
    passed_over: str = ""
    """The reason why the place is not opened; empty for a place that may be a session."""
    files: tuple[Path, ...] = ()
    """The files of a session that consists of many."""


def find_places(path: str | Path) -> Iterator[SessionPlace]:
    """Yield the path itself as a place, or all places in it and below if it is a folder.

    A path that is not a folder is yielded without any check. In a folder, places that are passed
    over are left out.

    Raises:
        UnreadableInput: the folder cannot be read.
    """
    if is_folder(path):
        yield from (place for place in walk_places(Path(path)) if not place.passed_over)
    else:
        yield SessionPlace(str(path), "", in_folder=False)


def walk_places(
    folder: Path, leave_out: Path | None = None, agent: str | None = None
) -> Iterator[SessionPlace]:
    """Yield the places in a folder and below it, sorted by name within each folder.

    Links, folders such as `.git` and files of vacr are yielded with a reason in `passed_over`. The
    same holds for `leave_out`, the folder that records are written to. A subfolder that cannot be
    listed is yielded as a place. `agent` is the name of the agent that wrote all sessions; without
    it, agents are recognised where that matters.

    Raises:
        UnreadableInput: the folder itself cannot be read.
    """
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=str(folder)) from error
    walk = _FolderWalk(leave_out.stat() if leave_out and leave_out.is_dir() else None, agent)
    # A stack, not recursion: folders may be nested deeper than the interpreter's stack.
    levels = [walk.list_folder(folder, "")]
    while levels:
        item = next(levels[-1], None)
        if item is None:
            levels.pop()
        elif isinstance(item, SessionPlace):
            yield item
        else:
            levels.append(walk.list_folder(*item))


def fingerprint_place(place: SessionPlace) -> tuple[str, int]:
    """Return a digest of the names, sizes and times of a place's files, and their total size.

    The digest changes whenever a file does; no file is read. Return an empty string and 0 if a file
    cannot be examined, or the place is a folder.
    """
    digest = hashlib.sha256()
    size = 0
    if not place.files and is_folder(place.path):
        return "", 0
    try:
        for path in place.files or _list_place_files(Path(place.path)):
            status = path.stat()
            size += status.st_size
            stamp = f":{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}\n"
            digest.update(os.fsencode(path.name) + stamp.encode())
    except OSError:
        return "", 0
    return digest.hexdigest(), size


def _list_place_files(path: Path) -> Iterator[Path]:
    """Yield a transcript or database, its SQLite log and journal, and its attached files."""
    yield path
    side_files = (Path(f"{path}{suffix}") for suffix in ("-wal", "-journal"))
    yield from (file for file in side_files if file.is_file())
    for agent in load_agents().values():
        if agent.attached:
            yield from list_attached_files(path, agent)


@dataclass
class _FolderWalk:
    """A walk through a folder; it remembers which files further down belong to sessions."""

    output_folder: os.stat_result | None
    agent_name: str | None
    owners: dict[str, list[tuple[Path, Agent]]] = field(default_factory=dict)
    """Folder that is still to come → the sessions with attached files there, and their agents."""
    claimed: set[str] = field(default_factory=set)
    """The paths of files that belong to a session in a folder store."""

    def list_folder(self, folder: Path, prefix: str) -> Iterator[SessionPlace | tuple[Path, str]]:
        """Yield the places in one folder, and its subfolders, in order.

        `prefix` begins the names of all places there. A subfolder comes as the arguments for the
        next call: its path and its prefix.
        """
        try:
            with os.scandir(folder) as entries:
                kinds = {
                    entry.name: self._classify_entry(entry)
                    for entry in sorted(entries, key=lambda entry: entry.name)
                }
            sessions = list(self._claim_store_sessions(folder))
        except OSError:
            # A folder that cannot be listed is reported as a place that cannot be read.
            yield SessionPlace(str(folder), prefix.removesuffix("/"))
            return
        belonging = self._find_belonging_files(folder, kinds)
        kinds = {name: kind for name, kind in kinds.items() if name not in belonging}
        session_names = [make_session_name(session) for session, _ in sessions]
        file_names = assign_place_names(
            [name for name, kind in kinds.items() if kind == "file"], session_names
        )
        joints = NameJoints([*file_names.values(), *session_names])
        for name, (session, files) in zip(session_names, sessions, strict=True):
            yield SessionPlace(
                str(folder), f"{prefix}{name}", session, joint=joints.of(name), files=files
            )
        for name, kind in kinds.items():
            path = folder / name
            if kind == "folder":
                yield path, f"{prefix}{name}/"
            elif kind == "file":
                yield from _list_file_places(path, prefix, file_names[name], joints)
            else:
                yield SessionPlace(str(path), "", passed_over=kind)

    def _classify_entry(self, entry: os.DirEntry[str]) -> str:
        """Return "file", "folder", or the reason to pass over an entry of a folder."""
        if entry.is_symlink():
            return _LINK_REASON
        if entry.is_dir():
            if self.output_folder and os.path.samestat(entry.stat(), self.output_folder):
                return _OUTPUT_FOLDER_REASON
            return _SKIPPED_FOLDER_REASON if entry.name in SKIPPED_FOLDERS else "folder"
        if not entry.is_file():
            return _SPECIAL_FILE_REASON
        if entry.name.endswith(VACR_FILE_SUFFIXES) or entry.name.startswith(VACR_FILE_PREFIX):
            return _VACR_FILE_REASON
        return "file"

    def _claim_store_sessions(self, folder: Path) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Yield the id and files of each session if the folder is a store, and claim the files.

        Claimed files are not places themselves.
        """
        store = find_folder_store(folder)
        if store is None:
            return
        for session in store.sessions():
            files = tuple(store.files(session))
            self.claimed.update(map(str, files))
            yield session, files

    def _find_belonging_files(self, folder: Path, kinds: dict[str, str]) -> set[str]:
        """Return the names in a folder that belong to another place, such as attached files.

        `kinds` maps each name in the folder to the result of `_classify_entry`.
        """
        belonging = {name for name in kinds if self.claimed and str(folder / name) in self.claimed}
        for path, agent in self.owners.pop(str(folder), ()):
            belonging.update(
                file.name for file in list_attached_files(path, agent) if file.parent == folder
            )
        belonging |= _find_database_side_files(folder, kinds)
        for agent in load_agents().values():
            for pattern in agent.attached:
                self._add_attached_files(folder, kinds, pattern, agent, belonging)
        return belonging

    def _add_attached_files(
        self,
        folder: Path,
        kinds: dict[str, str],
        pattern: str,
        agent: Agent,
        belonging: set[str],
    ) -> None:
        """Find the files that an agent's pattern attaches to the sessions in a folder.

        Add the names of files in the folder itself to `belonging`. For files in a folder below,
        note the session as their owner in `owners`. `kinds` maps each name in the folder to the
        result of `_classify_entry`.
        """
        subfolder, _, file_name = pattern.rpartition("/")
        files = [name for name, kind in kinds.items() if kind == "file" and name not in belonging]
        for name in files:
            parts = {"stem": name.rpartition(".")[0] or name, "name": name.partition(".")[0]}
            if subfolder:
                self._note_owner(folder, kinds, name, subfolder.format(**parts), agent)
                continue
            attached = file_name.format(**parts)
            if attached != name and attached in kinds and self._is_session(folder / name, agent):
                belonging.add(attached)

    def _note_owner(
        self, folder: Path, kinds: dict[str, str], name: str, subfolder: str, agent: Agent
    ) -> None:
        """Note the file `name` as the owner of files in a subfolder.

        Do nothing if the subfolder does not exist, or the file is not a session of the agent.
        `kinds` maps each name in the folder to the result of `_classify_entry`.
        """
        if (
            kinds.get(subfolder.partition("/")[0]) == "folder"
            and (folder / subfolder).is_dir()
            and self._is_session(folder / name, agent)
        ):
            owners = self.owners.setdefault(str(folder / subfolder), [])
            owners.append((folder / name, agent))

    def _is_session(self, path: Path, agent: Agent) -> bool:
        """Return whether a file is a session of an agent; False if it cannot be read.

        If the caller named the agent of all sessions, do not look into the file.
        """
        if self.agent_name:
            return self.agent_name == agent.name
        try:
            source = Source((SourcePart(path.name, read_file_ends(path)),))
            return recognise_agent(source).name == agent.name
        except VacrError:
            return False


def _find_database_side_files(folder: Path, kinds: dict[str, str]) -> set[str]:
    """Return the names of the logs and journals of SQLite databases in a folder.

    `kinds` maps each name in the folder to its kind.
    """
    side_files = set()
    for name, kind in kinds.items():
        bases = (
            name.removesuffix(suffix) for suffix in SQLITE_SIDE_SUFFIXES if name.endswith(suffix)
        )
        base = next(bases, "")
        if kind == kinds.get(base) == "file" and _is_readable_database(folder / base):
            side_files.add(name)
    return side_files


def _is_readable_database(path: Path) -> bool:
    """Return whether a file is a SQLite database; False if it cannot be read."""
    try:
        return is_database(path)
    except UnreadableInput:
        return False


def _list_file_places(
    path: Path, prefix: str, name: str, joints: NameJoints
) -> Iterator[SessionPlace]:
    """Yield one place for each session in a database; for any other file, yield one place.

    A database that cannot be read, or has no sessions, is one place too. All have the name `prefix`
    and `name` together.
    """
    sessions = _list_database_sessions(path) if _is_readable_database(path) else []
    for session in sessions:
        yield SessionPlace(str(path), f"{prefix}{name}", session, joint=joints.of(name, session))
    if not sessions:
        yield SessionPlace(str(path), f"{prefix}{name}", joint=joints.of(name))


def _list_database_sessions(path: Path) -> list[str]:
    """Return the ids of the sessions in a database, or an empty list if it cannot be read.

    Recording it later reports why.
    """
    try:
        database = DatabaseFile(path)
        try:
            return [listed.session_id for listed in database.sessions()]
        finally:
            database.close()
    except Exception:  # noqa: BLE001 - one bad database must not hide the rest of the folder
        return []


def strip_native_suffix(name: str) -> str:
    """Return the name of a native file without an ending such as `.jsonl`.

    A name without such an ending, or with nothing before it, is returned as it is.
    """
    for suffix in NATIVE_FILE_SUFFIXES:
        if name.endswith(suffix) and name.removesuffix(suffix) not in _RESERVED_NAMES:
            return name.removesuffix(suffix)
    return name


def derive_record_name(path: str) -> str:
    """Return the name for the record of a native file: the file's own, without its ending.

    Some agents give each session a folder, and its transcript always the same name. There it is the
    name of the folder: `sessions/1f3c9a52-5e0b-…/events.jsonl` becomes `1f3c9a52-5e0b-…`. For the
    record of a kept session, it is the id of the session.
    """
    file = Path(path)
    if is_kept_record(path):
        return split_kept_name(file)[0]
    name, folder = strip_native_suffix(file.name), file.parent.name
    is_usual = not any(map(str.isdigit, name))
    return folder if is_usual and _SESSION_FOLDER.search(folder) else name


def make_session_name(session_id: str) -> str:
    """Return a session's id as a file name: `..` becomes `~..~`, as do `.` and an empty id."""
    return f"~{session_id}~" if session_id in _RESERVED_NAMES else session_id


def assign_place_names(files: Collection[str], sessions: Iterable[str] = ()) -> dict[str, str]:
    """Return a dict from each file of one folder to the name of its record.

    That is the file's name without its ending, if unique, or else the whole name. A name that is
    among `sessions`, the names of the records of a folder store, gets a `~` at its end.
    """
    stems = Counter(map(strip_native_suffix, files))
    file_names, used_names = set(files), set(sessions)
    names = {}
    for file in files:
        stem = strip_native_suffix(file)
        is_unique = (
            stems[stem] == 1 and stem not in used_names and (stem == file or stem not in file_names)
        )
        names[file] = stem if is_unique else file
    for file, first_choice in names.items():
        name = first_choice
        # Only a session can still have the name: no two files do.
        while name in used_names or (name != first_choice and name in file_names):
            name += "~"
        names[file] = name
        used_names.add(name)
    return names


class NameJoints:
    """Chooses the joint between the name of a place and the label of a session, in one folder.

    The joint is usually `.`, as in `store.s1`. It is another where the joined name could be
    mistaken for the name of another place.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Remember the names of all places in the folder."""
        self._ordered = sorted(names)
        self._names = frozenset(self._ordered)

    def of(self, name: str, label: str | None = None) -> str:
        """Return the joint: the text between a place's name and a session's label.

        It is `.` or, where that is ambiguous, `.~1.` (`.~2.`, …). With a label, `.` is ambiguous
        if the label begins with `~`, or if name and label together could be another place's name.
        Without a label, it is ambiguous if another name begins with this name and `.`.
        """
        if label is None:
            clashes = self._has_name_beginning(f"{name}{NAME_JOINT}")
        else:
            full_name = f"{name}{NAME_JOINT}{label}"
            clashes = label.startswith("~") or self._may_be_another(full_name, len(name) + 1)
        if not clashes:
            return NAME_JOINT
        number = 1
        while self._has_name_beginning(f"{name}{NAME_JOINT}~{number}"):
            number += 1
        return f"{NAME_JOINT}~{number}{NAME_JOINT}"

    def _has_name_beginning(self, text: str) -> bool:
        """Return whether the name of any place begins with a text."""
        position = bisect_left(self._ordered, text)
        return position < len(self._ordered) and self._ordered[position].startswith(text)

    def _may_be_another(self, full_name: str, start: int) -> bool:
        """Return whether a joined name, or its part before a later joint, is another place's name.

        `start` is the offset of the label in the joined name.
        """
        ends = [match.start() for match in re.finditer(re.escape(NAME_JOINT), full_name[start:])]
        prefixes = (full_name[: start + end] for end in ends)
        return any(prefix in self._names for prefix in prefixes) or full_name in self._names


def make_record_name(name: str, joint: str, label: str) -> str:
    """Return the name of a record, without its ending: name, joint and label.

    Without a label, it is the name alone. If the label has unsafe characters, or the result is too
    long for a file name, replace or cut them and add `~` and a digest. A result that already ends
    like that gets a digest too.
    """
    plain = f"{name}{joint}{label}" if label else name
    safe = f"{name}{joint}{_UNSAFE_CHARACTERS.sub('-', label)}" if label else name
    if (
        safe == plain
        and len(os.fsencode(plain)) <= _MAX_NAME_BYTES
        and not _DIGEST_SUFFIX.search(plain)
    ):
        return plain
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    shortened = os.fsencode(safe)[: _MAX_NAME_BYTES - _DIGEST_LENGTH - 1]
    return f"{shortened.decode('utf-8', 'ignore')}~{digest}"
