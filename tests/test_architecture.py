"""The shape of the package: facades, and imports between packages."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import vacr

ROOT = Path(vacr.__file__).parent
_WITHOUT_FACADE = {"cli"}  # Nothing imports it but the command itself.
PACKAGES = sorted(
    path.parent.name
    for path in ROOT.glob("*/__init__.py")
    if path.parent.name not in _WITHOUT_FACADE
)


AGENT_NAMES = re.compile(
    r"(?i:\bclaude|codex|(?<!gcp\.)gemini|opencode|copilot)|[\"']cursor\b|\bCursor (?:CLI|writes|stores)"
)
"""Names of agents; `gcp.gemini` is the name of a provider in the conventions of OpenTelemetry."""
_MAY_NAME_AGENTS = {"agents", "cli"}
_HOOK = "capture/hook.py"  # Agents run it without the rest of vacr, so it has a table of its own.


def _read_tree(path):
    return ast.parse(path.read_text("utf-8"))


def _is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@pytest.mark.parametrize("package", PACKAGES)
def test_facade_lists_the_same_names_for_type_checkers_and_at_run_time(package):
    tree = _read_tree(ROOT / package / "__init__.py")
    # A lazy facade imports for type checkers alone; one without that block imports at once.
    blocks = [node.body for node in tree.body if _is_type_checking(node)] or [tree.body]
    typed = {
        (imported.module, alias.name)
        for block in blocks
        for imported in block
        if isinstance(imported, ast.ImportFrom) and imported.module != "__future__"
        for alias in imported.names
    }
    facade = importlib.import_module(f"vacr.{package}")
    assert sorted(name for _, name in typed) == facade.__all__
    for module, name in typed:
        assert getattr(importlib.import_module(module), name) is getattr(facade, name)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_also_a_module(package):
    modules = {path.stem for path in (ROOT / package).glob("*.py")}
    assert not modules & set(importlib.import_module(f"vacr.{package}").__all__)


def test_packages_import_each_other_through_their_facades():
    inside = []
    for path in sorted(ROOT.rglob("*.py")):
        own = path.relative_to(ROOT).parts[0]
        for node in ast.walk(_read_tree(path)):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("vacr."):
                continue
            _, package, *deeper = node.module.split(".")
            if package in PACKAGES and package != own and deeper:
                inside.append(f"{path.relative_to(ROOT)}: {node.module}")
    assert inside == []


def test_no_module_outside_agents_names_an_agent():
    naming = {
        path.relative_to(ROOT).as_posix(): AGENT_NAMES.findall(path.read_text("utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in _MAY_NAME_AGENTS
    }
    assert naming.pop(_HOOK)
    assert {path: names for path, names in naming.items() if names} == {}
