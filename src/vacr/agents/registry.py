"""The agents that vacr knows, and which of them wrote a source.

Built-in agents have a folder in this package; other packages add theirs under the entry point group
`vacr.agents`, as an `Agent` or a class of one. A source is recognised by its content, never by its
name.

    >>> from vacr.agents.agent import Source, SourcePart
    >>> from vacr.agents.registry import recognise_agent
    >>> data = open("examples/codex-cli.jsonl", "rb").read()
    >>> recognise_agent(Source((SourcePart("unnamed", data),))).name
    'codex-cli'
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import FunctionType
from typing import Any

from vacr.agents.agent import Agent, CallReports, Source
from vacr.agents.lift import UNKNOWN
from vacr.agents.likely_formats import describe_likely_format
from vacr.agents.tool_calls import ToolCall, ToolEffect
from vacr.errors import NotASession, PluginError, UnreadableInput, UsageError, VacrError
from vacr.record import get_vacr_metadata

AGENT_ENTRY_POINT_GROUP = "vacr.agents"
_BUILT_IN_FOLDERS = {
    "claude-code": "claude_code",
    "codex-cli": "codex",
    "gemini-cli": "gemini",
    "cursor": "cursor",
    "opencode": "opencode",
    "pi": "pi",
    "openclaw": "openclaw",
    "qwen-code": "qwen",
    "iflow": "iflow",
    "traex": "traex",
    "kimi-code": "kimi_code",
    "kimi-cli": "kimi_cli",
    "acp": "acp",
    "crush": "crush",
    "goose": "goose",
    "gptme": "gptme",
    "hermes": "hermes",
    "vibe": "vibe",
    "zed": "zed",
    "aider": "aider",
    "swe-agent": "swe_agent",
    "mini-swe-agent": "mini_swe_agent",
    "openhands": "openhands",
    "cline": "cline",
    "roo-code": "cline.roo_code",
    "continue": "continue_dev",
    "droid": "droid",
    "amp": "amp",
    "copilot": "copilot",
    "copilot-vscode": "copilot_vscode",
    "visualstudio-copilot": "visualstudio_copilot",
    "windsurf": "windsurf",
    "grok": "grok",
    "generic": "generic",
}
_ANY_PROGRAM = "generic"
_ANY_PROGRAM_FORMATS = frozenset(("generic-json", "generic-list", "generic-jsonl"))
"""Formats of `_ANY_PROGRAM`, whose records may name any program as the agent."""

_FIRST_SAMPLE_SIZE = 4
_LARGER_SAMPLE_SIZE = 16
_TEXT_SAMPLE_BYTES = 4096
_MIN_RECOGNISED_SHARE = 0.3
_RECORD_HINT = (
    "Check it with: vacr validate FILE. Other commands recognise a record by its ending, "
    ".acr.json or .acr.cbor."
)

_PLUGIN_HINT = "Report it to the author of the plugin, with the output of a run with VACR_DEBUG=1."


@cache
def load_agents() -> dict[str, Agent]:
    """Return all agents by name: the built-in ones, then agents from other packages.

    Raises:
        UnreadableInput: an agent of another package cannot be loaded, or its name is taken.
    """
    agents = {name: _load_built_in(name) for name in _BUILT_IN_FOLDERS}
    for point in sorted(entry_points(group=AGENT_ENTRY_POINT_GROUP), key=lambda point: point.name):
        try:
            loaded = point.load()
            agent: Agent = loaded() if isinstance(loaded, type) else loaded
            name = agent.name
            _guard_methods(agent, Agent, name)
        except Exception as error:
            raise _make_loading_error(point, str(error)) from error
        if name in agents:
            raise _make_loading_error(point, f"vacr already has an agent named {name!r}")
        agents[name] = agent
    return agents


def _make_loading_error(point: EntryPoint, reason: str) -> UnreadableInput:
    """Return the error about a plugin that cannot be loaded."""
    return UnreadableInput(
        f"the agent plugin {point.name!r} cannot be loaded: {reason}",
        hint=f"It is {point.value}; update or uninstall its package.",
    )


def _guard_methods(instance: Agent | CallReports, base: type, plugin: str) -> None:
    """Replace the methods that a plugin overrides, so that their failures name the plugin."""
    for name, default in vars(base).items():
        if name.startswith("_") or not isinstance(default, FunctionType):
            continue
        method = getattr(instance, name)
        if getattr(method, "__func__", None) is not default:
            setattr(instance, name, _guard_method(method, plugin, name))


def _guard_method(method: Callable[..., Any], plugin: str, name: str) -> Callable[..., Any]:
    """Return a method of a plugin whose failures become a PluginError."""

    @wraps(method)
    def call_method(*arguments: Any, **options: Any) -> Any:
        """Call the method; guard the iterator or the reports that it returns, too."""
        with _name_plugin(plugin, name):
            result = method(*arguments, **options)
        if isinstance(result, CallReports) and type(result) is not CallReports:
            _guard_methods(result, CallReports, plugin)
        return _guard_iterator(result, plugin, name) if isinstance(result, Iterator) else result

    return call_method


def _guard_iterator(values: Iterator[Any], plugin: str, name: str) -> Iterator[Any]:
    """Yield the values of a plugin's iterator; its failures become a PluginError."""
    with _name_plugin(plugin, name):
        yield from values


@contextmanager
def _name_plugin(plugin: str, method: str) -> Iterator[None]:
    """Turn a failure in a method of a plugin into an error that names both.

    Raises:
        PluginError: instead of any exception except errors of vacr and a lack of memory.
    """
    try:
        yield
    except (VacrError, MemoryError):
        raise
    except Exception as error:
        raise PluginError(
            f"the agent plugin {plugin!r} failed in {method}: {type(error).__name__}: {error}",
            hint=_PLUGIN_HINT,
        ) from error


@cache
def _load_built_in(name: str) -> Agent:
    """Import a built-in agent by its name."""
    agent: Agent = import_module(f"vacr.agents.{_BUILT_IN_FOLDERS[name]}").AGENT
    return agent


def find_record_agent(record: dict[str, Any]) -> Agent:
    """Return the agent that wrote a record's session.

    If that agent is not installed here, return an `Agent` with all defaults, whose tools are
    unknown.
    """
    return find_agent(_get_agent_name(record))


def find_missing_agent(record: dict[str, Any]) -> str:
    """Return the name of a record's agent if it is not installed here, or else an empty text."""
    name = _get_agent_name(record)
    return "" if name == UNKNOWN or find_agent(name).name else name


def _get_agent_name(record: dict[str, Any]) -> str:
    """Return the name of the agent that a record states, or an empty text.

    A format that any program may write has an agent of its own, whatever the program is called.
    """
    stated = str(record["session"].get("agent-meta", {}).get("cli-name", ""))
    return find_required_agent(record) or stated


def find_required_agent(record: dict[str, Any]) -> str | None:
    """Return the agent to name with `--agent`, if a record's session is not recognised by itself.

    Return None for all other sessions.
    """
    is_any_program = get_native_format(record) in _ANY_PROGRAM_FORMATS
    return _ANY_PROGRAM if is_any_program else None


def get_native_format(record: dict[str, Any]) -> str | None:
    """Return the format id of the session that a record was made from, if the record states it."""
    source = get_vacr_metadata(record).get("source")
    native_format = source.get("format") if type(source) is dict else None
    return native_format if type(native_format) is str else None


def find_agent(name: str) -> Agent:
    """Return the agent of this name, or the unknown agent: an `Agent` with all defaults."""
    if name in _BUILT_IN_FOLDERS:
        return _load_built_in(name)
    return load_agents().get(name) or Agent()


def find_tool_effect(agent: str, tool: str, arguments: Any) -> ToolEffect | None:
    """Return the effect on files of an agent's tool, when called with these arguments.

    Return `None` if vacr does not know the tool.
    """
    return find_agent(agent).tool_effect(ToolCall(tool, arguments, "", "", "", ""))


def recognise_agent(source: Source, agent: str | None = None) -> Agent:
    """Return the agent that wrote a source, or the one of this name.

    With a name, the source is not examined.

    Raises:
        UsageError: no agent has this name.
        NotASession: the source is empty, or no agent recognises it.
        UnreadableInput: the source is damaged JSON, or UTF-16.
    """
    known = load_agents()
    if agent is not None:
        if agent not in known:
            raise UsageError(f"unknown agent {agent!r}", hint=f"Known agents: {', '.join(known)}.")
        return known[agent]
    where = source.main.name
    head = source.main.data[:_TEXT_SAMPLE_BYTES]
    if not head.strip() and not source.main.data.strip():
        raise NotASession("the file is empty", where=where, hint="To find sessions: vacr list -v")
    if b"\0" in head and head.lstrip()[:1] not in (b"{", b"["):
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            hint = (
                "Windows PowerShell writes UTF-16. Convert the file first: "
                "iconv -f UTF-16 -t UTF-8 FILE > NEW"
            )
            raise UnreadableInput(
                "the file is UTF-16, but sessions are UTF-8", where=where, hint=hint
            )
        hint = f"Supported agents: {', '.join(known)}. To find their sessions: vacr list -v"
        raise NotASession(
            "unrecognised session format: the file is not text", where=where, hint=hint
        )
    for sample, enough in _draw_samples(source):
        best, most = None, enough
        for candidate in known.values() if sample else ():
            score = candidate.recognises(sample)
            if score >= 1:
                return candidate
            if score > most or (best is None and score >= most):
                best, most = candidate, score
        if best is not None:
            return best
    if damage := source.main.damage():
        hint = "If you know the agent, add --agent NAME: the record then keeps the damaged bytes."
        raise UnreadableInput(f"the file is damaged: {damage}", where=where, hint=hint)
    sample = source.main.sample(1)
    if any(isinstance(value, dict) and {"version", "session"} <= value.keys() for value in sample):
        raise NotASession("already a record, not a native session", where=where, hint=_RECORD_HINT)
    raise _make_unrecognised_error(source, known)


def is_written_by(source: Source, agent: Agent) -> bool:
    """Return whether an agent wrote a source that lies in its own store.

    If the agent is certain of the first values, no other agent is asked.

    Raises:
        NotASession: the source is empty, or no agent recognises it.
        UnreadableInput: the source is damaged JSON, or UTF-16.
    """
    if source.main.data.lstrip()[:1] in (b"{", b"["):
        sample = source.main.sample(_FIRST_SAMPLE_SIZE)
        if sample and agent.recognises(sample) >= 1:
            return True
    return recognise_agent(source) is agent


def _make_unrecognised_error(source: Source, known: dict[str, Agent]) -> NotASession:
    """Return the error about a file of no known agent; it names a format that is likely."""
    where = source.main.name
    for agent in known.values():
        if form := agent.unread_form(source.main.sample(1)):
            hint = f"To keep the file in a record, unread: vacr record --agent {agent.name} FILE"
            return NotASession(f"{form}, which vacr does not read", where=where, hint=hint)
    likely = describe_likely_format(source.main.sample())
    if likely is None:
        hint = f"Supported agents: {', '.join(known)}. Add --agent NAME if one of them wrote it."
        return NotASession("unrecognised session format", where=where, hint=hint)
    others = ", ".join(name for name in known if name != _ANY_PROGRAM)
    hint = (
        f"If one of these agents wrote it, add --agent NAME: {others}. Else record it with: "
        f"vacr record --agent {_ANY_PROGRAM} FILE"
    )
    if likely.needs_map:
        hint += " --map map.toml (a map names the members: docs/how-to/any-program.md)"
    return NotASession(
        f"unrecognised session format; it looks like {likely.description}", where=where, hint=hint
    )


def _draw_samples(source: Source) -> Iterator[tuple[list[Any], float]]:
    """Yield samples of a source, each with the share of it that an agent must recognise.

    The first values nearly always suffice; then come more, then all of them, then the text. A file
    that does not begin like JSON may quote JSON, so its text comes first.
    """
    if source.main.data.lstrip()[:1] not in (b"{", b"["):
        yield [source.main.data[:_TEXT_SAMPLE_BYTES].decode("utf-8", "ignore")], 1.0
    yield source.main.sample(_FIRST_SAMPLE_SIZE), 1.0
    yield source.main.sample(_LARGER_SAMPLE_SIZE), _MIN_RECOGNISED_SHARE
    yield source.main.sample(), _MIN_RECOGNISED_SHARE
    yield [source.main.data[:_TEXT_SAMPLE_BYTES].decode("utf-8", "ignore")], _MIN_RECOGNISED_SHARE
