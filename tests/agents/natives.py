"""Strategies for native values of agents, usual and unusual ones."""

import json

from hypothesis import strategies as st

from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
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
LATE_HEADER_LOG = st.builds(
    lambda lines, head, more: [*lines, head, *more],
    st.lists(MESSAGE | PATCH | TURN | JSON, max_size=3),
    HEADER,
    st.lists(MESSAGE | PATCH | HEADER | TURN, max_size=3),
)
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
    {"id": some("ses_1", "ses_2"), "directory": some("/w", 7, None)},
    optional={"projectID": some("p1")},
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

# --- Copilot ---

EVENT_DATA = objects(
    content=PARTS | TEXT | st.none(),
    transformedContent=TEXT,
    source=some("skill-x", "agent-1", "mystery", 3),
    model=some("gpt-5.4", "claude-opus-4.6", None, 3),
    newModel=some("gpt-5.4", "auto", 3),
    reasoningText=TEXT | st.none(),
    reasoningOpaque=some("b3A=", None, 3),
    encryptedContent=some("ZW4=", None),
    outputTokens=COUNTS,
    apiCallId=some("a1", "a2", 3),
    parentToolCallId=some("c1", 3),
    toolCallId=some("c1", "c2", None, 7),
    toolName=TEXT | st.none(),
    name=TEXT,
    arguments=some('{"a":1}', "*** Begin Patch", {"a": 1}, None, '{"a":1,"a":2}', "[1"),
    toolRequests=st.lists(
        st.fixed_dictionaries(
            {"toolCallId": some("c1", "c2", "c3", 7), "name": some("bash", 3)},
            optional={"arguments": JSON},
        )
        | JSON,
        max_size=2,
    )
    | JSON,
    success=some(True, False, None, "yes"),
    result=objects(content=TEXT | JSON, detailedContent=TEXT) | JSON,
    error=objects(message=TEXT | JSON, code=some("denied", "failure", 3)) | JSON,
    shellExecution=some({"exitCode": 3}, {"exitCode": "3"}, 3),
    usage=objects(
        model=TEXT, inputTokens=COUNTS, outputTokens=COUNTS, cacheReadTokens=COUNTS, apiCallId=TEXT
    )
    | JSON,
    modelMetrics=st.dictionaries(
        some("gpt-5.4", "other"),
        objects(usage=objects(inputTokens=COUNTS, outputTokens=COUNTS) | JSON) | JSON,
        max_size=2,
    )
    | JSON,
    permissionRequest=objects(toolCallId=some("c1", 3)) | JSON,
    kind=some({"type": "shell_completed", "shellId": "s1", "exitCode": 1}, {"type": 3}, 3),
    context=some({"cwd": "/w", "headCommit": "abc"}, {"cwd": 3}, 3),
    sessionId=some("s1", "", 7),
    startTime=STAMPS,
)
EVENT = objects(
    {
        "type": some(
            "session.start",
            "session.resume",
            "session.model_change",
            "session.usage_record",
            "session.shutdown",
            "user.message",
            "assistant.message",
            "assistant.message",
            "assistant.reasoning",
            "tool.execution_start",
            "tool.execution_complete",
            "permission.requested",
            "permission.completed",
            "system.message",
            "system.notification",
            *ODD_TYPES,
        ),
    },
    data=EVENT_DATA | EVENT_DATA | JSON,
    id=some("e1", "e2", "e3", None, 7),
    parentId=some("e1", None, 7),
    timestamp=STAMPS,
    agentId=some("g1", 3),
    ephemeral=some(True, 3),
)

# --- The chat store of VS Code ---

TOOL_TREE = some(
    "text",
    {"node": {"type": 1, "children": [{"type": 2, "text": "a", "lineBreakBefore": True}]}},
    {"node": 3},
    None,
)
RESPONSE_PART = st.one_of(
    objects({"value": TEXT | JSON}, kind=some("thinking", None, "brand-new", 3), baseUri=JSON),
    objects(
        {"kind": st.just("inlineReference")},
        inlineReference=some(
            {"path": "/w/a.py"},
            {"uri": {"path": "/C:/w/b.py"}, "range": {"startLineNumber": 3}},
            {"name": "round", "kind": 11, "location": {"uri": {"path": "/w/c.py"}}},
            {"path": "/"},
            3,
        ),
        name=TEXT | JSON,
        text=JSON,
    ),
    objects(
        {"kind": some("toolInvocationSerialized", "undoStop", "inlineReference")},
        toolCallId=some("t1", "t2", 3),
        toolId=some("copilot_readFile", 3),
        toolSpecificData=some({"commandLine": {"original": "ls"}}, {"commandLine": 3}, 3),
        isConfirmed=some({"type": 0}, True, 3),
    ),
    JSON,
)
CHAT_REQUEST = objects(
    {"requestId": some("r1", "r2", 3), "message": objects(text=TEXT | JSON) | JSON},
    response=st.lists(RESPONSE_PART, max_size=3) | JSON,
    responseId=some("a1", "a2", None, 3),
    timestamp=STAMPS,
    modelId=some("copilot/gpt-5.4", "copilot/auto", "other", 3),
    modelState=some({"value": 1, "completedAt": 1793610069000}, {"completedAt": -1}, 3),
    promptTokens=COUNTS,
    completionTokens=COUNTS,
    agent=objects(extensionVersion=TEXT | JSON) | JSON,
    result=objects(
        metadata=objects(
            resolvedModel=some("gpt-5.4", 3),
            outputTokens=COUNTS,
            toolCallRounds=st.lists(
                objects(
                    toolCalls=st.lists(
                        objects(
                            id=some("t1__vscode-1", "t2", 3),
                            name=some("read_file", 3),
                            arguments=some('{"a":1}', "{", 3),
                        ),
                        max_size=2,
                    )
                    | JSON
                )
                | JSON,
                max_size=2,
            )
            | JSON,
            toolCallResults=st.dictionaries(
                some("t1__vscode-1", "t2"),
                objects(content=st.lists(objects(value=TOOL_TREE), max_size=2) | JSON) | JSON,
                max_size=2,
            )
            | JSON,
        )
        | JSON
    )
    | JSON,
)
STORED_CHAT = objects(
    {
        "requests": st.lists(CHAT_REQUEST | st.just(["odd"]), max_size=3),
        "responderUsername": TEXT,
    },
    extra=st.dictionaries(
        st.sampled_from(sorted(SESSION_MEMBERS | {"vacr", "model"})) | TEXT, JSON, max_size=2
    ),
    sessionId=some("s1", "", 7),
    creationDate=STAMPS,
    customTitle=TEXT,
)
STORE_PATH = st.lists(
    some("requests", "requests", 0, 1, 2, "response", "result", "vote", "inputState", -1, None),
    max_size=4,
)
STORE_MUTATION = st.one_of(
    objects({"kind": some(1, 2), "k": STORE_PATH}, v=JSON, i=some(0, 1, 9, -1, "x")),
    st.fixed_dictionaries(
        {
            "kind": st.just(2),
            "k": st.just(["requests"]),
            "v": st.lists(CHAT_REQUEST, max_size=2) | JSON,
        },
        optional={"i": some(0, 1, 5)},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just(2),
            "k": st.just(["requests", 0, "response"]),
            "v": st.lists(RESPONSE_PART, max_size=2),
        },
        optional={"i": some(0, 1)},
    ),
    objects({"kind": st.just(3), "k": STORE_PATH}),
    objects({"kind": some(4, 0, "x", None)}),
)
STORE_LOG = st.builds(
    lambda chat, lines: [{"kind": 0, "v": chat}, *lines],
    STORED_CHAT,
    st.lists(STORE_MUTATION, max_size=5),
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

# --- Databases with sessions and messages ---

CRUSH_DATA = st.dictionaries(
    some(
        "text", "id", "name", "input", "content", "thinking", "reason", "type", "vacr", "signature"
    ),
    some("x", '{"a": 1}', '{"a":1,"a":2}', None, 3, True, ["y"]),
    max_size=4,
)
CRUSH_PART = st.fixed_dictionaries(
    {
        "type": some("text", "tool_call", "tool_result", "reasoning", "finish", "binary", "new", 3),
        "data": CRUSH_DATA | JSON,
    },
    optional={"more": JSON},
)
SESSION_ROW = objects(
    extra=st.dictionaries(
        st.sampled_from(sorted(SESSION_MEMBERS | {"vacr", "todos"})) | TEXT, JSON, max_size=2
    ),
    id=some("s1", "s1", "s2", None, 7),
    title=TEXT | st.none(),
    parent_session_id=some("s0", None, 7),
    created_at=some(1785000000, 1785000000000, -1, 1.5, None, "x"),
    cost=some(0.5, True, None, "x"),
)
CRUSH_MESSAGE = objects(
    role=some("user", "assistant", "assistant", "tool", "system", None),
    id=some("m1", "m2", None, 7),
    parts=st.lists(CRUSH_PART | JSON, max_size=3).map(json.dumps) | JSON,
    model=some("m-9", "", None, 3),
    created_at=some(1785000000, 1785000000000, -1, 1.5, None, "x"),
    finished_at=some(None, 3),
)
HERMES_CALL = objects(
    id=some("c1", "c2", None, 7),
    call_id=TEXT,
    type=some("function", None),
    function=objects(name=some("terminal", None), arguments=some('{"a": 1}', "{", None)) | JSON,
)
HERMES_MESSAGE = objects(
    role=some("user", "assistant", "assistant", "tool", "tool", "session_meta", 5, None),
    content=TEXT | JSON | some('{"output": "", "exit_code": 1, "error": null}'),
    tool_calls=st.lists(HERMES_CALL | JSON, max_size=2) | JSON,
    tool_call_id=some("c1", "c2", None, 7),
    reasoning=TEXT | st.none(),
    reasoning_content=TEXT | st.none(),
    finish_reason=some("stop", None, 3),
    timestamp=STAMPS,
    id=some(1, 2, 2, "m1", None),
)
HERMES_ROW = st.builds(
    lambda row, as_text: (
        row | {"tool_calls": json.dumps(row["tool_calls"])}
        if as_text and "tool_calls" in row
        else row
    ),
    HERMES_MESSAGE,
    st.booleans(),
)
HERMES_EXPORT = st.builds(
    lambda head, rows: head + rows,
    some(
        [{"vacr-export": "hermes-sqlite", "session": "s1"}],
        [{"vacr-export": "hermes-sqlite", "session": "s1", "more": 1}],
        [{"vacr-export": "hermes-sqlite", "session": ""}],
    ),
    st.lists(
        st.builds(lambda row: {"table": "messages", "row": row}, HERMES_ROW)
        | st.builds(
            lambda row: {"table": "sessions", "row": row},
            objects(id=some("s1", "s1", None), model=TEXT | JSON, started_at=STAMPS),
        )
        | JSON,
        max_size=4,
    ),
)
HERMES_FILE = objects(
    {
        "session_id": some("s1", "", 7, None),
        "base_url": TEXT,
        "session_start": STAMPS,
        "messages": st.lists(HERMES_MESSAGE | JSON, max_size=3),
    },
    model=TEXT | JSON,
    platform=some("cli", "cron", None),
    system_prompt=TEXT | JSON,
)
GOOSE_VALUE = objects(
    name=some("shell", None, 7), arguments=objects(command=TEXT) | st.none(), more=JSON
)
GOOSE_RESULT = objects(
    status=some("success", "error", None),
    value=objects(
        content=st.lists(objects(type=some("text"), text=TEXT) | JSON, max_size=2) | JSON,
        isError=some(True, None),
        structuredContent=objects(exit_code=some(0, 1, "x"), timed_out=some(True, None)) | JSON,
    )
    | JSON,
    error=TEXT | st.none(),
)
GOOSE_BLOCK = (
    objects(type=some("text", "image", 5), text=TEXT)
    | objects(
        type=some("toolRequest", "frontendToolRequest"),
        id=some("c1", "c2", None, 7),
        toolCall=objects(status=some("success", None), value=GOOSE_VALUE | JSON) | JSON,
        metadata=JSON,
        name=TEXT,
    )
    | objects(type=some("toolResponse"), id=some("c1", "c2", None), toolResult=GOOSE_RESULT | JSON)
    | objects(
        type=some("thinking", "reasoning", "redactedThinking"),
        thinking=TEXT | st.none(),
        text=TEXT | st.none(),
        data=TEXT | JSON,
        signature=some("s", "", None, 3),
    )
    | JSON
)
GOOSE_BLOCKS = st.lists(GOOSE_BLOCK, max_size=3)
GOOSE_ROW = objects(
    role=some("user", "assistant", "assistant", "system", 5, None),
    content_json=GOOSE_BLOCKS.map(json.dumps) | GOOSE_BLOCKS | TEXT | JSON,
    message_id=some("m1", "m2", "m2", "", None, 7),
    created_timestamp=STAMPS,
    metadata_json=some('{"userVisible":false,"agentVisible":true}', "{", None, 7),
    id=some(1, 2, 2, "m1", None),
)
GOOSE_EXPORT = st.builds(
    lambda head, rows: head + rows,
    some(
        [{"vacr-export": "goose-sqlite", "session": "s1"}],
        [{"vacr-export": "goose-sqlite", "session": "s1", "more": 1}],
        [{"vacr-export": "goose-sqlite", "session": ""}],
    ),
    st.lists(
        st.builds(lambda row: {"table": "messages", "row": row}, GOOSE_ROW)
        | st.builds(
            lambda row: {"table": "sessions", "row": row},
            objects(
                id=some("s1", "s1", None),
                created_at=some("2026-07-25 17:20:00", "x", 3, None),
                session_type=some("user", "sub_agent", None, 3),
                model_config_json=some('{"model_name":"m"}', "{", None) | JSON,
                working_dir=TEXT | JSON,
            ),
        )
        | JSON,
        max_size=4,
    ),
)
GOOSE_FILE = st.builds(
    lambda head, lines: [head, *lines],
    objects({"working_dir": TEXT, "description": TEXT}, id=some("s1", "", None), more=JSON),
    st.lists(
        objects(
            role=some("user", "assistant", "assistant", 5),
            content=GOOSE_BLOCKS | JSON,
            created=some(1785000000, 1785000001),
            id=some("m1", "m1", "", None, 7),
            metadata=some({"userVisible": False, "agentVisible": True}, None, 7),
        )
        | JSON,
        max_size=3,
    ),
)
GPTME_TEXT = TEXT | some(
    "```shell\nls\n```",
    "```save a.md\n```py\n1\n```\n```",
    '@save(c1): {"path": "a", "content": "b"}',
    "@shell(c1): {",
    "<tool-use><save args='a'>b</save></tool-use>",
    "<think>\nHm.\n</think>\n```patch a\nx\n```",
    "```python\n1\n```",
    "Saved to a.md",
    "Ran command: `ls`",
    "(content was edited by user)",
)
GPTME_FILE = st.builds(
    lambda head, lines: [head, *lines],
    some({"role": "system", "content": "You are gptme v0.3, it.", "timestamp": "2026-07-25T17:00"}),
    st.lists(
        objects(
            role=some("user", "assistant", "assistant", "system", "system", "tool", 5, None),
            content=GPTME_TEXT | JSON,
            timestamp=some("2026-07-25T17:20:00.25", "2026-07-25T17:20:00Z", None, 7),
            call_id=some("c1", "c2", None, 7),
            hide=some(True, None),
            metadata=objects(
                model=TEXT | JSON,
                usage=objects(input_tokens=some(1, -1, None), output_tokens=some(2, "x")) | JSON,
                cost=some(0.5, -1, None, "x", False, True),
            )
            | JSON,
            vacr=JSON,
        )
        | JSON,
        max_size=4,
    ),
)
VIBE_MESSAGE = objects(
    role=some("user", "assistant", "assistant", "tool", "tool", "system", 5, None),
    content=TEXT | JSON | some("<tool_error>x</tool_error>", "path: a\nbytes_written: 1"),
    tool_calls=st.lists(HERMES_CALL | JSON, max_size=2) | JSON,
    tool_call_id=some("c1", "c2", None, 7),
    name=some("bash", None, 7),
    reasoning_content=TEXT | st.none(),
    message_id=some("m1", "m2", "m2", "", None, 7),
    injected=some(True, False, None),
    id=some("x", None, 7),
)
VIBE_LINES = st.builds(
    lambda head, lines: [head, *lines],
    some({"role": "user", "content": "Hello", "injected": False, "message_id": "m0"}),
    st.lists(VIBE_MESSAGE | JSON, max_size=4),
)
VIBE_FILE = objects(
    {
        "metadata": st.builds(
            lambda facts: {"session_id": "s1", "environment": {}, "username": "nora"} | facts,
            objects(
                start_time=STAMPS,
                git_commit=TEXT | JSON,
                parent_session_id=some("p1", "", None, 7),
                agent_config=objects(active_model=TEXT | JSON, models=JSON) | JSON,
            ),
        ),
        "messages": st.lists(VIBE_MESSAGE | JSON, max_size=3),
    },
    more=JSON,
)
ZED_RESULT = objects(
    tool_use_id=some("c1", "c2", None, 7),
    tool_name=TEXT | st.none(),
    is_error=some(True, False, None, "x"),
    content=st.lists(objects(Text=TEXT) | JSON, max_size=2) | TEXT | JSON,
    output=objects(old_text=TEXT, new_text=TEXT) | JSON,
)
ZED_BLOCK = (
    objects({"Text": TEXT | JSON})
    | objects({"Mention": objects(uri=JSON, content=TEXT) | JSON})
    | objects({"Thinking": objects(text=TEXT | st.none(), signature=TEXT | st.none()) | JSON})
    | objects({"RedactedThinking": TEXT | JSON})
    | objects(
        {
            "ToolUse": objects(
                id=some("c1", "c2", None, 7),
                name=some("terminal", None, 7),
                input=objects(type=some("json", "text"), value=JSON) | JSON,
                raw_input=TEXT,
                type=TEXT,
            )
            | JSON
        }
    )
    | JSON
)
ZED_MESSAGE = (
    objects(
        {"User": objects(id=some("u1", "u1", None, 7), content=st.lists(ZED_BLOCK, max_size=3))}
    )
    | objects(
        {
            "Agent": objects(
                content=st.lists(ZED_BLOCK, max_size=3) | JSON,
                tool_results=st.dictionaries(some("c1", "c2"), ZED_RESULT | JSON, max_size=2)
                | JSON,
            )
        }
    )
    | objects({"Compaction": JSON})
    | some("Resume")
    | JSON
)
ZED_THREAD = objects(
    messages=st.lists(ZED_MESSAGE, max_size=3) | JSON,
    version=some("0.3.0", None),
    model=objects(provider=TEXT | JSON, model=TEXT | JSON) | JSON,
    initial_project_snapshot=JSON,
    id=JSON,
)
ZED_EXPORT = st.builds(
    lambda head, rows: head + rows,
    some(
        [{"vacr-export": "zed-sqlite", "session": "t1"}],
        [{"vacr-export": "zed-sqlite", "session": "t1", "more": 1}],
        [{"vacr-export": "zed-sqlite", "session": ""}],
    ),
    st.lists(
        st.builds(
            lambda row, data: {"table": "threads", "row": row | {"data": data}},
            objects(
                id=some("t1", None),
                created_at=STAMPS,
                parent_id=some("t0", "", None, 7),
                folder_paths=some("/w", "/w\n/v", None, 7),
                data_type=some("zstd", "json", None),
            ),
            ZED_THREAD.map(json.dumps) | some("{}", '{"model": null}') | TEXT | JSON,
        )
        | st.builds(lambda row: {"table": "threads", "row": row}, some({}, {"id": "t1"}, 5, "row"))
        | JSON,
        max_size=2,
    ),
)
CRUSH_EXPORT = st.builds(
    lambda head, rows: [*head, *rows],
    some(
        [],
        [{"vacr-export": "crush-sqlite", "session": "s1"}],
        [{"vacr-export": "crush-sqlite", "session": "s1", "more": 1}],
        [{"vacr-export": "crush-sqlite", "session": ""}],
    ),
    st.lists(
        st.builds(lambda row: {"table": "sessions", "row": row}, SESSION_ROW)
        | st.builds(lambda row: {"table": "messages", "row": row}, CRUSH_MESSAGE)
        | st.builds(lambda row: {"table": "files", "row": row}, SESSION_ROW)
        | JSON,
        max_size=5,
    ),
).filter(bool)

# --- Aider ---

AIDER_CHAT = st.lists(
    some(
        "# aider chat started at 2026-05-02 08:15:00",
        "> Aider v0.86.2  ",
        "> Model: m-9 with diff edit format  ",
        "> Model: m-9 with whole edit format  ",
        "> Model: m-9 with udiff edit format  ",
        "> Tokens: 2.5k sent, 81 received.  ",
        "> Tokens: 2.5k sent, 81 received. Cost: $0.00 message, $1.00 session.  ",
        "> Tokens: 1.2.3k sent, . received. Cost: $1.0.0 message, $1.00 session.  ",
        "> Tokens: " + "9" * 400 + " sent, 81 received. Cost: $" + "9" * 400 + " message.  ",
        "> Applied edit to a.py  ",
        "> Commit 4122143 fix: it",
        "> # 1 SEARCH/REPLACE block failed to match!",
        "The SEARCH section must exactly match  ",
        "> Create new file? (Y)es/(N)o [Yes]: y  ",
        "a.py",
        "```python",
        "```",
        "<<<<<<< SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "#### typed  ",
        "####   ",
        "#### Heading",
        "> quote",
        "text \u2028 \r",
        "",
        "",
        "*** Begin Patch",
        "+++ b/a.py",
        "@@",
        "-old",
        "TO LLM 2026-05-02T08:15:21",
        "LLM RESPONSE 2026-05-02T08:15:22",
        "ASSISTANT hi",
        "\ufeff",
    ),
    max_size=16,
).map("\n".join)

# --- Documents with the messages of a chat ---

TRAJECTORY_CALL = objects(
    {
        "function": st.fixed_dictionaries(
            {"name": TEXT},
            optional={
                "arguments": some('{"a":1}', "not json", {"a": 1}, '{"a":1,"a":2}'),
                "strict": some(True, "x"),
            },
        )
        | some(None, "f")
    },
    id=some("c1", "c2", None, 7),
    type=some("function", None),
)
TRAJECTORY_MESSAGE = objects(
    role=some("user", "assistant", "assistant", "tool", "system", "exit", "critic", None, 3),
    content=PARTS | some("```bash\nls\n```", "<returncode>0</returncode>", "", None) | TEXT,
    message_type=some("action", "observation", "thought", "dream", None, 3),
    action=some("ls", "", None, 3),
    agent=some("main", 3),
    is_demo=some(True, None),
    tool_calls=st.lists(TRAJECTORY_CALL, max_size=2) | JSON,
    tool_call_id=some("c1", None, 7),
    tool_call_ids=some(["c1"], ["c1", "c2"], [], None, "c1", [7]),
    reasoning_content=some("hm", "", None, ["hm"]),
    thinking_blocks=PARTS,
    name=some("bash", None, 5),
)
TRAJECTORY_EXTRA = (
    st.fixed_dictionaries(
        {},
        optional={
            "actions": some([{"command": "ls"}], [{"command": 3}], [], None, "ls"),
            "returncode": some(0, 1, None, "0"),
            "timestamp": some(1785000000.25, None, "x", -1),
            "response": st.fixed_dictionaries(
                {}, optional={"model": some("m-9", 3, None), "usage": JSON, "created": COUNTS}
            ),
        },
    )
    | JSON
)
TRAJECTORY_MESSAGE = st.builds(
    lambda message, extra: message | extra,
    TRAJECTORY_MESSAGE,
    st.fixed_dictionaries({}, optional={"extra": TRAJECTORY_EXTRA}),
)
SWE_STEP = st.fixed_dictionaries({"action": TEXT, "observation": TEXT}, optional={"state": JSON})
TRAJECTORY_HEADER = st.fixed_dictionaries(
    {"info": st.fixed_dictionaries({"mini_version": some("2", 3)}, optional={"config": JSON})},
    optional={
        "trajectory_format": some("mini-swe-agent-1", 3),
        "instance_id": some("till-7", 3),
        "environment": JSON,
        "replay_config": some("{", '{"env": {"repo": {"repo_name": "/till"}}}', None) | JSON,
        "trajectory": st.lists(SWE_STEP | JSON, max_size=2) | JSON,
        "entries": JSON,
    },
)
SWE_TRAJECTORY = st.builds(
    lambda header, messages: header | {"history": messages},
    TRAJECTORY_HEADER,
    st.lists(TRAJECTORY_MESSAGE | JSON, max_size=5) | JSON,
)
MINI_TRAJECTORY = st.builds(
    lambda header, messages: header | {"messages": messages},
    TRAJECTORY_HEADER,
    st.lists(TRAJECTORY_MESSAGE | JSON, max_size=5) | JSON,
)

# --- OpenHands ---

HANDS_EVENT = objects(
    kind=some(
        "MessageEvent",
        "ActionEvent",
        "ActionEvent",
        "ObservationEvent",
        "UserRejectObservation",
        "AgentErrorEvent",
        "PauseEvent",
        *ODD_TYPES,
    ),
    id=some("e1", "e2", None, 7),
    parent_id=some("e1", None, 7),
    timestamp=STAMPS | some("2026-05-02T08:15:01.123456"),
    source=some("user", "agent", "environment", "hook", None, 3),
    llm_message=objects(role=some("user", None), content=PARTS | TEXT | st.none()) | JSON,
    thought=PARTS | TEXT,
    reasoning_content=some("hm", "", None, 3),
    action=some("run", "message", "think") | JSON,
    tool_name=some("terminal", None, 3),
    tool_call_id=some("c1", None, 7),
    tool_call=some({"arguments": '{"a":1}'}, {"arguments": "x"}, None, "x"),
    observation=some("run", "error") | objects(content=PARTS | TEXT | st.none()) | JSON,
    rejection_reason=JSON,
    error=JSON,
    key=some("stats", "x"),
    value=some({"usage_to_metrics": {"a": {"model_name": "m", "accumulated_token_usage": 3}}})
    | JSON,
)
HANDS_EARLY = objects(
    id=some(1, 2, None, "e1"),
    cause=some(1, 2, None, "x"),
    source=some("user", "agent", None),
    action=some("run", "message", "think", None, 3),
    observation=some("run", "error", None, 3),
    content=JSON,
    thought=some("hm", "", None, ["hm"]),
    args=objects(content=JSON, thought=some("hm", None)) | JSON,
    extras=JSON,
    command=TEXT,
    is_confirmed=some("confirmed", None),
)
HANDS_EVENTS = st.lists(HANDS_EVENT | HANDS_EVENT | HANDS_EARLY | JSON, min_size=1, max_size=5)
HANDS_TASK = st.fixed_dictionaries(
    {"instruction": TEXT, "history": st.lists(HANDS_EARLY | HANDS_EVENT | JSON, max_size=4) | JSON},
    optional={"instance_id": TEXT, "entries": JSON, "error": some(None, "x")},
)


# --- sessions that are one JSON value ---

ANTHROPIC_BLOCKS = st.lists(
    some(
        {"type": "text", "text": "<task>\nGo.\n</task>"},
        {"type": "text", "text": "[read_file for 'a'] Result:\n1 | x"},
        {"type": "text", "text": "<read_file>\n<path>a</path>\n</read_file>"},
        {"type": "thinking", "thinking": None},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
        {"type": "tool_use", "id": 5, "name": 6},
        {"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True},
        {"type": "file", "path": "a", "content": "x"},
        {"type": ["odd"]},
        "text",
        None,
    ),
    max_size=3,
)
BLOCK_MESSAGE = objects(
    {"role": some("user", "assistant", "assistant", "system", None, 5)},
    content=ANTHROPIC_BLOCKS | TEXT | st.none(),
    ts=STAMPS,
    id=some("m1", "m2", None, 7),
    modelInfo=some({"id": "m", "provider": "p"}, {"modelId": "m"}, {"id": 5}, None, "m"),
    metrics=some({"inputTokens": 3, "cost": 0.5}, {"tokens": {"prompt": 1, "cached": 2}}, None, 5)
    | JSON,
)
CLINE_SESSION = objects(
    {"messages": st.lists(BLOCK_MESSAGE | JSON, max_size=3), "sessionId": some("s1", "", 7)},
    extra=st.dictionaries(
        st.sampled_from(sorted(SESSION_MEMBERS | {"vacr", "agent"})) | TEXT, JSON, max_size=2
    ),
    agent=some("lead", 5),
    origin=some({"version": "3", "parentThreadId": "s0"}, None, 3),
    updated_at=STAMPS,
)
CLINE_TASK = st.builds(
    lambda messages: [{"role": "user", "content": "<task>\nGo.\n</task>"}, *messages],
    st.lists(BLOCK_MESSAGE, max_size=4),
)
CONTINUE_CALL = objects(
    {"function": objects({"name": TEXT}, arguments=some('{"a":1}', "no", None, {"a": 1}))},
    id=some("c1", None, 7),
)
CONTINUE_STATE = objects(
    {"toolCall": CONTINUE_CALL},
    toolCallId=some("c1", "c2", None, 7),
    parsedArgs=JSON,
    status=some("done", "errored", None, 3),
    output=JSON,
)
CONTINUE_ITEM = objects(
    message=objects(
        {"role": some("user", "assistant", "assistant", "tool", "thinking", "system", None)},
        content=PARTS | TEXT | st.none(),
        id=some("m1", "m2", None, 7),
        toolCallId=some("c1", None, 7),
        toolCalls=st.lists(CONTINUE_CALL, max_size=2) | JSON,
        usage=st.dictionaries(some("prompt_tokens", "completion_tokens", "model"), COUNTS) | JSON,
    )
    | JSON,
    toolCallStates=st.lists(CONTINUE_STATE, max_size=2) | CONTINUE_STATE | JSON,
    toolCallState=CONTINUE_STATE | st.lists(CONTINUE_STATE, max_size=2) | JSON,
    reasoning=some({"text": "hm", "startAt": 5}, {"text": None}, None, {"text": "x", "endAt": 1}),
    promptLogs=st.lists(JSON, max_size=1),
)
CONTINUE_SESSION = objects(
    {"history": st.lists(CONTINUE_ITEM | JSON, max_size=3)},
    sessionId=some("s1", "", None, 7),
    workspaceDirectory=some("file:///w", "", None),
)
AMP_MESSAGE = objects(
    {"role": some("user", "assistant", "assistant", "system", None)},
    content=ANTHROPIC_BLOCKS
    | TEXT
    | st.none()
    | st.just(
        [{"type": "tool_result", "toolUseID": "t1", "run": {"status": "done", "result": {}}}]
    ),
    meta=some({"sentAt": 5}, {"sentAt": "now"}, None, 3),
    usage=some({"model": "m", "inputTokens": 3, "timestamp": "2026-03-14T09:26:53Z"}, None, 3)
    | JSON,
    state=some({"stopReason": "end_turn"}, {"stopReason": 5}, None, "x"),
)
AMP_THREAD = objects(
    {"messages": st.lists(AMP_MESSAGE | JSON, max_size=3), "id": some("T-1", "", 7)},
    created=STAMPS,
    env=some({"initial": {"trees": [{"uri": "file:///w", "repository": {"sha": "a"}}]}}, None, 3),
    mainThreadID=some("T-0", "", None, 3),
)
DROID_LINE = objects(
    type=some("message", "message", "session_start", "todo_state", *ODD_TYPES),
    id=some("m1", "m2", None, 7),
    parentId=some("m1", None, 7),
    timestamp=STAMPS,
    message=objects(
        role=some("user", "assistant", "tool", None),
        content=ANTHROPIC_BLOCKS | TEXT | st.none(),
        visibility=some("user_only", None),
    )
    | JSON,
)
DROID_STREAM_LINE = objects(
    {"session_id": some("s1", 7)},
    type=some("message", "tool_call", "tool_result", "completion", "system", *ODD_TYPES),
    id=some("m1", "m2", None, 7),
    timestamp=STAMPS,
    role=some("user", "assistant", "tool", None),
    text=TEXT | ANTHROPIC_BLOCKS | st.none(),
    toolName=TEXT | st.none(),
    parameters=JSON,
    toolCallId=some("c1", None, 7),
    value=JSON,
    isError=some(True, None, 3),
    usage=JSON,
)

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
            "TurnBegin",
            "ContentPart",
            "ToolCall",
            "ToolCallPart",
            "ToolResult",
            "metadata",
            "unknown",
            "Odd",
            None,
            7,
        ),
        "payload": WIRE_PAYLOAD,
    }
)
WIRE_LINE = objects(
    extra=st.dictionaries(some("mood", "id", "type", "data", "payload") | TEXT, JSON, max_size=1),
    type=some("metadata", "unknown"),
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
