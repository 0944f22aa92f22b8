"""The command that an agent runs at an event, and how ours is told from others'.

Hooks in a settings file that is JSON: which entries are ours, how they come in and go out.

The agents that hooks can be installed for: which file, which events, and what their protocols
want as an answer.

An event that asks a hook for a decision is left out where silence, or an empty answer, would be
one.

The plugin that OpenCode loads, for its hooks are no commands: it runs ours at each event, and
waits for nothing.
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
"""What every command of ours has in it, wherever vacr is installed, and whichever version wrote it.
"""
HOOK_SCRIPT = str(Path(__file__).with_name("hook.py").resolve())


def build_hook_command(agent: str, answer: str = "") -> str:
    """Give the command of an agent, which a shell runs; some agents want an answer, in JSON.

    Once Python or vacr is gone from where it was, the command still succeeds and says nothing. A
    script that is not there would give exit code 2, by which agents are told to stop, and what is
    on standard error some show to the user.
    """
    run = f"{shlex.join([sys.executable, '-I', '-S', HOOK_SCRIPT, agent])} 2>/dev/null"
    return f"{run}; echo {shlex.quote(answer)}" if answer else f"{run} || true"


def is_vacr_command(command: Any) -> bool:
    """Tell whether a command is one of ours."""
    return isinstance(command, str) and HOOK_SCRIPT_MARK in command.replace("\\", "/")


def find_missing_file(command: str) -> str:
    """Name the file that a command of ours needs and that is not there, if there is one."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    needed = words[:1] + [word for word in words if word.endswith(HOOK_SCRIPT_MARK)][:1]
    return next((path for path in needed if not Path(path).exists()), "")


_UNCHANGED_HINT = "Nothing was changed. Correct it, and run this again."


@dataclass(frozen=True)
class HookLayout:
    """How an agent has hooks in its settings."""

    nested: bool = True
    """Whether an event has groups with hooks in them, rather than hooks."""
    handler: tuple[tuple[str, Any], ...] = ()
    """What a hook has beside its command."""
    opening: tuple[tuple[str, Any], ...] = ()
    """What the file has to have beside the hooks."""

    def entry(self, command: str) -> dict[str, Any]:
        """Make the entry of an event."""
        first = {"type": "command"} if self.nested else {}
        handler = {**first, "command": command, **dict(self.handler)}
        return {"hooks": [handler]} if self.nested else handler


def list_hook_commands(text: str) -> dict[str, list[str]]:
    """Give our commands by event.

    Raises:
        UnreadableInput: the text is not what an agent reads.
    """
    found: dict[str, list[str]] = {}
    for event, _, handlers in _find_vacr_hooks(_parse_settings(text)):
        found.setdefault(event.name, []).extend(one.value.value["command"] for one in handlers)
    return found


def add_hooks(text: str, layout: HookLayout, wanted: dict[str, str]) -> str:
    """Give the text with a hook for each event, and none of ours beside them; as it is where all is
    as wanted.

    Raises:
        UnreadableInput: the text is not what an agent reads.
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
    """Give the text without our hooks, and without what is empty only because they are gone.

    Raises:
        UnreadableInput: the text is not what an agent reads.
    """
    while True:
        root = _parse_settings(text)
        first = next(_find_vacr_hooks(root), None)
        if first is None:
            return text
        text = _remove_hook_container(text, root, *first)


def format_settings(text: str) -> str:
    """Write a settings file so that everything has a line of its own, to be shown; comments are
    not.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    return (
        json.dumps(parse_jsonc(text).value, ensure_ascii=False, indent=2) + "\n"
        if text.strip()
        else ""
    )


def is_empty_settings(text: str, layout: HookLayout) -> bool:
    """Tell whether a file has nothing but what an agent needs to have one."""
    return bool(parse_jsonc(text).value in ({}, dict(layout.opening)))


def _remove_hook_container(
    text: str,
    root: JsonNode,
    event: JsonMember,
    group: JsonMember | None,
    handlers: list[JsonMember],
) -> str:
    """Take out the outermost thing that holds nothing but hooks of ours."""
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
    """Give the events with hooks of ours: the event, the group if there are groups, and those
    hooks.
    """
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
"""Before this version Claude Code leaves the whole settings file unread that has an event which it
does not know.
"""
_CLAUDE_EVENTS: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
)
_CLAUDE_EVENTS += ("Notification", "Stop", "SubagentStop", "PreCompact")
# A hook at WorktreeCreate or WorktreeRemove replaces what is done; one at MessageDisplay delays
# every piece of an answer.
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
# BeforeModel has the whole history each time, AfterModel every piece of an answer; both are in the
# transcript.
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
# Cursor wants a permission from preToolUse, subagentStart and the other events named before…: to
# give one would be a decision.
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
    """An agent, and how its hooks are written."""

    name: str
    base: str
    """The folder that its variable may replace; `~` is the user's own."""
    under: str
    """The folder of its settings, from there."""
    file: str
    """The settings file in that folder."""
    project: str
    """The same for one project, from its folder."""
    programs: tuple[str, ...]
    variable: str = ""
    """The environment variable that names another folder than `base`."""
    local: str = ""
    """The file for one project and user."""
    layout: HookLayout | None = None
    """How the file has hooks; nothing: the file is a plugin."""
    usual: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Events that only a version which is new enough may be given."""
    answer: str = ""
    """What the agent wants to be printed."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """The same for events that want something else."""
    notice: str = ""
    """What is left for the user to do."""

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Give the folder of the user's settings."""
        named = environment.get(self.variable) if self.variable else None
        return (
            Path(named or self.base.replace("~", find_home_folder(environment) or "~", 1))
            / self.under
        )

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Give the file for a scope.

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
        """Tell whether the agent is on this machine."""
        path = environment.get("PATH")
        return self.folder(environment).is_dir() or any(
            shutil.which(name, path=path) for name in self.programs
        )

    def commands(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Give the command for each event that the agent knows."""
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
            # More is too much for the last events of a session, of which Codex would warn each
            # time.
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
    """Tell whether the version that is installed passes over events that it does not know."""
    path = shutil.which(program, path=environment.get("PATH"))
    if path is None:
        return False
    try:
        told = subprocess.run(  # noqa: S603 - the agent itself
            [path, "--version"],
            capture_output=True,
            timeout=_VERSION_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
            env=dict(environment),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", told)
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
    """Give the command that the plugin runs, without a shell."""
    return [sys.executable, "-I", "-S", HOOK_SCRIPT, "opencode"]


def build_plugin_text() -> str:
    """Give the text of the plugin."""
    return _PLUGIN_TEMPLATE.substitute(
        command=json.dumps(build_plugin_command(), ensure_ascii=False)
    )


def parse_plugin_command(text: str) -> list[str]:
    """Give the command that a plugin of ours runs; nothing where there is no plugin.

    Raises:
        UnreadableInput: the file is another's.
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
