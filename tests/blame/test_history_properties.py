"""Blame over made histories: in any order of any operations, no answer is false.

The truth comes from `made_history.py`, which knows the writer of each line by its text.
"""

import subprocess
import tempfile
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.blame.made_history import MadeHistory, join_lines

# Explaining a failure takes minutes, because each example runs git a hundred times.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


class Walk:
    """A walk through operations on a made history; two numbers choose the place of each."""

    def __init__(self, folder, agents):
        self.history = MadeHistory(folder / "repo")
        self.agents = agents
        self.taken_back = []
        self.elsewhere = []
        self.branches = self.moves = 0
        self.first = self.second = 0

    def choose(self, first, second):
        """Return a file and the index of one of its lines; an empty path if there is no file."""
        paths = [path for path in self.history.list_paths() if self.history.read(path)]
        if not paths:
            return "", 0
        path = paths[first % len(paths)]
        return path, second % len(self.history.read(path))

    def name_agent(self, number):
        return self.agents[number % len(self.agents)]

    # Work

    def agent_creates_file(self):
        path = f"made_{len(self.history.list_paths())}_{self.history.now}.py"
        lines = self.history.make_lines(2 + self.first % 3, idiom=self.second)
        self.history.agent_writes(path, lines, self.name_agent(self.second))

    def agent_inserts(self):
        path, index = self.choose(self.first, self.second)
        idiom = self.second if self.first % 2 else None
        lines = self.history.make_lines(2 + self.second % 3, idiom)
        if path:
            self.history.agent_inserts(path, index, lines, self.name_agent(self.first))

    def agent_replaces(self):
        path, index = self.choose(self.first, self.second)
        lines = self.history.make_lines(2)
        if path:
            self.history.agent_inserts(path, index, lines, self.name_agent(self.first), drop=True)

    def agent_rewrites_file(self):
        path, _ = self.choose(self.first, self.second)
        if path:
            lines = self.history.make_lines(2, idiom=self.second)
            self.history.agent_rewrites(path, lines, self.name_agent(self.second))

    def agent_reverts_own_edit(self):
        """Insert lines and take them back; a person may type them later."""
        path, index = self.choose(self.first, self.second)
        lines = self.history.make_lines(2 + self.second % 2)
        name = self.name_agent(self.first)
        if path and self.history.agent_inserts(path, index, lines, name):
            self.history.tick()
            if self.history.agent_takes_back(path, lines, name):
                for line in lines:
                    self.history.writers[line.strip()].discard(name)
                self.taken_back.append(lines)

    def agent_writes_elsewhere(self):
        """Write to a file of the same name in another project."""
        path, _ = self.choose(self.first, self.second)
        if path:
            lines = self.history.make_lines(3)
            agent = self.history.agent(self.name_agent(self.second))
            agent.write(f"../other-{self.second % 3}/{path}", join_lines(lines))
            self.elsewhere.append(lines)

    def agent_copies_lines(self):
        """Read a file, and write some of its lines and new ones to another file."""
        path, index = self.choose(self.first, self.second)
        if path:
            name = self.name_agent(self.first)
            target = f"copy_{len(self.history.list_paths())}_{self.history.now}.py"
            lines = self.history.make_lines(2)
            self.history.agent_copies(path, index, 1 + self.second % 4, target, lines, name)

    def agent_moves_lines(self):
        """Read a file, and move some of its lines to the end of an existing one."""
        path, index = self.choose(self.first, self.second)
        target, _ = self.choose(self.second, self.first)
        if path and path != target:
            name = self.name_agent(self.second)
            self.history.agent_moves(path, index, 1 + self.first % 4, target, name)

    def agent_runs_command(self):
        """Append lines by a command, which contains them or not."""
        path, _ = self.choose(self.first, self.second)
        if path:
            lines = self.history.make_lines(2, idiom=self.first)
            name = self.name_agent(self.first)
            in_sight = bool(self.second % 2)
            self.history.agent_appends_by_shell(path, lines, name, in_sight=in_sight)

    def agent_looks(self):
        for path in self.history.list_paths():
            self.history.agent(self.name_agent(self.second)).look(path)

    def agent_commits(self):
        self.history.agent_shows_commit(self.name_agent(self.second))

    def person_inserts(self):
        path, index = self.choose(self.first, self.second)
        if path:
            lines = self.history.make_lines(
                1 + self.first % 3, idiom=self.second if self.second % 2 else None
            )
            self.history.person_inserts(path, index, lines, drop=self.first % 2)

    def person_types_idioms(self):
        path, index = self.choose(self.first, self.second)
        if path:
            lines = self.history.make_lines(2, idiom=self.second)[1:2]
            self.history.person_inserts(path, index, lines)

    def person_retypes(self):
        """Type lines that an agent took back, or wrote in another project."""
        if not self.taken_back + self.elsewhere:
            work = self.agent_reverts_own_edit if self.second % 2 else self.agent_writes_elsewhere
            work()
            self.history.tick()
        path, index = self.choose(self.first, self.second)
        lines_of_others = self.taken_back + self.elsewhere
        if path and lines_of_others:
            lines = lines_of_others[self.second % len(lines_of_others)]
            self.history.person_inserts(path, index, lines)

    def person_changes_line(self):
        path, index = self.choose(self.first, self.second)
        if path:
            line = self.history.read(path)[index]
            self.history.person_inserts(path, index, [f"{line}  # checked"], drop=1)

    def person_moves_lines(self):
        path, index = self.choose(self.first, self.second)
        target, _ = self.choose(self.second, self.first)
        if path and path != target:
            self.history.person_moves(path, index, 1 + self.first % 4, target)

    # Git

    def commit(self):
        self.history.commit()

    def amend(self):
        """Commit into the last commit, which keeps its author's date."""
        self.history.commit("Change", "--amend", "--no-edit")

    def squash(self):
        self.history.commit()
        if self.has_ancestors(2):
            self.history.git("reset", "-q", "--soft", "HEAD~2")
            self.history.commit("Squashed")

    def rebase(self):
        """Make the newest commits again; their committer date is now."""
        self.rebase_newest(1 + self.first % 3)

    def rebase_with_author_dates(self):
        self.rebase_newest(1 + self.first % 3, "--committer-date-is-author-date")

    def rebase_newest(self, count, *options):
        self.history.commit()
        if self.has_ancestors(count):
            self.try_or_abort("rebase", "-q", "--no-ff", *options, f"HEAD~{count}")

    def cherry_pick(self):
        """Pick the last commit onto a commit before it, on a branch of its own."""
        self.history.commit()
        if self.has_ancestors(2):
            newest = self.history.git("rev-parse", "HEAD")
            self.start_branch("HEAD~2")
            self.try_or_abort("cherry-pick", "--allow-empty", newest)

    def merge(self):
        """Merge a branch with a commit of a person."""
        self.history.commit()
        if self.has_ancestors(1):
            ours = self.history.git("rev-parse", "HEAD")
            theirs = self.start_branch("HEAD~1")
            path, index = self.choose(self.first, self.second)
            if path:
                self.history.person_inserts(
                    path, index, self.history.make_lines(2, idiom=self.second)
                )
            self.history.commit()
            self.start_branch(ours)
            self.history.tick()
            self.try_or_abort("merge", "--no-ff", "--no-edit", theirs)

    def move_file(self):
        path, _ = self.choose(self.first, self.second)
        self.history.commit()
        if path:
            self.moves += 1
            self.history.git("mv", path, f"moved_{self.moves}.py")

    def add_formatter(self):
        self.history.add_reindent_hook()

    def has_ancestors(self, count):
        try:
            self.history.git("rev-parse", "--verify", "-q", f"HEAD~{count}")
        except subprocess.CalledProcessError:
            return False
        return True

    def start_branch(self, place):
        self.branches += 1
        name = f"branch-{self.branches}"
        self.history.git("checkout", "-q", "-b", name, place)
        return name

    def try_or_abort(self, command, *arguments):
        """Run a git command that may meet a conflict, and abort it then."""
        try:
            self.history.git(command, *arguments)
        except subprocess.CalledProcessError:
            self.history.git(command, "--abort")


WORK = (
    Walk.agent_creates_file,
    Walk.agent_inserts,
    Walk.agent_replaces,
    Walk.agent_rewrites_file,
    Walk.agent_looks,
    Walk.agent_commits,
    Walk.person_inserts,
    Walk.commit,
)
EVERYTHING = (
    *WORK,
    Walk.agent_copies_lines,
    Walk.agent_moves_lines,
    Walk.agent_runs_command,
    Walk.agent_reverts_own_edit,
    Walk.agent_writes_elsewhere,
    Walk.person_types_idioms,
    Walk.person_retypes,
    Walk.person_changes_line,
    Walk.person_moves_lines,
    Walk.amend,
    Walk.squash,
    Walk.rebase,
    Walk.rebase_with_author_dates,
    Walk.cherry_pick,
    Walk.merge,
    Walk.move_file,
    Walk.add_formatter,
)
# In these histories, an agent sees most of what a person does.
WATCHED = (*EVERYTHING, *(Walk.agent_looks, Walk.person_inserts, Walk.commit) * 3)


def list_of_operations(operations, longest):
    """Return a strategy for operations, each with two numbers and the seconds after it."""
    number = st.integers(0, 11)
    seconds = st.sampled_from((0, 1, 60, 3600))
    return st.lists(
        st.tuples(st.sampled_from(operations), number, number, seconds),
        min_size=3,
        max_size=longest,
    )


def walk_operations(folder, operations, agents=("one", "two")):
    walk = Walk(folder, agents)
    for operation, first, second, seconds in operations:
        walk.first, walk.second = first, second
        operation(walk)
        walk.history.tick(seconds)
    walk.history.commit()
    return walk.history


@settings(max_examples=60, phases=PHASES, derandomize=True)
@given(list_of_operations(EVERYTHING, 14))
def test_no_answer_is_false_in_any_order_of_operations(operations):
    with tempfile.TemporaryDirectory() as folder:
        history = walk_operations(Path(folder), operations)
        assert history.list_wrong_answers() == []


@settings(max_examples=40, phases=PHASES, derandomize=True)
@given(list_of_operations(WATCHED, 14))
def test_no_answer_is_false_where_one_agent_sees_the_work_of_people(operations):
    with tempfile.TemporaryDirectory() as folder:
        history = walk_operations(Path(folder), operations, agents=("one",))
        assert history.list_wrong_answers() == []


@settings(max_examples=40, phases=PHASES, derandomize=True)
@given(list_of_operations(WORK, 10))
def test_all_lines_of_agents_are_found_in_a_history_that_nobody_rewrote(operations):
    with tempfile.TemporaryDirectory() as folder:
        history = walk_operations(Path(folder), operations)
        assert history.list_wrong_answers() == []
        assert history.list_missed_lines() == []
