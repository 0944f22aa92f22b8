"""What ATIF asks beyond the shape of a document. Step: import. The same rules as in the models of
Harbor.
"""

from __future__ import annotations

from collections.abc import Iterator

from vacr.errors import InvalidRecord
from vacr.exchange import schemas
from vacr.model import Native

_AGENTS_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
_MODELS_ONLY = ("metrics", "reasoning_content")


def check(document: Native) -> None:
    """Check a trajectory.

    Raises:
        InvalidRecord: it breaks a rule; the first place where.
    """
    schemas.check(document, "vacr.exchange.atif", "atif.cddl", "ATIF trajectory")
    for where, told in _broken(document, ""):
        raise InvalidRecord(f"no ATIF trajectory: {told}", where=where)


def _broken(trajectory: Native, base: str) -> Iterator[tuple[str, str]]:
    """Give what is wrong with a trajectory and those in it."""
    for number, step in enumerate(trajectory["steps"]):
        where = f"{base}/steps/{number}"
        if step["step_id"] != number + 1:
            yield f"{where}/step_id", f"step {step['step_id']} where {number + 1} is due"
        if step["source"] != "agent":
            yield from (
                (f"{where}/{name}", f"a step of the {step['source']} has none")
                for name in _AGENTS_ONLY
                if _has(step, name)
            )
        elif step.get("llm_call_count") == 0:
            yield from (
                (f"{where}/{name}", "a step without a model has none")
                for name in _MODELS_ONLY
                if _has(step, name)
            )
        calls = {call["tool_call_id"] for call in step.get("tool_calls") or ()}
        for place, result in enumerate((step.get("observation") or {"results": ()})["results"]):
            if _has(result, "source_call_id") and result["source_call_id"] not in calls:
                told = (
                    "the result of a call that the step does not have, "
                    f"{result['source_call_id']!r}"
                )
                yield f"{where}/observation/results/{place}/source_call_id", told
    names: set[str] = set()
    for number, other in enumerate(trajectory.get("subagent_trajectories") or ()):
        where = f"{base}/subagent_trajectories/{number}"
        name = other.get("trajectory_id")
        if name is None or name in names:
            yield f"{where}/trajectory_id", "missing" if name is None else f"not unique, {name!r}"
        names.add(str(name))
        yield from _broken(other, where)


def _has(members: Native, name: str) -> bool:
    return members.get(name) is not None
