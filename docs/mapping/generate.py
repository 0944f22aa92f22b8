"""Write docs/mapping/<agent>.md from the tables of the readers.

With --check, write nothing, and fail if a page is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages import (
    aider,
    amp,
    borrowed,
    claude,
    cline,
    codex,
    continue_dev,
    copilot,
    copilot_vscode,
    crush,
    cursor,
    droid,
    gemini,
    goose,
    gptme,
    grok,
    hermes,
    kimi,
    mini_swe_agent,
    opencode,
    openhands,
    pi,
    qwen,
    swe_agent,
    vibe,
    visualstudio_copilot,
    windsurf,
    zed,
)

FOLDER = Path(__file__).parent
PAGES = {
    "claude-code": claude.render_page,
    "codex-cli": codex.render_page,
    "gemini-cli": gemini.render_page,
    "opencode": opencode.render_page,
    "cursor": cursor.render_page,
    "pi": pi.render_page,
    "openclaw": pi.render_openclaw_page,
    "qwen-code": qwen.render_page,
    "iflow": borrowed.render_iflow_page,
    "traex": borrowed.render_traex_page,
    "kimi-code": kimi.render_kimi_code_page,
    "kimi-cli": kimi.render_kimi_cli_page,
    "crush": crush.render_page,
    "goose": goose.render_page,
    "gptme": gptme.render_page,
    "hermes": hermes.render_page,
    "vibe": vibe.render_page,
    "zed": zed.render_page,
    "aider": aider.render_page,
    "swe-agent": swe_agent.render_page,
    "mini-swe-agent": mini_swe_agent.render_page,
    "openhands": openhands.render_page,
    "cline": cline.render_page,
    "continue": continue_dev.render_page,
    "droid": droid.render_page,
    "amp": amp.render_page,
    "copilot": copilot.render_page,
    "copilot-vscode": copilot_vscode.render_page,
    "visualstudio-copilot": visualstudio_copilot.render_page,
    "grok": grok.render_page,
    "windsurf": windsurf.render_page,
}


def main() -> int:
    """Write or check the pages, and return the exit code."""
    stale = []
    for name, render_page in PAGES.items():
        path = FOLDER / f"{name}.md"
        text = render_page()
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"docs/mapping: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
