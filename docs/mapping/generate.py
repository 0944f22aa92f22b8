"""Write docs/mapping/<agent>.md from the tables of the readers.

With --check, write nothing, and fail if a page is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages import (
    aider,
    amp,
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
    mini_swe_agent,
    opencode,
    openhands,
    swe_agent,
    visualstudio_copilot,
    windsurf,
)

FOLDER = Path(__file__).parent
PAGES = {
    "claude-code": claude,
    "codex-cli": codex,
    "gemini-cli": gemini,
    "opencode": opencode,
    "cursor": cursor,
    "crush": crush,
    "aider": aider,
    "swe-agent": swe_agent,
    "mini-swe-agent": mini_swe_agent,
    "openhands": openhands,
    "cline": cline,
    "continue": continue_dev,
    "droid": droid,
    "amp": amp,
    "copilot": copilot,
    "copilot-vscode": copilot_vscode,
    "visualstudio-copilot": visualstudio_copilot,
    "windsurf": windsurf,
from pages import borrowed, claude, codex, cursor, gemini, kimi, opencode, pi, qwen

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
