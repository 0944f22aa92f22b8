"""The cost of a session: what its agent states, and an estimate from list prices where it does not.

Only some agents write down what a call cost. For the others the cost is estimated: the tokens of
each call, times the price of its model on that day. The prices are in `prices.json`, a dated file
in this package, so an estimate needs no network and is the same on every machine with this version.

    >>> from vacr.viewer.costs import load_price_table
    >>> prices = load_price_table()
    >>> model = prices.find_model("gpt-5.2-2025-12-11", "openai")
    >>> model.id
    'gpt-5.2'
    >>> model.estimate({"input": 30_000, "cached": 20_000, "output": 1_000}, None)
    0.035

That is 10,000 new tokens for 1.75 dollars a million, 20,000 cached ones for a tenth of that, and
1,000 tokens of output for 14 dollars. A model without a price is never free: its tokens are counted
as `unpriced`.

    >>> prices.find_model("my-own-model", "unknown") is None
    True
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

from vacr.agents import NO_CACHE_WRITES, CacheWrites, find_record_agent, get_count
from vacr.errors import UnreadableInput
from vacr.model import JsonObject
from vacr.record import get_epoch_milliseconds, walk_entries
from vacr.viewer.content import make_visible_line

_MILLION = 1_000_000
# A larger cost counts as this one, so that the sum stays a finite number.
_MAX_COST = 1e15
_MAX_UNPRICED_SHOWN = 6
_SMALLEST_WITH_TWO_DECIMALS = 0.005
_MAX_DECIMALS = 9
_UNKNOWN = "unknown"
_MILLISECONDS_PER_SECOND = 1000
_TIER_LENGTH = 2
_SPAN_LENGTH = 2
_DAY_FORM = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_FORM = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]")
_TOKEN_KINDS = frozenset(("input", "cached", "cache-write", "cache-write-1h", "output"))


@dataclass
class Cost:
    """The cost of one session, or of many, in dollars."""

    stated: float = 0.0
    """The sum of the amounts that agents state."""
    estimated: float = 0.0
    """The estimate for the calls whose cost is not stated, or is stated as zero."""
    free_estimated: float = 0.0
    """The part of the estimate for calls whose stated cost is zero."""
    zero_calls: int = 0
    """Calls that used tokens, and whose stated cost is zero. They are estimated as well."""
    estimated_calls: int = 0
    """All calls that are part of the estimate."""
    free_estimated_calls: int = 0
    """The calls of the estimate whose stated cost is zero."""
    priced_as: dict[str, str] = field(default_factory=dict)
    """Model → the model in the price table whose price was used."""
    unpriced: Counter[str] = field(default_factory=Counter)
    """Model without a price → its tokens of input and output."""

    @property
    def total(self) -> float:
        """The stated amounts, plus the estimate for the other calls."""
        return self.stated + self.estimated

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(
            self.stated + other.stated,
            self.estimated + other.estimated,
            self.free_estimated + other.free_estimated,
            self.zero_calls + other.zero_calls,
            self.estimated_calls + other.estimated_calls,
            self.free_estimated_calls + other.free_estimated_calls,
            self.priced_as | other.priced_as,
            self.unpriced + other.unpriced,
        )


@dataclass(frozen=True)
class ModelPrice:
    """The prices of one model, the oldest first."""

    id: str
    matches: Callable[[str], bool]
    prices: tuple[JsonObject, ...]

    def estimate(
        self,
        usage: JsonObject,
        time: datetime | None,
        writes: CacheWrites = NO_CACHE_WRITES,
    ) -> float:
        """Return the estimated cost of a call with this usage at a time, in dollars.

        `usage` has the canonical counters, missing ones count as 0: `input` includes cached tokens
        and cache writes, and `output` includes reasoning. Without a time, the latest price counts.
        """
        price = self._choose_price(time)
        total = get_count(usage, "input")
        cached = min(get_count(usage, "cached"), total)
        written = min(writes.short + writes.long, total - cached)
        long_writes = min(writes.long, written)
        amounts = {
            "input": total - cached - written,
            "cached": cached,
            "cache-write": written - long_writes,
            "cache-write-1h": long_writes,
            "output": get_count(usage, "output"),
        }
        cost = sum(
            count * _get_rate(price, kind, total) for kind, count in amounts.items() if count
        )
        return cost / _MILLION

    def _choose_price(self, time: datetime | None) -> JsonObject:
        """Return the last price whose condition holds, or the first price if none does.

        Without a time, the condition `from` (a day) holds, and `between` (hours) does not.
        """
        chosen = self.prices[0]
        for price in self.prices:
            if "from" in price and time is not None and f"{time:%Y-%m-%d}" < price["from"]:
                continue
            if "between" in price and (time is None or not _is_between(time, *price["between"])):
                continue
            chosen = price
        return chosen


@dataclass(frozen=True)
class _Maker:
    """A company that makes models."""

    id: str
    matches_provider: Callable[[str], bool]
    matches_model: Callable[[str], bool]
    models: tuple[ModelPrice, ...]


class PriceTable:
    """The prices of models at one date."""

    def __init__(self, document: JsonObject) -> None:
        """Read the content of a price file.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it does not have the form.
        """
        self.date = _check_day(document["date"], "date")
        self.source = str(document["source"])
        self._makers = tuple(_read_maker(maker) for maker in document["makers"])
        self._found: dict[tuple[str, str], ModelPrice | None] = {}

    def find_model(self, model: str, provider: str) -> ModelPrice | None:
        """Return the prices of a model, or None if there are none.

        A provider that is known to sell its own models decides. Without a provider the name of the
        model decides. Other providers set prices of their own, so they have none here.
        """
        key = model, provider
        if key not in self._found:
            self._found[key] = self._search(model.lower(), provider.lower())
        return self._found[key]

    def _search(self, model: str, provider: str) -> ModelPrice | None:
        """Return the prices of a model, or None; both names are in lower case.

        The provider may also stand before the model, as in `anthropic/model`. Without a provider,
        the name of the model decides.
        """
        prefix, _, name = model.rpartition("/")
        provider = prefix.rpartition("/")[2] if provider in ("", _UNKNOWN) and prefix else provider
        is_unnamed = provider in ("", _UNKNOWN)
        for maker in self._makers:
            is_maker = maker.id == provider or maker.matches_provider(provider)
            if is_maker or (is_unnamed and maker.matches_model(name)):
                for candidate in maker.models:
                    if candidate.matches(name):
                        return candidate
        return None


@cache
def load_price_table() -> PriceTable:
    """Return the prices that come with this version of vacr."""
    return PriceTable(
        json.loads(resources.files("vacr.viewer").joinpath("prices.json").read_bytes())
    )


def parse_price_table(data: bytes, where: str) -> PriceTable:
    """Return the prices in the bytes of a price file; `where` is its name in messages.

    Raises:
        UnreadableInput: they are not a price file.
    """
    try:
        return PriceTable(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, re.error) as error:
        raise UnreadableInput(
            f"not a price file: {_describe_problem(error)}",
            where=where,
            hint="See docs/costs.md for the smallest price file.",
        ) from error


def _describe_problem(error: Exception) -> str:
    """Return why a price file cannot be read, from the exception that reading it raised."""
    match error:
        case json.JSONDecodeError():
            return f"invalid JSON: {error}"
        case UnicodeDecodeError():
            return "its text is not UTF-8"
        case KeyError():
            return f"the member {error} is missing"
        case RecursionError():
            return "it nests too deeply"
        case re.error():
            return f"a regular expression is invalid: {error}"
        case ValueError():
            return str(error)
    return "a member has a value of the wrong type"


def count_cost(
    record: JsonObject, prices: PriceTable | None = None, *, call_by_call: bool = False
) -> Cost:
    """Return the cost of a record's own calls, without those of the session it was forked from.

    If the agent states the cost of the whole session, that counts; if that is zero, all calls are
    stated as free, and estimated as well. With `call_by_call` it does not count, because the record
    is only a part of a session. `prices` replace the price table of the package.
    """
    prices = prices or load_price_table()
    session = record["session"]
    meta = session.get("agent-meta", {})
    agent = find_record_agent(record)
    cost = Cost()
    for entry in walk_entries(session.get("entries", ())):
        usage = entry.get("token-usage")
        if not isinstance(usage, dict) or is_inherited(entry):
            continue
        model = str(entry.get("model-id", meta.get("model-id", _UNKNOWN)))
        provider = agent.provider_of(entry) or str(meta.get("model-provider", _UNKNOWN))
        stamp = entry.get("timestamp", session.get("session-start"))
        priced = prices.find_model(model, provider)
        _add_call(cost, usage, model, priced, _parse_time(stamp), agent.cache_writes(entry))
    stated = None if call_by_call else agent.stated_cost(record)
    if stated:
        return Cost(stated=max(-_MAX_COST, min(stated, _MAX_COST)))
    if stated is not None:
        cost.zero_calls = cost.free_estimated_calls = cost.estimated_calls
        cost.free_estimated = cost.estimated
    return cost


def is_inherited(entry: JsonObject) -> bool:
    """Return whether an entry comes from the session that this one was forked from."""
    marks = entry.get("vacr")
    return isinstance(marks, dict) and bool(marks.get("inherited"))


def format_cost(cost: Cost) -> str:
    """Return the stated and the estimated cost together, as short text; empty if there is none.

    `$1.20` is stated. `~$1.20` contains an estimate. `≥$1.20` lacks the tokens of models without a
    price, and `?` stands for a cost of which nothing is known.
    """
    if cost.unpriced and not cost.total:
        return "?"
    if not cost.stated and not cost.estimated_calls:
        return ""
    marks = ("≥" if cost.unpriced else "") + ("~" if cost.estimated_calls else "")
    return f"{marks}{_format_dollars(cost.total)}"


def list_cost_facts(
    cost: Cost, date: str, format_model: Callable[[str], str] = make_visible_line
) -> list[str]:
    """Return what a reader must know about a cost, each in one line; empty if there is none.

    That is the stated amount, the estimate, the calls that are stated as free and their list price,
    the models whose prices were used under another name, and the models without a price. No amount
    is part of two facts. `date` is the date of the price table. `format_model` escapes the
    names of models, which the agent wrote.
    """
    facts = []
    if cost.stated:
        facts.append(f"{_format_dollars(cost.stated)} stated")
    if cost.estimated_calls > cost.free_estimated_calls:
        amount = _format_dollars(cost.estimated - cost.free_estimated)
        facts.append(f"~{amount} estimated, prices of {date}")
    if cost.zero_calls:
        calls = "1 call" if cost.zero_calls == 1 else f"{cost.zero_calls:,} calls"
        worth = f", ~{_format_dollars(cost.free_estimated)} by list prices of {date}"
        facts.append(f"{calls} stated as free{worth if cost.free_estimated_calls else ''}")
    renamed = sorted(
        f"{format_model(model)} as {format_model(priced)}"
        for model, priced in cost.priced_as.items()
        if model != priced
    )
    if renamed:
        facts.append(f"priced: {', '.join(renamed)}")
    if cost.unpriced:
        ranked = cost.unpriced.most_common()
        models = [
            f"{format_model(model)} ({tokens:,} tokens)"
            for model, tokens in ranked[:_MAX_UNPRICED_SHOWN]
        ]
        if others := ranked[_MAX_UNPRICED_SHOWN:]:
            rest = sum(tokens for _, tokens in others)
            models.append(f"and {len(others):,} more ({rest:,} tokens)")
        facts.append(f"not priced: {', '.join(models)}")
    return facts


def list_cost_marks(costs: Iterable[Cost]) -> list[str]:
    """Return an explanation of each mark that `format_cost` puts before these costs.

    Return an empty list if none of them has a mark.
    """
    shown = "".join(map(format_cost, costs))
    explained = {
        "~": "~ is or contains an estimate",
        "≥": "≥ lacks models without a price",
        "?": "? no price is known",
    }
    return [text for mark, text in explained.items() if mark in shown]


def _format_dollars(amount: float) -> str:
    """Return an amount with two decimals, or with more where it would be rounded to zero."""
    decimals = 2
    if 0 < abs(amount) < _SMALLEST_WITH_TWO_DECIMALS:
        decimals = min(_MAX_DECIMALS, -math.floor(math.log10(abs(amount))))
    return f"${amount:.{decimals}f}"


def _add_call(
    cost: Cost,
    usage: JsonObject,
    model: str,
    priced: ModelPrice | None,
    time: datetime | None,
    writes: CacheWrites,
) -> None:
    """Add one call: its stated cost, or else the estimate, or else its tokens as unpriced.

    `priced` has the prices of the model, if known, and `writes` the tokens written to caches.
    """
    stated = usage.get("cost")
    tokens = get_count(usage, "input") + get_count(usage, "output")
    is_stated = False
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        is_stated = True
        cost.stated += max(-_MAX_COST, min(stated, _MAX_COST))
        if stated or not tokens:
            return
        cost.zero_calls += 1
    if not tokens:
        return
    if priced is None:
        cost.unpriced[model] += tokens
        return
    estimate = min(priced.estimate(usage, time, writes), _MAX_COST)
    cost.estimated_calls += 1
    cost.estimated += estimate
    cost.priced_as[model] = priced.id
    if is_stated:
        cost.free_estimated_calls += 1
        cost.free_estimated += estimate


# --- reading the price file ---


def _read_maker(maker: JsonObject) -> _Maker:
    """Return the maker in a price file.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it does not have the form.
    """
    return _Maker(
        str(maker["id"]),
        _compile_match(maker.get("provider-match")),
        _compile_match(maker.get("model-match")),
        tuple(_read_model(model) for model in maker["models"]),
    )


def _read_model(model: JsonObject) -> ModelPrice:
    """Return the prices of a model in a price file.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it does not have the form, or its list of
            prices is empty.
    """
    prices = tuple(_check_price(price) for price in model["prices"])
    if not prices:
        raise ValueError(f"the list of prices of the model {model['id']!r} is empty")
    return ModelPrice(str(model["id"]), _compile_match(model["match"]), prices)


def _check_price(price: JsonObject) -> JsonObject:
    """Return a price whose members all have the right form.

    Raises:
        ValueError: an amount is not a finite number of at least zero, a day or a time does not have
            its form, or a member is unknown.
    """
    for name, value in price.items():
        if name == "from":
            _check_day(value, "from")
        elif name == "between":
            _check_times(value)
        elif name not in _TOKEN_KINDS or not _is_amount(value):
            raise ValueError(f"the member {name!r} of a price is unknown, or its value is invalid")
    return price


def _check_day(value: Any, name: str) -> str:
    """Return the value of a member that is a day.

    Days are compared as text, so every day needs the same form.

    Raises:
        ValueError: it is not an existing day, written as YYYY-MM-DD.
    """
    if isinstance(value, str) and _DAY_FORM.fullmatch(value):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            return value
    stated = reprlib.repr(value)
    raise ValueError(f"{name!r} is {stated}, not a day such as '2026-03-14' (YYYY-MM-DD)")


def _check_times(value: Any) -> None:
    """Check the start and the end of a span in a day.

    Raises:
        ValueError: it is not a list of two different times, each written as HH:MM.
    """
    if (
        not isinstance(value, list)
        or len(value) != _SPAN_LENGTH
        or not all(isinstance(time, str) and _TIME_FORM.fullmatch(time) for time in value)
        or value[0] == value[1]
    ):
        stated = reprlib.repr(value)
        raise ValueError(
            f"'between' is {stated}, not two times such as '00:30' and '16:30' (HH:MM)"
        )


def _is_amount(value: Any) -> bool:
    """Return whether a value is a price, or a base price with the prices of longer prompts."""
    if isinstance(value, dict):
        tiers = value["above"]
        pairs = [number for tier in tiers for number in tier if len(tier) == _TIER_LENGTH]
        is_complete = len(pairs) == _TIER_LENGTH * len(tiers)
        return is_complete and all(map(_is_price, [value["base"], *pairs]))
    return _is_price(value)


def _is_price(value: Any) -> bool:
    """Return whether a value is a finite number of at least zero."""
    return type(value) in (int, float) and 0 <= value <= _MAX_COST


def _compile_match(clause: JsonObject | None) -> Callable[[str], bool]:
    """Return a function that checks whether a name in lower case meets a condition.

    Without a condition, no name does.

    Raises:
        ValueError: the condition is unknown or malformed.
    """
    if clause is None:
        return lambda _: False
    if len(clause) != 1:
        raise ValueError(f"a condition must have exactly one member, not {len(clause)}")
    ((kind, value),) = clause.items()
    match kind:
        case "equals":
            wanted = value.lower()
            return lambda name: name == wanted
        case "starts-with":
            wanted = value.lower()
            return lambda name: name.startswith(wanted)
        case "ends-with":
            wanted = value.lower()
            return lambda name: name.endswith(wanted)
        case "contains":
            wanted = value.lower()
            return lambda name: wanted in name
        case "regex":
            pattern = re.compile(value, re.IGNORECASE)
            return lambda name: pattern.search(name) is not None
        case "or":
            parts = [_compile_match(part) for part in value]
            return lambda name: any(part(name) for part in parts)
        case "and":
            parts = [_compile_match(part) for part in value]
            return lambda name: all(part(name) for part in parts)
    raise ValueError(f"unknown condition {kind!r}")


# --- the rate and the time of a call ---


def _get_rate(price: JsonObject, kind: str, input_tokens: int) -> float:
    """Return the price of a million tokens of a kind, such as `input`, in dollars.

    `input_tokens` selects the price of longer prompts. A long cache write without a price costs
    what a short one does; cached input and cache writes without a price cost what other input does.
    An output without a price costs 0.
    """
    amount = price.get(kind)
    if amount is None and kind == "cache-write-1h":
        amount = price.get("cache-write")
    if amount is None and kind != "output":
        amount = price.get("input")
    if isinstance(amount, dict):
        rate = amount["base"]
        for start, higher in amount["above"]:
            if input_tokens > start:
                rate = higher
        return float(rate)
    return float(amount or 0)


def _is_between(time: datetime, start: str, end: str) -> bool:
    """Return whether a time of the day is in a span from `start`, such as `22:30`, until `end`.

    The end does not count. The span may go past midnight.
    """
    moment = f"{time:%H:%M}"
    return start <= moment < end if start <= end else moment >= start or moment < end


def _parse_time(stamp: Any) -> datetime | None:
    """Return a timestamp, text or milliseconds, in UTC, or None if it is unreadable."""
    milliseconds = get_epoch_milliseconds(stamp) if isinstance(stamp, str | int) else None
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / _MILLISECONDS_PER_SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return None
