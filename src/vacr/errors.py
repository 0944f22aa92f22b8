"""The errors of vacr: one base class and few families, each with an exit code of the command.

A message states the fact, the place (a file and line, or a JSON pointer), the found and expected
values, and the next step. The README lists the exit codes.
"""

from __future__ import annotations


class VacrError(Exception):
    """The base class of all errors that vacr raises on purpose."""

    exit_code = 70

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        """Store the message, the place (a file and line, or a pointer), and the next step."""
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def diagnostics(self) -> str:
        """Return the place and the message, and the hint, if any, on a second line.

        Control characters are escaped, so the text is safe to print.
        """
        hint = f"\n  {escape_unprintable(self.hint)}" if self.hint else ""
        return escape_unprintable(str(self)) + hint

    def __str__(self) -> str:
        """Return `place: message`, or the message alone if the place is unknown."""
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(VacrError):
    """The command or call was wrong: an option, a name or a combination that does not exist."""

    exit_code = 2


class UnreadableInput(VacrError):
    """The input cannot be read or recognised, so it gets no verdict."""

    exit_code = 3


class UnwritableOutput(VacrError):
    """The output cannot be written, for example because the disk is full."""

    exit_code = 3


class NotASession(UnreadableInput):
    """The input can be read, but is not a session of a known agent."""


class PluginError(UnreadableInput):
    """An agent from a plugin package failed to read or describe a session."""

    record: object = None
    """The record whose attribution failed, if known."""


class InvalidSchema(UnreadableInput):
    """A CDDL text cannot be compiled."""


class InvalidRecord(VacrError):
    """The input was read and checked, and is not valid."""

    exit_code = 1


class InvalidStatement(VacrError):
    """The check of a signature, or of its payload, failed; `reason` names the check in one word."""

    exit_code = 1

    def __init__(self, message: str, *, reason: str, where: str = "", hint: str = "") -> None:
        """Store the message for people, and the reason code for programs."""
        super().__init__(message, where=where, hint=hint)
        self.reason = reason


class Unreachable(VacrError):
    """A service, or material that trust depends on, cannot be reached."""

    exit_code = 4


def escape_unprintable(text: str) -> str:
    r"""Return untrusted text as one line, with unprintable characters escaped, such as `\x1b`.

    So the text cannot control the terminal, or imitate other lines of the output.
    """
    return text if text.isprintable() else "".join(map(_escape_character, text))


def _escape_character(character: str) -> str:
    r"""Return an unprintable character as an escape such as `\x1b`; others stay."""
    return character if character.isprintable() else ascii(character)[1:-1]
