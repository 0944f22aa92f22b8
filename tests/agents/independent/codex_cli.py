"""Codex CLI rollouts."""

import json
from collections import Counter

from tests.agents.independent.counts import Counts, Labels, values

CODEX_CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
    "tool_call",
}
CODEX_RESULTS = {
    "function_call_output",
    "custom_tool_call_output",
    "tool_search_output",
    "tool_result",
    "function_result",
}


def codex(data: bytes) -> Counts:
    """Count a Codex rollout that is not a fork."""
    counts = Counts()
    called, answered = set(), set()
    total = None
    for line in values(data):
        payload = line.get("payload", line) if isinstance(line, dict) else {}
        envelope, kind = line.get("type"), payload.get("type")
        if envelope == "turn_context" and payload.get("model"):
            counts.models.add(payload["model"])
        if (
            envelope == "event_msg"
            and kind == "token_count"
            and isinstance(payload.get("info"), dict)
        ):
            info = payload["info"]
            if "last_token_usage" in info and info["total_token_usage"] != total:
                earlier, total = total, info["total_token_usage"]
                usage = info["last_token_usage"]
                if earlier and all(total[name] >= earlier[name] for name in earlier):
                    # A compaction is in the total, but not in the last usage.
                    usage = {name: total[name] - earlier[name] for name in earlier}
                counts.tokens["input"] += usage["input_tokens"]
                counts.tokens["cached"] += usage["cached_input_tokens"]
                counts.tokens["output"] += usage["output_tokens"]
                counts.tokens["reasoning"] += usage["reasoning_output_tokens"]
        if envelope != "response_item" and payload is not line:
            continue
        if payload.get("role") in ("user", "assistant") and kind in ("message", None):
            counts.messages[payload["role"]] += 1
        counts.calls += kind in CODEX_CALLS
        counts.results += kind in CODEX_RESULTS or kind == "image_generation_call"
        counts.reasoning += kind == "reasoning"
        if kind in CODEX_CALLS and payload.get("call_id"):
            called.add(payload["call_id"])
        if kind in CODEX_RESULTS and payload.get("call_id"):
            answered.add(payload["call_id"])
    counts.paired = len(called & answered)
    return counts


# --- labels ---

RESULT_STATUSES = {
    "completed": "success",
    "failed": "error",
    "declined": "denied",
    "inProgress": "running",
    "in_progress": "running",
}
SHELLS = {"shell", "shell_command", "local_shell_call", "container.exec"}
PROCESSES = {"exec_command", "write_stdin"}
AGENT_TOOLS = {"spawn_agent", "wait_agent", "close_agent", "send_input", "wait", "resume_agent"}
HEADER_LINES = (
    "Warning:",
    "Chunk ID:",
    "Exit code:",
    "Wall time:",
    "Process ",
    "Original token count:",
    "Total output lines:",
)
HOST_ELEMENTS = {
    "environment_context",
    "permissions instructions",
    "skill",
    "subagent_notification",
    "turn_aborted",
    "user_action",
    "user_instructions",
}


def codex_labels(data: bytes, speakers: bool = True) -> Labels:
    """Count how the calls of a rollout ended, and who wrote its user messages."""
    labels, calls, reports, running = Labels(), {}, {}, {}
    payloads = [
        (line.get("type"), line.get("payload", line))
        for line in values(data)
        if isinstance(line, dict) and isinstance(line.get("payload", line), dict)
    ]
    for number, (_, payload) in enumerate(payloads):
        report = payload.get("item") if payload.get("type") == "item_completed" else payload
        if not isinstance(report, dict):
            continue
        for member in ("call_id", "id"):
            if payload.get("type") in EVENTS and isinstance(report.get(member), str):
                reports.setdefault(report[member], []).append((number, report))
                break
    places = find_calls(payloads)
    answered = []
    for number, (envelope, payload) in enumerate(payloads):
        kind = payload.get("type")
        if envelope not in ("response_item", kind):
            continue
        call_id = get_call_id(payload)
        if is_call(envelope, payload):
            calls.setdefault(call_id or id(payload), []).append(payload)
        if kind == "image_generation_call":
            labels.statuses[RESULT_STATUSES.get(payload.get("status"), "")] += "result" in payload
        if kind in CODEX_RESULTS:
            call = calls.get(call_id, [{}])[-1]
            start, end = find_span(places.get(call_id, []), number)
            own = [report for at, report in reports.get(call_id, []) if start <= at < end]
            answered.append((call_id, judge(call, payload, own)))
    for _, (status, code, process) in answered:
        if process is not None and process[0] == "runs":
            running.setdefault(process[1], []).append((status, code))
            continue
        for _ in running.pop(process[1], ()) if process else ():
            labels.statuses["running"] += 1
            labels.resolved += 1
        count_end(labels, status, code)
    for unresolved in running.values():
        for status, code in unresolved:
            count_end(labels, status, code)
    with_result = Counter(call_id for call_id, _ in answered)
    labels.unanswered = sum(
        max(0, len(group) - with_result[call_id])
        for call_id, group in calls.items()
        if isinstance(call_id, str)
    )
    if speakers:
        count_speakers(labels, payloads)
    return labels


def is_call(envelope: str, payload: dict) -> bool:
    kind = payload.get("type")
    name = payload.get("name", payload.get("function", kind))
    is_item = envelope in ("response_item", kind)
    return is_item and kind in CODEX_CALLS and isinstance(name, str | dict)


def get_call_id(payload: dict):
    is_local = payload.get("type") == "local_shell_call"
    return payload.get("call_id") or (is_local and payload.get("id"))


def find_calls(payloads: list) -> dict:
    """Find the places of the calls with each id."""
    places = {}
    for number, (envelope, payload) in enumerate(payloads):
        if is_call(envelope, payload):
            places.setdefault(get_call_id(payload), []).append(number)
    return places


def find_span(places: list, number: int) -> tuple:
    """Return between which places lie the events of a result: two calls that share its id."""
    if len(places) < 2:
        return 0, float("inf")
    before = [place for place in places if place < number]
    after = [place for place in places if place > number]
    return max(before, default=0), min(after, default=float("inf"))


EVENTS = {
    "exec_command_end",
    "patch_apply_end",
    "mcp_tool_call_end",
    "dynamic_tool_call_response",
    "item_completed",
}


def count_end(labels, status, code):
    labels.statuses[status] += 1
    if code is not None:
        labels.exit_codes[code] += 1


def judge(call, result, reports):
    """Return how a call ended, its exit code, and the process that it left or saw end."""
    name = call.get("name") or call.get("type") or "shell"
    output = result.get("output", result.get("result", result.get("tools")))
    if isinstance(output, list) and output:
        output = output[0].get("text", "")
    elif isinstance(output, dict):
        output = output.get("text", "")
    text = output if isinstance(output, str) else ""
    process = None
    words, code = read_header(text) if name in SHELLS | PROCESSES | {"apply_patch"} else ("", None)
    if words.startswith("running"):
        process = ("runs", words.split()[-1])
    elif code is not None and name == "write_stdin":
        process = ("ends", str(json.loads(call["arguments"]).get("session_id")))
    elif text.startswith('{"output"') and name in SHELLS | PROCESSES | {"apply_patch"}:
        code = json.loads(text)["metadata"]["exit_code"]
    if "aborted by user" in text[:60] and not any("Ok" in str(r.get("result")) for r in reports):
        return "interrupted", code, process
    if text.startswith(("patch rejected", "approval policy is", "exec command rejected")):
        return "denied", code, process
    verdicts = []
    for report in reports:
        answer = report.get("result") if isinstance(report.get("result"), dict) else {}
        if isinstance(report.get("exit_code"), int):
            code = report["exit_code"]
        elif report.get("success") is False or "Err" in answer:
            verdicts.append("error")
        elif report.get("success") is True or "Ok" in answer:
            verdicts.append("success")
        elif report.get("status") in RESULT_STATUSES:
            verdicts.append(RESULT_STATUSES[report["status"]])
    if code == 124 and "command timed out after " in text.split("milliseconds")[0]:
        return "timeout", code, process
    if code is not None:
        return ("success" if code == 0 else "error"), code, process
    if verdicts:
        return verdicts[-1], None, process
    if process:
        return "running", None, process
    return judge_plain(name, text, result), None, None


def judge_plain(name, text, result):
    """Return how a call without an exit code or an event ended, by the form of its result."""
    if name == "update_plan":
        return "success" if text == "Plan updated" else "error"
    if name in AGENT_TOOLS:
        early = name.startswith("wait") and '"timed_out":true' in text[-20:]
        return "running" if early else "success" if text[:1] == "{" else "error"
    if name == "view_image":
        return "error" if text and not text.startswith("attached") else "success"
    if name == "exec" and text.split("\n")[0] in ("Script completed", "Script failed"):
        return "success" if "completed" in text else "error"
    failed = ("unsupported c", "error: ", "apply_patch verification failed", "write_stdin failed")
    if text.startswith((*failed, "execution error", "failed to parse", "exec_command failed")):
        return "error"
    return RESULT_STATUSES.get(result.get("status"), "")


def read_header(text):
    """Return what Codex's lines before an output say about the process, and its exit code."""
    process, code = "", None
    for line in text.split("\n")[:9]:
        if line == "Output:":
            return process, code
        if not line.startswith(HEADER_LINES):
            break
        if line.startswith("Process "):
            process = line.removeprefix("Process ")
        if line.startswith(("Exit code:", "Process exited")):
            code = int(line.split()[-1])
    return "", None


def count_speakers(labels, payloads):
    """Count who wrote the user messages: typed ones are those that events repeat."""
    typed, source = set(), None
    for envelope, payload in payloads:
        if envelope == "session_meta" and source is None:
            source = payload.get("source", payload.get("originator") == "codex_exec" and "exec")
        if payload.get("type") == "user_message" and payload.get("kind", "plain") == "plain":
            typed.add(payload.get("message"))
        item = payload.get("item")
        if isinstance(item, dict) and item.get("type") == "UserMessage":
            typed.add("".join(block.get("text", "") for block in item["content"]))
    items = "\n".join(str(line[1].get("content")) for line in payloads if is_user_item(*line))
    for envelope, payload in payloads:
        if is_user_item(envelope, payload):
            content = payload.get("content", payload.get("message"))
        elif payload.get("type") == "user_message" and (
            not items
            or (payload.get("kind") is None and str([payload["message"]])[2:-2] not in items)
        ):
            content = payload["message"]
        else:
            continue
        if not content:
            continue
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
        texts = [text for text in texts if not text.startswith(("<image", "</image"))]
        words = texts if "".join(texts) in typed else [t for t in texts if not is_wrapped(t)]
        if texts and not words:
            labels.speakers["host"] += 1
        elif isinstance(source, dict) and "subagent" in source:
            labels.speakers["parent-agent"] += 1
        elif source == "exec":
            labels.speakers["unknown"] += 1
        else:
            labels.speakers["human"] += 1
            labels.prompts.append("\n".join(map(cut_request, words)))


def is_user_item(envelope, payload):
    is_item = envelope in ("response_item", payload.get("type")) or envelope is None
    return is_item and payload.get("role") == "user" and payload.get("type") in ("message", None)


def is_wrapped(text):
    """Return whether a text is one element, or one section, that Codex writes."""
    text = text.strip()
    if text.startswith("Warning: apply_patch was requested via "):
        return True
    if text.startswith("# AGENTS.md instructions"):
        return "\n<INSTRUCTIONS>" in text and text.endswith("</INSTRUCTIONS>")
    return any(
        text.startswith(f"<{name}>") and text.endswith(f"</{name}>") for name in HOST_ELEMENTS
    )


def cut_request(text):
    mark = "## My request for Codex:"
    is_context = text.lstrip().startswith(("# Context from my IDE", "# Files mentioned"))
    return text.split(mark)[-1].strip() if is_context and mark in text else text
