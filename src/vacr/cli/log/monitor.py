"""`vacr log monitor`: watch a log, and report if it forks or shrinks.

A state file holds the last checkpoint. If a later one does not continue it, both are kept as
evidence. The state file stays unchanged, so every further run fails too:

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["log", "monitor", "http://127.0.0.1:1/", "--state", "log.json", "-q"])
    4
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import PATH, Verb, certificate_options, voice_options
from vacr.console import Voice
from vacr.errors import Unreachable, UsageError
from vacr.log import (
    OUTCOME_FIRST,
    OUTCOME_GROWN,
    OUTCOME_SAME,
    KnownLog,
    LogMisbehaved,
    MonitorResult,
    inspect_log,
    load_monitor_state,
    lock_monitor_state,
    save_monitor_state,
    write_log_evidence,
)
from vacr.registration import ServiceAccess, TiledLog
from vacr.transparency import VerifierKey, parse_verifier_key
from vacr.workflows import format_count


@click.command("monitor", no_args_is_help=True, cls=Verb)
@click.argument("url", metavar="URL")
@click.option(
    "--state",
    metavar="FILE",
    type=PATH,
    required=True,
    help="File for the last verified state of the log; created on the first run.",
)
@click.option(
    "--key",
    metavar="VKEY",
    help="Checkpoint key of the log.  [default: from its first entry, later from --state]",
)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.IntRange(1),
    help="Check the log at this interval until it misbehaves; if it cannot be reached, try again.  "
    "[default: check once]",
)
@certificate_options
@voice_options
def monitor_command(
    url: str,
    state: str,
    key: str | None,
    interval: int | None,
    ca: str | None,
    client_cert: str | None,
    client_key: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Watch a log, and report if it forks or shrinks.

    New entries must also match the signed tree. Exits with 1 if the log misbehaves. The checkpoints
    that prove it are kept next to the state file, which stays unchanged, so every further run fails
    too. Exits with 4 if the log cannot be reached.

    \b
    Example:
      vacr log monitor https://log.example.org/ --state log.json
      vacr log monitor https://log.example.org/ --state log.json --interval 300
    """
    voice = Voice(format, quiet, verbose)
    pinned_key = parse_verifier_key(key) if key is not None else None
    log, path = TiledLog(url, ServiceAccess(None, ca, client_cert, client_key)), Path(state)
    with lock_monitor_state(path):
        while True:
            exit_code = _check_log_once(log, path, pinned_key, voice)
            if interval is None or exit_code not in (0, Unreachable.exit_code):
                return exit_code
            time.sleep(interval)


def _check_log_once(log: TiledLog, path: Path, pinned_key: VerifierKey | None, voice: Voice) -> int:
    """Compare a log with the state file, save its new state, and return the exit code.

    Raises:
        UsageError: the state file belongs to a log with another key than the pinned one.
    """
    known = load_monitor_state(path)
    if (
        known is not None
        and pinned_key is not None
        and pinned_key not in (known.pinned, *known.keys)
    ):
        raise UsageError(
            f"{path} is the state of another log; the key of that log is {known.keys[-1]}",
            hint="Check --key, or name another --state file: each log needs its own.",
        )
    try:
        result = inspect_log(log, known, pinned_key)
    except LogMisbehaved as error:
        return _report_misbehaviour(log.site.url, path, known, error, voice)
    except Unreachable as error:
        voice.error(f"vacr: {error}", error.hint)
        voice.data(
            {
                "url": log.site.url,
                "outcome": "unreachable",
                "message": str(error),
                "exit": error.exit_code,
            }
        )
        return error.exit_code
    finally:
        log.site.close()
    if result.known != known:
        save_monitor_state(path, result.known)
    _report_log_state(log.site.url, known, result, voice)
    return 0


def _report_log_state(
    url: str, before: KnownLog | None, result: MonitorResult, voice: Voice
) -> None:
    """Print the size of a consistent log, the new entries, and a new key; `before` is older."""
    now = result.known
    entries = format_count(now.size, "entry")
    new = now.size - (before.size if before is not None else 0)
    description = {
        OUTCOME_FIRST: f"{entries}, first check; the log's key from now on: {now.keys[-1]}",
        OUTCOME_SAME: f"{entries}, unchanged",
        OUTCOME_GROWN: f"{entries}, {new} new",
    }[result.outcome]
    changed = f"; new key: {now.keys[-1]}" if result.rotations and before is not None else ""
    voice.result(f"{now.origin}: consistent: {description}{changed}")
    voice.data(
        {
            "url": url,
            "outcome": result.outcome,
            "identity": now.identity,
            "origin": now.origin,
            "size": now.size,
            "new": new,
            "root": now.root.hex(),
            "key": str(now.keys[-1]),
            "rotations": result.rotations,
            "exit": 0,
        }
    )


def _report_misbehaviour(
    url: str, path: Path, known: KnownLog | None, error: LogMisbehaved, voice: Voice
) -> int:
    """Write the contradicting checkpoints to a file, print the problem, and return the exit code.

    `path` is the state file, and `known` its content, if there is one.
    """
    before = known.note.decode() if known is not None else None
    kept: dict[str, str | None] = {
        "url": url,
        "reason": error.reason,
        "message": error.message,
        "known": before,
    }
    file = write_log_evidence(path, {**kept, "seen": error.note.decode("utf-8", "replace")})
    name = known.origin if known is not None else url
    voice.error(
        f"{name}: misbehaved ({error.reason}): {error.message}",
        f"Do not trust this log, and ask its operator. The proof is in {file}",
    )
    document: dict[str, Any] = {
        "url": url,
        "outcome": "failed",
        "reason": error.reason,
        "message": error.message,
    }
    voice.data({**document, "evidence": str(file), "exit": error.exit_code})
    return error.exit_code
