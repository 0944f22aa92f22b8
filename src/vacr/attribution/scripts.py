"""Patches that scripts apply: the JavaScript that Codex runs with its tool `exec`. Step: attribute.

Only texts that stand in the script are read: an argument that is a literal, or a constant that is
one. What a script puts together while it runs is not known.
"""

import re
import sys
from collections.abc import Iterator

_LITERAL = (
    r"""(?:String\.raw\s*`[^`]*`|`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_CALLED = re.compile(rf"tools\.apply_patch\(\s*({_LITERAL}|[A-Za-z_$][\w$]*)\s*\)", re.DOTALL)
_CONSTANT = re.compile(rf"\bconst\s+([A-Za-z_$][\w$]*)\s*=\s*({_LITERAL})", re.DOTALL)
_OTHER_TOOL = re.compile(r"\btools\.(?!apply_patch\b|update_plan\b|view_image\b)[\w$]+")
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_NAMED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r\n": "",
}


def patches(script: str) -> Iterator[str]:
    """Give the patches that a script applies, as far as it spells them."""
    constants: dict[str, str] = dict(_CONSTANT.findall(script))
    for called in _CALLED.finditer(script):
        text = _value(constants.get(str(called[1]), str(called[1])))
        if text is not None:
            yield text


def does_more(script: str) -> bool:
    """Tell whether a script calls tools of which it is not known what they change."""
    calls = script.count("tools.apply_patch(")
    return calls != sum(1 for _ in patches(script)) or _OTHER_TOOL.search(script) is not None


def _value(literal: str) -> str | None:
    """Give the text that a literal of JavaScript stands for; `None` for anything else."""
    raw = literal.startswith("String.raw")
    body = literal.partition("`")[2][:-1] if raw else literal[1:-1]
    if (raw or literal[:1] == "`") and re.search(r"(?<!\\)\$\{", body):
        return None
    if raw:
        return body
    return _ESCAPE.sub(_unescaped, body) if literal[:1] in "`\"'" else None


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number <= sys.maxunicode else found[0]
    return _NAMED.get(code, code)
