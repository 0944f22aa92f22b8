"""Labels: who wrote each user message, and how each tool call ended.

Agents file many texts as the user's: wrappers of commands, reminders, instructions. And they report
failures in many ways: a flag, a status, an exit code, a line above the output. Each agent knows its
own ways (`Agent.speaker`, `Agent.outcome`). This module asks it about every entry of a new record
and writes the answers to the same places for all agents:

| place | values |
|---|---|
| `status` of a tool result | `success`, `error`, `denied`, `interrupted`, `timeout`, `running` |
| `is-error` of a tool result | whether the call failed; absent while it runs or if nobody knows |
| `vacr.exit-code` of a tool result | the exit code of the command |
| `vacr.resolved-by` of a tool result | the later call or notice that shows how its command ended |
| `vacr.status` of a tool call without a result | `no-result`, or `denied` if the agent states it |
| `vacr.speaker` of a user message | `human`, `host`, `parent-agent`, `hook`, `unknown` |
| `vacr.speaker-basis` | `stated` by the agent, or `inferred` |
| `vacr.prompt` | the words of the person, where the message has other text as well |

    >>> from vacr.agents.agent import Agent
    >>> from vacr.agents.labels import FAILURE, Outcome, label_entries
    >>> class Parrot(Agent):
    ...     def outcome(self, result):
    ...         return Outcome(FAILURE, exit_code=result.entry["code"])
    >>> call = {"type": "tool-call", "name": "fly", "input": {}, "call-id": "c1"}
    >>> answer = {"type": "tool-result", "output": "thud", "call-id": "c1", "code": 3}
    >>> prompt = {"type": "user", "content": "Fly!"}
    >>> label_entries(Parrot(), {"session": {"entries": [prompt, call, answer]}})
    >>> answer["status"], answer["is-error"], answer["vacr"]
    ('error', True, {'exit-code': 3})
    >>> prompt["vacr"]
    {'speaker': 'human', 'speaker-basis': 'inferred'}
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from vacr.errors import PluginError

if TYPE_CHECKING:
    from vacr.agents.agent import Agent

LABELLED_VERSION = 2
"""The version of vacr's additions to a record that has labels."""

SUCCESS = "success"
FAILURE = "error"
DENIED = "denied"
"""A person, a rule or a hook refused the call."""
INTERRUPTED = "interrupted"
"""A person or the host stopped the call."""
TIMED_OUT = "timeout"
RUNNING = "running"
"""The call returned, but its command ran on; a later call may show how it ended."""
NO_RESULT = "no-result"
FAILED_STATUSES = frozenset((FAILURE, DENIED, INTERRUPTED, TIMED_OUT))
_OUTCOME_STATUSES = FAILED_STATUSES | {SUCCESS, RUNNING, ""}
_LOWEST_EXIT_CODE, _HIGHEST_EXIT_CODE = -(2**31), 2**32 - 1
"""The codes of all systems: Windows has 32 bits, and programs write them with and without sign."""

HUMAN = "human"
HOST = "host"
PARENT_AGENT = "parent-agent"
HOOK = "hook"
UNKNOWN_SPEAKER = "unknown"
STATED = "stated"
INFERRED = "inferred"
_SPEAKERS = frozenset((HUMAN, HOST, PARENT_AGENT, HOOK, UNKNOWN_SPEAKER))
_BASES = frozenset((STATED, INFERRED))


class Outcome(NamedTuple):
    """How a tool call ended: one of the statuses, or an empty text if nobody knows."""

    status: str = ""
    exit_code: int | None = None
    left_running: str = ""
    """The id of a process that still ran when the call returned.

    If a later call saw its end, the result is labelled `running`, and the end belongs to that call.
    If only a notice tells of the end, the result that started the process takes its outcome.
    Else this outcome counts.
    """
    saw_end: str = ""
    """The id of a process, started by an earlier call, that this call or notice saw end."""


# The same few outcomes answer for nearly every call.
_OUTCOMES_BY_STATUS = {status: Outcome(status) for status in _OUTCOME_STATUSES}
UNKNOWN_OUTCOME = _OUTCOMES_BY_STATUS[""]
SUCCEEDED = _OUTCOMES_BY_STATUS[SUCCESS]
FAILED = _OUTCOMES_BY_STATUS[FAILURE]
_STILL_RUNNING = _OUTCOMES_BY_STATUS[RUNNING]
_VALID_OUTCOMES = frozenset(map(id, _OUTCOMES_BY_STATUS.values()))
"""The ids of outcomes that need no check."""


@lru_cache(maxsize=64, typed=True)
def classify_exit_code(code: int) -> Outcome:
    """Return the outcome of a command by its exit code: success for 0, and failure otherwise."""
    return Outcome(FAILURE if code else SUCCESS, code)


class Speaker(NamedTuple):
    """Who wrote a user message, whether the agent states it, and the person's part of the text.

    `prompt` is None where the person wrote all of it, or none of it.
    """

    who: str
    basis: str
    prompt: str | None = None


# The same few speakers answer for nearly every message.
STATED_HUMAN = Speaker(HUMAN, STATED)
STATED_HOST = Speaker(HOST, STATED)
STATED_HOOK = Speaker(HOOK, STATED)
STATED_PARENT_AGENT = Speaker(PARENT_AGENT, STATED)
INFERRED_HUMAN = Speaker(HUMAN, INFERRED)
INFERRED_HOST = Speaker(HOST, INFERRED)
INFERRED_PARENT_AGENT = Speaker(PARENT_AGENT, INFERRED)
INFERRED_UNKNOWN = Speaker(UNKNOWN_SPEAKER, INFERRED)


@dataclass(slots=True)
class CallResult:
    """A tool result, and the other facts of a session about its call."""

    entry: dict[str, Any]
    """The tool result."""
    message: dict[str, Any]
    """The message that the result is a child of, or the result itself."""
    call: dict[str, Any] | None
    """The tool call, or None if the session does not have it."""
    report: dict[str, Any]
    """The members that other entries report about the call; see `Agent.call_reports`."""


def label_entries(agent: Agent, record: dict[str, Any]) -> None:
    """Label every user message, tool call and tool result of a record, in place.

    Raises:
        PluginError: the agent returned something other than a speaker or an outcome.
    """
    record.setdefault("vacr", {})["version"] = LABELLED_VERSION
    labels = _LabelPass(agent, record)
    labels.visit_entries(record["session"]["entries"], None)
    if labels.has_results():
        labels.label_results()
    if agent.expects_results(record):
        labels.mark_unanswered_calls()


def label_speakers(agent: Agent, record: dict[str, Any]) -> None:
    """Label the user messages at the top of a record, in place, and nothing else.

    A list of sessions needs no other labels.

    Raises:
        PluginError: the agent returned something other than a speaker.
    """
    for entry in record["session"]["entries"]:
        if entry["type"] == "user" and agent.has_own_text(entry):
            speaker = agent.speaker(entry, record)
            _check_speaker(speaker, agent)
            _label_speaker(entry, speaker)


_PlacedCall = tuple[dict[str, Any], dict[str, Any]]
"""A call, and the entry that it is a child of, or the call itself."""
_NO_REPORT: dict[str, Any] = {}
"""Stands for the reports about every call without one; nobody may write to it."""


class _LabelPass:
    """One pass over the entries of a record: speakers at once, results when all calls are known.

    Calls may share an id. A result belongs to the nearest call before it that has none yet, and a
    result before all calls with its id belongs to the first of them.
    """

    def __init__(self, agent: Agent, record: dict[str, Any]) -> None:
        """Start before the first entry of a record."""
        self._agent = agent
        self._record = record
        self._entries: list[dict[str, Any]] = record["session"]["entries"]
        self._results: list[CallResult] = []
        self._copies: list[tuple[dict[str, Any], int | None]] = []
        """Each copy of a result, and the number of the last result before it with its id."""
        self._outcomes: list[Outcome] = []
        self._last_speaker = INFERRED_UNKNOWN
        self._last_calls: dict[str, dict[str, Any]] = {}
        self._open_calls: dict[str, list[_PlacedCall]] = {}
        """Call id → the calls that have no result yet."""
        self._odd_calls: list[_PlacedCall] = []
        """Calls whose id is not a text; no result can be theirs."""
        self._early_results: dict[str, list[CallResult]] = {}
        self._last_results: dict[str, int] = {}

    def visit_entries(self, entries: list[dict[str, Any]], message: dict[str, Any] | None) -> None:
        """Label the speakers of entries and their children, and note calls and results.

        `message` is the entry that has the entries as its children, or None at the top.

        Raises:
            PluginError: the agent returned something other than a speaker.
        """
        for entry in entries:
            kind = entry["type"]
            if kind == "user":
                if self._agent.has_own_text(entry):
                    speaker = self._agent.speaker(entry, self._record)
                    if speaker is not self._last_speaker:
                        _check_speaker(speaker, self._agent)
                        self._last_speaker = speaker
                    _label_speaker(entry, speaker)
            elif kind == "tool-result":
                self._note_result(entry, message or entry)
            elif kind == "tool-call":
                self._note_call(entry, message or entry)
            if "children" in entry:
                self.visit_entries(entry["children"], entry)

    def _note_call(self, call: dict[str, Any], message: dict[str, Any]) -> None:
        """Note a call; the results before it with its id are its own, unless they have a call.

        `message` is the entry that the call is a child of, or the call itself. A copy of a call has
        no result of its own.
        """
        call_id: Any = call.get("call-id")
        if "vacr" in call and _is_copy(call) and _ask_same(call, self._last_calls.get(call_id)):
            return
        if type(call_id) is not str:
            if call_id is not None:
                self._odd_calls.append((call, message))
            return
        self._last_calls[call_id] = call
        if call_id in self._early_results:
            for result in self._early_results.pop(call_id):
                result.call = call
        else:
            self._open_calls.setdefault(call_id, []).append((call, message))

    def _note_result(self, entry: dict[str, Any], message: dict[str, Any]) -> None:
        """Note a result and its call; a copy of a result has no call of its own."""
        call_id: Any = entry.get("call-id")
        if "vacr" in entry and _is_copy(entry) and not self._open_calls.get(call_id):
            self._copies.append((entry, self._last_results.get(call_id)))
            return
        result = CallResult(entry, message, None, _NO_REPORT)
        if type(call_id) is str:
            self._last_results[call_id] = len(self._results)
            if call_id in self._last_calls:
                waiting = self._open_calls.get(call_id)
                result.call = waiting.pop()[0] if waiting else self._last_calls[call_id]
            else:
                self._early_results.setdefault(call_id, []).append(result)
        self._results.append(result)

    def has_results(self) -> bool:
        """Return whether the record has results; short sessions often have none."""
        return bool(self._results or self._copies)

    def label_results(self) -> None:
        """Label each result; a later call or notice may resolve a command that ran on."""
        classify_result = self._make_classifier()
        waiting: dict[str, deque[tuple[CallResult, Outcome]]] = {}
        outcomes = self._outcomes
        for result in self._results:
            entry = result.entry
            call_id = entry.get("call-id")
            outcome = classify_result(result)
            outcomes.append(outcome)
            _, _, left_running, saw_end = outcome
            if left_running:
                waiting.setdefault(left_running, deque()).append((result, outcome))
                continue
            _label_outcome(entry, outcome)
            if saw_end and type(call_id) is str:
                for earlier, _ in waiting.pop(saw_end, ()):
                    _label_outcome(earlier.entry, _STILL_RUNNING)
                    get_writable_marks(earlier.entry)["resolved-by"] = call_id
        if waiting:
            self._resolve_by_notices(waiting)
        for unresolved in waiting.values():
            for result, outcome in unresolved:
                _label_outcome(result.entry, outcome)
        self._label_copies(classify_result)

    def _resolve_by_notices(self, waiting: dict[str, deque[tuple[CallResult, Outcome]]]) -> None:
        """Label and remove the results whose process ended in a notice.

        The first result before the notice started the process, and takes its outcome. The others
        only looked at it, and remain `running`.
        """
        places = {id(entry): place for place, entry in enumerate(self._entries)}
        for place, entry in enumerate(self._entries):
            notice = self._agent.task_notice(entry)
            _check_outcome(notice, self._agent, "task_notice")
            results = waiting.get(notice.saw_end)
            outcome = notice
            while results and places.get(id(results[0][0].message), 0) < place:
                result, _ = results.popleft()
                _label_outcome(result.entry, outcome)
                if isinstance(entry.get("id"), str):
                    get_writable_marks(result.entry)["resolved-by"] = entry["id"]
                outcome = _STILL_RUNNING

    def _label_copies(self, classify_result: Callable[[CallResult], Outcome]) -> None:
        """Label the copies of results: a copy ended as the result did."""
        for entry, number in self._copies:
            call_id = entry["call-id"]
            known = self._last_results.get(call_id) if number is None else number
            if known is None:
                copy = CallResult(entry, entry, self._last_calls.get(call_id), {})
                _label_outcome(entry, classify_result(copy))
            else:
                _label_outcome(entry, self._outcomes[known])

    def _make_classifier(self) -> Callable[[CallResult], Outcome]:
        """Return the function that asks the agent for the outcome of a result.

        It adds the reports about the call first. It raises a PluginError if the agent returned
        something other than an outcome.
        """
        agent = self._agent
        report_about = agent.call_reports(self._entries).about
        classify_outcome = agent.outcome
        last_checked = UNKNOWN_OUTCOME

        def classify_result(result: CallResult) -> Outcome:
            """Return the checked outcome of a result."""
            nonlocal last_checked
            call_id = result.entry.get("call-id")
            if type(call_id) is str:
                result.report = report_about(call_id, result.entry)
            outcome = classify_outcome(result)
            if outcome is not last_checked and id(outcome) not in _VALID_OUTCOMES:
                _check_outcome(outcome, agent, "outcome")
                last_checked = outcome
            return outcome

        return classify_result

    def mark_unanswered_calls(self) -> None:
        """Mark the calls with an id and without a result, in `vacr.status`.

        Raises:
            PluginError: the agent returned an unknown status.
        """
        unanswered = [placed for calls in self._open_calls.values() for placed in calls]
        for call, message in unanswered + self._odd_calls:
            status = self._agent.missing_result(call, message)
            if status not in (NO_RESULT, DENIED):
                raise _make_value_error(self._agent, "missing_result", status)
            get_writable_marks(call)["status"] = status


def _is_copy(entry: dict[str, Any]) -> bool:
    """Return whether a call or a result is a copy of another with its id, marked by the reader."""
    repeated = entry["vacr"].get("repeats")
    return type(repeated) is str and repeated == entry.get("call-id")


def _ask_same(call: dict[str, Any], other: dict[str, Any] | None) -> bool:
    """Return whether two calls have the same name and input."""
    return other is not None and (call["name"], call["input"]) == (other["name"], other["input"])


def has_own_text(entry: dict[str, Any]) -> bool:
    """Return whether a message has text, or blocks other than tool results."""
    content = entry.get("content")
    if type(content) is not list:
        return bool(content)
    for block in content:  # noqa: SIM110 - a generator would double the cost
        if type(block) is not dict or not _is_result_block(block):
            return True
    return False


def _is_result_block(block: dict[str, Any]) -> bool:
    """Return whether a block is the result of a call. Blocks of Google's API have no type."""
    if "type" in block:
        return block["type"] in ("tool_result", "tool-result")
    return "functionResponse" in block or "function_response" in block


# --- what agents share ---

_STATUS_WORDS = {
    SUCCESS: "success succeeded completed complete done ok finished",
    FAILURE: "error failed failure",
    DENIED: "denied rejected declined refused",
    INTERRUPTED: "interrupted cancelled canceled aborted stopped killed",
    TIMED_OUT: "timeout timed_out timed-out",
    RUNNING: "running in_progress in-progress inprogress",
}
_STATUSES_BY_WORD = {
    word: status for status, words in _STATUS_WORDS.items() for word in words.split()
}


def parse_status_word(word: Any) -> str:
    """Return the status that an agent's own word stands for, or an empty text.

    For example, `completed` stands for `success`, and `cancelled` for `interrupted`.
    """
    if type(word) is not str:
        return ""
    return _STATUSES_BY_WORD.get(word) or _STATUSES_BY_WORD.get(word.lower(), "")


def parse_stated_outcome(entry: dict[str, Any]) -> Outcome:
    """Return the outcome by `is-error`, else by the word in `status`, else the unknown one.

    A word that fits the flag refines it: a failed call may have been denied or interrupted.
    """
    status = parse_status_word(entry.get("status"))
    is_error = entry.get("is-error")
    if is_error is True:
        return _OUTCOMES_BY_STATUS[status if status in FAILED_STATUSES else FAILURE]
    if is_error is False:
        return _OUTCOMES_BY_STATUS[status or SUCCESS]
    return _OUTCOMES_BY_STATUS[status]


def infer_speaker(record: dict[str, Any]) -> Speaker:
    """Return who most likely wrote the unmarked text of a session.

    It is the parent agent in the session of a sub-agent, unknown in an autonomous session, because
    a person or a program may have started it, and a person otherwise.
    """
    if "parent" in record.get("vacr", ()):
        return INFERRED_PARENT_AGENT
    if record["session"].get("format") == "autonomous":
        return INFERRED_UNKNOWN
    return INFERRED_HUMAN


# --- checking what an agent returns ---


def _check_speaker(speaker: Any, agent: Agent) -> None:
    """Check that an agent returned a valid speaker.

    Raises:
        PluginError: it did not; the message names the agent.
    """
    if not isinstance(speaker, Speaker):
        raise _make_value_error(agent, "speaker", speaker)
    who, basis, prompt = speaker
    if (
        type(who) is not str
        or who not in _SPEAKERS
        or type(basis) is not str
        or basis not in _BASES
        or (prompt is not None and type(prompt) is not str)
    ):
        raise _make_value_error(agent, "speaker", speaker)


def _check_outcome(outcome: Any, agent: Agent, method: str) -> None:
    """Check that an agent returned a valid outcome from `method`.

    Raises:
        PluginError: it did not; the message names the agent and the method.
    """
    if not isinstance(outcome, Outcome):
        raise _make_value_error(agent, method, outcome)
    status, exit_code, left_running, saw_end = outcome
    if (
        type(status) is not str
        or status not in _OUTCOME_STATUSES
        or (exit_code is not None and type(exit_code) is not int)
        or type(left_running) is not str
        or type(saw_end) is not str
    ):
        raise _make_value_error(agent, method, outcome)


def _make_value_error(agent: Agent, method: str, value: object) -> PluginError:
    """Return the error about an invalid value that a method of an agent returned."""
    try:
        shown = repr(value)[:_MAX_SHOWN]
    except Exception:  # noqa: BLE001 - the value is a plugin's, and its repr may do anything
        shown = type(value).__name__
    name = agent.name or type(agent).__name__
    return PluginError(
        f"the agent plugin {name!r} returned an invalid value from {method}: {shown}",
        hint=f"{method} must return {_EXPECTED_VALUES[method]}. Report it to the author of the "
        "plugin.",
    )


_MAX_SHOWN = 200
_OUTCOME_RULE = "an Outcome with a known status; its exit code is an int or None"
_EXPECTED_VALUES = {
    "speaker": "a Speaker with a known who and basis; its prompt is a text or None",
    "outcome": _OUTCOME_RULE,
    "task_notice": _OUTCOME_RULE,
    "missing_result": f"{NO_RESULT!r} or {DENIED!r}",
}


# --- writing labels ---


def _label_speaker(entry: dict[str, Any], speaker: Speaker) -> None:
    """Write who wrote a message to its `vacr` member."""
    who, basis, prompt = speaker
    marks = {"speaker": who, "speaker-basis": basis}
    if prompt is not None:
        marks["prompt"] = prompt
    entry["vacr"] = {**entry["vacr"], **marks} if "vacr" in entry else marks


def _label_outcome(entry: dict[str, Any], outcome: Outcome) -> None:
    """Write how a call ended; the agent's own status moves to `vacr.native`.

    An exit code that no system has is left out. An unknown outcome leaves no status. A success does
    not stand against a failure that the entry itself states.
    """
    status, exit_code, _, _ = outcome
    if status == SUCCESS and ("status" in entry or entry.get("is-error") is True):
        stated = parse_stated_outcome(entry).status
        status = stated if stated in FAILED_STATUSES else status
    if exit_code is not None and not _LOWEST_EXIT_CODE <= exit_code <= _HIGHEST_EXIT_CODE:
        exit_code = None
    native = {"status": entry.pop("status")} if "status" in entry else {}
    is_error = entry.pop("is-error", None)
    if status:
        entry["status"] = status
    if status == SUCCESS:
        entry["is-error"] = False
    elif status in FAILED_STATUSES:
        entry["is-error"] = True
    if is_error is not None and is_error is not entry.get("is-error"):
        native["is-error"] = is_error
    if native or exit_code is not None:
        marks = get_writable_marks(entry)
        if native:
            marks["native"] = {**marks["native"], **native} if "native" in marks else native
        if exit_code is not None:
            marks["exit-code"] = exit_code


def get_writable_marks(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the `vacr` member of an entry, copied because entries may share one.

    The copy becomes the member of the entry; without one, it is empty.
    """
    marks: dict[str, Any] = entry["vacr"].copy() if "vacr" in entry else {}
    entry["vacr"] = marks
    return marks
