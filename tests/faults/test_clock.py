"""A clock that is set back under a service: times in receipts never decrease."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.faults.audit import audit
from tests.faults.handed import Handed
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.log.keyring import read_log_descriptions
from vacr.signing.cose import parse_sign1
from vacr.verification.receipts import check_receipt

LATER = datetime(2100, 1, 1, tzinfo=UTC)
DAYS = (1000, 1001, 999, 300, 1002)
"""How many days the clock is ahead, one statement after the other."""


@pytest.fixture
def faketime(tmp_path):
    """Return the environment that makes a process read its time from a file, and that file."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip(
            "NO FAKETIME HERE: a clock that is moved back is not tested; apt-get install faketime"
        )
    clock = tmp_path / "clock"
    clock.write_text(f"+{DAYS[0]}d\n")
    settings = {
        "LD_PRELOAD": str(found[-1]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "TZ": "UTC",
    }
    return settings | {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}, clock


@pytest.mark.parametrize("restarted", [False, True])
def test_times_never_go_back(tmp_path, serve, faketime, restarted):
    settings, clock = faketime
    log = create_log(str(tmp_path / "log"))
    handed, claimed = Handed(), []
    service = serve(log.path, "--linger", "0", **settings)
    with closing(log.reader()) as reading:
        known = [description.receipt_key for description in read_log_descriptions(reading)]
    for days in DAYS:
        # Replace the file at once: a process that reads an empty file ends.
        (tmp_path / "next").write_text(f"+{days}d\n")
        (tmp_path / "next").replace(clock)
        if restarted:
            assert service.stop() == (0, "")
            service = serve(log.path, "--linger", "0", **settings)
        given = statement()
        status, _, receipt = service.post(given)
        assert status == 201, receipt
        handed.receipts.append((given, receipt))
        claimed.append(check_receipt(parse_sign1(given), receipt, known, LATER).time)
        assert service.get("/health")[0] == 200
    assert service.stop() == (0, "")
    assert claimed == sorted(claimed)
    assert claimed[1] == claimed[2] == claimed[3]
    assert [(moment - claimed[0]).days for moment in claimed] == [0, 1, 1, 1, 2]
    audit(log.path, handed)
