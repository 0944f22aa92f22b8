"""Build the API documentation from the docstrings of the public packages.

    python docs/api.py api-docs

A public name without a docstring is an error, because its entry would be empty.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from pathlib import Path

import pdoc

PACKAGES = ["vacr", "vacr.agents", "vacr.signing"]
"""The packages that programs and plugins use."""


def load_public_names(package: str) -> dict[str, object]:
    """Return the public names of a package, and put them into its namespace.

    Facades load names on first use, while pdoc looks only at names that are there.
    """
    module = importlib.import_module(package)
    public = {name: getattr(module, name) for name in module.__all__}
    vars(module).update(public)
    return public


def find_undocumented_names() -> list[str]:
    """Return the public functions and classes that have no docstring."""
    return [
        f"{package}.{name}"
        for package in PACKAGES
        for name, value in load_public_names(package).items()
        if (inspect.isfunction(value) or inspect.isclass(value)) and not inspect.getdoc(value)
    ]


def main() -> int:
    """Write the documentation to the folder that the first argument names."""
    undocumented = find_undocumented_names()
    if undocumented:
        print(f"docs/api.py: no docstring: {', '.join(undocumented)}", file=sys.stderr)
        return 1
    folder = Path(sys.argv[1])
    warnings.simplefilter("error")
    # pdoc cannot tell which class of a TypedDict declares a member, and says so for each.
    warnings.filterwarnings("ignore", message="Cannot determine where")
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc(*PACKAGES, output_directory=folder)
    print(f"{folder}/vacr.html: {len(PACKAGES)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
