"""`vacr evidence`: which software recorded a session, and on which machine."""

from __future__ import annotations

import click

from vacr.cli.verbs import LazyVerbGroup


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli",
    verbs={
        "attest": "Create evidence of how a session was recorded.",
        "endorse": "Enrol the attestation key of a certified TPM.",
        "appraise": "Appraise evidence by a policy, and sign the result.",
    },
    no_args_is_help=True,
)
def command() -> None:
    """Prove which software recorded a session, and check such evidence.

    \b
    Example:
      vacr evidence attest --record abc.acr.json --nonce 00ff… -o evidence.cbor
      vacr evidence appraise evidence.cbor --policy policy.toml --nonce 00ff…
    """
