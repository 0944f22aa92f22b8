"""`vacr init`: choose a key, a trust store and a log once, and write them to the settings.

>>> from vacr.cli import run_command_line
>>> run_command_line(["init", "--yes", "--name", "Mira Example"])
key ...signing.pem: key ..., yours as Mira Example
public key ...signing.pub.pem: give it to those who verify
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

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
from vacr.console import Voice, print_message
from vacr.errors import UsageError, VacrError
from vacr.files import find_state_folder, make_absolute
from vacr.signing import PKCS11_PREFIX, PublicKey, Signer, compute_thumbprint
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.verification import find_name_problem
from vacr.workflows import (
    SetupPlan,
    abbreviate_home,
    check_settings_absent,
    choose_trust_stores,
    ensure_machine_key,
    find_own_name,
    find_own_store,
    find_public_key_file,
    get_machine_key_paths,
    is_project_store,
    load_trust_stores,
)

_SHORT_THUMBPRINT = 16
_NONE = "none"
_Checked = TypeVar("_Checked")


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
    """Set up a key, a trust store and a log, once.

    Then `vacr seal` and `vacr verify` need no options. Asks for your key and name, a trust store
    and a log, and writes the answers to vacr.toml in your configuration folder. Your own key goes
    into your trust store, under your name. With a log, its keys go there, too: compare their
    thumbprints with the published ones.

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
        print_message("Enter takes the answer in brackets. Ctrl-C ends without a change.\n")
    load_key = partial(_load_signer, passphrase_file=passphrase_file)
    find_keys = partial(_find_log_keys, named=log_key, certificates=certificates)
    signer = load_key(key) if key is not None else None
    if name is not None:
        _check_name(name)
    if trust_store is not None:
        _check_trust_store(trust_store)
    log_keys = find_keys(service) if service is not None else []
    machine_key, _ = get_machine_key_paths(find_state_folder(os.environ))
    if signer is None and not yes:
        key, signer = _ask_key(machine_key, load_key)
    if signer is None and machine_key.exists():
        signer = load_key(str(machine_key))
    default_name = find_own_name(signer.public_key if signer is not None else None)
    if name is None and not yes:
        question = "   Your name: verdicts show it for this key"
        name, _ = _ask(question, default_name, _check_name)
    if trust_store is None and not yes:
        trust_store, _ = _ask_trust_store()
    if service is None and not yes:
        service, found = _ask("3. Log to register in: a URL", _NONE, find_keys)
        log_keys = found or []
    # Only now, so that a set-up that is interrupted has made nothing.
    if key is None:
        key = ensure_machine_key(find_state_folder(os.environ))
    signer = signer or load_key(key)
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


def _check_file(file: str, kind: str) -> None:
    """Check that the file of a `kind` exists, unless it names a key in a device.

    Raises:
        UsageError: it does not exist.
    """
    if not file.startswith(PKCS11_PREFIX) and not Path(file).exists():
        raise UsageError("there is no such file", where=file, hint=f"Check the path of the {kind}.")


def _load_signer(key: str, passphrase_file: str | None) -> Signer:
    """Return the signer for a private key.

    Raises:
        VacrError: there is no such key, or it cannot be used.
    """
    _check_file(key, "key")
    return load_signer_from_options(key=key, alg=None, passphrase_file=passphrase_file, force=False)


def _check_name(name: str) -> None:
    """Check that verdicts can show a name.

    Raises:
        UsageError: they cannot.
    """
    if problem := find_name_problem(name):
        raise UsageError(f"the name {name!r} {problem}", hint="Choose another name.")


def _check_trust_store(file: str) -> None:
    """Check that a file is a trust store that the settings may name.

    Raises:
        UsageError: it does not exist, or it belongs to a project.
        VacrError: it cannot be read, or is not a trust store.
    """
    _check_file(file, "trust store")
    if is_project_store(Path(file)):
        raise UsageError(
            f"{file} is the trust store of a project, and can change without your approval",
            hint="Leave it out, and approve it in the project: vacr trust approve",
        )
    load_trust_stores(choose_trust_stores((file,)))


def _ask_key(
    machine_key: Path, load_key: Callable[[str], Signer]
) -> tuple[str | None, Signer | None]:
    """Return the key that the user chooses with its signer, or None for this machine's key."""
    shown = abbreviate_home(str(machine_key))
    made = "" if machine_key.exists() else ", to be made"
    question = "1. Key to sign with: a file, or pkcs11:…"
    return _ask(question, f"this machine's, {shown}{made}", load_key)


def _ask_trust_store() -> tuple[str | None, None]:
    """Return the trust store of the user's team, or None without one."""
    shown = abbreviate_home(str(find_own_store()))
    question = "2. Trust store of your team: a file"
    return _ask(question, f"only your own, {shown}", _check_trust_store)


def _ask(
    question: str, default: str, check: Callable[[str], _Checked]
) -> tuple[str | None, _Checked | None]:
    """Return the user's answer, with `~` expanded, and what `check` returns for it.

    Return None for the default. Ask again while `check` refuses the answer.
    """
    while True:
        try:
            typed: str = click.prompt(
                f"{question}\n   [{default}]", default="", show_default=False, err=True
            )
        except click.Abort:
            print_message("")  # The message about the end gets a line of its own.
            raise
        answer = os.path.expanduser(typed.strip())  # noqa: PTH111 - a URL is no path
        if answer in ("", _NONE):
            return None, None
        try:
            return answer, check(answer)
        except VacrError as error:
            print_message(f"vacr: {error.diagnostics()}")


def _find_log_keys(
    service: str, *, named: tuple[str, ...], certificates: dict[str, Any]
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
    public_key = find_public_key_file(plan.key, plan.public_key)
    if public_key is not None:
        shown_public_key = abbreviate_home(str(public_key))
        voice.result(f"public key {shown_public_key}: give it to those who verify")
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
            "public-key": str(public_key) if public_key is not None else None,
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
