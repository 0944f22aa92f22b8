"""Collect the proofs of witnesses for registered statements, from any log that serves tiles.

Witnesses cosign after a log has published a checkpoint, so a receipt cannot contain their word. The
collector waits for a checkpoint that covers an entry and that enough witnesses cosigned. It builds
the path to the entry from the log's tiles (C2SP tlog-tiles), and verifies the proof as
`vacr verify` does before it goes into the statement.

    >>> from vacr.registration import ProofCollector, TiledLog
    >>> from vacr.verification import TrustStore
    >>> ProofCollector(TiledLog("https://log.example"), TrustStore())
    Traceback (most recent call last):
    ...
    vacr.errors.UsageError: no trust store requires witnesses

The log is not trusted: its tiles count only if they lead to the cosigned root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial

from vacr.errors import InvalidStatement, Unreachable, UsageError, VacrError
from vacr.files import read_bytes
from vacr.registration.outbox import (
    STATE_FAILED,
    STATE_UNWITNESSED,
    STATE_WITNESSED,
    RegistrationOutcome,
    StatementWriter,
    add_error_location,
    compute_entry_digest,
    update_statement_file,
)
from vacr.registration.tile_reader import TiledLog
from vacr.signing import Sign1, parse_sign1
from vacr.transparency import (
    ENTRY_RULE_STATEMENT,
    TILE_WIDTH,
    Checkpoint,
    NodeLookup,
    Tile,
    TlogProof,
    add_tlog_proof,
    build_inclusion_path,
    build_log_entry,
    compute_right_edge,
    find_cosignatures,
    hash_leaf,
    list_encoded_receipts,
    list_tlog_proofs,
    make_node_lookup,
    parse_checkpoint,
    parse_receipt,
    parse_signed_note,
    parse_tlog_proof,
    verify_checkpoint,
)
from vacr.verification import (
    TrustStore,
    VerifiedWitnesses,
    list_log_note_keys,
    verify_witnesses,
)

_FIRST_PAUSE, _MAX_PAUSE = 0.25, 2.0
_MAX_SEARCHED_TILES = 4096
"""How many tiles are searched for an entry whose position is unknown: a million entries."""


class NotWitnessedYet(Unreachable):
    """The log has no checkpoint yet that covers the entry and that enough witnesses cosigned."""


class ProofCollector:
    """Collects proofs from one log, by the rules of one trust store."""

    def __init__(
        self,
        log: TiledLog,
        store: TrustStore,
        *,
        wait: float = 0.0,
        entry_rule: str = ENTRY_RULE_STATEMENT,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to ask a log; `wait` is the number of seconds to wait for its witnesses.

        All statements together wait for that long. `clock` measures the log's responses, in
        seconds.

        Raises:
            UsageError: the store requires no witnesses, or has no key for checkpoints of a log.
        """
        if not store.witnesses_required:
            raise UsageError(
                "no trust store requires witnesses",
                hint="Set witnesses-required, and list the witnesses, in the trust store.",
            )
        self.log_keys = list_log_note_keys(store)
        if not self.log_keys:
            raise UsageError(
                "no trust store has a log with a note-key",
                hint="The operator of the log publishes its checkpoint key: vacr log init prints "
                "it.",
            )
        self.log = log
        self.store = store
        self.entry_rule = entry_rule
        self.sleep = sleep
        self.clock = clock
        self.seconds_left = wait
        self.note: bytes | None = None
        """The newest checkpoint that enough witnesses cosigned."""

    def close(self) -> None:
        """Close the connection to the log."""
        self.log.site.close()

    def refresh_file(self, path: str, write: StatementWriter | None = None) -> RegistrationOutcome:
        """Add a proof to the statement in a file, or replace an older one of the same log.

        With `write`, the file stays unchanged, and `write` gets the statement with its proof.
        Errors are not raised, but returned in the outcome.
        """
        try:
            data = read_bytes(path)
            proof, verified = self.collect_proof(parse_sign1(data))
            if write is not None:
                write(self.add_proof(data, proof))
            else:
                update = partial(self.add_proof, proof=proof)
                update_statement_file(path, compute_entry_digest(data), update)
        except Unreachable as error:
            return RegistrationOutcome(path, STATE_UNWITNESSED, error=error)
        except VacrError as error:
            return RegistrationOutcome(path, STATE_FAILED, error=add_error_location(error, path))
        return RegistrationOutcome(path, STATE_WITNESSED, witnesses=verified)

    def add_proof(self, statement: bytes, proof: TlogProof) -> bytes:
        """Return a statement with a collected proof, which replaces older ones of the same log.

        Raises:
            InvalidStatement: the statement is malformed, or has too many proofs of other logs.
        """
        return add_tlog_proof(statement, proof, self.log_keys, self.entry_rule)

    def collect_proof(self, message: Sign1) -> tuple[TlogProof, VerifiedWitnesses]:
        """Return the verified proof for a statement; wait for witnesses if necessary.

        Raises:
            NotWitnessedYet: the time is used up.
            Unreachable: the log does not answer.
            InvalidStatement: the log does not contain the statement, is another log than the trust
                store names, or contradicts its own checkpoint.
        """
        leaf = hash_leaf(build_log_entry(message, self.entry_rule))
        hints = _list_claimed_positions(message)
        pause = _FIRST_PAUSE
        while True:
            is_known, started = self.note is not None, self.clock()
            try:
                return self._try_collect(leaf, hints)
            except NotWitnessedYet:
                # The time of a slow log counts, too: it could delay each response.
                self.seconds_left -= self.clock() - started
                self.note = None
                if is_known:
                    continue  # The log may have a newer checkpoint.
                if self.seconds_left <= 0:
                    raise
            pause = min(pause, self.seconds_left)
            self.seconds_left -= pause
            self.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)

    def _try_collect(self, leaf: bytes, hints: list[int]) -> tuple[TlogProof, VerifiedWitnesses]:
        """Return the proof under the newest witnessed checkpoint.

        Raises:
            NotWitnessedYet: that checkpoint does not cover the entry, or too few witnesses cosigned
                it.
        """
        note = self.note = self.note or self._fetch_witnessed_note()
        checkpoint = parse_checkpoint(parse_signed_note(note).text)
        find_node = self._make_node_lookup(checkpoint.size)
        index = self._find_entry(leaf, hints, checkpoint, find_node)
        right_edge = compute_right_edge(find_node, checkpoint.size)
        path = build_inclusion_path(find_node, right_edge, index, checkpoint.size)
        proof = TlogProof(index, tuple(path), note)
        return proof, verify_witnesses(proof, leaf, self.store, datetime.now(UTC))

    def _fetch_witnessed_note(self) -> bytes:
        """Fetch the log's checkpoint, and return it if enough witnesses cosigned it.

        Raises:
            NotWitnessedYet: too few did.
            InvalidStatement: it is from another log, or not signed with a trusted key.
        """
        data = self.log.checkpoint()
        try:
            verify_checkpoint(data, *self.log_keys)
        except InvalidStatement as error:
            raise InvalidStatement(
                f"the log's checkpoint cannot be trusted: {error.message}",
                reason=error.reason,
                where=self.log.site.url,
                hint="Compare the note-key of the log in the trust store with the log's own.",
            ) from error
        cosigned = find_cosignatures(
            parse_signed_note(data), self.store.witness_keys, self.log_keys
        )
        required = self.store.witnesses_required
        if len(cosigned) < required:
            raise NotWitnessedYet(
                f"the log's checkpoint has too few cosignatures: {len(cosigned)}, but {required} "
                "are required",
                where=self.log.site.url,
            )
        return data

    def _make_node_lookup(self, size: int) -> NodeLookup:
        """Return a function that looks up hashes in the log's tiles, each fetched once."""

        @cache
        def fetch(level: int, number: int) -> Tile:
            return Tile(b"".join(self.log.tile(level, number, size)))

        return make_node_lookup(fetch)

    def _find_entry(
        self, leaf: bytes, hints: list[int], checkpoint: Checkpoint, find_node: NodeLookup
    ) -> int:
        """Return the position of a leaf in the log; `hints` are positions to try first.

        Raises:
            NotWitnessedYet: the hints are beyond the checkpoint.
            InvalidStatement: the log does not contain the leaf.
        """
        covered = [hint for hint in hints if hint < checkpoint.size]
        for hint in covered:
            if find_node(0, hint) == leaf:
                return hint
        if hints and not covered:
            raise NotWitnessedYet(
                f"the newest cosigned checkpoint has {checkpoint.size} entries, and does not cover "
                "the statement yet",
                where=self.log.site.url,
            )
        last_tile = (checkpoint.size - 1) // TILE_WIDTH
        for number in range(last_tile, max(-1, last_tile - _MAX_SEARCHED_TILES), -1):
            hashes = self.log.tile(0, number, checkpoint.size)
            if leaf in hashes:
                return number * TILE_WIDTH + hashes.index(leaf)
        raise InvalidStatement(
            "the log does not contain the statement",
            reason="register-not-in-log",
            where=self.log.site.url,
            hint="To register it: vacr register FILE --service URL",
        )


def _list_claimed_positions(message: Sign1) -> list[int]:
    """Return the positions that the receipts and proofs in a statement claim, unverified.

    Receipts may be of other logs, so a position is only a hint where to look.
    """
    positions = []
    for encoded in list_encoded_receipts(message):
        try:
            positions += [proof.index for proof in parse_receipt(encoded).inclusions]
        except InvalidStatement:
            continue
    for encoded_proof in list_tlog_proofs(message):
        try:
            positions.append(parse_tlog_proof(encoded_proof).index)
        except InvalidStatement:
            continue
    return [position for position in dict.fromkeys(positions) if position >= 0]
