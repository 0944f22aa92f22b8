"""The schemas of the record format, by version. Step: validate.

A record is checked by the schema its own `version` names: 3.* by v3.cddl, 2.* by v2.cddl, 1.* by
v1.cddl. They are compiled when first asked for.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

from vacr.errors import InvalidRecord
from vacr.schema.cddl import Schema, compile_cddl
from vacr.schema.cddl.wording import shown

SUPPORTED = ("3", "2", "1")
_VERSION = re.compile(r"([0-9]+)(\..*)?", re.DOTALL)


def schema_for(version: str) -> Schema:
    """Give the schema that a record's `version` asks for.

    Raises:
        InvalidRecord: when that version is not supported.

    """
    return _schema(_supported(version))


def schema_text(version: str) -> str:
    """Give the CDDL text of a version.

    Raises:
        InvalidRecord: when that version is not supported.

    """
    return _text(_supported(version))


def major(version: object) -> str | None:
    """Give the first number of a version, whose schema it names; a record may hold anything as its
    version.
    """
    found = _VERSION.fullmatch(version) if isinstance(version, str) else None
    return found[1] if found else None


def _supported(version: object) -> str:
    found = major(version)
    if found not in SUPPORTED:
        hint = f"The versions are {', '.join(f'{major}.*' for major in SUPPORTED)}."
        raise InvalidRecord(f"no schema for version {shown(version)}", where="/version", hint=hint)
    return found


def _text(major: str) -> str:
    return resources.files("vacr.schema").joinpath(f"v{major}.cddl").read_text("utf-8")


@lru_cache(maxsize=len(SUPPORTED))
def _schema(major: str) -> Schema:
    return compile_cddl(_text(major), name=f"v{major}.cddl")
