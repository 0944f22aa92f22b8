"""Lines as attribution counts them. Step: attribute.

Only LF ends a line. CR, NEL, FF and U+2028 are characters of a line, a last line may lack its LF,
and bytes that are not UTF-8 survive as lone surrogates.
"""

from collections.abc import Iterable, Sequence


def lines_of(text: str) -> list[str]:
    """Split text after each LF."""
    lines = text.split("\n")
    last = lines.pop()
    lines = [line + "\n" for line in lines]
    if last:
        lines.append(last)
    return lines


def bare(line: str) -> str:
    """Take away the end of a line, as a listing with line numbers shows it."""
    return line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line


def level(lines: Iterable[str]) -> list[str]:
    """Give lines with plain ends: hosts show CR LF as LF and commands do not, so which of both a
    line has tells nothing.
    """
    return [line[:-2] + "\n" if line.endswith("\r\n") else line for line in lines]


def unmarked(lines: Sequence[str]) -> Sequence[str]:
    """Give lines without a byte order mark, which is the file's and not its first line's."""
    return [lines[0][1:], *lines[1:]] if lines and lines[0].startswith("\ufeff") else lines


def from_bytes(data: bytes) -> str:
    """Decode a file so that `to_bytes` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Encode text that may hold the lone surrogates of `from_bytes`."""
    return text.encode("utf-8", "surrogateescape")


def as_shown(text: str) -> str:
    """Give text as hosts show it: CR LF as LF, without a byte order mark, and with a mark for each
    byte that is not UTF-8.
    """
    text = text.replace("\r\n", "\n")
    if not text.startswith("\ufeff") and text.isascii():
        return text
    return to_bytes(text).decode("utf-8", "replace").removeprefix("\ufeff")
