"""Our CDDL compiler: RFC 8610 with the updates of RFC 9682 and the controls of RFC 9165 and RFC
9741. Step: validate.

    schema = compile_cddl('person = {name: tstr, ? age: uint}')
    schema.checker().matches({"name": "Ada"})        # True
    schema.checker("[* person]").findings([{}])      # one finding, at /0

The text goes through `lexer`, `parser` and `names` into a `model`; `compiler` makes functions of
that, `explain` messages and `generate` instances.
"""

from vacr.schema.cddl.findings import Finding
from vacr.schema.cddl.schema import Checker, Schema, compile_cddl

__all__ = ["Checker", "Finding", "Schema", "compile_cddl"]
