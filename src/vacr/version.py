"""The version of vacr, which records name as the version of their recording agent."""

__version__ = "0.2.0"
