"""Wire files of Kimi Code, and the wire files and contexts of Kimi CLI."""

import re

from tests.agents.independent.counts import Counts, Labels, documents, plain_text


def kimi_code(data: bytes) -> Counts:
    """Count a wire file; usage counts by its records, or else by the ends of steps."""
    counts, called, answered = Counts(), set(), set()
    records, ends, requested, used, chosen = [], [], set(), set(), None
    for line in documents(data):
        kind, event, message = line.get("type"), line.get("event", {}), line.get("message", {})
        chosen = line.get("modelAlias", chosen)
        if kind == "llm.request":
            requested.add(line["model"])
        elif kind == "usage.record":
            used.add(line["model"])
            records.append(line["usage"])
        elif kind == "context.append_message":
            count_message(message, counts, called, answered)
        if kind != "context.append_loop_event":
            continue
        if event["type"] == "content.part":
            is_thought = event["part"]["type"] == "think"
            counts.reasoning += is_thought
            counts.messages["assistant"] += not is_thought
        elif event["type"] == "tool.call":
            counts.calls += 1
            called.add(event["toolCallId"])
        elif event["type"] == "tool.result":
            counts.results += 1
            answered.add(event["toolCallId"])
        elif event["type"] == "step.end" and "usage" in event:
            ends.append(event["usage"])
    counts.models = requested or used or ({chosen} if chosen else set())
    counts.paired = len(called & answered)
    for usage in records or ends:
        cached = usage["inputCacheRead"]
        counts.tokens["input"] += usage["inputOther"] + cached + usage["inputCacheCreation"]
        counts.tokens["cached"] += cached
        counts.tokens["output"] += usage["output"]
    return counts


def count_message(message: dict, counts: Counts, called: set, answered: set) -> None:
    if message["role"] == "tool":
        counts.results += 1
        answered.add(message["toolCallId"])
        return
    counts.messages[message["role"]] += 1
    for call in message.get("toolCalls", ()):
        counts.calls += 1
        called.add(call["id"])


kimi = kimi_code


def kimi_code_labels(data: bytes) -> Labels:
    """Count how calls ended, and who spoke."""
    labels, called, answered, decisions, is_child = Labels(), [], set(), {}, False
    lines = list(documents(data))
    for line in lines:
        if line["type"] == "permission.record_approval_result":
            decisions[line["toolCallId"]] = line["result"]["decision"]
    for line in lines:
        event, message = line.get("event", {}), line.get("message", {})
        if event.get("type") == "tool.call":
            called.append(event["toolCallId"])
        elif event.get("type") == "tool.result":
            answered.add(event["toolCallId"])
            status, code = find_end(event["result"], decisions.get(event["toolCallId"]))
            labels.statuses[status] += 1
            if code is not None:
                labels.exit_codes[code] += 1
        elif line["type"] == "context.append_message":
            called += [call["id"] for call in message.get("toolCalls", ())]
            if message["role"] == "tool":
                answered.add(message["toolCallId"])
                labels.statuses[""] += 1
            if message["role"] == "user":
                origin = message.get("origin", {})
                is_child = origin.get("name") == "subagent"
                who = {"user": "human", None: "human"}.get(origin.get("kind"), "host")
                labels.speakers["parent-agent" if is_child else who] += 1
                if who == "human":
                    labels.prompts.append(plain_text(message["content"]))
    labels.unanswered = len([call for call in called if call not in answered])
    return labels


def find_end(result: dict, decision: str | None) -> tuple:
    output = result["output"]
    if decision == "rejected":
        return "denied", None
    if not result.get("isError"):
        return ("running" if "\nstatus: running\n" in output else "success"), None
    if "Command killed by timeout" in output:
        return "timeout", None
    code = re.search(r"failed with exit code: (\d+)\.$", output)
    return "error", int(code[1]) if code else None


# --- Kimi CLI ---


def kimi_cli(data: bytes) -> Counts:
    """Count a wire file, with the sub-agents in it, or a context."""
    counts, called, answered = Counts(), set(), set()
    for line in documents(data):
        if "role" in line:
            count_context_line(line, counts, called, answered)
            continue
        message = line.get("message", {})
        is_child = message.get("type") == "SubagentEvent"
        if is_child:
            message = message["payload"]["event"]
        kind, payload = message.get("type"), message.get("payload", {})
        counts.messages["user"] += kind in ("TurnBegin", "SteerInput")
        if kind == "ContentPart":
            is_thought = payload["type"] == "think"
            counts.reasoning += is_thought
            counts.messages["assistant"] += not is_thought
        elif kind == "ToolCall":
            counts.calls += 1
            called.add(payload["id"])
        elif kind == "ToolResult":
            counts.results += 1
            answered.add(payload["tool_call_id"])
        elif kind == "StatusUpdate" and payload.get("token_usage"):
            usage = payload["token_usage"]
            cached, made = usage["input_cache_read"], usage["input_cache_creation"]
            counts.tokens["input"] += usage["input_other"] + cached + made
            counts.tokens["cached"] += cached
            counts.tokens["output"] += usage["output"]
    counts.paired = len(called & answered)
    return counts


def count_context_line(line: dict, counts: Counts, called: set, answered: set) -> None:
    counts.messages[line["role"]] += line["role"] in ("user", "assistant")
    content = line.get("content")
    for part in content if isinstance(content, list) else ():
        counts.reasoning += part["type"] == "think"
    for call in line.get("tool_calls", ()):
        counts.calls += 1
        called.add(call["id"])
    if line["role"] == "tool":
        counts.results += 1
        answered.add(line["tool_call_id"])
