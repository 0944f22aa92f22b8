"""Any native lines, also ones that no agent writes yet, come back from the record."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import natives, rebuild
from tests.conftest import limit_examples, record_of, records_of
from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
from vacr import validate
from vacr.agents.claude_code.reader import CLAUDE_EVENT_MEMBERS
from vacr.agents.codex.reader import CODEX_ENVELOPE_TYPES
from vacr.agents.codex.rollout import CODEX_TOOL_ITEMS
from vacr.agents.registry import load_agents
from vacr.model import CANONICAL_ENTRY_MEMBERS

STAMPS = st.sampled_from(
    [
        "2026-03-14T09:26:53.589Z",
        "2026-03-14T09:26:53+02:00",
        "yesterday",
        1773480413589,
        -1,
        None,
        1.5,
    ]
)
# Native members with these names could be confused with the canonical members of an entry.
ODD_NAMES = st.sampled_from(
    sorted(
        CANONICAL_ENTRY_MEMBERS
        | {"message", "payload", "usage", "uuid", "summary", "arguments", "role"}
    )
)
EXTRA = st.dictionaries(ODD_NAMES | TEXT, JSON, max_size=3)
IDS = st.sampled_from(["u1", "u2", "u3", None, 7])
BLOCKS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "hi"},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/x"}},
            {"type": "tool_use", "id": 5, "name": 6, "input": None},
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "ok"}],
                "is_error": False,
            },
            {"type": "new_block", "value": 1},
            {"type": ["odd"]},
            "text",
            None,
        ]
    ),
    max_size=3,
)
USAGE = st.fixed_dictionaries(
    {"input_tokens": st.integers(0, 99), "output_tokens": st.integers(0, 99) | st.none()},
    optional={
        "cache_read_input_tokens": st.integers(0, 9),
        "input": st.just(3),
        "service_tier": st.none(),
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "other", None]),
        "content": BLOCKS | TEXT | st.none(),
        "model": st.sampled_from(["claude-opus-5", "<synthetic>", None, 3]),
        "id": st.sampled_from(["m1", "m2", None]),
        "usage": USAGE | st.none() | st.integers(),
        "stop_reason": st.sampled_from(["end_turn", None, 3]),
    },
)
CLAUDE = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "user",
                    "assistant",
                    "tool_use",
                    "tool_result",
                    *CLAUDE_EVENT_MEMBERS,
                    "brand-new",
                    "permission-change",
                ]
            )
        },
        optional={
            "uuid": IDS,
            "parentUuid": IDS,
            "timestamp": STAMPS,
            "sessionId": st.just("s1"),
            "message": MESSAGES | JSON,
            "data": st.fixed_dictionaries(
                {"type": st.just("agent_progress"), "message": JSON | MESSAGES}
            ),
            "name": TEXT | st.integers(),
            "input": JSON,
            "output": JSON,
        },
    ),
    EXTRA,
)
ITEM = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "message",
                    "reasoning",
                    *CODEX_TOOL_ITEMS,
                    "brand_new",
                    "token_count",
                    "user_message",
                    "agent_message",
                ]
            )
        },
        optional={
            "role": st.sampled_from(["user", "assistant", "developer", "system"]),
            "content": BLOCKS | TEXT | st.none(),
            "summary": st.sampled_from([[], [{"type": "summary_text", "text": "s"}], None]),
            "encrypted_content": st.sampled_from(["gAAA", None]),
            "name": TEXT | st.integers() | st.none(),
            "arguments": st.sampled_from(
                ['{"a":1}', '{ "a" : 1.0 }', "not json", "[1]", {"a": 1}, None, '{"a":1,"a":2}']
            ),
            "input": JSON,
            "output": JSON,
            "call_id": st.sampled_from(["c1", "c2", 3, None]),
            "id": st.sampled_from(["i1", "i2", None]),
            "function": st.sampled_from([{"name": "f"}, "f", None, 1]),
            "message": TEXT,
            "info": st.sampled_from(
                [
                    None,
                    {
                        "last_token_usage": {"input_tokens": 1},
                        "total_token_usage": {"total_tokens": 1},
                    },
                ]
            ),
        },
    ),
    EXTRA,
)
CODEX = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {"type": st.sampled_from([*sorted(CODEX_ENVELOPE_TYPES), "brand_new"]), "payload": ITEM},
        optional={"timestamp": STAMPS, "ordinal": st.integers(0, 9)},
    ),
    st.dictionaries(st.sampled_from(sorted(CANONICAL_ENTRY_MEMBERS)) | TEXT, JSON, max_size=2),
)


def check(native, agent):
    data = b"".join(json.dumps(line).encode() + b"\n" for line in native)
    record = record_of(data, agent)
    assert validate(record).findings == []
    back = rebuild.lines(record)
    assert len(back) == len(native)
    for rebuilt, original in zip(back, native, strict=True):
        assert rebuild.comparable(rebuild.without_nulls(rebuilt)) == rebuild.comparable(
            rebuild.without_nulls(original)
        )


@settings(max_examples=100)
@given(st.lists(CLAUDE, min_size=1, max_size=5))
def test_claude_code_values_come_back(native):
    check(native, "claude-code")
    check(native, "iflow")


@settings(max_examples=100)
@given(st.lists(CODEX, min_size=1, max_size=5))
def test_codex_cli_values_come_back(native):
    check(native, "codex-cli")
    check(native, "traex")


@settings(max_examples=100)
@given(st.lists(ITEM, min_size=1, max_size=5))
def test_bare_codex_cli_values_come_back(native):
    check(native, "codex-cli")


@settings(max_examples=200)
@given(st.lists(natives.EVENT, min_size=1, max_size=6))
def test_copilot_events_come_back(native):
    check(native, "copilot")


def compact(native) -> bytes:
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in native)


def spaced(native) -> bytes:
    return b"\r\n".join(json.dumps(value, ensure_ascii=False).encode() for value in native)


def indented(native) -> bytes:
    return b"\n".join(json.dumps(value, indent=2, ensure_ascii=False).encode() for value in native)


def written(native, layout) -> tuple[bytes, list]:
    """Write values in a layout; only objects and arrays with members span several lines."""
    if layout is indented:
        native = [value for value in native if isinstance(value, dict | list) and value]
    return layout(native), native


LAYOUTS = st.sampled_from([compact, spaced, indented])


def check_all(native, agent, layout) -> None:
    data, native = written(native, layout)
    records = records_of(data, agent)
    for record in records:
        assert validate(record).findings == []
    rebuild.assert_same(records, native)


@pytest.mark.parametrize(
    "strategy",
    [natives.LOG, natives.HEADLESS_LOG, natives.LATE_HEADER_LOG, natives.SAVED_CHAT],
    ids=["log", "headless", "late header", "saved"],
)
def test_gemini_cli_values_come_back(strategy):
    @settings(max_examples=limit_examples(200))
    @given(strategy, LAYOUTS)
    def holds(native, layout):
        check_all(native, "gemini-cli", layout)

    holds()


@settings(max_examples=200)
@given(natives.HEADER, LAYOUTS)
def test_gemini_cli_sessions_come_back(native, layout):
    check_all([native], "gemini-cli", layout)


@settings(max_examples=300)
@given(st.lists(natives.EXPORT, min_size=1, max_size=2), LAYOUTS)
def test_opencode_exports_come_back(native, layout):
    check_all(native, "opencode", layout)


@settings(max_examples=300)
@given(natives.DUMP, LAYOUTS)
def test_opencode_dumps_come_back(native, layout):
    check_all(native, "opencode", layout)


@settings(max_examples=300)
@given(natives.SAMPLE, LAYOUTS)
def test_opencode_samples_come_back(native, layout):
    check_all([native], "opencode", layout)


@settings(max_examples=200)
@given(natives.STORED_CHAT, LAYOUTS)
def test_vscode_chats_come_back(native, layout):
    check_all([native], "copilot-vscode", layout)


@settings(max_examples=200)
@given(natives.STORE_LOG, st.sampled_from([compact, spaced]))
def test_vscode_logs_come_back(native, layout):
    check_all(native, "copilot-vscode", layout)


@settings(max_examples=200)
@given(st.lists(natives.LINE, min_size=1, max_size=5), st.sampled_from([compact, spaced]))
def test_cursor_lines_come_back(native, layout):
    check_all(native, "cursor", layout)


@pytest.mark.parametrize("agent", ["pi", "openclaw"])
def test_pi_lines_come_back(agent):
    @settings(max_examples=limit_examples(200))
    @given(st.lists(natives.PI_LINE, min_size=1, max_size=5), st.sampled_from([compact, spaced]))
    def holds(native, layout):
        check_all(native, agent, layout)

    holds()


@settings(max_examples=200)
@given(st.lists(natives.QWEN_LINE, min_size=1, max_size=5), st.sampled_from([compact, spaced]))
def test_qwen_code_lines_come_back(native, layout):
    check_all(native, "qwen-code", layout)


@settings(max_examples=100)
@given(natives.LOG | natives.HEADER.map(lambda chat: [chat]), LAYOUTS)
def test_early_qwen_code_chats_come_back(native, layout):
    check_all(native, "qwen-code", layout)


@settings(max_examples=300)
@given(st.lists(natives.KIMI_CODE_LINE, min_size=1, max_size=5), st.sampled_from([compact, spaced]))
def test_kimi_code_lines_come_back(native, layout):
    check_all(native, "kimi-code", layout)


@pytest.mark.parametrize("line", [natives.WIRE_LINE, natives.CONTEXT_LINE], ids=["wire", "context"])
def test_kimi_cli_lines_come_back(line):
    @settings(max_examples=limit_examples(300))
    @given(st.lists(line, min_size=1, max_size=5), st.sampled_from([compact, spaced]))
    def holds(native, layout):
        check_all(native, "kimi-cli", layout)

    holds()


@settings(max_examples=300)
@given(natives.TRANSCRIPT, st.sampled_from(["\n", "\r\n"]))
def test_cursor_transcripts_come_back_byte_for_byte(text, newline):
    data = text.replace("\n", newline).encode()
    record = record_of(data, "cursor")
    assert validate(record).findings == []
    assert rebuild.text(record).encode() == data


@settings(max_examples=200)
@given(st.lists(JSON, min_size=1, max_size=5), st.sampled_from(sorted(load_agents())))
def test_any_json_values_come_back(native, agent):
    check_all(native, agent, compact)


@settings(max_examples=300)
@given(natives.CRUSH_EXPORT, LAYOUTS)
def test_crush_rows_come_back(native, layout):
    check_all(native, "crush", layout)


@settings(max_examples=300)
@given(natives.HERMES_EXPORT, LAYOUTS)
def test_hermes_rows_come_back(native, layout):
    check_all(native, "hermes", layout)


@settings(max_examples=300)
@given(natives.HERMES_FILE, LAYOUTS)
def test_hermes_session_files_come_back(native, layout):
    check_all([native], "hermes", layout)


@settings(max_examples=300)
@given(natives.GOOSE_EXPORT, LAYOUTS)
def test_goose_rows_come_back(native, layout):
    check_all(native, "goose", layout)


@settings(max_examples=300)
@given(natives.GOOSE_FILE, LAYOUTS)
def test_goose_session_files_come_back(native, layout):
    check_all(native, "goose", layout)


@settings(max_examples=300)
@given(natives.GPTME_FILE, LAYOUTS)
def test_gptme_conversations_come_back(native, layout):
    check_all(native, "gptme", layout)


@settings(max_examples=300)
@given(natives.VIBE_LINES, LAYOUTS)
def test_vibe_messages_come_back(native, layout):
    check_all(native, "vibe", layout)


@settings(max_examples=300)
@given(natives.VIBE_FILE, LAYOUTS)
def test_vibe_session_files_come_back(native, layout):
    check_all([native], "vibe", layout)


@settings(max_examples=300)
@given(natives.ZED_EXPORT, LAYOUTS)
def test_zed_threads_come_back(native, layout):
    check_all(native, "zed", layout)


@settings(max_examples=300)
@given(natives.AIDER_CHAT, st.sampled_from(["\n", "\r\n"]), st.sampled_from([b"", b"\n\xff\n"]))
def test_aider_histories_come_back_byte_for_byte(text, newline, more):
    data = text.replace("\n", newline).encode() + more or b"-"
    records = records_of(data, "aider")
    for record in records:
        assert validate(record).findings == []
    assert rebuild.aider.text(*records) == data


@pytest.mark.parametrize(
    ("strategy", "agent"),
    [(natives.SWE_TRAJECTORY, "swe-agent"), (natives.MINI_TRAJECTORY, "mini-swe-agent")],
    ids=["swe-agent", "mini-swe-agent"],
)
def test_trajectories_come_back(strategy, agent):
    @settings(max_examples=limit_examples(300))
    @given(st.lists(strategy, min_size=1, max_size=2), LAYOUTS)
    def holds(native, layout):
        check_all(native, agent, layout)

    holds()


@pytest.mark.parametrize(
    ("agent", "strategy"),
    [
        ("cline", natives.CLINE_SESSION),
        ("cline", natives.CLINE_TASK),
        ("roo-code", natives.CLINE_TASK),
        ("continue", natives.CONTINUE_SESSION),
        ("amp", natives.AMP_THREAD),
    ],
    ids=["cline", "cline-task", "roo-code", "continue", "amp"],
)
def test_values_of_json_sessions_come_back(agent, strategy):
    @settings(max_examples=limit_examples(200))
    @given(strategy, LAYOUTS)
    def holds(native, layout):
        check_all([native], agent, layout)

    holds()


@settings(max_examples=300)
@given(natives.HANDS_EVENTS, LAYOUTS)
def test_openhands_events_come_back(native, layout):
    first = {"id": "e0", "kind": "PauseEvent", "source": "user"}
    check_all([first, *native], "openhands", layout)


@settings(max_examples=300)
@given(st.lists(natives.HANDS_TASK, min_size=1, max_size=2), LAYOUTS)
def test_openhands_tasks_come_back(native, layout):
    check_all(native, "openhands", layout)


STREAM_START = {"type": "message", "session_id": "s1", "role": "user", "text": "Go."}


@settings(max_examples=200)
@given(
    st.lists(natives.DROID_LINE, min_size=1, max_size=4)
    | st.lists(natives.DROID_STREAM_LINE, max_size=4).map(lambda lines: [STREAM_START, *lines]),
    st.sampled_from([compact, spaced]),
)
def test_droid_values_come_back(native, layout):
    check_all(native, "droid", layout)
