"""Strategies for native values of agents, usual and unusual ones."""

from hypothesis import strategies as st

from tests.record.value_strategies import JSON, TEXT
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS

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
COUNTS = st.sampled_from([0, 3, 2**64 - 1, 2**64, -1, 1.5, None, "4", True])
# Native members with these names could be confused with the canonical members of an entry.
ODD_NAMES = st.sampled_from(
    sorted(
        CANONICAL_ENTRY_MEMBERS | {"message", "role", "line", "state", "usage", "native", "from"}
    )
)
EXTRA = st.dictionaries(ODD_NAMES | TEXT, JSON, max_size=2)
ODD_TYPES = (
    "brand-new",
    "unknown",
    "rewind",
    "message",
    "session-metadata",
    "undecodable",
    "tool-call",
    5,
    None,
)


def objects(required=None, *, extra=EXTRA, **optional):
    """Draw objects with some members, perhaps others, and a few unknown ones."""
    return st.builds(
        lambda base, more: {**more, **base},
        st.fixed_dictionaries(required or {}, optional=optional),
        extra,
    )


def some(*values):
    return st.sampled_from(values)


# --- Gemini CLI ---

PARTS = st.lists(
    some(
        {"text": "hi"},
        {"text": "hm", "thought": True},
        {"functionCall": {"id": "c1", "name": "read_file", "args": {"file_path": "/x"}}},
        {"function_call": {"name": 5}},
        {"functionCall": None, "text": "x"},
        {"functionResponse": {"id": "c1", "response": {"output": "y"}}, "thought": True},
        {"functionResponse": {"response": None}, "function_call": {"name": "f"}},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": None},
        {"type": "thinking", "thinking": None},
        {"inlineData": {"data": "AAAA"}},
        {},
        "text",
        None,
    ),
    max_size=3,
)
THOUGHT = objects({"description": JSON}, subject=TEXT | st.none(), timestamp=STAMPS)
CALL = objects(
    {"name": TEXT},
    id=some("c1", "c2", None, 7),
    args=JSON,
    result=JSON,
    status=some("success", "error", "cancelled", None, 3),
    timestamp=STAMPS,
    resultDisplay=JSON,
)
TOKENS = st.fixed_dictionaries(
    {name: st.integers(0, 9) for name in ("input", "output", "cached", "thoughts", "tool", "total")}
) | st.dictionaries(
    some("input", "output", "cached", "thoughts", "tool", "total", "reasoning", "cost", "joules"),
    COUNTS,
)
MESSAGE = objects(
    type=some("user", "gemini", "gemini", "info", "error", "model", "function", *ODD_TYPES),
    id=some("m1", "m2", "m3", None, 7),
    timestamp=STAMPS,
    content=PARTS | TEXT | st.none(),
    parts=PARTS,
    thoughts=st.lists(THOUGHT, max_size=2) | JSON,
    toolCalls=st.lists(CALL, max_size=2) | JSON,
    tokens=TOKENS | JSON,
    model=some("gemini-3-pro", None, 3),
)
MESSAGES = st.lists(MESSAGE | JSON, max_size=3)
TURN = objects(
    {"role": some("user", "model", "function", "tool"), "parts": PARTS},
    id=some("m1", "m2", None, 7),
    timestamp=STAMPS,
    finishReason=some("STOP", None, 1),
)
TURNS = st.lists(TURN, max_size=3)
HEADER = objects(
    {"sessionId": some("s1", "s1", "s2", "", 7)},
    extra=st.dictionaries(
        st.sampled_from(sorted(SESSION_MEMBERS | {"vacr", "model"})) | TEXT, JSON, max_size=2
    ),
    projectHash=TEXT,
    startTime=STAMPS,
    lastUpdated=STAMPS,
    kind=some("main", "subagent", 3),
    messages=MESSAGES | JSON,
    history=TURNS | JSON,
    clientHistory=TURNS,
)
PATCH = (
    st.fixed_dictionaries(
        {
            "$set": st.fixed_dictionaries({"messages": MESSAGES}, optional={"lastUpdated": STAMPS})
            | JSON
        }
    )
    | st.fixed_dictionaries({"$rewindTo": some("m1", "m2", "m3", "nobody") | JSON})
    | st.fixed_dictionaries(
        {"$patch": st.fixed_dictionaries({"removeIds": st.just(["m1", 7]) | JSON}) | JSON}
    )
    | objects({"$set": JSON, "$rewindTo": JSON})
)
LOG = st.builds(
    lambda head, lines: [head, *lines],
    HEADER,
    st.lists(MESSAGE | MESSAGE | PATCH | HEADER | TURN | JSON, max_size=6),
)
HEADLESS_LOG = st.lists(MESSAGE | PATCH | TURN, min_size=1, max_size=5)
SAVED_CHAT = st.builds(
    lambda turns, session, more: [[turn | session for turn in turns], *more],
    st.lists(TURN, min_size=1, max_size=4),
    some({}, {"sessionId": "s1"}),
    st.lists(MESSAGE | TURN | JSON, max_size=2) | st.just([]),
)

# --- OpenCode ---

TIMES = (
    st.dictionaries(
        some("created", "updated", "start", "end", "compacted"),
        some(1773480413589, 1.5, -1, None, "x"),
    )
    | JSON
)
STATE = objects(
    input=JSON,
    output=JSON,
    error=JSON,
    status=some("pending", "running", "completed", "error", None, 3),
    time=TIMES,
)
PART = objects(
    type=some("text", "file", "tool", "tool", "reasoning", "step-start", "step-finish", *ODD_TYPES),
    id=some("prt_1", "prt_2", "prt_3", "msg_1", None, 7),
    tool=TEXT | st.none(),
    callID=some("c1", None, 7),
    state=STATE | JSON,
    text=JSON,
    time=TIMES,
)
OPEN_PARTS = st.lists(PART | JSON, max_size=4)
OPEN_TOKENS = (
    st.fixed_dictionaries(
        {"input": COUNTS, "output": COUNTS, "reasoning": COUNTS},
        optional={
            "total": COUNTS,
            "cache": st.fixed_dictionaries({"read": COUNTS, "write": COUNTS}) | JSON,
        },
    )
    | JSON
)
INFO = objects(
    {"role": some("user", "assistant", "assistant", "system", 5)},
    id=some("msg_1", "msg_2", "prt_1", None, 7),
    parentID=some("msg_1", None, 7),
    modelID=some("gpt-5.2", None, 3),
    providerID=some("openai", 3),
    finish=some("stop", None, 3),
    time=TIMES,
    tokens=OPEN_TOKENS,
    cost=some(0.1, 1e-7, 3, True, None, "x", -1, 2**70),
    path=some({"cwd": "/w"}, None, 3),
)
SESSION = objects(
    extra=st.dictionaries(
        st.sampled_from(sorted(SESSION_MEMBERS | {"vacr", "todos"})) | TEXT, JSON, max_size=2
    ),
    id=some("ses_1", "ses_2", "", None, 7),
    directory=TEXT | st.none(),
    version=TEXT | st.none(),
    parentID=some("ses_0", None, 7),
    time=TIMES,
    share=some({"url": "u", "secret": "s"}, {"secret": None}, 3),
    revert=some({"messageID": "msg_1"}, {"messageID": None}, {"messageID": [1]}, 3),
)
EXPORT = objects(
    {
        "info": SESSION,
        "messages": st.lists(objects({"info": INFO | JSON}, parts=OPEN_PARTS | JSON), max_size=3),
    },
    extra=st.dictionaries(some("id", "todos", "entries", "title", "vacr") | TEXT, JSON, max_size=2),
)


def joined(value, ids):
    return {**value, **ids}


IDS = st.fixed_dictionaries(
    {"id": some("msg_1", "msg_2", "msg_3")}, optional={"sessionID": some("ses_1", "ses_2", 7, None)}
)
PART_IDS = st.fixed_dictionaries(
    {
        "id": some("prt_1", "prt_2", "prt_3"),
        "messageID": some("msg_1", "msg_2", "msg_9"),
        "type": some("text", "tool", 5),
    },
    optional={"sessionID": some("ses_1", "ses_2", 7, None)},
)
SESSION_IDS = st.fixed_dictionaries(
    {"id": some("ses_1", "ses_2"), "directory": some("/w", 7)}, optional={"projectID": some("p1")}
)
PROJECT = objects({"id": some("p1", "p2"), "worktree": TEXT}, sandboxes=some(["/w", 3], None, 5))
SHARE = st.fixed_dictionaries({"id": some("1", "2", "", "9"), "secret": JSON, "url": JSON})
TODO = st.lists(st.fixed_dictionaries({"content": JSON, "status": JSON}), min_size=1, max_size=2)
DIFF = st.lists(st.fixed_dictionaries({"file": JSON, "additions": JSON}), min_size=1, max_size=2)
DUMP = st.lists(
    st.builds(joined, INFO, IDS)
    | st.builds(joined, PART, PART_IDS)
    | st.builds(joined, SESSION, SESSION_IDS)
    | PROJECT
    | SHARE
    | TODO
    | DIFF
    | JSON,
    min_size=1,
    max_size=8,
)

CHAT_CALL = objects(
    {
        "function": st.fixed_dictionaries(
            {"name": TEXT},
            optional={"arguments": some('{"a":1}', "not json", {"a": 1}, None, '{"a":1,"a":2}')},
        )
    },
    id=some("c1", None, 7),
)
CHAT = objects(
    {"role": some("user", "assistant", "system", "tool")},
    content=PARTS | TEXT | st.none(),
    id=some("m1", "m2", None, 7),
    timestamp=STAMPS,
    model=some("gpt-5.2", None, 3),
    metadata=st.dictionaries(some("model", "finish_reason", "thinking", "mood"), some("x", None, 3))
    | JSON,
    tool_calls=st.lists(CHAT_CALL, max_size=2) | JSON,
    tool_responses=st.lists(
        objects({"output": JSON}, tool_call_id=some("c1", 7), status=some("error", "ok", 3)),
        max_size=2,
    )
    | JSON,
    tool_call_id=some("c1", None, 7),
)
CHATS = st.lists(CHAT, min_size=1, max_size=3)
HEAD = objects(
    {"meta": st.just({"agent": "opencode", "id": "deep"})},
    id=some("s1", 7),
    session_id=some("s2", None),
    version=TEXT,
)
SAMPLE = (
    st.builds(
        lambda head, name, chats: head | {name: chats},
        HEAD,
        some("messages", "conversation", "entries"),
        CHATS,
    )
    | st.builds(lambda head, chats: head | {"session": {"messages": chats, "x": None}}, HEAD, CHATS)
    | st.builds(lambda chats: [chat | {"timestamp": 1, "tool_calls": []} for chat in chats], CHATS)
)

# --- Cursor ---

LINE = objects(
    role=some("user", "assistant", "system", None),
    message=objects(content=PARTS | TEXT | st.none()) | JSON,
    type=some("turn_ended", "error", *ODD_TYPES),
    model=some("cursor-auto", None, 3),
)
TRANSCRIPT = st.lists(
    some(
        "user:",
        "assistant:",
        "A:",
        "assistant: ",
        "[Thinking] hm",
        "[Thinking]",
        "[Tool call] Write",
        "[Tool call] Unheard",
        "[Tool call]",
        "[Tool result] Write",
        "[Tool result]",
        "  path: /x",
        "  contents: [1,2]",
        '  -i: {"a":1,"a":2}',
        "  limit: 40",
        "  odd: 1e400",
        '{"path": "/y"}',
        "",
        "\ufeff",
        "said \u2028 \r",
        "\t",
    ),
    max_size=12,
).map(lambda lines: "\n".join(["user:", *lines]))

# --- Pi ---

PI_BLOCKS = st.lists(
    some(
        {"type": "text", "text": "hi", "textSignature": "x"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "x", "redacted": True},
        {"type": "thinking", "thinking": None},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
        {"type": "toolCall", "id": 7, "name": 6},
        {"type": "image", "data": "AA", "mimeType": "image/png"},
        {"type": "new"},
        "text",
        None,
    ),
    max_size=3,
)
PI_USAGE = st.dictionaries(
    some("input", "output", "cacheRead", "cacheWrite", "totalTokens", "reasoning", "joules"),
    COUNTS,
) | st.fixed_dictionaries(
    {"input": st.just(1), "output": st.just(2), "cacheRead": st.just(3), "cacheWrite": COUNTS},
    optional={"totalTokens": st.just(9), "cost": some({"total": 0.5}, {"total": "x"}, 3, None)},
)
PI_MESSAGE = objects(
    role=some("user", "assistant", "toolResult", "bashExecution", "custom", "oracle", None, 3),
    content=PI_BLOCKS | TEXT | st.none(),
    timestamp=STAMPS,
    model=some("gpt-5.2", None, 3),
    provider=some("openai", None, 3),
    stopReason=some("stop", None, 3),
    usage=PI_USAGE | JSON,
    toolCallId=some("c1", None, 7),
    toolName=some("bash", None, 7),
    isError=some(True, False, None, "x"),
    details=some({"status": "running"}, {"status": "failed", "exitCode": 3}, {}, None, 7),
    command=TEXT | st.none(),
)
PI_LINE = objects(
    type=some(
        "message",
        "message",
        "message",
        "session",
        "custom_message",
        "model_change",
        "compaction",
        *ODD_TYPES,
    ),
    id=some("e1", "e2", "e3", None, 7),
    parentId=some("e1", None, 7),
    timestamp=STAMPS,
    message=PI_MESSAGE | PI_MESSAGE | JSON,
    content=PI_BLOCKS | TEXT | st.none(),
    cwd=TEXT | st.none(),
    parentSession=some("/s.jsonl", None),
    modelId=some("gpt-5.2", None, 3),
    provider=some("openai", 3),
)

# --- Qwen Code ---

QWEN_LINE = objects(
    type=some("user", "assistant", "tool_result", "system", "system", "custom-title", *ODD_TYPES),
    uuid=some("u1", "u2", "u3", None, 7),
    parentUuid=some("u1", None, 7),
    timestamp=STAMPS,
    sessionId=some("s1", "", None, 7),
    cwd=TEXT | st.none(),
    gitBranch=some("main", None, 7),
    agentId=some("a1", None, 7),
    isSidechain=some(True, False, None),
    model=some("qwen3", None, 3),
    message=objects(role=some("user", "model", None, 3), parts=PARTS | TEXT | st.none()) | JSON,
    usageMetadata=st.dictionaries(
        some("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"),
        COUNTS,
    )
    | JSON,
    subtype=some(
        "rewind", "custom_title", "custom-title", "ui_telemetry", "cron", "system", None, 5
    ),
    systemPayload=objects(displayText=TEXT | st.none()) | JSON,
    toolCallResult=objects(callId=some("c1", 7), status=some("success", "error", 3)) | JSON,
)

# --- Kimi Code ---

KIMI_EVENT = objects(
    type=some("content.part", "tool.call", "tool.result", "step.end", "step.new", None, 7),
    uuid=some("u1", "u2", None, 7),
    parentUuid=some("u1", None, 7),
    toolCallId=some("c1", None, 7),
    name=some("Bash", None, 7),
    args=JSON,
    part=some(
        {"type": "text", "text": "hi"},
        {"type": "think", "think": "hm", "key": "x"},
        {"type": "think", "think": None},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": None},
        {},
    )
    | JSON,
    result=objects(output=JSON, isError=some(True, False, None, 7)) | JSON,
    usage=st.dictionaries(some("inputOther", "output", "inputCacheRead"), COUNTS) | JSON,
)
KIMI_CODE_LINE = objects(
    type=some(
        "context.append_message",
        "context.append_loop_event",
        "context.append_loop_event",
        "usage.record",
        "llm.request",
        "metadata",
        *ODD_TYPES,
    ),
    time=STAMPS,
    message=objects(
        role=some("user", "assistant", "tool", "system", None, 7),
        content=PARTS | TEXT | st.none(),
        toolCalls=st.lists(
            some(
                {"id": "c1", "function": {"name": "Read", "arguments": '{"path":"a"}'}},
                {"id": 7, "function": {"name": "Read", "arguments": None}},
                {"name": "Read", "arguments": "{"},
                {"function": 5},
                None,
            ),
            max_size=2,
        )
        | JSON,
        toolCallId=some("c1", None, 7),
    )
    | JSON,
    event=KIMI_EVENT | JSON,
    usage=st.dictionaries(some("inputOther", "output", "inputCacheRead"), COUNTS) | JSON,
    model=some("kimi-k2", None, 7),
    cwd=TEXT | st.none(),
    created_at=STAMPS,
)

# --- Kimi CLI ---

WIRE_PAYLOAD = (
    objects(
        extra=st.dictionaries(TEXT, JSON, max_size=2),
        user_input=PARTS | TEXT | st.none(),
        type=some("text", "think", "tool_use", None, 7),
        name=some("Read", None, 7),
        think=TEXT | st.none(),
        encrypted=some("x", None, 7),
        id=some("c1", None, 7),
        function=objects(
            name=some("ReadFile", None, 7), arguments=some('{"path":', '{"a":1}', None, 7)
        )
        | JSON,
        arguments_part=some('"a"}', None, 7),
        tool_call_id=some("c1", None, 7),
        return_value=objects(output=JSON, is_error=some(True, False, None), message=TEXT) | JSON,
        token_usage=st.dictionaries(some("input_other", "output", "input_cache_read"), COUNTS)
        | JSON,
    )
    | JSON
)
WIRE_MESSAGE = st.fixed_dictionaries(
    {
        "type": some(
            "TurnBegin", "ContentPart", "ToolCall", "ToolCallPart", "ToolResult", "Odd", None, 7
        ),
        "payload": WIRE_PAYLOAD,
    }
)
WIRE_LINE = objects(
    extra=st.dictionaries(some("mood", "id", "type", "data") | TEXT, JSON, max_size=1),
    timestamp=some(1770000000.25, 1770000000, -1, 2**60, "soon", None, True),
    message=WIRE_MESSAGE
    | st.fixed_dictionaries(
        {
            "type": st.just("SubagentEvent"),
            "payload": st.fixed_dictionaries(
                {"event": WIRE_MESSAGE | JSON}, optional={"agent_id": some("a1", None, 7)}
            ),
        }
    )
    | JSON,
) | st.just({"type": "metadata", "protocol_version": "1.3"})
CONTEXT_LINE = objects(
    role=some("user", "assistant", "tool", "_checkpoint", "_usage", "oracle", None, 7),
    content=st.lists(
        some(
            {"type": "think", "think": "hm", "encrypted": "x"},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": None},
            {"type": "text"},
            "x",
            None,
        ),
        max_size=2,
    )
    | TEXT
    | st.none(),
    id=some(1, "m1", None),
    tool_calls=st.lists(CHAT_CALL, max_size=2) | JSON,
    tool_call_id=some("c1", None, 7),
)
