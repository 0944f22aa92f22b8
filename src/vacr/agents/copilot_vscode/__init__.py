"""VS Code Copilot Chat: the chat store of VS Code, exports of it, and the extension's thin log.

`vscode_chat` reads the store, `copilot_events` the log; `outcomes` labels calls; `tools` knows what
the tools do to files.

    >>> from vacr.agents.copilot_vscode import AGENT
    >>> AGENT.name, AGENT.tools["create_file"].name
    ('copilot-vscode', 'WRITE')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, SessionStore, ShellBehaviour, Source, load_function
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

_CHAT_PATTERNS = (
    "workspaceStorage/*/chatSessions/*.json",
    "workspaceStorage/*/chatSessions/*.jsonl",
    "workspaceStorage/*/GitHub.copilot-chat/transcripts/*.jsonl",
    "globalStorage/emptyWindowChatSessions/*.json",
    "globalStorage/emptyWindowChatSessions/*.jsonl",
    "globalStorage/transferredChatSessions/*.json",
    "globalStorage/transferredChatSessions/*.jsonl",
)
_PRODUCTS = ("Code", "Code - Insiders", "VSCodium")
EDIT_EFFECTS = (ToolEffect.WRITE, ToolEffect.REPLACE, ToolEffect.PATCH, ToolEffect.UNPLACED_EDIT)


class CopilotChat(Agent):
    """GitHub Copilot in VS Code and its forks."""

    name = "copilot-vscode"
    title = "VS Code Copilot Chat"
    formats = ("vscode-chat-json", "vscode-chat-jsonl", "vscode-copilot-jsonl")
    separate_call_formats = formats
    chain_members = (("data", "parentToolCallId"),)
    stores = (
        *(
            SessionStore(
                _CHAT_PATTERNS,
                "~/.config",
                "XDG_CONFIG_HOME",
                f"{product}/User",
                systems={"darwin": "~/Library/Application Support", "win32": "~/AppData/Roaming"},
                variables={"darwin": "", "win32": "APPDATA"},
            )
            for product in _PRODUCTS
        ),
        SessionStore(_CHAT_PATTERNS, "~/.vscode-server", "", "data/User"),
    )
    shell = ShellBehaviour(
        keeps_folder=True, powershell_tools=frozenset(["PowerShell", "powershell", "pwsh"])
    )
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "create_file": ToolEffect.WRITE,
        "replace_string_in_file": ToolEffect.REPLACE,
        "multi_replace_string_in_file": ToolEffect.REPLACE,
        "insert_edit_into_file": ToolEffect.UNPLACED_EDIT,
        "edit_notebook_file": ToolEffect.UNPLACED_EDIT,
        "apply_patch": ToolEffect.PATCH,
        "run_in_terminal": ToolEffect.SHELL,
        "copilot_createFile": ToolEffect.NONE,
        "copilot_replaceString": ToolEffect.NONE,
        "copilot_multiReplaceString": ToolEffect.NONE,
        "copilot_insertEdit": ToolEffect.NONE,
        "copilot_applyPatch": ToolEffect.NONE,
        "copilot_readFile": ToolEffect.NONE,
        "copilot_listDirectory": ToolEffect.NONE,
        "copilot_findFiles": ToolEffect.NONE,
        "copilot_findTextInFiles": ToolEffect.NONE,
        "copilot_searchCodebase": ToolEffect.NONE,
        "copilot_getErrors": ToolEffect.NONE,
        "create_directory": ToolEffect.NONE,
        "fetch_webpage": ToolEffect.NONE,
        "file_search": ToolEffect.NONE,
        "get_changed_files": ToolEffect.NONE,
        "get_errors": ToolEffect.NONE,
        "get_terminal_output": ToolEffect.NONE,
        "grep_search": ToolEffect.NONE,
        "list_dir": ToolEffect.NONE,
        "manage_todo_list": ToolEffect.NONE,
        "run_tests": ToolEffect.NONE,
        "runSubagent": ToolEffect.NONE,
        "search_subagent": ToolEffect.NONE,
        "semantic_search": ToolEffect.NONE,
        "terminal_last_command": ToolEffect.NONE,
        "think": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is the chat store's or the thin log's, from 0 to 1."""
        if not any(
            type(value) is dict and ("requests" in value or "parentId" in value or "kind" in value)
            for value in sample
        ):
            return 0.0
        share: float = load_function("vacr.agents.copilot_vscode.reader", "recognise")(sample)
        return share

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source, without labels."""
        from vacr.agents.copilot_vscode.reader import read

        return read(source)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown without evidence."""
        outcome: Outcome = load_function("vacr.agents.copilot_vscode.outcomes", "classify_outcome")(
            result
        )
        return outcome

    def expects_results(self, record: dict[str, Any]) -> bool:
        """Return whether a session holds the results of its calls: only the thin log always does.

        The store drops the results of older requests, and has no results of sub-agents.
        """
        return bool(record["vacr"]["source"]["format"] == "vscode-copilot-jsonl")

    # --- files ---

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; an edit counts only if the host confirms it."""
        from vacr.agents.copilot_vscode.tools import is_edit_confirmed, parse_replacements
        from vacr.agents.file_tools import derive_file_actions

        effect = self.tool_effect(call)
        if effect in EDIT_EFFECTS and call.state == CALL_DONE:
            if not is_edit_confirmed(call):
                return ()
            if call.name == "multi_replace_string_in_file":
                return parse_replacements(call)
        return derive_file_actions(self, call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction]:
        """Return the part of a file that a call showed."""
        from vacr.agents.copilot_vscode.tools import parse_shown_file

        return parse_shown_file(call, path)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.copilot_vscode.tools import parse_shell_output

        return parse_shell_output(call)


AGENT = CopilotChat()
