"""Gemini CLI's hooks."""

from vacr.agents.hook_settings import HookLayout, HookSettings

# Left out: BeforeModel has the whole history each time, and AfterModel every piece of an answer;
# the transcript has both.
HOOKS = HookSettings(
    base="~",
    under=".gemini",
    file="settings.json",
    project=".gemini/settings.json",
    programs=("gemini",),
    variable="GEMINI_CLI_HOME",
    layout=HookLayout(handler=(("name", "vacr"), ("timeout", 10_000))),
    events=(
        "SessionStart",
        "SessionEnd",
        "BeforeAgent",
        "AfterAgent",
        "BeforeTool",
        "AfterTool",
        "PreCompress",
        "Notification",
    ),
)
