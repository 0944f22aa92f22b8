"""Costs: stated amounts, estimates from list prices, and models without a price."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import native_files, records_of
from vacr.agents import CacheWrites
from vacr.errors import UnreadableInput
from vacr.viewer.costs import (
    Cost,
    PriceTable,
    count_cost,
    format_cost,
    list_cost_facts,
    load_price_table,
    parse_price_table,
)

WHEN = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def record(*entries, provider="anthropic", agent="claude-code"):
    meta = {"cli-name": agent, "model-id": "claude-opus-4-5", "model-provider": provider}
    return {"session": {"agent-meta": meta, "entries": list(entries)}}


def call(usage, **members):
    return {
        "type": "assistant",
        "timestamp": "2026-07-01T12:00:00Z",
        "token-usage": usage,
        **members,
    }


def table(*prices, **match):
    """Return a table with one model of one maker."""
    model = {"id": "m-1", "match": match or {"starts-with": "m-"}, "prices": list(prices)}
    maker = {"id": "acme", "model-match": {"starts-with": "m-"}, "models": [model]}
    return PriceTable({"date": "2026-01-01", "source": "a test", "makers": [maker]})


def test_stated_costs_are_added_and_not_estimated():
    cost = count_cost(
        record(call({"input": 10, "output": 5, "cost": 0.25}), call({"output": 1, "cost": 1}))
    )
    assert cost == Cost(stated=1.25)


def test_a_call_without_a_stated_cost_is_estimated():
    cost = count_cost(record(call({"input": 1_000_000, "cached": 0, "output": 1_000_000})))
    assert (cost.stated, cost.estimated) == (0, 30.0)
    assert cost.priced_as == {"claude-opus-4-5": "claude-opus-4-5"}


def test_zero_with_tokens_is_counted_and_estimated():
    cost = count_cost(record(call({"input": 1_000_000, "output": 0, "cost": 0})))
    assert (cost.stated, cost.estimated, cost.zero_calls) == (0, 5.0, 1)


def test_zero_without_tokens_is_stated():
    assert count_cost(record(call({"input": 0, "output": 0, "cost": 0}))) == Cost()


def test_a_model_without_a_price_is_listed_and_not_free():
    cost = count_cost(
        record(call({"input": 70, "output": 7}, **{"model-id": "mystery-1"}), provider="unknown")
    )
    assert cost.total == 0
    assert cost.unpriced == {"mystery-1": 77}


def test_inherited_calls_do_not_count():
    inherited = call({"input": 1_000_000, "output": 0}, vacr={"inherited": True})
    assert count_cost(record(inherited)) == Cost()


def test_an_absurd_cost_keeps_the_sum_finite():
    assert count_cost(record(call({"cost": 1e308}), call({"cost": 1e308}))).stated == 2e15


def test_the_agents_total_of_a_session_wins():
    def state(amount):
        data = {"totalCostUSD": amount}
        return {"type": "system-event", "event-type": "cost-state", "data": data}

    used = call({"input": 1_000_000, "output": 0})
    assert count_cost(record(used, state(0.5), state(0.75))) == Cost(stated=0.75)
    free = count_cost(record(used, state(0)))
    assert (free.estimated, free.free_estimated, free.zero_calls) == (5.0, 5.0, 1)
    assert "1 call stated as free, ~$5.00 by list prices of D" in list_cost_facts(free, "D")
    assert count_cost(record(used, state(-1e308))).stated == -1e15
    assert count_cost(record(used, state(True)), call_by_call=True).estimated == 5.0
    assert count_cost(record(used, state(0.5)), call_by_call=True).estimated == 5.0


def test_cache_writes_cost_more_than_input():
    usage = {
        "input": 1_000_000,
        "cached": 0,
        "output": 0,
        "cache_creation_input_tokens": 1_000_000,
        "cache_creation": {"ephemeral_1h_input_tokens": 400_000},
    }
    # 600,000 tokens for 6.25 dollars a million, and 400,000 for 10.
    assert count_cost(record(call(usage))).estimated == pytest.approx(7.75)


def test_output_includes_reasoning_once():
    with_reasoning = count_cost(record(call({"input": 0, "output": 1000, "reasoning": 900})))
    assert with_reasoning == count_cost(record(call({"input": 0, "output": 1000})))


def test_the_price_of_the_day_counts():
    prices = table({"input": 1}, {"from": "2026-07-01", "input": 2})
    model = prices.find_model("m-1", "acme")
    usage = {"input": 1_000_000}
    assert model.estimate(usage, datetime(2026, 6, 30, 23, 59, tzinfo=UTC)) == 1
    assert model.estimate(usage, datetime(2026, 7, 1, tzinfo=UTC)) == 2
    assert model.estimate(usage, None) == 2


@pytest.mark.parametrize(("hour", "price"), [(23, 2), (3, 2), (12, 1)])
def test_a_price_may_hold_at_night(hour, price):
    prices = table({"input": 1}, {"between": ["22:00", "06:00"], "input": 2})
    model = prices.find_model("m-1", "acme")
    moment = datetime(2026, 7, 1, hour, tzinfo=UTC)
    assert model.estimate({"input": 1_000_000}, moment) == price


def test_a_long_prompt_has_its_own_price():
    model = table({"input": {"base": 1, "above": [[200_000, 2], [500_000, 4]]}}).find_model(
        "m-1", "acme"
    )
    for tokens, rate in ((200_000, 1), (200_001, 2), (600_000, 4)):
        assert model.estimate({"input": tokens}, WHEN) == pytest.approx(tokens * rate / 1e6)


def test_more_cached_tokens_than_input_never_cost_less_than_nothing():
    model = table({"input": 10, "cached": 1, "output": 0}).find_model("m-1", "acme")
    assert model.estimate({"input": 5, "cached": 50}, WHEN, CacheWrites(9, 9)) == 5e-6


@pytest.mark.parametrize(
    ("model", "provider", "found"),
    [
        ("m-2", "acme", "m-1"),
        ("m-2", "unknown", "m-1"),
        ("M-2", "", "m-1"),
        ("acme/m-2", "unknown", "m-1"),
        ("m-2", "a-reseller", None),
        ("reseller/m-2", "unknown", None),
        ("x-2", "acme", None),
    ],
)
def test_who_sells_a_model_decides_whether_it_has_a_price(model, provider, found):
    priced = table({"input": 1}).find_model(model, provider)
    assert (priced.id if priced else None) == found


def price_file(match, *prices):
    model = {"id": "m", "match": match, "prices": list(prices)}
    makers = [{"id": "a", "models": [model]}]
    return json.dumps({"date": "2026-01-01", "source": "x", "makers": makers})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"date": "2026", "source": "x", "makers": [{}]}',
        price_file({"near": "m"}, {"input": 1}),
        price_file({"equals": "m"}, {"input": "1"}),
        price_file({"equals": "m"}, {"input": True}),
        price_file({"equals": "m"}, {"tokens": 1}),
        price_file({"equals": "m"}, {"input": {"base": 1}}),
        price_file({"equals": "m"}),
        price_file({"equals": "m"}, {"input": float("nan")}),
        price_file({"equals": "m"}, {"input": float("inf")}),
        price_file({"equals": "m"}, {"input": 10**400}),
        price_file({"equals": "m"}, {"input": -1}),
        price_file({"equals": "m"}, {"input": 1, "from": 5}),
        price_file({"equals": "m"}, {"input": 1, "between": 5}),
        price_file({"equals": "m"}, {"input": 1, "between": ["a"]}),
        price_file({"equals": "m"}, {"input": {"base": 1, "above": [[1]]}}),
        price_file({"equals": "m"}, {"input": {"base": 1, "above": [[]]}}),
        price_file({"equals": "m"}, {"input": {"base": 1, "above": [[1, 2, 3]]}}),
        price_file({"regex": "("}, {"input": 1}),
    ],
)
def test_a_file_that_is_not_a_price_file_is_refused(text):
    with pytest.raises(UnreadableInput, match="not a price file") as caught:
        parse_price_table(text.encode(), "prices.json")
    assert caught.value.where == "prices.json"


@pytest.mark.parametrize(
    "day", ["2026-3-14", "14.03.2026", "20260314", "2026-02-30", "2026-03-14T00:00", "", 5, None]
)
def test_day_of_a_price_needs_its_form(day):
    text = price_file({"equals": "m"}, {"input": 1, "from": day})
    with pytest.raises(UnreadableInput, match=r"'from' is .*not a day .*YYYY-MM-DD"):
        parse_price_table(text.encode(), "prices.json")
    text = json.dumps({"date": day, "source": "x", "makers": []})
    with pytest.raises(UnreadableInput, match=r"'date' is .*not a day .*YYYY-MM-DD"):
        parse_price_table(text.encode(), "prices.json")


@pytest.mark.parametrize(
    "times",
    [["8:00", "16:30"], ["08:00", "4pm"], ["08:00", "25:00"], ["08:60", "09:00"], ["08:00"]]
    + [["08:00", "12:00", "16:00"], ["08:00", 9], ["08:00", "08:00"], "08:00", None],
)
def test_times_of_a_price_need_their_form(times):
    text = price_file({"equals": "m"}, {"input": 1, "between": times})
    with pytest.raises(UnreadableInput, match=r"'between' is .*not two times .*HH:MM"):
        parse_price_table(text.encode(), "prices.json")


def test_a_price_file_of_ones_own_replaces_the_table():
    document = {
        "date": "2026-02-03",
        "source": "my contract",
        "makers": [
            {
                "id": "anthropic",
                "models": [
                    {
                        "id": "claude",
                        "match": {"contains": "claude"},
                        "prices": [{"input": 1, "output": 2}],
                    }
                ],
            }
        ],
    }
    prices = parse_price_table(json.dumps(document).encode(), "prices.json")
    assert prices.date == "2026-02-03"
    assert count_cost(record(call({"input": 10**6, "output": 10**6})), prices).estimated == 3


FREE = {"input": 1_000_000, "output": 0, "cost": 0}
SHOWN = [
    ("nothing", [], "", []),
    ("stated", [call({"input": 9, "cost": 1.5})], "$1.50", ["$1.50 stated"]),
    ("estimated", [call({"input": 100})], "~$0.0005", ["~$0.0005 estimated, prices of D"]),
    (
        "free",
        [call(FREE), call(FREE)],
        "~$10.00",
        ["2 calls stated as free, ~$10.00 by list prices of D"],
    ),
    (
        "all kinds",
        [
            call({"input": 9, "cost": 1.5}),
            call({"input": 1_000_000}),
            call(FREE),
            call({"input": 7}, **{"model-id": "mine"}),
        ],
        "≥~$11.50",
        [
            "$1.50 stated",
            "~$5.00 estimated, prices of D",
            "1 call stated as free, ~$5.00 by list prices of D",
            "not priced: mine (7 tokens)",
        ],
    ),
    (
        "free without a price",
        [call(FREE, **{"model-id": "mine"})],
        "?",
        ["1 call stated as free", "not priced: mine (1,000,000 tokens)"],
    ),
]


@pytest.mark.parametrize(
    ("entries", "short", "facts"), [case[1:] for case in SHOWN], ids=[case[0] for case in SHOWN]
)
def test_kinds_of_cost_are_shown_separately(entries, short, facts):
    cost = count_cost(record(*entries))
    assert format_cost(cost) == short
    assert list_cost_facts(cost, "D") == facts


def test_estimates_agree_with_genai_prices():
    """The package that the prices come from computes the same amounts for the same usage."""
    peer = pytest.importorskip("genai_prices")
    prices, chance = load_price_table(), random.Random(5)  # noqa: S311 - not for secrets
    names = [
        ("anthropic", "claude-opus-4-5-20251101"),
        ("anthropic", "claude-opus-4-6"),
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-haiku-4-5"),
        ("anthropic", "claude-sonnet-5"),
        ("openai", "gpt-5.2-codex"),
        ("openai", "gpt-5.4"),
        ("openai", "gpt-5.5"),
        ("google", "gemini-3-pro-preview"),
        ("google", "gemini-3-flash-preview"),
        ("deepseek", "deepseek-chat"),
    ]
    for provider, name in names:
        model = prices.find_model(name, provider)
        for _ in range(20):
            total = chance.randrange(1, 400_000)
            cached = chance.randrange(total)
            short = chance.randrange(total - cached) if provider == "anthropic" else 0
            long = chance.randrange(total - cached - short) if provider == "anthropic" else 0
            output = chance.randrange(20_000)
            when = datetime.fromtimestamp(chance.randrange(1_760_000_000, 1_794_000_000), UTC)
            usage = peer.Usage(
                input_tokens=total,
                cache_read_tokens=cached,
                cache_write_tokens=short + long,
                cache_write_1h_tokens=long,
                output_tokens=output,
            )
            expected = peer.calc_price(
                usage, name, provider_id=provider, genai_request_timestamp=when
            )
            ours = model.estimate(
                {"input": total, "cached": cached, "output": output}, when, CacheWrites(short, long)
            )
            assert model.id == expected.model.id
            assert ours == pytest.approx(float(expected.total_price), rel=1e-9), (name, when, usage)


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        pytest.param(agent, path, id=f"{agent}/{path.name[-40:]}")
        for agent in ("claude", "codex", "gemini", "opencode")
        for path in native_files(agent)
    ],
)
def test_every_call_with_tokens_has_a_cost_or_is_listed(agent, path: Path):
    """Count with other code: each call is stated, estimated or unpriced, and none is dropped."""
    del agent
    for document in records_of(path.read_bytes()):
        cost = count_cost(document)
        tokens, stated = 0, 0
        stack = list(document["session"]["entries"])
        while stack:
            entry = stack.pop()
            stack += entry.get("children", [])
            usage = entry.get("token-usage", {})
            used = usage.get("input", 0) + usage.get("output", 0)
            if not used or entry.get("vacr", {}).get("inherited"):
                continue
            if usage.get("cost"):
                stated += 1
                continue
            model = entry.get("model-id", document["session"]["agent-meta"]["model-id"])
            tokens += 0 if model in cost.priced_as else used
        assert sum(cost.unpriced.values()) == tokens
        assert bool(cost.stated) == bool(stated)


def test_models_without_a_price_are_cut_to_the_largest():
    cost = Cost()
    for number in range(9):
        cost.unpriced[f"model-{number}"] = 10 - number
    (fact,) = list_cost_facts(cost, "2026-11-18")
    assert fact.startswith("not priced: model-0 (10 tokens), model-1 (9 tokens), ")
    assert fact.endswith(", model-5 (5 tokens), and 3 more (9 tokens)")
