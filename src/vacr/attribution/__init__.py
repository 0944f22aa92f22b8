"""Which lines an agent wrote, provably. Step: attribute. Follows the draft on file attribution, and
section 12 of its schema.

A pure function of records and of a base: anybody can redo it and compare. What makes it up (the
replay, the line diff, the table of tools) has versions, which every attribution names.
"""

from vacr.attribution.attributing import Wishes, attribute, history, replayed, unknown_tools
from vacr.attribution.base import Base

__all__ = ["Base", "Wishes", "attribute", "history", "replayed", "unknown_tools"]
