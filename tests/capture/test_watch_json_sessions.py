"""`vacr watch` as a real process, with sessions that are one JSON value, rewritten at each step."""

import json

import pytest

from tests.capture.watching import add

pytestmark = pytest.mark.component

SESSION = "1790000000000_till0"


def write(path, value):
    """Replace a file, as agents do that rewrite a whole session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)


def test_rewritten_session_and_its_manifest_are_captured(machine):
    path = machine.home / ".cline" / "data" / "sessions" / SESSION / f"{SESSION}.messages.json"
    manifest = path.with_name(f"{SESSION}.json")
    session = {"version": 1, "agent": "lead", "sessionId": SESSION, "messages": []}
    watching = machine.watch("--all")
    for number in range(3):
        message = {"role": "user", "content": f"question {number}", "ts": 1790000000000 + number}
        session["messages"].append(message)
        write(path, session)
        write(manifest, {"version": 1, "session_id": SESSION, "enable_spawn": True, "n": number})
        watching.wait_until(
            lambda: (
                machine.last_seen(path, "cline")
                == {path.name: path.read_bytes(), manifest.name: manifest.read_bytes()}
            )
        )
    watching.stop()
    machine.check_intact()


@pytest.mark.parametrize(
    ("agent", "place"),
    [
        ("continue", ".continue/sessions/5b1d0c7e-0000-4000-8000-00000000c0de.json"),
        ("amp", ".local/share/amp/threads/T-1.json"),
    ],
)
def test_session_of_each_agent_is_captured(machine, agent, place):
    path = machine.home / place
    watching = machine.watch("--all")
    for number in range(2):
        write(path, {"number": number})
        watching.wait_until(
            lambda: machine.last_seen(path, agent) == {path.name: path.read_bytes()}
        )
    watching.stop()
    machine.check_intact()


def test_session_of_lines_and_its_settings_are_captured(machine):
    path = machine.home / ".factory" / "sessions" / "-home-nora" / "d-1.jsonl"
    settings = path.with_name("d-1.settings.json")
    watching = machine.watch("--all")
    for number in range(2):
        add(path, json.dumps({"type": "message", "id": str(number)}).encode() + b"\n")
        write(settings, {"model": "m", "tokenUsage": {"outputTokens": number}})
        watching.wait_until(
            lambda: (
                machine.last_seen(path, "droid")
                == {path.name: path.read_bytes(), settings.name: settings.read_bytes()}
            )
        )
    watching.stop()
    machine.check_intact()
