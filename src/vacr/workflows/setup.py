"""The first set-up: a key, the trust store, a log, and the settings that name them.

    >>> from vacr.workflows import format_settings
    >>> print(format_settings({"seal": {"key": "/keys/signing.pem"}, "sign": {}}), end="")
    # Settings of vacr: a table for each verb, with its options. See vacr VERB --help.
    <BLANKLINE>
    [seal]
    key = "/keys/signing.pem"

After it, `vacr seal` signs and registers, and `vacr verify` accepts the result, without options. A
second set-up with the same answers changes nothing.
"""

from __future__ import annotations

import getpass
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vacr.errors import UsageError
from vacr.files import (
    find_config_folder,
    make_absolute,
    make_folder_tree,
    write_durable_file,
)
from vacr.signing import PublicKey, compute_thumbprint, encode_public_pem
from vacr.verification import (
    ROLE_LOG,
    ROLE_SIGNER,
    TrustedParty,
    format_party,
    parse_trust_store,
)
from vacr.workflows.settings_files import find_own_settings
from vacr.workflows.trust_places import add_trusted_party, find_own_store, remove_trusted_party

_LOG_KEYS_NAME = "log-keys.pem"
_OWN_FILE_MODE = 0o600
_HEAD = "# Settings of vacr: a table for each verb, with its options. See vacr VERB --help.\n"
_SIGNING_VERBS = ("seal", "sign")
_REGISTERING_VERBS = ("seal", "register")
_VERIFYING_VERBS = ("verify", "view")


@dataclass(frozen=True)
class SetupPlan:
    """The answers to the questions of the set-up."""

    key: str
    """The private key: a file, or a PKCS#11 URI."""
    public_key: PublicKey
    name: str
    """The name of the signer in the trust store."""
    trust_store: str | None = None
    """A further trust store, such as a team's."""
    service: str | None = None
    """The URL of a transparency log."""
    log_keys: Sequence[PublicKey] = ()
    """The keys of the log's receipts."""

    def build_tables(self, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
        """Return the tables of the settings file."""
        tables: dict[str, dict[str, Any]] = {}
        for verb in _SIGNING_VERBS:
            tables.setdefault(verb, {})["key"] = self.key
        if self.service is not None:
            for verb in _REGISTERING_VERBS:
                log_keys = str(find_config_folder(environment) / _LOG_KEYS_NAME)
                tables.setdefault(verb, {}).update(service=self.service, **{"log-key": [log_keys]})
        if self.trust_store is not None:
            stores = [str(find_own_store(environment)), make_absolute(self.trust_store)]
            for verb in _VERIFYING_VERBS:
                tables.setdefault(verb, {})["trust-store"] = stores
        return tables

    def carry_out(self, environment: Mapping[str, str] = os.environ) -> Path:
        """Write the trust store, the keys of the log and the settings; return the settings' path.

        Raises:
            UsageError: the trust store has another party with one of the names.
            UnreadableInput: a file cannot be written.
        """
        self._trust_signer(environment)
        folder = find_config_folder(environment)
        if self.service is not None and self.log_keys:
            name = f"log {urlsplit(self.service).netloc}"
            _trust(TrustedParty(name, (ROLE_LOG,), tuple(self.log_keys)), environment)
            pem = b"".join(map(encode_public_pem, self.log_keys))
            write_durable_file(folder / _LOG_KEYS_NAME, pem, _OWN_FILE_MODE)
        path = find_own_settings(environment)
        make_folder_tree(path.parent)
        text = format_settings(self.build_tables(environment))
        write_durable_file(path.resolve(), text.encode(), _OWN_FILE_MODE)
        return path

    def _trust_signer(self, environment: Mapping[str, str]) -> None:
        """Add the own key to the user's own store; if it is there under another name, rename it."""
        party = TrustedParty(self.name, (ROLE_SIGNER,), (self.public_key,))
        others = _list_own_parties(environment)
        if self.name not in (other.name for other in others):
            for other in others:
                if format_party(replace(party, name=other.name)) == format_party(other):
                    remove_trusted_party(find_own_store(environment), other.name)
        _trust(party, environment)


def _list_own_parties(environment: Mapping[str, str]) -> Sequence[TrustedParty]:
    """Return the parties in the user's own store; none if there is no store."""
    path = find_own_store(environment)
    return parse_trust_store(path.read_bytes(), str(path)).parties if path.exists() else ()


def _trust(party: TrustedParty, environment: Mapping[str, str]) -> None:
    """Add a party to the user's own store, unless the store has these keys for this role."""
    path = find_own_store(environment)
    trusted = {
        compute_thumbprint(key)
        for other in _list_own_parties(environment)
        if set(party.roles) <= set(other.roles)
        for key in other.keys
    }
    if any(compute_thumbprint(key) not in trusted for key in party.keys):
        add_trusted_party(path, party)


def check_settings_absent(environment: Mapping[str, str] = os.environ) -> None:
    """Check that the user has no settings yet.

    Raises:
        UsageError: there are settings.
    """
    path = find_own_settings(environment)
    if path.exists():
        raise UsageError(
            "the settings exist already",
            where=str(path),
            hint="Edit the file, or add --overwrite to replace it.",
        )


def find_own_name(key: PublicKey | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the user's key: in the own trust store, or as git knows the user.

    Without either, it is the name of the account. A key that is still to be made is None.
    """
    thumbprint = compute_thumbprint(key) if key is not None else b""
    for party in _list_own_parties(environment):
        if ROLE_SIGNER in party.roles and thumbprint in map(compute_thumbprint, party.keys):
            return party.name
    return _find_user_name(environment)


def _find_user_name(environment: Mapping[str, str]) -> str:
    """Return the user's name as git knows it, or else the name of the account."""
    command = ["git", "config", "--get", "user.name"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=dict(environment)
        )
        name = done.stdout.strip()
    except (OSError, ValueError):
        name = ""
    if name and name.isprintable():
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "me"


def format_settings(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a settings file; a verb without settings is left out."""
    parts = [_HEAD]
    for verb, options in tables.items():
        if options:
            # A JSON text of a string or a list of strings is TOML, too.
            rows = [
                f"{name} = {json.dumps(value, ensure_ascii=False)}"
                for name, value in options.items()
            ]
            parts.append("\n".join([f"\n[{verb}]", *rows, ""]))
    return "".join(parts)
