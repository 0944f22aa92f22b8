"""Make random valid instances of a schema. Step: validate (for tests and examples).

The same seed gives the same instance, from a generator of its own (`random.Random`; nothing here is
secret). Depth and size are bounded also for recursive rules. What cannot be built directly is tried
and checked, some number of times.
"""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from vacr.errors import InvalidSchema
from vacr.schema.cddl import scalars
from vacr.schema.cddl.heights import Heights
from vacr.schema.cddl.limits import TooMuchWork
from vacr.schema.cddl.members import expand
from vacr.schema.cddl.model import (
    LARGEST_UINT,
    AnyType,
    ArrayType,
    Between,
    Controlled,
    Exact,
    GroupNode,
    Item,
    Kind,
    MapType,
    Node,
    OneOf,
    SimpleOf,
    Tagged,
    follow,
)
from vacr.schema.cddl.sampling import NoSample
from vacr.schema.cddl.values import BIGNUMS
from vacr.schema.cddl.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vacr.schema.cddl.compiler import Program
    from vacr.schema.cddl.members import Member

__all__ = ["Generator", "Random"]

_DEPTH = 6
_MOST_NODES = 600
_MOST_STEPS = 30_000
_TRIES = 30
_MORE = 3
_ANY_TAG = 4711
_Option = TypeVar("_Option")


class Generator:
    """Makes instances of one type."""

    def __init__(self, node: Node, program: Program, *, seed: int, json: bool, where: str) -> None:
        """Look at the type once; `program` checks what is made."""
        self.random = Random(seed)  # noqa: S311 - reproducible on purpose, and nothing secret
        self.json = json
        self._node = node
        self._program = program
        self._where = where
        self._heights = Heights(node, json=json)
        self._nodes = 0
        self._steps = 0

    def instance(self) -> Any:
        """Make one instance.

        Raises:
            InvalidSchema: when there is none, or none is found.

        """
        height = self._heights.of(self._node)
        if math.isinf(height):
            self._refuse()
        try:
            return self._checked(
                self._node, lambda: self._make_counted(self._node, int(height) + _DEPTH)
            )
        except NoSample as error:
            name = described(self._node)
            raise InvalidSchema(
                f"no instance of {name} was found: {error}", where=self._where
            ) from None
        finally:
            self._program.forget()

    def _make_counted(self, node: Node, room: int) -> Any:
        self._nodes = 0
        return self.make(node, room)

    def _refuse(self) -> None:
        name = described(self._node)
        if self.json and not math.isinf(Heights(self._node, json=False).of(self._node)):
            message = (
                f"{name} has no instance in JSON: it needs bytes, tags or keys that are not text"
            )
            raise InvalidSchema(message, where=self._where, hint="ask for the instance as CBOR")
        raise InvalidSchema(f"{name} has no finite instance", where=self._where)

    # --- for every kind of type
    # ------------------------------------------------------------------------

    def matches(self, node: Node, value: Any) -> bool:
        """Ask the compiled check; what would take too long to check is not made."""
        try:
            return bool(self._program.predicate(node)(value))
        except TooMuchWork:
            return False

    def _checked(self, node: Node, make: Callable[[], Any]) -> Any:
        """Try until the check agrees.

        Raises:
            NoSample: when it never does.

        """
        for _ in range(_TRIES):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                break
            value = make()
            if self.matches(node, value):
                return value
        raise NoSample(f"nothing fits {described(node)}")

    def make(self, node: Node, room: int) -> Any:
        """Make a value of a type, going at most so deep where there is a choice.

        Raises:
            NoSample: when none was found.

        """
        node = follow(node)
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            room = 0
        match node:
            case OneOf(alternatives=alternatives):
                return self._first_possible(alternatives, room)
            case MapType():
                return self._checked(node, lambda: self._map(node, room - 1))
            case ArrayType():
                return self._checked(node, lambda: self._group(node.group, room - 1))
            case Controlled():
                return self._checked(node, lambda: scalars.controlled(self, node, room))
            case Tagged():
                return self._tag(node, room)
            case Exact():
                return node.value
            case Between():
                return scalars.between(self.random, node)
            case Kind():
                return scalars.of_kind(self.random, node, json=self.json)
            case SimpleOf():
                return scalars.simple(self.make(node.number, room))
            case AnyType():
                return scalars.anything(self.random, json=self.json)

    def _first_possible(self, alternatives: Sequence[Node], room: int) -> Any:
        """Make one alternative; when it cannot be, another."""
        left = list(alternatives)
        problem = NoSample("an empty choice")
        while left:
            chosen = self._pick(left, [self._heights.of(part) for part in left], room)
            left.remove(chosen)
            try:
                return self.make(chosen, room)
            except NoSample as error:
                problem = error
        raise problem

    def _pick(self, options: list[_Option], heights: list[float], room: int) -> _Option:
        """Pick an option there is room for; the lowest when there is none."""
        lowest = min(heights)
        if math.isinf(lowest):
            raise NoSample("no alternative is possible")
        limit = max(lowest, room)
        return self.random.choice(
            [option for option, height in zip(options, heights, strict=True) if height <= limit]
        )

    def _tag(self, node: Tagged, room: int) -> Any:
        from cbor2 import CBORTag

        number: Any = node.number
        if not isinstance(number, int):
            number = _ANY_TAG if number is None else self.make(number, 0)
        if not isinstance(number, int) or not 0 <= number <= LARGEST_UINT:
            raise NoSample("the number of a tag is not a number")
        content = self.make(node.content, room - 1)
        for _ in range(_TRIES):
            # Leading zeros of a bignum are lost when it is decoded, and with them perhaps the right
            # length.
            if number not in BIGNUMS or not isinstance(content, bytes) or content[:1] != b"\x00":
                break
            content = self.make(node.content, room - 1)
        return CBORTag(number, content)

    # --- arrays
    # ----------------------------------------------------------------------------------------

    def _group(self, group: GroupNode, room: int) -> list[Any]:
        """Make the elements of an array."""
        if not group.alternatives:
            raise NoSample("an empty group choice")
        heights = [self._heights.sequence(sequence) for sequence in group.alternatives]
        sequence = self._pick(group.alternatives, heights, room)
        return [element for item in sequence for element in self._elements(item, room)]

    def _elements(self, item: Item, room: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(self._count(item.least, item.most, self._heights.item(item), room)):
            if isinstance(item.value, GroupNode):
                found += self._group(item.value, room - 1)
            else:
                found.append(self.make(item.value, room))
        return found

    def _count(self, least: int, most: int | None, height: float, room: int) -> int:
        """Choose how often an entry is there: no more than it must be when there is no room."""
        if least > _MOST_NODES:
            raise NoSample(f"{least} repetitions are more than are made")
        if height > room or math.isinf(height):
            return least
        return self.random.randint(
            least, least + _MORE if most is None else min(most, least + _MORE)
        )

    # --- maps
    # ------------------------------------------------------------------------------------------

    def _map(self, node: MapType, room: int) -> dict[Any, Any]:
        """Make the members of a map."""
        sequences = expand(node.group)
        if not sequences:
            raise NoSample("an empty group choice")
        heights = [
            max(map(self._member_height, filter(_required, s)), default=0.0) for s in sequences
        ]
        sequence = self._pick(sequences, heights, room)
        found: dict[Any, Any] = {}
        copies: int | None = None
        for member in sequence:
            least, most = member.least, member.most
            if member.share is not None:
                share = member.share
                if copies is None:
                    copies = self._count(
                        share.fewest, share.copies, self._member_height(member), room
                    )
                least, most = (
                    share.least * copies,
                    None if share.most is None else share.most * copies,
                )
                most = most if copies else 0
            count = self._count(least, most, self._member_height(member), room)
            if member.literal is not None:
                if count:
                    found[member.literal] = self.make(member.value, room)
                continue
            for _ in range(count):
                self._add_wild(found, member, sequence, room)
        return found

    def _member_height(self, member: Member) -> float:
        writable = self._heights.key(member.key)
        return self._heights.of(member.value) if writable else math.inf

    def _add_wild(
        self, found: dict[Any, Any], member: Member, sequence: list[Member], room: int
    ) -> None:
        """Add a member with a key that is new, and that no other entry names."""
        taken = [other.literal for other in sequence if other.literal is not None]
        for _ in range(_TRIES):
            key = scalars.hashable(self.make(member.key, 0))
            if key not in found and key not in taken and (isinstance(key, str) or not self.json):
                found[key] = self.make(member.value, room)
                return
        if len(found) < member.least:
            raise NoSample(f"no more keys of {described(member.key)}")


def _required(member: Member) -> bool:
    return member.required
