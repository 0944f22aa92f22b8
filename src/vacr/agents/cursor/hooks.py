"""Cursor's hooks."""

from vacr.agents.hook_settings import HookLayout, HookSettings

# Left out: preToolUse, subagentStart and other events named before… ask for a permission, and
# granting it would be a decision.
HOOKS = HookSettings(
    base="~/.cursor",
    under="",
    file="hooks.json",
    project=".cursor/hooks.json",
    programs=("cursor", "cursor-agent"),
    layout=HookLayout(nested=False, opening=(("version", 1),)),
    events=(
        "sessionStart",
        "sessionEnd",
        "beforeSubmitPrompt",
        "postToolUse",
        "postToolUseFailure",
        "subagentStop",
        "afterShellExecution",
        "afterMCPExecution",
        "afterFileEdit",
        "afterAgentResponse",
        "afterAgentThought",
        "preCompact",
        "stop",
        "afterTabFileEdit",
    ),
    answer="{}",
    answers={"beforeSubmitPrompt": '{"continue":true}'},
)
