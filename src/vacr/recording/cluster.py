"""The same tasks on an existing Dask cluster. Its workers read and write the folders themselves, so
they must see them.

Needs the extra `vacr[cluster]`. A task whose worker dies is done again by another; that changes
nothing, because a record is written whole or not at all and comes out the same.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from vacr.errors import Unreachable, UsageError
from vacr.version import __version__

_PATIENCE = 10
_ADDRESS = re.compile(r"([a-z]+://)?[^/\s]+:[0-9]+")


class Cluster:
    """A connection to a scheduler."""

    def __init__(self, address: str, folders: list[Path], output: Path) -> None:
        """Connect, and make sure that every worker can do the work.

        Raises:
            UsageError: the extra is not installed, or a worker lacks something.
            Unreachable: there is no scheduler, or it has no workers.
        """
        self.address = address
        if not _ADDRESS.fullmatch(address):
            raise UsageError(
                f"{address!r} is not the address of a scheduler",
                hint="It looks like tcp://127.0.0.1:8786.",
            )
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                "--cluster needs Dask", hint="Install it with: pip install 'vacr[cluster]'"
            ) from error
        try:
            connect: Any = Client
            self.client = connect(address, timeout=_PATIENCE, set_as_default=False)
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            hint = "Start one with: dask scheduler; and workers with: dask worker ADDRESS."
            told = str(error) or type(error).__name__
            raise Unreachable(
                f"no cluster with workers: {told}", where=address, hint=hint
            ) from error
        output.mkdir(parents=True, exist_ok=True)
        self._check(self.client.run(_look, [str(path) for path in (*folders, output)]))
        self.jobs = sum(self.client.nthreads().values())

    def _check(self, told: dict[str, tuple[str, list[str]]]) -> None:
        for worker, (version, missing) in sorted(told.items()):
            if version != __version__:
                raise UsageError(
                    f"the worker {worker} has vacr {version}, not {__version__}",
                    hint="Install the same version there.",
                )
            if missing:
                raise UsageError(
                    f"the worker {worker} does not see {missing[0]}",
                    hint="The folders must be shared with all workers.",
                )

    def check(self, pool: Executor) -> None:
        """Make sure that the scheduler is still there.

        Raises:
            Unreachable: it is gone.
        """
        del pool
        if self.client.status in ("closing", "closed"):
            hint = "Run the same again to go on from here."
            raise Unreachable("the cluster was lost", where=self.address, hint=hint)

    def pool(self, jobs: int) -> Executor:
        """Give the cluster as a pool."""
        del jobs
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def close(self) -> None:
        """Disconnect."""
        self.client.close()


def _look(folders: list[str]) -> tuple[str, list[str]]:
    """Tell, on a worker, which version it has and which folders it does not see."""
    return __version__, [folder for folder in folders if not os.path.isdir(folder)]  # noqa: PTH112 - a string from elsewhere
