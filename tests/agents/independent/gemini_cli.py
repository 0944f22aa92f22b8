"""Gemini CLI sessions, logs and saved chats."""

import re

from tests.agents.independent.counts import Counts, Labels, documents


def gemini(data: bytes, *, live: bool = False) -> Counts:
    """Count a Gemini CLI session or saved chat.

    Either everything in the log counts, or only the messages that remain when it is folded.
    """
    counts, pairs = Counts(), (set(), set())
    written, turns, is_log = fold(data)
    for turn in turns:
        count_turn(turn, counts, pairs)
    for item in written:
        if not (is_log and live and item["fate"]):
            count_message(
                item["message"], counts, pairs, replaced=is_log and item["fate"] == "replaced"
            )
    counts.paired = len(pairs[0] & pairs[1])
    return counts


def fold(data: bytes) -> tuple[list, list, bool]:
    """Return the messages with their fates, the turns of a saved chat, and whether it is a log."""
    written, standing, turns, is_log = [], {}, [], False

    def write(message):
        standing_before = standing.get(message["id"])
        if standing_before is not None:
            standing_before["fate"] = "replaced"
        standing[message["id"]] = {"message": message, "fate": ""}
        written.append(standing[message["id"]])

    def set_all(messages):
        for identity, item in standing.items():
            item["fate"] = (
                "replaced" if identity in [message["id"] for message in messages] else "dropped"
            )
        standing.clear()
        for message in messages:
            write(message)

    for value in documents(data):
        is_log = is_log or (
            isinstance(value, dict)
            and ("type" in value or any(name.startswith("$") for name in value))
        )
        if isinstance(value, list):
            turns += value
        elif "history" in value:
            turns += value["history"]
        elif "$rewindTo" in value:
            order = list(standing)
            start = order.index(value["$rewindTo"]) if value["$rewindTo"] in order else 0
            for identity in order[start:]:
                standing.pop(identity)["fate"] = "rewound"
        elif "$patch" in value:
            for identity in value["$patch"].get("removeIds", ()):
                standing.pop(identity)["fate"] = "dropped"
        elif "$set" in value:
            if "messages" in value["$set"]:
                set_all(value["$set"]["messages"])
        elif "type" in value:
            write(value)
        elif "messages" in value:
            set_all(value["messages"])
    return written, turns, is_log


GEMINI_ROLES = {"user": "user", "function": "user", "gemini": "assistant", "model": "assistant"}


def count_turn(turn: dict, counts: Counts, pairs: tuple) -> None:
    counts.messages[GEMINI_ROLES[turn["role"]]] += 1
    count_parts(turn["parts"], counts, pairs)


def count_parts(parts, counts: Counts, pairs: tuple) -> None:
    for part in parts if isinstance(parts, list) else ():
        call = part.get("functionCall", part.get("function_call"))
        response = part.get("functionResponse", part.get("function_response"))
        counts.calls += call is not None
        counts.results += response is not None
        counts.reasoning += part.get("thought") is True
        for ids, held in zip(pairs, (call, response), strict=True):
            if held is not None and "id" in held:
                ids.add(held["id"])


def count_message(message: dict, counts: Counts, pairs: tuple, *, replaced: bool) -> None:
    if message.get("type") not in GEMINI_ROLES:
        return
    counts.messages[GEMINI_ROLES[message["type"]]] += 1
    count_parts(message.get("content", message.get("parts")), counts, pairs)
    if replaced:
        return
    if "model" in message:
        counts.models.add(message["model"])
    counts.reasoning += len(message.get("thoughts") or ())
    for call in message.get("toolCalls") or ():
        answered = call.get("result") is not None
        counts.calls += 1
        counts.results += answered
        if "id" in call:
            pairs[0].add(call["id"])
            pairs[1].update([call["id"]] if answered else [])
    # Thoughts are generated like any output, and text that tools put into a prompt is input; Gemini
    # counts both separately.
    sums = {
        "input": ("input", "tool"),
        "cached": ("cached",),
        "output": ("output", "thoughts"),
        "reasoning": ("thoughts",),
    }
    for name, natives in sums.items():
        counts.tokens[name] += sum(
            (message.get("tokens") or {}).get(native, 0) for native in natives
        )


# --- labels ---


def gemini_labels(data: bytes) -> Labels:
    """Count how calls ended and who spoke, in the whole log; copies of results count as well."""
    labels, ends, is_child = Labels(), {}, b'"kind":"subagent"' in data.replace(b" ", b"")
    written, turns, is_log = fold(data)
    kept = [item["message"] for item in written if not (is_log and item["fate"] == "replaced")]
    for message in kept:
        for call in message.get("toolCalls") or ():
            if call.get("result") is None:
                labels.unanswered += "id" in call
                continue
            end = find_end(call["name"], call["result"], call.get("status"), call)
            ends[call.get("id")] = end
            count_end(end, labels)
    for message in [item["message"] for item in written] + turns:
        kind = message.get("type", message.get("role"))
        parts = message.get("content", message.get("parts"))
        for part in parts if isinstance(parts, list) else ():
            held = part.get("functionResponse", part.get("function_response"))
            if held is not None:
                end = ends.get(held.get("id")) or find_end(held["name"], [part], None, {})
                count_end(end, labels)
        if kind in ("user", "function"):
            count_words(message, parts, is_child, labels)
    return labels


def count_end(end: tuple, labels: Labels) -> None:
    status, code = end
    labels.statuses[status] += 1
    if code is not None:
        labels.exit_codes[code] += 1


def find_end(name: str, result, status: str | None, call: dict) -> tuple:
    """Return the status of a result and the exit code of its command."""
    held = [
        part["functionResponse"]["response"]
        for part in (result if isinstance(result, list) else ())
        if "functionResponse" in part
    ]
    response = held[0] if held else {}
    error, output = response.get("error") or "", response.get("output")
    if status == "cancelled":
        return ("denied" if re.search("User den|not allow", error) else "interrupted"), None
    if re.match("Tool execution (denied|blocked)", error):
        return "denied", None
    if error == "The user aborted a request.":
        return "interrupted", None
    known = {"success": "success", "error": "error"}.get(status, "error" if error else "")
    if name != "run_shell_command" or not isinstance(output, str):
        return known, None
    first = output.removeprefix("<untrusted_context>\n")
    for start, stated in GEMINI_STATED_ENDS.items():
        if first.startswith(start):
            return stated, None
    return find_command_end(first, call.get("resultDisplay"), known)


GEMINI_STATED_ENDS = {
    "Command was automatically cancelled": "timeout",
    "Command was cancelled by user": "interrupted",
    "Command injection detected": "denied",
    "Command moved to background": "running",
    "Command is running in background": "running",
}


def find_command_end(text: str, display, known: str) -> tuple:
    """Return how a command ended, by the last lines of the host's report."""
    is_long = text.startswith("Command: ")
    lines = re.split(r"\n|\\n" if is_long and "\n" not in text else r"\n", text)
    lines = [line for line in lines if line != "</untrusted_context>"]
    if isinstance(display, str) and not is_long and display.count("\n") < len(lines) - 1:
        # What the screen showed is the program's.
        shown = ["Output: " + display.split("\n")[0], *display.split("\n")[1:]]
        lines = lines[len(shown) :] if lines[: len(shown)] == shown else lines
    stated = dict(line.split(": ", 1) for line in lines[-4:] if ": " in line)
    if not is_long and not display and not {"Signal", "Background PIDs"} <= stated.keys():
        return known, None  # Nobody saw who wrote these lines.
    code = stated.get("Exit Code", "(none)")
    if stated.get("Signal", "0") not in ("0", "(none)", "null"):
        return "error", None
    if code == "(none)":
        return known, None
    return ("error" if int(code) else known or "success"), int(code)


GEMINI_HOST_TEXT = re.compile(
    r"\s*(<session_context>|This is the Gemini CLI\. We|System: |<state_snapshot>|Please continue\.$)"
)


def count_words(message: dict, parts, is_child: bool, labels: Labels) -> None:
    """Count who wrote a message, and keep what a person typed."""
    texts = [parts] if isinstance(parts, str) else []
    media = False
    for part in parts if isinstance(parts, list) else ():
        texts += [part["text"]] if "text" in part else []
        media = media or "inlineData" in part
    if not texts and not media:
        return
    if texts and GEMINI_HOST_TEXT.match(texts[0]):
        labels.speakers["host"] += 1
    elif texts and all(text.startswith("<hook_context>") for text in texts):
        labels.speakers["hook"] += 1
    elif is_child:
        labels.speakers["parent-agent"] += 1
    else:
        labels.speakers["human"] += 1
        shown = message.get("displayContent")
        typed = texts if shown is None else [shown] if isinstance(shown, str) else None
        if typed is None:
            typed = [part["text"] for part in shown if "text" in part]
        joined = "\0".join(typed).split("\0\n--- Content from referenced files")[0]
        kept = [text for text in joined.split("\0") if not text.startswith("<hook_context>")]
        labels.prompts.append("\n".join(kept))
