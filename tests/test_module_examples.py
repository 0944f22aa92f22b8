"""The worked examples in module docstrings, run as they stand."""

import doctest
import importlib
import pkgutil
import shutil

import pytest

import vacr
from tests.conftest import EXAMPLES

# Modules that run as scripts, or need a package that not everybody installs.
_NOT_IMPORTED = {"vacr.__main__", "vacr.capture.hook"}
_NAMES = sorted(
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
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VACR_STATE", str(tmp_path / "state"))
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_examples_are_found():
    assert any(_find_examples(name).examples for name in _NAMES)
