"""What a call was given, as texts. Step: show. A summary is one line of it; who looks for a command
wants all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vacr.viewer.values import told


def inputs_of(given: Any) -> Iterator[tuple[str, str]]:
    """Give the members of an input by their names; one that is no object has a single text without
    a name.
    """
    if not isinstance(given, dict):
        if given is not None:
            yield "", _text(given)
        return
    for name, value in given.items():
        yield _text(name), _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else told(value)
