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
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from vacr.capture.checkpoints import (
    CHECKPOINTS_FILE,
    MAX_CHECKPOINT_SESSIONS,
    EpochKeys,
    JournalCheckpoint,
    JournalCoverage,
)
from vacr.capture.frames import (
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    FrameChain,
    UnwritableJournal,
)
from vacr.capture.session_journal import (
    SESSIONS_FOLDER,
    SessionJournal,
    get_session_journal_path,
    list_session_journals,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    describe_file_error,
    hold_file_lock,
    make_state_folder_error,
    sync_folder_and_parents,
)
from vacr.record import encode
from vacr.signing import PublicKey, compute_thumbprint, compute_thumbprint_uri

_LOCK_TIMEOUT = 0.2
_MAX_OPEN_JOURNALS = 256
_OWNER_ONLY = 0o700


class Journal:
    """The journal of a machine, open for appending."""

    def __init__(self, folder: Path) -> None:
        """Open or create the journal in a folder.

        Raises:
            UsageError: another process has it open.
            BrokenJournal: its chain of checkpoints does not verify.
            UnreadableInput: it cannot be read or created, or its key is lost.
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
            hint = "Stop that one, or name another folder with VACR_STATE."
            raise UsageError("another vacr watch adds to this journal", hint=hint) from error
        except (OSError, UnwritableJournal, UnreadableInput) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise make_state_folder_error(folder, cause) from error
            raise
        except BrokenJournal as error:
            error.hint = (
                "vacr journal verify tells what is left of it. To begin another, move "
                "its folder away."
            )
            raise

    def _open(self, resources: ExitStack) -> None:
        self._create_folders()
        resources.enter_context(hold_file_lock(self.folder / "lock", _LOCK_TIMEOUT))
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(_OWNER_ONLY, exist_ok=True)
        self._chain = FrameChain(self.folder / CHECKPOINTS_FILE)
        resources.callback(self._chain.close)
        self.covered = JournalCoverage(str(self._chain.path))
        for before, payload in self._chain.recover(one_by_one=True):
            self.covered.add_frame(payload, before)
        if self.covered.key is None and any(list_session_journals(self.folder)):
            raise BrokenJournal(
                "there are journals of sessions, and the checkpoint is missing",
                where=self.covered.where,
                frame=0,
            )
        self._keys = EpochKeys(self.folder)
        if self.covered.key is None:
            sync_folder_and_parents(self.folder)
            self._signer = self._keys.create_first()
            self.checkpoint()
        else:
            self._signer = self._keys.load_current(compute_thumbprint(self.covered.key))

    def _create_folders(self) -> None:
        self.folder.parent.mkdir(_OWNER_ONLY, parents=True, exist_ok=True)
        self.folder.mkdir(_OWNER_ONLY, exist_ok=True)
        (self.folder / SESSIONS_FOLDER).mkdir(exist_ok=True)
        # Conversations are private, also in a folder that existed before.
        self.folder.chmod(_OWNER_ONLY)

    def close(self) -> None:
        """Close the journal, and release its lock."""
        for session in self._open_sessions.values():
            session.close()
        self._open_sessions.clear()
        self._resources.close()

    # --- sessions ---

    def session(self, name: str) -> SessionJournal:
        """Return the journal of a session, open for appending.

        A journal that does not verify stays as it is, as evidence; another one continues under
        the same name with a number.

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
        """Return how many bytes of a spool are in a session's journal, or in a deleted one."""
        offset = self.covered.spools.get(spool, 0)
        if not self.has_session(name):
            return offset
        return self.session(name).state.spools.get(spool, offset)

    def has_session(self, name: str) -> bool:
        """Return whether a session has a journal that was not deleted."""
        current_name, _ = self._skip_retired(name)
        return get_session_journal_path(self.folder, current_name).exists()

    def get_retirement_time(self, name: str) -> int:
        """Return when the last journal of a session was deleted, in milliseconds, or 0."""
        _, retired_at = self._skip_retired(name)
        return retired_at

    def _skip_retired(self, name: str) -> tuple[str, int]:
        """Return the first name that is not retired, and when the one before it was deleted."""
        number, retired_at = 1, 0
        while (numbered_name := _make_numbered_name(name, number)) in self.covered.retired:
            number, retired_at = number + 1, self.covered.retired_at[numbered_name]
        return numbered_name, retired_at

    # --- checkpoints ---

    def list_uncovered_heads(self) -> dict[str, ChainHead]:
        """Return the heads of the sessions that have grown since the last checkpoint."""
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
        """Sign the current heads, or as many of them as a checkpoint holds.

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
        last = self.covered.last
        now = time.time_ns() // 1_000_000
        heads = list(self.list_uncovered_heads().items())
        return JournalCheckpoint(
            number=last.number + 1 if last is not None else 0,
            # Times in the journal never go back, even if the clock does.
            time=max(now, last.time if last is not None else 0),
            epoch=last.epoch + (last.next_key is not None) if last is not None else 0,
            before=self._chain.head,
            sessions=dict(heads[:MAX_CHECKPOINT_SESSIONS]),
            retired=retired,
            spools=spools,
            next_key=next_key,
        )

    def anchor(self, number: int, service: str, statement: bytes) -> None:
        """Write the answer of a log: the checkpoint with its receipt.

        Raises:
            UnwritableJournal: writing failed.
            BrokenJournal: the statement is another checkpoint.
        """
        self._append(encode({"number": number, "service": service, "statement": statement}, "cbor"))

    def _append(self, payload: bytes) -> None:
        before = self._chain.head
        self._chain.append([payload])
        self.covered.add_frame(payload, before)

    def retire(self, sealed: Mapping[str, bytes]) -> None:
        """Delete session journals, given with the digests of the records they were sealed as.

        A checkpoint says so first, so that a verifier does not miss them.

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
    """Return the name of the first, second, … journal of a session."""
    return name if number == 1 else f"{name}~{number}"
