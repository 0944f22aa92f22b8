"""What these tests share with those of the command."""

from tests.cli.conftest import vacr

__all__ = ["vacr"]
