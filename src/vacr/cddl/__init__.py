"""A CDDL compiler: RFC 8610, updated by RFC 9682, with the controls of RFC 9165 and RFC 9741.

It stands alone: it imports no other part of vacr, and every error is a `CddlError`.

    >>> from vacr.cddl import compile_cddl
    >>> schema = compile_cddl("person = {name: tstr, ? age: uint}")
    >>> schema.checker().matches({"name": "Ada"})
    True
    >>> [finding.pointer for finding in schema.checker("[* person]").findings([{}])]
    ['/0']

The modules in the order of the work, from a text to a verdict:

    tokens ─▶ syntax ─▶ names ─▶ type_graph ─▶ compiler, maps, controls ─▶ schema
                                     │
                                     ├─▶ explain (why not?)
                                     └─▶ type_heights ─▶ generator (random instances)
"""

from vacr.cddl.descriptions import SchemaFinding, describe_value
from vacr.cddl.schema import Checker, Schema, compile_cddl
from vacr.cddl.tokens import CddlError

__all__ = ["CddlError", "Checker", "Schema", "SchemaFinding", "compile_cddl", "describe_value"]
