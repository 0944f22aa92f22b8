"""Copilot's event log."""

from collections import Counter

from tests.agents.independent.counts import Counts, Labels, plain_text, values

NATIVE_COUNTERS = {
    "input": "inputTokens",
    "cached": "cacheReadTokens",
    "output": "outputTokens",
    "reasoning": "reasoningTokens",
}


def copilot(data: bytes) -> Counts:
    """Count an event log."""
    counts = Counts()
    lines = [line for line in values(data) if is_event(line)]
    started = {line["data"].get("toolCallId") for line in of(lines, "tool.execution_start")}
    answered = {line["data"].get("toolCallId") for line in of(lines, "tool.execution_complete")}
    requested = set()
    for line in lines:
        kind, body = line["type"], line["data"]
        content = body.get("content")
        blocks = content if isinstance(content, list) else []
        counts.results += kind == "tool.execution_complete"
        counts.calls += kind == "tool.execution_start"
        counts.reasoning += kind == "assistant.reasoning"
        if kind in ("user.message", "assistant.message"):
            counts.messages[kind.partition(".")[0]] += 1
            counts.results += sum(block.get("type") == "tool_result" for block in blocks)
            answered |= {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
        if kind == "assistant.message":
            hidden = (body.get(name) for name in ("reasoningText", "reasoningOpaque"))
            counts.reasoning += any(hidden) or bool(body.get("encryptedContent"))
            for request in body.get("toolRequests") or ():
                identity = request.get("toolCallId")
                if isinstance(identity, str) and identity not in started:
                    counts.calls += 1
                    requested.add(identity)
    counts.paired = len(((started | requested) & answered) - {None})
    counts.tokens = count_tokens(lines)
    counts.models = set(find_models(lines))
    return counts


def is_event(line) -> bool:
    return isinstance(line, dict) and isinstance(line.get("data"), dict) and "type" in line


def of(lines, kind):
    return [line for line in lines if line["type"] == kind]


def chain(line) -> str:
    return line.get("agentId") or line["data"].get("parentToolCallId") or ""


def find_models(lines):
    """Yield the model of each message."""
    answers = {}
    for line in of(lines, "tool.execution_complete"):
        if line["data"].get("model"):
            answers[line["data"].get("toolCallId")] = line["data"]["model"]
    current = {}
    for line in lines:
        body = line["data"]
        if line["type"] in ("session.start", "session.resume", "session.model_change"):
            chosen = body.get("newModel") or body.get("selectedModel")
            if chosen and chosen != "auto":
                current[chain(line)] = chosen
        if line["type"] == "assistant.message":
            calls = [request.get("toolCallId") for request in body.get("toolRequests") or ()]
            model = body.get("model") if isinstance(body.get("model"), str) else None
            model = model or next((answers[call] for call in calls if call in answers), None)
            model = model or current.get(chain(line))
            if model:
                current[chain(line)] = model
                yield model


def count_tokens(lines) -> Counter:
    """Add up the records of calls; of runs without them, the totals; else the messages."""
    tokens = Counter()
    runs, run = [], []
    for line in lines:
        run.append(line)
        if line["type"] == "session.shutdown":
            runs.append(run)
            run = []
    runs.append(run)
    for run in runs:
        records = [line["data"]["usage"] for line in of(run, "session.usage_record")]
        recorded = {record.get("apiCallId") for record in records} - {None}
        said = {}
        for number, line in enumerate(of(run, "assistant.message")):
            body = line["data"]
            if body.get("apiCallId") not in recorded:
                said.setdefault(body.get("apiCallId", number), body.get("outputTokens") or 0)
        totals = [
            metric["usage"]
            for line in of(run, "session.shutdown")
            for metric in (line["data"].get("modelMetrics") or {}).values()
            if isinstance(metric, dict) and "usage" in metric
        ]
        counted = [record for record in records if is_whole(record)] or totals
        for name, native in NATIVE_COUNTERS.items():
            tokens[name] += sum(usage.get(native, 0) for usage in counted)
        if counted is not totals or not totals:
            tokens["output"] += sum(said.values())
    return tokens


def is_whole(record: dict) -> bool:
    return all(isinstance(record.get(name), int) and record[name] >= 0 for name in ("inputTokens",))


# --- labels ---


def copilot_labels(data: bytes) -> Labels:
    """Count how the calls of a log ended, and who wrote its user messages."""
    labels = Labels()
    lines = [line for line in values(data) if is_event(line)]
    names = {
        request.get("toolCallId"): request.get("name")
        for line in of(lines, "assistant.message")
        for request in line["data"].get("toolRequests") or ()
    }
    for line in of(lines, "tool.execution_start"):
        names[line["data"].get("toolCallId")] = line["data"].get("toolName")
    autonomous = any(
        "You are running in non-interactive mode" in line["data"].get("content", "")
        for line in of(lines, "system.message")
        if "agentId" not in line
    )
    for line in of(lines, "tool.execution_complete"):
        status, code = judge(names.get(line["data"].get("toolCallId")), line["data"])
        labels.statuses[status] += 1
        if code is not None:
            labels.exit_codes[code] += 1
    for line in of(lines, "user.message"):
        body = line["data"]
        if not body.get("content") and not body.get("transformedContent"):
            continue
        blocks = body["content"] if isinstance(body.get("content"), list) else []
        labels.statuses[""] += sum(block.get("type") == "tool_result" for block in blocks)
        source = body.get("source") or ""
        if source.startswith("agent-") or (not source and "agentId" in line):
            who = "parent-agent"
        elif source or not body.get("content"):
            who = "host"
        else:
            who = "unknown" if autonomous else "human"
        labels.speakers[who] += 1
        if who == "human":
            labels.prompts.append(plain_text(body["content"]))
    return labels


def judge(name, body: dict) -> tuple[str, int | None]:
    """Return the status and the exit code of a result, for a command that did not run on."""
    error = body.get("error") or {}
    if body.get("success") is False:
        return ("denied" if error.get("code") == "denied" else "error"), None
    text = (body.get("result") or {}).get("content")
    last = text.rstrip().rpartition("\n")[2] if isinstance(text, str) else ""
    code = (body.get("shellExecution") or {}).get("exitCode")
    if code is None and last.endswith(">") and " with exit code " in last:
        code = int(last[:-1].rpartition(" ")[2])
    if name in ("bash", "powershell", "shell"):
        if "still running" in last or "started in background" in last:
            return "running", None
        return ("" if code is None else "error" if code else "success"), code
    if (name or "").startswith(("read_", "write_")) and name.endswith(("bash", "powershell")):
        if "still running" in last:
            return "running", None
        return ("error" if code else "success"), code
    if name == "task" and text.startswith("Agent started in background"):
        return "running", None
    return "success", None
