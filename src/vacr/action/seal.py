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

from vacr.action import workflow
from vacr.action.keys import Keys
from vacr.action.summary import seal_summary
from vacr.action.workflow import Workflow, chosen, given, paths, taken, wished
from vacr.cli.options import encoded
from vacr.errors import UsageError
from vacr.log.outbox import VARIABLE
from vacr.log.registering import PENDING

SEALED, FAILED, NEVER = "sealed", "failed", "never"
_FAIL_ON = (FAILED, PENDING, NEVER)
_ENDED = 128
_CANCEL_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that GitHub sends when a job is cancelled."""
_NOT_MET = 1


def work(told: Workflow) -> int:
    """Seal, and tell the workflow what came of it.

    Raises:
        VacrError: an input is wrong.
    """
    sessions, policy = paths("sessions"), chosen("fail-on", _FAIL_ON)
    key, passphrase, token = taken("key").strip(), taken("passphrase"), taken("token").strip()
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
    output = given("output") or "sealed"
    outbox = given("outbox") or f"{output}/outbox"
    environment = os.environ | {VARIABLE: str(Path(outbox).absolute())}
    environment |= {"VACR_SEAL_TOKEN": token, "VACR_REGISTER_TOKEN": token} if token else {}
    for number in _CANCEL_SIGNALS:
        signal.signal(number, _end)
    with TemporaryDirectory(prefix="vacr-", dir=os.environ.get("RUNNER_TEMP") or None) as folder:
        keys = Keys(Path(folder))
        reached = _reached(keys)
        late = _pending(Path(outbox), reached, environment)
        secret = ["--key", _secret(folder, "key", key)]
        secret += (
            ["--passphrase-file", _secret(folder, "passphrase", passphrase)] if passphrase else []
        )
        asked = ["--format", "json", "-o", output, *secret, *reached, *_asked()]
        done = _vacr(["seal", *asked, "--", *sessions], environment)
    return _tell(done, late, policy, told, output=output, outbox=outbox)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """End when the job is cancelled, so that the key is removed on the way; no second signal is to
    end that.
    """
    for one in _CANCEL_SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(_ENDED + number)


def _secret(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)  # noqa: PTH118 - it is handed on as text
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text + "\n")
    return path


def _reached(keys: Keys) -> list[str]:
    """Give the options that say which service is meant, and how it is reached."""
    options = [word for name in keys.files("log-key") for word in ("--log-key", name)]
    for name in ("service", "patience"):
        options += [f"--{name}", given(name)] if given(name) else []
    return options


def _asked() -> list[str]:
    """Give the options that say how sessions are sealed."""
    options = ["--base", f".@{given('base')}"] if given("base") else []
    for name in ("issuer", "timestamp"):
        options += [f"--{name}", given(name)] if given(name) else []
    return options + (["--seal-source"] if wished("seal-source") else [])


def _pending(outbox: Path, reached: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    """Register what an earlier run had to leave, where the outbox was brought along."""
    if not given("service") or not any(outbox.glob("*.json")):
        return []
    done = _vacr(["register", "--pending", "--format", "json", *reached], environment)
    statements: list[dict[str, Any]] = done.get("statements", [])
    return statements


def _vacr(arguments: list[str], environment: dict[str, str]) -> dict[str, Any]:
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
        _restore(handlers)
        raise
    with process:
        try:
            _restore(handlers)
            if received:
                _end(received[0], None)
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    return process.returncode, output


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _tell(
    done: dict[str, Any],
    late: list[dict[str, Any]],
    policy: str,
    told: Workflow,
    *,
    output: str,
    outbox: str,
) -> int:
    """Tell the workflow what was sealed, what has to wait, and what went wrong."""
    sealed = done.get("sealed", [])
    waiting = [one for one in [*sealed, *late] if one["state"] == PENDING]
    failed = [one for one in [*sealed, *late] if one["exit"] and one["state"] != PENDING]
    verdict = (
        FAILED
        if failed or done["exit"] not in (0, *{one["exit"] for one in waiting})
        else PENDING
        if waiting
        else SEALED
    )
    for one in failed:
        told.annotate(
            "error", f"not sealed: {one.get('error', '')}", one.get("source") or one["statement"]
        )
    for error in done.get("errors", []):
        told.annotate("error", f"not recorded: {error['error']}", error["source"])
    if verdict == FAILED and not failed and not done.get("errors"):
        told.annotate("error", f"vacr seal ended with exit code {done['exit']}; the log says why")
    for one in waiting:
        told.annotate(
            "warning",
            f"signed, and still to be registered: {one.get('error', '')}",
            one["statement"],
        )
    report = given("report") or str(
        Path(os.environ.get("RUNNER_TEMP") or ".") / "vacr-seal-report.json"
    )
    document = {
        "verdict": verdict,
        "sealed": sealed,
        "errors": done.get("errors", []),
        "late": late,
    }
    Path(report).write_bytes(encoded(document) + b"\n")
    told.summarise(seal_summary(verdict, sealed))
    counts = {"sealed": sum(one["exit"] == 0 for one in sealed), "pending": len(waiting)}
    places = {"output": output, "outbox": outbox, "report": report}
    for name, value in ({"verdict": verdict} | counts | places).items():
        told.output(name, value)
    return _NOT_MET if policy != NEVER and verdict in (FAILED, policy) else 0


if __name__ == "__main__":
    sys.exit(workflow.run(work))
