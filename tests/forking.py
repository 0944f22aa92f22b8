"""Run `vacr` in forks of a server process that has loaded it: real processes, without start-up.

`run` runs one command for a test. `serve_shell` makes a `vacr` for the PATH of a shell: a small
script that hands its arguments, streams, folder and variables to a fork, and passes signals on.

A fork cannot change the settings that Python reads from the environment when it starts. For other
settings, `run` starts a new interpreter.
"""

import array
import atexit
import contextlib
import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_HEAD = 8
# `run` starts an interpreter for another LANG or TZ, too. The shells of the docs have one of their own,
# which makes no difference, because all locales that they use are in UTF-8.
_START_VARIABLES = ("PYTHON", "LC_")
_FLUSH_FAILED = 120
"""The exit code of an interpreter that cannot flush its standard streams."""


class Forking:
    """A server process that forks to run each command."""

    def __init__(self, environment=None):
        """Start the server; its environment has the settings of the interpreter."""
        self.socket, server_end = socket.socketpair()
        with server_end:
            # The server ends when this end of the socket is closed.
            command = [sys.executable, "-m", __name__, str(server_end.fileno())]
            self.process = subprocess.Popen(
                command,
                pass_fds=[server_end.fileno()],
                cwd=_ROOT,
                env=environment,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self.close)

    def close(self):
        self.socket.close()
        self.process.wait()

    def run(self, arguments, cwd, environment, handles):
        """Run the command, and return its exit code, or minus the signal that ended it."""
        request = json.dumps([arguments, os.fspath(cwd), environment]).encode()
        head = len(request).to_bytes(_HEAD, "big")
        self.socket.sendmsg(
            [head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handles))]
        )
        self.socket.sendall(request)
        return int.from_bytes(_receive_exactly(self.socket, _HEAD), "big", signed=True)


_get_server = functools.cache(Forking)


def run(arguments, cwd, environment, stdin=b""):
    """Run the command to its end, in a fork if that makes no difference."""
    arguments = list(map(str, arguments))
    if any(
        environment.get(name) != os.environ.get(name)
        for name in {*environment, *os.environ}
        if name.startswith((*_START_VARIABLES, "LANG", "TZ"))
    ):
        command = [sys.executable, "-m", "vacr", *arguments]
        return subprocess.run(
            command, input=stdin, cwd=cwd, env=environment, capture_output=True, check=False
        )
    read_end, write_end = os.pipe()
    writer = threading.Thread(target=_write_input, args=(write_end, stdin))
    writer.start()
    with os.fdopen(read_end), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        handles = [read_end, out.fileno(), err.fileno()]
        code = _get_server().run(arguments, cwd, environment, handles)
        out.seek(0)
        err.seek(0)
        result = subprocess.CompletedProcess(["vacr", *arguments], code, out.read(), err.read())
    writer.join()
    return result


def _write_input(handle, data):
    with contextlib.suppress(BrokenPipeError), os.fdopen(handle, "wb") as pipe:
        pipe.write(data)


_SHELL_COMMAND = """#!{python} -IS
import array, json, os, signal, socket, sys
if any(name.startswith({start_variables!r}) for name in os.environ):
    os.execv(sys.executable, [sys.executable, "-m", "vacr", *sys.argv[1:]])
passed = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
signal.pthread_sigmask(signal.SIG_BLOCK, passed)  # Until the command has begun.
connection = socket.socket(socket.AF_UNIX)
connection.connect({address!r})
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
streams = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
connection.sendmsg([len(request).to_bytes({head}, "big")], [streams])
connection.sendall(request)
answers = connection.makefile("rb")
process = int.from_bytes(answers.read({head}), "big")
last = signal.SIGSEGV
def pass_on(number, _):
    global last
    last = number
    try:
        os.kill(process, number)
    except ProcessLookupError:  # It ended at this moment.
        pass
for number in passed:
    signal.signal(number, pass_on)
signal.pthread_sigmask(signal.SIG_UNBLOCK, passed)
code = answers.read({head})
# Without a code, a signal ended the command: the last one passed on, or one of its own.
sys.exit(int.from_bytes(code, "big") if code else 128 + last)
"""
"""A program that imports only what it needs, so that it starts in a few milliseconds."""


@contextlib.contextmanager
def serve_shell():
    """Yield a folder with a `vacr` that runs in forks; put it first in the PATH of a shell."""
    with (
        tempfile.TemporaryDirectory() as folder,  # The address of a socket must be short.
        socket.socket(socket.AF_UNIX) as listening,
    ):
        address = str(Path(folder, "socket"))
        listening.bind(address)
        listening.listen()
        command = Path(folder, "bin", "vacr")
        command.parent.mkdir()
        script = _SHELL_COMMAND.format(
            python=sys.executable, address=address, head=_HEAD, start_variables=_START_VARIABLES
        )
        command.write_text(script)
        command.chmod(0o755)
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, "shell", str(listening.fileno())],
            pass_fds=[listening.fileno()],
            cwd=_ROOT,
        )
        try:
            yield command.parent
        finally:
            server.terminate()
            server.wait()


def _receive_exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _receive_request(connection):
    """Return the next request and its standard streams, or None at the end."""
    handles = array.array("i")
    head, auxiliary, *_ = connection.recvmsg(_HEAD, socket.CMSG_SPACE(3 * handles.itemsize))
    if not head:
        return None
    for _, _, data in auxiliary:
        handles.frombytes(data)
    return json.loads(_receive_exactly(connection, int.from_bytes(head, "big"))), list(handles)


def _serve(connection):
    """Serve all requests, then return None; in a fork, return the arguments of its command."""
    while (request := _receive_request(connection)) is not None:
        (arguments, cwd, environment), handles = request
        child = os.fork()
        if not child:
            connection.close()
            _take_over(cwd, environment, handles)
            return arguments
        for handle in handles:
            os.close(handle)
        _, status = os.waitpid(child, 0)
        connection.sendall(_encode_number(os.waitstatus_to_exitcode(status)))
    return None


def _serve_shell(listening):
    """Serve the commands of a shell; in a fork, return its connection and its arguments."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody waits for the forks.
    while True:
        connection, _ = listening.accept()
        if not os.fork():
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            connection.sendall(_encode_number(os.getpid()))
            (arguments, cwd, environment), handles = _receive_request(connection)
            _take_over(cwd, environment, handles)
            return connection, arguments
        connection.close()


def _take_over(cwd, environment, handles):
    """Become a process with these standard streams, this folder and these variables."""
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)


def _encode_number(number):
    return number.to_bytes(_HEAD, "big", signed=True)


def _run_main(main):
    """Run the command, and return its exit code."""
    try:
        main()
    except SystemExit as error:
        return error.code
    return 0


def _end_process(code, connection=None):
    """End as the interpreter does, except that modules are not destroyed.

    With a `connection`, first send the exit code to the command of a shell.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = _FLUSH_FAILED
    if connection is not None:
        connection.sendall(_encode_number(code or 0))
    os._exit(code or 0)


def _load_command():
    """Load the verbs, and what every process would compute again: schemas, prices, patterns."""
    import vacr
    from vacr.cli import group
    from vacr.viewer import load_price_table

    for verb in group.verbs:
        command = group.get_command(None, verb)
        for subverb in getattr(command, "verbs", ()):
            command.get_command(None, subverb)
    load_price_table()
    for path in sorted((_ROOT / "examples").iterdir()):
        for record in vacr.read(path):
            vacr.validate(record)


if __name__ == "__main__":
    from vacr.__main__ import main

    _load_command()
    # A garbage collection in a fork would copy every page of memory that the fork shares.
    gc.collect()
    gc.freeze()
    shell, command_arguments = None, None
    if sys.argv[1] == "shell":
        shell, command_arguments = _serve_shell(socket.socket(fileno=int(sys.argv[2])))
    else:
        command_arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    if command_arguments is not None:
        sys.argv[:] = ["vacr", *command_arguments]
        _end_process(_run_main(main), shell)
