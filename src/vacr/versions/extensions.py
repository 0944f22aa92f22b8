"""Open members of version 3 inside a vendor extension of version 2, and out of it. Step: convert.

Follows section 10 of v2.cddl. Members that version 2 does not know are packed as `{vendor: "vacr",
data: {…}}`; the extension of another vendor is an open member of version 3, under its own name. So
that both ways are exact, an extension is opened only if packing would make the very same one again,
and is kept as it is otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacr.model import Native
from vacr.schema import schema_for

VENDOR = "vacr"

Admits = Callable[[Native], bool]
"""Tells whether some members could have been packed: none of them has a place of its own in that
map of version 2.
"""


def packed(rest: Native, name: str, admits: Admits, *, json: bool) -> Native:
    """Give the extension that holds open members; `name` is the member of version 2 that it is for.

    An extension that stands alone among them, and that nobody would take for a packed one, is its
    own.
    """
    if (
        rest.keys() == {name}
        and is_extension(rest[name], json=json)
        and not opens(rest[name], name, admits, json=json)
    ):
        own: Native = rest[name]
        return own
    return {"vendor": VENDOR, "data": rest}


def opens(extension: Any, name: str, admits: Admits, *, json: bool) -> bool:
    """Tell whether an extension is one that `packed` made."""
    while _is_ours(extension) and extension["data"] and admits(extension["data"]):
        data = extension["data"]
        if data.keys() != {name} or not is_extension(data[name], json=json):
            return True
        # One that holds only another was made exactly if the other would be opened, for else that
        # had stayed itself.
        extension = data[name]
    return False


def packed_payload(payload: Native, *, json: bool) -> Native:
    """Give the extension that is the payload of an event: another vendor's own, or one made around
    it.
    """
    if is_extension(payload, json=json) and not _payload_opens(payload, json=json):
        return payload
    return {"vendor": VENDOR, "data": payload}


def opened_payload(extension: Native, *, json: bool) -> Native:
    """Give the payload of an event out of its extension."""
    return extension["data"] if _payload_opens(extension, json=json) else extension


def _payload_opens(extension: Any, *, json: bool) -> bool:
    while _is_ours(extension):
        if not is_extension(extension["data"], json=json):
            return True
        extension = extension["data"]
    return False


def is_extension(value: Any, *, json: bool) -> bool:
    """Tell whether a value is a vendor extension of version 2."""
    # The first look spares most values the check.
    return (
        isinstance(value, dict)
        and "vendor" in value
        and schema_for("2").checker("vendor-extension", json=json).matches(value)
    )


def _is_ours(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"vendor", "data"}
        and value["vendor"] == VENDOR
        and isinstance(value["data"], dict)
        and all([type(key) is str for key in value["data"]])  # noqa: C419 - faster than a generator
    )
