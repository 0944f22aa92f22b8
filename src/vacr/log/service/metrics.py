"""What a service counts, in the text form of Prometheus. Step: register."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(frozen=True, slots=True)
class Sample:
    """Something that is counted; what is named so that it ends in `_total` never goes down."""

    name: str
    told: str
    value: int

    @property
    def kind(self) -> str:
        """The word of Prometheus for it."""
        return "counter" if self.name.endswith("_total") else "gauge"


class Metrics:
    """Counters, and how long registrations took."""

    def __init__(self) -> None:
        """Start at zero."""
        self.responses: Counter[int] = Counter()
        self.entries = 0
        self.durations = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0

    def took(self, seconds: float) -> None:
        """Count a registration that took so long."""
        self.seconds += seconds
        for at, bound in enumerate(_BOUNDS):
            if seconds <= bound:
                self.durations[at] += 1
                return
        self.durations[-1] += 1

    def text(self, more: Iterable[Sample]) -> str:
        """Write all, with what others have counted."""
        lines = [
            "# HELP vacr_responses_total Answers to requests to register, by status.",
            "# TYPE vacr_responses_total counter",
        ]
        lines += [
            f'vacr_responses_total{{status="{status}"}} {count}'
            for status, count in sorted(self.responses.items())
        ]
        lines += [
            "# HELP vacr_entries_total Entries added by this process.",
            "# TYPE vacr_entries_total counter",
        ]
        lines += [f"vacr_entries_total {self.entries}"]
        lines += ["# HELP vacr_registration_seconds Time from a request to its receipt."]
        lines += ["# TYPE vacr_registration_seconds histogram"]
        total = 0
        for bound, count in zip((*_BOUNDS, "+Inf"), self.durations, strict=True):
            total += count
            lines.append(f'vacr_registration_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"vacr_registration_seconds_sum {self.seconds:.6f}",
            f"vacr_registration_seconds_count {total}",
        ]
        for one in more:
            lines += [
                f"# HELP vacr_{one.name} {one.told}",
                f"# TYPE vacr_{one.name} {one.kind}",
                f"vacr_{one.name} {one.value}",
            ]
        return "\n".join(lines) + "\n"
