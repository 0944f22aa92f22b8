"""Small sessions in the format of each agent, and their attribution."""

import json
from datetime import UTC, datetime
from itertools import count

import vacr
from tests.discovery.cursor_databases import editor
from vacr.attribution.attribute import attribute_records, list_applied_changes, replay_records

ROOT = "/home/mira/app"
MODEL = "claude-opus-4-5-20251101"


def read_records(folder, data, name="session.jsonl"):
    """Write a session file and read its records."""
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(vacr.read(path))


def list_changes(records):
    """Return the history as `vacr attribute` prints it, without the ids of calls."""
    return [
        (row["path"], row["ranges"], row["evidence"])
        for row in list_applied_changes(*replay_records(records))
    ]


def find_contributors(record):
    """Return the contributor of each attributed line, by path and number."""
    found = {}
    (attributed,) = attribute_records([record])
    for file in attributed["file-attribution"]["files"]:
        for conversation in file["conversations"]:
            for line_range in conversation["ranges"]:
                who = line_range.get("contributor", conversation.get("contributor"))
                for number in range(line_range["start-line"], line_range["end-line"] + 1):
                    found[file["path"], number] = who
    return found


def get_evidence(record):
    """Return the evidence for the attribution of a record."""
    (attributed,) = attribute_records([record])
    return attributed["vacr"]["attribution"]


def json_lines(lines):
    return "".join(json.dumps(line) + "\n" for line in lines)


def clock():
    """Return a clock in milliseconds that ticks once a second."""
    return count(1773480413000, 1000)


def stamp(milliseconds):
    """Format a time like the hosts."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Claude:
    """A transcript of Claude Code; its name distinguishes its ids from other sessions."""

    def __init__(self, name="", times=None):
        self.name, self.times = name, times or clock()
        self.lines = []
        self.count = 0

    def line(self, kind, **members):
        self.count += 1
        common = {
            "cwd": ROOT,
            "version": "2.1.0",
            "uuid": f"u{self.name}{self.count}",
            "isSidechain": False,
        }
        common |= {"sessionId": self.name or "5f0d", "timestamp": stamp(next(self.times))}
        self.lines.append({**common, "type": kind, **members})

    def ask(self, name, arguments, model=MODEL, **more):
        call_id = f"toolu_{self.name}{self.count}"
        block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        self.line(
            "assistant", message={"role": "assistant", "model": model, "content": [block]}, **more
        )
        return call_id

    def answer(self, call_id, text, native=None, *, error=False, **more):
        block = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": text,
            **({"is_error": True} if error else {}),
        }
        report = {} if native is None else {"toolUseResult": native}
        self.line("user", message={"role": "user", "content": [block]}, **report, **more)

    def call(self, name, arguments, text="ok", native=None, *, error=False, **more):
        call_id = self.ask(name, arguments, **more)
        self.answer(call_id, text, native, error=error)
        return call_id

    def user(self, text):
        self.line("user", message={"role": "user", "content": [{"type": "text", "text": text}]})

    def read(self, path, text, first=1):
        lines = [
            f"{number:6}→{line}"
            for number, line in enumerate(text.removesuffix("\n").split("\n"), first)
        ]
        self.call("Read", {"file_path": f"{ROOT}/{path}"}, "\n".join(lines))

    def data(self):
        return json_lines(self.lines)


class Codex:
    """A rollout of Codex."""

    def __init__(self, model="gpt-5.2-codex", name="", times=None):
        self.name, self.times = name, times or clock()
        meta = {"id": name or "019b", "cwd": ROOT, "cli_version": "0.140.0", "originator": "cli"}
        meta["timestamp"] = "2026-03-14T09:26:53.589Z"
        self.lines = []
        self.count = 0
        self.line("session_meta", {**meta, "model_provider": "openai"})
        self.turn(model)

    def line(self, kind, payload):
        self.lines.append({"timestamp": stamp(next(self.times)), "type": kind, "payload": payload})

    def turn(self, model):
        self.line("turn_context", {"cwd": ROOT, "model": model})

    def custom(self, name, text):
        self.count += 1
        call_id = f"call_{self.name}{self.count}"
        self.line(
            "response_item",
            {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text},
        )
        return call_id

    def function(self, name, arguments):
        self.count += 1
        call_id = f"call_{self.name}{self.count}"
        payload = {
            "type": "function_call",
            "call_id": call_id,
            "name": name,
            "arguments": json.dumps(arguments),
        }
        self.line("response_item", payload)
        return call_id

    def output(self, call_id, text, kind="custom_tool_call_output"):
        self.line("response_item", {"type": kind, "call_id": call_id, "output": text})

    def shell(self, command, printed="", code=0):
        call_id = self.function("exec_command", {"cmd": command})
        head = f"Chunk ID: 1a\nWall time: 0.01 seconds\nProcess exited with code {code}\nOutput:\n"
        self.output(call_id, head + printed, "function_call_output")
        return call_id

    def event(self, **payload):
        self.line("event_msg", payload)

    def patched(self, call_id, changes, *, success=True):
        self.event(
            type="patch_apply_end",
            call_id=call_id,
            success=success,
            changes=changes,
            stdout="",
            stderr="",
        )

    def data(self):
        return json_lines(self.lines)


class Gemini:
    """A chat of Gemini CLI."""

    def __init__(self, name="", times=None):
        self.name, self.times = name, times or clock()
        self.messages = []

    def call(
        self,
        name,
        arguments,
        answer="ok",
        display=None,
        status="success",
        *,
        model="gemini-3-pro",
        failed=False,
    ):
        number = len(self.messages)
        call_id = f"{name}-{self.name}{number}"
        response = {"error": answer} if failed else {"output": answer}
        call = {
            "id": call_id,
            "name": name,
            "args": arguments,
            "timestamp": stamp(next(self.times)),
        }
        if status is not None:
            call |= {"status": status}
        if answer is not None:
            call |= {
                "result": [
                    {"functionResponse": {"id": call_id, "name": name, "response": response}}
                ]
            }
        if display is not None:
            call |= {"resultDisplay": display}
        message = {
            "id": f"m{self.name}{number}",
            "type": "gemini",
            "content": "",
            "timestamp": call["timestamp"],
            "model": model,
        }
        self.messages.append(message | {"toolCalls": [call]})
        return call_id

    def data(self):
        head = {
            "sessionId": self.name or "b6b1",
            "projectHash": "00ff",
            "startTime": "2026-03-14T09:29:00.000Z",
        }
        return json.dumps(
            {**head, "lastUpdated": "2026-03-14T09:31:00.000Z", "messages": self.messages}
        )


class OpenCode:
    """An export of OpenCode."""

    def __init__(self, name="", times=None):
        self.name, self.times = name, times or clock()
        self.messages = []

    def call(
        self, name, arguments, output="ok", metadata=None, status="completed", model="gpt-5.2"
    ):
        number, time = len(self.messages), next(self.times)
        state = {"status": status, "input": arguments, "time": {"start": time, "end": time + 500}}
        state |= (
            {"error": output}
            if status == "error"
            else {"output": output, "metadata": metadata or {}, "title": name}
        )
        if status in ("pending", "running"):
            state = {"status": status, "input": arguments}
        message = {"id": f"msg_{self.name}{number}", "sessionID": f"ses_{self.name or 1}"}
        info = message | {"role": "assistant", "modelID": model, "providerID": "openai"}
        info |= {"path": {"cwd": ROOT, "root": ROOT}, "time": {"created": time}}
        part = {
            "id": f"prt_{self.name}{number}",
            "messageID": message["id"],
            "sessionID": message["sessionID"],
        }
        part |= {
            "type": "tool",
            "callID": f"call_{self.name}{number}",
            "tool": name,
            "state": state,
        }
        self.messages.append({"info": info, "parts": [part]})
        return part["callID"]

    def data(self):
        head = {"id": f"ses_{self.name or 1}", "directory": ROOT, "version": "1.1.53"}
        return json.dumps({"info": head, "messages": self.messages})


def cursor_transcript(*calls):
    """Return a transcript of Cursor: calls without ids or results."""
    lines = [
        {
            "role": "user",
            "message": {"content": [{"type": "text", "text": "<user_query>do it</user_query>"}]},
        }
    ]
    for name, arguments in calls:
        lines.append(
            {
                "role": "assistant",
                "message": {"content": [{"type": "tool_use", "name": name, "input": arguments}]},
            }
        )
    return json_lines(lines)


def cursor_editor(path, *tools, rows=None):
    """Return the records of a database of Cursor's editor, with calls, results and other rows."""
    names = [f"b{number}" for number in range(len(tools))]
    headers = [{"bubbleId": name, "type": 2} for name in names]
    composer = {
        "_v": 10,
        "composerId": "c1",
        "createdAt": 1785000000000,
        "fullConversationHeadersOnly": headers,
    }
    composer |= {
        "workspaceIdentifier": {"uri": {"fsPath": ROOT}},
        "modelConfig": {"modelName": "gpt-5.2"},
    }
    found = {"composerData:c1": composer, **(rows or {})}
    for name, tool in zip(names, tools, strict=True):
        data = {"tool": 5, "toolCallId": f"call_{name}", "status": "completed"} | tool
        bubble = {"_v": 3, "type": 2, "bubbleId": name, "text": "", "toolFormerData": data}
        found[f"bubbleId:c1:{name}"] = bubble | {"createdAt": f"2026-07-25T10:00:0{name[1:]}.000Z"}
    return list(vacr.read(editor(path / "state.vscdb", found)))
