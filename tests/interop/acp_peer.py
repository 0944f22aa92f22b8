"""An editor and an agent of the official Python SDK for ACP; runs in the peers' environment.

`acp_peer.py editor FOLDER COMMAND…` starts a command as the agent and asks one question;
`acp_peer.py agent` is an agent that uses the editor's files and terminal.
"""

import asyncio
import os
import subprocess
import sys
import uuid
from pathlib import Path

import acp
from acp import schema


class ScriptedAgent(acp.Agent):
    """Reads and writes files and runs a command through the editor, after asking."""

    def on_connect(self, conn):
        self.editor = conn

    async def initialize(self, protocol_version, **_):
        return schema.InitializeResponse(
            protocol_version=protocol_version,
            agent_info=schema.Implementation(name="scripted", version="0.1"),
        )

    async def new_session(self, cwd, **_):
        self.folder = Path(cwd)
        return schema.NewSessionResponse(session_id="scripted-1")

    async def prompt(self, prompt, session_id, **_):
        editor, session = self.editor, session_id
        for word in ("On ", "my ", "way."):
            await editor.session_update(session, acp.update_agent_message_text(word))
        path = str(self.folder / "notes.txt")
        shown = await editor.read_text_file(path=path, session_id=session)
        text = shown.content + "second\n"
        await editor.session_update(
            session,
            acp.start_tool_call(
                "call-1",
                "Append a line",
                kind="edit",
                status="pending",
                content=[acp.tool_diff_content(path, text, shown.content)],
            ),
        )
        answer = await editor.request_permission(
            session_id=session,
            tool_call=schema.ToolCallUpdate(tool_call_id="call-1"),
            options=[
                schema.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
                schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
            ],
        )
        if answer.outcome.outcome == "selected" and answer.outcome.option_id == "yes":
            await editor.write_text_file(content=text, path=path, session_id=session)
            await editor.session_update(session, acp.update_tool_call("call-1", status="completed"))
        else:
            await editor.session_update(session, acp.update_tool_call("call-1", status="failed"))
        terminal = await editor.create_terminal(
            command="cat", args=["notes.txt"], cwd=str(self.folder), session_id=session
        )
        ids = {"session_id": session, "terminal_id": terminal.terminal_id}
        await editor.wait_for_terminal_exit(**ids)
        output = await editor.terminal_output(**ids)
        await editor.release_terminal(**ids)
        await editor.session_update(session, acp.update_agent_message_text(output.output))
        return schema.PromptResponse(stop_reason="end_turn")


class Editor(acp.Client):
    """Does what the agent asks for, with real files and processes."""

    def __init__(self, answer):
        self.answer = answer
        self.terminals = {}

    async def request_permission(self, options, **_):
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=self.answer)
        )

    async def session_update(self, session_id, update, **_):
        print(type(update).__name__, flush=True)

    async def read_text_file(self, path, **_):
        return schema.ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, content, path, **_):
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    async def create_terminal(self, command, args=None, cwd=None, **_):
        done = subprocess.run(
            [command, *(args or ())], cwd=cwd, capture_output=True, text=True, check=False
        )
        name = uuid.uuid4().hex
        self.terminals[name] = done
        return schema.CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(self, terminal_id, **_):
        code = self.terminals[terminal_id].returncode
        return schema.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(self, terminal_id, **_):
        done = self.terminals[terminal_id]
        status = schema.TerminalExitStatus(exit_code=done.returncode)
        return schema.TerminalOutputResponse(
            output=done.stdout, truncated=False, exit_status=status
        )

    async def release_terminal(self, **_):
        return schema.ReleaseTerminalResponse()


async def edit(folder, answer, command):
    environment = dict(os.environ)
    async with acp.spawn_agent_process(Editor(answer), *command, env=environment) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=folder, mcp_servers=[])
        answered = await agent.prompt(
            session_id=session.session_id, prompt=[acp.text_block("Add a line.")]
        )
        print(answered.stop_reason, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "agent":
        asyncio.run(acp.run_agent(ScriptedAgent()))
    else:
        asyncio.run(edit(sys.argv[2], sys.argv[3], sys.argv[4:]))
