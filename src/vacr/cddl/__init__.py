"""A CDDL compiler: RFC 8610, updated by RFC 9682, with the controls of RFC 9165 and RFC 9741.

schema = compile_cddl('person = {name: tstr, ? age: uint}')
schema.checker().matches({"name": "Ada"})        # True
schema.checker("[* person]").findings([{}])      # one finding, at /0
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.cddl.explain import Finding as Finding
    from vacr.cddl.explain import describe_value as describe_value
    from vacr.cddl.schema import Checker as Checker
    from vacr.cddl.schema import Schema as Schema
    from vacr.cddl.schema import compile_cddl as compile_cddl

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "explain": (
            "Finding",
            "describe_value",
        ),
        "schema": (
            "Checker",
            "Schema",
            "compile_cddl",
        ),
    },
)
