"""The promises of a log: receipts and checkpoints that it has issued, and must honour for ever."""

from dataclasses import dataclass, field


@dataclass
class Handed:
    """The receipts and checkpoints that left the log, and the failures that it reported."""

    receipts: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Statements, each with its receipt."""
    checkpoints: list[bytes] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def read(self, lines):
        """Parse the output of `tests.faults.scenario`; an incomplete line was not handed out."""
        for line in lines.split(b"\n")[:-1]:
            self.take(line)
        return self

    def take(self, line):
        """Parse one line."""
        kind, *rest = line.decode().split()
        given = list(map(bytes.fromhex, rest))
        if kind == "receipt":
            self.receipts.append((given[0], given[1]))
        elif kind == "checkpoint":
            self.checkpoints.append(given[0])
        elif kind == "failed":
            self.failures.append(given[0].decode())
        else:
            self.others.append(kind)
