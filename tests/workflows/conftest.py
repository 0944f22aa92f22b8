"""Fixtures from the tests of the command line."""

from tests.cli.conftest import vacr

__all__ = ["vacr"]
