"""Counts from events of OpenHands."""

from tests.agents.independent.counts import Counts, Labels, documents

USAGE = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cached": "cache_read_tokens",
    "reasoning": "reasoning_tokens",
}


def histories(data: bytes):
    """Yield the events of each conversation, and whether a person may have spoken."""
    values = list(documents(data))
    if isinstance(values[0], dict) and "history" in values[0]:
        yield from ((value["history"], False) for value in values)
    else:
        events = values[0] if isinstance(values[0], list) else values
        yield events, True


def openhands(data: bytes) -> Counts:
    return count(data)[0]


def openhands_labels(data: bytes) -> Labels:
    return count(data)[1]


def count(data):
    counts, labels = Counts(), Labels()
    called, answered = set(), set()
    for events, has_person in histories(data):
        number, open_calls, totals = 0, [], []
        for event in events:
            kind = event.get("kind")
            if kind == "MessageEvent":
                count_message(event, counts, labels)
            elif kind == "ActionEvent":
                counts.messages["assistant"] += 1
                counts.calls += 1
                counts.reasoning += bool(event["reasoning_content"])
                called.add(event["tool_call_id"])
                open_calls.append(event["tool_call_id"])
            elif kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
                counts.results += 1
                answered.add(event["tool_call_id"])
                if event["tool_call_id"] in open_calls:
                    open_calls.remove(event["tool_call_id"])
                label(event, labels)
            elif event.get("action") == "message":
                is_first = number == 0 and event.get("source") != "agent"
                counts.messages["user" if is_first else "assistant"] += 1
                labels.speakers["human" if has_person else "unknown"] += is_first
                text = event.get("content") or event.get("args", {}).get("content")
                labels.prompts += [text] if has_person and is_first else []
            elif "action" in event:
                number += 1
                counts.messages["assistant"] += 1
                counts.calls += 1
                call_id = f"event-{event['id']}" if "id" in event else f"action-{number}"
                called.add(call_id)
                open_calls.append(call_id)
            elif "observation" in event:
                cause = event.get("cause")
                call_id = f"event-{cause}" if cause is not None else (open_calls or [""])[-1]
                if call_id in open_calls:
                    open_calls.remove(call_id)
                    answered.add(call_id)
                    counts.results += 1
                    label_early(event, labels)
            elif event.get("key") == "stats":
                metrics = event["value"]["usage_to_metrics"].values()
                used = [
                    metric
                    for metric in metrics
                    if metric["accumulated_token_usage"]["prompt_tokens"]
                ]
                counts.models |= {metric["model_name"] for metric in used}
                totals = [metric["accumulated_token_usage"] for metric in metrics]
        for total in totals:
            for counter, name in USAGE.items():
                counts.tokens[counter] += total[name]
        labels.unanswered += len(open_calls)
    counts.paired = len(called & answered)
    return counts, labels


def count_message(event, counts, labels):
    role = "assistant" if event["source"] == "agent" else "user"
    counts.messages[role] += 1
    if role == "user":
        speaker = {"environment": "host", "hook": "hook"}.get(event["source"], "human")
        labels.speakers[speaker] += 1
        texts = [part["text"] for part in event["llm_message"]["content"]]
        labels.prompts += ["\n".join(texts)] if speaker == "human" else []


def label(event, labels):
    if event["kind"] != "ObservationEvent":
        labels.statuses["denied" if event["kind"].startswith("User") else "error"] += 1
        return
    seen = event["observation"]
    code = seen.get("exit_code")
    if seen.get("timeout"):
        labels.statuses["timeout"] += 1
    elif seen["is_error"]:
        labels.statuses["error"] += 1
    elif code is not None:
        labels.statuses["error" if code else "success"] += 1
        labels.exit_codes[code] += 1
    else:
        labels.statuses["" if "terminal" in event["tool_name"] else "success"] += 1


def label_early(event, labels):
    code = event.get("exit_code", event.get("extras", {}).get("exit_code"))
    if event["observation"] == "error":
        labels.statuses["error"] += 1
    elif code is None:
        labels.statuses[""] += 1
    else:
        labels.statuses["error" if code else "success"] += 1
        labels.exit_codes[code] += 1
