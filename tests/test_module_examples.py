"""The worked examples in module docstrings, run as they stand."""

import doctest
import importlib
import pkgutil
import shutil
from pathlib import Path

import pytest

import vacr
from tests.conftest import EXAMPLES

# Modules that run as scripts, or need a package that not everybody installs.
_NOT_IMPORTED = {"vacr.__main__", "vacr.capture.hook"}
_NAMES = ["vacr"] + sorted(
    module.name
    for module in pkgutil.walk_packages(vacr.__path__, "vacr.")
    if module.name not in _NOT_IMPORTED
)


def _find_examples(name):
    module = importlib.import_module(name)
    return doctest.DocTestParser().get_doctest(
        module.__doc__ or "", {"__name__": "__main__"}, name, module.__file__, 0
    )


# An example may leave a file open, for brevity.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", _NAMES)
def test_example_of_module_holds(name, tmp_path, monkeypatch):
    example = _find_examples(name)
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    shutil.copy(EXAMPLES / "claude-code.jsonl", tmp_path / "session.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VACR_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("VACR_CONFIG", str(tmp_path / "config"))
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def _count_lines(name):
    return Path(importlib.import_module(name).__file__).read_text().count("\n")


def test_long_modules_open_with_an_example():
    facades = {
        package.name
        for package in pkgutil.walk_packages(vacr.__path__, "vacr.")
        if package.ispkg and not package.name.startswith(("vacr.agents.", "vacr.cli"))
    }
    chapters = [name for name in _NAMES if name not in facades]
    long = [name for name in chapters if _count_lines(name) > 150]
    assert len(long) > 50
    assert [name for name in long if not _find_examples(name).examples] == []
