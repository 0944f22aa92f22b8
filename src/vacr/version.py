"""The version of vacr, which records name as that of their recording agent."""

__version__ = "0.1.0"
