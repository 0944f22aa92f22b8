"""Packages whose public names load on first use.

A package lists its public names in `__init__.py`, and other packages import only those. Loading
every module of a package for one of its names would make each command start slowly, so the names
resolve on demand. This is how the package `vacr.record` would load its encoder:

    >>> from vacr.lazy import export_lazily
    >>> load_name, list_names, names = export_lazily("vacr.record", {"encoding": ["encode"]})
    >>> names
    ['encode']
    >>> load_name("encode").__module__      # loads vacr.record.encoding, and nothing else
    'vacr.record.encoding'
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to import than everything else that a facade needs.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def export_lazily(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    `modules` maps each module of the package to the public names that it defines. A module is
    imported when one of its names is first used.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        """Return a public name of the package; import the module that defines it.

        Raises:
            AttributeError: no module of the package defines the name.
        """
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    public = sorted(module_of)
    return load, lambda: public, public
