"""Measure how fast records are built and validated."""

from __future__ import annotations

import json
import time
from functools import partial

from sessions import AGENTS, LARGE_SESSION, Session, call_with_each, compare, load_sessions

from vacr import validate
from vacr.agents.agent import Source, SourcePart, pause_garbage_collector
from vacr.agents.registry import recognise_agent
from vacr.record.encoding import assign_record_id, encode_with_id
from vacr.record.validation import load_record_schema

ROUNDS = 9
MAX_ROUNDS = 200
MIN_TOTAL_SIZE = 40_000_000
"""How many bytes to read in all. Small sets are repeated more often, as their times vary most."""


def record_session(session: Session) -> None:
    """Turn native bytes into records: recognise the agent, read, encode as canonical JSON, hash."""
    with pause_garbage_collector():
        source = Source((SourcePart(session.name, session.data),))
        for reading in recognise_agent(source).read_labelled(source):
            assign_record_id(reading.record)


def recording() -> None:
    """Compare recording with the minimum, for each agent: all sessions, and those over 100 kB.

    Where all sessions are small, they are also measured as long as usual ones. For OpenCode, dumps
    are measured as well, which consist of many indented values.
    """
    for agent in AGENTS:
        sessions = load_sessions(agent)
        large = [session for session in sessions if len(session.data) > LARGE_SESSION]
        dumps = [session.convert_to_dump() for session in sessions] if agent == "opencode" else []
        samples = {
            "all": sessions,
            "over 100 kB": large,
            "made realistic": [] if large else _make_realistic(sessions),
            "dumps": [dump for dump in dumps if dump is not None],
        }
        ratios = [_measure_sample(label, sample) for label, sample in samples.items() if sample]
        print(f"record {agent:12} x the minimum (target: at most 2.5)   {'   '.join(ratios)}")


def _measure_sample(label: str, sessions: list[Session]) -> str:
    """Return the ratio for some sessions, as text."""
    _split_values(sessions)
    size = sum(len(session.data) for session in sessions)
    minimum, recording_time = compare(
        partial(call_with_each, Session.process_minimally, sessions),
        partial(call_with_each, record_session, sessions),
        max(ROUNDS, min(MAX_ROUNDS, MIN_TOTAL_SIZE // size)),
        time.process_time,
    )
    megabytes = size / 1e6
    return (
        f"{label}: {recording_time / minimum:.2f} ({len(sessions)} files, {megabytes:.1f} MB, "
        f"{megabytes / recording_time:.0f} MB/s)"
    )


def _make_realistic(sessions: list[Session]) -> list[Session]:
    """Return the sessions that can be made as long as usual ones."""
    longer = [session.make_realistic() for session in sessions]
    return [session for session in longer if session is not None]


def _split_values(sessions: list[Session]) -> None:
    """Compute the cached `values` of sessions before any time is taken."""
    for session in sessions:
        _ = session.values


def growth() -> None:
    """Show that the cost grows linearly: compare with the minimum at several sizes."""
    for agent in AGENTS:
        sessions = load_sessions(agent)
        documents = [session for session in sessions if len(session.values) == 1]
        largest = max(documents or sessions, key=lambda session: len(session.data))
        ratios = []
        for factor in (1, 2, 4, 8):
            repeated = largest.repeat(factor)
            _split_values([repeated])
            minimum, recording_time = compare(
                repeated.process_minimally, partial(record_session, repeated), 3
            )
            ratios.append(f"{recording_time / minimum:.2f}")
        print(f"growth {agent:12} x the minimum at 1, 2, 4, 8 times the size: {'  '.join(ratios)}")


def validation() -> None:
    """Measure the validation of decoded records, per entry."""
    records = []
    for agent in AGENTS:
        for session in load_sessions(agent):
            source = Source((SourcePart(session.name, session.data),))
            for reading in recognise_agent(source).read_labelled(source):
                records.append(json.loads(b"".join(encode_with_id(reading.record))))
    entry_count = sum(len(record["session"]["entries"]) for record in records)
    checker = load_record_schema("3").checker("verifiable-agent-record", json=True)
    schema_time, whole_time = compare(
        partial(call_with_each, checker.matches, records),
        partial(call_with_each, validate, records),
        ROUNDS,
    )
    print(
        f"validate            {schema_time / entry_count * 1e6:5.2f} µs an entry for the schema "
        f"(target: at most 5), {whole_time / entry_count * 1e6:.2f} with all other checks"
    )
