"""The viewer from the package, run in Node as the worker of a page."""

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from vacr.viewer import page
from vacr.viewer.content import ImagePart, TextPart

PAGE = Path(page.__file__).with_name("page.html")
LIMIT_CPU_TIME = ["sh", "-c", 'ulimit -t 20; exec "$@"', "sh"]
"""The words before a command that end it after 20 s of computing."""
NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


class Viewer:
    """A Node process that answers one request per line."""

    def __init__(self, now: float = 0, lacking: str = "", limits: Sequence[str] = ()):
        script = str(Path(__file__).with_name("in_node.mjs"))
        self.process = subprocess.Popen(
            [*limits, "node", script, str(PAGE), str(int(now * 1000)), lacking],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def open_records(self, *records: bytes, statements=None, **island) -> dict:
        """Open records as a page does; return the replies of the worker by kind, and all rows."""
        description = {
            "title": "",
            "producer": "",
            "keys": [],
            "logKeys": [],
            "roots": False,
            "entryRule": "statement",
            "parties": [],
            "logs": [],
            "witnesses": [],
            "witnessesRequired": 0,
            "timestamps": False,
            "namesOnly": False,
            "lacksSigners": False,
            "lacksLogs": False,
            "witnessesLeftOut": 0,
            "filter": None,
        }
        request = {
            "do": "open",
            "island": {
                **description,
                "records": [
                    {"name": f"r{number}", "verification": None} for number, _ in enumerate(records)
                ],
                **island,
            },
            "records": [base64.b64encode(gzip.compress(record)).decode() for record in records],
            "statements": [
                base64.b64encode(statement).decode() if statement is not None else None
                for statement in statements or [None] * len(records)
            ],
        }
        return self.ask(request)

    def filter_rows(self, **wanted) -> list[int]:
        """Return the indexes of the rows in the open records that match a filter."""
        no_filter = {
            "kinds": [],
            "tools": [],
            "text": "",
            "errors": False,
            "names": [],
            "repeated": False,
        }
        request = {"do": "filter", "number": 1, "filter": {**no_filter, **wanted}}
        return self.ask(request)["matches"]["rows"]

    def ask(self, request: dict) -> dict:
        """Send a request; return the replies by kind, and all rows."""
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        replies: dict = {"rows": []}
        for reply in json.loads(self.process.stdout.readline()):
            if reply["is"] == "rows":
                replies["rows"] += reply["rows"]
            else:
                replies[reply["is"]] = reply
        return replies

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def convert_row(row) -> dict:
    """Convert a row of Python to a row of the page."""
    converted = {
        "".join(
            part if not at else part.title() for at, part in enumerate(f.name.split("_"))
        ): getattr(row, f.name)
        for f in fields(row)
    }
    del converted["entry"]
    converted["parts"] = [_convert_part(part) for part in row.parts]
    converted["diffs"] = [
        {"path": diff.path, "what": diff.kind, "lines": diff.lines} for diff in row.diffs
    ]
    converted["result"] = convert_row(row.result) if is_dataclass(row.result) else None
    return converted


def _convert_part(part) -> dict:
    if isinstance(part, TextPart):
        return {"is": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {
            "is": "image",
            "mediaType": part.media_type,
            "data": part.data,
            "address": part.address,
            "name": part.name,
        }
    return {"is": "other", "kind": part.kind, "value": part.value}
