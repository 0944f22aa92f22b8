"""Pages of the documentation: the commands that they tell a reader to type, and what they say is
printed then.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

README = ROOT / "README.md"
SHOWN_ONLY = {"github-action.md", "pre-commit.md"}
"""What these tell of happens elsewhere; tests/app runs it."""
GUIDES = [
    ROOT / "docs" / "getting-started.md",
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
    """A command, and what the page shows of its output; nothing where it shows none."""

    command: str
    shown: str


def steps(text: str) -> list[Step]:
    """Give the commands of a page in their order."""
    found: list[Step] = []
    for kind, block in _BLOCK.findall(text):
        if kind != "console":
            found.append(_write_file(kind.split()[1], block))
            continue
        assert block.startswith("$ "), (
            f"a block to be run begins with a command: {block.splitlines()[0]}"
        )
        found += [
            Step(_typed(command), shown.strip("\n")) for command, shown in _STEP.findall(block)
        ]
    return found


def _write_file(name: str, text: str) -> Step:
    """Return the step in which a reader saves a block as the file that it names."""
    folder = Path(name).parent.as_posix()
    return Step(f"mkdir -p {folder}; cat > {name} <<'END_OF_BLOCK'\n{text}END_OF_BLOCK", "")


def _typed(command: str) -> str:
    """Give a command without what the shell itself shows at the beginning of further lines."""
    return "\n".join(line.removeprefix("> ") for line in command.splitlines())


def steps_of(page: Path) -> list[Step]:
    """Give the commands of the page in a file."""
    return steps(page.read_text("utf-8"))


def agrees(shown: str, printed: str) -> bool:
    """Tell whether a command printed what the page shows."""
    pattern = "".join(map(_pattern, shown.strip("\n").splitlines()))
    lines = (line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _pattern(line: str) -> str:
    if line.strip() == ANYTHING:
        return r"(?:.*\n)*?"
    return ".*".join(re.escape(part) for part in line.rstrip().split(ANYTHING)) + r"\n"
