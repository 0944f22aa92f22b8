"""What strings hold, decoded once: for `.cbor`, `.cborseq` and the conversions of RFC 9741. Step:
validate.

Answers are remembered by the identity of a value (see `compiler`), so a string that is looked at on
several paths has to give the same decoded value each time; decoded afresh, every level of nesting
would double the work. What is kept is bounded, and is only dropped while nothing inside a string is
being checked: a path that is under way never loses what it will ask for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.schema.cddl.compiler import Predicate

_MOST_KEPT = 32_000_000
_OVERHEAD = 200


class Held:
    """The strings decoded during a run."""

    def __init__(self) -> None:
        """Start with none."""
        self._known: dict[
            tuple[Callable[[Any], Any], str | bytes], tuple[Any, ValueError | None]
        ] = {}
        self._size = 0
        self._depth = 0

    def forget(self) -> None:
        """Drop everything at the end of a run."""
        if self._known:
            self._known.clear()
            self._size = self._depth = 0

    def decoded(self, value: str | bytes, decode: Callable[[Any], Any]) -> Any:
        """Give what a string holds, the same object each time.

        Raises:
            ValueError: when it does not hold what `decode` reads.

        """
        key = (decode, value)
        hit = self._known.get(key)
        if hit is None:
            if self._size > _MOST_KEPT and not self._depth:
                self._known.clear()
                self._size = 0
            try:
                hit = (decode(value), None)
            except ValueError as error:
                hit = (None, error)
            self._known[key] = hit
            self._size += len(value) + _OVERHEAD
        if hit[1] is not None:
            raise hit[1].with_traceback(None)
        return hit[0]

    def bytes_hold(self, test: Predicate, value: Any, decode: Callable[[bytes], Any]) -> bool:
        """Tell whether bytes decode to something that passes a test (RFC 8610 section 3.8.4)."""
        return isinstance(value, bytes) and self._passes(test, value, decode)

    def text_holds(self, test: Predicate, value: Any, decode: Callable[[str], Any]) -> bool:
        """Tell whether a text decodes to something that passes a test (RFC 9741)."""
        return isinstance(value, str) and self._passes(test, value, decode)

    def _passes(self, test: Predicate, value: str | bytes, decode: Callable[[Any], Any]) -> bool:
        try:
            inner = self.decoded(value, decode)
        except ValueError:
            return False
        self._depth += 1
        try:
            return test(inner)
        finally:
            self._depth -= 1
