"""The errors of vacr: one base, few families. Step: all of them.

A message says what was wrong, where (a file and line, or a JSON pointer), what was found and what
was expected, and what to do next. The families decide the exit code of the command, which the
README lists.
"""

from __future__ import annotations


class VacrError(Exception):
    """The base of every error that vacr raises on purpose."""

    exit_code = 70

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        """Keep what happened, where, and what the user can do about it."""
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def diagnostics(self) -> str:
        """Say what went wrong, where, and what to do next, in one or two lines."""
        return escape_unprintable(str(self)) + (
            f"\n  {escape_unprintable(self.hint)}" if self.hint else ""
        )

    def __str__(self) -> str:
        """Give the message with its place."""
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(VacrError):
    """The call itself was wrong: an option, a name or a combination that does not exist."""

    exit_code = 2


class UnreadableInput(VacrError):  # noqa: N818 - named after the exit code's meaning
    """The input cannot be read, or is of no known kind: there is no verdict about it."""

    exit_code = 3


class UnwritableOutput(VacrError):  # noqa: N818 - named after the exit code's meaning
    """The output cannot be written, for example because the disk is full."""

    exit_code = 3


class NotASession(UnreadableInput):
    """The input can be read, but is no session of an agent that is known."""


class InvalidSchema(UnreadableInput):
    """A CDDL text that cannot be compiled."""


class InvalidRecord(VacrError):  # noqa: N818 - named after the exit code's meaning
    """The input was read and checked, and is not what it has to be."""

    exit_code = 1


class InvalidStatement(VacrError):  # noqa: N818 - named after the exit code's meaning
    """A signature, or what it is about, was checked and does not hold; `reason` names the check in
    one word.
    """

    exit_code = 1

    def __init__(self, message: str, *, reason: str, where: str = "", hint: str = "") -> None:
        """Keep why it failed, for people and for programs."""
        super().__init__(message, where=where, hint=hint)
        self.reason = reason


class Unreachable(VacrError):  # noqa: N818 - named after the exit code's meaning
    """A service, or something that trust rests on, cannot be reached."""

    exit_code = 4


def escape_unprintable(text: str) -> str:
    """Make one line of text that comes from elsewhere, in which nothing drives the terminal or
    looks like a line of ours.
    """
    return text if text.isprintable() else "".join(map(_escape_character, text))


def _escape_character(letter: str) -> str:
    return letter if letter.isprintable() else ascii(letter)[1:-1]
