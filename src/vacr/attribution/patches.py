"""What a patch does, as events. Step: attribute."""

from collections.abc import Iterator

from vacr.attribution import apply_patch
from vacr.attribution.events import Delete, Event, Move, Patch, Write


def patch_events(text: str) -> Iterator[Event]:
    """Say what a patch does."""
    for file in apply_patch.parse(text):
        if file.kind == "add":
            yield Write(file.path, file.text, created=True)
        elif file.kind == "delete":
            yield Delete(file.path)
        else:
            yield Patch(file.path, file.parts)
            if file.to:
                yield Move(file.path, file.to)
