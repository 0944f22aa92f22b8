"""The action that seals sessions: `seal/action.yml` runs this module.

The key comes in the environment, and goes into a file that nobody else can read, for as long as
`vacr seal` runs. It is in no argument, in no log, and in the environment of no other process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn

from vacr.action.keys import InputKeys
from vacr.action.summary import format_seal_summary
from vacr.action.workflow import (
    GitHubWorkflow,
    pop_secret_input,
    read_choice_input,
    read_flag_input,
    read_input,
    read_input_paths,
    run_action,
)
from vacr.cli.options import encode_output_document
from vacr.errors import UsageError
from vacr.registration import OUTBOX_VARIABLE, STATE_PENDING

SEAL_SUCCEEDED, SEAL_FAILED, SEAL_NEVER_FAILS = "sealed", "failed", "never"
_SEAL_FAIL_POLICIES = (SEAL_FAILED, STATE_PENDING, SEAL_NEVER_FAILS)
_SIGNAL_EXIT_BASE = 128
_CANCEL_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that GitHub sends when a job is cancelled."""
_SEAL_FAILED_EXIT = 1


def seal_sessions(told: GitHubWorkflow) -> int:
    """Seal, and tell the workflow what came of it.

    Raises:
        VacrError: an input is wrong.
    """
    sessions, policy = (
        read_input_paths("sessions"),
        read_choice_input("fail-on", _SEAL_FAIL_POLICIES),
    )
    key, passphrase, token = (
        pop_secret_input("key").strip(),
        pop_secret_input("passphrase"),
        pop_secret_input("token").strip(),
    )
    if not sessions:
        raise UsageError(
            "the input sessions is empty", hint="Name files or folders of native sessions."
        )
    if not key:
        hint = (
            "It is the private key in PEM, from a secret. A pull request from a fork gets "
            "no secrets."
        )
        raise UsageError("the input key is empty", hint=hint)
    output = read_input("output") or "sealed"
    outbox = read_input("outbox") or f"{output}/outbox"
    environment = os.environ | {OUTBOX_VARIABLE: str(Path(outbox).absolute())}
    environment |= {"VACR_SEAL_TOKEN": token, "VACR_REGISTER_TOKEN": token} if token else {}
    for number in _CANCEL_SIGNALS:
        signal.signal(number, _exit_on_signal)
    with TemporaryDirectory(prefix="vacr-", dir=os.environ.get("RUNNER_TEMP") or None) as folder:
        keys = InputKeys(Path(folder))
        reached = _list_service_options(keys)
        late = _register_pending(Path(outbox), reached, environment)
        secret = ["--key", _write_secret(folder, "key", key)]
        secret += (
            ["--passphrase-file", _write_secret(folder, "passphrase", passphrase)]
            if passphrase
            else []
        )
        asked = ["--format", "json", "-o", output, *secret, *reached, *_list_seal_options()]
        done = _run_vacr(["seal", *asked, "--", *sessions], environment)
    return _report_seal(done, late, policy, told, output=output, outbox=outbox)


def _exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """End when the job is cancelled, so that the key is removed on the way; no second signal is to
    end that.
    """
    for one in _CANCEL_SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(_SIGNAL_EXIT_BASE + number)


def _write_secret(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)  # noqa: PTH118 - it is handed on as text
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text + "\n")
    return path


def _list_service_options(keys: InputKeys) -> list[str]:
    """Give the options that say which service is meant, and how it is reached."""
    options = [word for name in keys.files("log-key") for word in ("--log-key", name)]
    for name in ("service", "patience"):
        options += [f"--{name}", read_input(name)] if read_input(name) else []
    return options


def _list_seal_options() -> list[str]:
    """Give the options that say how sessions are sealed."""
    options = ["--base", f".@{read_input('base')}"] if read_input("base") else []
    for name in ("issuer", "timestamp"):
        options += [f"--{name}", read_input(name)] if read_input(name) else []
    return options + (["--seal-source"] if read_flag_input("seal-source") else [])


def _register_pending(
    outbox: Path, reached: list[str], environment: dict[str, str]
) -> list[dict[str, Any]]:
    """Register what an earlier run had to leave, where the outbox was brought along."""
    if not read_input("service") or not any(outbox.glob("*.json")):
        return []
    done = _run_vacr(["register", "--pending", "--format", "json", *reached], environment)
    statements: list[dict[str, Any]] = done.get("statements", [])
    return statements


def _run_vacr(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """Run a verb, and give what it has to say to programs; nothing where it could not begin."""
    command = [sys.executable, "-I", "-m", "vacr", *arguments]
    exit_code, output = _run_cancellable(command, environment)
    found: dict[str, Any] = json.loads(output) if output.strip() else {}
    return found | {"exit": exit_code}


def _run_cancellable(command: list[str], environment: dict[str, str]) -> tuple[int, bytes]:
    """Run a command and return its exit code and output; kill it when the job is cancelled."""
    # A signal inside Popen would leave the process running, so signals are collected until Popen
    # returns.
    received: list[int] = []
    handlers = {
        number: signal.signal(number, lambda got, _: received.append(got))
        for number in _CANCEL_SIGNALS
    }
    try:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)  # noqa: S603 - ourselves
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
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _report_seal(
    done: dict[str, Any],
    late: list[dict[str, Any]],
    policy: str,
    told: GitHubWorkflow,
    *,
    output: str,
    outbox: str,
) -> int:
    """Tell the workflow what was sealed, what has to wait, and what went wrong."""
    sealed = done.get("sealed", [])
    waiting = [one for one in [*sealed, *late] if one["state"] == STATE_PENDING]
    failed = [one for one in [*sealed, *late] if one["exit"] and one["state"] != STATE_PENDING]
    verdict = (
        SEAL_FAILED
        if failed or done["exit"] not in (0, *{one["exit"] for one in waiting})
        else STATE_PENDING
        if waiting
        else SEAL_SUCCEEDED
    )
    for one in failed:
        told.annotate(
            "error", f"not sealed: {one.get('error', '')}", one.get("source") or one["statement"]
        )
    for error in done.get("errors", []):
        told.annotate("error", f"not recorded: {error['error']}", error["source"])
    if verdict == SEAL_FAILED and not failed and not done.get("errors"):
        told.annotate("error", f"vacr seal ended with exit code {done['exit']}; the log says why")
    for one in waiting:
        told.annotate(
            "warning",
            f"signed, and still to be registered: {one.get('error', '')}",
            one["statement"],
        )
    report = read_input("report") or str(
        Path(os.environ.get("RUNNER_TEMP") or ".") / "vacr-seal-report.json"
    )
    document = {
        "verdict": verdict,
        "sealed": sealed,
        "errors": done.get("errors", []),
        "late": late,
    }
    Path(report).write_bytes(encode_output_document(document) + b"\n")
    told.summarise(format_seal_summary(verdict, sealed))
    counts = {"sealed": sum(one["exit"] == 0 for one in sealed), "pending": len(waiting)}
    places = {"output": output, "outbox": outbox, "report": report}
    for name, value in ({"verdict": verdict} | counts | places).items():
        told.output(name, value)
    return (
        _SEAL_FAILED_EXIT if policy != SEAL_NEVER_FAILS and verdict in (SEAL_FAILED, policy) else 0
    )


if __name__ == "__main__":
    sys.exit(run_action(seal_sessions))
