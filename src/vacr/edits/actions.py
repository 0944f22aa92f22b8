r"""The patch language of `apply_patch`. Step: attribute.

    *** Begin Patch
    *** Update File: path      (or Add File, Delete File; then perhaps *** Move to: path)
    @@ a line to go to first
     context
    -taken away
    +added
    *** End Patch

Places are found as the tool finds them: from where the last hunk ended, first exactly, then without
blanks at the ends of lines, then without blanks at both sides, then with typographic characters
made plain. Context lines are written as the patch spells them.

What happens to files in a session, whatever the agent. Step: attribute.

Each event names a file as the session does; `replay` resolves it against the working directory of
the call it came from.

Unified diffs as sessions hold them. Step: attribute.

Names of files, made comparable. Step: attribute.

A session names a file absolutely, or relative to a working directory, in the manner of POSIX, of
Windows, or of a POSIX shell on Windows (`/d/work` for `D:\work`). Here it becomes one text with
slashes. Upper and lower case differ on POSIX and do not on Windows; links are not followed, because
no file system is at hand, and Unicode is not normalized, because file systems differ.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

PATCH_BEGIN_MARK, PATCH_END_MARK = "*** Begin Patch", "*** End Patch"
_ADD_FILE_MARK, _DELETE_FILE_MARK, _UPDATE_FILE_MARK, _MOVE_TO_MARK, _END_OF_FILE_MARK = (
    "*** Add File: ",
    "*** Delete File: ",
    "*** Update File: ",
    "*** Move to: ",
    "*** End of File",
)

_TYPOGRAPHIC_TO_ASCII = str.maketrans(
    {**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟", '"')}
    | dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    )
)


@dataclass(slots=True)
class PatchHunk:
    """One hunk: the line to go to first, the lines it takes away, those it puts there, and whether
    it ends the file.
    """

    anchor: str = ""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    last: bool = False


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file: `add`, `delete` or `update`."""

    kind: str
    path: str
    to: str | None = None
    parts: list[PatchHunk] = field(default_factory=list)
    text: str = ""


def parse_apply_patch(text: str) -> list[FilePatch]:
    """Read a patch; text around it is passed over. An empty list means that there is none."""
    start = text.find(PATCH_BEGIN_MARK)
    if start < 0:
        return []
    files: list[FilePatch] = []
    for line in text[start:].split("\n")[1:]:
        if line.strip() == PATCH_END_MARK:
            break
        _parse_patch_line(
            files, line.removesuffix("\r")
        )  # how a line ends is the file's, not the patch's
    for file in files:
        file.parts = [part for part in file.parts if part.old or part.new]
    return files


def _parse_patch_line(files: list[FilePatch], line: str) -> None:
    for head, kind in (
        (_ADD_FILE_MARK, "add"),
        (_DELETE_FILE_MARK, "delete"),
        (_UPDATE_FILE_MARK, "update"),
    ):
        if line.startswith(head):
            files.append(FilePatch(kind, line[len(head) :].strip()))
            return
    if not files:
        return
    file = files[-1]
    if file.kind == "add":
        if line.startswith("+"):
            file.text += line[1:] + "\n"
    elif file.kind == "update":
        _parse_update_line(file, line)


def _parse_update_line(file: FilePatch, line: str) -> None:
    if line.startswith(_MOVE_TO_MARK):
        file.to = line[len(_MOVE_TO_MARK) :].strip()
    elif line.startswith("@@"):
        file.parts.append(PatchHunk(line[2:].strip() if line[2:3] == " " else line[2:].rstrip()))
    elif line.strip() == _END_OF_FILE_MARK:
        if file.parts:
            file.parts[-1].last = True
    else:
        if not file.parts:
            file.parts.append(PatchHunk())
        part, first, rest = file.parts[-1], line[:1], line[1:]
        if first != "+":
            part.old.append(rest)
        if first != "-":
            part.new.append(rest)


_LINE_NORMALIZERS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_TYPOGRAPHIC_TO_ASCII),
)


def list_hunk_variants(part: PatchHunk) -> list[tuple[list[str], list[str]]]:
    """Give what a hunk takes away and puts there; an empty line at its end may only stand for the
    end of the line before.
    """
    given = [(part.old, part.new)]
    if part.old[1:] and not part.old[-1] and part.new and not part.new[-1]:
        given.append((part.old[:-1], part.new[:-1]))
    return given


def find_patch_lines(
    lines: Sequence[str], wanted: Sequence[str], start: int, *, last: bool = False
) -> int | None:
    """Find lines from a place on, as the tool does."""
    if not wanted:
        return start
    if len(wanted) > len(lines):
        return None
    begin = len(lines) - len(wanted) if last else start
    for stage in _LINE_NORMALIZERS:
        goal = [stage(line) for line in wanted]
        for at in range(begin, len(lines) - len(wanted) + 1):
            if (
                stage(lines[at]) == goal[0]
                and [stage(line) for line in lines[at : at + len(goal)]] == goal
            ):
                return at
    return None


@dataclass(frozen=True, slots=True)
class Edit:
    """One text put in the place of another, once or everywhere."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a unified diff: the lines it takes away and adds, with their first letters; places
    count from 1.
    """

    old_first: int
    new_first: int
    lines: Sequence[str]
    tabs_as_spaces: bool = False  # whether each tab that indents a line is shown as two spaces

    def before(self) -> list[str]:
        """Give the lines it expects."""
        return [line[1:] for line in self.lines if line[:1] != "+"]

    def after(self) -> list[str]:
        """Give the lines it leaves."""
        return [line[1:] for line in self.lines if line[:1] != "-"]


@dataclass(frozen=True, slots=True)
class FileAction:
    """Something that concerns one file."""

    path: str


@dataclass(frozen=True, slots=True)
class ObservedLines(FileAction):
    """Lines were shown, from the line numbered `first` on; `last` when the file ends with them.

    It holds only if the file has `least` lines. Up to `slack` empty lines before them may not have
    been shown, and when it is `trimmed` not what the first one is indented by. The last of them may
    have no end when it was shown as `unended`. `total` is how many lines the host counts in all,
    with the empty one after the last line end, or 0 where it does not say.
    """

    first: int
    lines: Sequence[str]
    last: bool = False
    least: int = 0
    slack: int = 0
    trimmed: bool = False
    unended: bool = False
    total: int = 0


@dataclass(frozen=True, slots=True)
class ObservedFile(FileAction):
    """The whole text was shown; hosts show CR LF as LF."""

    text: str


@dataclass(frozen=True, slots=True)
class Replacement(FileAction):
    """Texts were replaced; `shown` are numbered lines that the result showed afterwards.

    `offers` are the ways to read the hunks of a host that known lines have to confirm.
    """

    edits: Sequence[Edit]
    hunks: Sequence[Hunk] = ()
    shown: Sequence[ObservedLines] = ()
    offers: Sequence[Sequence[Hunk]] = ()


@dataclass(frozen=True, slots=True)
class FileWrite(FileAction):
    """The whole text was written, over a file or, if `created`, as a new one; `append` adds it at
    the end.

    `recorded` when the host says what the file became, `by_shell` when a command wrote it.
    """

    text: str
    created: bool | None = None
    append: bool = False
    recorded: bool = False
    by_shell: bool = False


@dataclass(frozen=True, slots=True)
class UnplacedEdit(FileAction):
    """The file was changed, or was to be, and nothing says where, or whether it was."""


@dataclass(frozen=True, slots=True)
class AppliedPatch(FileAction):
    """The parts of a patch were applied where their lines were found, or where the host recorded
    it.
    """

    parts: Sequence[PatchHunk]
    hunks: Sequence[Hunk] = ()


@dataclass(frozen=True, slots=True)
class FileMove(FileAction):
    """The file has another name now; `copy` when the first name stays too, `told` when somebody
    else's move is reported.
    """

    to: str
    copy: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class FileDeletion(FileAction):
    """The file is gone, or the folder; `pattern` when the path has `*` and `?` in it that stand for
    others.
    """

    folder: bool = False
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Revert(FileAction):
    """The version control put back what it had of a file or a folder, or of `everything`; or it
    removed what is `new` to it.
    """

    everything: bool = False
    new: bool = False


@dataclass(frozen=True, slots=True)
class Stash(FileAction):
    """The version control took all changes away, or those of some paths, to bring them back later.

    `known` when it is certain which ones, `sure` when there surely were any.
    """

    paths: Sequence[str] = ()
    untracked: bool = False
    known: bool = True
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Unstash(FileAction):
    """The version control brought back the changes it took away last, or only forgot them; `keep`
    when it can do so again.
    """

    bring: bool = True
    keep: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class GitStateChange(FileAction):
    """The version control may have something else to put back from now on: a commit, an index,
    another branch.
    """


@dataclass(frozen=True, slots=True)
class PossibleChange(FileAction):
    """Something may have changed the file, or without a path any file: a script, the version
    control, a formatter.

    `overwritten` when nothing of what it held is left, `likely` when to change it is what was asked
    for. With a `pattern`, the path has `*` and `?` in it that stand for others, and only known
    files are meant. `named` are the last parts of paths, or patterns of them, that were likely
    among any files. With `folder` it is any file below the path, or without one any at all, if its
    name ends with one of `kinds`, where these are told.
    """

    formatter: bool = False
    overwritten: bool = False
    folder: bool = False
    kinds: tuple[str, ...] = ()
    likely: bool = False
    pattern: bool = False
    named: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ChangeNotice(FileAction):
    """The host says that somebody else changed the file, and shows hunks of it; `whole` when these
    are all.
    """

    parts: Sequence[tuple[int, list[str]]] = field(default=())
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ObservedDiff(FileAction):
    """A diff of the file was printed; its new side is what the file holds now."""

    hunks: Sequence[Hunk]


_HUNK_HEADER = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@")
_NEW_FILE_HEADER = re.compile(r'\+\+\+ (?:"?b/)?(.*?)"?(?:\t.*)?$')


def parse_diff_hunks(text: str) -> list[Hunk]:
    """Read the hunks of one file's diff; damaged ones are left out."""
    return [hunk for _, hunks in parse_unified_diff(text) for hunk in hunks]


def parse_unified_diff(text: str) -> Iterator[tuple[str | None, list[Hunk]]]:
    """Read a diff of any number of files; gives each file's new name, `None` for a deleted one, and
    its hunks.
    """
    lines = text.split("\n")
    name: str | None = None
    hunks: list[Hunk] = []
    at, open_file = 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith("+++ ") and at and lines[at - 1].startswith("--- "):
            if open_file and hunks:
                yield name, hunks
            target = _NEW_FILE_HEADER.match(line)
            name = target[1] if target and target[1] != "/dev/null" else None
            hunks, open_file = [], True
        elif head := _HUNK_HEADER.match(line):
            open_file = True
            hunk, at = _parse_hunk_body(lines, at + 1, head)
            if hunk:
                hunks.append(hunk)
            continue
        at += 1
    if open_file and hunks:
        yield name, hunks


def _parse_hunk_body(lines: Sequence[str], at: int, head: re.Match[str]) -> tuple[Hunk | None, int]:
    old, new = int(head[2] or 1), int(head[4] or 1)
    body: list[str] = []
    while at < len(lines) and (old > 0 or new > 0):
        line = lines[at]
        first = (
            line[:1] or " "
        )  # an editor or a terminal may have cut the blank of an empty context line
        if first not in " +-\\":
            return None, at
        at += 1
        if first == "\\":
            if body:
                body[-1] = body[-1].removesuffix("\n")
            continue
        old -= first != "+"
        new -= first != "-"
        body.append((line or " ") + "\n")
    if old or new:
        return None, at
    if at < len(lines) and lines[at].startswith("\\") and body:
        body[-1] = body[-1].removesuffix("\n")
        at += 1
    return Hunk(int(head[1]), int(head[3]), body), at


def parse_claude_hunks(patch: object) -> list[Hunk]:
    """Read hunks from the list of objects that Claude Code records."""
    hunks = []
    for item in patch if isinstance(patch, list) else ():
        if (
            isinstance(item, dict)
            and isinstance(item.get("lines"), list)
            and all(isinstance(line, str) for line in item["lines"])
        ):
            old, new = item.get("oldStart"), item.get("newStart")
            if isinstance(old, int) and isinstance(new, int):
                hunks.append(Hunk(old, new, _add_line_ends(item["lines"]), tabs_as_spaces=True))
    return hunks


def parse_cursor_chunks(result: object, width: int) -> list[Hunk]:
    """Read hunks from the chunks that Cursor's editor records, whose lines begin with a mark of so
    many letters.

    Gives nothing where they do not add up.
    """
    diff = result.get("diff") if isinstance(result, dict) else None
    chunks = (
        diff.get("chunks")
        if isinstance(diff, dict) and diff.get("hitTimeout") is not True
        else None
    )
    found = (
        [_parse_cursor_chunk(chunk, width) for chunk in chunks] if isinstance(chunks, list) else []
    )
    return [hunk for hunk in found if hunk is not None] if None not in found else []


def _parse_cursor_chunk(chunk: object, width: int) -> Hunk | None:
    if not isinstance(chunk, dict) or not isinstance(chunk.get("diffString"), str):
        return None
    lines = [line or " " for line in chunk["diffString"].removesuffix("\n").split("\n")]
    if any(line[0] not in " +-" or line[1:width].strip() for line in lines):
        return None
    hunk = Hunk(
        chunk.get("oldStart", 0),
        chunk.get("newStart", 0),
        [line[0] + line[min(width, len(line)) :] + "\n" for line in lines],
    )
    counts = (len(hunk.before()), len(hunk.after()))
    told = tuple(chunk.get(name, 0) for name in ("oldLines", "newLines"))
    places = (
        type(hunk.old_first) is int
        and type(hunk.new_first) is int
        and hunk.old_first >= 0
        and hunk.new_first >= 0
    )
    return hunk if counts == told and places else None


def _add_line_ends(lines: Sequence[str]) -> list[str]:
    body: list[str] = []
    for line in lines:
        if line.startswith("\\"):
            if body:
                body[-1] = body[-1].removesuffix("\n")
        else:
            body.append(line + "\n")
    return body


def restore_hunk_indentation(hunks: Sequence[Hunk], spelled: Sequence[str]) -> list[Hunk]:
    """Give back the indentation that OpenCode cuts off all lines of a diff alike; nothing where it
    is not certain.

    `spelled` are lines of the file as the call writes them.
    """
    known: dict[str, set[str]] = {}
    for line in spelled:
        known.setdefault(line.lstrip(" \t"), set()).add(line)
    cut: set[str] | None = None
    for line in [
        line[1:].removesuffix("\n") for hunk in hunks for line in hunk.lines if line[:1] in "+-"
    ]:
        full = known.get(line.lstrip(" \t"), ()) if line.strip() else ()
        fits = {one[: len(one) - len(line)] for one in full if one.endswith(line)}
        if fits:
            cut = fits if cut is None else cut & fits
    if cut is None or len(cut) != 1:
        return []
    indent = cut.pop()
    return [
        Hunk(
            hunk.old_first,
            hunk.new_first,
            [line[:1] + indent + line[1:] if line[1:].strip() else line for line in hunk.lines],
        )
        for hunk in hunks
    ]


_DRIVE_PREFIX = re.compile(r"([A-Za-z]):(?=[\\/]|$)")
_WINDOWS_PREFIX = re.compile(rf"{_DRIVE_PREFIX.pattern}|\\\\|//[^/]")
_SHELL_DRIVE = re.compile(r"/(?:cygdrive/|mnt/)?([A-Za-z])(?=/|$)")
_VERBATIM_PREFIX = re.compile(r"//[?.]/(?:UNC(/))?(?=[^/])")


def is_windows_path(path: str) -> bool:
    """Tell whether a path is one of Windows: with a drive, or with the name of a server."""
    return _WINDOWS_PREFIX.match(path) is not None


@lru_cache(maxsize=1024)
def make_absolute_path(path: str, folder: str) -> str:
    """Name a file from a working directory; without one, a relative path stays relative."""
    windows = is_windows_path(folder) or is_windows_path(path)
    if windows:
        path, folder = _use_forward_slashes(path), _use_forward_slashes(folder)
        if (
            is_windows_path(folder)
            and not _DRIVE_PREFIX.match(path)
            and (found := _SHELL_DRIVE.match(path))
        ):
            path = f"{found[1]}:{path[found.end() :] or '/'}"
    if not (path.startswith(("/", "~/")) or _DRIVE_PREFIX.match(path)):
        path = posixpath.join(folder, path)
    elif (
        windows
        and path.startswith("/")
        and not path.startswith("//")
        and (drive := _DRIVE_PREFIX.match(folder))
    ):
        path = f"{drive[1]}:{path}"
    return _normalize_path(path)


def _use_forward_slashes(path: str) -> str:
    """Spell a path of Windows with slashes, without the prefix that turns its rules off."""
    path = path.replace("\\", "/")
    return _VERBATIM_PREFIX.sub(lambda found: "//" if found[1] else "", path, count=1)


def _normalize_path(path: str) -> str:
    """Take out `.` and `..`, which never lead above a drive or a root."""
    drive = _DRIVE_PREFIX.match(path)
    if drive is None:
        return posixpath.normpath(path)
    rest = posixpath.normpath("/" + path[drive.end() :].lstrip("/"))
    return f"{drive[1].upper()}:{rest}"


def make_path_key(path: str) -> str:
    """Give what tells two files apart."""
    # Letter by letter, as Windows does it: a sharp s is no double s.
    return (
        "".join(upper if len(upper := char.upper()) == 1 else char for char in path)
        if is_windows_path(path)
        else path
    )


def make_relative_path(path: str, root: str) -> str | None:
    """Name a file from the root of a repository; `None` when it lies outside, or when no file can
    have such a name.
    """
    if not _is_possible_path(path):
        return None
    if not root:
        inside = (
            not path.startswith(("/", "../", "~/"))
            and path not in ("..", ".", "")
            and not _DRIVE_PREFIX.match(path)
        )
        return path if inside else None
    above, parts = make_absolute_path(root, "").rstrip("/").split("/"), path.split("/")
    within = (
        len(parts) > len(above)
        and make_path_key(path).split("/")[: len(above)]
        == make_path_key("/".join((*above, ""))).split("/")[:-1]
    )
    return (
        "/".join(parts[len(above) :])
        if within and parts[len(above)] and ".." not in parts
        else None
    )


def _is_possible_path(path: str) -> bool:
    """Tell whether a file can have a name: one without NUL, that can be spelled in bytes."""
    try:
        return b"\0" not in path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
