"""Files that are named in code that is run and not read. Step: attribute.

A loop, a function, a program given to an interpreter: what it does to files is not followed. Where
it has something in it that writes, any file that it names may have been changed.
"""

import re
from collections.abc import Iterable, Sequence

_SHELLS = frozenset(["bash", "dash", "sh", "zsh"])
_GIVEN = frozenset(["-c", "-lc", "-e", "-", "--eval", "-E"])
_CHANGES_FILES = re.compile(
    r"(?:^|[;&|({'\"`]|\b(?:do|then|else|xargs|sudo|command|exec|time)\b(?: +-\S+)*) "
    r"*(?:rm|mv|cp|tee|truncate|unlink|dd|ln|patch"
    r"|(?:sed|perl|ruby|awk|yq) +(?:-\S+ +)*-\S*i|git "
    r"+(?:checkout|restore|stash|reset|mv|rm|apply|clean|pull|merge|rebase))\b"
    r"|(?<![-=0-9&<>])>{1,2} *[\"']?(?!/dev/null)[\w/~{}-]*[./$]",
    re.MULTILINE,
)
_RUNS = re.compile(r"\b(?:python3?|node|ruby|perl|php|deno|bun)\b")
_WRITES = re.compile(
    r"write|unlink|remove|rename|rmtree|rmSync|copy|move|truncate|dump\(|save|inplace|system\(|subprocess|exec"
    r"|open\([^)\n]{0,200}[\"'][rbt]*[wax+]"
)
_NAME = re.compile(r"[^\s'\"`/\\:=,;()<>|&{}\[\]$]+")


_TELLS = re.compile(r"[^*?.]")


def last_names(paths: Iterable[str]) -> frozenset[str]:
    """Give the last parts of paths, which may be patterns of the shell."""
    return frozenset(
        name for path in paths if _TELLS.search(name := path.rstrip("/").rpartition("/")[2])
    )


def names_in_script(text: str) -> frozenset[str]:
    """Give the last parts of the paths that a shell script may change."""
    changes = _CHANGES_FILES.search(text) or (_RUNS.search(text) and _WRITES.search(text))
    return last_names(_NAME.findall(text)) if changes else frozenset()


def names_in_program(words: Sequence[str | None], given: str | None) -> frozenset[str]:
    """Give those that a program may change which an interpreter was given as an argument or to
    read.
    """
    texts = [
        word for number, word in enumerate(words) if word and number and words[number - 1] in _GIVEN
    ]
    texts += [given] if given is not None else []
    if words[0] in _SHELLS:
        return frozenset().union(*map(names_in_script, texts))
    return last_names(
        name for text in texts if _WRITES.search(text) for name in _NAME.findall(text)
    )
