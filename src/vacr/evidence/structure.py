"""What evidence has to look like, by its CDDL. Step: appraise."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from vacr.errors import InvalidStatement
from vacr.schema.cddl import Checker, compile_cddl


@cache
def _checker(rule: str) -> Checker:
    text = resources.files("vacr.evidence").joinpath("evidence.cddl").read_text("utf-8")
    return compile_cddl(text, name="evidence.cddl").checker(rule, json=False)


def check(value: Any, rule: str, what: str) -> None:
    """Check that a value follows a rule of the schema of evidence.

    Raises:
        InvalidStatement: it does not.
    """
    findings = _checker(rule).findings(value)
    if findings:
        first = findings[0]
        raise InvalidStatement(
            (
                f"{what} of another form than they have to be: {first.pointer or '/'}: "
                f"{first.found}, not {first.expected}"
            ),
            reason="evidence-malformed",
        )
