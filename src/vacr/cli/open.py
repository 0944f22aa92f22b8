"""`vacr open`, and `vacr` alone: the local app over all conversations on this machine.

The app runs until Ctrl-C. The browser gets its address from a file that only the user can read,
because the address has the token of the app in it, and anybody can read the arguments of a process.
"""

from __future__ import annotations

import os
import signal
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from vacr.cli.index_answers import open_fresh_index
from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import Voice
from vacr.errors import UnreadableInput
from vacr.files import find_state_folder


@click.command(cls=Verb)
@click.argument("session", required=False, metavar="[ID|latest|PATH]", type=PATH)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen at.  [default: any free port]",
)
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening a browser.")
@voice_options
def command(
    session: str | None,
    port: int,
    no_browser: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Open the app: all conversations of all agents on this machine, in a browser.

    It lists and searches them, and follows running sessions. Only you can open it: the server
    listens on this machine alone, and its address has a secret token. Nothing leaves the machine.
    Ctrl-C ends the app. ID is the id of a session, as `vacr list` shows it; `latest` opens the
    session that was used last. With the PATH of other records or sessions, or of a folder of them,
    the app shows only these.

    \b
    Example:
      vacr
      vacr open latest
      vacr open records/
      vacr open --no-browser --port 8765
    """
    voice = Voice(format, quiet, verbose)
    return open_app(session, port=port, opens=not no_browser, voice=voice)


def open_app(
    session: str | None = None,
    *,
    port: int = 0,
    opens: bool = True,
    voice: Voice | None = None,
) -> int:
    """Run the app until Ctrl-C, and return 0.

    `session` names the session to show first, or is the path of records or sessions; without it,
    the app shows its list. Port 0 is any free port. `opens` shows the app in the browser; otherwise
    its address is printed.

    Raises:
        UnreadableInput: no session has that name, none is at that path, or the port is in use.
    """
    from vacr.archive import SearchIndex
    from vacr.workflows import find_session_at, find_session_id

    voice = voice or Voice("text", quiet=False, verbose=0)
    state = find_state_folder(os.environ)
    SearchIndex.open(state).close()  # The app would fail later, with less words.
    if session is None:
        return _run_app(state, (), "", port, voice, opens=opens)
    if not os.path.lexists(session):
        return _run_app(state, (), find_session_id(session), port, voice, opens=opens)
    known = find_session_at(session)
    if known is not None:
        return _run_app(state, (), known, port, voice, opens=opens)
    with open_fresh_index(voice, (session,)) as index:
        with index.reading():
            found = index.connection.execute(
                "SELECT DISTINCT session FROM records WHERE NOT is_repeated AND parent = ''"
            ).fetchall()
        if index.is_empty:
            raise UnreadableInput(
                "no records or sessions found", where=session, hint="To find sessions: vacr list -v"
            )
        only = found[0][0] if len(found) == 1 else ""
        return _run_app(index.state, (session,), only, port, voice, opens=opens)


def _run_app(
    state: Path, paths: tuple[str, ...], session_id: str, port: int, voice: Voice, *, opens: bool
) -> int:
    """Run the app over the index in a state folder until Ctrl-C, and return 0.

    Raises:
        UnreadableInput: the port is in use.
    """
    from vacr.app import LocalApp

    try:
        app = LocalApp(state, port=port, paths=paths)
    except OSError as error:
        raise UnreadableInput(
            f"cannot listen: {error.strerror or error}",
            where=f"127.0.0.1:{port}",
            hint="Choose another port with --port.",
        ) from error
    signal.signal(signal.SIGTERM, _end_process)
    with app, suppress(KeyboardInterrupt):
        address = app.make_address(session_id)
        redirect = app.write_redirect_file(session_id)
        try:
            voice.data({"address": address})
            if not opens or not webbrowser.open(redirect.as_uri()):
                voice.result(f"Open this address in a browser: {address}")
                voice.result(
                    "Ctrl-C ends it. Anyone with this address can read your conversations."
                )
            else:
                voice.result("The app is open in your browser. Ctrl-C ends it.")
            app.serve_forever()
        finally:
            redirect.unlink(missing_ok=True)
    return 0


def _end_process(_signal: int, _frame: FrameType | None) -> NoReturn:
    """End the process with exit code 0, after its cleanup."""
    raise SystemExit(0)
