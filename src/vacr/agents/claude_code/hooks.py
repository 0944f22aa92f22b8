"""Claude Code's hooks."""

from vacr.agents.hook_settings import HookLayout, HookSettings

# Left out: hooks at WorktreeCreate and WorktreeRemove replace the action, and a hook at
# MessageDisplay delays every piece of an answer.
HOOKS = HookSettings(
    base="~/.claude",
    under="",
    file="settings.json",
    project=".claude/settings.json",
    programs=("claude",),
    variable="CLAUDE_CONFIG_DIR",
    local=".claude/settings.local.json",
    layout=HookLayout(handler=(("timeout", 10),)),
    events=(
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Notification",
        "Stop",
        "SubagentStop",
        "PreCompact",
    ),
    newer_events=(
        "PostToolUseFailure",
        "PostToolBatch",
        "UserPromptExpansion",
        "StopFailure",
        "SubagentStart",
        "PostCompact",
        "PermissionRequest",
        "PermissionDenied",
        "Setup",
        "TeammateIdle",
        "TaskCreated",
        "TaskCompleted",
        "Elicitation",
        "ElicitationResult",
        "ConfigChange",
        "InstructionsLoaded",
        "CwdChanged",
    ),
    # Older versions ignore the whole settings file if it has an unknown event.
    tolerant_version=(2, 1, 101),
)
