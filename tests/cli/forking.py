"""A process that has loaded the command, and runs it in a fork of itself: a real process each time, without the time to load.

What the interpreter takes from its environment when it starts is that of this process; who needs another starts it itself.
"""

import array
import json
import os
import socket
import subprocess
import sys
from importlib import import_module

_HEAD = 8
_AT_START = ("PYTHON", "LC_", "LANG")


class Forking:
    """The process, and how it is asked."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        self.socket = ours

    def close(self):
        self.socket.close()
        self.process.wait()

    @staticmethod
    def can(environment):
        """Tell whether a run with these variables can be a fork."""
        return all(environment.get(name) == os.environ.get(name) for name in {*environment, *os.environ} if _matters(name))

    def run(self, arguments, cwd, environment, stdin, stdout, stderr):
        """Run the command; gives its exit code, or minus the signal that ended it."""
        asked = json.dumps([arguments, os.fspath(cwd), environment]).encode()
        handles = array.array("i", [stdin, stdout, stderr])
        self.socket.sendmsg([len(asked).to_bytes(_HEAD, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
        self.socket.sendall(asked)
        return int.from_bytes(_exactly(self.socket, _HEAD), "big", signed=True)


def _matters(name):
    return name.startswith(_AT_START)


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


if __name__ == "__main__":
    from vacr.__main__ import main
    from vacr.cli import group

    for verb in group.verbs:
        command = import_module(f"vacr.cli.{verb}").command
        for one in getattr(command, "verbs", ()):
            import_module(f"{command.package}.{one}")
    found = _serve(socket.socket(fileno=int(sys.argv[1])))
    if found is not None:
        sys.argv[:] = ["vacr", *found]
        main()
