"""The values in rows and in records, compared without code of the package."""

import base64
import json


def leaves(value):
    """Yield the values that are not containers.

    A text that is JSON, also in hexadecimal, yields the values in it.
    """
    # A list instead of recursion: some values are nested deeper than Python's stack.
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                value = base64.b64encode(value).decode()
        if isinstance(value, str):
            inner = _inner(value)
            if inner is None:
                yield "text", value
                continue
            value = inner
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
        elif isinstance(value, bool):
            yield "boolean", value
        elif value is not None:
            yield "number", value


def _inner(text):
    for form in (text, _unhexed(text)):
        if form[:1] in ("{", "["):
            try:
                return json.loads(form)
            except (ValueError, RecursionError):
                pass
    return None


def _unhexed(text):
    try:
        return bytes.fromhex(text).decode()
    except ValueError:
        return ""


def lost(rows, record) -> set:
    """Return the values of rows that a record lacks; `vacr.source` does not count."""
    ours = {name: value for name, value in record["vacr"].items() if name != "source"}
    return set(leaves(list(rows))) - set(leaves([record["session"], record.get("vcs"), ours]))
