"""Every head that a log has signed, compared with the tree that its entries give. Step:
register.
"""

from __future__ import annotations

from collections.abc import Iterator

from vacr.errors import InvalidStatement, VacrError
from vacr.log.findings import Findings
from vacr.log.storage import Reading, StoredHead
from vacr.receipts.description import Description, first, following, identity_of
from vacr.receipts.tiles import Growing
from vacr.signing import algorithms, labels
from vacr.signing.sign1 import parse, to_be_signed


class SignedHeads:
    """The heads that were signed, each compared with the tree when it has grown to its size."""

    def __init__(self, storage: Reading, findings: Findings) -> None:
        """Begin with the first head."""
        self.findings = findings
        self.left: Iterator[StoredHead] = storage.heads()
        self.next = next(self.left, None)
        self.log = ""
        self.said: list[Description] = []
        self.positions: list[int] = []
        self.wrong: list[int] = []
        self.count = 0
        self.last: StoredHead | None = None

    def reach(self, growing: Growing, entry: bytes) -> None:
        """Compare the head of this size, if there is one."""
        self._describe(entry, growing.size - 1)
        while self.next is not None and self.next.head.size <= growing.size:
            if self.next.head.size == growing.size:
                self._compare(self.next, growing.root())
            else:
                self.findings.add(f"a head of size {self.next.head.size} is stored out of order")
            self.count += 1
            self.last, self.next = self.next, next(self.left, None)

    def _describe(self, entry: bytes, position: int) -> None:
        if position == 0:
            self.log = identity_of(entry)
            try:
                self.said.append(first(entry))
                self.positions.append(0)
            except InvalidStatement as error:
                self.findings.add(str(error))
        elif self.said and (after := following(entry, self.said[-1], self.log)) is not None:
            self.said.append(after)
            self.positions.append(position)

    def _compare(self, stored: StoredHead, root: bytes) -> None:
        head = stored.head
        if head.root != root:
            self.wrong.append(head.size)
        if self.last is not None and stored.time < self.last.time:
            self.findings.add(f"the head of size {head.size} is older than the one before")
        if not self.said or self.positions[-1] != stored.description:
            self.findings.add(
                f"the head of size {head.size} names entry {stored.description}, which does "
                "not "
                "describe the log"
            )
            return
        try:
            _check_signed(stored, self.said[-1], self.log)
        except VacrError as error:
            self.findings.add(f"the head of size {head.size}: {error}")

    def finish(self, head: StoredHead) -> None:
        """Check that the last head is the log's, and tell which roots were wrong."""
        if self.wrong:
            told = f"the entries do not give the root that was signed for size {self.wrong[0]}"
            self.findings.add(
                told
                + (f", nor {len(self.wrong) - 1} roots after it" if len(self.wrong) > 1 else "")
            )
        if self.next is not None:
            self.findings.add(
                f"a head of size {self.next.head.size} was signed, and the log has "
                f"{head.head.size} entries"
            )
        if self.last != head:
            self.findings.add("the head of the log is not the last one that was signed")


def _check_signed(stored: StoredHead, said: Description, log: str) -> None:
    head = stored.head
    algorithms.verify(
        algorithms.default_for(said.receipt_key),
        said.receipt_key,
        head.signature,
        to_be_signed(head.protected, head.root),
    )
    protected = parse(head.inclusion(0, [])).protected
    claims = {labels.ISS: log, labels.SUB: said.origin, labels.IAT: stored.time}
    if protected.get(labels.CWT_CLAIMS) != claims:
        raise InvalidStatement("it names another log or another time", reason="log-damaged")
