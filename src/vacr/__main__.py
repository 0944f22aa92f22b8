"""The entry point of the command. It answers `vacr --version` itself, before it loads anything else."""

from __future__ import annotations

import sys
from contextlib import suppress


def main() -> None:
    """Run the command."""
    if sys.argv[1:] in (["--version"], ["-V"]) and sys.stdout is not None:
        from vacr import __version__

        # If this write fails, the command below tries again and reports the failure.
        with suppress(OSError):
            print(f"vacr {__version__}", flush=True)  # noqa: T201 - the command's output
            return
    try:
        from vacr.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
