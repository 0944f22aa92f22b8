"""A process that has loaded the command, and runs it in a fork of itself: a real process each time,
without the time to load.

What the interpreter takes from its environment when it starts is that of this process; who needs
another starts it itself.
"""

import array
import atexit
import contextlib
import functools
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_HEAD = 8
_AT_START = ("PYTHON", "LC_", "LANG")
_FLUSH_FAILED = 120
"""The exit code of an interpreter that cannot flush its standard streams."""


class Forking:
    """A server process that forks to run each command."""

    def __init__(self, environment=None):
        """Start the process; the environment decides what the interpreter reads from it, such as
        PYTHONUNBUFFERED.
        """
        self.socket, theirs = socket.socketpair()
        with theirs:
            # It ends when nobody can ask it any more.
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                cwd=_ROOT,
                env=environment,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self.close)

    def close(self):
        self.socket.close()
        self.process.wait()

    def run(self, arguments, cwd, environment, handles):
        """Run the command; gives its exit code, or minus the signal that ended it."""
        asked = json.dumps([arguments, os.fspath(cwd), environment]).encode()
        head = len(asked).to_bytes(_HEAD, "big")
        self.socket.sendmsg(
            [head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handles))]
        )
        self.socket.sendall(asked)
        return int.from_bytes(_exactly(self.socket, _HEAD), "big", signed=True)


_forking = functools.cache(Forking)


def run(arguments, cwd, environment, stdin=b""):
    """Run the command to its end, in a fork where that is the same."""
    arguments = list(map(str, arguments))
    if any(
        environment.get(name) != os.environ.get(name)
        for name in {*environment, *os.environ}
        if name.startswith(_AT_START)
    ):
        command = [sys.executable, "-m", "vacr", *arguments]
        return subprocess.run(
            command, input=stdin, cwd=cwd, env=environment, capture_output=True, check=False
        )
    given, giving = os.pipe()
    feeding = threading.Thread(target=_feed, args=(giving, stdin))
    feeding.start()
    with os.fdopen(given), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _forking().run(arguments, cwd, environment, [given, out.fileno(), err.fileno()])
        out.seek(0)
        err.seek(0)
        done = subprocess.CompletedProcess(["vacr", *arguments], code, out.read(), err.read())
    feeding.join()
    return done


def _feed(handle, data):
    with contextlib.suppress(BrokenPipeError), os.fdopen(handle, "wb") as pipe:
        pipe.write(data)


def _exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _asked(connection):
    """Give what is to be run, or nothing at the end."""
    handles = array.array("i")
    head, auxiliary, *_ = connection.recvmsg(_HEAD, socket.CMSG_SPACE(3 * handles.itemsize))
    if not head:
        return None
    for _, _, data in auxiliary:
        handles.frombytes(data)
    return json.loads(_exactly(connection, int.from_bytes(head, "big"))), list(handles)


def _serve(connection):
    """Answer until nobody asks any more; in a fork, come back with the command's arguments."""
    while (asked := _asked(connection)) is not None:
        (arguments, cwd, environment), handles = asked
        child = os.fork()
        if not child:
            connection.close()
            for number, handle in enumerate(handles):
                os.dup2(handle, number)
                os.close(handle)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(environment)
            return arguments
        for handle in handles:
            os.close(handle)
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(_HEAD, "big", signed=True))
    return None


def _code_of(main):
    """Run the command, and give its exit code."""
    try:
        main()
    except SystemExit as error:
        return error.code
    return 0


def _end(code):
    """End as the interpreter does, but for taking all modules apart."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = _FLUSH_FAILED
    os._exit(code or 0)


if __name__ == "__main__":
    from vacr.__main__ import main
    from vacr.cli import group

    for verb in group.verbs:
        command = group.get_command(None, verb)
        for one in getattr(command, "verbs", ()):
            command.get_command(None, one)
    # What is loaded stays: a fork that looked through it for garbage, or took it apart at its end,
    # would copy all of it.
    gc.collect()
    gc.freeze()
    found = _serve(socket.socket(fileno=int(sys.argv[1])))
    if found is not None:
        sys.argv[:] = ["vacr", *found]
        _end(_code_of(main))
