"""Where a session worked, seen from a repository: the same from every current folder."""

import pytest

from tests.attribution.working_agent import commit, repository
from vacr.blame.claims import SessionFacts
from vacr.blame.git import Repository
from vacr.blame.locality import SessionPlacer

pytestmark = pytest.mark.component


@pytest.mark.parametrize("folder", ["D:\\work\\app", "work/app", "~/app"])
def test_folder_of_another_system_is_not_in_the_current_folder(tmp_path, monkeypatch, folder):
    repo = repository(tmp_path / "repo")
    (repo / "app.py").write_text("x = 1\n")
    name = commit(repo)
    facts = SessionFacts(folder=folder, named=(f"{folder}/app.py",))
    places = []
    for current in (tmp_path, repo):
        monkeypatch.chdir(current)
        places.append(SessionPlacer(Repository(repo), name, {"app.py"}).place_session(facts))
    assert places[0] == places[1]
    assert not places[0].is_tied


def test_folder_that_no_system_can_have_is_elsewhere(tmp_path):
    repo = repository(tmp_path / "repo")
    (repo / "app.py").write_text("x = 1\n")
    name = commit(repo)
    facts = SessionFacts(folder="/work\0/app", named=("/work\0/app/app.py",))
    assert not SessionPlacer(Repository(repo), name, {"app.py"}).place_session(facts).is_tied
