"""Build src/vacr/viewer/prices.json from the data of the package genai-prices.

Run it with `make prices` before a release. It keeps the models of the companies that make them, and
of each price only what text costs: input, cached input, writing to the cache, and output.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices.data import providers

TARGET = Path(__file__).parent.parent / "src" / "vacr" / "viewer" / "prices.json"
MAKERS = (
    "anthropic",
    "cohere",
    "deepseek",
    "google",
    "meta",
    "minimax",
    "mistral",
    "moonshotai",
    "openai",
    "x-ai",
    "zai",
)
PRICE_NAMES = {
    "input": "input_mtok",
    "cached": "cache_read_mtok",
    "cache-write": "cache_write_mtok",
    "cache-write-1h": "cache_write_1h_mtok",
    "output": "output_mtok",
}


def main() -> None:
    """Write the file, dated today."""
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "source": f"genai-prices {version('genai-prices')}",
        "currency": "USD per million tokens",
        "makers": [
            build_maker(provider)
            for maker in MAKERS
            for provider in providers
            if provider.id == maker
        ],
    }
    TARGET.write_text(format_document(document), encoding="utf-8")
    print(f"{TARGET.name}: {sum(len(maker['models']) for maker in document['makers'])} models")


def format_document(document: dict[str, Any]) -> str:
    """Return the document as JSON with one model on a line, so that changes are easy to review."""
    head = {name: value for name, value in document.items() if name != "makers"}
    makers = []
    for maker in document["makers"]:
        opening = {name: value for name, value in maker.items() if name != "models"}
        models = ",\n".join(f"  {json.dumps(model)}" for model in maker["models"])
        makers.append(f'{json.dumps(opening)[:-1]}, "models": [\n{models}\n]}}')
    return json.dumps(head)[:-1] + ', "makers": [\n' + ",\n".join(makers) + "\n]}\n"


def build_maker(provider: Any) -> dict[str, Any]:
    """Return the models of one company that have a price for input or output."""
    models = [build_model(model) for model in provider.models]
    maker: dict[str, Any] = {"id": provider.id}
    for name in ("provider_match", "model_match"):
        clause = getattr(provider, name)
        if clause is not None:
            maker[name.replace("_", "-")] = build_clause(clause)
    return maker | {"models": [model for model in models if model["prices"]]}


def build_model(model: Any) -> dict[str, Any]:
    """Return a model with its prices, the oldest first; a price may have a condition."""
    conditional = model.prices if isinstance(model.prices, list) else [model.prices]
    prices = []
    for item in conditional:
        constraint = getattr(item, "constraint", None)
        price = build_price(getattr(item, "prices", item))
        if price:
            prices.append(build_condition(constraint) | price)
    return {"id": model.id, "match": build_clause(model.match), "prices": prices}


def build_condition(constraint: Any) -> dict[str, Any]:
    """Return from which day, or at which time of the day (UTC), a price holds."""
    if constraint is None:
        return {}
    if hasattr(constraint, "start_date"):
        return {"from": constraint.start_date.isoformat()}
    times = (constraint.start_time, constraint.end_time)
    return {"between": [time.strftime("%H:%M") for time in times]}


def build_price(price: Any) -> dict[str, Any]:
    """Return what text costs, for each kind of token that has a price."""
    built = {}
    for name, native in PRICE_NAMES.items():
        value = getattr(price, native)
        if value is not None:
            built[name] = build_amount(value)
    return built


def build_amount(value: Any) -> Any:
    """Return a number, or a base price and the prices above a number of input tokens."""
    if isinstance(value, Decimal):
        return to_number(value)
    tiers = [[tier.start, to_number(tier.price)] for tier in value.tiers]
    return {"base": to_number(value.base), "above": tiers}


def to_number(value: Decimal) -> int | float:
    """Return an amount as a whole number where it is one."""
    return int(value) if value == int(value) else float(value)


def build_clause(clause: Any) -> dict[str, Any]:
    """Return a condition on a name, such as `{"starts-with": "gpt-5"}`."""
    for name in ("equals", "starts_with", "ends_with", "contains", "regex"):
        if hasattr(clause, name):
            return {name.replace("_", "-"): getattr(clause, name)}
    for name in ("or_", "and_"):
        if hasattr(clause, name):
            parts = [build_clause(part) for part in getattr(clause, name)]
            return {name.rstrip("_"): parts}
    raise ValueError(f"unknown condition: {clause!r}")


if __name__ == "__main__":
    main()
