"""The shape of the package: facades, and imports between packages."""

import ast
import functools
import graphlib
import importlib
import re
from pathlib import Path

import pytest

import vacr
from vacr.agents import load_agents

ROOT = Path(vacr.__file__).parent
_WITHOUT_FACADE = {"cli"}  # Nothing imports it but the command itself.
PACKAGES = sorted(
    path.parent.name
    for path in ROOT.glob("*/__init__.py")
    if path.parent.name not in _WITHOUT_FACADE
)


_MAY_NAME_AGENTS = {"agents", "cli"}
_HOOK = "capture/hook.py"  # Agents run it without the rest of vacr, so it has a table of its own.
_OTHER_MEANINGS = ("gcp.gemini", "psycopg.Cursor")  # A provider of OpenTelemetry, and a class.
_WORDS_OF_AGENTS = r"(?i:\bclaude|codex|gemini|opencode|copilot|\bqwen|\bkimi|openhands)"

_CORE = ("model.py", "errors.py", "cddl", "record", "edits", "agents", "attribution")
_CORE += ("signing", "transparency", "evidence", "verification", "viewer", "exchange")
_REACHES_THE_MACHINE = {
    "evidence/measurements.py",
    "evidence/policy_files.py",
    "evidence/tpm.py",
    "signing/key_files.py",
    "signing/timestamps.py",
}
_MACHINE_CALLS = {"open", "print", "input", "breakpoint"}
_CLOCK_CALLS = {"now", "utcnow", "today"}


@functools.cache
def _read_tree(path):
    return ast.parse(path.read_text("utf-8"))


def walk_statements(node):
    """Yield all statements in a tree: imports are statements, and most nodes are not."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, name, ()):
            yield statement
            yield from walk_statements(statement)


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


def find_inside_imports(tree, own):
    """Return the modules inside other packages that a module of the package `own` imports."""
    imported = []
    for node in walk_statements(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
            imported.append(node.module or "")
    return sorted(
        name
        for name in imported
        if name.startswith("vacr.")
        and name.split(".")[1] in PACKAGES
        and name.split(".")[1] != own
        and len(name.split(".")) > 2
        and _is_module(name)
    )


def _is_module(name):
    path = ROOT.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or path.is_dir()


def test_packages_import_each_other_through_their_facades():
    inside = {
        path.relative_to(ROOT).as_posix(): names
        for path in sorted(ROOT.rglob("*.py"))
        if (names := find_inside_imports(_read_tree(path), path.relative_to(ROOT).parts[0]))
    }
    assert inside == {}


@pytest.mark.parametrize(
    "line",
    [
        "from vacr.cddl.schema import compile_cddl",
        "from vacr.cddl import schema",
        "import vacr.cddl.schema",
    ],
)
def test_import_into_another_package_is_found(line):
    assert find_inside_imports(ast.parse(line), "viewer") == ["vacr.cddl.schema"]
    assert find_inside_imports(ast.parse(line), "cddl") == []


def _list_modules():
    """Return the path of each module by its name, such as `vacr.record`."""
    return {
        ".".join(("vacr", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in ROOT.rglob("*.py")
    }


def find_imports(tree, modules):
    """Return the modules that a module imports: when it runs, not for type checkers alone."""
    for_types = {
        id(node)
        for block in walk_statements(tree)
        if _is_type_checking(block)
        for node in walk_statements(block)
    }
    imported = set()
    for node in walk_statements(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= names if names <= modules.keys() else names | {node.module}
    return imported & modules.keys()


def find_cycle(imports):
    """Return modules that import each other in a circle, or an empty list."""
    try:
        tuple(graphlib.TopologicalSorter(imports).static_order())
    except graphlib.CycleError as cycle:
        return cycle.args[1]
    return []


def test_no_modules_import_each_other_in_a_circle():
    modules = _list_modules()
    assert not find_cycle(
        {name: find_imports(_read_tree(path), modules) - {name} for name, path in modules.items()}
    )


def test_circle_of_imports_inside_functions_is_found():
    modules = {"vacr.a": None, "vacr.b": None}
    late = ast.parse("def read():\n    from vacr.a import name\n")
    imports = {
        "vacr.a": find_imports(ast.parse("import vacr.b"), modules),
        "vacr.b": find_imports(late, modules),
    }
    assert sorted(set(find_cycle(imports))) == ["vacr.a", "vacr.b"]


def find_agent_names(text):
    """Return the names of agents in the text of a module: their titles, and their ids in quotes."""
    for words in _OTHER_MEANINGS:
        text = text.replace(words, "")
    agents = [agent for agent in load_agents().values() if not agent.is_relay]
    titles = "|".join(re.escape(agent.title) for agent in agents if agent.title)
    ids = {re.escape(name) for agent in agents for name in (agent.name, *agent.formats)}
    pattern = rf"\b(?:{titles})\b|{_WORDS_OF_AGENTS}|[\"'](?:{'|'.join(sorted(ids))})[\"']"
    return re.findall(pattern, text)


def test_no_module_outside_agents_names_an_agent():
    naming = {
        path.relative_to(ROOT).as_posix(): find_agent_names(path.read_text("utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in _MAY_NAME_AGENTS
    }
    assert naming.pop(_HOOK)
    assert {path: names for path, names in naming.items() if names} == {}


@pytest.mark.parametrize("agent", [agent for agent in load_agents().values() if not agent.is_relay])
def test_name_of_each_agent_is_found(agent):
    names = [f'if name == "{agent.name}":', *(f"kind = '{name}'" for name in agent.formats)]
    names += [f"# {agent.title} does this."] if agent.title else []
    assert [name for name in names if not find_agent_names(name)] == []


def find_machine_calls(tree):
    """Return the calls in a module that read a file, the terminal or the clock."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        ast.unparse(function)
        for function in calls
        if (isinstance(function, ast.Name) and function.id in _MACHINE_CALLS)
        or (isinstance(function, ast.Attribute) and function.attr in _CLOCK_CALLS)
    ]


def test_core_calls_neither_files_nor_the_clock():
    files = [
        file
        for name in _CORE
        for file in ([ROOT / name] if name.endswith(".py") else sorted((ROOT / name).rglob("*.py")))
    ]
    calling = {
        file.relative_to(ROOT).as_posix(): calls
        for file in files
        if (calls := find_machine_calls(_read_tree(file)))
    }
    assert len(files) > 100
    assert {
        file: calls for file, calls in calling.items() if file not in _REACHES_THE_MACHINE
    } == {}


@pytest.mark.parametrize("call", ["open(path)", "datetime.now(UTC)", "date.today()", "print(text)"])
def test_call_that_reaches_the_machine_is_found(call):
    assert find_machine_calls(ast.parse(call)) == [call.partition("(")[0]]


PAGE = (ROOT.parents[1] / "docs" / "architecture.md").read_text("utf-8")


def test_page_about_the_architecture_names_modules_that_exist():
    named = set(re.findall(r"`([\w/-]+\.py)`", PAGE))
    missing = []
    for name in sorted(named):
        pattern = name.replace("AGENT", "*").replace("VERB", "*")
        known = any((folder / name).exists() for folder in (ROOT.parents[1], ROOT.parent))
        if not known and not any(ROOT.rglob(pattern)):
            missing.append(name)
    assert len(named) > 50
    assert missing == []


def test_page_about_the_architecture_lists_every_package():
    listed = set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))
    assert listed == {path.parent.name for path in ROOT.glob("*/__init__.py")}
