"""The pages of the documentation: their commands, and the output that they show."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
"""An overview: only its commands with shown output are run and compared."""
SHOWN_ONLY = {
    "github-action.md",
    "pre-commit.md",
    *(
        f"{agent}.md"
        for agent in (
            "copilot",
            "copilot-vscode",
            "iflow",
            "kimi-cli",
            "kimi-code",
            "openclaw",
            "pi",
            "qwen-code",
            "traex",
            "visualstudio-copilot",
            "windsurf",
        )
    ),
}
"""Pages whose commands run elsewhere: tests/app tests the first two, tests/agents the agents."""
GUIDES = [
    README,
    ROOT / "docs" / "getting-started.md",
    ROOT / "docs" / "costs.md",
    ROOT / "docs" / "mcp-and-editors.md",
    *sorted(
        page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.name not in SHOWN_ONLY
    ),
]
EVERY_PAGE = [README, *sorted((ROOT / "docs").rglob("*.md"))]

ANYTHING = "…"
_BLOCK = re.compile(r"^```(console|(?!console)\w+ \S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_STEP = re.compile(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command, and the output that the page shows for it, or an empty string."""

    command: str
    shown: str


def parse_steps(text: str) -> list[Step]:
    """Return the commands of a page, in order."""
    steps: list[Step] = []
    for kind, block in _BLOCK.findall(text):
        if kind != "console":
            steps.append(_make_file_step(kind.split()[1], block))
            continue
        assert block.startswith("$ "), (
            f"a console block begins with a command, not with: {block.splitlines()[0]}"
        )
        steps += [
            Step(_strip_prompts(command), shown.strip("\n"))
            for command, shown in _STEP.findall(block)
        ]
    return steps


def _make_file_step(name: str, text: str) -> Step:
    """Return a step that saves a block under the file name in its mark."""
    folder = Path(name).parent.as_posix()
    return Step(f"mkdir -p {folder}; cat > {name} <<'END_OF_BLOCK'\n{text}END_OF_BLOCK", "")


def _strip_prompts(command: str) -> str:
    """Return a command without the shell's prompts for continued lines."""
    return "\n".join(line.removeprefix("> ") for line in command.splitlines())


def read_steps(page: Path) -> list[Step]:
    """Return the commands of the page in a file."""
    return parse_steps(page.read_text("utf-8"))


def matches_shown_output(shown: str, printed: str) -> bool:
    """Return whether the output of a command matches the output on the page."""
    pattern = "".join(map(_build_line_pattern, shown.strip("\n").splitlines()))
    lines = (line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _build_line_pattern(line: str) -> str:
    if line.strip() == ANYTHING:
        return r"(?:.*\n)*?"
    return ".*".join(re.escape(part) for part in line.rstrip().split(ANYTHING)) + r"\n"
