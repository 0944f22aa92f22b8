"""The viewer that ships in the package, run in node as its worker runs."""

import base64
import gzip
import json
import shutil
import subprocess
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from vacr.viewer import page
from vacr.viewer.parts import ImagePart, TextPart

PAGE = Path(page.__file__).with_name("page.html")
NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")


class Viewer:
    """One process of node, which answers line by line."""

    def __init__(self, now: float = 0, lacking: str = ""):
        script = str(Path(__file__).with_name("in_node.mjs"))
        self.process = subprocess.Popen(
            ["node", script, str(PAGE), str(int(now * 1000)), lacking],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def opened(self, *records: bytes, statements=None, **island) -> dict:
        """Open records as a page does, and give all that the worker tells, by its kind; rows
        together.
        """
        described = {
            "title": "",
            "made": "",
            "keys": [],
            "logKeys": [],
            "roots": False,
            "entryRule": "statement",
            "filter": None,
        }
        asked = {
            "do": "open",
            "island": {
                **described,
                "records": [{"name": f"r{at}", "found": None} for at, _ in enumerate(records)],
                **island,
            },
            "records": [base64.b64encode(gzip.compress(one)).decode() for one in records],
            "statements": [
                base64.b64encode(one).decode() if one is not None else None
                for one in statements or [None] * len(records)
            ],
        }
        return self.ask(asked)

    def chosen(self, **wanted) -> list[int]:
        """Have rows chosen among those of the last records."""
        everything = {
            "kinds": [],
            "tools": [],
            "text": "",
            "errors": False,
            "names": [],
            "repeated": False,
        }
        return self.ask({"do": "choose", "ask": 1, "filter": {**everything, **wanted}})["chosen"][
            "rows"
        ]

    def ask(self, asked: dict) -> dict:
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        told: dict = {"rows": []}
        for one in json.loads(self.process.stdout.readline()):
            if one["is"] == "rows":
                told["rows"] += one["rows"]
            else:
                told[one["is"]] = one
        return told

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def row_as_page(row) -> dict:
    """Write a row of Python as the page has it."""
    made = {
        "".join(
            part if not at else part.title() for at, part in enumerate(f.name.split("_"))
        ): getattr(row, f.name)
        for f in fields(row)
    }
    del made["entry"]
    made["parts"] = [_part(part) for part in row.parts]
    made["diffs"] = [
        {"path": diff.path, "what": diff.kind, "lines": diff.lines} for diff in row.diffs
    ]
    made["result"] = row_as_page(row.result) if is_dataclass(row.result) else None
    return made


def _part(part) -> dict:
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
