"""The story of a conversation: request, outcome, tests and commits.

All words come from the record. The page of `vacr view` finds the same story in the browser, with
the same rules in `web/src/shell-facts.ts` and `web/src/overview.ts`; a test compares both.

    >>> import vacr
    >>> from vacr.viewer import tell_story
    >>> [record] = vacr.read("session.jsonl")
    >>> story = tell_story([record])
    >>> story.asked[:29], story.outcome[:21]
    ('The invoice total is off by a', 'Each line is now roun')
    >>> story.tests.program, story.tests.passed, story.commits
    ('python -m pytest', False, [])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from vacr.agents import (
    DENIED,
    INTERRUPTED,
    PARENT_AGENT,
    RUNNING,
    ToolEffect,
    extract_command,
    find_tool_effect,
)
from vacr.model import JsonObject
from vacr.record import get_vacr_metadata
from vacr.viewer.content import ContentPart, TextPart, split_thoughts
from vacr.viewer.rows import ASSISTANT_ROW, EVENT_ROW, TOOL_ROW, USER_ROW, Row, build_rows

# Limits, so that no text of a stranger makes a pattern slow.
_MAX_SCRIPT_LENGTH = 4000
_MAX_COMMAND_LENGTH = 300
_MAX_OUTPUT_LENGTH = 50_000
_MAX_OUTPUT_LINE = 300
_MAX_LINE_LENGTH = 90
_MAX_PROGRAM_LENGTH = 40
_MAX_ID_LENGTH = 10
_SHELL_EFFECTS = frozenset((ToolEffect.SHELL, ToolEffect.SCRIPT))
_SHELL_TOOLS = frozenset(("bash", "shell"))
"""Tools of agents that vacr does not know."""
_WRAPPERS = re.compile(
    r"(?:[A-Za-z0-9_]+=\S*\s+|(?:sudo|time|command|exec|env|npx|bunx|uvx|rtk)\s+"
    r"|timeout\s+(?:-\S+\s+)*\S+\s+|(?:uv|poetry|pdm|hatch|pipenv|rye)\s+run\s+(?:--?\S+\s+)*"
    r"|(?:pnpm|yarn|npm)\s+exec\s+(?:--\s+)?|bundle\s+exec\s+|xvfb-run\s+(?:-\S+\s+)*|\(|!\s+)+"
)
"""Words before a program that do not matter: variables, wrappers, launchers."""
_TEST_COMMANDS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            r"(?:pytest|py\.test|tox|nox|vitest|jest|mocha|ava|rspec|phpunit|pest|ctest|bats"
            r"|gotestsum)(?=\s|$)"
        ),
        r"python[0-9.]*\s+(?:-\S\s+)*-m\s+(?:pytest|unittest|nose2|tox|nox)(?=\s|$)",
        (
            r"(?:npm|pnpm|yarn|bun)\s+"
            # No value starts with a hyphen: two ways to match it would take exponential time.
            r"(?:(?:-\S+|(?:--filter|--prefix|-C|-w)\s+[^\s-]\S*)\s+)*"
            r"(?:run\s+)?(?:t|tests?(?:[:.-][:A-Za-z0-9_.-]*)?)(?=\s|$)"
        ),
        (
            r"(?:cargo|go|dotnet|swift|mix|deno|flutter|dart|composer|rails|zig|bazel|playwright"
            r"|artisan|forge)\s+(?:\+\S+\s+)?(?:build\s+)?test(?=\s|$)"
        ),
        r"cargo\s+nextest\s+run(?=\s|$)",
        r"node\s+(?:\S+\s+)*--test(?=\s|$)",
        (
            r"(?:make|just|task|rake|gradle|gradlew|mvn|mvnw)\s+(?:\S+\s+)*?"
            r"(?::?[A-Za-z0-9_]+:)*(?:test|tests|check|verify)(?=\s|$)"
        ),
    )
)
_NO_TEST_RUN = re.compile(r"\s--(?:collect-only|co|help|version|dry-run|listTests)(?=\s|$)")
"""Options with which a test program runs no test."""
_OPTIONS = re.compile(r"\s(?:--(?:filter|prefix)\s+\S+|-[Cw]\s+\S+|-j[0-9]*|-[sk]|--silent)(?=\s)")
"""Options between a program and the name of its test script, with their values."""
_COMMIT = re.compile(
    r"git\s+(?:(?:-C|-c)\s+(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s\"'\\])+\s+|--\S+\s+)*"
    r"commit(?=\s|$)"
    r"(?![^\n]*(?:--dry-run|--help))"
)
_QUIET = re.compile(r"\s(?:-[A-Za-pr-z0-9_]*q[A-Za-z0-9_]*|--quiet)(?=\s|$)")
_PRINTED_COMMIT = re.compile(r"\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] (.*)$")
_NO_COMMIT = re.compile(
    r"nothing (?:added )?to commit|no changes added to commit|^Aborting commit", re.IGNORECASE
)
"""What git prints if it makes no commit."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEREDOC = re.compile(r"<<-?\s*(?:(['\"])([^'\"\n]+)\1|([A-Za-z0-9_]+))")
"""The start of a heredoc, and the text of the line that ends it."""
_COMMANDS = re.compile(
    r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\"'\\;&|\n])+",
    re.DOTALL,
)
_FAILED_LINES = (
    re.compile(
        r"\b[1-9][0-9]{0,6}\s+(?:tests? |specs? |examples? )?"
        r"(?:failed|failing|failures?|errors?)\b",
        re.IGNORECASE,
    ),
    re.compile(r"^test result: FAILED|^FAIL(?:ED)?\b|^--- FAIL|BUILD (?:FAILURE|FAILED)"),
    re.compile(r"^not ok\b|\bFail(?:ed|ures):\s*[1-9]"),
)
_PASSED_LINES = (
    re.compile(
        r"\b[1-9][0-9]{0,6}\s+(?:tests? |specs? |examples? )?(?:passed|passing)\b",
        re.IGNORECASE,
    ),
    re.compile(r"^test result: ok|\b0 failures\b|^OK\b|^ok\s+\S|^PASS\b|BUILD SUCCESS"),
)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A run of tests in a shell call."""

    program: str
    """The command that ran them, such as `cargo test`."""
    passed: bool | None
    """Whether they passed; None if the exit code and the output leave that open."""
    line: str
    """The line of the output with the result, such as "3 failed, 12 passed", or empty."""
    has_output: bool = True
    """Whether the record has the output of the call."""


@dataclass(slots=True)
class Story:
    """Request, outcome and checks of a conversation; texts are empty if the record lacks them."""

    asked: str = ""
    """The first prompt that got an answer, or else the first prompt."""
    task: str = ""
    """The first message of a parent agent, if no person wrote a prompt."""
    outcome: str = ""
    """The last answer."""
    answered: str = ""
    """The prompt that the last answer follows."""
    later_calls: int = 0
    """The number of tool calls after the last answer."""
    tests: SuiteRun | None = None
    """The last run of tests."""
    commits: list[str] = field(default_factory=list)
    """The ids of the commits, empty where the record lacks what git printed."""
    has_unclear_commit: bool = False
    """Whether a call ran `git commit`, and the record does not show how that ended."""
    has_commit_output: bool = False
    """Whether the record has the output of the last such call."""

    @property
    def outcome_name(self) -> str:
        """The heading of the last answer; it is no outcome if the agent worked on after it."""
        return "Last answer" if self.later_calls else "Outcome"


def tell_story(records: Sequence[JsonObject]) -> Story:
    """Return the story of a session; `records` are the session and its sub-agents.

    The words come from the session itself. Tests and commits of sub-agents count.
    """
    story = Story()
    first = latest = ""
    for number, record in enumerate(records):
        agent = str(record["session"].get("agent-meta", {}).get("cli-name", ""))
        commands_by_end: dict[str, str] = {}
        for row in build_rows(record):
            if row.is_repeated:
                continue
            _add_shell_facts(story, row, agent, commands_by_end)
            if number or row.agent:
                continue
            text = _join_texts(row.shown_parts)
            if row.kind == ASSISTANT_ROW:
                text = split_thoughts(text)[1]
            if row.is_prompt and text:
                first, latest = first or text, text
            elif row.kind == USER_ROW and row.speaker == PARENT_AGENT:
                story.task = story.task or text
            elif row.kind not in (EVENT_ROW, USER_ROW) and not row.is_empty_answer:
                # The agent acts: so the prompt before it was a request, not a command to the host.
                story.asked = story.asked or latest
                story.later_calls += row.kind == TOOL_ROW
                if row.kind == ASSISTANT_ROW and text:
                    story.outcome, story.answered, story.later_calls = text, latest, 0
    story.asked = story.asked or first
    story.task = "" if story.asked else story.task
    return story


def _add_shell_facts(story: Story, row: Row, agent: str, commands_by_end: dict[str, str]) -> None:
    """Add the tests and the commit of a shell call to a story.

    A command may run on after its call. `commands_by_end` remembers it by the id of the later call
    or notice that shows how it ended; the output of such a call counts.
    """
    if row.kind != TOOL_ROW:
        return
    call_id = row.entry.get("call-id")
    command = commands_by_end.get(call_id) if isinstance(call_id, str) else None
    command = command or _find_command(row, agent)
    if not command:
        return
    end = row.result and get_vacr_metadata(row.result.entry).get("resolved-by")
    is_resolved = isinstance(end, str) and end != ""
    runs_on = is_resolved and row.status == RUNNING
    if runs_on:
        commands_by_end[str(end)] = command
    story.tests = find_test_run(command, row) or story.tests
    commit = find_commit(command, row, by_notice=is_resolved and not runs_on)
    if commit is not None:
        story.commits.append(commit)
    elif not runs_on and may_have_committed(command, row):
        story.has_unclear_commit, story.has_commit_output = True, row.result is not None


def _find_command(row: Row, agent: str) -> str:
    """Return the command of a shell call; empty for other calls."""
    arguments = row.entry.get("input")
    effect = find_tool_effect(agent, row.tool, arguments)
    if effect not in _SHELL_EFFECTS and (effect or row.tool.lower() not in _SHELL_TOOLS):
        return ""
    return extract_command(arguments)[0] or ""


def find_test_run(command: str, row: Row) -> SuiteRun | None:
    """Return the test run of a shell call, or None for other calls and those denied."""
    programs = [_match_test(shell_command) for shell_command in _list_commands(command)]
    program = next((name for name in programs if name), "")
    if not program or row.status == DENIED:
        return None
    if row.result is None:
        return SuiteRun(program, passed=None, line="", has_output=False)
    output = _list_output_lines(row.result.parts)
    # A pipeline ends with the exit code of its last command, so the printed result counts more.
    if failure := _match_last(_FAILED_LINES, output):
        return SuiteRun(program, passed=False, line=failure)
    if row.status == INTERRUPTED:
        return SuiteRun(program, passed=None, line="")
    if row.is_error or row.exit_code:
        return SuiteRun(program, passed=False, line="")
    if success := _match_last(_PASSED_LINES, output):
        return SuiteRun(program, passed=True, line=success)
    is_alone = len(programs) == 1 and "|" not in command
    is_success = row.exit_code == 0 or row.status == "success"
    return SuiteRun(program, passed=True if is_alone and is_success else None, line="")


def find_commit(command: str, row: Row, *, by_notice: bool = False) -> str | None:
    """Return the id of the commit of a shell call, or an empty text if its output is not known.

    The record lacks the output of `git commit --quiet`, and of a command in the background that
    ended `by_notice` of the host. Return None if the call makes no commit, or failed.
    """
    if row.result is None or not any(
        _COMMIT.match(shell_command) for shell_command in _list_commands(command)
    ):
        return None
    for line in _list_output_lines(row.result.parts):
        if printed := _PRINTED_COMMIT.match(line):
            return printed[1][:_MAX_ID_LENGTH]
    if row.is_error or row.exit_code != 0 or not _proves_commit(command, quiet=not by_notice):
        return None
    return ""


def may_have_committed(command: str, row: Row) -> bool:
    """Return whether a shell call ran `git commit`, and nothing shows that it made none.

    This is of use for a call without a commit by `find_commit`.
    """
    if row.status == DENIED or not any(map(_COMMIT.match, _list_commands(command))):
        return False
    if row.result is None or row.status == INTERRUPTED:
        return True
    has_failed = row.is_error or row.exit_code not in (None, 0)
    lines = _list_output_lines(row.result.parts)
    return not has_failed and not any(map(_NO_COMMIT.search, lines))


def _proves_commit(script: str, *, quiet: bool) -> bool:
    """Return whether a script that ended with 0 surely made a commit, with `quiet` a silent one.

    The commit must be the last command, or joined to the last one by `&&`. After `||` it may not
    have run, as in `git diff --quiet || git commit -q`.
    """
    joins, commands = _split_script(script)
    for number, command in enumerate(commands):
        if _COMMIT.match(command) and (not quiet or _QUIET.search(command)):
            is_joined = all(join == "&&" for join in joins[number + 1 :])
            return is_joined and "||" not in joins
    return False


def _list_commands(script: str) -> list[str]:
    """Return the commands of a script, without the words before their programs.

    Quoted text and heredocs are not split.
    """
    return _split_script(script)[1]


def _split_script(script: str) -> tuple[list[str], list[str]]:
    """Return what stands before each command of a script, such as `&&`, and the commands."""
    text = _remove_heredocs(script[:_MAX_SCRIPT_LENGTH].rstrip("\n ;"))
    joins, commands, end = [], [], 0
    for match in _COMMANDS.finditer(text):
        if command := match[0].strip()[:_MAX_COMMAND_LENGTH]:
            joins.append(text[end : match.start()].strip())
            command = re.sub(r"^\S*/", "", _remove_wrappers(command))
            commands.append(_remove_wrappers(command))
            end = match.end()
    return joins, commands


def _remove_heredocs(script: str) -> str:
    """Return a script without its heredocs, each from its `<<` to the line that ends it.

    A pattern for a whole heredoc would search the rest of the script after each `<<`.
    """
    lines = script.split("\n")
    texts = [line.strip() for line in lines]
    last_places = {text: place for place, text in enumerate(texts)}
    kept, place = [], 0
    while place < len(lines):
        line = lines[place]
        for start in _HEREDOC.finditer(line):
            end = (start[2] or start[3]).strip()
            if last_places.get(end, 0) > place:
                line = line[: start.start()]
                place = texts.index(end, place + 1)
                break
        kept.append(line)
        place += 1
    return "\n".join(kept)


def _remove_wrappers(command: str) -> str:
    """Return a command without variables, wrappers and launchers before its program."""
    match = _WRAPPERS.match(command)
    return command[match.end() :] if match else command


def _match_test(command: str) -> str:
    """Return the part of a command that names a test program; empty if it runs no tests."""
    for pattern in _TEST_COMMANDS:
        if (match := pattern.match(command)) and not _NO_TEST_RUN.search(command):
            name = re.sub(r"\s+", " ", _OPTIONS.sub("", match[0]))
            return _truncate(name, _MAX_PROGRAM_LENGTH)
    return ""


def _match_last(patterns: Iterable[re.Pattern[str]], lines: Sequence[str]) -> str:
    """Return the last line that the first matching pattern finds, without rulers around it."""
    for pattern in patterns:
        for line in reversed(lines):
            if pattern.search(line):
                return _truncate(re.sub(r"^[\s=─-]+|[\s=─-]+$", "", line), _MAX_LINE_LENGTH)
    return ""


def _list_output_lines(parts: Iterable[ContentPart]) -> list[str]:
    """Return the last lines of an output without colours, except for very long ones."""
    text = "\n".join(_list_texts(parts))[-_MAX_OUTPUT_LENGTH:]
    return [
        _COLOUR.sub("", line).rstrip() for line in text.split("\n") if len(line) <= _MAX_OUTPUT_LINE
    ]


def _list_texts(parts: Iterable[ContentPart]) -> Iterator[str]:
    """Yield the text of each part, empty for pictures and other values."""
    for part in parts:
        yield part.text if isinstance(part, TextPart) else ""


def _join_texts(parts: Iterable[ContentPart]) -> str:
    """Return all texts of a message; empty if they are blank."""
    return "\n\n".join(text for text in _list_texts(parts) if text).strip()


def _truncate(text: str, length: int) -> str:
    """Return a text of at most `length` characters; a longer one ends in an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
