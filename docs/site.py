"""Build the documentation as a web site: `python docs/site.py OUTPUT ZENSICAL`.

The pages link to files outside of `docs`, such as CONTRIBUTING.md. So the pages and these files are
copied into one folder first. Warnings, such as a link without a target, stop the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"\]\(([^)#:\s]+)")
_CONFIG = """
[project]
site_name = "vacr"
site_description = "Find, show, prove and share what AI coding agents did"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false

[project.theme]
features = ["navigation.indexes", "search.highlight", "content.code.copy"]
palette = [
  { media = "(prefers-color-scheme: light)", scheme = "default" },
  { media = "(prefers-color-scheme: dark)", scheme = "slate" },
]
"""


def copy_pages(target: Path) -> int:
    """Copy the README, all pages and the files that they link to; return how many there are."""
    waiting = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    copied: set[Path] = set()
    while waiting:
        path = waiting.pop().resolve()
        if path in copied or not path.is_file():
            continue
        copied.add(path)
        place = target / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
        if path.suffix == ".md":
            text = path.read_text("utf-8")
            waiting += [path.parent / link for link in _LINK.findall(text)]
    return len(copied)


def main(output: str, program: str) -> int:
    """Build the site in the folder `output`, and return the exit code of the program."""
    command = [str(Path(program).absolute()), "build", "--strict", "--clean"]
    with TemporaryDirectory(prefix="vacr-site-") as folder:
        place = Path(folder)
        count = copy_pages(place / "pages")
        (place / "zensical.toml").write_text(_CONFIG, "utf-8")
        done = subprocess.run(command, cwd=place, check=False)
        if done.returncode:
            return done.returncode
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(place / "site", output)
    print(f"{output}: {count} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
