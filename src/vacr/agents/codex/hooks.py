"""Codex's hooks."""

from vacr.agents.hook_settings import HookLayout, HookSettings

HOOKS = HookSettings(
    base="~/.codex",
    under="",
    file="hooks.json",
    project=".codex/hooks.json",
    programs=("codex",),
    variable="CODEX_HOME",
    # Codex warns about a longer timeout at the last events of every session.
    layout=HookLayout(handler=(("timeout", 3),)),
    events=(
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PreCompact",
        "PostCompact",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "Interrupt",
    ),
    notice="Codex runs hooks only once they are trusted: type /hooks in Codex, and review them.",
)
