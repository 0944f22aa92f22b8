"""Native values made comparable, without the nulls that the format leaves out."""

import json


def without_nulls(value):
    """Return a native value without the nulls that the format leaves out."""
    if not isinstance(value, dict):
        return value
    value = {name: item for name, item in value.items() if item is not None}
    for holder in ("message", "payload"):
        if isinstance(value.get(holder), dict):
            value[holder] = {name: item for name, item in value[holder].items() if item is not None}
    data = value.get("data")
    if (
        value.get("type") == "progress"
        and isinstance(data, dict)
        and isinstance(data.get("message"), dict)
    ):
        value["data"] = data | {"message": without_nulls(data["message"])}
    return value


def comparable(value):
    """Make native values comparable: numbers by value, members in any order."""
    return json.dumps(normal(value), sort_keys=True)


def normal(value):
    if isinstance(value, dict):
        return {name: normal(item) for name, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def dropped(value: dict) -> dict:
    """Return an object without its null members."""
    return {name: item for name, item in value.items() if item is not None}


LABELS = ("speaker", "speaker-basis", "prompt", "exit-code", "status", "resolved-by")


def remove_labels(entries: list[dict]) -> None:
    """Remove the labels that vacr adds to entries, in place, at every depth."""
    for entry in entries:
        remove_labels(entry.get("children", ()))
        ours = entry.get("vacr", {})
        for name in LABELS:
            ours.pop(name, None)
        if entry["type"] == "tool-result":
            native = ours.get("native", {})
            for name in ("status", "is-error"):
                entry.pop(name, None)
                if name in native:
                    entry[name] = native.pop(name)
            if not native:
                ours.pop("native", None)
        if not ours:
            entry.pop("vacr", None)
