"""The registration endpoint of a log, `POST /entries`: statements in, receipts out.

This is the path that a log spends its time on: one statement in, a wait for its batch, one receipt
out (SCRAPI). So it is written against ASGI itself, without a web framework. Under load, a thread
checks the statements, so that the event loop can read and answer other requests meanwhile. With
`always_303`, a statement is answered with the address under which its receipt will appear, as soon
as it is accepted.

In addresses, an entry is named by the hash of its leaf: two decimal numbers with a dot between.
SCRAPI leaves the form open, but one client (pyscitt) accepts no other. While an entry waits for its
batch, its name also carries the time of its submission, above the hash bits of the second number.
So every front end of a log can distinguish pending entries from missing ones, even if another front
end has accepted them. Forging a time only makes the forger poll for a while.

    >>> from vacr.log.registration import format_entry_name, is_possibly_pending, parse_entry_name
    >>> leaf = bytes(15) + b"\\x05" + bytes(15) + b"\\x07"
    >>> format_entry_name(leaf)
    '5.7'
    >>> name = format_entry_name(leaf, submitted_at=1_700_000_000)
    >>> parse_entry_name(name) == leaf, is_possibly_pending(name, now=1_700_000_020)
    (True, True)
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.errors import VacrError
from vacr.log.admission import (
    AllowedTokens,
    Problem,
    RateLimiter,
    RegistrationPolicy,
    build_no_receipt_problem,
    build_unavailable_problem,
    check_caller,
    report_internal_error,
)
from vacr.log.fork import ForkGuard
from vacr.log.ledger import BatchResults, LogBusy, PlacedEntry, Sequencer
from vacr.transparency import add_receipt, hash_leaf

AsgiScope = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]
AsgiSend = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Headers = list[tuple[bytes, bytes]]

MAX_PENDING_SECONDS = 30
"""How long after its submission an entry may still be on its way; includes clock differences."""
COSE_CONTENT_TYPE = b"application/cose"
STATEMENT_CONTENT_TYPE = b"application/scitt-statement+cose"
_STATEMENT_CONTENT_TYPES = (
    COSE_CONTENT_TYPE,
    STATEMENT_CONTENT_TYPE,
    b"application/octet-stream",
)
_MAX_BODY_SIZE = 1 << 18
_MAX_KNOWN_TWINS = 10_000
_MAX_BODY_SECONDS = 30
_RETRY_AFTER_SECONDS = 1
_MAX_CHECKS_IN_LOOP = 2
"""How many statements may be checked in the event loop at a time; a thread checks more."""
_MAX_CHECKS_AT_ONCE = 32
"""How many statements are checked before their entries are queued: about two milliseconds."""
_HTTP_UNAVAILABLE = 503
_UNREAD_BODY_STATUSES = (408, 413)
_HALF_HASH_SIZE = 16
_HALF_HASH_BITS = 8 * _HALF_HASH_SIZE
_HALF_HASH_MASK = (1 << _HALF_HASH_BITS) - 1
_ENTRY_NAME_PATTERN = re.compile(r"(0|[1-9][0-9]{0,38})\.(0|[1-9][0-9]{0,51})")
_HEX_HASH_PATTERN = re.compile(r"[0-9a-f]{64}")
_DURATION_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


# --- The endpoint ---


@dataclass(slots=True)
class Submission:
    """A statement on its way into the log."""

    statement: bytes
    outcome: asyncio.Future[PlacedEntry | None]
    """Its place in the log; with `always_303`, None as soon as it waits for its batch."""
    leaf: bytes = b""
    """The leaf hash of its entry, once the statement is accepted."""

    def finish_soon(self, outcome: VacrError | None) -> None:
        """Set the outcome from another thread than the event loop's."""
        self.outcome.get_loop().call_soon_threadsafe(self.finish, outcome)

    def finish(self, outcome: PlacedEntry | VacrError | None) -> None:
        """Set the outcome, in the event loop's thread, unless the client has disconnected."""
        if self.outcome.done():
            return
        if isinstance(outcome, VacrError):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


@dataclass
class RegistrationEndpoint:
    """The ASGI application that accepts statements."""

    admission: RegistrationPolicy
    metrics: ServiceMetrics
    tokens: AllowedTokens | None = None
    """The tokens that may register, or None if no token is required."""
    rates: RateLimiter = field(default_factory=RateLimiter)
    always_303: bool = False
    """Whether to answer at once with the address of the future receipt."""
    pending: set[bytes] = field(default_factory=set)
    """With `always_303`: the leaf hashes of accepted entries that are not yet in the log."""
    sequencer: Sequencer[Submission] | None = None
    twins: dict[bytes, bytes] = field(default_factory=dict)
    """With `always_303`: leaf hashes of twins that were not logged → of the logged entries."""
    loop: asyncio.AbstractEventLoop | None = None
    on_batch: Callable[[], None] = lambda: None
    """Called after a batch with new entries was committed."""
    guard: ForkGuard | None = None
    """Stops registrations after a proven fork."""

    def __post_init__(self) -> None:
        """Create the queue of statements to check."""
        self.unchecked = CheckQueue(self._check)

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        """Answer a request to register a statement, and count it in the metrics."""
        started = time.perf_counter()
        try:
            status, headers, body = await self._register(scope, receive)
        except Problem as problem:
            status, headers, body = _encode_problem_response(problem)
        except Exception as error:  # noqa: BLE001 - a client never gets a traceback
            status, headers, body = _encode_problem_response(report_internal_error(error))
        self.metrics.responses[status] += 1
        self.metrics.observe_duration(time.perf_counter() - started)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _register(
        self, scope: AsgiScope, receive: AsgiReceive
    ) -> tuple[int, _Headers, bytes]:
        """Register the statement in a request, and return status, headers and body to send.

        Raises:
            Problem: the request is refused, or the log fails.
        """
        check_caller(scope, self.tokens, self.rates)
        check_not_forked(self.guard)
        _check_content_type(scope)
        statement = await _read_statement_body(receive)
        submission = self._submit(statement)
        placed = await _await_outcome(submission.outcome)
        if placed is None:
            name = format_entry_name(submission.leaf, int(time.time()))
            location = _build_location_header(scope, name)
            return 303, [location, (b"retry-after", b"%d" % _RETRY_AFTER_SECONDS)], b""
        check_not_forked(self.guard)  # It may have been proven meanwhile.
        if not placed.receipt:
            raise build_no_receipt_problem(409)
        if placed.twin is not None:
            return _encode_twin_response(scope, placed.twin, placed.receipt)
        location = _build_location_header(scope, format_entry_name(submission.leaf))
        return 201, [(b"content-type", COSE_CONTENT_TYPE), location], placed.receipt

    def _submit(self, statement: bytes) -> Submission:
        """Queue a statement to be checked, and return its submission.

        Raises:
            Problem: too many statements are waiting, so this one is not even checked.
        """
        sequencer = self.sequencer
        if sequencer is not None and len(self.unchecked) >= sequencer.count_free_places():
            raise _build_busy_problem("too many entries are waiting")
        submission = Submission(statement, asyncio.get_running_loop().create_future())
        self.unchecked.put(submission)
        return submission

    def _check(self, submissions: Sequence[Submission]) -> None:
        """Check statements and queue their entries for the next batch, or refuse; never raise."""
        accepted = []
        for submission in submissions:
            try:
                entry = self.admission.admit(submission.statement)
            except Exception as error:  # noqa: BLE001 - the client needs an answer after any error
                self._refuse(submission, error)
            else:
                submission.leaf = hash_leaf(entry)
                accepted.append((entry, submission))
        # Only now, so that they get into the same batch.
        for entry, submission in accepted:
            try:
                self._enqueue(entry, submission)
            except Exception as error:  # noqa: BLE001 - the client needs an answer after any error
                self._refuse(submission, error)

    def _enqueue(self, entry: bytes, submission: Submission) -> None:
        """Queue an entry for the next batch.

        Raises:
            Problem: the log is not open, or too many entries are waiting.
        """
        if self.sequencer is None:
            raise _build_busy_problem("the log is not open yet", title="Unavailable")
        if self.always_303:
            self.pending.add(submission.leaf)
        try:
            self.sequencer.submit(entry, submission)
        except LogBusy as error:
            self.pending.discard(submission.leaf)
            raise _build_busy_problem(str(error)) from error
        if self.always_303:
            submission.finish_soon(None)

    def _refuse(self, submission: Submission, error: Exception) -> None:
        """Answer a statement with a problem."""
        problem = error if isinstance(error, Problem) else report_internal_error(error)
        submission.finish_soon(problem)

    def deliver(self, results: BatchResults[Submission]) -> None:
        """Hand the results of a batch to the event loop; the sequencer's thread calls this."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._finish_submissions, results)

    def _finish_submissions(self, results: BatchResults[Submission]) -> None:
        """Set the outcome of each waiting request, in the event loop's thread."""
        new_entries = 0
        for submission, result in results:
            if not isinstance(result, VacrError):
                new_entries += result.new
                self._note_twin(submission.leaf, result)
            self.pending.discard(submission.leaf)
            submission.finish(result)
        self.metrics.entries += new_entries
        if new_entries:
            self.on_batch()

    def _note_twin(self, leaf: bytes, placed: PlacedEntry) -> None:
        """With `always_303`, note under which hash the log has an entry as a twin."""
        if not self.always_303 or placed.twin is None:
            return
        if len(self.twins) >= _MAX_KNOWN_TWINS:
            self.twins.pop(next(iter(self.twins)))
        self.twins[leaf] = hash_leaf(placed.twin)


def _encode_twin_response(
    scope: AsgiScope, twin: bytes, receipt: bytes
) -> tuple[int, _Headers, bytes]:
    """Return the response for a statement that is logged with its other signature.

    A receipt alone would be of no use to the client: it is for other bytes.
    """
    location = _build_location_header(scope, format_entry_name(hash_leaf(twin)))
    headers = [(b"content-type", STATEMENT_CONTENT_TYPE), location]
    return 200, headers, add_receipt(twin, receipt)


def check_not_forked(guard: ForkGuard | None) -> None:
    """Check that a receipt may be issued; raise Problem after a proven fork."""
    if guard is not None and guard.fork is not None:
        raise build_unavailable_problem(guard.fork)


class CheckQueue:
    """The statements that wait to be checked.

    A few are checked at once in the event loop: a single caller waits for no other thread. More are
    checked in a thread: verifying a signature takes most of the time, and leaves the interpreter
    to other threads. Only one thread checks at a time.
    """

    def __init__(self, check: Callable[[Sequence[Submission]], None]) -> None:
        """Start empty; `check` checks some statements, and never raises."""
        self.check = check
        self.waiting: deque[Submission] = deque()
        self.is_scheduled = False
        self.checking = threading.Lock()
        self.due = threading.Event()
        self.stopping = False
        self.thread: threading.Thread | None = None

    def __len__(self) -> int:
        """Return how many statements are waiting."""
        return len(self.waiting)

    def put(self, submission: Submission) -> None:
        """Add a statement; it is checked after the event loop has read the other requests."""
        self.waiting.append(submission)
        if not self.is_scheduled:
            self.is_scheduled = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def close(self) -> None:
        """Check the statements that still wait, and end the thread."""
        self.stopping = True
        if self.thread is not None:
            self.due.set()
            self.thread.join()

    def _dispatch(self) -> None:
        """Check a few statements here, or let the thread check many."""
        self.is_scheduled = False
        few = len(self.waiting) <= _MAX_CHECKS_IN_LOOP or self.stopping
        if few and self.checking.acquire(blocking=False):
            try:
                self._check_waiting()
            finally:
                self.checking.release()
            return
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="admission", daemon=True)
            self.thread.start()
        self.due.set()

    def _run(self) -> None:
        """Check the waiting statements whenever `due` is set, until `close` is called."""
        while not self.stopping:
            self.due.wait()
            self.due.clear()
            with self.checking:
                self._check_waiting()

    def _check_waiting(self) -> None:
        """Check all waiting statements, some at a time."""
        while self.waiting:
            count = min(len(self.waiting), _MAX_CHECKS_AT_ONCE)
            self.check([self.waiting.popleft() for _ in range(count)])


def _check_content_type(scope: AsgiScope) -> None:
    """Check that a request has the content type of a statement; raise Problem otherwise."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            if value.partition(b";")[0].strip().lower() not in _STATEMENT_CONTENT_TYPES:
                break
            return
    raise Problem(
        415, "Unsupported Media Type", "send statements with the content type application/cose"
    )


async def _read_statement_body(receive: AsgiReceive) -> bytes:
    """Return the body of a request.

    Raises:
        Problem: it is too large, takes too long, or the client disconnects.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(_MAX_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem(
                        400,
                        "Disconnected",
                        "the connection ended before the whole statement arrived",
                    )
                body += message.get("body", b"")
                if len(body) > _MAX_BODY_SIZE:
                    raise Problem(
                        413,
                        "Statement Too Large",
                        f"the statement exceeds {_MAX_BODY_SIZE} bytes; sign a hash envelope "
                        "instead",
                    )
                if not message.get("more_body"):
                    return bytes(body)
    except TimeoutError as error:
        raise Problem(
            408,
            "Request Timeout",
            f"the statement did not arrive within {_MAX_BODY_SECONDS} seconds",
        ) from error


async def _await_outcome(outcome: asyncio.Future[PlacedEntry | None]) -> PlacedEntry | None:
    """Wait until a statement is registered, and return its place; None if it is only accepted.

    Raises:
        Problem: the statement was refused, or could not be registered.
    """
    try:
        return await outcome
    except Problem:
        raise
    except VacrError as error:
        addition = "; it is unknown whether the statement was registered: send it again"
        raise build_unavailable_problem(error, addition=addition) from error


def _build_busy_problem(detail: str, *, title: str = "Busy") -> Problem:
    """Return the problem (503) for a statement that cannot wait for a batch now."""
    return Problem(_HTTP_UNAVAILABLE, title, detail, retry_after=_RETRY_AFTER_SECONDS)


def _build_location_header(scope: AsgiScope, name: str) -> tuple[bytes, bytes]:
    """Return the header `Location` with the address of the entry with this name."""
    return b"location", f"{scope.get('root_path', '')}/entries/{name}".encode()


def _encode_problem_response(problem: Problem) -> tuple[int, _Headers, bytes]:
    """Return status, headers and body of the response for a problem."""
    headers = problem.list_headers()
    if problem.status in _UNREAD_BODY_STATUSES:
        # Otherwise the server would go on reading the rest of a body that is refused.
        headers.append((b"connection", b"close"))
    return problem.status, headers, problem.encode_body()


# --- Names of entries ---


def format_entry_name(leaf: bytes, submitted_at: int = 0) -> str:
    """Return the name of an entry in addresses, such as `5.7`, from its leaf hash.

    For an entry that waits for its batch, `submitted_at` is the time of its submission in seconds
    since 1970, which becomes part of the name.
    """
    first = int.from_bytes(leaf[:_HALF_HASH_SIZE], "big")
    second = int.from_bytes(leaf[_HALF_HASH_SIZE:], "big")
    return f"{first}.{second | submitted_at << _HALF_HASH_BITS}"


def parse_entry_name(name: str) -> bytes | None:
    """Return the leaf hash in the name of an entry, or in 64 hexadecimal digits.

    Return `None` if the text is neither.
    """
    if _HEX_HASH_PATTERN.fullmatch(name):
        return bytes.fromhex(name)
    match = _ENTRY_NAME_PATTERN.fullmatch(name)
    if match is None:
        return None
    first, second = map(int, match.groups())
    if first >> _HALF_HASH_BITS:
        return None
    second &= _HALF_HASH_MASK
    return first.to_bytes(_HALF_HASH_SIZE, "big") + second.to_bytes(_HALF_HASH_SIZE, "big")


def is_possibly_pending(name: str, now: float) -> bool:
    """Return whether an entry may still wait for its batch, by the time in its name.

    That time must be at most 30 seconds from `now`, in seconds since 1970. A name without a time,
    or another text, returns False.
    """
    match = _ENTRY_NAME_PATTERN.fullmatch(name)
    if match is None:
        return False
    submitted_at = int(match[2]) >> _HALF_HASH_BITS
    return abs(now - submitted_at) <= MAX_PENDING_SECONDS


# --- Metrics ---


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One value for Prometheus; names that end in `_total` are counters, which never decrease."""

    name: str
    help_text: str
    value: int

    @property
    def kind(self) -> str:
        """The Prometheus type of the metric."""
        return "counter" if self.name.endswith("_total") else "gauge"


class ServiceMetrics:
    """Counters of registrations, and a histogram of their durations."""

    def __init__(self) -> None:
        """Start at zero."""
        self.responses: Counter[int] = Counter()
        self.entries = 0
        self.durations = [0] * (len(_DURATION_BUCKETS) + 1)
        self.total_seconds = 0.0

    def observe_duration(self, seconds: float) -> None:
        """Count a registration in the histogram, by the seconds that it took."""
        self.total_seconds += seconds
        for index, bound in enumerate(_DURATION_BUCKETS):
            if seconds <= bound:
                self.durations[index] += 1
                return
        self.durations[-1] += 1

    def format_text(self, samples: Iterable[MetricSample]) -> str:
        """Return these metrics, and the samples after them, in Prometheus's text format."""
        lines = [
            "# HELP vacr_responses_total Responses to registrations, by status.",
            "# TYPE vacr_responses_total counter",
        ]
        for status, count in sorted(self.responses.items()):
            lines.append(f'vacr_responses_total{{status="{status}"}} {count}')
        lines += [
            "# HELP vacr_entries_total Entries added by this process.",
            "# TYPE vacr_entries_total counter",
            f"vacr_entries_total {self.entries}",
            "# HELP vacr_registration_seconds Time from a request to its receipt.",
            "# TYPE vacr_registration_seconds histogram",
        ]
        total = 0
        for bound, count in zip((*_DURATION_BUCKETS, "+Inf"), self.durations, strict=True):
            total += count
            lines.append(f'vacr_registration_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"vacr_registration_seconds_sum {self.total_seconds:.6f}",
            f"vacr_registration_seconds_count {total}",
        ]
        for sample in samples:
            lines += [
                f"# HELP vacr_{sample.name} {sample.help_text}",
                f"# TYPE vacr_{sample.name} {sample.kind}",
                f"vacr_{sample.name} {sample.value}",
            ]
        return "\n".join(lines) + "\n"
