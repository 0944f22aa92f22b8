"""Gemini CLI sessions, logs and saved chats."""

from tests.agents.independent.counts import Counts, documents


def gemini(data: bytes, *, live: bool = False) -> Counts:
    """Count a Gemini CLI session or saved chat.

    Either everything in the log counts, or only the messages that remain when it is folded.
    """
    counts, pairs = Counts(), (set(), set())
    written, standing, is_log = [], {}, False

    def write(message):
        standing_before = standing.get(message["id"])
        if standing_before is not None:
            standing_before["fate"] = "replaced"
        standing[message["id"]] = {"message": message, "fate": ""}
        written.append(standing[message["id"]])

    def set_all(messages):
        for identity, one in standing.items():
            one["fate"] = (
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
            for turn in value:
                count_turn(turn, counts, pairs)
        elif "history" in value:
            for turn in value["history"]:
                count_turn(turn, counts, pairs)
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
    for one in written:
        if not (is_log and live and one["fate"]):
            count_message(
                one["message"], counts, pairs, replaced=is_log and one["fate"] == "replaced"
            )
    counts.paired = len(pairs[0] & pairs[1])
    return counts


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
