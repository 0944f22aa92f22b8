"""`vacr init`: choose a key, a trust store and a log once, and write them to the settings.

>>> from vacr.cli import run_command_line
>>> run_command_line(["init", "--yes", "--name", "Mira Example"])
key ...signing.pem: key ..., yours as Mira Example
trust store ...trust.toml: trusts Mira Example
log: none; vacr init --overwrite --service URL adds one
settings ...vacr.toml: written
Next: vacr seal latest -o sealed/, then vacr verify sealed/
0
>>> run_command_line(["seal", "examples/codex-cli.jsonl", "-o", "sealed/", "-q"])
0
>>> run_command_line(["verify", "sealed/"])
✓ structure: COSE_Sign1, hash-envelope
...
sealed/codex-cli.acr.json: verified: Mira Example ...
0
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import (
    PATH,
    SetupVerb,
    certificate_options,
    load_service_settings,
    load_signer_from_options,
    log_key_option,
    voice_options,
)
from vacr.console import Voice
from vacr.errors import UsageError
from vacr.files import find_state_folder, make_absolute
from vacr.signing import PKCS11_PREFIX, PublicKey, compute_thumbprint
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.workflows import (
    SetupPlan,
    abbreviate_home,
    check_settings_absent,
    ensure_machine_key,
    find_own_name,
    find_own_store,
    get_machine_key_paths,
    is_project_store,
)

_SHORT_THUMBPRINT = 16


@click.command(cls=SetupVerb)
@click.option(
    "--key",
    metavar="FILE|pkcs11:…",
    help="Private key to sign with.  [default: this machine's key, made if missing]",
)
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=PATH,
    help="File whose first line is the passphrase of the key, or the PIN of the device with "
    "the key.",
)
@click.option(
    "--name", metavar="TEXT", help="Your name in the trust store.  [default: as it is, or git's]"
)
@click.option(
    "--trust-store",
    metavar="FILE",
    type=PATH,
    help="Trust store of your team, in addition to your own.  [default: none]",
)
@click.option("--service", metavar="URL", help="Transparency log to register in.  [default: none]")
@log_key_option(
    help="Public key of the log, or the log's folder; repeatable.  [default: ask the service]"
)
@certificate_options
@click.option("--yes", is_flag=True, help="Do not ask; use the options and the defaults.")
@click.option("--overwrite", is_flag=True, help="Replace settings that exist.")
@voice_options
def command(
    key: str | None,
    passphrase_file: str | None,
    name: str | None,
    trust_store: str | None,
    service: str | None,
    log_key: tuple[str, ...],
    yes: bool,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **certificates: Any,
) -> int:
    """Set up vacr: a key, a trust store and a log. Then seal and verify need no options.

    Asks for your key and name, a trust store and a log, and writes the answers to vacr.toml in your
    configuration folder. Your own key goes into your trust store, under your name. With a log, its
    keys go there, too: compare their thumbprints with the published ones.

    \b
    Example:
      vacr init
      vacr init --yes
      vacr init --yes --key keys/signing.pem --service https://log.example.org
    """
    voice = Voice(format, quiet, verbose)
    if not overwrite:
        check_settings_absent()
    if not yes:
        _check_can_ask(voice)
        key = key or _ask_key()
    if key is not None:
        _check_file("--key", key)
    if key is None:
        key = ensure_machine_key(find_state_folder(os.environ))
    signer = load_signer_from_options(
        key=key, alg=None, passphrase_file=passphrase_file, force=False
    )
    default_name = find_own_name(signer.public_key)
    if not yes:
        name = name or _ask_text("   Your name: verdicts show it for this key", default_name)
        trust_store = trust_store or _ask_trust_store()
        service = service or _ask_text("3. Log to register in: a URL", "none")
    if trust_store is not None:
        _check_file("--trust-store", trust_store)
    if trust_store and is_project_store(Path(trust_store)):
        raise UsageError(
            f"{trust_store} is the trust store of a project, and can change without your approval",
            hint="Leave it out, and approve it in the project: vacr trust approve",
        )
    log_keys = _find_log_keys(service, log_key, certificates) if service is not None else []
    plan = SetupPlan(
        key if key.startswith(PKCS11_PREFIX) else make_absolute(key),
        signer.public_key,
        name or default_name,
        trust_store,
        service,
        log_keys,
    )
    path = plan.carry_out()
    _report(plan, path, voice, is_default_name=name is None)
    return 0


def _check_can_ask(voice: Voice) -> None:
    """Check that the user can be asked.

    Raises:
        UsageError: there is no terminal, or the output is JSON.
    """
    if voice.json or not sys.stdin.isatty():
        raise UsageError(
            "cannot ask: --format json is set" if voice.json else "cannot ask without a terminal",
            hint="Add --yes to use the defaults, or options such as --key FILE and --service URL.",
        )


def _check_file(option: str, file: str) -> None:
    """Check that the file of an option exists, unless it names a key in a device.

    Raises:
        UsageError: it does not exist.
    """
    if not file.startswith(PKCS11_PREFIX) and not Path(file).exists():
        raise UsageError(f"{option} {file}: there is no such file", hint="Check the path.")


def _ask_key() -> str | None:
    """Return the key that the user chooses, or None for this machine's key."""
    machine_key, _ = get_machine_key_paths(find_state_folder(os.environ))
    shown = abbreviate_home(str(machine_key))
    made = "" if machine_key.exists() else ", made now"
    return _ask_text("1. Key to sign with: a file, or pkcs11:…", f"this machine's, {shown}{made}")


def _ask_trust_store() -> str | None:
    """Return the trust store of the user's team, or None without one."""
    shown = abbreviate_home(str(find_own_store()))
    return _ask_text("2. Trust store of your team: a file", f"only your own, {shown}")


def _ask_text(question: str, default: str) -> str | None:
    """Return the user's answer to a question, with `~` expanded, or None for the default."""
    answer: str = click.prompt(
        f"{question}\n   [{default}]", default="", show_default=False, err=True
    )
    return os.path.expanduser(answer.strip()) or None  # noqa: PTH111 - a URL is no path


def _find_log_keys(
    service: str, named: tuple[str, ...], certificates: dict[str, Any]
) -> list[PublicKey]:
    """Return the keys of a log: the named ones, or the published ones.

    Raises:
        VacrError: the service cannot be reached, or a key cannot be read.
    """
    settings = load_service_settings(
        token_file=None,
        log_key=named,
        entry_rule=ENTRY_RULE_STATEMENT,
        patience=0,
        **certificates,
    )
    return list(settings.log_keys) or settings.registrar(service).client.keys()


def _report(plan: SetupPlan, path: Path, voice: Voice, *, is_default_name: bool) -> None:
    """Print the result, and the next step. `is_default_name` says that nobody chose the name."""
    store, settings = abbreviate_home(str(find_own_store())), abbreviate_home(str(path))
    thumbprint = _format_thumbprint(plan.public_key)
    shown_key = abbreviate_home(plan.key)
    voice.result(f"key {shown_key}: key {thumbprint}, yours as {plan.name}")
    if is_default_name:
        voice.result(f"name: {plan.name}; vacr init --overwrite --name NAME changes it")
    also = f", and {plan.trust_store}" if plan.trust_store else ""
    voice.result(f"trust store {store}: trusts {plan.name}{also}")
    if plan.service is None:
        voice.result("log: none; vacr init --overwrite --service URL adds one")
    else:
        keys = ", ".join(map(_format_thumbprint, plan.log_keys))
        voice.result(f"log {plan.service}: key {keys}; compare it with the operator's")
    voice.result(f"settings {settings}: written")
    voice.result("Next: vacr seal latest -o sealed/, then vacr verify sealed/")
    voice.data(
        {
            "settings": str(path),
            "key": plan.key,
            "thumbprint": compute_thumbprint(plan.public_key).hex(),
            "name": plan.name,
            "trust-store": str(find_own_store()),
            "service": plan.service,
            "log-keys": [compute_thumbprint(key).hex() for key in plan.log_keys],
        }
    )


def _format_thumbprint(key: PublicKey) -> str:
    """Return the first letters of a key's thumbprint, as verdicts show them."""
    return compute_thumbprint(key).hex()[:_SHORT_THUMBPRINT]
