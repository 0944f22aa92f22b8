"""Each member of a record is exported or counted as a loss."""

import pytest

from vacr.exchange.export import ExportRequest
from vacr.exchange.formats import EXCHANGE_FORMATS

CONVERSATIONS = [name for name, form in EXCHANGE_FORMATS.items() if form.of_rows]
MARK = "added-here"
TIME = "2026-01-01T00:00:0{}Z"
USAGE = {"input": 1, "output": 2}
EDIT = {"file_path": "a.py", "old_string": "x", "new_string": "y"}


def build_record() -> dict:
    """Return a record with entries of every type."""
    entries = [
        {
            "type": "user",
            "timestamp": TIME.format(1),
            "content": [{"type": "text", "text": "said"}],
        },
        {"type": "reasoning", "content": "thought"},
        {"type": "assistant", "content": "answer", "token-usage": dict(USAGE)},
        {"type": "tool-call", "call-id": "1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool-result", "call-id": "1", "output": [{"type": "text", "text": "printed"}]},
        {"type": "tool-call", "call-id": "2", "name": "Edit", "input": dict(EDIT)},
        {"type": "system-event", "event-type": "an-error"},
    ]
    meta = {"model-id": "m", "model-provider": "p", "cli-name": "claude-code", "cli-version": "1"}
    session = {
        "session-id": "s",
        "agent-meta": meta,
        "environment": {"working-dir": "/d"},
        "entries": entries,
    }
    return {
        "version": "3.0.0-draft",
        "id": "r",
        "session": session,
        "vcs": {"type": "git"},
        "vacr": {},
    }


PLACES = {
    "record": "",
    "session": "/session",
    "agent": "/session/agent-meta",
    "environment": "/session/environment",
    "version control": "/vcs",
    "prompt": "/session/entries/0",
    "text": "/session/entries/0/content/0",
    "thought": "/session/entries/1",
    "answer": "/session/entries/2",
    "tokens": "/session/entries/2/token-usage",
    "call": "/session/entries/3",
    "input": "/session/entries/3/input",
    "result": "/session/entries/4",
    "output": "/session/entries/4/output/0",
    "edit": "/session/entries/5/input",
    "event": "/session/entries/6",
}
CANONICAL = {
    "session": ["session-end"],
    "version control": ["branch", "revision", "repository"],
    "agent": ["models"],
    "prompt": ["id", "parent-id"],
    "thought": ["encrypted", "subject"],
    "answer": ["stop-reason", "model-id"],
    "result": ["status"],
    "event": ["data"],
}


WHOLE_ENTRY_LOSSES = {
    "edit": "inputs of tools, ",
    "event": "events (",
    "tokens": "token-usage of entries",
}
"""The loss that counts the whole entry, in formats that leave it out."""


def build_record_with_member(place: str, name: str) -> dict:
    made = holder = build_record()
    for step in PLACES[place].split("/")[1:]:
        holder = holder[int(step) if isinstance(holder, list) else step]
    holder[name] = {"models": [MARK, "m"], "data": {"x": MARK}, "session-end": TIME.format(9)}.get(
        name, MARK
    )
    return made


@pytest.mark.parametrize("form", CONVERSATIONS)
@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place in PLACES for name in ["own", *CANONICAL.get(place, ())]],
)
def test_every_member_is_exported_or_counted_as_a_loss(form, place, name):
    before = EXCHANGE_FORMATS[form].export(build_record(), ExportRequest("ab" * 32))
    after = EXCHANGE_FORMATS[form].export(
        build_record_with_member(place, name), ExportRequest("ab" * 32)
    )
    is_exported = MARK.encode() in after.data or (
        name == "session-end" and after.data != before.data
    )
    is_counted_whole = place in WHOLE_ENTRY_LOSSES and any(
        what.startswith(WHOLE_ENTRY_LOSSES[place]) for what in before.losses
    )
    assert (
        is_exported or is_counted_whole or sum(after.losses.values()) > sum(before.losses.values())
    )
    assert all(after.losses.values())


def test_long_model_name_is_counted_as_a_loss():
    made = build_record() | {"created": TIME.format(0)}
    ranges = [
        {"start-line": 1, "end-line": 2, "contributor": {"type": "ai", "model-id": "m" * 300}}
    ]
    made["file-attribution"] = {"files": [{"path": "a", "conversations": [{"ranges": ranges}]}]}
    assert (
        EXCHANGE_FORMATS["agent-trace"]
        .export(made, ExportRequest("ab" * 32))
        .losses["ends of long model names"]
        == 1
    )
