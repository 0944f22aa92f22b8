"""`vacr trust`: the people and services that you trust, by name.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["key", "generate", "-o", "keys/", "-q"])
    0
    >>> add = ["trust", "add", "Alice Example", "--key", "keys/signing.pub.pem"]
    >>> run_command_line([*add, "--trust-store", "team.toml"])
    team.toml: added Alice Example (signer): key ...
    0
    >>> run_command_line(["trust", "list", "--trust-store", "team.toml"])
    trust store team.toml: named
      Alice Example: signer; key ...
    0

A verdict of `vacr verify` then says `signed by Alice Example`.
"""

from __future__ import annotations

import difflib
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from cryptography.hazmat.primitives import hashes

from vacr.cli.options import PATH, Verb, trust_store_option, voice_options, warn_with
from vacr.cli.settings import check_settings
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, write_bytes
from vacr.errors import UnreadableInput, UsageError, escape_unprintable
from vacr.files import STDIN, is_file, write_file_atomically
from vacr.signing import (
    compute_thumbprint,
    compute_thumbprint_uri,
    parse_pem_certificates,
    parse_public_keys,
    read_trust_file,
)
from vacr.transparency import parse_verifier_key
from vacr.verification import (
    ROLE_SIGNER,
    ROLES,
    CertificateIdentity,
    TrustedParty,
    TrustStore,
    format_trust_store,
    parse_trust_store,
)
from vacr.workflows import (
    COUNTED_STATES,
    PROJECT_SETTINGS,
    PROJECT_STORE,
    SETTINGS_NAME,
    STORE_APPROVED,
    STORE_REFUSED,
    TrustStoreFile,
    abbreviate_home,
    add_trusted_party,
    approve_store,
    check_inside_project,
    choose_trust_stores,
    find_default_stores,
    find_own_store,
    find_project_folder,
    find_project_settings,
    find_project_store,
    load_trust_stores,
    parse_project_settings,
    read_project_file,
    remember_approval,
    remove_trusted_party,
    renew_approval,
)

_TARGET_HELP = "Trust store to change.  [default: your own]"
_PROJECT_HELP = f"Change the store of this project, {PROJECT_STORE}."


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Name the people and services that you trust.

    A trust store is a TOML file with names, keys, roles and validity. Yours lies in
    ~/.config/vacr/trust.toml (or VACR_CONFIG). A project can have one in .vacr/trust.toml, for
    review in pull requests; it counts only after you approved it.

    \b
    Example:
      vacr trust add "Alice Example" --key alice.pub.pem
      vacr trust list
      vacr verify abc.acr.json
    """


@command.command(cls=Verb, short_help="Trust a person or a service.")
@click.argument("name")
@click.option(
    "--key", metavar="FILE", type=PATH, multiple=True, help="Public key of the party; repeatable."
)
@click.option(
    "--role",
    type=click.Choice(ROLES),
    multiple=True,
    help="What the party is trusted for; repeatable.  [default: signer]",
)
@click.option(
    "--issuer",
    metavar="URI",
    multiple=True,
    help="Issuer that the party's statements may name; repeatable.",
)
@click.option(
    "--authority",
    metavar="FILE",
    type=PATH,
    help="Root certificate of the authority that certifies the party.",
)
@click.option(
    "--email",
    metavar="ADDRESS",
    help="E-mail address that the party's certificate must contain; needs --authority.",
)
@click.option(
    "--uri", metavar="URI", help="URI that the party's certificate must contain; needs --authority."
)
@click.option(
    "--dns",
    metavar="HOST",
    help="Host name that the party's certificate must contain; needs --authority.",
)
@click.option(
    "--note-key",
    metavar="VKEY",
    help="Key of a log's checkpoints or a witness's cosignatures: NAME+ID+KEY.",
)
@click.option(
    "--valid-from", metavar="TIME", help="Start of the trust, such as 2026-01-01T00:00:00Z."
)
@click.option("--valid-until", metavar="TIME", help="End of the trust.")
@click.option("--trust-store", metavar="FILE", type=PATH, help=_TARGET_HELP)
@click.option("--project", is_flag=True, help=_PROJECT_HELP)
@voice_options
def add(
    name: str,
    key: tuple[str, ...],
    role: tuple[str, ...],
    issuer: tuple[str, ...],
    authority: str | None,
    email: str | None,
    uri: str | None,
    dns: str | None,
    note_key: str | None,
    valid_from: str | None,
    valid_until: str | None,
    trust_store: str | None,
    project: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Trust a person or a service, by NAME.

    Before, compare the thumbprint of the key with the one that the party gives you through another
    channel, such as by telephone: vacr key show FILE.

    \b
    Example:
      vacr trust add "Alice Example" --key alice.pub.pem \\
        --issuer https://example.org/alice
      vacr trust add "Bob Example" --authority ca.pem --email bob@example.org
      vacr trust add "Example log" --role log --key log.pub.pem
      vacr trust add "Example clock" --role timestamp-authority \\
        --authority tsa.pem
    """
    voice = Voice(format, quiet, verbose)
    names = {"email": email, "uri": uri, "dns": dns}
    if not key and authority is None and note_key is None and not any(names.values()):
        hint = "Add --key FILE, or --authority FILE with --email, --uri or --dns."
        if is_file(name):
            hint = f"A name comes first: vacr trust add NAME --key {name}"
            if name.endswith(".toml"):
                hint = f"To verify with a trust store: vacr verify FILE --trust-store {name}"
        raise UsageError(f"{name}: no key or certificate given", hint=hint)
    party = TrustedParty(
        name,
        role or (ROLE_SIGNER,),
        tuple(found for file in key for found in _read_keys(file)),
        _build_identities(authority, {kind: value for kind, value in names.items() if value}),
        issuer,
        _parse_time(valid_from, "--valid-from"),
        _parse_time(valid_until, "--valid-until"),
        parse_verifier_key(note_key) if note_key is not None else None,
    )
    path = _find_target(trust_store, project=project)
    before = _read_before_change(path) if project else None
    change = add_trusted_party(path, party, is_shared=project or trust_store is not None)
    if project and not renew_approval(path, before, change):
        voice.notice(_describe_missing_approval(path))
    shown = abbreviate_home(trust_store or str(path))
    voice.result(f"{shown}: added {name} ({', '.join(party.roles)}){_describe_material(party)}")
    voice.data({"trust-store": str(path), "added": _build_party_document(party)})
    return 0


def _read_keys(file: str) -> list[Any]:
    """Return the public keys in a file.

    Raises:
        UnreadableInput: it contains none.
    """
    data = read_trust_file(file)
    try:
        return parse_public_keys(data)
    except UnreadableInput as error:
        if b"-----BEGIN CERTIFICATE-----" in data:
            raise UnreadableInput(
                "this is a certificate; --key needs a public key",
                where=file,
                hint="To trust a name in certificates of an authority: --authority FILE --email "
                "ADDRESS",
            ) from error
        raise UnreadableInput(error.message, where=file, hint=error.hint) from error


def _build_identities(
    authority: str | None, names: dict[str, str]
) -> tuple[CertificateIdentity, ...]:
    """Return an identity for each name that an authority certifies, or one without a name.

    Raises:
        UsageError: a name has no authority.
        UnreadableInput: the authority's file contains no certificate.
    """
    if authority is None:
        for kind in names:
            raise UsageError(
                f"--{kind} needs --authority", hint="Name the root certificate: --authority FILE"
            )
        return ()
    try:
        [certificate, *others] = parse_pem_certificates(read_trust_file(authority))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=authority, hint=error.hint) from error
    if others:
        raise UsageError(
            "--authority takes one certificate, but the file has several",
            where=authority,
            hint="Keep only the root certificate.",
        )
    if not names:
        return (CertificateIdentity(certificate),)
    return tuple(CertificateIdentity(certificate, kind, value) for kind, value in names.items())


def _parse_time(text: str | None, option: str) -> datetime | None:
    """Return a time of an option in UTC, or None without one.

    Raises:
        UsageError: it is not a time with a time zone.
    """
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        f"{option} is not a time with a time zone: {text!r}",
        hint="For example: 2027-01-01T00:00:00Z",
    )


def _find_target(trust_store: str | None, *, project: bool) -> Path:
    """Return the path of the store to change.

    Raises:
        UsageError: both options are given, or there is no place for the store.
    """
    if trust_store is not None:
        if project:
            raise UsageError(
                "--project and --trust-store exclude each other", hint="Omit one of them."
            )
        return Path(trust_store)
    if not project:
        return find_own_store()
    top = find_project_folder(Path.cwd())
    if top is None:
        raise UsageError(
            "the current folder is not in a git repository",
            hint="Change to the project, or name a file with --trust-store.",
        )
    return top / PROJECT_STORE


def _read_before_change(path: Path) -> TrustStoreFile | None:
    """Return a project's store before it is changed, or None if it does not exist yet.

    Raises:
        UnreadableInput: it is malformed, or leads out of the project.
    """
    check_inside_project(path)
    if not os.path.lexists(path):
        return None
    store = read_project_file(path)
    store.parse()
    return store


def _describe_missing_approval(path: Path) -> str:
    return f"trust store {path}: not approved yet. To review and trust it: vacr trust approve"


@command.command("list", cls=Verb, short_help="List the trusted people and services.")
@trust_store_option(help="Trust store to list; repeatable.  [default: yours and this project's]")
@voice_options
def list_command(
    trust_store: tuple[str, ...],
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """List the trusted people and services.

    A project's store is also listed if it does not count, because you have not approved it.

    \b
    Example:
      vacr trust list
      vacr trust list --trust-store team.toml --format json
    """
    voice = Voice(format, quiet, verbose)
    files = list(choose_trust_stores(trust_store)) if trust_store else find_default_stores()
    documents = []
    for file in files:
        voice.result(f"trust store {abbreviate_home(file.path)}: {_describe_state(file.state)}")
        store = _parse_listed_store(file, voice)
        _print_store(store, voice)
        documents.append(_build_store_document(file, store))
    if not files:
        voice.result("No trust store. To make yours: vacr trust add NAME --key FILE")
    voice.data({"stores": documents})
    return 0


def _describe_state(state: str) -> str:
    """Return the state of a store; if it does not count, say so, with the next step."""
    if state in COUNTED_STATES:
        return state
    if state == STORE_REFUSED:
        return f"{state}; it does not count."
    return f"{state}; it does not count. To approve it: vacr trust approve"


def _parse_listed_store(file: TrustStoreFile, voice: Voice) -> TrustStore:
    """Parse a store; report an error in a store that does not count, and return it as empty.

    Raises:
        UnreadableInput: a store that counts is malformed.
    """
    try:
        return file.parse()
    except UnreadableInput as error:
        if file.state in COUNTED_STATES:
            raise
        voice.error(f"vacr: {error}", error.hint)
        return TrustStore()


def _print_store(store: TrustStore, voice: Voice) -> None:
    """Print a line for each party of a store, and the number of required witnesses."""
    if store.witnesses_required:
        count = len(store.witnesses)
        voice.result(f"  requires {store.witnesses_required} of {count} witnesses")
    for party in store.parties:
        voice.result(f"  {party.name}: {', '.join(party.roles)}{_describe_material(party, ';')}")


def _describe_material(party: TrustedParty, separator: str = ":") -> str:
    """Return the keys, identities, issuers and validity of a party, after a separator."""
    parts = [f"key {compute_thumbprint(key).hex()[:16]}" for key in party.keys]
    parts += [_describe_identity(identity) for identity in party.identities]
    if party.note_key is not None:
        # Its id has 32 bits: another key with the same id can be found.
        parts.append(f"note-key {party.note_key}")
    parts += [f"issuer {issuer}" for issuer in party.issuers]
    if party.valid_from is not None:
        parts.append(f"from {_format_time(party.valid_from)}")
    if party.valid_until is not None:
        parts.append(f"until {_format_time(party.valid_until)}")
    return f"{separator} {'; '.join(parts)}"


def _describe_identity(identity: CertificateIdentity) -> str:
    """Return the name that an authority certifies, the authority's fingerprint, and its name."""
    subject = identity.authority.subject.rfc4514_string()
    # Anybody can make a certificate with the same subject, or with a fingerprint in its subject.
    authority = f"certified by SHA-256 {_compute_authority_digest(identity)[:16]} ({subject})"
    return f"{identity}, {authority}" if identity.kind else authority


def _compute_authority_digest(identity: CertificateIdentity) -> str:
    return identity.authority.fingerprint(hashes.SHA256()).hex()


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _build_store_document(file: TrustStoreFile, store: TrustStore) -> dict[str, Any]:
    """Return a store, its state and its parties for JSON output."""
    return {
        "trust-store": file.path,
        "state": file.state,
        "sha256": file.digest,
        "witnesses-required": store.witnesses_required,
        "trusted": [_build_party_document(party) for party in store.parties],
    }


def _build_party_document(party: TrustedParty) -> dict[str, Any]:
    """Return a party for JSON output; keys are named by their thumbprints."""
    return {
        "name": party.name,
        "roles": list(party.roles),
        "keys": [compute_thumbprint_uri(key) for key in party.keys],
        "certificates": [
            {
                "authority": identity.authority.subject.rfc4514_string(),
                "authority-sha256": _compute_authority_digest(identity),
                **({identity.kind: identity.value} if identity.kind else {}),
            }
            for identity in party.identities
        ],
        "issuers": list(party.issuers),
        "note-key": str(party.note_key) if party.note_key is not None else None,
        "valid-from": _format_time(party.valid_from) if party.valid_from else None,
        "valid-until": _format_time(party.valid_until) if party.valid_until else None,
    }


@command.command(cls=Verb, short_help="Stop trusting a person or a service.")
@click.argument("name")
@click.option("--trust-store", metavar="FILE", type=PATH, help=_TARGET_HELP)
@click.option("--project", is_flag=True, help=_PROJECT_HELP)
@voice_options
def remove(
    name: str,
    trust_store: str | None,
    project: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Stop trusting a person or a service, by NAME.

    Records that the party signed earlier fail from then on. To keep those that a timestamp or a log
    proves to be older, edit the file and add `valid-until` instead.

    \b
    Example:
      vacr trust remove "Alice Example"
    """
    voice = Voice(format, quiet, verbose)
    path = _find_target(trust_store, project=project)
    if not path.exists():
        raise UsageError(
            "there is no such trust store",
            where=str(path),
            hint="Name one with --trust-store. To see the stores in use: vacr trust list",
        )
    before = _read_before_change(path) if project else None
    change = remove_trusted_party(path, name, is_shared=project or trust_store is not None)
    if project and not renew_approval(path, before, change):
        voice.notice(_describe_missing_approval(path))
    voice.result(f"{abbreviate_home(trust_store or str(path))}: removed {name}")
    voice.data({"trust-store": str(path), "removed": name})
    return 0


@command.command(cls=Verb, short_help="Write the trusted parties as one file.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@trust_store_option(help="Trust store to export; repeatable.  [default: all that count here]")
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    type=PATH,
    default=STDIN,
    help="Output file.  [default: standard output]",
)
@voice_options
def export(
    names: tuple[str, ...],
    trust_store: tuple[str, ...],
    output: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Write the trusted parties as one file.

    Writes the parties that count here, or those with the given NAMEs, as one trust store. It
    contains no secrets: you can share it with your team. It requires as many witnesses as the
    stores do, if it lists so many.

    \b
    Example:
      vacr trust export "Alice Example" -o .vacr/trust.toml
      vacr trust export > team.toml
    """
    voice = Voice(format, quiet, verbose)
    store = load_trust_stores(choose_trust_stores(trust_store, warn=warn_with(voice)))
    if store is None:
        raise UsageError(
            "there is no trust store to export", hint="To make one: vacr trust add NAME --key FILE"
        )
    if names:
        unknown = sorted(set(names) - {party.name for party in store.parties})
        if unknown:
            raise UsageError(f"the trust store does not list {unknown[0]!r}")
        chosen = TrustStore(tuple(party for party in store.parties if party.name in names))
        # Without this, the file would require no witnesses, although it lists them.
        required = min(store.witnesses_required, len(chosen.witnesses))
        store = replace(chosen, witnesses_required=required)
    data = format_trust_store(store)
    # Two stores may list one key: for that, the order of the stores decides, and one file has none.
    parse_trust_store(data, "the exported store")
    if output == STDIN:
        write_bytes([data])
        return 0
    write_file_atomically(Path(output), [data])
    voice.result(f"{output}: {', '.join(party.name for party in store.parties)}")
    voice.tip(f"To verify with it: vacr verify FILE --trust-store {output}")
    voice.data({"output": output, "trusted": [party.name for party in store.parties]})
    return 0


@command.command(cls=Verb, short_help="Approve the trust store and the settings of a project.")
@click.argument("file", required=False, type=PATH)
@click.option("--yes", is_flag=True, help="Approve without asking.")
@voice_options
def approve(
    file: str | None,
    yes: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Approve the trust store and the settings of this project, or the FILE.

    A clone could bring keys of an attacker, or settings that choose another key or log. So these
    files of a project count only after you approved them, and again after each change. Their
    content is shown first, and the changes since your last approval.

    \b
    Example:
      vacr trust approve
    """
    voice = Voice(format, quiet, verbose)
    document: dict[str, Any] = {}
    for path in _find_project_files(file):
        found = read_project_file(path)
        kind = "settings" if path.name == SETTINGS_NAME else "trust store"
        if found.state == STORE_APPROVED:
            voice.result(f"{kind} {path}: already approved")
        else:
            _approve_file(found, kind, voice, yes=yes)
        if kind == "settings":
            document["settings"] = {"path": str(path), "sha256": found.digest}
        else:
            document |= {"trust-store": str(path), "sha256": found.digest}
    voice.data({**document, "state": STORE_APPROVED})
    return 0


def _find_project_files(file: str | None) -> list[Path]:
    """Return the paths of the trust store and the settings of this project, or of one of them.

    Raises:
        UsageError: there are none, or `file` is not one of them.
    """
    folder = Path(file).parent if file is not None else Path.cwd()
    found = [find(folder) for find in (find_project_store, find_project_settings)]
    paths = [path for path in found if path is not None]
    if file is not None:
        paths = [path for path in paths if path.resolve() == Path(file).resolve()]
    if not paths:
        if file is not None:
            raise UsageError(
                f"not the trust store or the settings of a project: {file}",
                hint=f"They are the files {PROJECT_STORE} and {PROJECT_SETTINGS} at the top of a "
                "git repository.",
            )
        raise UsageError(
            "this project has no trust store and no settings",
            hint=f"They would be {PROJECT_STORE} and {PROJECT_SETTINGS}. To make a trust "
            "store: vacr trust add NAME --key FILE --project",
        )
    return paths


def _approve_file(file: TrustStoreFile, kind: str, voice: Voice, *, yes: bool) -> None:
    """Show a file of a project, ask unless `yes`, and remember the approval.

    Raises:
        UsageError: the user declines or cannot be asked, or a setting is wrong.
        UnreadableInput: the file is malformed, or cannot be read.
    """
    if not yes and (voice.quiet or voice.json):
        raise UsageError(
            f"cannot ask to approve {file.path}: --quiet and --format json hide its content",
            hint="Omit the option to read the content first, or add --yes to approve it unread.",
        )
    if file.state == STORE_REFUSED:
        file.parse()
    voice.result(f"{kind} {file.path}: {file.state}")
    if kind == "settings":
        settings = parse_project_settings(file)
        for line in _split_lines(settings.data):
            voice.result(f"  {line}")
        for problem in check_settings(settings, click.get_current_context().find_root()):
            raise problem
    else:
        _print_store(file.parse(), voice)
    if file.approved is not None:
        before, after = map(_split_lines, (file.approved, file.data))
        for line in difflib.unified_diff(before, after, "approved", "now", lineterm=""):
            voice.result(line)
    if not yes:
        question = "Use these settings" if kind == "settings" else "Trust these parties"
        _ask_approval(Path(file.path), question)
    if kind == "settings":
        remember_approval(file)
    else:
        approve_store(file)
    voice.result(f"{kind} {file.path}: approved, SHA-256 {file.digest}")


def _split_lines(data: bytes) -> list[str]:
    """Return the lines of a TOML file: other characters that break lines do not end a comment."""
    return data.decode().removesuffix("\n").split("\n")


def _ask_approval(path: Path, question: str) -> None:
    """Ask whether to approve a file of a project.

    Raises:
        UsageError: the user declines, or there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "approving needs a terminal",
            hint="Review the content above. To approve it, run the command again with --yes.",
        )
    project = escape_unprintable(str(path.parent.parent))
    if not click.confirm(f"{question} for everything in {project}?", err=True):
        raise UsageError("not approved", where=str(path))
