"""What trust rests on, as the inputs of an action name it: files of keys and certificates, or their
text.

A pull request may change any file of the repository. A key that the repository holds is therefore
taken as the base has it, and one that the pull request itself brings along is left out: it is
trusted when it has been merged. A link or a submodule of the repository leads to what the pull
request chooses, so what lies behind one is brought along as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vacr.action.workflow import read_input, read_input_lines
from vacr.blame import Repository, find_work_tree_names
from vacr.errors import Unreachable
from vacr.signing import RECEIPT_KEYS_FILE

_PEM_START = "-----BEGIN "
TRUST_INPUT = "trust"


@dataclass
class InputKeys:
    """The keys that inputs name, as files in a folder of our own or where they are."""

    folder: Path
    repository: Repository | None = None
    base: str | None = None
    remarks: list[str] = field(default_factory=list)
    """What is worth knowing: which keys were not taken, or not as they are in the work tree."""

    def files(self, name: str) -> tuple[str, ...]:
        """Give the files that hold what an input names.

        Raises:
            Unreachable: none of them is left, and without them less would be asked for.
        """
        text = read_input(name)
        if _PEM_START in text:
            return (self._kept(f"{name}.pem", text.encode() + b"\n"),)
        found = tuple(
            file for path in read_input_lines(name) if (file := self._file(name, path)) is not None
        )
        # Who trusts nobody believes no record; who knows no log would need no receipt.
        if text and not found and name != TRUST_INPUT:
            raise Unreachable(
                f"the base has nothing of what {name} names", hint="; ".join(self.remarks)
            )
        return found

    def _file(self, name: str, path: str) -> str | None:
        if self.repository is None:
            return path
        names = find_work_tree_names(self.repository, path)
        tree = self.repository.tree(self.base) if self.base is not None else {}
        # The keys of a log may be named by its folder.
        for inside in ("", f"/{RECEIPT_KEYS_FILE}"):
            if names and names[0] + inside in tree:
                data = self.repository.blob(tree[names[0] + inside])
                if not _has_content(path + inside, data):
                    self.remarks.append(
                        f"{path}{inside} is taken as the base has it, not as it is here"
                    )
                return self._kept(f"{name}-{names[0].replace('/', '-')}", data)
        head = self.repository.commit("HEAD")
        if not any(self.repository.holds(head, one) for one in names):
            return path
        if self.base is None:
            self.remarks.append(
                f"{path} is taken as it is here: there is no base, so whoever made these "
                "commits may have brought it"
            )
            return path
        self.remarks.append(
            f"{path} is left out: the base does not have it, so whoever made these commits may "
            "have brought it"
        )
        return None

    def _kept(self, name: str, data: bytes) -> str:
        kept = self.folder / f"{len(list(self.folder.iterdir()))}-{name}"
        kept.write_bytes(data)
        return str(kept)


def _has_content(path: str, data: bytes) -> bool:
    try:
        return Path(path).read_bytes() == data
    except OSError:
        return False
