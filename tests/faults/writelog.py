"""Parse the writes that strace recorded, and replay them on a disk that can lose its power."""

import re

from tests.faults.disk import File, Folder
from tests.faults.handed import Handed
from tests.faults.tracing import join_interrupted_lines, run_stage

_TRACED = (
    "openat,close,write,pwrite64,writev,ftruncate,rename,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,"
    "chmod,fchmod,fsync,fdatasync"
)
_OTHERS = "pwritev,pwritev2,renameat,renameat2,truncate,fallocate,copy_file_range,sendfile,fchmodat"
_BEGINS = "clone,clone3,fork,vfork"
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LONGEST = 1 << 20


def record(stage, path, statements, output, *injected):
    """Run a stage and record its disk calls, with faults if they are given.

    Returns the calls in order, without failed ones except for syncs.
    """
    code, handed = run_stage(
        stage, path, statements, *build_strace_options(), *injected, output=output
    )
    assert injected or (code, handed.failures) == (0, [])
    return parse_calls(output)


def build_strace_options():
    """Return the strace options that record all disk calls."""
    return ["-xx", "-s", str(_LONGEST), "-e", f"trace={_TRACED},{_OTHERS},{_BEGINS}"]


def parse_calls(output):
    """Return the recorded calls in order, with their processes; failed ones only if syncs."""
    found = [
        matched.groups()
        for line in join_interrupted_lines(output)
        if (matched := _LINE.match(line)) is not None
    ]
    # Threads share the open files of their process; processes do not.
    begun = {
        int(result): thread
        for thread, name, raw, result in found
        if name in _BEGINS.split(",") and "CLONE_THREAD" in raw
    }
    calls = []
    for thread, name, raw, result in found:
        if name not in _BEGINS.split(",") and (int(result) >= 0 or name in ("fsync", "fdatasync")):
            texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(raw)]
            numbers = [
                int(part) for part in _TEXT.sub("", raw).split(", ") if re.fullmatch(r"-?\d+", part)
            ]
            calls.append((name, texts, numbers, raw, int(result), _process(int(thread), begun)))
    return calls


def _process(thread, begun):
    while thread in begun:
        thread = int(begun[thread])
    return thread


class Replay:
    """A run that is replayed call by call."""

    def __init__(self, disk, handed=None):
        self.disk = disk
        self.opened = {}
        """Process → descriptor → the file, the write position (None to append), and the path."""
        self.open = {}
        """The descriptors of the process that makes the call."""
        self.handed = handed or Handed()

    def do(self, call):
        """Replay a call, and return whether it changed the disk."""
        name, texts, numbers, raw, result, process = call
        self.open = self.opened.setdefault(process, {})
        if name in _OTHERS.split(","):
            assert not any(self.disk.find(text.decode(errors="replace"))[2] for text in texts), (
                f"{name} is not replayed"
            )
            return False
        return getattr(self, f"_{name}")(texts, numbers, raw, result)

    def _path(self, text, numbers, raw):
        """Return a path; a relative one starts at the open folder."""
        path = text.decode(errors="replace").rstrip("/") or "/"
        if path.startswith("/") or not raw[0].isdigit() or numbers[0] not in self.open:
            return path
        return f"{self.open[numbers[0]][2]}/{path}"

    def _openat(self, texts, numbers, raw, result):
        path = self._path(texts[0], numbers, raw)
        self.open.pop(result, None)
        folder, name, node = self.disk.find(path)
        if (folder is None and node is None) or name.endswith("-shm"):
            return False
        is_new = node is None
        if is_new:
            folder.change(**{name: (node := File(mode=int(raw.rpartition(", ")[2], 8)))})
        if "O_TRUNC" in raw:
            node.truncate(0)
        self.open[result] = [node, None if "O_APPEND" in raw else 0, path]
        return is_new

    def _close(self, _, numbers, __, ___):
        self.open.pop(numbers[0], None)
        return False

    def _write(self, texts, numbers, _, result):
        node = self.open.get(numbers[0])
        if node is not None:
            at = len(node[0].left(None)) if node[1] is None else node[1]
            node[0].write(at, b"".join(texts)[:result])
            node[1] = None if node[1] is None else at + result
        return node is not None

    def _pwrite64(self, texts, numbers, _, result):
        node = self.open.get(numbers[0])
        if node is not None:
            node[0].write(numbers[-1], texts[0][:result])
        return node is not None

    def _writev(self, texts, numbers, raw, result):
        """Add output of `tests.faults.scenario.report`, which goes to a pipe: it is handed out now."""
        if numbers[0] in self.open:
            return self._write(texts, numbers, raw, result)
        for text in texts:
            self.handed.read(text)
        return False

    def _ftruncate(self, _, numbers, __, ___):
        node = self.open.get(numbers[0])
        if node is not None:
            node[0].truncate(numbers[1])
        return node is not None

    def _fsync(self, _, numbers, __, result):
        node = self.open.get(numbers[0])
        if node is not None and result < 0:
            node[0].fail()
        elif node is not None:
            node[0].sync()
        return node is not None

    _fdatasync = _fsync

    def _rename(self, texts, *_):
        folder, name, node = self.disk.find(texts[0].decode())
        other, new, _ = self.disk.find(texts[1].decode())
        if node is not None:
            assert folder is other, "a move between folders is not replayed"
            folder.change(**{name: None, new: node})
        return node is not None

    def _link(self, texts, *_):
        node = self.disk.find(texts[0].decode())[2]
        folder, name, _ = self.disk.find(texts[1].decode())
        if node is not None:
            folder.change(**{name: node})
        return node is not None

    # Python 3.14 calls linkat, from and to whole paths.
    _linkat = _link

    def _unlink(self, texts, numbers, raw, _result):
        folder, name, node = self.disk.find(self._path(texts[-1], numbers, raw))
        if node is not None:
            folder.change(**{name: None})
        return node is not None

    _unlinkat = _rmdir = _unlink

    def _mkdir(self, texts, numbers, raw, _result):
        folder, name, _ = self.disk.find(self._path(texts[0], numbers, raw))
        if folder is not None:
            folder.change(**{name: Folder(mode=int(raw.rpartition(", ")[2], 8) & 0o755)})
        return folder is not None

    _mkdirat = _mkdir

    def _chmod(self, texts, _, raw, __):
        node = self.disk.find(texts[0].decode())[2]
        if node is not None:
            node.mode = int(raw.rpartition(", ")[2], 8)
        return False

    def _fchmod(self, _, numbers, raw, __):
        node = self.open.get(numbers[0])
        if node is not None:
            node[0].mode = int(raw.rpartition(", ")[2], 8)
        return False
