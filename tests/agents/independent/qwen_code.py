"""Chats of Qwen Code: lines, and the early ones in Gemini CLI's form."""

import re

from tests.agents.independent import gemini_cli
from tests.agents.independent.counts import Counts, Labels, values

ROLES = {"user": "user", "assistant": "assistant", "tool_result": "user"}


def qwen(data: bytes) -> Counts:
    """Count a chat; what a rewind took back counts, too."""
    if b'"type": "qwen"' in data:
        return gemini_cli.gemini(data.replace(b'"type": "qwen"', b'"type": "gemini"'))
    counts, called, answered = Counts(), set(), set()
    for line in values(data):
        if not isinstance(line, dict) or line.get("type") not in ROLES:
            continue
        counts.messages[ROLES[line["type"]]] += 1
        for part in line.get("message", {}).get("parts", ()):
            counts.reasoning += part.get("thought") is True
            if "functionCall" in part:
                counts.calls += 1
                called.add(part["functionCall"]["id"])
            if "functionResponse" in part:
                counts.results += 1
                answered.add(part["functionResponse"]["id"])
        if "model" in line:
            counts.models.add(line["model"])
        count_usage(line.get("usageMetadata", {}), counts)
    counts.paired = len(called & answered)
    return counts


def count_usage(usage: dict, counts: Counts) -> None:
    prompt, answer = usage.get("promptTokenCount", 0), usage.get("candidatesTokenCount", 0)
    thoughts, total = usage.get("thoughtsTokenCount", 0), usage.get("totalTokenCount")
    # What the total has besides the prompt is the output.
    counts.tokens["output"] += answer if total is None else total - prompt
    counts.tokens["input"] += prompt
    counts.tokens["cached"] += usage.get("cachedContentTokenCount", 0)
    counts.tokens["reasoning"] += thoughts


def qwen_labels(data: bytes) -> Labels:
    """Count how calls ended, and who spoke."""
    labels, called, answered = Labels(), [], set()
    is_child = b'"isSidechain":true' in data
    for line in values(data):
        if line.get("type") not in ROLES:
            continue
        parts = line["message"]["parts"]
        called += [part["functionCall"]["id"] for part in parts if "functionCall" in part]
        for part in parts:
            if "functionResponse" in part:
                answered.add(part["functionResponse"]["id"])
                status, code = find_end(part["functionResponse"], line.get("toolCallResult", {}))
                labels.statuses[status] += 1
                if code is not None:
                    labels.exit_codes[code] += 1
        texts = [part["text"] for part in parts if "text" in part]
        if line["type"] == "user" and texts:
            count_words(line, texts, is_child, labels)
    labels.unanswered = len([call for call in called if call not in answered])
    return labels


def find_end(answer: dict, report: dict) -> tuple:
    response = answer.get("response") or {}
    output, error = response.get("output", ""), response.get("error", "")
    if report.get("errorType") == "execution_denied":
        return "denied", None
    if report.get("status") == "cancelled":
        return ("denied" if "did not allow" in error else "interrupted"), None
    if answer["name"] == "run_shell_command":
        if output.startswith("Background shell started"):
            return "running", None
        if output.startswith("Command timed out"):
            return "timeout", None
        code = re.search(r"\nExit Code: (\d+)\nSignal: ", output)
        if code:
            return ("error" if int(code[1]) else "success"), int(code[1])
    if "success" in response:
        return ("success" if response["success"] else "error"), None
    return report.get("status", "error" if error else ""), None


def count_words(line: dict, texts: list, is_child: bool, labels: Labels) -> None:
    own = [text for text in texts if not text.startswith("<qwen:user-prompt-submit-context>")]
    is_notice = "notification" in (line.get("subtype"), line.get("externalInputKind"))
    if is_notice or line.get("subtype") == "cron":
        labels.speakers["host"] += 1
    elif is_child:
        labels.speakers["parent-agent"] += 1
    else:
        labels.speakers["human"] += 1
        shown = line.get("systemPayload", {}).get("displayText")
        labels.prompts.append(shown or "\n".join(own))
