"""Roo Code and Kilo Code, forks of Cline, as an agent of their own."""

from __future__ import annotations

from vacr.agents.cline import RooCode

AGENT = RooCode()
