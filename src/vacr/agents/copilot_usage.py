"""The model and the tokens of each call in Copilot's event log.

Newer versions write a record of each call, with all its tokens. Older ones name the model only in
the results of calls, write the output tokens into the message, and the others only into the totals
at the end of a run. The functions here count each call once.

>>> from vacr.agents.copilot_usage import count_tokens
>>> message = {"type": "assistant", "model-id": "m", "data": {"outputTokens": 7}}
>>> usage = {"inputTokens": 50, "outputTokens": 9, "cacheReadTokens": 40}
>>> end = {"event-type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": usage}}}}
>>> count_tokens([message, end | {"type": "system-event"}])
>>> message["token-usage"]
{'output': 7}
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import UNKNOWN, SessionBuilder, is_count
from vacr.model import JsonObject

USAGE_MEMBERS = (
    ("input", "inputTokens"),
    ("cached", "cacheReadTokens"),
    ("output", "outputTokens"),
    ("reasoning", "reasoningTokens"),
)
USAGE_FROM_TOTAL = "total"
MODEL_FROM_CALL, MODEL_FROM_SESSION = "call", "session"
"""Values of `vacr.model-from`: the results of the message's calls, or the session's model."""


def get_text(value: Any) -> str | None:
    """Return a text that is not empty, or None for any other value."""
    return value if type(value) is str and value else None


def get_chain(entry: JsonObject) -> str:
    """Return the sub-agent that an entry belongs to, or an empty text for the main agent.

    It is the id of the sub-agent or, in older versions, of the call that started it.
    """
    chain = entry.get("agentId")
    if type(chain) is str:
        return chain
    data = entry.get("data")
    parent = data.get("parentToolCallId") if type(data) is dict else None
    return parent if type(parent) is str else ""


def assign_models(
    session: SessionBuilder, timeline: list[JsonObject], results: list[JsonObject]
) -> None:
    """Set the model of each message in a timeline, and count the models of the session.

    The timeline has the messages and the events that select a model, in their order. `results` are
    the results of calls.
    """
    _ModelPass(session, timeline, results).assign_models()


def count_tokens(timeline: list[JsonObject]) -> None:
    """Add the tokens of each message, record and total in a timeline to its entry."""
    _UsagePass(timeline).count_tokens()


# --- models ---


class _ModelPass:
    """One pass over the messages, to learn the model of each.

    Older versions do not name it in the message, but in the results of its calls.
    """

    def __init__(
        self, session: SessionBuilder, timeline: list[JsonObject], results: list[JsonObject]
    ) -> None:
        """Start with the models that the results of calls name."""
        self._session = session
        self._timeline = timeline
        self._by_call: dict[str, str] = {
            result["call-id"]: result["data"]["model"]
            for result in results
            if "call-id" in result and get_text(result["data"].get("model"))
        }
        self._current: dict[str, str] = {}

    def assign_models(self) -> None:
        """Set the model of each message, and count the models of the session."""
        for entry in self._timeline:
            if entry["type"] == "assistant":
                self._assign_model(entry)
            else:
                self._note_change(entry)

    def _assign_model(self, message: JsonObject) -> None:
        """Set the model of a message: stated, or the model of its calls, or the current one."""
        chain = get_chain(message)
        model = message.get("model-id")
        if model is None:
            origin = MODEL_FROM_CALL
            model = self._find_model_of_calls(message["data"].get("toolRequests"))
            if model is None:
                model, origin = self._current.get(chain), MODEL_FROM_SESSION
            if model is None:
                return
            message["model-id"] = model
            get_writable_marks(message)["model-from"] = origin
        self._current[chain] = model
        self._session.models[model] += 1

    def _find_model_of_calls(self, requests: Any) -> str | None:
        """Return the model that the result of the first known call names, or None."""
        for request in requests if type(requests) is list else ():
            call_id = request.get("toolCallId") if type(request) is dict else None
            if type(call_id) is str and call_id in self._by_call:
                return self._by_call[call_id]
        return None

    def _note_change(self, event: JsonObject) -> None:
        """Note the model that an event selects."""
        data = event["data"]
        model = get_text(data.get("newModel")) or get_text(data.get("selectedModel"))
        if model is not None and model != "auto":
            self._current[get_chain(event)] = model


# --- tokens ---


class _UsagePass:
    """One pass over the messages and events that state tokens, to count each call once.

    Newer versions write a record of each call, with all its tokens. Older ones write the output
    tokens into the message; the totals at the end of a run have the others.
    """

    def __init__(self, timeline: list[JsonObject]) -> None:
        """Start with the calls that have a record of their own."""
        self._timeline = timeline
        usages = [_get_usage(entry) for entry in timeline]
        self._recorded_calls = {
            usage["apiCallId"]
            for usage in usages
            if usage is not None and type(usage.get("apiCallId")) is str
        }
        self._counted: dict[str, Counter[str]] = {}
        """Model → the tokens that were counted since the session began."""
        self._in_run: dict[str, Counter[str]] = {}
        """Model → the tokens that were counted since the last total."""
        self._has_records = False
        """Whether calls since the last total have records of their own."""

    def count_tokens(self) -> None:
        """Add the tokens of each message, record and total to its entry."""
        seen: set[str] = set()
        for entry in self._timeline:
            if entry["type"] == "assistant":
                self._count_message(entry, seen)
            elif entry["event-type"] == "session.usage_record":
                self._count_record(entry)
            elif entry["event-type"] == "session.shutdown":
                self._count_total(entry)

    def _count_message(self, message: JsonObject, seen: set[str]) -> None:
        """Count the output of a message; the parts of one answer count once."""
        data = message["data"]
        call_id = data.get("apiCallId")
        if type(call_id) is str:
            if call_id in seen or call_id in self._recorded_calls:
                return
            seen.add(call_id)
        if is_count(data.get("outputTokens")):
            message["token-usage"] = {"output": data.pop("outputTokens")}
            self._add(message.get("model-id", UNKNOWN), message["token-usage"])

    def _count_record(self, event: JsonObject) -> None:
        """Count the tokens in the record of a call."""
        usage = _get_usage(event)
        if usage is None:
            return
        counts = _build_counts(usage)
        if not counts:
            return
        self._has_records = True
        event["token-usage"] = counts
        model = get_text(usage.get("model"))
        if model is not None:
            event["model-id"] = model
        self._add(model or UNKNOWN, counts)

    def _add(self, model: str, counts: JsonObject) -> None:
        """Add counted tokens of a model."""
        for counted in (self._counted, self._in_run):
            counted.setdefault(model, Counter()).update(counts)

    def _count_total(self, event: JsonObject) -> None:
        """Count the tokens of a total that no message or record has, by model.

        The total is that of the run, or of the whole session: then it is not below the tokens
        counted so far.
        """
        metrics = event["data"].get("modelMetrics")
        totals = {
            model: counts
            for model, metric in (metrics.items() if type(metrics) is dict else ())
            if type(metric) is dict
            and type(metric.get("usage")) is dict
            and (counts := _build_counts(metric["usage"]))
        }
        known = self._counted if _has_reached(totals, self._counted) else self._in_run
        if totals and not self._has_records:
            event["children"] = [
                child
                for model, counts in totals.items()
                if (child := _make_growth_event(model, counts, known.get(model, Counter())))
            ]
            for child in event["children"]:
                self._add(child["model-id"], child["token-usage"])
            if not event["children"]:
                del event["children"]
        self._in_run, self._has_records = {}, False


def _get_usage(entry: JsonObject) -> JsonObject | None:
    """Return the usage in the record of a call; None for another entry, or without a usage."""
    if entry.get("event-type") != "session.usage_record":
        return None
    usage = entry["data"].get("usage")
    return usage if type(usage) is dict else None


def _build_counts(usage: JsonObject) -> JsonObject:
    """Return the canonical counters of a native usage; the input includes the cached tokens."""
    return {name: usage[native] for name, native in USAGE_MEMBERS if is_count(usage.get(native))}


def _has_reached(totals: dict[str, JsonObject], counted: dict[str, Counter[str]]) -> bool:
    """Return whether totals have at least the output tokens that were counted."""
    total: int = sum(counts.get("output", 0) for counts in totals.values())
    return total >= sum(counts["output"] for counts in counted.values())


def _make_growth_event(model: str, total: JsonObject, counted: Counter[str]) -> JsonObject | None:
    """Make the event with the tokens of a model that were not counted yet, or return None."""
    growth = {name: max(0, count - counted[name]) for name, count in total.items()}
    if not any(growth.values()):
        return None
    return {
        "type": "system-event",
        "event-type": "model-usage",
        "model-id": model,
        "token-usage": growth,
        "vacr": {"usage-from": USAGE_FROM_TOTAL},
    }
