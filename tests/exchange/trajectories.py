"""ATIF trajectories within the rules of Harbor's models, for property tests."""

from hypothesis import strategies as st

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_count = st.integers(0, 2**53)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _text,
    lambda values: st.lists(values, max_size=2) | st.dictionaries(_text, values, max_size=2),
    max_leaves=4,
)
_objects = st.dictionaries(_text, _values, max_size=2)
_times = st.sampled_from(
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05.678+02:00",
        "2026-01-02T03:04:05",
        "2026-01-02",
        "2026-01-02 03:04:05",
    ]
)
_media = st.fixed_dictionaries(
    {"media_type": st.sampled_from(["image/png", "image/webp"]), "path": _text}
)
_sounds = st.fixed_dictionaries(
    {"media_type": st.just("audio/wav"), "path": _text},
    optional={"duration_sec": st.floats(0, 9, width=32)},
)
_parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": _text}),
    st.fixed_dictionaries({"type": st.just("image"), "source": _media}),
    st.fixed_dictionaries({"type": st.just("audio"), "source": _sounds}),
)
_content = _text | st.lists(_parts, max_size=3)
_metrics = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": st.integers(-2, 2**53),
        "completion_tokens": _count,
        "cached_tokens": _count,
        "cost_usd": st.integers(0, 5) | st.floats(0, 5, width=32),
        "prompt_token_ids": st.lists(_count, max_size=2),
        "logprobs": st.lists(st.floats(-5, 0, width=32), max_size=2),
        "extra": _objects,
    },
)
_references = st.lists(
    st.fixed_dictionaries(
        {"trajectory_id": _text},
        optional={"session_id": _text, "trajectory_path": _text, "extra": _objects},
    ),
    max_size=2,
)
_agent = st.fixed_dictionaries(
    {"name": _text, "version": _text},
    optional={
        "model_name": _text,
        "tool_definitions": st.lists(_objects, max_size=2),
        "extra": _objects,
    },
)
_final = st.fixed_dictionaries(
    {},
    optional={
        "total_prompt_tokens": _count,
        "total_cost_usd": st.floats(0, 9, width=32),
        "total_steps": _count,
        "extra": _objects,
    },
)


@st.composite
def _step(draw, number):
    source = draw(st.sampled_from(["system", "user", "agent"]))
    optional = {
        "timestamp": _times,
        "is_copied_context": st.booleans(),
        "extra": _objects,
        "llm_call_count": st.integers(1, 3),
    }
    calls = []
    if source == "agent":
        call = st.fixed_dictionaries(
            {"tool_call_id": _text, "function_name": _text, "arguments": _objects},
            optional={"extra": _objects},
        )
        calls = draw(st.lists(call, max_size=3))
        optional |= {
            "model_name": _text,
            "reasoning_effort": _text | st.integers(0, 3),
            "reasoning_content": _text,
            "metrics": _metrics,
        }
    step = draw(st.fixed_dictionaries({"message": _content}, optional=optional)) | {
        "step_id": number,
        "source": source,
    }
    if calls or (source == "agent" and draw(st.booleans())):
        step["tool_calls"] = calls
    if draw(st.booleans()):
        result = {"content": _content, "subagent_trajectory_ref": _references, "extra": _objects}
        if calls:
            result["source_call_id"] = st.sampled_from([call["tool_call_id"] for call in calls])
        step["observation"] = {
            "results": draw(st.lists(st.fixed_dictionaries({}, optional=result), max_size=3))
        }
    return step


@st.composite
def trajectories(draw, depth=1):
    """Draw a trajectory with nested sub-agents."""
    optional = {
        "session_id": _text,
        "trajectory_id": _text,
        "notes": _text,
        "final_metrics": _final,
        "continued_trajectory_ref": _text,
        "extra": _objects,
    }
    trajectory = draw(st.fixed_dictionaries({"agent": _agent}, optional=optional))
    trajectory["schema_version"] = draw(
        st.sampled_from(["ATIF-v1.5", "ATIF-v1.6", "ATIF-v1.7", "ATIF-v1.8"])
    )
    trajectory["steps"] = [draw(_step(number)) for number in range(1, draw(st.integers(1, 3)) + 1)]
    if depth and draw(st.booleans()):
        others = draw(st.lists(trajectories(depth=depth - 1), max_size=2))
        trajectory["subagent_trajectories"] = [
            other | {"trajectory_id": f"t{number}"} for number, other in enumerate(others)
        ]
    return trajectory
