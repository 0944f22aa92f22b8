"""How a service is, for those who look after it: `/health` and `/metrics`. Step: register."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from vacr.errors import VacrError
from vacr.log.service.metrics import Sample
from vacr.log.service.problems import outward
from vacr.log.service.publishing import Publisher
from vacr.log.service.reading import Readers
from vacr.log.service.registration import Registration
from vacr.log.storage import Reading

_SCRAPE_SECONDS = 5
"""Who counts waits for an answer no longer than ten seconds, by default."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What there is to tell of a service."""

    registration: Registration
    publisher: Publisher
    readers: Readers

    async def health(self, _: Request) -> Response:
        """Tell whether the log takes entries and publishes them."""
        sequencer = self.registration.sequencer
        failures = {
            "sequencer": outward(sequencer.failure)
            if sequencer is not None and sequencer.failure
            else None,
            "publisher": outward(self.publisher.failure) if self.publisher.failure else None,
        }
        try:
            size, failures["reader"] = await self.readers.read(_size), None
        except VacrError as error:
            size, failures["reader"] = None, outward(error)
        found = {"status": "failing" if any(failures.values()) else "ok", "size": size, **failures}
        return JSONResponse(found, 503 if failures["sequencer"] or failures["reader"] else 200)

    async def metrics(self, _: Request) -> Response:
        """Give what is counted; also while the database fails, which is when somebody looks."""
        sequencer = self.registration.sequencer
        found = [
            Sample("published_size", "Entries under the last checkpoint.", self.publisher.size),
            Sample(
                "waiting",
                "Statements that wait for their batch.",
                len(sequencer.queue) if sequencer else 0,
            ),
            Sample(
                "batches", "Batches that this process added.", sequencer.batches if sequencer else 0
            ),
        ]
        missing = sum(one.missing for one in self.publisher.asked)
        found.append(
            Sample(
                "cosignatures_missing",
                "Witnesses that have not cosigned the last checkpoint.",
                missing,
            )
        )
        try:
            async with asyncio.timeout(_SCRAPE_SECONDS):
                found.append(
                    Sample("log_size", "Entries in the log.", await self.readers.read(_size))
                )
            up = True
        except (VacrError, TimeoutError):
            up = False
        failures = (sequencer.storage_failures if sequencer else 0) + self.readers.failures
        found.append(
            Sample(
                "storage_failures_total",
                "Times that the database failed and was opened again.",
                failures,
            )
        )
        found.append(Sample("log_up", "Whether the log can be read: 1 or 0.", int(up)))
        return PlainTextResponse(
            self.registration.metrics.text(found), media_type="text/plain; version=0.0.4"
        )


def _size(reading: Reading) -> int:
    head = reading.head()
    return head.head.size if head is not None else 0
