"""What a run wrote, in order, as strace wrote it down: read, and done again on a disk that can lose its power."""

import re

from tests.faults.disk import File, Folder
from tests.faults.handed import Handed
from tests.faults.tracing import scenario, whole_lines

_TRACED = "openat,close,write,pwrite64,writev,ftruncate,rename,unlink,unlinkat,rmdir,mkdir,chmod,fchmod,fsync,fdatasync"
_OTHERS = "pwritev,pwritev2,renameat,renameat2,link,linkat,mkdirat,truncate,fallocate,copy_file_range,sendfile,fchmodat"
_LINE = re.compile(r"\d+ +(\w+)\((.*)\) += (-?\d+)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LONGEST = 1 << 20


def record(stage, path, statements, output, *injected):
    """Run a stage and write down all it asks of the disk, with faults if they are given.

    Gives the calls in order; those that failed are left out, except for syncs.
    """
    options = ["-xx", "-s", str(_LONGEST), "-e", f"trace={_TRACED},{_OTHERS}", *injected]
    code, handed = scenario(stage, path, statements, *options, output=output)
    assert injected or (code, handed.failures) == (0, [])
    calls = []
    for line in whole_lines(output):
        matched = _LINE.match(line)
        if matched is not None and (int(matched[3]) >= 0 or matched[1] in ("fsync", "fdatasync")):
            texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(matched[2])]
            numbers = [int(part) for part in _TEXT.sub("", matched[2]).split(", ") if re.fullmatch(r"-?\d+", part)]
            calls.append((matched[1], texts, numbers, matched[2], int(matched[3])))
    return calls


class Replay:
    """A run that is done again, call by call."""

    def __init__(self, disk):
        self.disk = disk
        self.open = {}
        """Descriptor → what it is of, and how far it was written."""
        self.handed = Handed()

    def do(self, call):
        """Do a call again; tells whether it asked something of the disk."""
        name, texts, numbers, raw, result = call
        if name in _OTHERS.split(","):
            assert not any(self.disk.find(text.decode(errors="replace"))[2] for text in texts), f"{name} is not replayed"
            return False
        return getattr(self, f"_{name}")(texts, numbers, raw, result)

    def _openat(self, texts, _, raw, result):
        self.open.pop(result, None)
        folder, name, node = self.disk.find(texts[0].decode())
        if (folder is None and node is None) or name.endswith("-shm"):
            return False
        made = node is None
        if made:
            folder.change(**{name: (node := File(mode=int(raw.rpartition(", ")[2], 8)))})
        if "O_TRUNC" in raw:
            node.truncate(0)
        self.open[result] = [node, 0]
        return made

    def _close(self, _, numbers, __, ___):
        self.open.pop(numbers[0], None)
        return False

    def _write(self, texts, numbers, _, result):
        node = self.open.get(numbers[0])
        if node is not None:
            node[0].write(node[1], texts[0][:result])
            node[1] += result
        return node is not None

    def _pwrite64(self, texts, numbers, _, result):
        node = self.open.get(numbers[0])
        if node is not None:
            node[0].write(numbers[-1], texts[0][:result])
        return node is not None

    def _writev(self, texts, *_):
        """What goes out by `tests.faults.scenario.tell`: from now on it is handed out."""
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

    def _unlink(self, texts, *_):
        folder, name, node = self.disk.find(texts[-1].decode())
        if node is not None:
            folder.change(**{name: None})
        return node is not None

    _unlinkat = _rmdir = _unlink

    def _mkdir(self, texts, _numbers, raw, _result):
        folder, name, _ = self.disk.find(texts[0].decode())
        if folder is not None:
            folder.change(**{name: Folder(mode=int(raw.rpartition(", ")[2], 8) & 0o755)})
        return folder is not None

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
