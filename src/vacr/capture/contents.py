"""What a part of a session holds: its bytes as they were last seen, after every change."""

from __future__ import annotations

_TAIL = 1 << 12


class Content:
    """The bytes of a part as they were last seen, without the bytes themselves where those only
    ever grew.
    """

    def __init__(
        self, size: int = 0, lines: int = 0, tail: bytes = b"", held: bytearray | None = None
    ) -> None:
        """Begin with what was seen."""
        self.size, self.tail = size, tail
        """How many there are, and the last of them, by which a file is known again."""
        self._lines: int | None = lines
        self._held = held
        self._added: list[bytes] = []
        """What came after the bytes that are held: putting it there takes longer than reading it
        did.
        """

    @property
    def held(self) -> bytearray | None:
        """The bytes, if they are held."""
        if self._held is not None and self._added:
            self._held += b"".join(self._added)
            self._added = []
        return self._held

    @held.setter
    def held(self, held: bytearray | None) -> None:
        self._lines = self.lines
        self._held, self._added = held, []

    @property
    def lines(self) -> int:
        """How many lines there are."""
        if self._lines is None:
            self._lines = (self.held or b"").count(b"\n")
        return self._lines

    def replace(self, held: bytearray) -> None:
        """Note that all of it is something else now."""
        self.size, self.tail = len(held), bytes(held[-_TAIL:])
        self._held, self._added, self._lines = held, [], None

    def change(self, at: int, cut: int, data: bytes) -> None:
        """Note a change; the bytes have to be held, unless it is at the end."""
        if (at, cut) == (self.size, 0):
            self.size += len(data)
            self.tail = (self.tail + data[-_TAIL:])[-_TAIL:]
            if self._held is None:
                self._lines = self.lines + data.count(b"\n")
            else:
                self._added.append(data)
                self._lines = None
            return
        held = self.held
        held = held if held is not None else bytearray()
        held[at : at + cut] = data
        self.replace(held)
