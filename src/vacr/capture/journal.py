"""The journal of a machine: a chain of frames for each session, and signed checkpoints over them.

The watcher writes into it everything it captures, and one process at a time may do so. After any
crash, everything that a checkpoint covers is still there as it was, or found to be missing.

>>> from pathlib import Path
>>> from vacr.capture.journal import Journal
>>> journal = Journal(Path("state/journal"))
>>> session = journal.session("some-agent/abc")
>>> session.begin("some-agent", Path("abc.jsonl"), "")
>>> checkpoint = journal.checkpoint()
>>> checkpoint.number, checkpoint.sessions["some-agent/abc"] == session.head
(1, True)
>>> journal.close()

The files in its folder:

| file | content |
|---|---|
| `checkpoints` | the chain of checkpoints and anchors |
| `sessions/AGENT/NAME.frames` | the journal of a session |
| `epoch-key.pem`, `next-epoch-key.pem` | the key that signs checkpoints, and its successor |
| `lock`, `work/` | the writer's lock, and its temporary copies of sessions |

A key signs for one epoch. The last checkpoint of an epoch names the next key, and then the old key
is erased. An attacker who takes over the machine finds the current key alone, and cannot replace
what earlier keys signed, as long as a verifier knows the first key or a later checkpoint. The
attacker can still sign false content from now on, or delete the journal; and only the disk knows
whether an erased key is really gone.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.chains import (
    CHECKPOINTS_FILE,
    EMPTY_CHAIN_HEAD,
    MAX_CHECKPOINT_SESSIONS,
    BrokenJournal,
    ChainHead,
    FrameChain,
    JournalCheckpoint,
    JournalCoverage,
    UnwritableJournal,
)
from vacr.capture.session_journal import (
    SESSIONS_FOLDER,
    SessionJournal,
    get_session_journal_path,
    list_session_journals,
)
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.files import (
    describe_file_error,
    hold_file_lock,
    make_state_folder_error,
    read_bytes,
    sync_folder,
    sync_folder_and_parents,
    write_durable_file,
)
from vacr.record import encode
from vacr.signing import (
    KeySigner,
    PublicKey,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_private_pem,
    generate_key,
    parse_private_key,
)

_SECONDS_PER_DAY = 86_400.0
_BYTES_PER_MEGABYTE = 1_000_000
_LOCK_TIMEOUT = 0.2
_MAX_OPEN_JOURNALS = 256
_PRIVATE_FOLDER_MODE = 0o700
_PRIVATE_FILE_MODE = 0o600


class Journal:
    """The journal of a machine, open for appending."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in a folder, or create it with a first key and checkpoint.

        Raises:
            UsageError: another process has the journal open.
            BrokenJournal: the chain of checkpoints does not verify.
            UnreadableInput: the journal cannot be read or created, or its key is lost.
        """
        self.folder = folder
        self.work = folder / "work"
        """For temporary copies of sessions; leftovers of a killed process are removed."""
        self.damaged: dict[str, BrokenJournal] = {}
        """Session journals that do not verify → the error; others continue in their place."""
        self._open_sessions: dict[str, SessionJournal] = {}
        self._heads: dict[str, ChainHead] = {}
        """Heads of session journals that may be ahead of the last checkpoint."""
        try:
            with ExitStack() as resources:
                self._open(resources)
                self._resources = resources.pop_all()
        except TimeoutError as error:
            hint = "Stop it, or set VACR_STATE to another folder."
            raise UsageError(
                f"another vacr watch is using this journal: {folder}", hint=hint
            ) from error
        except (OSError, UnwritableJournal, UnreadableInput) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise make_state_folder_error(folder, cause) from error
            raise
        except BrokenJournal as error:
            error.hint = (
                "Run vacr journal verify to see which sessions are intact. To start a new "
                "journal, move this folder away."
            )
            raise

    def _open(self, resources: ExitStack) -> None:
        """Lock the folder, read the checkpoints, and load or create the key of the epoch.

        Closing `resources` closes the chain and releases the lock.

        Raises:
            BrokenJournal: a checkpoint does not verify, or all are missing although sessions exist.
            TimeoutError: another process uses the journal.
            OSError: the folder cannot be used.
        """
        self._create_folders()
        resources.enter_context(hold_file_lock(self.folder / "lock", _LOCK_TIMEOUT))
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(_PRIVATE_FOLDER_MODE, exist_ok=True)
        self._chain = FrameChain(self.folder / CHECKPOINTS_FILE)
        resources.callback(self._chain.close)
        self.covered = JournalCoverage(str(self._chain.path))
        for before, payload in self._chain.recover(one_by_one=True):
            self.covered.add_frame(payload, before)
        if self.covered.key is None and any(list_session_journals(self.folder)):
            raise BrokenJournal(
                "is missing, but session journals exist", where=self.covered.where, frame=0
            )
        self._keys = EpochKeys(self.folder)
        if self.covered.key is None:
            sync_folder_and_parents(self.folder)
            self._signer = self._keys.create_first()
            self.checkpoint()
        else:
            self._signer = self._keys.load_current(compute_thumbprint(self.covered.key))

    def _create_folders(self) -> None:
        """Create the folders of the journal that are missing, and make the journal private."""
        self.folder.parent.mkdir(_PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
        self.folder.mkdir(_PRIVATE_FOLDER_MODE, exist_ok=True)
        (self.folder / SESSIONS_FOLDER).mkdir(exist_ok=True)
        # Conversations are private, also in a folder that existed before.
        self.folder.chmod(_PRIVATE_FOLDER_MODE)

    def close(self) -> None:
        """Close the journal, and release its lock."""
        for session in self._open_sessions.values():
            session.close()
        self._open_sessions.clear()
        self._resources.close()

    # --- sessions ---

    def session(self, name: str) -> SessionJournal:
        """Return the journal of a session, open for appending; create it if it does not exist.

        A journal that does not verify is added to `damaged` and stays as evidence. Then, and after
        a journal was deleted, another one continues under a numbered name, such as `NAME~2`.

        Raises:
            UnreadableInput: the journal cannot be read or created.
        """
        number = 1
        while True:
            numbered_name = _make_numbered_name(name, number)
            if numbered_name in self._open_sessions:
                # The least recently used journals come first, and are closed first.
                session = self._open_sessions.pop(numbered_name)
                self._open_sessions[numbered_name] = session
                return session
            try:
                if numbered_name not in self.covered.retired:
                    return self._open_session(numbered_name)
            except BrokenJournal as error:
                self.damaged[numbered_name] = error
            except OSError as error:
                path = get_session_journal_path(self.folder, numbered_name)
                raise UnreadableInput(describe_file_error(error), where=str(path)) from error
            number += 1

    def _open_session(self, name: str) -> SessionJournal:
        """Open or create the journal with exactly this name; close the oldest if many are open.

        Raises:
            BrokenJournal: the journal does not verify.
            OSError: it cannot be read or created.
        """
        path = get_session_journal_path(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        while len(self._open_sessions) >= _MAX_OPEN_JOURNALS:
            oldest_name, oldest = next(iter(self._open_sessions.items()))
            self._heads[oldest_name] = oldest.head
            self._open_sessions.pop(oldest_name).close()
        required = self.covered.sessions.get(name, EMPTY_CHAIN_HEAD)
        session = self._open_sessions[name] = SessionJournal(name, path, required)
        self._heads[name] = session.head
        return session

    def get_spool_offset(self, spool: str, name: str) -> int:
        """Return how many bytes of a spool were copied into the journal of a session.

        If that journal does not have the spool, count the bytes in deleted journals; 0 if none.
        """
        offset = self.covered.spools.get(spool, 0)
        if not self.has_session(name):
            return offset
        return self.session(name).state.spools.get(spool, offset)

    def has_session(self, name: str) -> bool:
        """Return whether the session with this journal name has a journal that was not deleted."""
        current_name, _ = self._skip_retired(name)
        return get_session_journal_path(self.folder, current_name).exists()

    def get_retirement_time(self, name: str) -> int:
        """Return when the last deleted journal of a session was deleted, in ms since 1970.

        Return 0 if none was deleted.
        """
        _, retired_at = self._skip_retired(name)
        return retired_at

    def _skip_retired(self, name: str) -> tuple[str, int]:
        """Return the first numbered name that was not deleted, and when the one before it was.

        The time is in milliseconds since 1970, or 0 if the plain name was not deleted.
        """
        number, retired_at = 1, 0
        while (numbered_name := _make_numbered_name(name, number)) in self.covered.retired:
            number, retired_at = number + 1, self.covered.retired_at[numbered_name]
        return numbered_name, retired_at

    # --- checkpoints ---

    def list_uncovered_heads(self) -> dict[str, ChainHead]:
        """Return the heads of session journals that grew since the last checkpoint, by name."""
        self._heads |= {name: session.head for name, session in self._open_sessions.items()}
        return {
            name: head
            for name, head in self._heads.items()
            if head.frames and self.covered.sessions.get(name) != head
        }

    def checkpoint(
        self,
        *,
        ends_epoch: bool = False,
        retired: Mapping[str, bytes] | None = None,
        spools: Mapping[str, int] | None = None,
    ) -> JournalCheckpoint:
        """Sign and append a checkpoint over the uncovered heads, and return it.

        It covers at most `MAX_CHECKPOINT_SESSIONS` heads; call again for the others. With
        `ends_epoch`, it names a new key, and the old key is erased. `retired` are journals to mark
        as deleted, with the digests of their records; `spools` is how much of their spools was
        read.

        Raises:
            UnwritableJournal: writing failed; the last checkpoint is the one before.
            OSError: the checkpoint was written, but the old key could not be erased.
        """
        next_signer = self._keys.create_next() if ends_epoch else None
        checkpoint = self._build_checkpoint(
            retired or {},
            spools or {},
            next_signer.public_key if next_signer is not None else None,
        )
        first_key = self.covered.first_key or self._signer.public_key
        self._append(checkpoint.sign(self._signer, compute_thumbprint_uri(first_key)))
        self._heads = {
            name: head
            for name, head in self._heads.items()
            if self.covered.sessions.get(name) != head
        }
        if next_signer is not None:
            # The checkpoint names the next key: it signs from now on, even if erasing the old one
            # fails.
            self._signer = next_signer
            self._keys.advance()
        return checkpoint

    def _build_checkpoint(
        self, retired: Mapping[str, bytes], spools: Mapping[str, int], next_key: PublicKey | None
    ) -> JournalCheckpoint:
        """Return the next checkpoint, not yet signed, over the uncovered heads."""
        last = self.covered.last
        now = time.time_ns() // 1_000_000
        heads = list(self.list_uncovered_heads().items())
        number = last_time = epoch = 0
        if last is not None:
            number = last.number + 1
            last_time = last.time
            epoch = last.epoch if last.next_key is None else last.epoch + 1
        return JournalCheckpoint(
            number=number,
            # Times in the journal never go back, even if the clock does.
            time=max(now, last_time),
            epoch=epoch,
            before=self._chain.head,
            sessions=dict(heads[:MAX_CHECKPOINT_SESSIONS]),
            retired=retired,
            spools=spools,
            next_key=next_key,
        )

    def anchor(self, number: int, service: str, statement: bytes) -> None:
        """Append an anchor: the checkpoint `number` with the receipt of a log in its `statement`.

        `service` is the URL of the log.

        Raises:
            UnwritableJournal: writing failed.
            BrokenJournal: the statement is another checkpoint.
        """
        self._append(encode({"number": number, "service": service, "statement": statement}, "cbor"))

    def _append(self, payload: bytes) -> None:
        """Append a checkpoint or an anchor to the chain, and add it to `covered`."""
        before = self._chain.head
        self._chain.append([payload])
        self.covered.add_frame(payload, before)

    def retire(self, sealed: Mapping[str, bytes]) -> None:
        """Delete session journals; `sealed` maps their names to the digests of their records.

        A checkpoint marks them as deleted first, so that a verifier does not miss them. Journals
        that an earlier call marked and could not delete are deleted, too.

        Raises:
            UnwritableJournal: the checkpoint could not be written, and no journal was deleted.
            OSError: a journal cannot be deleted; the next call tries again.
        """
        for first in range(0, len(sealed), MAX_CHECKPOINT_SESSIONS):
            batch = dict(list(sealed.items())[first : first + MAX_CHECKPOINT_SESSIONS])
            spools = {
                spool: end
                for name in batch
                for spool, end in self.session(name).state.spools.items()
            }
            self.checkpoint(retired=batch, spools=spools)
        retired_names = [
            name for name in list_session_journals(self.folder) if name in self.covered.retired
        ]
        for name in retired_names:
            if name in self._open_sessions:
                self._open_sessions.pop(name).close()
            self._heads.pop(name, None)
            get_session_journal_path(self.folder, name).unlink(missing_ok=True)


def _make_numbered_name(name: str, number: int) -> str:
    """Return the name of a session's journal by number: 1 is `NAME`, 2 is `NAME~2`, and so on."""
    return name if number == 1 else f"{name}~{number}"


# --- keys ---


class EpochKeys:
    """The key of the current epoch, and the next key until it takes over."""

    def __init__(self, folder: Path) -> None:
        """Use the key files in a journal's folder."""
        self._path = folder / "epoch-key.pem"
        self._next = folder / "next-epoch-key.pem"
        self._is_next_named = False
        """Whether a checkpoint names the next key, so that it is the current one already."""

    def create_first(self) -> KeySigner:
        """Create and write the first key of a journal, and return its signer.

        Raises:
            UnreadableInput: the key cannot be written.
        """
        self._remove_temporary_files()
        return _create_key(self._path)

    def load_current(self, thumbprint: bytes) -> KeySigner:
        """Return the signer for the key with this thumbprint, from either key file.

        Also finish a change of keys that was interrupted.

        Raises:
            UnreadableInput: neither key file has that key.
        """
        self._remove_temporary_files()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                signer = _load_key(path)
                if compute_thumbprint(signer.public_key) == thumbprint:
                    if path == self._next:
                        self.advance()
                    else:
                        self._next.unlink(missing_ok=True)
                    return signer
        self._check_readable()
        hint = (
            "The journal can be verified, but not continued. To start a new one, move its folder "
            "away."
        )
        raise UnreadableInput(
            "the key that the last checkpoint names is missing", where=str(self._path), hint=hint
        )

    def _check_readable(self) -> None:
        """Check that the key file can be read, if it exists.

        Unlike a lost key, an unreadable one can come back, so it has another message.

        Raises:
            UnreadableInput: the file cannot be read.
        """
        if not self._path.exists():
            return
        try:
            read_bytes(self._path)
        except UnreadableInput as error:
            hint = "The journal cannot continue without this key. Make the file readable again."
            raise UnreadableInput(
                f"the journal's key for this epoch cannot be read: {error.message}",
                where=error.where,
                hint=hint,
            ) from None

    def list_thumbprints(self) -> set[bytes]:
        """Return the thumbprints of the current and the next key, as far as they can be read."""
        thumbprints = set()
        for path in (self._next, self._path):
            with suppress(UnreadableInput, InvalidStatement):
                thumbprints.add(compute_thumbprint(_load_key(path).public_key))
        return thumbprints

    def create_next(self) -> KeySigner:
        """Create and write the next key, before a checkpoint names it, and return its signer.

        Raises:
            OSError: the last change of keys is unfinished, and cannot be finished.
            UnreadableInput: the key cannot be written.
        """
        if self._is_next_named:
            self.advance()
        return _create_key(self._next)

    def advance(self) -> None:
        """Erase the old key, and put the next one, named by a checkpoint, in its place.

        Raises:
            OSError: a file could not be erased or moved; another call can finish.
        """
        self._is_next_named = True
        with suppress(FileNotFoundError):
            handle = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._next.replace(self._path)
        # From here on the path holds the current key, and a second call must not erase it.
        self._is_next_named = False
        sync_folder(self._path.parent)

    def _remove_temporary_files(self) -> None:
        """Remove keys that a killed process left half written; they never signed anything."""
        for path in self._path.parent.glob(f".*{self._path.name}-*.tmp"):
            path.unlink(missing_ok=True)


def _load_key(path: Path) -> KeySigner:
    """Return the signer for the private key in a file.

    Raises:
        UnreadableInput: the file cannot be read, or has no private key without a passphrase.
        InvalidStatement: vacr does not sign with this kind of key.
    """
    return KeySigner(parse_private_key(read_bytes(path)))


def _create_key(path: Path) -> KeySigner:
    """Generate a key, write it to a file that only its owner can read, and return its signer."""
    private_key = generate_key("eddsa")
    write_durable_file(path, encode_private_pem(private_key), _PRIVATE_FILE_MODE)
    return KeySigner(private_key)


# --- retention ---


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """The limits beyond which sealed journals are deleted; None means no limit."""

    age: float | None = None
    """How long a journal is kept after it was sealed, in seconds."""
    size: int | None = None
    """How many bytes all session journals together may have."""

    @classmethod
    def of(cls, days: float | None, megabytes: float | None) -> RetentionLimits:
        """Return limits from days and megabytes (1,000,000 bytes each); None stays None."""
        return cls(
            days * _SECONDS_PER_DAY if days is not None else None,
            int(megabytes * _BYTES_PER_MEGABYTE) if megabytes is not None else None,
        )


@dataclass(frozen=True, slots=True, order=True)
class _RetirableJournal:
    """A session journal that is sealed completely; sorting puts the oldest first."""

    sealed_at: int
    """In nanoseconds since 1970."""
    record: bytes
    """The digest of the record."""
    name: str


def retire_sealed_journals(journal: Journal, limits: RetentionLimits) -> list[str]:
    """Delete sealed session journals beyond a limit, oldest first, and return their names.

    Journals with unsealed content are never deleted.

    Raises:
        UnwritableJournal: the checkpoint for it cannot be written, and no journal was deleted.
        OSError: a journal cannot be examined or deleted.
    """
    if limits.age is None and limits.size is None:
        return []
    files = {
        name: get_session_journal_path(journal.folder, name).stat()
        for name in list_session_journals(journal.folder)
        if name not in journal.covered.retired
    }
    total_size = sum(status.st_size for status in files.values())
    now = time.time()
    retired: dict[str, bytes] = {}
    candidates = _find_retirable_journals(journal, files, limits, total_size, now)
    for candidate in sorted(candidates):
        is_old = limits.age is not None and now - candidate.sealed_at / 1e9 > limits.age
        if is_old or (limits.size is not None and total_size > limits.size):
            retired[candidate.name] = candidate.record
            total_size -= files[candidate.name].st_size
    journal.retire(retired)
    return list(retired)


def _find_retirable_journals(
    journal: Journal,
    files: dict[str, os.stat_result],
    limits: RetentionLimits,
    total_size: int,
    now: float,
) -> Iterator[_RetirableJournal]:
    """Yield the sealed journals that may be beyond a limit; do not read journals that are not.

    `files` maps the names of session journals to their file status. `total_size` is the size of all
    of them in bytes, and `now` is in seconds since 1970.
    """
    is_too_large = limits.size is not None and total_size > limits.size
    for name, status in files.items():
        # The seal is the last note, so the file is at least as young as it.
        may_be_old = limits.age is not None and now - status.st_mtime > limits.age
        if not is_too_large and not may_be_old:
            continue
        session = journal.session(name)
        if session.name != name:
            # This journal is damaged, and stays as evidence.
            continue
        sealed = session.state.sealed
        if sealed is not None and not session.state.unsealed:
            yield _RetirableJournal(sealed.time, sealed.record, name)
