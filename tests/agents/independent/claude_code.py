"""Claude Code transcripts."""

import re
from collections import Counter

from tests.agents.independent.counts import Counts, Labels, values

CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
RESULTS = {"tool_result", "server_tool_result"}
NOTICE = re.compile(r"\s*<task-notification>.*</task-notification>\s*", re.DOTALL)
THOUGHTS = {"thinking", "redacted_thinking"}


def claude(data: bytes) -> Counts:
    """Count a Claude Code transcript, with the messages of sub-agents in progress lines."""
    counts, usage = Counts(), {}
    called, answered = set(), set()
    lines = list_lines(data)
    counts.messages["user"] += len(find_queued_prompts(lines))
    for number, line in enumerate(lines):
        kind, message = line.get("type"), line.get("message")
        if kind in ("tool_use", "tool_result"):
            counts.calls += kind == "tool_use"
            counts.results += kind == "tool_result"
        if kind not in ("user", "assistant"):
            continue
        counts.messages[kind] += 1
        if not isinstance(message, dict):
            continue
        synthetic = message.get("model") == "<synthetic>"
        if isinstance(message.get("model"), str) and not synthetic:
            counts.models.add(message["model"])
        if isinstance(message.get("usage"), dict) and not synthetic:
            key = message.get("id") or number
            best = usage.get(key)
            if best is None or message["usage"].get("output_tokens", 0) >= best.get(
                "output_tokens", 0
            ):
                usage[key] = message["usage"]
        for block in message.get("content") if isinstance(message.get("content"), list) else ():
            block_type = block.get("type")
            counts.calls += block_type in CALLS
            counts.results += block_type in RESULTS
            counts.reasoning += block_type in THOUGHTS
            if block_type in CALLS and "id" in block:
                called.add(block["id"])
            if block_type in RESULTS and "tool_use_id" in block:
                answered.add(block["tool_use_id"])
    counts.paired = len(called & answered)
    for counters in usage.values():
        cached, made = (
            counters.get("cache_read_input_tokens", 0),
            counters.get("cache_creation_input_tokens", 0),
        )
        counts.tokens["input"] += counters.get("input_tokens", 0) + cached + made
        counts.tokens["cached"] += cached
        counts.tokens["output"] += counters.get("output_tokens", 0)
    return counts


def list_lines(data: bytes) -> list:
    """List the lines of a transcript, each followed by the message of a sub-agent inside it."""
    lines = []
    for line in values(data):
        if isinstance(line, dict):
            lines.append(line)
            inner = line.get("data")
            if (
                line.get("type") == "progress"
                and isinstance(inner, dict)
                and isinstance(inner.get("message"), dict)
            ):
                lines.append({**inner["message"], "inside": True})
    return lines


def find_queued_prompts(lines: list) -> list:
    """Find the attachments that are prompts, typed while the agent worked."""
    ids = {line.get("uuid") for line in lines if line.get("type") == "user"}
    found = []
    for line in lines:
        queued = line.get("attachment")
        if line.get("type") != "attachment" or not isinstance(queued, dict):
            continue
        if queued.get("type") != "queued_command" or queued.get("source_uuid") in ids:
            continue
        prompt, kind = queued.get("prompt"), (queued.get("origin") or {}).get("kind")
        is_typed = kind in ("human", *UNVOUCHED) or (
            kind is None
            and queued.get("commandMode") == "prompt"
            and queued.get("isMeta") is not True
            and not (isinstance(prompt, str) and NOTICE.fullmatch(prompt))
        )
        if is_typed:
            found.append(line)
    return found


# --- labels ---

UNVOUCHED = ("channel", "voice-call", "unclassified")
REFUSALS = (
    "The user doesn't want to proceed with this tool use",
    "User rejected tool use",
    "Claude requested permissions to ",
    "This command requires approval",
    "This Bash command contains multiple operations. The following part requires approval",
    "Permission to use ",
    "PreToolUse:",
)
STOPS = ("[Request interrupted", "<tool_use_error>Sibling tool call errored")
HOST_ELEMENTS = (
    "local-command-stdout|local-command-stderr|local-command-caveat|bash-stdout|bash-stderr"
    "|task-notification|teammate-message"
)
HOST_TEXT = re.compile(
    rf"\s*(?:(?:<({HOST_ELEMENTS})\b.*</\1>\s*)+|\[Request interrupted by user[^\]]*\]"
    r"|This session is being continued from .*|Caveat: The messages below were generated .*)\s*",
    re.DOTALL,
)
CONTEXT = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)

END_WORDS = {"completed": "success", "failed": "error", "killed": "interrupted"}


def claude_labels(data: bytes) -> Labels:
    """Count how the calls of a transcript ended, and who wrote its user messages."""
    labels, lines = Labels(), list_lines(data)
    names, results, pending = {}, [], {}
    queued = find_queued_prompts(lines)
    program = next(
        (line["entrypoint"] for line in lines if isinstance(line.get("entrypoint"), str)), ""
    ).startswith("sdk-")
    for line in lines:
        if line.get("type") == "tool_use" and {"name", "input"} <= line.keys():
            names[line.get("call-id")] = line["name"]
        if line.get("type") == "tool_result" and "output" in line:
            labels.statuses[""] += 1
        message = line.get("message") if isinstance(line.get("message"), dict) else {}
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") in CALLS and isinstance(block.get("name"), str):
                names[block.get("id")] = block["name"]
            elif block.get("type") in RESULTS:
                results.append((line, block))
        if any(line is queued_line for queued_line in queued):
            note_speaker(labels, line, line["attachment"]["prompt"], program)
        elif line.get("type") == "user" and content:
            blocks = content if isinstance(content, list) else [content]
            if any(isinstance(b, str) or b.get("type") != "tool_result" for b in blocks):
                note_speaker(labels, line, content, program)
    notices = find_notices(lines)
    for line, block in results:
        status, code, process = judge(line, block, names.get(block.get("tool_use_id"), ""))
        if process and status == "running":
            pending.setdefault(process, []).append(lines.index(line))
        elif process:
            labels.resolved += len(pending.pop(process, ()))
        labels.statuses[status] += 1
        if code is not None:
            labels.exit_codes[code] += 1
    for process, waiting in pending.items():
        for place, status, code in notices.get(process, ()):
            earlier = [position for position in waiting if position < place]
            if earlier:
                labels.statuses["running"] -= 1
                labels.statuses[status] += 1
                labels.resolved += len(earlier)
                if code is not None:
                    labels.exit_codes[code] += 1
            del waiting[: len(earlier)]
    labels.statuses = +labels.statuses
    labels.unanswered = count_unanswered(lines)
    return labels


def find_notices(lines: list) -> dict:
    """Find the notices that Claude Code sent: task → place, status and exit code of each."""
    notices = {}
    for place, line in enumerate(lines):
        attachment, message = line.get("attachment") or {}, line.get("message") or {}
        if (line.get("origin") or {}).get("kind") == "task-notification":
            text = message.get("content")
        elif attachment.get("commandMode") == "task-notification":
            text = attachment["prompt"]
        else:
            continue
        text = text if isinstance(text, str) else ""
        head = text.partition("<summary>")[0]
        task, status = (re.search(rf"<{tag}>(.*)</{tag}>", head) for tag in ("task-id", "status"))
        if task and status:
            code = re.search(r"<summary>Background command .*exit code (\d+)\)?</summary>", text)
            found = (place, END_WORDS[status[1]], int(code[1]) if code else None)
            notices.setdefault(task[1], []).append(found)
    return notices


def count_unanswered(lines: list) -> int:
    """Count the calls without a result; each result answers one call with its id."""
    calls, results = Counter(), Counter()
    for line in lines:
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if block.get("type") in CALLS and isinstance(block.get("name"), str):
                calls[block.get("id")] += isinstance(block.get("id"), str)
            elif block.get("type") in RESULTS:
                results[block.get("tool_use_id")] += 1
    return (calls - results).total()


def judge(line: dict, block: dict, name: str) -> tuple:
    """Return the status of a result, its exit code, and the process that it is about."""
    report, text = line.get("toolUseResult"), block.get("content")
    text = text if isinstance(text, str) else ""
    if block.get("is_error") is True:
        if "toolDenialKind" in line:
            stopped = line["toolDenialKind"] in ("interrupted", "cancelled")
            return ("interrupted" if stopped else "denied"), None, None
        header = re.fullmatch(r"Exit code (\d+)", text.split("\n")[0])
        code = int(header[1]) if header and name in ("Bash", "PowerShell") else None
        second = text.split("\n")[1] if "\n" in text else ""
        if code == 143 and re.fullmatch(r"Command timed out after [\d.dhms ]+", second):
            return "timeout", code, None
        is_stopped = second.rstrip("\r") == "[Request interrupted by user for tool use]"
        if is_stopped or text.startswith(STOPS):
            return "interrupted", code, None
        if name.startswith("mcp__") and report != "User rejected tool use":
            return "error", code, None
        is_outside = " was blocked. For security, Claude Code may only " in text.split("\n")[0]
        if is_outside or any(text.startswith(no) or report == no for no in REFUSALS):
            return "denied", code, None
        return "error", code, None
    if not isinstance(report, dict):
        return "success", None, None
    if report.get("interrupted"):
        return "interrupted", None, None
    if report.get("backgroundTaskId"):
        return "running", None, report["backgroundTaskId"]
    if report.get("returnCodeInterpretation") in ("No matches found", "Files differ"):
        return "error", 1, None
    if report.get("status") == "async_launched":
        return "running", None, report["agentId"]
    task = report.get("task") if "retrieval_status" in report else report
    if isinstance(task, dict) and task.keys() & {"shellId", "task_type"}:
        status = END_WORDS.get(task["status"], task["status"])
        code = task.get("exitCode")
        status = "error" if status == "success" and code else status
        return status, code, task.get("shellId", task.get("task_id"))
    if name in ("KillBash", "KillShell", "TaskStop"):
        return "success", None, report.get("shell_id", report.get("task_id"))
    return "success", None, None


def note_speaker(labels: Labels, line: dict, content, program: bool) -> None:
    """Count who wrote a message, and keep the words of a person."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    text = "\n".join(text for text in texts if isinstance(text, str))
    origin = line.get("origin") or line.get("attachment", {}).get("origin") or {}
    if line.get("isCompactSummary") or origin.get("kind") == "task-notification":
        labels.speakers["host"] += 1
    elif origin.get("kind") != "human" and (
        line.get("isMeta") or line.get("turnCompanion") or "sourceToolUseID" in line
    ):
        labels.speakers["hook" if "hook feedback:" in text[:40] else "host"] += 1
    elif origin.get("kind") in UNVOUCHED:
        labels.speakers["unknown"] += 1
    elif HOST_TEXT.fullmatch(text):
        labels.speakers["host"] += 1
    elif origin.get("kind") != "human" and (line.get("isSidechain") or line.get("inside")):
        labels.speakers["parent-agent"] += 1
    elif origin.get("kind") != "human" and program:
        labels.speakers["unknown"] += 1
    else:
        labels.speakers["human"] += 1
        labels.prompts.append(unwrap(text))


def unwrap(text: str) -> str:
    """Return what was typed: a command without its elements, a prompt without what precedes it."""
    members = dict(re.findall(r"<command-(name|args)>(.*?)</command-\1>", text, re.DOTALL))
    if text.lstrip().startswith("<command-") and "name" in members:
        name = "/" + members["name"].strip().lstrip("/")
        return (name + " " + members.get("args", "").strip()).strip()
    typed = re.fullmatch(r"<bash-input>(.*)</bash-input>", text, re.DOTALL)
    if typed:
        return "! " + typed[1]
    before = text
    while match := CONTEXT.match(text):
        text = text[match.end() :]
    tail = re.search(
        r"\n<system-reminder>(?:(?!<system-reminder>).)*</system-reminder>\s*\Z", text, re.DOTALL
    )
    text = text[: tail.start()].rstrip() if tail else text
    return text if text.strip() else before
