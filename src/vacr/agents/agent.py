"""An agent, and the native bytes of its sessions.

Everything that names an agent lives in that agent's folder, as one object: an `Agent`. Attribution,
blame, capture and the viewer ask the object and never look at an agent's name. So an agent from
another package is treated like a built-in one.

    >>> from vacr.agents.agent import Agent, Source, SourcePart
    >>> class Parrot(Agent):
    ...     name = "parrot"
    ...     def recognises(self, sample):
    ...         return sum("squawk" in value for value in sample) / len(sample)
    >>> source = Source((SourcePart("cage.jsonl", b'{"squawk": "hello"}'),))
    >>> Parrot().recognises(source.main.sample())
    1.0
"""

from __future__ import annotations

import gc
import hashlib
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

from vacr.agents.documents import RepairedValue, UndecodableBytes, parse_json_documents
from vacr.agents.labels import (
    NO_RESULT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    has_own_text,
    infer_speaker,
    label_entries,
    parse_stated_outcome,
)
from vacr.agents.tool_calls import ToolCall, ToolEffect, has_failed
from vacr.record import get_prompt_text, list_message_texts

if TYPE_CHECKING:
    from vacr.agents.documents import SessionDatabase, SessionFolder
    from vacr.agents.file_tools import FileReport, RunShell, ShellOutput
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


@contextmanager
def pause_garbage_collector() -> Iterator[None]:
    """Pause the garbage collector while many values are made and none is released.

    It stays off if it was off before.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_JSON_START = re.compile(rb'\s*(?:\{\s*"|\[\s*[\[{"])')

ValueBatch = tuple[int, list[Any]]
"""The number of a line, and the values that begin there."""

# Below this, starting a thread costs as much as it saves.
_MIN_THREADED_HASH_BYTES = 1 << 19


class SourcePart:
    """One file of a source, or rows that take its place, named relative to the source.

    A thread computes the digest while the part is read: the hash function releases the lock.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Keep the name and the bytes; start to hash many bytes in a thread."""
        self.name = name
        self.data = data
        self._digest = ""
        self._hasher = (
            threading.Thread(target=self._hash, daemon=True)
            if len(data) >= _MIN_THREADED_HASH_BYTES
            else None
        )
        self._seen: list[ValueBatch] = []
        self._unseen: Iterator[ValueBatch] | None = None
        if self._hasher:
            self._hasher.start()

    def _hash(self) -> None:
        """Compute the SHA-256 of the bytes, in hex."""
        self._digest = hashlib.sha256(self.data).hexdigest()

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes as they were read, in hex."""
        if self._hasher:
            self._hasher.join()
        if not self._digest:
            self._hash()
        return self._digest

    def sample(self, size: int | None = None) -> list[Any]:
        """Return the first `size` JSON values, or all if it is None, without consuming them.

        Bytes that cannot be decoded are left out.
        """
        if self._unseen is None:
            self._unseen = parse_json_documents(self.data)
        values: list[Any] = []
        for _, batch in self._seen:
            values += batch
        if size is None or len(values) < size:
            with pause_garbage_collector():
                for number, batch in self._unseen:
                    self._seen.append((number, batch))
                    values += batch
                    if size is not None and len(values) >= size:
                        break
        values = [value for value in values if type(value) is not UndecodableBytes][:size]
        return [value.value if type(value) is RepairedValue else value for value in values]

    def damage(self) -> str:
        """Return why a file that begins like JSON has no JSON value, or an empty text.

        Call it after `sample` decoded the whole file.
        """
        values = [value for _, batch in self._seen for value in batch]
        is_damaged = all(isinstance(value, UndecodableBytes) for value in values)
        if not values or not is_damaged or not _JSON_START.match(self.data):
            return ""
        return str(values[0].reason)

    def documents(self) -> Iterator[ValueBatch]:
        """Yield batches of JSON values, each after a line number; the caller may change them.

        Bytes that are not JSON become an `UndecodableBytes` among the values. The values of earlier
        samples are not decoded again.
        """
        seen, unseen = self._seen, self._unseen or parse_json_documents(self.data)
        self._seen, self._unseen = [], None
        yield from seen
        yield from unseen


@dataclass(frozen=True)
class Source:
    """The parts of one conversation: the session first, then files that belong to it."""

    parts: tuple[SourcePart, ...]

    @property
    def main(self) -> SourcePart:
        """The part that holds the session, the first."""
        return self.parts[0]

    def manifest(self) -> list[dict[str, Any]]:
        """Return the name, size in bytes and SHA-256 of each part, sorted by name."""
        parts = (
            sorted(self.parts, key=lambda part: part.name) if len(self.parts) > 1 else self.parts
        )
        return [
            {"name": part.name, "size": len(part.data), "sha-256": part.sha256} for part in parts
        ]


@dataclass(frozen=True)
class SessionStore:
    """A folder of an agent, and where the sessions lie in it."""

    sessions: tuple[str, ...]
    """Patterns of the files or databases, from the folder."""
    default: str
    """The folder that the variable replaces; `~` is the user's home, `.` the current folder.

    If it is empty, the store exists only where the variable is set.
    """
    variable: str = ""
    """The agent's environment variable that names another folder."""
    under: str = ""
    """The rest of the path, below that folder."""
    systems: dict[str, str] = field(default_factory=dict)
    """Other defaults by operating system, as `sys.platform` names them."""
    variables: dict[str, str] = field(default_factory=dict)
    """Other variables by operating system."""
    within: SessionStore | None = None
    """The store whose folder a relative value of the variable starts from."""
    unless: str = ""
    """A variable; if it is set, the sessions are not in this store."""


@dataclass(frozen=True)
class EncryptedStore:
    """A store whose sessions only their program can read."""

    program: str
    """The program, as people call it."""
    store: SessionStore


@dataclass(frozen=True, slots=True)
class ShellBehaviour:
    """How the shell of an agent behaves between calls."""

    keeps_folder: bool = False
    """Whether a `cd` lasts until the next call."""
    reports_folder: bool = False
    """Whether entries state the folder that the shell is in."""
    lenient_commands: frozenset[str] = frozenset()
    """Commands whose exit code the agent does not report as an error."""
    reset_message: str | None = None
    """The agent's message when it resets the shell to the session's folder."""
    powershell_tools: frozenset[str] = frozenset(["PowerShell", "powershell"])
    """Tools whose scripts are written in PowerShell."""


@dataclass(frozen=True, slots=True)
class CacheWrites:
    """The tokens of a call that were written to a cache, for minutes or for an hour."""

    short: int = 0
    long: int = 0


NO_CACHE_WRITES = CacheWrites()


@dataclass(frozen=True)
class HookLayout:
    """The layout of hooks in an agent's settings."""

    nested: bool = True
    """Whether an event has groups of hooks instead of hooks."""
    handler: tuple[tuple[str, Any], ...] = ()
    """Members of a hook in addition to its command."""
    opening: tuple[tuple[str, Any], ...] = ()
    """Members that the file needs in addition to the hooks."""

    def entry(self, command: str) -> dict[str, Any]:
        """Return the entry that runs a command for an event: a group with one hook, or the hook."""
        first = {"type": "command"} if self.nested else {}
        handler = {**first, "command": command, **dict(self.handler)}
        return {"hooks": [handler]} if self.nested else handler


@dataclass(frozen=True)
class AgentSettingsFile:
    """A settings file of an agent: for the user, for a project, or for both together."""

    base: str
    """The folder that `variable` may replace; `~` is the user's home."""
    under: str
    """The folder of its settings, relative to `base`."""
    file: str
    """The settings file in that folder."""
    project: str
    """The settings file for a project, relative to the project's folder."""
    programs: tuple[str, ...]
    """The commands that start the agent."""
    variable: str = ""
    """The environment variable that replaces `base`."""
    local: str = ""
    """The settings file for one project and user."""
    notice: str = ""
    """The next step for the user."""


@dataclass(frozen=True)
class HookSettings(AgentSettingsFile):
    """The settings file for hooks, the events of the agent, and the answers it expects."""

    layout: HookLayout | None = None
    """The layout of hooks in the file, or None if the file is a plugin."""
    plugin: str = ""
    """The text of the plugin; `$command` stands for the command as a JSON array."""
    events: tuple[str, ...] = ()
    newer_events: tuple[str, ...] = ()
    """Events for versions from `tolerant_version` on: older ones refuse unknown events."""
    tolerant_version: tuple[int, int, int] = (0, 0, 0)
    answer: str = ""
    """The answer that the agent expects."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Event → the answer, if it differs."""


@dataclass(frozen=True)
class McpSettings(AgentSettingsFile):
    """The settings file that names MCP servers, and the form of a server in it."""

    other_files: tuple[str, ...] = ()
    """Further names of the user's file; the first that exists counts."""
    members: tuple[str, ...] = ("mcpServers",)
    """The names of the objects, from the outside in, that contain the servers."""
    first: tuple[tuple[str, Any], ...] = ()
    """Members of a server before its command."""
    last: tuple[tuple[str, Any], ...] = ()
    """Members of a server after its command."""
    joins_arguments: bool = False
    """Whether `command` is the list of all words, instead of the program before `args`."""
    is_toml: bool = False
    """Whether the file is TOML instead of JSON."""

    def entry(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the entry of a server that a command starts."""
        command: dict[str, Any] = {"command": words[0], "args": [*words[1:]]}
        if self.joins_arguments:
            command = {"command": [*words]}
        return {**dict(self.first), **command, **dict(self.last)}


@dataclass(frozen=True)
class Retention:
    """How long an agent keeps unused sessions; its settings file for hooks can change it."""

    days: float
    """After how many days it deletes a session by default."""
    setting: tuple[str, ...]
    """The member of its settings with another time: a number of days, or a text such as `4w`."""
    switch: tuple[str, ...] = ()
    """The member that has to be true; without it, the agent deletes nothing."""


@cache
def load_function(module: str, name: str) -> Callable[..., Any]:
    """Import a function of a module when it is first needed.

    An import statement in a method that runs for every entry would take longer than the method.
    """
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


class Agent:
    """Everything vacr knows about one agent.

    A new agent derives from this class and states at least its `name`, its `formats`, and how to
    recognise and read its sessions. Each further member teaches vacr one more thing; the defaults
    are safe assumptions about an unknown agent.
    """

    name: str = ""
    """The name of the agent, as `--agent` and the record's `cli-name` have it."""
    title: str = ""
    """The name as people write it; if it is empty, `name` is shown."""
    short_name: str = ""
    """The name that other tools use for the agent, where it is shorter."""
    formats: Sequence[str] = ()
    """The trace formats that it reads."""
    is_relay: bool = False
    """Whether its sessions were recorded on the way to an editor; the agent may keep them, too."""

    separate_call_formats: Sequence[str] = ()
    """The formats that also store calls or reasoning outside the content of a message.

    In their records, further children may follow the children that repeat the content.
    """
    # --- reading ---

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample of native values that is this agent's, from 0 to 1.

        A file that is not JSON is one value: its text. vacr never asks about an empty sample; the
        agents of vacr return 0 for it.
        """
        del sample
        return 0.0

    def unread_form(self, sample: Sequence[Any]) -> str:
        """Return what a sample of an older form is that vacr does not read, for an error message.

        By default it is empty: no such form is known.
        """
        del sample
        return ""

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source, without labels.

        `read_labelled` adds the labels.

        Raises:
            NotImplementedError: in this class; each agent overrides the method.
        """
        raise NotImplementedError

    def read_labelled(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source, with the labels of `labels`."""
        for reading in self.read(source):
            label_entries(self, cast("dict[str, Any]", reading.record))
            yield reading

    # --- labels ---

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, the host, a parent agent or a hook.

        By default it is inferred from the session: the parent agent where there is one, unknown in
        an autonomous session, and a person otherwise.
        """
        del entry
        return infer_speaker(record)

    def has_own_text(self, entry: dict[str, Any]) -> bool:
        """Return whether somebody wrote a user message, so that it has a speaker.

        By default it has text, or blocks other than tool results.
        """
        return has_own_text(entry)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a tool call ended, by the evidence that the session has.

        By default the flag `is-error` decides, then the word in `status`. Without either, the
        outcome is unknown.
        """
        return parse_stated_outcome(result.entry)

    def task_notice(self, entry: dict[str, Any]) -> Outcome:
        """Return how a background task ended, if an entry is the host's notice of its end.

        `saw_end` of the outcome names the task. By default no entry is a notice, and the outcome is
        unknown.
        """
        del entry
        return UNKNOWN_OUTCOME

    def missing_result(self, call: dict[str, Any], message: dict[str, Any]) -> str:
        """Return why a call has no result: `denied` if the agent states that, else `no-result`.

        `message` is the entry that the call is a child of, or the call itself.
        """
        del call, message
        return NO_RESULT

    def expects_results(self, record: dict[str, Any]) -> bool:
        """Return whether a session holds the results of its calls, so that none may be missing.

        By default `records_results` decides.
        """
        del record
        return self.records_results

    # --- where sessions lie ---

    stores: Sequence[SessionStore] = ()
    encrypted: Sequence[EncryptedStore] = ()
    """Stores that are listed as unreadable."""
    attached: Sequence[str] = ()
    """Patterns of files that belong to a session, from its folder.

    `{stem}` is its name without the last ending, and `{name}` without all endings.
    """
    described_by: str = ""
    """The attached file with the facts that a list of sessions shows, as one of these patterns."""
    parent_note: str = ""
    """Pattern of the file in which a parent names a session as its sub-agent; empty for none.

    It starts above the session's folder, whose name is `{folder}`. vacr looks for such files if
    `sub_agent_sign` is in the file of `described_by`.
    """
    sub_agent_sign: bytes = b""
    """A text in the file of `described_by` that only the sessions of sub-agents have."""
    sub_sessions: Sequence[str] = ()
    """Patterns of the files of sub-agents; `{session}` is the id of the session."""
    map_suffix: str = ""
    """The ending of the attached file that names the members of a session; empty for none."""
    part_name: re.Pattern[str] | None = None
    """The part of a path that names a file, where the file name alone is ambiguous."""
    databases: Sequence[SessionDatabase] = ()
    """The layouts of the agent's databases, one for each format."""
    folder: SessionFolder | None = None
    """The layout of a folder that has several files for each session; None without one."""

    def belongs_to_session(self, value: Any, sessions: Collection[Any]) -> bool | None:
        """Return whether a sub-agent's value names one of the sessions; None if it names none.

        vacr asks about a file of `sub_sessions` next to the session's own file, where files of
        other sessions lie, too. By default it is None, and no such file counts.
        """
        del value, sessions
        return None

    # --- files ---

    tools: ClassVar[Mapping[str, ToolEffect]] = {}
    """Tool → its effect on files."""
    tool_commands: ClassVar[Mapping[str, Mapping[str, ToolEffect]]] = {}
    """Tool whose argument `command` decides → the effects of its commands."""
    json_outputs: bool = False
    """Whether the results of tools are JSON texts around the words that a tool wrote."""
    checks_files: bool = False
    """Whether the host refuses to change a file that changed since the host last showed it."""
    reports_changes: bool = False
    """Whether the host keeps the text of files, and reports how others changed them."""
    records_results: bool = True
    """Whether sessions hold the results of calls."""
    shell: ShellBehaviour = ShellBehaviour()

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a call's tool on files, or `None` if vacr does not know the tool.

        Override it where an argument other than `command` decides.
        """
        commands = self.tool_commands.get(call.name)
        if commands is None:
            return self.tools.get(call.name)
        command = call.input.get("command") if isinstance(call.input, dict) else None
        return commands.get(command) if type(command) is str else None

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes and observations of files by a call, from its arguments and result."""
        from vacr.agents.file_tools import derive_file_actions

        return derive_file_actions(self, call)

    def observations(self, entry: dict[str, Any]) -> Iterable[FileAction]:
        """Yield the observations of files in an entry that is not a call; by default none."""
        del entry
        return ()

    def file_report(self, call: ToolCall) -> FileReport:
        """Return the host's report about the file of a call; by default it states nothing."""
        from vacr.agents.file_tools import FileReport

        del call
        return FileReport()

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks that the host recorded; `spelled` are the lines as the call has them.

        By default the list is empty.
        """
        del call, spelled
        return []

    def hunk_readings(self, call: ToolCall) -> list[list[Hunk]]:
        """Return the ways to read the host's hunks, where known lines must decide between them.

        By default the list is empty.
        """
        del call
        return []

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the part of a file that a call showed, or None if it shows numbered lines.

        By default it is None.
        """
        del call, path
        return None

    def patch_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes that a call of a patch tool made."""
        from vacr.agents.file_tools import get_patch_text, parse_patch_actions

        text = get_patch_text(call.input)
        return () if text is None else parse_patch_actions(text)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.file_tools import parse_search_results

        return parse_search_results(call)

    def shell_run(self, call: ToolCall) -> RunShell | None:
        """Return the script that a shell call ran, with its result; `None` without a script."""
        from vacr.agents.file_tools import build_shell_run

        return build_shell_run(self, call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a shell call, without the agent's additions."""
        from vacr.agents.file_tools import parse_plain_output

        return parse_plain_output(call)

    # --- the session around the calls ---

    def project_folder(self, record: dict[str, Any]) -> str:
        """Return the folder that a session worked in, or an empty text where it is unknown."""
        return str(record["session"].get("environment", {}).get("working-dir") or "")

    def project_of_store_folder(self, folder: str) -> str:
        """Return the project that the name of a folder with sessions stands for, or empty."""
        return folder

    def model_of(self, entry: dict[str, Any]) -> str | None:
        """Return the model that an entry names for itself and the entries after it, or `None`."""
        model = entry.get("model-id")
        return model if isinstance(model, str) else None

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the model's provider that an entry names, or `None`."""
        del entry
        return None

    def cache_writes(self, entry: dict[str, Any]) -> CacheWrites:
        """Return the tokens that an entry's call wrote to a cache; the provider charges extra.

        By default, all counts are 0.
        """
        del entry
        return NO_CACHE_WRITES

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of a whole session in dollars, or None if the agent states none.

        Costs of single calls are in their `token-usage`.
        """
        del record
        return None

    def folder_of(self, entry: dict[str, Any]) -> str | None:
        """Return the working folder that an entry states for the entries after it, or `None`."""
        del entry
        return None

    chain_members: Sequence[Sequence[str]] = ()
    """The members of an entry that may name its sub-agent, each as a path of names."""

    def chain_of(self, entry: dict[str, Any]) -> str:
        """Return the sub-agent whose entry this is, or an empty text.

        By default the first text in `chain_members` names it.
        """
        for path in self.chain_members:
            value: Any = entry
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, str) and value:
                return value
        return ""

    def call_reports(self, entries: Sequence[Any]) -> CallReports:
        """Return the reports about calls in entries other than their results; by default none."""
        del entries
        return CallReports()

    def has_failed(self, call: ToolCall, result: dict[str, Any], report: dict[str, Any]) -> bool:
        """Return whether a call failed or was refused, by its result and a separate report."""
        del call
        return has_failed(result, report)

    def is_user_modified(self, call: ToolCall) -> bool:
        """Return whether the user changed the agent's proposal before it was applied."""
        del call
        return False

    def prompt_text(self, entry: dict[str, Any]) -> str:
        """Return the text that a person wrote in an entry, without the host's additions.

        Return an empty text if no person wrote in it.
        """
        return get_prompt_text(entry)

    def shown_text(self, entry: dict[str, Any]) -> str:
        """Return all text that a message or a host event shows to the model; empty without any.

        Calls, their results, and the model's own messages are not meant.
        """
        return "\n".join(list_message_texts(entry)) if entry.get("type") == "user" else ""

    def is_summary(self, entry: dict[str, Any]) -> bool:
        """Return whether an entry sums up an earlier session that this one continues."""
        del entry
        return False

    def restarts_shell(self, entry: dict[str, Any]) -> bool:
        """Return whether the shell is back in the session's folder after an entry."""
        del entry
        return False

    def pull_request_url(self, entry: dict[str, Any]) -> str | None:
        """Return the address of a pull request that an entry ties to the session, or `None`."""
        del entry
        return None

    # --- capture ---

    hooks: HookSettings | None = None
    """The settings that make the agent run vacr's hook while it works."""
    mcp: McpSettings | None = None
    """The settings that name the agent's MCP servers."""
    retention: Retention | None = None
    """When the agent deletes old sessions; None if it keeps them."""


class CallReports:
    """Reports about calls outside their results; the default reports nothing."""

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the members reported about a call; empty without a report."""
        del call_id, result
        return {}

    def implied_call(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return an entry's report of a change that no call of the session asked for, or `None`."""
        del entry
        return None
