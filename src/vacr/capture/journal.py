"""The journal of a machine: a chain for each session, and over them a chain of signed checkpoints.

One process at a time adds to it. Whatever happens, what a checkpoint covers is there as it was, or
is found to be missing.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from vacr import codec
from vacr.capture.checkpoints import MOST, Checkpoint
from vacr.capture.covered import Covered
from vacr.capture.epoch_keys import EpochKeys
from vacr.capture.frames import NOTHING, Broken, Chain, Head, NotWritten
from vacr.capture.layout import CHECKPOINTS, SESSIONS, names, path_of
from vacr.capture.session_journal import SessionJournal
from vacr.errors import UnreadableInput, UsageError
from vacr.log.locks import held
from vacr.recording.files import sync_path
from vacr.signing import keys
from vacr.sources.files import reason_of
from vacr.sources.state import unusable

_WAIT = 0.2
_OPEN = 256
_OWNER_ONLY = 0o700


class Journal:
    """A journal that is open to be added to."""

    def __init__(self, folder: Path) -> None:
        """Open it, or begin it.

        Raises:
            UsageError: another process adds to it.
            Broken: its chain of checkpoints is not what it was.
            UnreadableInput: it cannot be read or made, or its key is gone.
        """
        self.folder = folder
        self.work = folder / "work"
        """Where copies of sessions may lie meanwhile; what a watcher that was killed left there is
        removed.
        """
        self.damaged: dict[str, Broken] = {}
        """Journals of sessions that are not what they were, by their names: others went on in their
        place.
        """
        self._open: dict[str, SessionJournal] = {}
        self._grown: dict[str, Head] = {}
        try:
            with ExitStack() as opened:
                self._begin(opened)
                self._opened_here = opened.pop_all()
        except TimeoutError as error:
            hint = "Stop that one, or name another folder with VACR_STATE."
            raise UsageError("another vacr watch adds to this journal", hint=hint) from error
        except (OSError, NotWritten, UnreadableInput) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            if isinstance(cause, OSError):
                raise unusable(folder, cause) from error
            raise
        except Broken as error:
            error.hint = (
                "vacr journal verify tells what is left of it. To begin another, move "
                "its folder away."
            )
            raise

    def _begin(self, opened: ExitStack) -> None:
        self.folder.parent.mkdir(_OWNER_ONLY, parents=True, exist_ok=True)
        self.folder.mkdir(_OWNER_ONLY, exist_ok=True)
        (self.folder / SESSIONS).mkdir(exist_ok=True)
        os.chmod(self.folder, _OWNER_ONLY)  # noqa: PTH101 - conversations are nobody else's
        opened.enter_context(held(self.folder / "lock", _WAIT))
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(_OWNER_ONLY, exist_ok=True)
        self._chain = Chain(self.folder / CHECKPOINTS)
        opened.callback(self._chain.close)
        self.covered = Covered(str(self._chain.path))
        for before, payload in self._chain.recover(one_by_one=True):
            self.covered.take(payload, before)
        if self.covered.key is None and any(names(self.folder)):
            raise Broken(
                "there are journals of sessions, and the checkpoint is missing",
                where=self.covered.where,
                frame=0,
            )
        self._keys = EpochKeys(self.folder)
        if self.covered.key is None:
            sync_path(self.folder)
            self._signer = self._keys.begin()
            self.checkpoint()
        else:
            self._signer = self._keys.current(keys.thumbprint(self.covered.key))

    def close(self) -> None:
        """Close it, and let others add to it."""
        for journal in self._open.values():
            journal.close()
        self._open.clear()
        self._opened_here.close()

    # --- sessions ---

    def session(self, name: str) -> SessionJournal:
        """Give the journal of a session, to be added to.

        One that is not what it was stays as it is, to be found out; another one goes on under a
        name with a number.

        Raises:
            UnreadableInput: it cannot be read or made.
        """
        number = 1
        while True:
            numbered = _numbered(name, number)
            if numbered in self._open:
                self._open[numbered] = found = self._open.pop(
                    numbered
                )  # those that were not asked for long are closed first
                return found
            try:
                if numbered not in self.covered.retired:
                    return self._opened(numbered)
            except Broken as error:
                self.damaged[numbered] = error
            except OSError as error:
                raise UnreadableInput(
                    reason_of(error), where=str(path_of(self.folder, numbered))
                ) from error
            number += 1

    def _opened(self, name: str) -> SessionJournal:
        path = path_of(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        while len(self._open) >= _OPEN:
            oldest, closed = next(iter(self._open.items()))
            self._grown[oldest] = closed.head
            self._open.pop(oldest).close()
        found = self._open[name] = SessionJournal(
            name, path, self.covered.sessions.get(name, NOTHING)
        )
        self._grown[name] = found.head
        return found

    def read_of(self, spool: str, name: str) -> int:
        """Tell how far a spool was read into the journal of a session, or into one before it that
        is deleted.
        """
        before = self.covered.spools.get(spool, 0)
        return self.session(name).state.spools.get(spool, before) if self.holds(name) else before

    def holds(self, name: str) -> bool:
        """Tell whether there is a journal of a session that was not deleted."""
        return path_of(self.folder, self._after_retired(name)[0]).exists()

    def retired_at(self, name: str) -> int:
        """Tell when the last journal of a session was deleted, in milliseconds; zero where none
        was.
        """
        return self._after_retired(name)[1]

    def _after_retired(self, name: str) -> tuple[str, int]:
        """Give the name that the journal of a session has after all that were deleted, and when the
        last of these was.
        """
        number, when = 1, 0
        while (numbered := _numbered(name, number)) in self.covered.retired:
            number, when = number + 1, self.covered.retired_at[numbered]
        return numbered, when

    # --- checkpoints ---

    def uncovered(self) -> dict[str, Head]:
        """Give the heads of the sessions that have grown since the last checkpoint."""
        self._grown |= {name: journal.head for name, journal in self._open.items()}
        return {
            name: head
            for name, head in self._grown.items()
            if head.frames and self.covered.sessions.get(name) != head
        }

    def checkpoint(
        self,
        *,
        ends_epoch: bool = False,
        retired: Mapping[str, bytes] | None = None,
        spools: Mapping[str, int] | None = None,
    ) -> Checkpoint:
        """Sign the heads as they are now, or as many of them as a checkpoint holds.

        Raises:
            NotWritten: that failed; the last checkpoint is the one before.
            OSError: there is a checkpoint, but the key of the last epoch could not be erased.
        """
        last = self.covered.last
        following = self._keys.prepare() if ends_epoch else None
        made = Checkpoint(
            number=last.number + 1 if last is not None else 0,
            # A clock that is moved back does not take the journal with it.
            time=max(time.time_ns() // 1_000_000, last.time if last is not None else 0),
            epoch=last.epoch + (last.next_key is not None) if last is not None else 0,
            before=self._chain.head,
            sessions=dict(list(self.uncovered().items())[:MOST]),
            retired=retired or {},
            spools=spools or {},
            next_key=following.public_key if following is not None else None,
        )
        before = self._chain.head
        statement = made.sign(
            self._signer, keys.thumbprint_uri(self.covered.first_key or self._signer.public_key)
        )
        self._chain.append([statement])
        self.covered.take(statement, before)
        self._grown = {
            name: head
            for name, head in self._grown.items()
            if self.covered.sessions.get(name) != head
        }
        if following is not None:
            # From here on the journal goes by the next key, whether the old one can be erased or
            # not.
            self._signer = following
            self._keys.advance()
        return made

    def anchor(self, number: int, service: str, statement: bytes) -> None:
        """Note what a log said to a checkpoint, which comes with the receipt in it.

        Raises:
            NotWritten: that failed.
            Broken: it is another checkpoint.
        """
        payload = codec.encode(
            {"number": number, "service": service, "statement": statement}, "cbor"
        )
        before = self._chain.head
        self._chain.append([payload])
        self.covered.take(payload, before)

    def retire(self, sealed: Mapping[str, bytes]) -> None:
        """Delete journals of sessions, after a checkpoint that says so, with the digests of the
        records they were sealed as.

        Raises:
            NotWritten: there is no such checkpoint; nothing was deleted.
            OSError: one cannot be deleted; that is tried again the next time.
        """
        for first in range(0, len(sealed), MOST):
            some = dict(list(sealed.items())[first : first + MOST])
            spools = {
                spool: end
                for name in some
                for spool, end in self.session(name).state.spools.items()
            }
            self.checkpoint(retired=some, spools=spools)
        for name in [name for name in names(self.folder) if name in self.covered.retired]:
            if name in self._open:
                self._open.pop(name).close()
            self._grown.pop(name, None)
            path_of(self.folder, name).unlink(missing_ok=True)


def _numbered(name: str, number: int) -> str:
    """Name another journal of the same session."""
    return name if number == 1 else f"{name}~{number}"
