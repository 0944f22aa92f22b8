"""Measure the speed and memory of vacr: `make bench`, or `make bench ONLY="recording growth"`.

Most figures are ratios, so that the speed of the machine cancels out: each is compared with the
minimum that any implementation must do, measured a moment earlier on the same bytes.
"""

from __future__ import annotations

import resource
import sys

from attribution import attribution
from blame import blame
from capture import capture, journal_verify
from exchange import exchange
from hook import hook
from page import page
from processes import folders, listing, memory, start
from records import growth, recording, validation
from search import search
from sessions import CORPUS
from show import show
from signing import signing
from transparency import log_growth, transparency

from seal import seal

MEASUREMENTS = {
    measurement.__name__: measurement
    for measurement in (
        recording,
        growth,
        validation,
        attribution,
        blame,
        signing,
        seal,
        transparency,
        log_growth,
        memory,
        folders,
        listing,
        start,
        hook,
        capture,
        journal_verify,
        exchange,
        page,
        show,
        search,
    )
}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    names = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"Unknown: {', '.join(unknown)}. Choose from: {', '.join(MEASUREMENTS)}")
    source = "real sessions" if CORPUS.is_dir() else "the examples"
    print(f"vacr on Python {sys.version.split()[0]}, measured on {source}")
    for name in names:
        MEASUREMENTS[name]()
