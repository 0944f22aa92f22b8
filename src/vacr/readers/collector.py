"""The garbage collector, kept out of the way. Step: read."""

from __future__ import annotations

import gc


class collector_paused:  # noqa: N801 - used as a function
    """Keep the garbage collector from going through values again and again while there are only
    more of them.
    """

    def __enter__(self) -> None:
        """Pause it."""
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        """Let it go on, if it did before."""
        if self._was_enabled:
            gc.enable()
