"""Where agents keep their sessions on a machine, as their readers describe it. Step: read; what is
read is data.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Store:
    """A folder of an agent, and where the sessions lie in it."""

    sessions: tuple[str, ...]
    """Patterns of the files or databases, from the folder."""
    default: str
    """The folder that the variable replaces; `~` is the user's own. Nothing: there is a store only
    if the variable is set.
    """
    variable: str = ""
    """The environment variable of the agent that names another."""
    under: str = ""
    """What follows the folder that either of them gives."""
    systems: dict[str, str] = field(default_factory=dict)
    """Other defaults by operating system, as `sys.platform` names them."""
    variables: dict[str, str] = field(default_factory=dict)
    """Other variables by operating system."""
    within: Store | None = None
    """The store in whose folder the variable's value is to be found if it is no whole path."""
    unless: str = ""
    """A variable which, when set, says that the sessions are elsewhere."""
