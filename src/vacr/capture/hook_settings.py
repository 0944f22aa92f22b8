"""Hooks in the settings of agents: the command, the settings files, and the events.

An agent runs a command of ours at each event. Most agents list such commands in a JSON settings
file; OpenCode loads a plugin instead, which runs the command. This module knows for each agent
which file, which events, and which answer its protocol expects, and edits the text of the file.
Events that ask a hook for a decision are left out if silence or an empty answer would be one.

>>> from vacr.capture.hook_settings import HookLayout, add_hooks, remove_hooks
>>> command = "python vacr/capture/hook.py some-agent"
>>> print(add_hooks("{}", HookLayout(nested=False), {"Stop": command}), end="")
{
  "hooks": {
    "Stop": [
      {
        "command": "python vacr/capture/hook.py some-agent"
      }
    ]
  }
}
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from vacr.capture.jsonc import (
    JsonMember,
    JsonNode,
    add_json_member,
    parse_jsonc,
    remove_json_member,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_home_folder

HOOK_SCRIPT_MARK = "vacr/capture/hook.py"
"""A part of every command of ours, in all versions and installations of vacr."""
HOOK_SCRIPT = str(Path(__file__).with_name("hook.py").resolve())


def build_hook_command(agent: str, answer: str = "") -> str:
    """Return the shell command for an agent; some agents expect an answer, in JSON.

    If Python or vacr is removed, the command still succeeds silently. Otherwise the exit code of a
    missing script, 2, would make agents stop, and some would show its error to the user.
    """
    run = f"{shlex.join([sys.executable, '-I', '-S', HOOK_SCRIPT, agent])} 2>/dev/null"
    return f"{run}; echo {shlex.quote(answer)}" if answer else f"{run} || true"


def is_vacr_command(command: Any) -> bool:
    """Return whether a command is one of ours."""
    return isinstance(command, str) and HOOK_SCRIPT_MARK in command.replace("\\", "/")


def find_missing_file(command: str) -> str:
    """Return the first file that a command needs and that does not exist, or an empty string."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    needed = words[:1] + [word for word in words if word.endswith(HOOK_SCRIPT_MARK)][:1]
    return next((path for path in needed if not Path(path).exists()), "")


_UNCHANGED_HINT = "Nothing was changed. Correct it, and run this again."


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
        """Return the entry for an event."""
        first = {"type": "command"} if self.nested else {}
        handler = {**first, "command": command, **dict(self.handler)}
        return {"hooks": [handler]} if self.nested else handler


def list_hook_commands(text: str) -> dict[str, list[str]]:
    """Return our commands, by event.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    found: dict[str, list[str]] = {}
    for event, _, handlers in _find_vacr_hooks(_parse_settings(text)):
        found.setdefault(event.name, []).extend(one.value.value["command"] for one in handlers)
    return found


def add_hooks(text: str, layout: HookLayout, wanted: dict[str, str]) -> str:
    """Return the text with one hook of ours for each event; unchanged if it is so already.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    if list_hook_commands(text) == {event: [command] for event, command in wanted.items()}:
        return text
    text = remove_hooks(text) if text.strip() else "{}\n"
    for name, value in layout.opening:
        root = _parse_settings(text)
        if root.get(name) is None:
            text = add_json_member(text, root, value, name)
    if _parse_settings(text).get("hooks") is None:
        text = add_json_member(text, _parse_settings(text), {}, "hooks")
    for event, command in wanted.items():
        hooks = _get_hooks_node(_parse_settings(text))
        there = hooks.get(event) if hooks else None
        if there is not None:
            text = add_json_member(text, there, layout.entry(command))
        elif hooks is not None:
            text = add_json_member(text, hooks, [layout.entry(command)], event)
    return text


def remove_hooks(text: str) -> str:
    """Return the text without our hooks, and without lists and objects that they leave empty.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    while True:
        root = _parse_settings(text)
        first = next(_find_vacr_hooks(root), None)
        if first is None:
            return text
        text = _remove_hook_container(text, root, *first)


def format_settings(text: str) -> str:
    """Return settings with every value on a line of its own and without comments, for display.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    return (
        json.dumps(parse_jsonc(text).value, ensure_ascii=False, indent=2) + "\n"
        if text.strip()
        else ""
    )


def is_empty_settings(text: str, layout: HookLayout) -> bool:
    """Return whether a file has nothing but the members that every file needs."""
    return bool(parse_jsonc(text).value in ({}, dict(layout.opening)))


def _remove_hook_container(
    text: str,
    root: JsonNode,
    event: JsonMember,
    group: JsonMember | None,
    handlers: list[JsonMember],
) -> str:
    """Remove the outermost list or object that has nothing but hooks of ours."""
    hooks = next(one for one in reversed(root.members or []) if one.name == "hooks")
    handler = handlers[0]
    held = group.value.get("hooks") if group else event.value
    if held is None or len(held.items or ()) > 1:
        return remove_json_member(text, held or event.value, handler)
    if group is not None and len(event.value.items or ()) > 1:
        return remove_json_member(text, event.value, group)
    if len(hooks.value.members or ()) > 1:
        return remove_json_member(text, hooks.value, event)
    return remove_json_member(text, root, hooks)


def _find_vacr_hooks(
    root: JsonNode,
) -> Iterator[tuple[JsonMember, JsonMember | None, list[JsonMember]]]:
    """Yield the events with hooks of ours: the event, the group if any, and our hooks."""
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        for item in event.value.items or ():
            if _is_vacr_hook(item):
                yield event, None, [item]
            inner = item.value.get("hooks")
            handlers = [one for one in (inner.items or ()) if _is_vacr_hook(one)] if inner else []
            if handlers:
                yield event, item, handlers


def _is_vacr_hook(item: JsonMember) -> bool:
    command = item.value.get("command")
    return command is not None and is_vacr_command(command.scalar)


def _parse_settings(text: str) -> JsonNode:
    root = parse_jsonc(text if text.strip("\ufeff \t\r\n") else "{}")
    if root.members is None:
        raise UnreadableInput("it is no JSON object", hint=_UNCHANGED_HINT)
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        if event.value.items is None:
            raise UnreadableInput(f"hooks.{event.name} is no list", hint=_UNCHANGED_HINT)
    return root


def _get_hooks_node(root: JsonNode) -> JsonNode | None:
    hooks = root.get("hooks")
    if hooks is not None and hooks.members is None:
        raise UnreadableInput("hooks is no object", hint=_UNCHANGED_HINT)
    return hooks


USER_SCOPE, PROJECT_SCOPE, LOCAL_SCOPE = "user", "project", "local"

_VERSION_TIMEOUT = 20
_CLAUDE_TOLERANT_VERSION = (2, 1, 101)
"""Older versions of Claude Code ignore the whole settings file if it has an unknown event."""
_CLAUDE_EVENTS: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
)
_CLAUDE_EVENTS += ("Notification", "Stop", "SubagentStop", "PreCompact")
# Left out: hooks at WorktreeCreate and WorktreeRemove replace the action, and a hook at
# MessageDisplay delays every piece of an answer.
_CLAUDE_NEWER_EVENTS: tuple[str, ...] = (
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptExpansion",
    "StopFailure",
    "SubagentStart",
    "PostCompact",
)
_CLAUDE_NEWER_EVENTS += (
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
)
_CLAUDE_NEWER_EVENTS += (
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
)
_CODEX_EVENTS: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
)
_CODEX_EVENTS += ("PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt")
# Left out: BeforeModel has the whole history each time, and AfterModel every piece of an answer;
# the transcript has both.
_GEMINI_EVENTS: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
    "Notification",
)
# Left out: preToolUse, subagentStart and other events named before… ask for a permission, and
# granting it would be a decision.
_CURSOR_EVENTS: tuple[str, ...] = (
    "sessionStart",
    "sessionEnd",
    "beforeSubmitPrompt",
    "postToolUse",
    "postToolUseFailure",
    "subagentStop",
)
_CURSOR_EVENTS += (
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
)
_CURSOR_EVENTS += ("preCompact", "stop", "afterTabFileEdit")


@dataclass(frozen=True)
class AgentHooks:
    """An agent, and its hooks."""

    name: str
    base: str
    """The folder that its variable may replace; `~` is the user's home."""
    under: str
    """The folder of its settings, relative to `base`."""
    file: str
    """The settings file in that folder."""
    project: str
    """The settings file for a project, relative to the project's folder."""
    programs: tuple[str, ...]
    variable: str = ""
    """The environment variable that replaces `base`."""
    local: str = ""
    """The settings file for one project and user."""
    layout: HookLayout | None = None
    """The layout of hooks in the file, or None if the file is a plugin."""
    usual: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Events for versions that are new enough."""
    answer: str = ""
    """The answer that the agent expects."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Event → the answer, if it differs."""
    notice: str = ""
    """The next step for the user."""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return the folder of the user's settings."""
        named = environment.get(self.variable) if self.variable else None
        return (
            Path(named or self.base.replace("~", find_home_folder(environment) or "~", 1))
            / self.under
        )

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Return the settings file for a scope.

        Raises:
            UsageError: the agent has no such scope.
        """
        if scope == USER_SCOPE:
            return self.folder(environment) / self.file
        name = self.local if scope == LOCAL_SCOPE else self.project
        if not name:
            raise UsageError(
                f"{self.name} has no settings of this kind: --{scope}",
                hint="Leave it out, or give --project.",
            )
        return here / name

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the agent is installed on this machine."""
        path = environment.get("PATH")
        return self.folder(environment).is_dir() or any(
            shutil.which(name, path=path) for name in self.programs
        )

    def commands(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the command for each event that the agent knows."""
        events = self.usual + (
            self.more
            if self.more and _tolerates_unknown_events(self.programs[0], environment)
            else ()
        )
        return {
            event: build_hook_command(self.name, self.answers.get(event, self.answer))
            for event in events
        }


AGENT_HOOKS = {
    agent.name: agent
    for agent in (
        AgentHooks(
            "claude-code",
            "~/.claude",
            "",
            "settings.json",
            ".claude/settings.json",
            ("claude",),
            "CLAUDE_CONFIG_DIR",
            local=".claude/settings.local.json",
            layout=HookLayout(handler=(("timeout", 10),)),
            usual=_CLAUDE_EVENTS,
            more=_CLAUDE_NEWER_EVENTS,
        ),
        AgentHooks(
            "codex-cli",
            "~/.codex",
            "",
            "hooks.json",
            ".codex/hooks.json",
            ("codex",),
            "CODEX_HOME",
            # Codex warns about a longer timeout at the last events of every session.
            layout=HookLayout(handler=(("timeout", 3),)),
            usual=_CODEX_EVENTS,
            notice=(
                "Codex runs hooks only once they are trusted: type /hooks in Codex, and "
                "review them."
            ),
        ),
        AgentHooks(
            "gemini-cli",
            "~",
            ".gemini",
            "settings.json",
            ".gemini/settings.json",
            ("gemini",),
            "GEMINI_CLI_HOME",
            layout=HookLayout(handler=(("name", "vacr"), ("timeout", 10_000))),
            usual=_GEMINI_EVENTS,
        ),
        AgentHooks(
            "cursor",
            "~/.cursor",
            "",
            "hooks.json",
            ".cursor/hooks.json",
            ("cursor", "cursor-agent"),
            layout=HookLayout(nested=False, opening=(("version", 1),)),
            usual=_CURSOR_EVENTS,
            answer="{}",
            answers={"beforeSubmitPrompt": '{"continue":true}'},
        ),
        AgentHooks(
            "opencode",
            "~/.config",
            "opencode",
            "plugin/vacr.js",
            ".opencode/plugin/vacr.js",
            ("opencode",),
            "XDG_CONFIG_HOME",
            notice="OpenCode loads the plugin when it is started again.",
        ),
    )
}


def _tolerates_unknown_events(program: str, environment: Mapping[str, str]) -> bool:
    """Return whether the installed version ignores unknown events."""
    path = shutil.which(program, path=environment.get("PATH"))
    if path is None:
        return False
    try:
        output = subprocess.run(  # noqa: S603 - runs the agent itself
            [path, "--version"],
            capture_output=True,
            timeout=_VERSION_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
            env=dict(environment),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", output)
    return version is not None and tuple(map(int, version.groups())) >= _CLAUDE_TOLERANT_VERSION


_PLUGIN_TEMPLATE = Template("""\
// Written by `vacr hook install`; `vacr hook uninstall` removes it.
// It appends what happens in a session to the spool of vacr. It never changes what OpenCode does, and never waits.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = $command
const MOST_RUNNING = 4
const MOST_WAITING = 10000
const LAST_MS = 2000
const KEPT =
  /^(session\\.(created|deleted|idle|error|compacted)|message\\.(updated|removed)|message\\.part\\.(updated|removed)|permission\\..*|todo\\.updated|file\\.edited|command\\.executed)$$/

const waiting = []
let running = 0
let number = 0

function start(text) {
  running += 1
  let over = false
  const next = () => {
    if (over) return
    over = true
    running -= 1
    if (waiting.length) start(waiting.shift())
  }
  try {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "ignore", "ignore"], detached: true })
    child.on("error", next)
    child.on("exit", next)
    child.stdin.on("error", () => {})
    child.stdin.end(text)
    child.unref()
  } catch {
    next()
  }
}

function tell(session, type, data) {
  try {
    const text = JSON.stringify({ sessionID: session(), type, number: number++, time: Date.now(), data })
    if (running < MOST_RUNNING) start(text)
    else if (waiting.length < MOST_WAITING) waiting.push(text)
  } catch {}
}

// What still waits when OpenCode ends is told then, as much as there is time for.
process.on("exit", () => {
  const until = Date.now() + LAST_MS
  while (waiting.length && Date.now() < until) {
    try {
      spawnSync(COMMAND[0], COMMAND.slice(1), { input: waiting.shift(), stdio: ["pipe", "ignore", "ignore"], timeout: LAST_MS })
    } catch {}
  }
})

function sessionOf({ type, properties }) {
  const id = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID
  return id ?? (type.startsWith("session.") ? properties?.info?.id : undefined)
}

// What is still being written is told once it is done.
function isDone({ type, properties }) {
  const { info, part } = properties ?? {}
  if (type === "message.updated") return info?.role !== "assistant" || info?.time?.completed !== undefined
  if (type !== "message.part.updated") return true
  if (part?.type === "tool") return part.state?.status === "completed" || part.state?.status === "error"
  return (part?.type !== "text" && part?.type !== "reasoning") || part.time?.end !== undefined || part.time === undefined
}

export const VacrPlugin = async () => ({
  event: async ({ event }) => {
    try {
      if (KEPT.test(event.type) && isDone(event)) tell(() => sessionOf(event), event.type, event.properties)
    } catch {}
  },
  "chat.message": async (input, output) => tell(() => input.sessionID, "chat.message", { input, output }),
  "tool.execute.before": async (input, output) => tell(() => input.sessionID, "tool.execute.before", { input, output }),
  "tool.execute.after": async (input, output) => tell(() => input.sessionID, "tool.execute.after", { input, output }),
})
""")


def build_plugin_command() -> list[str]:
    """Return the command that the plugin runs, without a shell."""
    return [sys.executable, "-I", "-S", HOOK_SCRIPT, "opencode"]


def build_plugin_text() -> str:
    """Return the text of the plugin."""
    return _PLUGIN_TEMPLATE.substitute(
        command=json.dumps(build_plugin_command(), ensure_ascii=False)
    )


def parse_plugin_command(text: str) -> list[str]:
    """Return the command that a plugin of ours runs, or an empty list if the text is empty.

    Raises:
        UnreadableInput: the file is another plugin.
    """
    if not text.strip():
        return []
    for line in text.splitlines():
        if line.startswith("const COMMAND = ") and HOOK_SCRIPT_MARK in line.replace("\\\\", "/"):
            try:
                return [str(word) for word in json.loads(line.partition("= ")[2])]
            except (ValueError, TypeError):
                break
    raise UnreadableInput(
        "it is no plugin of vacr's", hint="Give it another name, and run this again."
    )
