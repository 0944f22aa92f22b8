"""The version of vacr: what records name as their recording agent's."""

__version__ = "0.1.0"
