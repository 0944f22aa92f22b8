"""What was measured, against reference values. Role: verifier. Step: appraise."""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement
from vacr.evidence import components, labels
from vacr.evidence import trust_tiers as values
from vacr.evidence.appraisal import Appraisal
from vacr.evidence.components import Component, differences
from vacr.evidence.policy import AppraisalPolicy

_SHOWN = 3
"""How many files are named that differ."""


def has_configuration(claims: dict[Any, Any]) -> bool:
    """Tell whether some configuration was measured."""
    return any(one.name.startswith(components.CONFIGURATION) for one in _measured(claims))


def check_measurements(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Compare what was measured with the reference values, and find what was not measured that
    should have been.

    Raises:
        InvalidStatement: a measurement cannot be read, or there are two of one name.
    """
    found = _measured(claims)
    for one in found:
        _check(one, policy, appraisal)
    names = {one.name for one in found}
    wanted = {
        one.name for one in policy.references if not one.name.startswith(components.AGENT)
    } | {components.PACKAGE}
    for name in sorted(wanted - names):
        appraisal.found(
            name, _claim(name), values.REFUSED, "it was not measured", "measurement-missing"
        )


def _measured(claims: dict[Any, Any]) -> list[Component]:
    manifests = claims[labels.MANIFESTS]
    found = [components.decode(body, manifests) for _, body in claims[labels.MEASUREMENTS]]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise InvalidStatement("a component that was measured twice", reason="evidence-malformed")
    if manifests.keys() - set(names):
        raise InvalidStatement(
            "files are listed of what was not measured", reason="evidence-malformed"
        )
    return found


def _check(one: Component, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    references = [known for known in policy.references if known.name == one.name]
    version = "" if one.version is None else f"version {one.version}, "
    if any(_is_same(one, known) for known in references):
        good = values.NO_CLAIM if _claim(one.name) == "sourced-data" else values.APPROVED
        appraisal.found(one.name, _claim(one.name), good, f"{version}as its reference value")
    elif references:
        appraisal.found(
            one.name,
            _claim(one.name),
            _changed(one.name),
            version + _told(one, references),
            "measurement-changed",
        )
    elif one.name.startswith(components.AGENT) and "agent" not in policy.required:
        appraisal.undecided(
            one.name, "sourced-data", f"{version}there is no reference value for it"
        )
    else:
        told = f"{version}there is no reference value for it"
        appraisal.found(one.name, _claim(one.name), _unknown(one.name), told, "measurement-unknown")


def _is_same(one: Component, known: Component) -> bool:
    return one.digest == known.digest and (known.version is None or one.version == known.version)


def _told(one: Component, references: list[Component]) -> str:
    """Say what differs from the reference value that comes nearest."""
    manifests = [known.manifest for known in references if known.manifest is not None]
    if one.manifest is None or not manifests:
        return "another one than its reference value"
    found = one.manifest
    said = min((differences(found, expected) for expected in manifests), key=len)
    more = f", and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return (
        f"{', '.join(said[:_SHOWN]) or 'which is another one than its reference value has'}{more}"
    )


def _claim(name: str) -> str:
    if name.startswith(components.CONFIGURATION):
        return "configuration"
    return "sourced-data" if name.startswith(components.AGENT) else "file-system"


def _changed(name: str) -> int:
    return (
        values.CONFIGURATION_CHANGED
        if name.startswith(components.CONFIGURATION)
        else values.REFUSED
    )


def _unknown(name: str) -> int:
    return (
        values.CONFIGURATION_UNKNOWN
        if name.startswith(components.CONFIGURATION)
        else values.UNRECOGNISED
    )
