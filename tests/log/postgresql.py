"""A real PostgreSQL, started and stopped by the test that needs it, as an unprivileged user."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def binaries():
    """Return the folder with initdb and postgres, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("postgres")
    return Path(elsewhere).parent if elsewhere else None


def state_of(path):
    """Return the state and the parent of a process."""
    try:
        state, parent, *_ = path.read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return state, int(parent)


def alive(pid):
    return state_of(Path(f"/proc/{pid}/stat"))[0] != "Z"


class PostgreSQL:
    """A server with a folder of its own, reached by a socket in it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="vacr-pg-"))
        self.owner = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.owner = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        initdb = [
            binaries() / "initdb",
            "-D",
            self.data,
            "-U",
            "vacr",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd=self.folder, **self.owner)
        self.process = None
        self.start()

    def start(self):
        settings = [
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            "max_connections=40",
        ]
        command = [binaries() / "postgres", "-D", self.data]
        for setting in settings:
            command += ["-c", setting]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, **self.owner
            )
        ready = [binaries() / "pg_isready", "-q", "-h", self.folder]
        while subprocess.run(ready).returncode:
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.05)

    def kill(self):
        """Kill all its processes at once, as a power cut would."""
        self.process.send_signal(signal.SIGSTOP)  # so that it starts no other process
        children = [pid for pid, state in self.children().items() if state != "Z"]
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        while any(alive(pid) for pid in children):
            time.sleep(0.01)

    def children(self):
        """Return the processes that it has started, each with its state."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            state, parent = state_of(path)
            if parent == self.process.pid:
                found[int(path.parent.name)] = state
        return found

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # "immediate": unwritten data is not needed
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self, name):
        """Create an empty database, and return its address."""
        command = [binaries() / "createdb", "-h", self.folder, "-U", "vacr", name]
        subprocess.run(command, check=True, capture_output=True)
        return f"postgresql://vacr@/{name}?host={self.folder}"
