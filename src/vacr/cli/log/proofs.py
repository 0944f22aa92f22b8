"""The verbs `vacr log prove` and `vacr log verify`: receipts in files of their own.

A user names a state of a log by a checkpoint in a file, or by a root in hexadecimal:

    >>> from vacr.cli.log.proofs import _read_tree_head
    >>> _read_tree_head("00" * 32) == (None, bytes(32))
    True
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from vacr.cli.log.folder import log_options, open_log
from vacr.cli.options import PATH, Verb, entry_rule_option, log_key_option, voice_options
from vacr.console import Voice, write_bytes
from vacr.errors import InvalidStatement, UsageError
from vacr.files import STDIN, read_bytes
from vacr.log import build_consistency_receipt, build_inclusion_receipt
from vacr.signing import PublicKey, parse_sign1, read_log_keys
from vacr.transparency import (
    HASH_SIZE,
    parse_checkpoint,
    parse_receipt,
    parse_signed_note,
)
from vacr.verification import check_consistency_receipt, check_receipt
from vacr.workflows import write_output_file

_BAD_RECEIPT_HINT = "The receipt proves nothing. Ask the operator of the log for a new one."


@click.command("prove", no_args_is_help=True, cls=Verb)
@log_options
@click.option(
    "--entry",
    metavar="N",
    type=click.IntRange(0),
    help="Prove that entry N is in the log; the first is 0. This or --consistency is required.",
)
@click.option(
    "--consistency",
    metavar="A B",
    type=click.IntRange(1),
    nargs=2,
    help="Prove that the log only grew, from A to B entries.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    type=PATH,
    help="Output file for the receipt, or - for standard output.  [default: only describe the "
    "receipt]",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist with different content.")
@voice_options
def prove_command(
    folder: str | None,
    entry: int | None,
    consistency: tuple[int, int] | None,
    database: str | None,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Write a receipt for an entry, or for the growth of the log.

    The receipt proves that the entry is in the log, or that the log only grew.

    \b
    Example:
      vacr log prove mylog/ --entry 17 -o 17.receipt.cose
      vacr log prove mylog/ --consistency 100 200
    """
    voice = Voice(format, quiet, verbose)
    if entry is None and consistency is None:
        raise UsageError(
            "prove needs --entry or --consistency", hint="Add --entry N, or --consistency A B."
        )
    if entry is not None and consistency is not None:
        raise UsageError("--entry and --consistency exclude each other", hint="Omit one of them.")
    log = open_log(folder, database)
    with closing(log.reader()) as storage:
        if consistency is not None:
            receipt = build_consistency_receipt(storage, log.keyring, *consistency)
        else:
            inclusion = build_inclusion_receipt(storage, entry or 0)
            if inclusion is None:
                head = storage.head()
                last = f"The last entry is {head.head.size - 1}." if head is not None else ""
                raise UsageError(f"the log has no entry {entry}", hint=last)
            receipt = inclusion
    document = _build_receipt_document(receipt)
    if output == STDIN:
        write_bytes([receipt])
        return 0
    if output is not None:
        write_output_file(Path(output), receipt, STDIN, (), overwrite=overwrite)
        document["receipt"] = output
    for name, value in document.items():
        for line in value if isinstance(value, list) else [value]:
            voice.result(f"{name}: {line}")
    voice.data(document)
    return 0


def _build_receipt_document(receipt: bytes) -> dict[str, Any]:
    """Return the entry or the two sizes that a receipt is about, and the hashes of its proof."""
    parsed = parse_receipt(receipt)
    for inclusion in parsed.inclusions:
        return {
            "entry": inclusion.index,
            "size": inclusion.size,
            "path": [node.hex() for node in inclusion.path],
        }
    (proof,) = parsed.consistencies
    return {"older": proof.older, "newer": proof.newer, "path": [node.hex() for node in proof.path]}


_MAX_INPUT_BYTES = 1 << 18


@click.command("verify", no_args_is_help=True, cls=Verb)
@click.argument("receipt", metavar="RECEIPT", type=PATH)
@log_key_option(required=True, help="Public key of the log, or the log's folder; repeatable.")
@click.option(
    "--statement",
    metavar="FILE",
    type=PATH,
    help="Statement that the receipt proves to be in the log. Required, unless the receipt is one "
    "of growth.",
)
@click.option(
    "--older",
    metavar="FILE|ROOT",
    type=PATH,
    help="Older state of the log: the file of a checkpoint, or a root in hexadecimal. Required for "
    "a receipt of growth.",
)
@click.option(
    "--newer",
    metavar="FILE|ROOT",
    type=PATH,
    help="Newer state of the log, if you know it: the file of a checkpoint, or a root in "
    "hexadecimal.",
)
@entry_rule_option
@voice_options
def verify_command(
    receipt: str,
    log_key: tuple[str, ...],
    statement: str | None,
    older: str | None,
    newer: str | None,
    entry_rule: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Check a receipt from `vacr log prove`.

    The receipt proves that an entry is in a log, or that the log only grew. The proof must lead to
    a root that the log has signed. The signature of the statement is not checked; `vacr verify`
    does that. The signatures of checkpoints are not checked either.

    \b
    Example:
      vacr log verify 17.receipt.cose --log-key receipt-keys.pem \\
        --statement session.acr.json.cose
      vacr log verify grown.receipt.cose --log-key receipt-keys.pem \\
        --older checkpoint.old --newer checkpoint
    """
    voice = Voice(format, quiet, verbose)
    data = read_bytes(receipt, _MAX_INPUT_BYTES)
    known = [key for name in log_key for key in read_log_keys(name)]
    try:
        parsed = parse_receipt(data)
        if parsed.inclusions or parsed.ccf_proofs:
            document = _verify_inclusion(data, known, statement, entry_rule)
        else:
            document = _verify_consistency(data, known, older, newer)
    except InvalidStatement as error:
        hint = error.hint or _BAD_RECEIPT_HINT
        raise InvalidStatement(
            error.message, reason=error.reason, where=error.where or receipt, hint=hint
        ) from error
    voice.result(f"{receipt}: verified: {document.pop('told')}")
    voice.data({"receipt": receipt, "holds": True, **document})
    return 0


def _verify_inclusion(
    data: bytes, known: list[PublicKey], statement: str | None, rule: str
) -> dict[str, Any]:
    """Check that a log contains a statement; return the facts for the output.

    `known` are the keys of the log, and `rule` is the entry rule.

    Raises:
        UsageError: no statement is named.
        InvalidStatement: the receipt does not prove it.
    """
    if statement is None:
        raise UsageError(
            "the receipt is about an entry: its statement is needed to check it",
            hint="Add --statement FILE.",
        )
    receipt = check_receipt(
        parse_sign1(read_bytes(statement)), data, known, datetime.now(UTC), rule=rule
    )
    return {
        "told": f"{receipt}, {receipt.position} (the receipt does not sign this position)",
        "issuer": receipt.issuer,
        "origin": receipt.subject,
        "entry": receipt.index,
        "size": receipt.size,
    }


def _verify_consistency(
    data: bytes, known: list[PublicKey], older: str | None, newer: str | None
) -> dict[str, Any]:
    """Check that a log only grew between two states; return the facts for the output.

    `known` are the keys of the log; `newer` may be `None`.

    Raises:
        UsageError: no older state is named.
        InvalidStatement: the receipt does not prove it.
    """
    if older is None:
        hint = "Add --older FILE|ROOT: the older checkpoint, or its root."
        raise UsageError(
            "the receipt is about the growth of a log: the older state is needed to check it",
            hint=hint,
        )
    older_size, older_root = _read_tree_head(older)
    receipt = check_consistency_receipt(data, older_root, known, datetime.now(UTC))
    newer_size, newer_root = _read_tree_head(newer) if newer is not None else (None, receipt.root)
    # Checkpoints sign the size of the tree; receipts do not.
    if (
        older_size not in (None, receipt.older)
        or newer_size not in (None, receipt.newer)
        or newer_root != receipt.root
    ):
        description = (
            f"the receipt is about other states than you named: from {receipt.older} to "
            f"{receipt.newer} entries, with the root {receipt.root.hex()}"
        )
        hint = "Name the checkpoints of these two sizes with --older and --newer."
        raise InvalidStatement(description, reason="consistency-mismatch", hint=hint)
    description = (
        f"{receipt.issuer} only grew from {receipt.older} to {receipt.newer} entries, with the "
        f"root {receipt.root.hex()}"
    )
    return {
        "told": description,
        "issuer": receipt.issuer,
        "origin": receipt.subject,
        "older": receipt.older,
        "newer": receipt.newer,
        "root": receipt.root.hex(),
    }


def _read_tree_head(name: str) -> tuple[int | None, bytes]:
    """Return the size and the root of a state of a log; the signature is not checked.

    `name` is the file of a checkpoint, or a root in hexadecimal, which has no size: `None`.

    Raises:
        InvalidStatement: the file is not a checkpoint.
        UnreadableInput: the file cannot be read.
    """
    try:
        root = bytes.fromhex(name)
    except ValueError:
        root = b""
    if len(root) == HASH_SIZE:
        return None, root
    try:
        checkpoint = parse_checkpoint(parse_signed_note(read_bytes(name, _MAX_INPUT_BYTES)).text)
    except InvalidStatement as error:
        raise InvalidStatement(
            error.message, reason=error.reason, where=name, hint=error.hint
        ) from error
    return checkpoint.size, checkpoint.root
