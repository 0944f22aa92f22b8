"""What commands print whose text says it all. Step: attribute."""

import re
from collections.abc import Sequence

_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", '\\"': '"', "%%": "%"}
_FORMAT = re.compile(r"\\.|%.?", re.DOTALL)


def printed(words: Sequence[str | None], given: str | None) -> str | None:
    """Give what a command prints, where its words and what it is given to read say it; else
    `None`.
    """
    if list(words) in (["cat"], ["cat", "-"]):
        return given
    known = [word for word in words if word is not None]
    if len(known) != len(words):
        return None
    if not known or known in ([":"], ["true"]):
        return ""
    if known[0] == "echo":
        return _echo(known[1:])
    if known[0] == "printf":
        return _printf(known[1:])
    return None


def _echo(words: Sequence[str]) -> str | None:
    end, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        end = "" if "n" in words[0] else end
        escapes = escapes or "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    if "\\" not in text:
        return text + end
    # Without -e, shells do not agree on what a backslash means.
    return None if not escapes or "%%" in text else _plain(text + end)


def _plain(text: str) -> str | None:
    """Put escapes in their place; `None` when one is not known."""
    marks = re.findall(r"\\.?", text, re.DOTALL)
    if any(mark not in _ESCAPES for mark in marks):
        return None
    return re.sub(r"\\.", lambda found: _ESCAPES[found[0]], text, flags=re.DOTALL)


def _printf(words: Sequence[str]) -> str | None:
    if not words or words[0].startswith("-"):
        return None
    form, values = words[0], list(words[1:])
    marks = _FORMAT.findall(form)
    if any(mark not in _ESCAPES and mark != "%s" for mark in marks) or (
        values and "%s" not in marks
    ):
        return None
    out = []
    while True:
        out.append(
            _FORMAT.sub(
                lambda found: (
                    (values.pop(0) if values else "") if found[0] == "%s" else _ESCAPES[found[0]]
                ),
                form,
            )
        )
        if not values:
            return "".join(out)
