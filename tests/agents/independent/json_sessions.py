"""Sessions that are one JSON value: Cline, Roo Code, Continue."""

import re

from tests.agents.independent.counts import Counts, documents


def count_blocks(content, counts: Counts, pairs: tuple) -> None:
    """Count the calls, results and reasoning in a content."""
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            counts.calls += 1
            pairs[0].add(block["id"])
        elif kind == "tool_result":
            counts.results += 1
            pairs[1].add(block["tool_use_id"])
        counts.reasoning += kind == "thinking"


def cline(data: bytes) -> Counts:
    """Count sessions, manifests, tasks, and what the screen showed."""
    counts, pairs = Counts(), (set(), set())
    for value in documents(data):
        if isinstance(value, dict) and "messages" in value:
            for message in value["messages"]:
                count_sdk_message(message, counts, pairs)
        elif isinstance(value, dict):
            counts.models.add(value["model"])
        elif "role" in value[0]:
            count_task(value, counts, pairs)
        else:
            count_screen(value, counts)
    counts.paired = len(pairs[0] & pairs[1])
    return counts


roo = cline


def count_sdk_message(message: dict, counts: Counts, pairs: tuple) -> None:
    if message["role"] not in ("user", "assistant"):
        return
    counts.messages[message["role"]] += 1
    count_blocks(message["content"], counts, pairs)
    model = (message.get("modelInfo") or {}).get("id")
    if isinstance(model, str):
        counts.models.add(model)
    metrics = message.get("metrics") or {}
    for name, native in (
        ("input", "inputTokens"),
        ("cached", "cacheReadTokens"),
        ("output", "outputTokens"),
    ):
        count = metrics.get(native)
        counts.tokens[name] += count if isinstance(count, int) and count > 0 else 0


RESULT = re.compile(r"\[(\w+)( for '.*?')?\] Result:|Tool \[(\w+)\] was not executed", re.DOTALL)
XML_CALL = re.compile(r"^<(\w+_\w+|\w+)>\s*<\w+>.*^</\1>", re.DOTALL | re.MULTILINE)


def count_task(messages: list, counts: Counts, pairs: tuple) -> None:
    """Count a task; its results are texts, and in early ones the calls, too."""
    has_blocks = "'tool_use'" in str(messages)
    for number, message in enumerate(messages):
        role = message.get("role")
        if role is None:
            continue
        counts.messages[role] += 1
        content = message["content"]
        count_blocks(content, counts, pairs)
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts = [block["text"] for block in blocks if "text" in block]
        info, metrics = message.get("modelInfo"), message.get("metrics")
        if info is not None:
            counts.models.add(info["modelId"])
        if metrics is not None:
            tokens = metrics["tokens"]
            counts.tokens["input"] += tokens["prompt"] + tokens["cached"]
            counts.tokens["output"] += tokens["completion"]
        if role == "assistant" and not has_blocks:
            found = [text for text in texts if XML_CALL.search(text)]
            counts.calls += len(found)
            pairs[0].update([number] if found else [])
        elif role == "user":
            count = sum(RESULT.match(text) is not None for text in texts)
            counts.results += count
            if count:
                called = [
                    block["id"]
                    for block in messages[number - 1]["content"]
                    if isinstance(block, dict) and block.get("type") == "tool_use"
                ]
                pairs[1].update(called[:count] if has_blocks else [number - 1])


def count_screen(messages: list, counts: Counts) -> None:
    for number, message in enumerate(messages):
        said = message.get("say")
        counts.reasoning += said == "reasoning"
        if said == "text":
            counts.messages["user" if number == 0 else "assistant"] += 1
        counts.messages["assistant"] += said == "completion_result"
        counts.messages["user"] += said == "user_feedback"


# --- Continue ---


def continue_(data: bytes) -> Counts:
    """Count sessions; the list of all sessions has nothing to count."""
    counts, pairs = Counts(), (set(), set())
    for value in documents(data):
        for item in value["history"] if isinstance(value, dict) else ():
            message = item.get("message") if isinstance(item, dict) else None
            if isinstance(message, dict):
                count_item(item, message, counts, pairs)
    counts.paired = len(pairs[0] & pairs[1])
    return counts


def count_item(item: dict, message: dict, counts: Counts, pairs: tuple) -> None:
    role = message["role"]
    if role in ("user", "assistant"):
        counts.messages[role] += 1
    counts.reasoning += role == "thinking"
    if role == "tool":
        counts.results += 1
        pairs[1].add(message["toolCallId"])
    if role != "assistant":
        return
    counts.reasoning += isinstance((item.get("reasoning") or {}).get("text"), str)
    one = item.get("toolCallState")
    states = [one] if one else item.get("toolCallStates") or []
    states = [state for state in states if "toolCall" in state]
    for state in states:
        counts.calls += 1
        pairs[0].add(state["toolCallId"])
        if state.get("output") is not None:
            counts.results += 1
            pairs[1].add(state["toolCallId"])
    if not states:
        for call in message.get("toolCalls") or ():
            counts.calls += 1
            pairs[0].add(call["id"])
    usage = message.get("usage") or {}
    details = usage.get("prompt_tokens_details", {})
    counts.tokens["input"] += usage.get("prompt_tokens", 0)
    for name in ("cache_read_tokens", "cache_write_tokens"):
        counts.tokens["input"] += details.get(name, 0)
    counts.tokens["cached"] += details.get("cached_tokens", 0)
    counts.tokens["output"] += usage.get("completion_tokens", 0)
    logs = item.get("promptLogs") or [{}]
    model = usage.get("model") or logs[-1].get("completionOptions", {}).get("model")
    if model:
        counts.models.add(model)


# --- Droid ---


def droid(data: bytes) -> Counts:
    """Count a session or a stream."""
    counts, pairs = Counts(), (set(), set())
    for value in documents(data):
        kind, message = value.get("type"), value.get("message")
        if kind == "message" and "role" in value:
            counts.messages[value["role"]] += 1
        elif kind == "message" and isinstance(message, dict) and message["role"] != "tool":
            counts.messages[message["role"]] += 1
            count_blocks(message["content"], counts, pairs)
            if "Model: " in str(message["content"]):
                text = message["content"][0]["text"]
                counts.models.add(text.split("Model: ")[1].split("\n")[0])
        elif kind in ("tool_call", "tool_result"):
            counts.calls += kind == "tool_call"
            counts.results += kind == "tool_result"
            pairs[kind == "tool_result"].add(value.get("toolCallId", value.get("id")))
        elif kind == "system":
            counts.models.add(value["model"])
        elif kind == "completion" and "usage" in value and counts.messages["assistant"]:
            usage = value["usage"]
            counts.tokens["input"] += usage["input_tokens"] + usage["cache_read_input_tokens"]
            counts.tokens["input"] += usage["cache_creation_input_tokens"]
            counts.tokens["cached"] += usage["cache_read_input_tokens"]
            counts.tokens["output"] += usage["output_tokens"]
    counts.paired = len(pairs[0] & pairs[1])
    return counts


# --- Amp ---


def amp(data: bytes) -> Counts:
    """Count a thread; its results name their call with another spelling."""
    counts, pairs = Counts(), (set(), set())
    for thread in documents(data):
        for message in thread["messages"]:
            if not isinstance(message, dict) or message["role"] == "system":
                continue
            counts.messages[message["role"]] += 1
            content = message["content"] if isinstance(message["content"], list) else []
            for block in content:
                is_call = block["type"] == "tool_use" and isinstance(block["name"], str)
                counts.calls += is_call
                counts.results += block["type"] == "tool_result"
                counts.reasoning += block["type"] == "thinking"
                if is_call:
                    pairs[0].add(block["id"])
                if isinstance(block.get("run"), dict):
                    pairs[1].add(block["toolUseID"])
            usage = message.get("usage") or {}
            if isinstance(usage.get("model"), str):
                counts.models.add(usage["model"])
                counts.tokens["input"] += usage["totalInputTokens"]
                counts.tokens["cached"] += usage["cacheReadInputTokens"]
                counts.tokens["output"] += usage["outputTokens"]
    counts.paired = len(pairs[0] & pairs[1])
    return counts
