"""Verifiable Agent Conversation Records."""

__version__ = "0.1.0"
