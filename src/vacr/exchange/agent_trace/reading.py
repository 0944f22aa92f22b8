"""An Agent Trace record as a record of ours. Step: import.

Its files are the file attribution; it tells of no conversation, so there are no entries. Members
that a file attribution cannot have are kept beside, by their pointers, so that `restoring` puts
them back. A file may hold many traces, one a line, as the reference implementation stores them.
"""

from __future__ import annotations

from typing import Any

from vacr.codec import canonical_json
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange import schemas
from vacr.exchange.agent_trace import FORMAT
from vacr.exchange.agent_trace.hashes import parted
from vacr.model import Native
from vacr.readers.assemble import UNKNOWN, Reading, Session
from vacr.readers.source import Source
from vacr.timestamps import is_timestamp

BESIDE = "native-files"
"""Where a record keeps, by their pointers, what stood in files and cannot stand in a file
attribution.
"""
_CONTRIBUTOR = {"type": "type", "model_id": "model-id"}
_RANGE = {"start_line": "start-line", "end_line": "end-line"}


def read(source: Source) -> list[Reading]:
    """Make records of traces, not yet identified.

    Raises:
        UnreadableInput: it is no JSON.
        InvalidRecord: it is no Agent Trace.
    """
    return [_read(document, source, where) for where, document in documents(source.main.data)]


def documents(data: bytes) -> list[tuple[str, Any]]:
    """Give the value in a document with its place, or one value a line.

    Raises:
        UnreadableInput: it is neither.
    """
    try:
        return [("", canonical_json.decode(data))]
    except UnreadableInput:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - one line was tried already
            raise
        return [(f"line {number}: ", _line(number, line)) for number, line in lines]


def _line(number: int, line: bytes) -> Any:
    try:
        return canonical_json.decode(line)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=f"line {number}: {error.where}", hint=error.hint
        ) from error


def _read(document: Any, source: Source, where: str) -> Reading:
    try:
        schemas.check(
            document, "vacr.exchange.agent_trace", "agent-trace.cddl", "Agent Trace record"
        )
    except InvalidRecord as error:
        raise InvalidRecord(
            error.message, where=f"{where}{error.where}", hint=error.hint
        ) from error
    tool = document.pop("tool", None)
    session = Session(FORMAT, _taken(tool, "name") or UNKNOWN)
    session.cli_version = _taken(tool, "version")
    session.session_id = document.pop("id")
    if is_timestamp(document["timestamp"]):
        session.start = document.pop("timestamp")
    session.vcs = document.pop("vcs", {})
    beside: Native = {}
    files = [
        _file(file, f"/files/{number}", beside) for number, file in enumerate(document.pop("files"))
    ]
    for name in _models(files):
        session.models[name] += 1
    if tool is not None:
        # Also where nothing is left of it: that there was one is not to be forgotten.
        document["tool"] = tool
    session.native = document
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    if beside:
        record["vacr"][BESIDE] = beside
    return reading


def _taken(tool: Native | None, name: str) -> str | None:
    """Take a name out of what is said of the tool, unless it is one that stands for none."""
    return tool.pop(name) if tool and tool.get(name, UNKNOWN) not in ("", UNKNOWN) else None


def _models(files: list[Native]) -> list[str]:
    held = [one for file in files for one in file["conversations"]]
    held += [part for one in held for part in one["ranges"]]
    return [
        one["contributor"]["model-id"] for one in held if "model-id" in one.get("contributor", ())
    ]


def _file(file: Native, where: str, beside: Native) -> Native:
    made: Native = {"path": file.pop("path"), "conversations": []}
    for number, one in enumerate(file.pop("conversations")):
        place = f"{where}/conversations/{number}"
        conversation: Native = {"ranges": []}
        if "url" in one:
            conversation["url"] = one.pop("url")
        if "contributor" in one:
            conversation["contributor"] = _lifted(
                one.pop("contributor"), _CONTRIBUTOR, f"{place}/contributor", beside
            )
        for position, part in enumerate(one.pop("ranges")):
            conversation["ranges"].append(_range(part, f"{place}/ranges/{position}", beside))
        if "related" in one:
            named = {"type": "type", "url": "url"}
            related = enumerate(one.pop("related"))
            conversation["related"] = [
                _lifted(other, named, f"{place}/related/{index}", beside)
                for index, other in related
            ]
        _keep(one, place, beside)
        made["conversations"].append(conversation)
    _keep(file, where, beside)
    return made


def _range(part: Native, where: str, beside: Native) -> Native:
    contributor = part.pop("contributor", None)
    text = part.pop("content_hash", None)
    made = _lifted(part, _RANGE, where, beside)
    if text is not None:
        made |= parted(text)
    if contributor is not None:
        made["contributor"] = _lifted(contributor, _CONTRIBUTOR, f"{where}/contributor", beside)
    return made


def _lifted(native: Native, names: dict[str, str], where: str, beside: Native) -> Native:
    made = {names[name]: native.pop(name) for name in [name for name in names if name in native]}
    _keep(native, where, beside)
    return made


def _keep(rest: Native, where: str, beside: Native) -> None:
    if rest:
        beside[where] = rest
