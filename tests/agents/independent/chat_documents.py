"""Counts from trajectories of SWE-agent and mini-swe-agent."""

import json
import re

from tests.agents.independent.counts import Counts, Labels

FENCE = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
CODE = re.compile(r"<returncode>(-?\d+)</returncode>")


def mini_swe_agent(data: bytes) -> Counts:
    return count_mini(json.loads(data))[0]


def mini_swe_agent_labels(data: bytes) -> Labels:
    return count_mini(json.loads(data))[1]


def count_mini(document):
    counts, labels = Counts(), Labels()
    is_list = isinstance(document, list)
    waiting, answered = 0, 0
    for message in document if is_list else document["messages"]:
        role, extra = message.get("role"), message.get("extra", {})
        if role == "assistant":
            counts.messages["assistant"] += 1
            counts.reasoning += bool(message.get("reasoning_content"))
            response = extra.get("response", {})
            usage = response.get("usage") or {}
            counts.models |= {response["model"]} if "model" in response else set()
            counts.tokens["input"] += usage.get("prompt_tokens", 0)
            counts.tokens["output"] += usage.get("completion_tokens", 0)
            details = usage.get("prompt_tokens_details") or {}
            counts.tokens["cached"] += details.get("cached_tokens") or 0
            details = usage.get("completion_tokens_details") or {}
            counts.tokens["reasoning"] += details.get("reasoning_tokens") or 0
            made = len(message.get("tool_calls", ())) or len(extra.get("actions", ()))
            made = made or (len(FENCE.findall(message["content"])) == 1)
            counts.calls += made
            waiting = made if "tool_calls" not in message else 0
        elif role == "tool" or (waiting and is_output(message)):
            counts.results += 1
            answered += 1
            waiting -= role == "user"
            label_result(message, labels)
        elif role == "user":
            counts.messages["user"] += 1
            is_first = counts.messages["user"] == 1
            label_speaker(message, labels, is_first, is_list or "instance_id" not in document)
    counts.paired = answered
    labels.unanswered = counts.calls - answered
    if not is_list:
        model = document["info"].get("config", {}).get("model", {}).get("model_name")
        counts.models |= {model} if model else set()
    return counts, labels


def is_output(message):
    starts = ("<returncode>", "The last command <command>")
    return "returncode" in message.get("extra", {}) or message["content"].startswith(starts)


def label_result(message, labels):
    code = CODE.search(message["content"][:200])
    if "timed out" in str(message.get("extra", {}).get("exception_info")) or (
        message["content"].startswith("The last command")
    ):
        labels.statuses["timeout"] += 1
    elif code:
        labels.statuses["error" if int(code[1]) else "success"] += 1
        labels.exit_codes[int(code[1])] += 1
    else:
        labels.statuses[""] += 1


def label_speaker(message, labels, is_first, has_person):
    interrupted = message.get("extra", {}).get("interrupt_type") == "UserInterruption"
    speaker = "host"
    if interrupted or (is_first and has_person):
        speaker = "human"
        labels.prompts.append(message["content"])
    elif is_first:
        speaker = "unknown"
    labels.speakers[speaker] += 1


def swe_agent(data: bytes) -> Counts:
    return count_swe(json.loads(data))[0]


def swe_agent_labels(data: bytes) -> Labels:
    return count_swe(json.loads(data))[1]


def count_swe(document):
    counts, labels = Counts(), Labels()
    waiting, answered = False, set()
    for message in document["history"]:
        role = message["role"]
        if role == "assistant":
            counts.messages["assistant"] += 1
            blocks = message.get("thinking_blocks") or []
            counts.reasoning += sum(block["type"] == "thinking" for block in blocks)
            calls = message.get("tool_calls") or []
            made = len(calls) or bool(message.get("action"))
            counts.calls += made
            waiting = made and not calls
        elif role == "tool" or (waiting and message["message_type"] == "observation"):
            counts.results += 1
            answered.add(str(message.get("tool_call_ids", counts.results)))
            waiting = False
        elif role == "user":
            counts.messages["user"] += 1
            is_task = counts.messages["user"] == 1 and not message.get("is_demo")
            labels.speakers["unknown" if is_task else "host"] += 1
    config = document.get("replay_config")
    config = json.loads(config) if isinstance(config, str) else config or {}
    model = config.get("agent", {}).get("model", {}).get("name")
    counts.models = {model} if model else set()
    counts.paired = len(answered)
    labels.unanswered = counts.calls - counts.results
    return counts, labels
