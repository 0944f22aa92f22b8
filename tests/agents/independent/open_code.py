"""OpenCode exports, dumps and samples."""

import itertools

from tests.agents.independent.counts import Counts, Labels, documents


def opencode(data: bytes) -> Counts:
    """Count exports, dumps and samples of OpenCode; all sessions of a file are added up."""
    counts, pairs, seen = Counts(), (set(), set()), set()
    for value in documents(data):
        if isinstance(value, dict) and "info" in value:
            for message in value["messages"]:
                count_info(message["info"], counts)
                for part in message["parts"]:
                    if isinstance(part, dict):
                        count_part(part, counts, pairs)
        elif isinstance(value, dict) and "messages" in value:
            for message in value["messages"]:
                count_chat(message, counts, pairs)
        elif isinstance(value, dict) and "messageID" in value:
            count_part(value, counts, pairs)
        elif isinstance(value, dict) and "role" in value and value["id"] not in seen:
            seen.add(value["id"])
            count_info(value, counts)
    counts.paired = len(pairs[0] & pairs[1])
    return counts


def count_info(info: dict, counts: Counts) -> None:
    counts.messages[info["role"]] += info["role"] in ("user", "assistant")
    if "modelID" in info:
        counts.models.add(info["modelID"])
    tokens = info.get("tokens")
    if tokens:
        counts.tokens["input"] += (
            tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"]
        )
        counts.tokens["cached"] += tokens["cache"]["read"]
        counts.tokens["output"] += tokens["output"] + tokens["reasoning"]
        counts.tokens["reasoning"] += tokens["reasoning"]


def count_part(part: dict, counts: Counts, pairs: tuple) -> None:
    counts.reasoning += part["type"] == "reasoning"
    if part["type"] == "tool" and isinstance(part["state"], dict):
        answered = part["state"].get("output") is not None or part["state"].get("error") is not None
        counts.calls += 1
        counts.results += answered
        pairs[0].add(part["callID"])
        if answered:
            pairs[1].add(part["callID"])


def count_chat(message: dict, counts: Counts, pairs: tuple) -> None:
    role, metadata = message.get("role", "user"), message.get("metadata", {})
    if role == "tool":
        counts.results += 1
        pairs[1].add(message["tool_call_id"])
    elif role != "system":
        counts.messages[role] += 1
    counts.reasoning += "thinking" in metadata
    if "model" in metadata:
        counts.models.add(metadata["model"])
    calls, answers = message.get("tool_calls", ()), message.get("tool_responses", ())
    counts.calls += len(calls)
    counts.results += len(answers)
    pairs[0].update(call["id"] for call in calls)
    pairs[1].update(answer["tool_call_id"] for answer in answers)


# --- labels ---

REFUSALS = ("The user rejected permission", "The user has specified a rule", "The user dismissed")
SAMPLE_WORDS = {"success": "success", "completed": "success", "error": "error", "failed": "error"}
SKILL_LINES = ("Base directory for this skill: ", "Relative paths in this skill ")


def opencode_labels(data: bytes) -> Labels:
    """Count how the calls of a file's sessions ended, and who wrote their user messages."""
    labels = Labels()
    for head, messages in list_sessions(data):
        for info, parts in messages:
            objects = [part for part in parts if isinstance(part, dict)]
            for part in objects:
                if part.get("type") == "tool" and isinstance(part.get("state"), dict):
                    count_call(part, info, labels)
            if info.get("role") == "user":
                count_speaker(head, objects, labels)
    for value in documents(data):
        if isinstance(value, dict) and "messages" in value and "info" not in value:
            count_chat_labels(value["messages"], labels)
    return labels


def list_sessions(data: bytes) -> list:
    """Return the sessions of exports and dumps: each its object, and its messages with parts."""
    heads, infos, parts, found, order = {}, {}, {}, [], []
    for value in documents(data):
        if not isinstance(value, dict) or ("messages" in value and "info" not in value):
            continue
        if "messages" in value:
            messages = [
                (message["info"], message.get("parts") or [])
                for message in value["messages"]
                if isinstance(message["info"], dict)
            ]
            found.append((value["info"], messages))
            continue
        session = value.get("sessionID", value["id"] if "directory" in value else None)
        if session is not None and session not in order:
            order.append(session)
        if "directory" in value:
            heads.setdefault(value["id"], value)
        elif "role" in value:
            infos.setdefault((session, value["id"]), value)
        elif "messageID" in value:
            parts.setdefault((session, value["messageID"]), []).append(value)
    for session in order:
        own = [info for (where, _), info in infos.items() if where == session]
        own.sort(key=lambda info: (info["time"]["created"], info["id"]))
        messages = [
            (info, sorted(parts.pop((session, info["id"]), []), key=lambda part: part["id"]))
            for info in own
        ]
        found.append((heads.get(session, {}), messages))
    # Parts without their message are entries of their own.
    found.append(({}, [({}, group) for group in parts.values()]))
    return found


def count_call(part: dict, info: dict, labels: Labels) -> None:
    state = part["state"]
    text = state.get("output") if state.get("output") is not None else state.get("error")
    if text is None:
        labels.unanswered += 1
        return
    report = state.get("metadata") or {}
    code = report.get("exit") if part["tool"] == "bash" else None
    if isinstance(code, int):
        labels.exit_codes[code] += 1
    was_aborted = (info.get("error") or {}).get("name") == "MessageAbortedError"
    if state.get("status") == "error" or state.get("output") is None:
        if text.startswith(REFUSALS):
            status = "denied"
        elif report.get("interrupted") or text == "Tool execution aborted":
            status = "interrupted"
        else:
            status = "error"
    elif code is not None:
        status = "error" if code != 0 else "success"
    elif part["tool"] == "bash":
        last = text.split("\n")[-2:]
        status = ""
        if "exit" in report:
            status = "interrupted" if last[0] == "User aborted the command" else "error"
            status = "timeout" if "exceeding timeout" in last[0] else status
            status = "interrupted" if was_aborted and status == "error" else status
    else:
        status = "success" if state.get("status") == "completed" else ""
    if part["tool"] == "invalid":
        status = "error"
    if part["tool"] == "task" and report.get("background") and status == "success":
        status = "running"
    labels.statuses[status] += 1


def count_speaker(head: dict, parts: list, labels: Labels) -> None:
    texts = [part for part in parts if part.get("type") == "text"]
    typed = [
        part["text"] for part in texts if not part.get("synthetic") and not part.get("ignored")
    ]
    commands = [
        f"/{part['command']}" if "command" in part else part["prompt"]
        for part in parts
        if part.get("type") == "subtask"
    ]
    files = [part for part in parts if part.get("type") == "file"]
    denied = {rule["permission"] for rule in head.get("permission") or () if is_denial(rule)}
    if not texts and not files and not commands:
        return
    if not typed and not files and not commands:
        labels.speakers["host"] += 1
    elif "parentID" in head or "parent_id" in head:
        labels.speakers["parent-agent"] += 1
    elif {"question", "plan_exit", "plan_enter"} <= denied:
        labels.speakers["unknown"] += 1
    else:
        labels.speakers["human"] += 1
        labels.prompts.append("\n".join([fold_skill(text) for text in typed] + commands))


def is_denial(rule: dict) -> bool:
    return (rule["action"], rule["pattern"]) == ("deny", "*")


def fold_skill(text: str) -> str:
    """Return the command of an expanded skill, or the text."""
    lines = text.split("\n")
    for number, pair in enumerate(itertools.pairwise(lines)):
        if all(map(str.startswith, pair, SKILL_LINES)) and number and not lines[number - 1]:
            name = pair[0].split("/")[-1]
            return f"/{name} " + "\n".join(lines[number + 3 :])
    return text


def count_chat_labels(messages: list, labels: Labels) -> None:
    called, answered = set(), set()
    for message in messages:
        called |= {call["id"] for call in message.get("tool_calls", ())}
        answers = list(message.get("tool_responses", ()))
        answers += [message] if message.get("role") == "tool" else []
        for answer in answers:
            answered.add(answer["tool_call_id"])
            labels.statuses[SAMPLE_WORDS.get(answer.get("status"), "")] += 1
        if message.get("role") == "user" and message.get("content"):
            labels.speakers["human"] += 1
            labels.prompts.append(message["content"])
    labels.unanswered += len(called - answered)
