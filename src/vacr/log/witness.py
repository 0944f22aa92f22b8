"""A witness: cosigns the checkpoints of logs, each of which has to continue the one before. Step:
register.

Follows C2SP tlog-witness, `add-checkpoint`. Not there: any way to read what it has cosigned, as the
specification has none yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vacr.errors import InvalidStatement, UsageError, VacrError
from vacr.log import evidence
from vacr.log.serving import Stop
from vacr.log.witness_folder import WitnessFolder
from vacr.log.witness_store import Seen
from vacr.receipts import checkpoint, notes, submissions, tree
from vacr.receipts.checkpoint import Checkpoint
from vacr.receipts.notes import ED25519, VerifierKey
from vacr.receipts.submissions import Submission

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

SIZE = "text/x.tlog.size"
_TEXT = "text/plain; charset=utf-8"
_PATIENCE = 30
_EMPTY = hashlib.sha256().digest()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered: a status of HTTP, a text, and what kind of text."""

    status: int
    text: str
    kind: str = _TEXT


class Witness:
    """Decides about checkpoints."""

    def __init__(
        self,
        folder: WitnessFolder,
        logs: Iterable[VerifierKey],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Take the keys of the logs to cosign; a log that changed its key has several.

        Raises:
            UsageError: a key is not for checkpoints.
        """
        self.folder = folder
        self.now = now
        self.logs: dict[str, list[VerifierKey]] = {}
        for key in logs:
            if key.kind != ED25519:
                raise UsageError(f"{key} is the key of a witness, not of a log")
            self.logs.setdefault(key.name, []).append(key)

    def add(self, body: bytes) -> Answer:
        """Decide about a submission; what is cosigned is on disk before.

        Raises:
            UnreadableInput: what was seen cannot be read, or kept.
        """
        try:
            asked = submissions.parse(body)
            note = notes.parse(asked.note)
            said = checkpoint.read_text(note.text)
        except InvalidStatement as error:
            return Answer(400, error.message)
        if said.origin not in self.logs:
            return Answer(404, "a log that is not known here")
        try:
            note.verify(*self.logs[said.origin])
        except InvalidStatement as error:
            return Answer(403, error.message)
        if asked.old > said.size:
            return Answer(400, f"an old size of {asked.old} for a tree of {said.size}")
        while True:
            before = self.folder.store.seen(said.origin)
            refusal = self._refusal(asked, said, before)
            if refusal is not None:
                return refusal
            when = max(int(self.now()), before.time if before is not None else 0)
            if self.folder.store.move(
                said.origin, before, Seen(said.size, said.root, when, asked.note)
            ):
                public = self.folder.public
                return Answer(
                    200, checkpoint.cosign(note.text, when, public.name, self.folder.key).line
                )
            # Somebody else moved it: what was checked against is not what is there.

    def _refusal(self, asked: Submission, said: Checkpoint, before: Seen | None) -> Answer | None:
        """Say why a checkpoint does not continue what was seen, if it does not."""
        size, root = (before.size, before.root) if before is not None else (0, _EMPTY)
        if asked.old != size:
            return Answer(409, f"{size}\n", SIZE)
        if before is not None and said.size == size and said.root != root:
            self._keep(said, before, asked.note)
            return Answer(409, f"{size}\n", SIZE)
        if not size:
            # The empty tree is the beginning of every other: there is nothing to prove.
            fine = not asked.proof and (said.size > 0 or said.root == _EMPTY)
            return (
                None
                if fine
                else Answer(
                    422,
                    (
                        "from an empty tree there is nothing to prove, and its root is the hash of "
                        "nothing"
                    ),
                )
            )
        try:
            proven = tree.root_by_consistency(size, said.size, asked.proof, root)
        except InvalidStatement as error:
            return Answer(422, error.message)
        return None if proven == said.root else Answer(422, "the proof leads to another root")

    def _keep(self, said: Checkpoint, before: Seen, note: bytes) -> None:
        """Keep two checkpoints of one size with different roots, both signed by the log: it has
        forked.
        """
        known, seen = (one.decode("utf-8", "replace") for one in (before.note, note))
        told = f"{said.origin} signed two trees of size {said.size}"
        evidence.keep(
            self.folder.path / "witness",
            {"reason": "log-forked", "message": told, "known": known, "seen": seen},
        )


def application(witness: Witness, stop: Stop) -> Starlette:
    """Make the service; when it cannot keep what it has seen any more, it ends itself.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import ClientDisconnect
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise UsageError("serving needs the extra log", hint="pip install 'vacr[log]'") from error

    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(_PATIENCE):
                body = await _body(request)
        except TimeoutError:
            return Response("too slow\n", 408)
        except ClientDisconnect:
            return Response("gone\n", 400)
        if body is None:
            return Response(f"more than {submissions.LARGEST} bytes\n", 413, media_type=_TEXT)
        try:
            answer = await run_in_threadpool(witness.add, body)
        except VacrError as error:
            stop.ask(error)
            return Response("the witness cannot keep what it has seen\n", 500, media_type=_TEXT)
        text = answer.text if answer.text.endswith("\n") else answer.text + "\n"
        return Response(text, answer.status, {"Content-Type": answer.kind})

    return Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])


async def _body(request: Request) -> bytes | None:
    """Read a submission; nothing when it is larger than one may be."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > submissions.LARGEST:
            return None
        pieces.append(piece)
    return b"".join(pieces)
