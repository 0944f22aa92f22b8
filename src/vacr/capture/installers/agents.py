"""The agents that hooks can be installed for: which file, which events, and what their protocols
want as an answer.

An event that asks a hook for a decision is left out where silence, or an empty answer, would be
one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vacr.capture.installers.command import command_for
from vacr.capture.installers.settings import Layout
from vacr.errors import UsageError
from vacr.sources.state import home_folder

USER, PROJECT, LOCAL = "user", "project", "local"

_PATIENCE = 20
_CLAUDE_TOLERANT = (2, 1, 101)
"""Before this version Claude Code leaves the whole settings file unread that has an event which it
does not know.
"""
_CLAUDE: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
)
_CLAUDE += ("Notification", "Stop", "SubagentStop", "PreCompact")
# A hook at WorktreeCreate or WorktreeRemove replaces what is done; one at MessageDisplay delays
# every piece of an answer.
_CLAUDE_MORE: tuple[str, ...] = (
    "PostToolUseFailure",
    "PostToolBatch",
    "UserPromptExpansion",
    "StopFailure",
    "SubagentStart",
    "PostCompact",
)
_CLAUDE_MORE += (
    "PermissionRequest",
    "PermissionDenied",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
)
_CLAUDE_MORE += (
    "Elicitation",
    "ElicitationResult",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
)
_CODEX: tuple[str, ...] = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
)
_CODEX += ("PreCompact", "PostCompact", "SubagentStart", "SubagentStop", "Stop", "Interrupt")
# BeforeModel has the whole history each time, AfterModel every piece of an answer; both are in the
# transcript.
_GEMINI: tuple[str, ...] = (
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
_CURSOR: tuple[str, ...] = (
    "sessionStart",
    "sessionEnd",
    "beforeSubmitPrompt",
    "postToolUse",
    "postToolUseFailure",
    "subagentStop",
)
_CURSOR += (
    "afterShellExecution",
    "afterMCPExecution",
    "afterFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
)
_CURSOR += ("preCompact", "stop", "afterTabFileEdit")


@dataclass(frozen=True)
class Agent:
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
    layout: Layout | None = None
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
            Path(named or self.base.replace("~", home_folder(environment) or "~", 1)) / self.under
        )

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Give the file for a scope.

        Raises:
            UsageError: the agent has no such scope.
        """
        if scope == USER:
            return self.folder(environment) / self.file
        name = self.local if scope == LOCAL else self.project
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
            self.more if self.more and _tolerates(self.programs[0], environment) else ()
        )
        return {
            event: command_for(self.name, self.answers.get(event, self.answer)) for event in events
        }


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "~/.claude",
            "",
            "settings.json",
            ".claude/settings.json",
            ("claude",),
            "CLAUDE_CONFIG_DIR",
            local=".claude/settings.local.json",
            layout=Layout(handler=(("timeout", 10),)),
            usual=_CLAUDE,
            more=_CLAUDE_MORE,
        ),
        Agent(
            "codex-cli",
            "~/.codex",
            "",
            "hooks.json",
            ".codex/hooks.json",
            ("codex",),
            "CODEX_HOME",
            # More is too much for the last events of a session, of which Codex would warn each
            # time.
            layout=Layout(handler=(("timeout", 3),)),
            usual=_CODEX,
            notice=(
                "Codex runs hooks only once they are trusted: type /hooks in Codex, and "
                "review them."
            ),
        ),
        Agent(
            "gemini-cli",
            "~",
            ".gemini",
            "settings.json",
            ".gemini/settings.json",
            ("gemini",),
            "GEMINI_CLI_HOME",
            layout=Layout(handler=(("name", "vacr"), ("timeout", 10_000))),
            usual=_GEMINI,
        ),
        Agent(
            "cursor",
            "~/.cursor",
            "",
            "hooks.json",
            ".cursor/hooks.json",
            ("cursor", "cursor-agent"),
            layout=Layout(nested=False, opening=(("version", 1),)),
            usual=_CURSOR,
            answer="{}",
            answers={"beforeSubmitPrompt": '{"continue":true}'},
        ),
        Agent(
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


def _tolerates(program: str, environment: Mapping[str, str]) -> bool:
    """Tell whether the version that is installed passes over events that it does not know."""
    path = shutil.which(program, path=environment.get("PATH"))
    if path is None:
        return False
    try:
        told = subprocess.run(  # noqa: S603 - the agent itself
            [path, "--version"],
            capture_output=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
            env=dict(environment),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", told)
    return version is not None and tuple(map(int, version.groups())) >= _CLAUDE_TOLERANT
