"""Checks of this machine: each finding names a fault or a risk, and the command that fixes it.

    >>> from pathlib import Path
    >>> from vacr.app import check_folders
    >>> Path("state/keys").mkdir(mode=0o755, parents=True)
    >>> [finding] = check_folders(Path("state"), Path("config"))
    >>> finding.message, finding.fix
    ('other users can read state/keys', "chmod go-rwx 'state/keys'")

Every check reads, and changes nothing. A check that cannot be made is a finding, too.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from vacr.app.session_keeping import list_unkept_sessions
from vacr.capture import (
    ERROR_LOG_FILE,
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    PROJECT_SCOPE,
    SERVER_EXTRA,
    USER_SCOPE,
    AgentSettings,
    can_server_start,
    find_hook_status,
    find_server_status,
    find_write_time,
    load_agent_hooks,
    load_agent_servers,
)
from vacr.discovery import SessionSummary, list_sessions
from vacr.errors import UnreadableInput, VacrError
from vacr.files import find_index_file, find_state_folder
from vacr.registration import Outbox, find_outbox_folder
from vacr.signing import compute_thumbprint, parse_public_keys
from vacr.workflows import (
    COUNTED_STATES,
    abbreviate_home,
    find_default_stores,
    find_own_settings,
    format_count,
    get_machine_key_paths,
)

OK, NOTE, WARNING, PROBLEM = "ok", "note", "warning", "problem"
"""The grades of findings: warnings and problems need an action, notes are offers."""
FINDING_GRADES = frozenset((WARNING, PROBLEM))

_EXTRAS = {
    "cluster": ("distributed", "record on a cluster"),
    "hsm": ("pkcs11", "sign with keys in devices"),
    "log": ("uvicorn", "serve a log"),
    "lsp": ("pygls", "show lines' authors in editors"),
    "mcp": ("mcp", "answer agents' questions"),
    "parquet": ("pyarrow", "export tables as Parquet"),
    "postgres": ("psycopg", "keep a log in PostgreSQL"),
    "watch": ("watchfiles", "capture without polling"),
}
"""Each optional part with a module that it installs, and its purpose."""
_PROGRAMS = {"git": "blame, notes and replay need it"}
_MAX_NAMED = 3
_CLOCK_TOLERANCE_SECONDS = 600
_FIRST_RELEASE = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class HealthFinding:
    """One result of a check."""

    area: str
    grade: str
    """OK, NOTE, WARNING or PROBLEM."""
    message: str
    fix: str = ""
    """The command that fixes it; empty if no action is needed."""
    part: str = ""
    """The optional part of vacr that is not installed, if the finding is about one."""


def check_parts(environment: Mapping[str, str] = os.environ) -> Iterator[HealthFinding]:
    """Yield the installed and the missing optional parts, and the programs that vacr calls."""
    installed = [name for name, (module, _) in _EXTRAS.items() if find_spec(module) is not None]
    if installed:
        yield HealthFinding("parts", OK, f"installed: {', '.join(installed)}")
    for name, (_, purpose) in _EXTRAS.items():
        if name not in installed:
            yield HealthFinding(
                "parts",
                NOTE,
                f"vacr[{name}] is not installed; it is needed to {purpose}",
                f"pip install 'vacr[{name}]'",
                name,
            )
    for program, purpose in _PROGRAMS.items():
        path = shutil.which(program, path=environment.get("PATH"))
        if path is None:
            message = f"{program} is not installed: {purpose}"
            yield HealthFinding("parts", WARNING, message, f"apt install {program}")
        else:
            yield HealthFinding("parts", OK, f"{program}: {path}")


def check_folders(state: Path, config: Path) -> Iterator[HealthFinding]:
    """Yield the permissions that let other users read secrets, or change settings and trust.

    Also yield the secrets, settings and trust stores that belong to another user. Files that do
    not exist are skipped. On Windows, nothing is checked.
    """
    if sys.platform == "win32":
        return
    index = find_index_file(state)
    names = ("keys", "journal", "sealed", "kept", "spool", "outbox")
    private = [index.parent, index, *(state / name for name in names)]
    keys = (state / "keys").glob("*.pem") if (state / "keys").is_dir() else ()
    private += [key for key in keys if not key.name.endswith(".pub.pem")]
    own = [config, *(config / name for name in ("vacr.toml", "trust.toml"))]
    checks = [(path, 0o077, "read", "go-rwx") for path in private]
    checks += [(path, 0o022, "write to", "go-w") for path in own]
    for path, mask, verb, mode in checks:
        try:
            found = path.stat()
        except OSError:
            continue
        if stat.S_IMODE(found.st_mode) & mask:
            shown = abbreviate_home(str(path))
            message = f"other users can {verb} {shown}"
            yield HealthFinding("permissions", PROBLEM, message, f"chmod {mode} '{path}'")
        elif found.st_uid not in (0, os.geteuid()):
            message = f"{path} belongs to another user"
            yield HealthFinding("permissions", PROBLEM, message, f"sudo chown $USER '{path}'")


def check_keys(environment: Mapping[str, str] = os.environ) -> Iterator[HealthFinding]:
    """Yield whether this machine has a signing key, and whether the user's trust store lists it."""
    private, public = get_machine_key_paths(find_state_folder(environment))
    if not private.exists():
        if public.exists():
            message = f"the private key of this machine is missing: {abbreviate_home(str(private))}"
            yield HealthFinding("key", PROBLEM, message, f"mv '{public}' '{public}.old'")
        elif not find_own_settings(environment).exists():
            yield HealthFinding("key", NOTE, "no key, trust store and log are set up", "vacr init")
        return
    try:
        [key] = parse_public_keys(public.read_bytes())
        stores = [store for store in find_default_stores(environment) if store.state == "own"]
        parties = [party for store in stores for party in store.parse().parties]
    except (OSError, ValueError, VacrError) as error:
        yield HealthFinding(
            "key", PROBLEM, f"the key of this machine cannot be read: {error}", f"ls -l '{public}'"
        )
        return
    thumbprint = compute_thumbprint(key)
    shown = f"key {thumbprint.hex()[:16]} of this machine"
    names = [
        party.name
        for party in parties
        if any(compute_thumbprint(trusted_key) == thumbprint for trusted_key in party.keys)
    ]
    if names:
        yield HealthFinding("key", OK, f"{shown} is trusted as {names[0]}")
    else:
        fix = f"vacr trust add NAME --key '{public}'"
        yield HealthFinding("key", WARNING, f"{shown} is not in your trust store", fix)


def check_trust(environment: Mapping[str, str] = os.environ) -> Iterator[HealthFinding]:
    """Yield each trust store, and whether it counts."""
    try:
        stores = find_default_stores(environment)
    except VacrError as error:
        yield HealthFinding("trust", PROBLEM, str(error), error.hint)
        return
    for store in stores:
        shown = abbreviate_home(store.path)
        if store.state not in COUNTED_STATES:
            message = f"trust store {shown} is {store.state}, and does not count"
            yield HealthFinding("trust", WARNING, message, "vacr trust approve")
            continue
        try:
            count = format_count(len(store.parse().parties), "trusted party")
            yield HealthFinding("trust", OK, f"trust store {shown}: {count}")
        except UnreadableInput as error:
            yield HealthFinding("trust", PROBLEM, str(error), f"${{EDITOR:-vi}} '{store.path}'")


def check_agents(environment: Mapping[str, str] = os.environ) -> Iterator[HealthFinding]:
    """Yield whether agents here have our hooks and MCP server, and whether these work."""
    for hooks in load_agent_hooks().values():
        if hooks.is_here(environment):
            for scope, path in _list_settings(hooks, environment):
                status, detail = find_hook_status(hooks, path, environment)
                yield from _grade_entry(hooks.name, "hook", scope, path, (status, detail))
    for servers in load_agent_servers().values():
        if servers.is_here(environment):
            for scope, path in _list_settings(servers, environment):
                found = find_server_status(servers, path)
                if can_server_start():
                    yield from _grade_entry(servers.name, "mcp", scope, path, found)
                elif found[0] != HOOKS_NOT_INSTALLED:
                    # Installing the settings again would not help.
                    fix = f"pip install '{SERVER_EXTRA}'"
                    yield HealthFinding("mcp", PROBLEM, f"{servers.name}: {found[1]}", fix)


def _list_settings(agent: AgentSettings, environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return the settings files of an agent, of the user and of this project, with the scopes."""
    paths: dict[Path, str] = {}
    for scope in (USER_SCOPE, PROJECT_SCOPE):
        # In the home folder, both may be the same file.
        paths.setdefault(agent.path(scope, environment, Path.cwd()), scope)
    return [(scope, path) for path, scope in paths.items()]


def _grade_entry(
    agent: str, verb: str, scope: str, path: Path, found: tuple[str, str]
) -> Iterator[HealthFinding]:
    """Yield a finding about our hooks, or our MCP server, in one settings file of an agent."""
    status, detail = found
    area = "hooks" if verb == "hook" else "mcp"
    option = " --project" if scope == PROJECT_SCOPE else ""
    install = f"vacr {verb} install --agent {agent}{option}"
    if status == HOOKS_INSTALLED:
        yield HealthFinding(area, OK, f"{agent}: installed in {abbreviate_home(str(path))}")
    elif status != HOOKS_NOT_INSTALLED:
        message = f"{agent}: {status} in {abbreviate_home(str(path))}: {detail}"
        yield HealthFinding(area, PROBLEM, message, install)
    elif scope == USER_SCOPE:
        yield HealthFinding(area, NOTE, f"{agent}: not installed", install)


def check_sessions(
    state: Path, environment: Mapping[str, str] = os.environ, now: float | None = None
) -> Iterator[HealthFinding]:
    """Yield how many sessions there are, which cannot be read, and which are deleted soon."""
    now = time.time() if now is None else now
    failed: list[UnreadableInput] = []
    sessions = list(list_sessions(environment=environment, failed=failed))
    if not sessions:
        yield HealthFinding("sessions", NOTE, "no sessions found on this machine")
    agents = sorted({session.agent for session in sessions})
    for agent in agents:
        count = sum(session.agent == agent for session in sessions)
        kept = sum(session.agent == agent and session.is_kept for session in sessions)
        more = f", {kept:,} of them deleted by the agent and kept by you" if kept else ""
        yield HealthFinding("sessions", OK, f"{agent}: {format_count(count, 'session')}{more}")
    for error in failed:
        yield HealthFinding("sessions", WARNING, f"cannot be read: {error}", "vacr list -v")
    endangered = list_unkept_sessions(state, environment, now)
    for agent in agents:
        lost = [
            at_risk
            for at_risk in endangered
            if at_risk.session.agent == agent and not at_risk.is_captured
        ]
        if lost:
            names = ", ".join(at_risk.session.session_id[:8] for at_risk in lost[:_MAX_NAMED])
            more = f" and {len(lost) - _MAX_NAMED} more" if len(lost) > _MAX_NAMED else ""
            # A time long ago means that the agent deletes it when it starts next.
            first = datetime.fromtimestamp(max(lost[0].deleted_at, now), UTC).astimezone()
            message = (
                f"{agent} deletes {format_count(len(lost), 'session')} within 7 days, from "
                f"{first:%Y-%m-%d}: {names}{more}"
            )
            yield HealthFinding("sessions", WARNING, message, "vacr keep")
    yield from _check_clock(sessions, now)


def _check_clock(sessions: list[SessionSummary], now: float) -> Iterator[HealthFinding]:
    """Yield a finding if the clock is before this software, or before the newest session."""
    newest = max((find_write_time(Path(session.path)) or 0 for session in sessions), default=0)
    if now < _FIRST_RELEASE or newest > now + _CLOCK_TOLERANCE_SECONDS:
        shown = datetime.fromtimestamp(now, UTC)
        message = f"the clock says {shown:%Y-%m-%d %H:%M} UTC, before the newest session"
        yield HealthFinding("clock", WARNING, message, "timedatectl status")


def check_index(state: Path) -> Iterator[HealthFinding]:
    """Yield whether the index of conversations can be read."""
    path = find_index_file(state)
    shown = abbreviate_home(str(path))
    missing = HealthFinding("index", NOTE, "no index yet; the first search makes it")
    if not path.exists():
        yield missing
        return
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            # The file also has the caches of other verbs, such as `vacr list`.
            query = "SELECT 1 FROM sqlite_master WHERE name = 'records'"
            if connection.execute(query).fetchone() is None:
                yield missing
                return
            [(count,)] = connection.execute("SELECT count(*) FROM records").fetchall()
            [(failures,)] = connection.execute(
                "SELECT count(*) FROM sources WHERE failure <> ''"
            ).fetchall()
    except (sqlite3.Error, ValueError) as error:
        yield HealthFinding("index", PROBLEM, f"{shown}: {error}", f"rm '{path}'* && vacr stats")
        return
    yield HealthFinding("index", OK, f"{shown}: {format_count(count, 'conversation')}")
    if failures:
        message = f"{format_count(failures, 'session')} could not be read into the index"
        yield HealthFinding("index", WARNING, message, "vacr stats -v")


def check_waiting(state: Path) -> Iterator[HealthFinding]:
    """Yield what waits for the user: statements to register, and errors of hooks."""
    items = list(Outbox(find_outbox_folder({"VACR_STATE": str(state)})).items())
    if items:
        message = f"{format_count(len(items), 'statement')} not yet registered in a log"
        yield HealthFinding("log", WARNING, message, "vacr register --pending")
    errors = state / os.fsdecode(ERROR_LOG_FILE)
    if errors.is_file() and errors.stat().st_size:
        message = f"hooks have logged errors: {abbreviate_home(str(errors))}"
        yield HealthFinding("hooks", WARNING, message, f"cat '{errors}'")
