"""Speed of making and checking records."""

from __future__ import annotations

import json
from functools import partial

from sessions import AGENTS, Session, compare, each, sessions

from vacr.agents.agent import Source, SourcePart, pause_garbage_collector
from vacr.agents.registry import recognise_agent
from vacr.record.encoding import assign_record_id
from vacr.record.validation import load_record_schema, validate

ROUNDS = 9
ENOUGH = 40_000_000
"""How many bytes to read in all: small sets are gone through more often, for their times are the
noisiest.
"""
LARGE = 100_000


def record(session: Session) -> None:
    """Do all of it: native bytes → agent recognised → records → canonical JSON, hashed for
    the id.
    """
    with pause_garbage_collector():
        source = Source((SourcePart(session.name, session.data),))
        for reading in recognise_agent(source).read(source):
            assign_record_id(reading.record)


def recording() -> None:
    """Compare recording with the floor, for each agent: all its sessions, and those of more than
    100 kB; for OpenCode also dumps, which hold many indented values.
    """
    for agent in AGENTS:
        found = sessions(agent)
        large = [session for session in found if len(session.data) > LARGE]
        dumps = [session.dump() for session in found] if agent == "opencode" else []
        forms = {
            "all": found,
            "over 100 kB": large,
            "dumps": [dump for dump in dumps if dump is not None],
        }
        told = []
        for label, some in forms.items():
            if some:
                each(lambda session: session.values, some)
                size = sum(len(session.data) for session in some)
                rounds = max(ROUNDS, ENOUGH // size)
                least, work = compare(
                    partial(each, Session.floor, some), partial(each, record, some), rounds
                )
                size /= 1e6
                told.append(
                    f"{label}: {work / least:.2f} ({len(some)} files, {size:.1f} MB, "
                    f"{size / work:.0f} MB/s)"
                )
        print(f"record {agent:12} x the floor (at most 2.5)   {'   '.join(told)}")


def growth() -> None:
    """Show that the cost grows with the size and no faster: compared with the floor at the same
    size.
    """
    for agent in AGENTS:
        whole = [one for one in sessions(agent) if len(one.values) == 1] or sessions(agent)
        session = max(whole, key=lambda one: len(one.data))
        ratios = []
        for factor in (1, 2, 4, 8):
            larger = session.times(factor)
            each(lambda one: one.values, [larger])
            least, work = compare(larger.floor, partial(record, larger), 3)
            ratios.append(f"{work / least:.2f}")
        print(f"growth {agent:12} x the floor at 1, 2, 4, 8 times the size: {'  '.join(ratios)}")


def validation() -> None:
    """Time validation per entry, on decoded records."""
    records = []
    for agent in AGENTS:
        for session in sessions(agent):
            source = Source((SourcePart(session.name, session.data),))
            for reading in recognise_agent(source).read(source):
                records.append(json.loads(b"".join(assign_record_id(reading.record))))
    entries = sum(len(one["session"]["entries"]) for one in records)
    checker = load_record_schema("3").checker("verifiable-agent-record", json=True)
    schema, whole = compare(
        partial(each, checker.matches, records), partial(each, validate, records), ROUNDS
    )
    schema, whole = schema / entries * 1e6, whole / entries * 1e6
    print(
        f"validate            {schema:5.2f} µs an entry by the schema (at most 5), {whole:.2f} "
        "with the checks above it"
    )
