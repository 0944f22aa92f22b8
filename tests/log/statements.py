"""Statements to register."""

import itertools

from vacr.receipts.entries import entry_of
from vacr.signing import KeySigner, keys, sign
from vacr.signing.sign1 import parse

SIGNER = KeySigner(keys.generate("es256"))
_numbers = itertools.count()


def statement(signer=SIGNER, **more):
    """Sign something that nobody signed before."""
    return sign(f"statement {next(_numbers)}".encode(), signer, **more)


def statements(count, **more):
    return [statement(**more) for _ in range(count)]


def entries(count):
    return [entry_of(parse(one)) for one in statements(count)]
