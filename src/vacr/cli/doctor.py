"""`vacr doctor`: faults and risks on this machine, and the commands that fix them.

>>> from vacr.cli import run_command_line
>>> run_command_line(["doctor"])
key
...
No problems found. ... suggestions (·).
0
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby

import click

from vacr.app import (
    FINDING_GRADES,
    NOTE,
    OK,
    PROBLEM,
    WARNING,
    HealthFinding,
    check_agents,
    check_folders,
    check_index,
    check_keys,
    check_parts,
    check_sessions,
    check_trust,
    check_waiting,
)
from vacr.cli.options import EXIT_FINDINGS, SetupVerb, voice_options
from vacr.cli.settings import check_settings
from vacr.console import Voice
from vacr.errors import VacrError
from vacr.files import find_config_folder, find_state_folder
from vacr.workflows import (
    COUNTED_STATES,
    abbreviate_home,
    describe_ignored_settings,
    format_count,
    read_settings_files,
)

_FIRST_AREAS, _LAST_AREA = ("key", "sessions", "hooks", "mcp"), "parts"
"""The areas that people ask about first, and the one that only has offers as a rule."""
_MARKS = {OK: "✓", NOTE: "·", WARNING: "!", PROBLEM: "✗"}


@click.command(cls=SetupVerb)
@click.option("--strict", is_flag=True, help="Exit with 5 if there is a problem or a warning.")
@voice_options
def command(strict: bool, format: str, quiet: bool, verbose: int) -> int:
    """Find what is wrong or at risk on this machine, with the fixes.

    Checks installed parts, settings, keys, hooks, sessions at risk and the index. The check changes
    no file. ✓ is in order, ! a warning, ✗ a problem, and · a suggestion. Below each finding is the
    command that fixes it.

    \b
    Example:
      vacr doctor
      vacr doctor --strict --format json
    """
    voice = Voice(format, quiet, verbose)
    findings = list(_collect_findings())
    wrong = [finding for finding in findings if finding.grade in FINDING_GRADES]
    shown = _shorten_offers(findings, voice)
    for area, group in groupby(sorted(shown, key=_rank_area), key=lambda finding: finding.area):
        voice.result(area)
        for finding in group:
            _print_finding(finding, voice)
    voice.result(_summarize_findings(wrong, shown))
    voice.data(
        {
            "findings": [
                {
                    "area": finding.area,
                    "grade": finding.grade,
                    "message": finding.message,
                    "fix": finding.fix or None,
                }
                for finding in findings
            ],
            "wrong": len(wrong),
        }
    )
    return EXIT_FINDINGS if strict and wrong else 0


def _rank_area(finding: HealthFinding) -> int:
    """Return the place of a finding's area in the text; the others keep their order."""
    if finding.area in _FIRST_AREAS:
        return _FIRST_AREAS.index(finding.area)
    return len(_FIRST_AREAS) + (finding.area == _LAST_AREA)


def _shorten_offers(findings: list[HealthFinding], voice: Voice) -> list[HealthFinding]:
    """Return the findings, with one for all optional parts that are missing; with -v, all."""
    missing = [finding.part for finding in findings if finding.part]
    if voice.verbose or not missing:
        return findings
    message = f"optional parts not installed (-v says what for): {', '.join(missing)}"
    offer = HealthFinding(_LAST_AREA, NOTE, message, "pip install 'vacr[NAME]'")
    return [*(finding for finding in findings if not finding.part), offer]


def _summarize_findings(wrong: list[HealthFinding], shown: list[HealthFinding]) -> str:
    """Return the last line: the number of problems and warnings, and of offers."""
    offers = sum(finding.grade == NOTE for finding in shown)
    more = f" {format_count(offers, 'suggestion')} (·)." if offers else ""
    if not wrong:
        return f"No problems found.{more}"
    return f"{format_count(len(wrong), 'finding')}; each with its fix above.{more}"


def _collect_findings() -> Iterator[HealthFinding]:
    """Yield the findings of all checks, by area."""
    state = find_state_folder(os.environ)
    found = [*check_parts(), *_check_settings(), *check_keys(), *check_trust()]
    found += check_folders(state, find_config_folder(os.environ))
    # Listing sessions may make the file of the index, or make it again if it is damaged.
    index = list(check_index(state))
    found += [*check_agents(), *check_sessions(state), *index, *check_waiting(state)]
    areas = list(dict.fromkeys(finding.area for finding in found))
    for area in areas:
        yield from (finding for finding in found if finding.area == area)


def _check_settings() -> Iterator[HealthFinding]:
    """Yield a finding for each settings file, and for each wrong setting."""
    try:
        files = read_settings_files()
    except VacrError as error:
        yield HealthFinding("settings", PROBLEM, str(error), error.hint)
        return
    for file in files:
        if file.state not in COUNTED_STATES:
            yield HealthFinding(
                "settings", WARNING, describe_ignored_settings(file)[0], "vacr trust approve"
            )
            continue
        wrong = list(check_settings(file, click.get_current_context().find_root()))
        for mistake in wrong:
            yield HealthFinding("settings", PROBLEM, str(mistake), f"${{EDITOR:-vi}} '{file.path}'")
        if not wrong:
            verbs = ", ".join(file.tables)
            content = f"sets options of {verbs}" if verbs else "sets no options"
            yield HealthFinding("settings", OK, f"{abbreviate_home(file.path)}: {content}")


def _print_finding(finding: HealthFinding, voice: Voice) -> None:
    """Print a finding, and its fix on a line of its own."""
    voice.prose(f"  {_MARKS[finding.grade]} {finding.message}")
    if finding.fix:
        voice.result(f"    fix: {finding.fix}")
