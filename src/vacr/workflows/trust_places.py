"""Trust stores on this machine: the user's own, a project's, and the ones in a command's options.

The user's own store lies in vacr's configuration folder. A project may bring a store, too, but a
clone could contain anybody's keys: it counts only after the user approved its bytes.

    >>> from pathlib import Path
    >>> from vacr.signing import generate_key
    >>> from vacr.verification import ROLE_SIGNER, TrustedParty
    >>> from vacr.workflows import add_trusted_party, choose_trust_stores
    >>> alice = TrustedParty("Alice", (ROLE_SIGNER,), (generate_key("eddsa").public_key(),))
    >>> change = add_trusted_party(Path("trust.toml"), alice, is_shared=True)
    >>> [file] = choose_trust_stores(("trust.toml",))
    >>> [party.name for party in file.parse().parties]
    ['Alice']

Each store is read once. Its bytes travel with the options of a verification, so that the bytes
that were approved are the bytes that count.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    CONFIG_VARIABLE,
    find_config_folder,
    find_home_folder,
    hold_file_lock,
    make_folder_error,
    make_folder_tree,
    read_bytes,
    write_durable_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vacr.verification import TrustedParty, TrustStore

STORE_NAME = "trust.toml"
PROJECT_STORE = f".vacr/{STORE_NAME}"
"""The path of a project's store in its repository."""
STORE_OWN, STORE_NAMED, STORE_APPROVED = "own", "named", "approved"
STORE_UNAPPROVED, STORE_CHANGED, STORE_REFUSED = "not approved", "changed", "refused"
COUNTED_STATES = frozenset([STORE_OWN, STORE_NAMED, STORE_APPROVED])
"""The states of stores that count in a verification."""

_APPROVALS_NAME = "approved-stores.json"
_OWN_FILE_MODE, _SHARED_FILE_MODE, _OWN_FOLDER_MODE = 0o600, 0o644, 0o700
_LOCK_WAIT_SECONDS = 10
_LOCK_NAME = ".lock"
_PARTY_HEADER = re.compile(r"[ \t]*\[\[[ \t]*trusted[ \t]*\]\]")


@dataclass(frozen=True)
class TrustStoreFile:
    """A trust store that was read, and why it counts or not."""

    path: str
    data: bytes
    state: str = STORE_NAMED
    """STORE_OWN, STORE_NAMED, STORE_APPROVED, STORE_UNAPPROVED, STORE_CHANGED or STORE_REFUSED."""
    approved: bytes | None = None
    """The bytes of the project's store that the user approved last."""

    @property
    def is_default(self) -> bool:
        """Return whether the store counts without being named."""
        return self.state != STORE_NAMED

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    def parse(self) -> TrustStore:
        """Parse the store.

        Raises:
            UnreadableInput: it is malformed, or was refused.
        """
        from vacr.verification import parse_trust_store

        if self.state == STORE_REFUSED:
            message, hint = _describe_ignored_store(self)
            raise UnreadableInput(message, hint=hint)
        return parse_trust_store(self.data, self.path)

    def describe_changes(self) -> list[str]:
        """Return a line about each difference from the approved bytes, such as a new party.

        Raises:
            UnreadableInput: the store is malformed.
        """
        from vacr.verification import TrustStore, parse_trust_store

        old = parse_trust_store(self.approved, self.path) if self.approved else TrustStore()
        new = self.parse()
        before, after = ({party.name: party for party in store.parties} for store in (old, new))
        names = list(dict.fromkeys([*before, *after]))
        lines = []
        for name in names:
            if name not in before:
                lines.append(f"added: {name} ({', '.join(after[name].roles)})")
            elif name not in after:
                lines.append(f"removed: {name}")
            elif before[name] != after[name]:
                lines.append(f"changed: {name}")
        if old.witnesses_required != new.witnesses_required:
            lines.append(f"witnesses required: {old.witnesses_required} → {new.witnesses_required}")
        return lines


def load_trust_stores(files: tuple[TrustStoreFile, ...]) -> TrustStore | None:
    """Return one store with the parties of all files, or None if there are no files.

    Raises:
        UnreadableInput: a file is malformed, or two use one name for different parties.
    """
    from vacr.verification import combine_trust_stores

    return combine_trust_stores([file.parse() for file in files]) if files else None


def choose_trust_stores(
    names: tuple[str, ...] = (),
    *,
    has_bare_trust: bool = False,
    warn: Callable[[str, str], None] = lambda _message, _hint: None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[TrustStoreFile, ...]:
    """Return the trust stores that count in a verification: the named ones, or the default ones.

    The default stores are the user's own and the approved one of the project around the current
    folder. They do not count if the caller names a store or has bare keys (`has_bare_trust`). A
    project's store that does not count is reported to `warn`, with a hint.

    Raises:
        Unreachable: a named store cannot be read.
        UsageError: others can write to the user's own store.
    """
    from vacr.signing import read_trust_file

    if names or has_bare_trust:
        _check_named_own_store(names, environment)
        return tuple(TrustStoreFile(name, read_trust_file(name)) for name in names)
    files = []
    for file in find_default_stores(environment):
        if file.state in COUNTED_STATES:
            files.append(file)
        else:
            warn(*_describe_ignored_store(file))
    return tuple(files)


def _check_named_own_store(names: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Check who can write to the user's own store, if it is among the named ones.

    Raises:
        UsageError: others can.
    """
    try:
        own = find_own_store(environment)
    except UsageError:
        return
    if own.exists() and any(Path(name).resolve() == own.resolve() for name in names):
        check_write_permission(own)


def find_default_stores(environment: Mapping[str, str] = os.environ) -> list[TrustStoreFile]:
    """Return the user's own store and the project's store, if they exist, with their states.

    Raises:
        UsageError: others can write to the user's own store.
        UnreadableInput: the user's own store, or the list of approvals, cannot be read.
    """
    try:
        own = find_own_store(environment)
    except UsageError:
        # Without a configuration folder, nothing can be approved either.
        return []
    files = []
    if own.exists():
        check_write_permission(own)
        files.append(TrustStoreFile(str(own), _read_store(own), STORE_OWN))
    project = find_project_store(Path.cwd())
    if project is not None:
        files.append(read_project_file(project, environment))
    return files


def _read_store(path: Path) -> bytes:
    """Return the bytes of a store; of a too large one, only enough for the parser to refuse it.

    Raises:
        UnreadableInput: it cannot be read.
    """
    from vacr.verification import MAX_TRUST_STORE_BYTES

    return read_bytes(path, MAX_TRUST_STORE_BYTES + 1)


def find_own_store(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's own store, which need not exist.

    Raises:
        UsageError: the user has no configuration folder.
    """
    return find_config_folder(environment) / STORE_NAME


def check_write_permission(path: Path) -> None:
    """Refuse a file of the user that other users can write: they could add their keys.

    If it is a link, the same holds for its target.

    Raises:
        UsageError: others own or can write the file or its folder.
    """
    if sys.platform == "win32":
        return
    target = path.resolve()
    for place in dict.fromkeys((path, path.parent, target, target.parent)):
        status = place.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise UsageError(
                f"{place} belongs to another user",
                hint=f"Make it yours, or set {CONFIG_VARIABLE} to a folder of your own.",
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(f"other users can write to {place}", hint=f"chmod go-w '{place}'")


def find_project_store(folder: Path) -> Path | None:
    """Return the path of the store of the repository around a folder, or None if it has none."""
    top = find_project_folder(folder)
    if top is None or not os.path.lexists(top / PROJECT_STORE):
        return None
    return top / PROJECT_STORE


def is_project_store(path: Path) -> bool:
    """Return whether a path is the store of the repository around it."""
    target = path.resolve()
    store = find_project_store(target.parent)
    return store is not None and store.resolve() == target


def find_project_folder(folder: Path) -> Path | None:
    """Return the top of the git repository around a folder, without symbolic links, or None."""
    try:
        start = folder.resolve()
    except (OSError, RuntimeError):
        return None
    return next((top for top in (start, *start.parents) if (top / ".git").exists()), None)


def read_project_file(path: Path, environment: Mapping[str, str] = os.environ) -> TrustStoreFile:
    """Read a project's store or settings, and find out whether the user approved these bytes.

    Its state is STORE_REFUSED if it cannot be read, or leads out of the project.

    Raises:
        UnreadableInput: the list of approvals cannot be read.
    """
    try:
        check_inside_project(path)
        data = _read_store(path)
    except UnreadableInput:
        return TrustStoreFile(str(path), b"", STORE_REFUSED)
    approved = _Approvals(environment).find(path)
    if approved is None:
        return TrustStoreFile(str(path), data, STORE_UNAPPROVED)
    state = STORE_APPROVED if approved == data else STORE_CHANGED
    return TrustStoreFile(str(path), data, state, approved)


def check_inside_project(path: Path) -> None:
    """Check that no symbolic link leads from the path of a project's store out of the project.

    The store need not exist.

    Raises:
        UnreadableInput: a link does, or links form a loop.
    """
    try:
        is_inside = path.resolve().is_relative_to(path.parent.parent)
    except (OSError, RuntimeError):
        is_inside = False
    if not is_inside:
        message, hint = _describe_ignored_store(TrustStoreFile(str(path), b"", STORE_REFUSED))
        raise UnreadableInput(message, hint=hint)


def _describe_ignored_store(file: TrustStoreFile) -> tuple[str, str]:
    """Return the warning about a project's store that does not count, and the hint."""
    if file.state == STORE_REFUSED:
        return (
            f"{file.path}: ignored: it cannot be read, or is a symbolic link out of the project",
            "Replace it by a regular file.",
        )
    hint = "To review and trust it: vacr trust approve"
    if file.state == STORE_UNAPPROVED:
        return f"{file.path}: ignored: you have not approved this project's trust store", hint
    try:
        changes = "; ".join(file.describe_changes()) or "only comments or the order"
    except UnreadableInput as error:
        changes = error.message
    return f"{file.path}: ignored: it changed since you approved it ({changes})", hint


def approve_store(file: TrustStoreFile, environment: Mapping[str, str] = os.environ) -> None:
    """Remember the bytes of a project's store as approved.

    Raises:
        UnreadableInput: the store is malformed, was refused, or contradicts the user's own store.
    """
    from vacr.verification import combine_trust_stores

    stores = [file.parse()]
    for other in find_default_stores(environment):
        if other.state == STORE_OWN:
            stores.insert(0, other.parse())
    combine_trust_stores(stores)
    remember_approval(file, environment)


def remember_approval(file: TrustStoreFile, environment: Mapping[str, str] = os.environ) -> None:
    """Remember the bytes of a project's store or settings as approved.

    Raises:
        UnreadableInput: the list of approvals cannot be read or written.
    """
    _Approvals(environment).save(Path(file.path), file.data)


def renew_approval(path: Path, before: TrustStoreFile | None, change: StoreChange) -> bool:
    """Approve the user's own change of a project's store, and return whether it was approved.

    The change must start from approved bytes; `before` is None for a new store. The file is not
    read again: another program may have changed it since.

    Raises:
        UnreadableInput: the store contradicts the user's own store.
    """
    if before is not None and before.state != STORE_APPROVED:
        return False
    if change.before != (before.data if before is not None else b""):
        return False
    approve_store(TrustStoreFile(str(path), change.after))
    return True


class _Approvals:
    """The stores and settings of projects that the user approved, in the configuration folder.

    The whole content is kept, so that a later change can be shown.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment

    @property
    def path(self) -> Path:
        return find_config_folder(self.environment) / _APPROVALS_NAME

    def find(self, store: Path) -> bytes | None:
        """Return the approved bytes of a store, or None.

        Raises:
            UnreadableInput: the list cannot be read, or its content was damaged.
        """
        approval = self._read().get(str(store))
        if approval is None:
            return None
        data = str(approval["content"]).encode()
        if hashlib.sha256(data).hexdigest() != approval["sha256"]:
            raise self._make_damage_error()
        return data

    def save(self, store: Path, data: bytes) -> None:
        """Remember the approved bytes of a store.

        Raises:
            UnreadableInput: the list cannot be read or written.
        """
        with _hold_settings_lock(self.environment):
            approvals = self._read()
            digest = hashlib.sha256(data).hexdigest()
            approvals[str(store)] = {"sha256": digest, "content": data.decode()}
            text = json.dumps({"version": 1, "stores": approvals}, indent=1, sort_keys=True)
            write_durable_file(self.path, f"{text}\n".encode(), _OWN_FILE_MODE)

    def _read(self) -> dict[str, Any]:
        path = self.path
        if not path.exists():
            return {}
        check_write_permission(path)
        try:
            document = json.loads(read_bytes(path))
            stores = document["stores"]
            if document["version"] != 1 or not all(
                isinstance(approval["content"], str) and isinstance(approval["sha256"], str)
                for approval in stores.values()
            ):
                raise self._make_damage_error()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._make_damage_error() from error
        return dict(stores)

    def _make_damage_error(self) -> UnreadableInput:
        return UnreadableInput(
            "the list of approved trust stores is damaged",
            where=str(self.path),
            hint="Delete it, and approve your projects' stores again: vacr trust approve",
        )


@dataclass(frozen=True)
class StoreChange:
    """The bytes of a store before and after a change; `before` is empty if the store is new."""

    before: bytes
    after: bytes


def add_trusted_party(path: Path, party: TrustedParty, *, is_shared: bool = False) -> StoreChange:
    """Add a party to the store at a path, and create a missing store.

    Comments and the order of the file stay. A shared file may be read by everybody; otherwise it is
    the user's own store.

    Raises:
        UsageError: the party is incomplete, or its name or one of its keys is already listed.
        UnreadableInput: the store is malformed, or cannot be written.
    """
    from vacr.verification import add_party, format_party, format_trust_store

    def add(data: bytes, store: TrustStore) -> tuple[bytes, TrustStore]:
        changed = add_party(store, party, str(path))
        if not data:
            return format_trust_store(changed), changed
        separator = b"" if data.endswith(b"\n") else b"\n"
        return data + separator + format_party(party).encode(), changed

    return _change_store(path, add, is_shared=is_shared)


def remove_trusted_party(path: Path, name: str, *, is_shared: bool = False) -> StoreChange:
    """Remove a party from the store at a path, with the comment above it.

    Raises:
        UsageError: the store does not list the party.
        UnreadableInput: the store is malformed, or cannot be written.
    """

    def remove(data: bytes, store: TrustStore) -> tuple[bytes, TrustStore]:
        position = next(
            (index for index, party in enumerate(store.parties) if party.name == name), None
        )
        if position is None:
            listed = ", ".join(party.name for party in store.parties) or "nobody"
            raise UsageError(
                f"the trust store does not list {name!r}",
                where=str(path),
                hint=f"It lists: {listed}.",
            )
        parties = store.parties[:position] + store.parties[position + 1 :]
        witnesses = len(replace(store, parties=parties).witnesses)
        if store.witnesses_required > witnesses:
            raise UsageError(
                f"witnesses-required is {store.witnesses_required}, but only {witnesses} witnesses "
                "would remain",
                where=str(path),
                hint="Lower witnesses-required in the file first.",
            )
        head, *blocks = _split_parties(data.decode())
        kept = blocks[:position] + blocks[position + 1 :]
        text = "".join([head, *kept]).rstrip("\n") + "\n"
        return text.encode(), replace(store, parties=parties)

    return _change_store(path, remove, is_shared=is_shared)


def _split_parties(text: str) -> list[str]:
    """Split the text of a store into its head and a part for each party, with its comment."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for number, line in enumerate(lines):
        if _PARTY_HEADER.match(line) is None:
            continue
        start = number
        while start > starts[-1] and lines[start - 1].lstrip().startswith("#"):
            start -= 1
        starts.append(start)
    ends = [*starts[1:], len(lines)]
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _change_store(
    path: Path,
    change: Callable[[bytes, TrustStore], tuple[bytes, TrustStore]],
    *,
    is_shared: bool,
) -> StoreChange:
    """Change the text of a store; `change` returns the new text and the store it must mean.

    Changes of the user's own store wait for each other; a shared file is reviewed by people.
    If the text does not mean that, for example because the file is laid out in an unusual way, the
    whole file is written in the standard layout.
    """
    from vacr.verification import TrustStore, format_trust_store, parse_trust_store

    with nullcontext() if is_shared else _hold_settings_lock():
        data = _read_store(path) if path.exists() else b""
        store = parse_trust_store(data, str(path)) if data else TrustStore()
        text, changed = change(data, store)
        try:
            is_same = parse_trust_store(text, str(path)) == changed
        except UnreadableInput:
            is_same = False
        if not is_same:
            text = format_trust_store(changed)
        make_folder_tree(path.parent)
        # A link, as from a folder of settings under version control, stays a link.
        write_durable_file(path.resolve(), text, _SHARED_FILE_MODE if is_shared else _OWN_FILE_MODE)
    return StoreChange(data, text)


@contextmanager
def _hold_settings_lock(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Make the configuration folder, and lock it against other processes that change stores.

    Raises:
        UsageError: the user has no configuration folder.
        UnreadableInput: the folder cannot be made, or another process holds the lock.
    """
    folder = find_config_folder(environment)
    try:
        folder.mkdir(_OWN_FOLDER_MODE, parents=True, exist_ok=True)
        with hold_file_lock(folder / _LOCK_NAME, _LOCK_WAIT_SECONDS):
            yield
    except OSError as error:
        hint = f"Set {CONFIG_VARIABLE} to a folder that you can write."
        raise make_folder_error(folder, error, hint) from error


def abbreviate_home(path: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a path for people, with `~` for the user's home."""
    home = find_home_folder(environment).rstrip("/")
    if home and (path == home or path.startswith(f"{home}/")):
        return f"~{path[len(home) :]}"
    return path
