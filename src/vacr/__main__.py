"""The command's door. `vacr --version` is answered here, before anything else is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from vacr import __version__

        print(f"vacr {__version__}")  # noqa: T201 - the command's output
        return
    try:
        from vacr.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
