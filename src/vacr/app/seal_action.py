"""The action that seals sessions: `seal/action.yml` runs this module.

The key arrives in the environment. While sealing runs, the key is in a file that only this user can
read, and in no argument, no log and no environment of another process.

Sealing runs as `vacr seal` in its own process: when GitHub cancels the job, that process is killed
at once, and the key is removed. Its JSON output is its only result:

    >>> from vacr.app.seal_action import read_verdict
    >>> read_verdict({"exit": 0}, failed=[], pending=[]), read_verdict({"exit": 3}, [], [])
    ('sealed', 'failed')
    >>> read_verdict({"exit": 4}, failed=[], pending=[{"exit": 4}])
    'pending'
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn

from vacr.app.github import (
    CONTRIBUTOR_LABELS,
    GitHubWorkflow,
    InputKeys,
    format_cell,
    format_table,
    pop_secret_input,
    read_choice_input,
    read_flag_input,
    read_input,
    read_input_paths,
    run_action,
)
from vacr.console import encode_output_document
from vacr.errors import UsageError
from vacr.registration import OUTBOX_VARIABLE, STATE_PENDING
from vacr.workflows import format_count

SEAL_SUCCEEDED, SEAL_FAILED, SEAL_NEVER_FAILS = "sealed", "failed", "never"
_SEAL_FAIL_POLICIES = (SEAL_FAILED, STATE_PENDING, SEAL_NEVER_FAILS)
_SIGNAL_EXIT_BASE = 128
_CANCEL_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that GitHub sends when a job is cancelled."""
_SEAL_FAILED_EXIT = 1


def seal_sessions(workflow: GitHubWorkflow) -> int:
    """Seal the sessions, report the result, and return the exit code.

    Raises:
        VacrError: an input is wrong.
    """
    sessions = read_input_paths("sessions")
    policy = read_choice_input("fail-on", _SEAL_FAIL_POLICIES)
    key = pop_secret_input("key").strip()
    passphrase, token = pop_secret_input("passphrase"), pop_secret_input("token").strip()
    if not sessions:
        raise UsageError(
            "the input `sessions` is empty", hint="Set it to files or folders of sessions."
        )
    if not key:
        hint = (
            "Set it to a private key in PEM, from a secret. Pull requests from forks get no "
            "secrets."
        )
        raise UsageError("the input `key` is empty", hint=hint)
    output = read_input("output") or "sealed"
    outbox = read_input("outbox") or f"{output}/outbox"
    environment = os.environ | {OUTBOX_VARIABLE: str(Path(outbox).absolute())}
    if token:
        environment |= {"VACR_SEAL_TOKEN": token, "VACR_REGISTER_TOKEN": token}
    for number in _CANCEL_SIGNALS:
        signal.signal(number, _exit_on_signal)
    with TemporaryDirectory(prefix="vacr-", dir=os.environ.get("RUNNER_TEMP") or None) as folder:
        service_options = _list_service_options(InputKeys(Path(folder)))
        late = _register_pending(Path(outbox), service_options, environment)
        secrets = ["--key", _write_secret(folder, "key", key)]
        if passphrase:
            secrets += ["--passphrase-file", _write_secret(folder, "passphrase", passphrase)]
        options = ["--format", "json", "-o", output, *secrets, *service_options]
        arguments = ["seal", *options, *_list_seal_options(), "--", *sessions]
        result = _run_vacr(arguments, environment)
    return _report_seal(result, late, policy, workflow, output=output, outbox=outbox)


def _exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit when the job is cancelled; further signals are ignored, so that the key gets removed."""
    for ignored in _CANCEL_SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    sys.exit(_SIGNAL_EXIT_BASE + number)


def _write_secret(folder: str, name: str, text: str) -> str:
    """Write a secret to a new file that only this user can read, and return its path."""
    path = Path(folder) / name
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return str(path)


def _list_service_options(keys: InputKeys) -> list[str]:
    """Return `--log-key`, `--service` and `--patience` from the inputs that are set."""
    options = [word for name in keys.files("log-key") for word in ("--log-key", name)]
    return options + _list_given_options("service", "patience")


def _list_seal_options() -> list[str]:
    """Return `--base`, `--issuer`, `--timestamp` and `--seal-source` from the inputs that are set.

    The input `base` is a revision of the repository in the working folder: `--base .@REVISION`.
    """
    options = ["--base", f".@{read_input('base')}"] if read_input("base") else []
    options += _list_given_options("issuer", "timestamp")
    return options + (["--seal-source"] if read_flag_input("seal-source") else [])


def _list_given_options(*names: str) -> list[str]:
    """Return options for the named inputs that are set, such as `--issuer` and its value."""
    return [word for name in names if read_input(name) for word in (f"--{name}", read_input(name))]


def _register_pending(
    outbox: Path, service_options: list[str], environment: dict[str, str]
) -> list[dict[str, Any]]:
    """Register the statements that an earlier run left in the outbox, and return the results.

    Return an empty list if there is no service, or if the job did not restore an outbox.
    """
    if not read_input("service") or not any(outbox.glob("*.json")):
        return []
    arguments = ["register", "--pending", "--format", "json", *service_options]
    statements: list[dict[str, Any]] = _run_vacr(arguments, environment).get("statements", [])
    return statements


def _run_vacr(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run a verb, and return its JSON output with the exit code in the member `exit`.

    If the verb failed before its output, `exit` is the only member.
    """
    command = [sys.executable, "-I", "-m", "vacr", *arguments]
    exit_code, output = _run_cancellable(command, environment)
    document: dict[str, Any] = json.loads(output) if output.strip() else {}
    return document | {"exit": exit_code}


def _run_cancellable(command: list[str], environment: dict[str, str]) -> tuple[int, bytes]:
    """Run a command, and return its exit code and its standard output.

    Kill the command when the job is cancelled, or on any exception.
    """
    # A signal during Popen would leave the process running, so collect signals until it returns.
    received: list[int] = []
    handlers = {
        number: signal.signal(number, lambda caught, _: received.append(caught))
        for number in _CANCEL_SIGNALS
    }
    try:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    except BaseException:
        _restore_signal_handlers(handlers)
        raise
    with process:
        try:
            _restore_signal_handlers(handlers)
            if received:
                _exit_on_signal(received[0], None)
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    return process.returncode, output


def _restore_signal_handlers(handlers: dict[signal.Signals, Any]) -> None:
    """Make the saved handlers handle their signals again."""
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _report_seal(
    result: dict[str, Any],
    late: list[dict[str, Any]],
    policy: str,
    workflow: GitHubWorkflow,
    *,
    output: str,
    outbox: str,
) -> int:
    """Report sealed, pending and failed sessions as annotations, a summary, a file and outputs.

    `result` is the output of `vacr seal`, and `late` are the results for older statements. Return
    the exit code of the action: 1 if `policy` makes the verdict a failure. `output` and `outbox`
    are the folders of the records and of waiting statements.
    """
    sealed, errors = result.get("sealed", []), result.get("errors", [])
    statements = [*sealed, *late]
    pending = [statement for statement in statements if statement["state"] == STATE_PENDING]
    failed = [
        statement
        for statement in statements
        if statement["exit"] and statement["state"] != STATE_PENDING
    ]
    verdict = read_verdict(result, failed, pending)
    for statement in failed:
        message = f"not sealed: {statement.get('error', '')}"
        workflow.annotate("error", message, statement.get("source") or statement["statement"])
    for error in errors:
        workflow.annotate("error", f"not recorded: {error['error']}", error["source"])
    if verdict == SEAL_FAILED and not failed and not errors:
        exit_code = result["exit"]
        workflow.annotate(
            "error", f"vacr seal ended with exit code {exit_code}; see the log for the reason"
        )
    for statement in pending:
        message = f"signed, but not registered yet: {statement.get('error', '')}"
        workflow.annotate("warning", message, statement["statement"])
    temporary = Path(os.environ.get("RUNNER_TEMP") or ".")
    report = read_input("report") or str(temporary / "vacr-seal-report.json")
    document = {"verdict": verdict, "sealed": sealed, "errors": errors, "late": late}
    Path(report).write_bytes(encode_output_document(document) + b"\n")
    workflow.summarise(format_seal_summary(verdict, sealed))
    outputs = {
        "verdict": verdict,
        "sealed": sum(statement["exit"] == 0 for statement in sealed),
        "pending": len(pending),
        "output": output,
        "outbox": outbox,
        "report": report,
    }
    for name, value in outputs.items():
        workflow.output(name, value)
    fails = policy != SEAL_NEVER_FAILS and verdict in (SEAL_FAILED, policy)
    return _SEAL_FAILED_EXIT if fails else 0


def read_verdict(
    result: dict[str, Any], failed: list[dict[str, Any]], pending: list[dict[str, Any]]
) -> str:
    """Return the verdict about a run of `vacr seal`: `sealed`, `pending` or `failed`.

    `failed` and `pending` list the statements in these states; a pending one is signed, but not
    registered yet. An exit code of the run that no pending statement explains is a failure, too.
    """
    expected_exits = {0, *(statement["exit"] for statement in pending)}
    if failed or result["exit"] not in expected_exits:
        return SEAL_FAILED
    return STATE_PENDING if pending else SEAL_SUCCEEDED


def format_seal_summary(verdict: str, sealed: Sequence[dict[str, Any]]) -> str:
    """Return the summary in Markdown: the verdict, and a table of sessions, failures first."""
    rows = [
        [
            format_cell(session["source"]),
            format_cell(session["record"]),
            _format_line_counts(session.get("lines", {})),
            session["state"],
            format_cell(session.get("error", "")),
        ]
        for session in sorted(sealed, key=lambda session: session["exit"] == 0)
    ]
    head = ["session", "record", "lines", "state", "problem"]
    return "\n".join(
        [
            "## Sealed sessions",
            "",
            f"**{verdict}**: {format_count(len(sealed), 'session')}.",
            "",
            *format_table(head, rows),
        ]
    )


def _format_line_counts(lines: dict[str, int]) -> str:
    """Return the number of lines by author, such as `6 AI, 1 unknown`; empty without lines."""
    return ", ".join(
        f"{count} {CONTRIBUTOR_LABELS.get(kind, kind)}" for kind, count in sorted(lines.items())
    )


if __name__ == "__main__":
    sys.exit(run_action(seal_sessions))
