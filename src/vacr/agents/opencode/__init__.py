"""OpenCode: exports, storage folders and databases.

`reader` turns them into records; `outcomes` and `speakers` label these; `stores` finds sessions in
a database or a folder; `tools` knows what its tools do to files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CacheWrites, McpSettings, Source, load_function
from vacr.agents.opencode import reader, speakers
from vacr.agents.opencode.hooks import HOOKS
from vacr.agents.tool_calls import ToolCall, ToolEffect, get_count

if TYPE_CHECKING:
    from vacr.agents.file_tools import FileReport, ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class OpenCode(Agent):
    """The open-source agent OpenCode."""

    name = reader.name
    title = "OpenCode"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    databases = reader.DATABASES
    hooks = HOOKS
    folder = reader.FOLDER
    checks_files = True
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "multiedit": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "apply_patch": ToolEffect.PATCH,
        "patch": ToolEffect.PATCH,
        "bash": ToolEffect.SHELL,
        "grep": ToolEffect.SEARCH,
        "glob": ToolEffect.NONE,
        "list": ToolEffect.NONE,
        "lsp": ToolEffect.NONE,
        "webfetch": ToolEffect.NONE,
        "question": ToolEffect.NONE,
        "todoread": ToolEffect.NONE,
        "todowrite": ToolEffect.NONE,
        "websearch": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is OpenCode's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, whether that is stated, and the person's part of it."""
        return speakers.classify_speaker(entry, record)

    def has_own_text(self, entry: dict[str, Any]) -> bool:
        """Return whether a user message has a text, a file, or a command that the user typed."""
        return super().has_own_text(entry) or speakers.has_typed_command(entry)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; unknown without evidence."""
        outcome: Outcome = load_function("vacr.agents.opencode.outcomes", "classify_outcome")(
            result
        )
        return outcome

    def prompt_text(self, entry: dict[str, Any]) -> str:
        """Return the text that a person wrote in an entry, or an empty text."""
        return speakers.get_person_text(entry)

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the report in the metadata about the file of a call."""
        from vacr.agents.opencode.tools import build_file_report

        return build_file_report(call)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the recorded diff; `spelled` restores its cut indentation."""
        from vacr.agents.opencode.tools import parse_recorded_hunks

        return parse_recorded_hunks(call, spelled)

    def patch_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes that a patch made, as recorded or else as requested."""
        from vacr.agents.opencode.tools import derive_patch_actions

        return derive_patch_actions(call)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.opencode.tools import parse_search_results

        results = parse_search_results(call)
        return super().search_results(call) if results is None else results

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and the exit code in its metadata, if any."""
        from vacr.agents.opencode.tools import parse_shell_output

        return parse_shell_output(call)

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the provider of the model that an entry names, or None."""
        provider = entry.get("providerID")
        return provider if isinstance(provider, str) else None

    def cache_writes(self, entry: dict[str, Any]) -> CacheWrites:
        """Return the tokens of a message that were written to the cache."""
        tokens = entry.get("tokens")
        cached = tokens.get("cache") if isinstance(tokens, dict) else None
        return CacheWrites(get_count(cached, "write") if isinstance(cached, dict) else 0)

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the working folder of a message, or None if it does not state one."""
        path = entry.get("path")
        folder = path.get("cwd") if isinstance(path, dict) else None
        return folder if isinstance(folder, str) else None

    # Version 2 also reads this form, which is that of version 1.
    mcp = McpSettings(
        base="~/.config",
        under="opencode",
        file="opencode.json",
        project="opencode.json",
        programs=("opencode",),
        variable="XDG_CONFIG_HOME",
        notice="Restart OpenCode to start the server.",
        other_files=("opencode.jsonc",),
        members=("mcp",),
        first=(("type", "local"),),
        last=(("enabled", True),),
        joins_arguments=True,
    )


AGENT = OpenCode()
