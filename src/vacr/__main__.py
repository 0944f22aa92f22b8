"""The entry point of the command. It answers `vacr --version` itself, before it loads anything
else.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command."""
    try:
        if sys.argv[1:] in (["--version"], ["-V"]) and _print_version():
            return
        from vacr.cli import main as run

        run()
    except KeyboardInterrupt:
        # Not sys.exit: at exit Python flushes its streams, and a full pipe would block.
        os._exit(INTERRUPTED)


def _print_version() -> bool:
    """Print the version, and return whether that worked; if not, the command tries again and
    reports the failure.
    """
    from vacr.version import __version__

    line = f"vacr {__version__}\n".encode()
    try:
        return sys.stdout is not None and os.write(sys.stdout.fileno(), line) == len(line)
    except OSError:
        return False


if __name__ == "__main__":
    main()
