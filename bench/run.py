"""Speed and memory of vacr, printed as ratios of one run: `make bench`, or `make bench
ONLY="recording growth"`.

The machine's own speed cancels out: each figure is compared with the least that any implementation
must do, measured a moment before on the same bytes.
"""

from __future__ import annotations

import resource
import sys

from attribution import attribution
from capture import capture, journal_verify
from exchange import exchange
from hook import hook
from page import page
from processes import folders, memory, start
from records import growth, recording, validation
from sessions import CORPUS
from show import show
from signing import signing
from transparency import log_growth, transparency

from seal import seal

PARTS = {
    part.__name__: part
    for part in (
        recording,
        growth,
        validation,
        attribution,
        signing,
        seal,
        transparency,
        log_growth,
        memory,
        folders,
        start,
        hook,
    )
    + (capture, journal_verify, exchange, page, show)
}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = "real sessions" if CORPUS.is_dir() else "examples"
    print(f"vacr on Python {sys.version.split()[0]}, {where}")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
