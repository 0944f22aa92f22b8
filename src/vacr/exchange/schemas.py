"""The schemas of other formats, which come with the package as CDDL. Step: import."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from vacr.errors import InvalidRecord
from vacr.schema.cddl import Schema, compile_cddl


@cache
def _schema(package: str, name: str) -> Schema:
    return compile_cddl(resources.files(package).joinpath(name).read_text("utf-8"), name=name)


def check(document: Any, package: str, name: str, what: str) -> None:
    """Check a document against a schema of the package.

    Raises:
        InvalidRecord: it is not what it has to be; the first place where.
    """
    findings = _schema(package, name).checker(json=True).findings(document)
    if findings:
        first, more = findings[0], len(findings) - 1
        rest = f" (and {more} more)" if more else ""
        told = f"no {what}: {first.rule}: {first.found}, expected {first.expected}{rest}"
        raise InvalidRecord(
            told, where=first.pointer or "/", hint=f"Ask the tool that wrote it for {what}."
        )
