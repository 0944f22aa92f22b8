"""Statements to register."""

import itertools

from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import sign
from vacr.transparency.receipt import build_log_entry

SIGNER = KeySigner(generate_key("es256"))
_numbers = itertools.count()


def statement(signer=SIGNER, **more):
    """Sign a new, unique statement."""
    return sign(f"statement {next(_numbers)}".encode(), signer, **more)


def statements(count, **more):
    return [statement(**more) for _ in range(count)]


def entries(count):
    return [build_log_entry(parse_sign1(statement)) for statement in statements(count)]
