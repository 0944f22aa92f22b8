"""Options that several verbs share, and the settings that are loaded from them.

Each decorator adds a set of options to a verb:

    >>> import click
    >>> from vacr.cli.options import voice_options
    >>> @click.command()
    ... @voice_options
    ... def greet(format, quiet, verbose): ...
    >>> [option.name for option in greet.params]
    ['format', 'quiet', 'verbose']

A verb's module is loaded when the verb is used. To keep that fast, the functions here import what
only some verbs need.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vacr.console import Voice, write_bytes
from vacr.errors import UsageError
from vacr.files import read_bytes

if TYPE_CHECKING:
    from vacr.discovery import MapFile
    from vacr.signing import Signer
    from vacr.viewer import PriceTable, RowFilter
    from vacr.workflows import ServiceSettings, SigningSettings, TrustStoreFile

EXIT_FINDINGS = 5
"""The exit code of a verb that finished with findings under `--strict`."""
EXIT_NO_SESSION = 1

F = TypeVar("F", bound=Callable[..., Any])

_SIGNING_OPTIONS = ("key", "alg", "x5chain", "issuer", "timestamp", "passphrase_file", "force")

_FORCE_HELP = "Accept a key that other users of this machine can read."

_OPTION_GROUPS = {
    "Sessions": "agent project repo since until",
    "Filters": "entry only tool grep errors",
    "Like git blame": "L w M C since ignore-rev ignore-revs-file contents root porcelain "
    "line-porcelain incremental l s show-email date",
    "Signature": "key alg x5chain issuer subject profile timestamp passphrase-file force trust "
    "trust-store eku timestamp-trust require-timestamp",
    "Log": "service log log-key require-receipt entry-rule patience token-file ca client-cert "
    "client-key",
    "Journal": "quiet-after checkpoint epoch anchor keep limit",
    "Evidence": "require-evidence evidence evidence-policy verifier-key nonce require-hardware",
    "TPM": "tcti pcrs attestation-key",
    "Network": "host port tls-cert tls-key client-ca proxy",
    "Limits": "max-size rate queue linger",
    "Output": "output overwrite seal-source cbor",
    "General": "format quiet verbose help",
}
"""The headings in the help of a verb with many options, each with the names of its options."""
_MAX_UNGROUPED_OPTIONS = 9
_GENERAL_NAMES = frozenset(("format", "quiet", "verbose"))


_MEANT_OPTIONS = {"--key": "--trust", "--public-key": "--trust", "--pubkey": "--trust"}
"""Options by the names that people type for them in a verb that has no such option."""
_EXTRA_WORD = re.compile(r"unexpected extra arguments? \(([^) ]+)")


_ARGUMENTS_KEY = "vacr.arguments"


class Verb(click.Command):
    """A verb whose help groups the options, if there are many."""

    uses_settings = True
    """Whether the settings files give the defaults of the options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments after the verb, and keep them for `get_verb_arguments`.

        Settings files give the defaults of the options.
        """
        ctx.meta[_ARGUMENTS_KEY] = list(args)
        if self.uses_settings and ctx.parent is not None and not ctx.resilient_parsing:
            from vacr.cli.settings import apply_settings

            apply_settings(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            has_format = any(param.name == "format" for param in self.params)
            near = ["--format json"] if error.option_name == "--json" and has_format else None
            names = [name for param in self.params for name in param.opts]
            meant = _MEANT_OPTIONS.get(error.option_name)
            if meant in names:
                # click suggests only names that look alike.
                reason = f"No such option {error.option_name!r}. Did you mean {meant!r}?"
                raise click.NoSuchOption(error.option_name, reason, None, ctx) from error
            near = near or get_close_matches(error.option_name, names, 1)
            raise click.NoSuchOption(error.option_name, None, near, ctx) from error
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "key":
                raise
            hint = "To choose a key for all commands: vacr init"
            raise click.MissingParameter(hint, ctx, error.param) from error
        except click.UsageError as error:
            word = _EXTRA_WORD.search(error.message)
            has_agent = any(param.name == "agent" for param in self.params)
            if word is None or not has_agent or not complete_agent(ctx, self.params[0], word[1]):
                raise
            reason = f"{error.message}. To choose an agent: --agent {word[1]}"
            raise click.UsageError(reason, ctx) from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write where the options can also be set."""
        words = ctx.command_path.split()[1:]
        if self.uses_settings and words and _pick_name(self):
            variable = "_".join(["VACR", *(word.upper().replace("-", "_") for word in words)])
            formatter.write_paragraph()
            formatter.write_text(
                f"Options can also be set by variables such as {variable}_{_pick_name(self)}, and "
                f"in the table [{'.'.join(words)}] of vacr.toml."
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write more than nine options under headings; options without a group come first."""
        rows = {
            option.opts[-1].lstrip("-"): row
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (row := option.get_help_record(ctx)) is not None
        }
        if len(rows) <= _MAX_UNGROUPED_OPTIONS:
            super().format_options(ctx, formatter)
            return
        groups = {"Options": rows}
        for heading, names in _OPTION_GROUPS.items():
            group = {name: row for name, row in rows.items() if name in names.split()}
            # A lone option may mean something else here: `--limit` is a size, or a number of hits.
            if len(group) > 1:
                groups[heading] = group
                groups["Options"] = {
                    name: row for name, row in groups["Options"].items() if name not in group
                }
        for heading, group in groups.items():
            if group:
                with formatter.section(heading):
                    formatter.write_dl(list(group.values()))


def _pick_name(verb: click.Command) -> str:
    """Return the name of the first option of a verb in capitals; empty if the help lists none."""
    names = [
        str(param.name).upper()
        for param in verb.params
        if isinstance(param, click.Option) and not param.hidden and param.expose_value
    ]
    special = [name for name in names if name.lower() not in _GENERAL_NAMES]
    return next(iter([*special, *names]), "")


class SetupVerb(Verb):
    """A verb that sets up or checks the settings, and so does not depend on them."""

    uses_settings = False


def get_verb_arguments() -> list[str]:
    """Return the arguments after the name of the verb that runs now, as the user gave them."""
    arguments: list[str] = click.get_current_context().meta[_ARGUMENTS_KEY]
    return arguments


class _NonEmptyPath(click.Path):
    """A path that the shell completes; an empty one, as from an unset variable, is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail if it is empty."""
        if not value:
            self.fail("The path is empty.", param, ctx)
        return super().convert(value, param, ctx)


PATH = _NonEmptyPath(readable=False)


class NumberRange(click.FloatRange):
    """A number in a range; `nan` is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; fail for `nan`, because every comparison with it is false."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def voice_options(function: F) -> F:
    """Add `--format`, `-q` and `-v` to a verb."""
    return _add_voice_options(function, ["text", "json"])


def streaming_voice_options(function: F) -> F:
    """Add `--format`, `-q` and `-v` to a verb that can also print its results as JSON lines."""
    return _add_voice_options(function, ["text", "json", "jsonl"])


def _add_voice_options(function: F, formats: list[str]) -> F:
    """Add `--format`, with these choices, `-q` and `-v` to a verb."""
    return _add_options(
        function,
        click.option(
            "--format",
            type=click.Choice(formats),
            default="text",
            show_default=True,
            help="Output format.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
        click.option("-v", "--verbose", count=True, help="Print more details."),
    )


def _add_options(function: F, *options: Callable[[Any], Any]) -> F:
    """Return a verb with more options; its help lists them in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def output_options(function: F, default: str = "the current folder") -> F:
    """Add `-o` and `--overwrite` to a verb; its help describes `default` as the usual target."""
    where = (
        f"Output file, a folder if it ends in /, or - for standard output.  [default: {default}]"
    )
    return _add_options(
        function,
        click.option("-o", "--output", metavar="FILE|FOLDER/|-", type=PATH, help=where),
        click.option(
            "--overwrite", is_flag=True, help="Replace files that exist with different content."
        ),
    )


@dataclass(frozen=True)
class OutputTarget:
    """The place for the result of a verb that writes one file: its `-o` and `--overwrite`."""

    output: str | None
    overwrite: bool
    voice: Voice

    def put(self, data: bytes, name: str, source: str) -> str | None:
        """Write the result, and return the path of its file; `None` for standard output.

        Unless `-o` names a file, `name` is the file: inside the folder of `-o`, if there is one.
        The input of the verb, `source`, is never overwritten.

        Raises:
            UsageError: the file exists with other content and `--overwrite` is not set, or is
                `source`.
            UnreadableInput: the file cannot be written.
        """
        from vacr.files import STDIN
        from vacr.workflows import is_output_folder, write_output_file

        if self.output == STDIN:
            write_bytes([data])
            return None
        path = Path(name)
        if self.output is not None:
            is_folder = is_output_folder(self.output)
            path = Path(self.output) / path.name if is_folder else Path(self.output)
        write_output_file(path, data, source, (source,), overwrite=self.overwrite)
        return str(path)

    def write(
        self, data: bytes, name: str, source: str, summary: str, document: dict[str, Any]
    ) -> None:
        """Write the result as `put` does; print a line with its path and a summary, or JSON.

        If the result itself goes to standard output, nothing else is printed.
        """
        path = self.put(data, name, source)
        if path is not None:
            self.voice.result(f"{path}: {summary}")
            self.voice.data({"output": path, "bytes": len(data), **document})


def schema_option(**settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds `--schema` to a verb, with further settings for click."""
    return click.option("--schema", metavar="v3|v2|v1|FILE", type=PATH, **settings)


def log_key_option(**settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds `--log-key` to a verb, with further settings for click."""
    return click.option("--log-key", metavar="FILE|FOLDER", type=PATH, multiple=True, **settings)


def entry_rule_option(function: F) -> F:
    """Add `--entry-rule` to a verb that checks receipts."""
    from vacr.transparency import ENTRY_RULE_STATEMENT, ENTRY_RULES

    return click.option(
        "--entry-rule",
        type=click.Choice(ENTRY_RULES),
        default=ENTRY_RULE_STATEMENT,
        show_default=True,
        help="How the log made its entry from the statement: the statement itself, or its SHA-256. "
        "Must match the log.",
    )(function)


def trust_options(function: F) -> F:
    """Add `--trust` and `--trust-store` to a verb that verifies statements."""
    return _add_options(
        function,
        click.option(
            "--trust",
            metavar="FILE",
            type=PATH,
            multiple=True,
            help="Public key or root certificate to trust; the result shows no name for it. "
            "Repeatable.",
        ),
        trust_store_option(
            help="Trust store: people and services by name; repeatable.  [default: if there is no "
            "--trust, your own store and the approved one of this project]"
        ),
    )


def trust_store_option(**settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds `--trust-store` to a verb, with further settings for click."""
    return click.option("--trust-store", metavar="FILE", type=PATH, multiple=True, **settings)


def load_stores(
    trust: tuple[str, ...], trust_store: tuple[str, ...], voice: Voice
) -> tuple[TrustStoreFile, ...]:
    """Return the trust stores for the options of `trust_options`; warn about ignored ones.

    Raises:
        Unreachable: a named store cannot be read.
        UsageError: others can write to the user's own store.
    """
    from vacr.workflows import choose_trust_stores

    return choose_trust_stores(trust_store, has_bare_trust=bool(trust), warn=warn_with(voice))


def warn_with(voice: Voice) -> Callable[[str, str], None]:
    """Return a function that prints a warning and a hint, unless the user asked for quiet."""

    def warn(message: str, hint: str) -> None:
        voice.notice(f"vacr: {message}. {hint}")

    return warn


def source_options(function: F) -> F:
    """Add `--agent`, `--map` and `--seal-source` to a verb that records native sessions."""
    return _add_options(
        function,
        click.option(
            "--agent",
            metavar="NAME",
            shell_complete=complete_agent,
            help="Agent that wrote the session.  [default: recognised by the content]",
        ),
        click.option(
            "--map",
            metavar="FILE",
            type=PATH,
            help="Names of the members in the session, for --agent generic.  "
            "[default: NAME.map.toml next to the session]",
        ),
        click.option(
            "--seal-source",
            is_flag=True,
            help="Keep the native bytes next to the record, for `vacr restore`.",
        ),
    )


def load_map_file(path: str | None) -> MapFile | None:
    """Return the map of `--map`, or None without one.

    Raises:
        UnreadableInput: it cannot be read.
    """
    if path is None:
        return None
    from vacr.discovery import MapFile

    return MapFile(path, read_bytes(path))


def complete_rule(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the rules of the chosen schema, by default v3, that begin with the typed text."""
    from vacr.workflows import load_schema

    rules = load_schema(context.params.get("schema") or "v3").rules
    return [name for name in rules if name.startswith(typed)]


def complete_agent(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the agents whose names begin with the typed text."""
    from vacr.agents import load_agents

    return [name for name in load_agents() if name.startswith(typed)]


def filter_options(function: F) -> F:
    """Add `--only`, `--tool`, `--grep`, `--errors` and `--entry` to a verb that shows rows."""
    from vacr.viewer import PROMPTS, ROW_KINDS

    return _add_options(
        function,
        click.option(
            "--only",
            type=click.Choice((PROMPTS, *ROW_KINDS)),
            multiple=True,
            help="Only rows of this kind; repeatable. A prompt is a user message by a person.",
        ),
        click.option(
            "--tool",
            metavar="NAME",
            multiple=True,
            help="Only calls of this tool; repeatable.",
        ),
        click.option(
            "--grep",
            metavar="TEXT",
            default="",
            help="Only rows that contain this text; case is ignored.",
        ),
        click.option("--errors", is_flag=True, help="Only rows with an error."),
        click.option(
            "--entry",
            metavar="ID|POINTER",
            multiple=True,
            help="Only this entry; repeatable.",
        ),
    )


def build_filter(
    *, only: tuple[str, ...], tool: tuple[str, ...], grep: str, errors: bool, entry: tuple[str, ...]
) -> RowFilter:
    """Return the filter for rows that the options of `filter_options` describe."""
    from vacr.viewer import RowFilter

    return RowFilter(frozenset(only), frozenset(tool), grep, errors, frozenset(entry))


def commit_options(function: F) -> F:
    """Add `--repository`, `--since` and `--until` to a verb that counts lines with `--lines`."""
    return _add_options(
        function,
        click.option(
            "--repository",
            metavar="FOLDER",
            type=PATH,
            help="Git repository of --lines.  [default: by the current folder]",
        ),
        click.option(
            "--since",
            metavar="DATE",
            help="Only sessions used since then; with --lines, only commits.",
        ),
        click.option(
            "--until",
            metavar="DATE",
            help="Only sessions that began until then; with --lines, only commits.",
        ),
    )


def check_commit_options(**given: str | None) -> None:
    """Raise a UsageError if an option is not `None`: the verb was called without `--lines`.

    `given` has the values of `commit_options` by name.
    """
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"--{name} needs --lines", hint="For example: --lines main..HEAD")


def prices_option(function: F) -> F:
    """Add `--prices` to a verb that shows costs."""
    return _add_options(
        function,
        click.option(
            "--prices",
            metavar="FILE",
            type=PATH,
            help="Prices of models, as JSON.  [default: the list prices in this version]",
        ),
    )


def load_prices(path: str | None) -> PriceTable:
    """Return the prices in the file of `--prices`, or those of this version without one.

    Raises:
        UnreadableInput: the file cannot be read, or is not a price file.
    """
    from vacr.files import read_bytes
    from vacr.viewer import load_price_table, parse_price_table

    return load_price_table() if path is None else parse_price_table(read_bytes(path), path)


def key_options(
    function: F,
    *,
    required: bool = True,
    default: str = "this machine's key",
    force_help: str = _FORCE_HELP,
) -> F:
    """Add `--key`, `--alg`, `--passphrase-file` and `--force` to a verb.

    If the key is not required, the help describes `default` as the key that is used instead.
    `force_help` is the help of `--force`, for a verb where it accepts more than such a key.
    """
    optional = "" if required else f"  [default: {default}]"
    return _add_options(
        function,
        click.option(
            "--key",
            required=required,
            metavar="FILE|pkcs11:…",
            help=f"Private key: a PEM file, or the PKCS#11 URI of a key in a device.{optional}",
        ),
        click.option(
            "--alg",
            metavar="NAME",
            help="Signature algorithm, such as Ed25519 or ESP256.  [default: by key type]",
        ),
        click.option(
            "--passphrase-file",
            metavar="FILE",
            type=PATH,
            help="File whose first line is the passphrase of the key, or the PIN of the device "
            "with the key.",
        ),
        click.option("--force", is_flag=True, help=force_help),
    )


def signing_options(
    function: F,
    *,
    key_required: bool = True,
    default: str = "this machine's key",
    force_help: str = _FORCE_HELP,
) -> F:
    """Add the options of `key_options`, `--x5chain`, `--issuer` and `--timestamp` to a verb."""
    return _add_options(
        function,
        partial(key_options, required=key_required, default=default, force_help=force_help),
        click.option(
            "--x5chain",
            metavar="FILE",
            type=PATH,
            help="Certificate chain of the key in PEM, the signer's certificate first.",
        ),
        click.option(
            "--issuer",
            metavar="URI",
            help="Name of the signer.  [default: the thumbprint of the key]",
        ),
        click.option(
            "--timestamp",
            metavar="URL",
            help="Add a timestamp from this authority (RFC 3161).",
        ),
    )


def load_signer_from_options(
    *, key: str, alg: str | None, passphrase_file: str | None, force: bool
) -> Signer:
    """Return the signer for the private key that `key_options` name.

    For an encrypted key without `--passphrase-file`, ask for the passphrase.

    Raises:
        UsageError: other users can read the key, it is encrypted and there is no terminal, or the
            algorithm does not fit it.
        UnreadableInput: the key cannot be read, or the passphrase is wrong.
        Unreachable: the device with the key, or the passphrase file, cannot be used.
    """
    from vacr.workflows import load_named_signer

    return load_named_signer(
        key=key,
        alg=alg,
        passphrase_file=passphrase_file,
        force=force,
        ask_passphrase=_ask_passphrase,
    )


def pop_signing_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the signing options from `options`, and return them."""
    return {name: options.pop(name) for name in _SIGNING_OPTIONS}


def load_signing_settings(**options: Any) -> SigningSettings:
    """Return the signer, certificates and other settings that `signing_options` describe.

    Raises:
        VacrError: the key or a certificate cannot be used, as for `load_signer_from_options`.
    """
    from vacr.workflows import SigningSettings

    return SigningSettings.load(**options, ask_passphrase=_ask_passphrase)


def _ask_passphrase() -> bytes:
    """Ask the user for the passphrase of a key.

    Raises:
        UsageError: there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "the private key is encrypted",
            hint="Add --passphrase-file FILE, or run this in a terminal.",
        )
    typed: str = click.prompt("Passphrase", hide_input=True, err=True)
    return typed.encode()


def certificate_options(function: F) -> F:
    """Add `--ca`, `--client-cert` and `--client-key`, for TLS connections, to a verb."""
    return _add_options(
        function,
        click.option(
            "--ca",
            metavar="FILE",
            type=PATH,
            help="CA certificates to verify the service with.  [default: the system's]",
        ),
        click.option(
            "--client-cert",
            metavar="FILE",
            type=PATH,
            help="Your client certificate in PEM (mTLS).",
        ),
        click.option(
            "--client-key",
            metavar="FILE",
            type=PATH,
            help="Key of the client certificate, if it is in another file.",
        ),
    )


def service_options(function: F) -> F:
    """Add the options for a transparency service, such as `--log-key` and `--token-file`."""
    return _add_options(
        function,
        log_key_option(
            help="Public key of the log, or the log's folder; repeatable.  [default: ask the "
            "service]"
        ),
        entry_rule_option,
        click.option(
            "--token-file",
            metavar="FILE",
            type=PATH,
            help="File whose first line is your access token for the service.",
        ),
        certificate_options,
        click.option(
            "--patience",
            type=NumberRange(0),
            default=60,
            metavar="SECONDS",
            show_default=True,
            help="Maximum total of the pauses between attempts to reach the service.",
        ),
    )


def load_service_settings(**options: Any) -> ServiceSettings:
    """Return the settings that `service_options` describe.

    The access token may also come from the environment: from VACR_SEAL_TOKEN for `vacr seal`.

    Raises:
        VacrError: the token file or a file with log keys cannot be used.
    """
    from vacr.workflows import ServiceSettings

    verb = click.get_current_context().info_name or ""
    token = os.environ.get(f"VACR_{verb.upper()}_TOKEN") or None
    return ServiceSettings.load(token=token, **options)
