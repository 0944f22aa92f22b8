"""What the commands of one shell call did to files, and what its output showed of them. Step: attribute.

Only what a command's text proves is applied: writing a here-document or a literal, removing, moving, copying, putting back by
git. What other commands may have changed is said with `Touch`, so that the next look at the file decides.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from vacr.attribution import apply_patch, tools
from vacr.attribution.calls import DONE, Call
from vacr.attribution.events import Delete, Event, Move, Revert, Touch, Write
from vacr.attribution.patches import patch_events
from vacr.attribution.shell.lexer import Command, parse
from vacr.attribution.shell.outputs import output_of, shown_by

# Commands that change no file of a project. Options that do are in `_WRITING`.
_READ_ONLY = """
[ alias awk basename cat cd cmp column command curl cut date df diff dirname du echo egrep env export expr false fd fgrep
file find gh grep head hexdump history id jq less locale ls lsof md5sum nl od paste pgrep printf ps pwd readlink realpath rg sed
seq set
sha256sum shasum sleep sort stat strings tail test time top tr tree true type uname uniq wait wc which whoami xxd yes
"""
_GIT_READ_ONLY = """
add blame branch cat-file check-ignore commit config describe diff fetch for-each-ref grep log ls-files ls-remote ls-tree
merge-base name-rev push reflog remote rev-list rev-parse shortlog show show-ref status tag var version whatchanged
"""
READ_ONLY = frozenset(_READ_ONLY.split())
GIT_READ_ONLY = frozenset(_GIT_READ_ONLY.split())
_WRITING = ("-delete", "-exec", "-i", "--in-place")


def shell_events(call: Call) -> Iterator[Event]:
    """Say what a call of a shell did."""
    text, folder = command_of(call.input)
    if text is None:
        return
    exit_code, output = output_of(call)
    sure = call.state == DONE and exit_code in (0, None)
    script = parse(text)
    shown = shown_by(script, output) if output else {}
    place = folder or ""
    for number, command in enumerate(script.commands):
        words = command.words
        if words[:1] == ["cd"] and len(words) > 1 and words[1] is not None and sure:
            place = posixpath.join(place, words[1])
            continue
        at = _at(place)
        for event in _effects(command, sure=sure):
            yield at(event)
        for event in shown.get(number, ()):
            yield at(event)
    if script.opaque:
        patches = apply_patch.parse(text)
        if not patches:
            yield Touch("")


def command_of(arguments: Any) -> tuple[str | None, str | None]:
    """Give the text of a command, and the folder it is to run in, as far as the arguments say them."""
    if isinstance(arguments, str):
        return arguments, None
    folder = tools.text(arguments, tools.FOLDERS)
    text = tools.text(arguments, tools.COMMANDS)
    if text is None and isinstance(arguments, dict) and isinstance(arguments.get("command"), list):
        words = [word for word in arguments["command"] if isinstance(word, str)]
        if words[2:] and words[1] in ("-c", "-lc", "-cl"):
            text = words[2]
        elif words:
            text = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return text, folder


def _at(place: str) -> Callable[[Event], Event]:
    """Give what names the files of an event from a folder."""

    def named(event: Event) -> Event:
        if not place or not event.path:
            return event
        moved = replace(event, path=_join(place, event.path))
        return replace(moved, to=_join(place, moved.to)) if isinstance(moved, Move) else moved

    return named


def _join(place: str, path: str) -> str:
    return path if path.startswith(("/", "\\\\")) or path[1:2] == ":" else posixpath.join(place, path)


def _effects(command: Command, *, sure: bool) -> Iterator[Event]:
    words = command.words
    writes = [
        r
        for r in command.redirects
        if r.operator in (">", ">>", ">|") and r.descriptor in ("", "1", "&") and r.target != "/dev/null"
    ]
    body = next((r.body for r in command.redirects if r.operator in ("<<", "<<-")), None)
    name = words[0] if words else None
    if name == "apply_patch":
        patch = body if body is not None else words[1] if len(words) > 1 else None
        if patch and sure:
            yield from patch_events(patch)
        return
    if writes:
        text = _literal(words, body) if sure else None
        for write in writes:
            if write.target is None:
                yield Touch("")
            elif text is None:
                yield Touch(write.target)
            else:
                yield Write(write.target, text, append=write.operator == ">>")
        return
    if name == "tee" and body is not None and sure:
        append = "-a" in words
        for target in _files(words):
            yield Write(target, body, append=append)
        return
    effect = _EFFECTS.get(name or "")
    if effect is not None and sure:
        yield from effect(words)
    elif name == "git":
        yield from _git(words, sure=sure)
    elif name not in READ_ONLY or any(word and word.startswith(_WRITING) for word in words):
        for word in words[1:]:
            if word and not word.startswith("-"):
                yield Touch(word)
        yield Touch("")


def _literal(words: list[str | None], body: str | None) -> str | None:
    """Give what `cat`, `echo` or `printf` prints, where its text says it all."""
    if words in (["cat"], ["cat", "-"]):
        return body
    if None in words or not words:
        return None
    plain = [word or "" for word in words]
    if plain[0] == "echo" and not (len(plain) > 1 and re.fullmatch(r"-[neE]+", plain[1])):
        return " ".join(plain[1:]) + "\n" if "\\" not in "".join(plain[1:]) else None
    if plain in ([":"], ["true"]):
        return ""
    return None


def _files(words: list[str | None]) -> list[str]:
    return [word for word in words[1:] if word is not None and not word.startswith("-")]


def _rm(words: list[str | None]) -> Iterator[Event]:
    folder = any(word and word.startswith("-") and ("r" in word or "R" in word) for word in words[1:])
    for path in _files(words):
        yield Delete(path, folder=folder)
    if None in words:
        yield Touch("")


def _mv(words: list[str | None]) -> Iterator[Event]:
    yield from _moved(words, copy=False)


def _cp(words: list[str | None]) -> Iterator[Event]:
    yield from _moved(words, copy=True)


def _moved(words: list[str | None], *, copy: bool) -> Iterator[Event]:
    files = _files(words)
    if None in words or not files[1:]:
        yield Touch("")
        return
    *sources, target = files
    for source in sources:
        into = len(sources) > 1 or target.endswith("/") or target in (".", "..")
        yield Move(source, posixpath.join(target, posixpath.basename(source)) if into else target, copy=copy)


def _git(words: list[str | None], *, sure: bool) -> Iterator[Event]:
    rest = words[1:]
    while rest and rest[0] in ("-C", "-c", "--git-dir", "--work-tree"):
        if rest[0] == "-C":
            return  # another repository, perhaps
        rest = rest[2:]
    while rest and rest[0] is not None and rest[0].startswith("-"):
        rest = rest[1:]
    verb = rest[0] if rest else None
    if verb in GIT_READ_ONLY:
        return
    if sure and verb in ("mv", "rm"):
        if verb == "mv":
            yield from _mv(rest)
        elif "--cached" not in rest:
            yield from _rm(rest)
        return
    if sure and verb in ("checkout", "restore") and "--staged" not in rest and "--source" not in rest:
        paths = rest[rest.index("--") + 1 :] if "--" in rest else (rest[1:] if verb == "restore" else [])
        if paths and None not in paths and (verb == "restore" or rest[1] == "--"):
            for path in paths:
                if path and not path.startswith("-"):
                    yield Revert(path)
            return
    yield Touch("")


_EFFECTS: dict[str, Callable[[list[str | None]], Iterator[Event]]] = {
    "rm": _rm,
    "mv": _mv,
    "cp": _cp,
    "mkdir": lambda _: iter(()),
    "rmdir": lambda _: iter(()),
    "chmod": lambda _: iter(()),
    "touch": lambda _: iter(()),
}
