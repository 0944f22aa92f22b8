"""What an agent returns is checked before it becomes a label; calls may share an id."""

import pytest

from vacr.agents.agent import Agent
from vacr.agents.labels import Outcome, Speaker, label_entries
from vacr.errors import PluginError


class Parrot(Agent):
    """An agent whose answers are given."""

    name = "parrot"

    def __init__(self, speaker=None, outcome=None):
        self.given_speaker, self.given_outcome = speaker, outcome

    def speaker(self, entry, record):
        del entry, record
        return self.given_speaker

    def outcome(self, result):
        del result
        return self.given_outcome


def label(agent, *entries):
    label_entries(agent, {"session": {"entries": list(entries)}})


def make_call(call_id="c1", **members):
    return {"type": "tool-call", "name": "fly", "input": {}, "call-id": call_id, **members}


def make_result(call_id="c1", **members):
    return {"type": "tool-result", "output": "", "call-id": call_id, **members}


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "speaker",
    [
        None,
        "human",
        ("human", "stated", None),
        Speaker("<b>evil", "stated"),
        Speaker(["human"], "stated"),
        Speaker("human", None),
        Speaker("human", "guessed"),
        Speaker("human", ["stated"]),
        Speaker("human", "stated", 123),
        Speaker("human", "stated", Unprintable()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_invalid_speaker_is_an_error_of_the_plugin(speaker):
    entry = {"type": "user", "content": "Fly!"}
    with pytest.raises(PluginError, match=r"'parrot' returned an invalid value from speaker"):
        label(Parrot(speaker=speaker), entry)
    assert "vacr" not in entry


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        "success",
        Outcome(["x"]),
        Outcome("weird"),
        Outcome(None),
        Outcome("error", exit_code=True),
        Outcome("error", exit_code=float("nan")),
        Outcome("error", exit_code="3"),
        Outcome("weird", exit_code=10**5000),
        Outcome("running", left_running=[1]),
        Outcome("success", saw_end=7),
        Unprintable(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_invalid_outcome_is_an_error_of_the_plugin(outcome):
    result = make_result()
    with pytest.raises(PluginError, match=r"'parrot' returned an invalid value from outcome"):
        label(Parrot(outcome=outcome), make_call(), result)
    assert "status" not in result


@pytest.mark.parametrize(
    ("code", "is_kept"),
    [
        (0, True),
        (-(2**31), True),
        (2**32 - 1, True),
        (-(2**31) - 1, False),
        (2**32, False),
        (10**30, False),
        (10**5000, False),
    ],
    ids=["zero", "lowest", "highest", "below", "above", "large", "huge"],
)
def test_number_of_more_than_32_bits_is_not_an_exit_code(code, is_kept):
    result = make_result()
    label(Parrot(outcome=Outcome("error", code)), make_call(), result)
    assert result["status"] == "error"
    assert result.get("vacr", {}).get("exit-code") == (code if is_kept else None)


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"is-error": True}, "error"),
        ({"status": "failed"}, "error"),
        ({"status": "cancelled"}, "interrupted"),
        ({"status": "rejected", "is-error": True}, "denied"),
        ({"status": "done", "is-error": True}, "error"),
        ({"status": "odd"}, "success"),
        ({"status": ["error"]}, "success"),
        ({"status": "running"}, "success"),
        ({"is-error": False}, "success"),
        ({"is-error": "yes"}, "success"),
    ],
)
def test_success_does_not_stand_against_a_stated_failure(members, status):
    result = make_result(**members)
    label(Parrot(outcome=Outcome("success", 0)), make_call(), result)
    assert (result["status"], result["is-error"]) == (status, status != "success")
    assert result["vacr"]["exit-code"] == 0


class Echo(Agent):
    """An agent that notes which call each result has."""

    name = "echo"

    def outcome(self, result):
        result.entry["of"] = (result.call or {}).get("number")
        return Outcome("success")


@pytest.mark.parametrize(
    ("order", "pairs", "unanswered"),
    [
        ("CRCRC", [1, 2], [3]),
        ("CRCR", [1, 2], []),
        ("CCRR", [2, 1], []),
        ("CCR", [2], [1]),
        ("CRR", [1, 1], []),
        ("RC", [1], []),
        ("RCC", [1], [2]),
        ("RCRC", [1, 1], [2]),
        ("R", [None], []),
        ("CC", [], [1, 2]),
    ],
)
def test_repeated_call_id_does_not_swap_outcomes(order, pairs, unanswered):
    numbers = iter(range(1, 9))
    entries = [make_call(number=next(numbers)) if kind == "C" else make_result() for kind in order]
    label(Echo(), *entries)
    calls = [entry for entry in entries if entry["type"] == "tool-call"]
    results = [entry for entry in entries if entry["type"] == "tool-result"]
    assert [entry["of"] for entry in results] == pairs
    marked = [entry["number"] for entry in calls if "vacr" in entry]
    assert marked == unanswered


def test_copy_of_a_result_ends_as_the_result_before_it():
    class Counter(Agent):
        def outcome(self, result):
            return Outcome("error", result.entry["code"])

    copy = make_result(vacr={"repeats": "c1"})
    entries = [make_call(), make_result(code=3), copy, make_call(), make_result(code=4)]
    label(Counter(), *entries)
    assert copy["vacr"]["exit-code"] == 3


def test_copy_without_a_result_is_classified_by_itself():
    copy = make_result(vacr={"repeats": "c1"})
    label(Parrot(outcome=Outcome("error", 3)), copy)
    assert (copy["status"], copy["vacr"]["exit-code"]) == ("error", 3)


def test_call_with_an_id_that_is_not_text_has_no_result():
    call = make_call(["c1"])
    label(Parrot(outcome=Outcome("success")), call, make_result())
    assert call["vacr"] == {"status": "no-result"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"is-error": True}, ("error", True)),
        ({"is-error": True, "status": "cancelled"}, ("interrupted", True)),
        ({"is-error": True, "status": "completed"}, ("error", True)),
        ({"is-error": False}, ("success", False)),
        ({"is-error": False, "status": "rejected"}, ("denied", True)),
        ({"status": "TIMEOUT"}, ("timeout", True)),
        ({"status": "strange"}, (None, None)),
        ({"status": 3}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_agent_without_rules_is_taken_by_its_word(members, expected):
    result = make_result(**members)
    label(Agent(), make_call(), result)
    assert (result.get("status"), result.get("is-error")) == expected


@pytest.mark.parametrize(
    ("session", "marks", "who"),
    [
        ({}, {"parent": {"session-id": "p"}}, "parent-agent"),
        ({"format": "autonomous"}, {}, "unknown"),
        ({"format": "interactive"}, {}, "human"),
    ],
)
def test_session_decides_about_the_speaker_of_an_agent_without_rules(session, marks, who):
    prompt = {"type": "user", "content": "Fly!"}
    label_entries(Agent(), {"session": {"entries": [prompt], **session}, "vacr": marks})
    assert prompt["vacr"] == {"speaker": who, "speaker-basis": "inferred"}


def test_invalid_reason_of_a_missing_result_is_an_error_of_the_plugin():
    class Owl(Parrot):
        def missing_result(self, call, message):
            return call["name"] if call is message else ""

    with pytest.raises(PluginError, match=r"invalid value from missing_result: 'fly'"):
        label(Owl(), make_call())


def test_invalid_task_notice_is_an_error_of_the_plugin():
    class Owl(Parrot):
        def task_notice(self, entry):
            return entry["type"]

    running = Outcome("running", left_running="p1")
    with pytest.raises(PluginError, match=r"'parrot' returned an invalid value from task_notice"):
        label(Owl(outcome=running), make_call(), make_result())
