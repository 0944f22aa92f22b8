"""Fuzz the readers: any values become valid records that keep them all, or raise our error.

    python -m fuzz.sessions found/ --seconds 60 --seed 1 cline amp

Inputs are the sessions of the tests, with members replaced, dropped, moved, renamed and repeated. A
record must be canonical and valid, give its native values back, and call no failure a success. The
inputs that show a problem are saved in the folder. Without agents, all are tried. The same seed
tries the same inputs in the same order, until the CPU seconds are over.
"""

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.agents import rebuild
from tests.conftest import CORPUS, EXAMPLES, FIXTURES, records_of
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.documents import UndecodableBytes
from vacr.agents.registry import recognise_agent
from vacr.errors import VacrError
from vacr.model import CANONICAL_ENTRY_MEMBERS
from vacr.record import walk_entries

MAX_SESSION_BYTES = 2_000_000
MAX_VALUES = 40  # Of a longer session, an input takes the first value and a part.
MAX_COPY_CHARACTERS = 5_000
ODD_VALUES = (
    *(None, True, False, 0, -1, 7, 1.5, -0.0, 1e300, 2**53 + 1, 2**64, 2**70),
    *("", "x", "user", "assistant", "success", "error", "a" * 300, "\0", "\u2028é😀", "true"),
    *("2026-01-01T00:00:00Z", "{", "[1]", '{"a": 1}', '{ "a":1.0}', '{"a":1,"a":2}'),
    *([], {}, [None], [[]], ["x", 5], {"": ""}, {"type": "x"}, {"type": ["x"]}, {"text": 1}),
    *({"content": None}, {"type": "text", "text": "hi"}, [{"type": "text", "text": "hi"}]),
    [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}, {"type": "thinking"}],
)
NATIVE_NAMES = "message payload role uuid usage text summary state parts error native from repeats"
NAMES = (*sorted(CANONICAL_ENTRY_MEMBERS), *NATIVE_NAMES.split(), "not-an-object", "")
LAYOUTS = ({"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": 2}, {"indent": "\t"})
FAILURE_FLAGS = {"is_error": True, "isError": True, "success": False}
CALL_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "callId")


def load_sessions(agents: list[str]) -> dict[str, list[list[Any]]]:
    """Return the values of each session in the tests, by the agent that wrote it."""
    found: dict[str, list[list[Any]]] = {}
    for path in sorted(path for root in (FIXTURES, EXAMPLES, CORPUS) for path in root.rglob("*.*")):
        is_json = path.suffix in (".json", ".jsonl", ".traj")
        data = path.read_bytes() if is_json else b""
        try:
            agent = recognise_agent(Source((SourcePart(path.name, data),))).name
        except VacrError:
            continue
        values = [value for value in parse_values(data) if isinstance(value, dict | list)]
        if values and len(data) <= MAX_SESSION_BYTES and (not agents or agent in agents):
            found.setdefault(agent, []).append(values)
    return found


def parse_values(data: bytes) -> list[Any]:
    """Return the native values of a session, without bytes that are not JSON."""
    values = [value for _, batch in SourcePart("s", data).documents() for value in batch]
    return [value for value in values if not isinstance(value, UndecodableBytes)]


# --- changes ---


def make_input(values: list[Any], chance: random.Random) -> bytes:
    """Return a session with changed values, in one of several layouts."""
    if len(values) > MAX_VALUES:
        start = chance.randrange(1, len(values) - MAX_VALUES + 2)
        values = values[:1] + values[start : start + MAX_VALUES - 1]
    values = json.loads(json.dumps(values))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        change(choose_holder(values, chance), choose_holder(values, chance), chance)
    layout: dict[str, Any] = chance.choice(LAYOUTS)
    text = "\n".join(json.dumps(value, **layout) for value in values or [{}])
    return text.encode("utf-8", "surrogatepass")


def choose_holder(value: Any, chance: random.Random) -> Any:
    """Return an object or an array at any depth in a value, or the value itself."""
    while chance.randrange(6):
        inner = value.values() if isinstance(value, dict) else value
        holders = [item for item in inner if isinstance(item, dict | list) and item]
        if not holders:
            break
        value = chance.choice(holders)
    return value


def change(holder: Any, other: Any, chance: random.Random) -> None:
    """Change a member or an element of an object or an array; `other` may be put into it."""
    if not holder:
        return
    text = json.dumps(other)
    other = json.loads(text) if len(text) < MAX_COPY_CHARACTERS else {}
    new = chance.choice((*json.loads(json.dumps(ODD_VALUES)), *[other] * 9))
    kind = chance.randrange(8)
    if isinstance(holder, list):
        place, second = (chance.randrange(len(holder)) for _ in range(2))
        old = json.loads(json.dumps(holder[place]))
        changes = ([], [new], [old, old], [new, old], [holder[second]], [[old]], [str(old)], [old])
        holder[place : place + 1] = changes[kind]
        return
    name, second_name = (chance.choice(list(holder)) for _ in range(2))
    new_name = chance.choice((*NAMES, *other) if isinstance(other, dict) else NAMES)
    old = holder.pop(name)
    holder |= (
        {},
        {name: new},
        {name: old, new_name: new},
        {new_name: old},
        {name: [old]},
        {name: {new_name: old}},
        {name: not old if isinstance(old, bool) else str(old)},
        {name: holder.get(second_name, new), second_name: old},
    )[kind]


# --- checks ---


def check(data: bytes, agent: str) -> None:
    """Check the records of a session; a session that is refused has none.

    Raises:
        AssertionError: a record is wrong. Any other error is a finding, too.
    """
    try:
        records = records_of(data, agent)
    except VacrError:
        return
    for record in records:
        for problem in validate(record).findings:
            raise AssertionError(f"invalid: {problem.rule} {problem.found} {problem.expected}")
    form = rebuild.format_of(records[0])
    native, normal = parse_values(data), rebuild.normal_of(form)
    found = [value for value in rebuild.values(records) if not isinstance(value, bytes)]
    back, there = (Counter(map(normal, values)) for values in (found, native))
    if wrong := find_false_successes(records, native):
        raise AssertionError(f"failures are labelled successes: {wrong}")
    if back != there:
        lost, added = (next(some.elements(), "") for some in (there - back, back - there))
        raise AssertionError(f"{lost[:500]} came back as {added[:500]}")
    if form in rebuild.LINES:
        # In other formats, a stray value before a session may come back after it.
        rebuild.assert_same(records, native)


def find_false_successes(records: list[dict[str, Any]], native: list[Any]) -> set[str]:
    """Return the calls whose only result is labelled a success, but whose native flag says no."""
    entries = [entry for record in records for entry in walk_entries(record["session"]["entries"])]
    results = [entry for entry in entries if entry["type"] == "tool-result" and "call-id" in entry]
    counts = Counter(str(result["call-id"]) for result in results)
    objects: list[dict[str, Any]] = []
    json.loads(json.dumps(native), object_hook=objects.append)
    bad = [v for v in objects if any(v.get(name) is flag for name, flag in FAILURE_FLAGS.items())]
    failed = {str(value[name]) for value in bad for name in CALL_IDS if name in value}
    good = {result["call-id"] for result in results if result.get("status") == "success"}
    return {call_id for call_id in good & failed if counts[call_id] == 1}


def main() -> int:
    """Run until the time is over; return 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to save inputs that show a problem")
    parser.add_argument("agents", nargs="*", help="the agents to try; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="of CPU time")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sessions = load_sessions(options.agents)
    chance = random.Random(options.seed)  # noqa: S311 - the same inputs every time
    runs, findings, end = 0, 0, time.process_time() + options.seconds
    while time.process_time() < end:
        runs += 1
        agent = chance.choice(sorted(sessions))
        data = make_input(chance.choice(sessions[agent]), chance)
        try:
            check(data, agent)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            findings += 1
            path = options.folder / f"{agent}-{options.seed}-{runs}.json"
            path.write_bytes(data)
            frame = traceback.extract_tb(error.__traceback__)[-1]
            print(f"{path} {frame.name}:{frame.lineno} {error!r}", flush=True)
    print(f"{runs} inputs for {len(sessions)} agents, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
