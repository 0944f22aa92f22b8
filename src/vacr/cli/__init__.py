"""The command line: parse the options, call a workflow, and print the result.

Each verb has a module, which is loaded when the verb is used:

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["--version"])
    vacr ...
    0

Results go to standard output and everything else to standard error. The exit code is the same for
all verbs, and no stack trace reaches the user.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

import click

from vacr.cli.options import EXIT_FINDINGS
from vacr.cli.verbs import LazyVerbGroup
from vacr.console import (
    check_output,
    discard_output,
    flush_streams,
    is_reader_gone,
    make_lines_printable,
    prepare_streams,
    print_diagnostics,
    print_message,
    print_text,
)
from vacr.errors import PluginError, UnreadableInput, UnwritableOutput, UsageError, VacrError
from vacr.version import __version__

EXIT_INTERRUPTED = 130
_OPTIONS_HEADING = "\nOptions:\n"
EXIT_BUG = 70
EXIT_CODES = {
    0: "success",
    1: "check failed, or nothing found",
    2: "usage error",
    3: "input unreadable or unsupported, or output not writable",
    4: "service unreachable",
    EXIT_FINDINGS: "findings under --strict",
    EXIT_BUG: "bug",
    EXIT_INTERRUPTED: "interrupted",
}


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli",
    verbs={
        "init": "Set up a key, a trust store and a log, once.",
        "doctor": "Find what is wrong or at risk on this machine, with the fixes.",
        "open": "Open the app: all conversations on this machine, in a browser.",
        "list": "List the sessions of all agents on this machine.",
        "record": "Turn native sessions into records.",
        "search": "Search the text of all conversations.",
        "sql": "Ask questions about all conversations in SQL.",
        "show": "Show a conversation in the terminal.",
        "view": "Write a conversation as a web page that verifies itself.",
        "stats": "Add up tokens, cost, tools and time, or the lines of commits.",
        "export": "Write records in the formats of other tools.",
        "import": "Turn documents of other tools into records.",
        "restore": "Restore the native files of a record.",
        "validate": "Check records against their schema.",
        "attribute": "Add to records which lines the agent wrote.",
        "replay": "Rebuild the files that sessions changed.",
        "blame": "Show who wrote the lines of a file or a commit.",
        "notes": "Share the attribution of commits as git notes.",
        "convert": "Convert records to another encoding or version.",
        "key": "Generate signing keys, and show their thumbprints.",
        "sign": "Sign records or native sessions.",
        "register": "Register statements in a transparency log.",
        "seal": "Record, attribute, validate, sign, register and verify in one step.",
        "verify": "Verify signed records.",
        "trust": "Name the people and services that you trust.",
        "hook": "Install hooks, so that agents report what they do.",
        "watch": "Capture the sessions of all agents as they happen.",
        "keep": "Keep the sessions that agents delete soon.",
        "journal": "Verify the journal of captured sessions.",
        "acp": "Record the conversation between an editor and its agent.",
        "evidence": "Prove which software recorded a session, and check that.",
        "log": "Create, serve and check a transparency log.",
        "lsp": "Show in an editor which agent wrote a line, and why.",
        "mcp": "Let agents search and check past conversations.",
        "inspect": "Show the content of a signed statement, or of any CBOR.",
        "schema": "Show a schema, or generate instances of it.",
        "completion": "Print the completion script for a shell.",
    },
    modules={"completion": "verbs"},
    moved=dict.fromkeys(("attest", "endorse", "appraise"), "evidence"),
    meanings={
        "blame": "annotate audit praise who why",
        "doctor": "diagnose health status",
        "init": "config configure settings setup",
        "keep": "archive backup save",
        "list": "history ls sessions",
        "open": "app browse gui serve start ui web",
        "search": "find grep",
        "seal": "certify prove",
        "show": "cat less print read session",
        "sql": "db query",
        "stats": "cost costs price spend spending summary tokens usage",
        "verify": "check",
        "view": "html page publish share",
        "watch": "capture follow tail",
        "--version": "version",
    },
    headings={
        "Every day": "open list search show stats blame",
        "Proof": "seal verify trust",
        "Share": "view export import",
        "Capture": "watch keep hook journal acp",
        "Run": "log mcp lsp",
        "Set up": "init doctor",
    },
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "VACR",
        "max_content_width": 100,
    },
    epilog="Exit codes: "
    f"{' · '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}. "
    "An option on the command line wins over its environment variable VACR_<VERB>_<OPTION>, "
    "which wins over the settings in vacr.toml; see vacr init.",
)
@click.version_option(__version__, "-V", "--version", message="vacr %(version)s")
@click.pass_context
def group(context: click.Context) -> int:
    """Find, show, prove and share what AI coding agents did.

    Without a command, vacr opens the app: all conversations on this machine, in a browser.

    \b
    Example:
      vacr list                      # the sessions on this machine
      vacr search connection refused # words in all of them
      vacr show latest               # the last conversation
      vacr blame src/app.py          # who wrote each line, and why
      vacr view latest --open        # a page to read and to share
    """
    if context.invoked_subcommand is not None:
        return 0
    if sys.stdin.isatty() and sys.stdout.isatty():
        from vacr.cli.open import open_app

        return open_app()
    print_text(context.get_help())
    return UsageError.exit_code


def main() -> None:
    """Run the command and end the process with its exit code."""
    # Exit functions run in reverse order: the first to be registered flushes last.
    atexit.register(flush_streams)
    exit_code = run_command_line()
    if exit_code == EXIT_INTERRUPTED:
        # Python would print errors of the threads of a terminated pool. Nothing is flushed: an
        # interrupted write to a full pipe would block again.
        os._exit(exit_code)
    sys.exit(exit_code)


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run a command, print its error if it fails, and return its exit code.

    The arguments default to the arguments of the process. With VACR_DEBUG set, bugs are raised.
    """
    # The environment must not change how long a number may be.
    sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
    try:
        prepare_streams()
        result: Any = group.main(arguments, prog_name="vacr", standalone_mode=False)
        check_output()
    except click.ClickException as error:
        _print_usage_error(error)
        return error.exit_code
    except VacrError as error:
        if isinstance(error, PluginError) and os.environ.get("VACR_DEBUG"):
            raise
        print_diagnostics(f"vacr: {error.diagnostics()}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as error:
        # click raises Abort also when an input ends too early.
        ended = isinstance(error.__cause__, EOFError)
        print_message(f"vacr: {'unexpected end of the input' if ended else 'interrupted'}")
        return UnreadableInput.exit_code if ended else EXIT_INTERRUPTED
    except (SystemExit, BrokenPipeError) as error:
        # click exits like this after completing words for a shell, and when a pipe breaks.
        if isinstance(error, SystemExit) and not error.code:
            return 0
        # The program that reads our output may end early, as `head` does.
        if is_reader_gone():
            discard_output()
            return 0
        print_message("vacr: cannot write: the program at the other end of a pipe has ended")
        return UnreadableInput.exit_code
    except OSError as error:
        print_message(make_lines_printable(f"vacr: {_describe_os_error(error)}"))
        return UnreadableInput.exit_code
    except MemoryError:
        print_message(
            "vacr: not enough memory\n  Give vacr more memory, or fewer or smaller files at a time."
        )
        return UnreadableInput.exit_code
    except Exception as error:
        if os.environ.get("VACR_DEBUG"):
            raise
        print_message(
            f"vacr: a bug in vacr: {type(error).__name__}: {make_lines_printable(str(error))}\n"
            "  Please report it, with the output of a run with VACR_DEBUG=1."
        )
        return EXIT_BUG
    return result if isinstance(result, int) else 0


def _print_usage_error(error: click.ClickException) -> None:
    """Print a wrong use of the command as click does, but broken between words."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_message(_format_short_help(error))
        return
    if context is not None:
        print_message(context.get_usage())
        print_message(f"Try '{context.command_path} --help' for help.\n")
    print_diagnostics(f"Error: {' '.join(error.format_message().split())}")


def _format_short_help(error: click.exceptions.NoArgsIsHelpError) -> str:
    """Return the help without the options: usage, purpose and examples; all of it for a group."""
    text = error.format_message()
    if isinstance(error.ctx.command, click.Group):
        return text
    usage, purpose, *_ = text.split("\n\n")
    _, found, examples = text.partition("  Example:\n")
    shown = f"\n\n  Example:\n{examples.partition(_OPTIONS_HEADING)[0].rstrip()}" if found else ""
    more = f"For all options: {error.ctx.command_path} --help"
    return f"{usage}\n\n{purpose}{shown}\n\n{more}"


def _describe_os_error(error: OSError) -> str:
    """Return the message for a system error: the file, if known, and the reason.

    If standard output cannot be written, return that instead: click prints help without a check.
    """
    try:
        check_output()
    except UnwritableOutput as failed:
        discard_output()
        return failed.diagnostics()
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
