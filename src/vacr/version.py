"""The version of vacr, which records name as that of their recording agent."""

__version__ = "0.2.0"
