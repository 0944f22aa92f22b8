"""Who wrote a line, and why: one file at a time, for editors and agents.

    >>> from vacr.blame import BlamedLine
    >>> from vacr.workflows import build_line_origin
    >>> line = BlamedLine("0" * 40, "app.py", 7, "import os", None, 7)
    >>> build_line_origin(line)
    {'line': 7, 'text': 'import os', 'writer': 'unknown', 'commit': None}

A line that no record proves is `unknown`, as in `vacr blame`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from vacr.archive import find_call, find_conversations, find_prompt_before
from vacr.blame import (
    BlamedLine,
    BlameRecords,
    BlameSelection,
    ClaimIndex,
    LineClaim,
    blame_file,
    find_repository_file,
    find_work_trees,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_state_folder
from vacr.record import format_timestamp
from vacr.workflows.blame_records import read_project_records


def blame_one_file(
    path: str,
    contents: bytes | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
) -> list[BlamedLine]:
    """Return the lines of a file with their writers, by the sessions on this machine.

    `contents` replace the file on disk, such as an unsaved buffer. Without sessions of its
    repository, all lines are unknown.

    Raises:
        UnreadableInput: the file does not exist, is binary, or is not in a git repository.
        UsageError: the path is a folder, or is not in a work tree.
    """
    place = find_repository_file(path)
    index = _open_claim_index(environment)
    try:
        records: BlameRecords = []
        try:
            records = read_project_records(
                find_work_trees(place.repository),
                lambda _path, _error: None,
                index=index,
                environment=environment,
            )
        except UnreadableInput:
            records = []
        return blame_file(place, None, records, BlameSelection(contents=contents))
    finally:
        if index is not None:
            index.close()


def _open_claim_index(environment: Mapping[str, str]) -> ClaimIndex | None:
    """Return the index of claims; None if it cannot be used."""
    try:
        index = ClaimIndex.open(find_state_folder(environment))
    except UsageError:  # There is no state folder.
        return None
    return index if index.is_usable else None


def find_line_origin(
    connection: sqlite3.Connection,
    path: str,
    line: int,
    *,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Return who wrote a line, with the conversation, its place and the prompt if known.

    Secrets that vacr knows are left out of the prompt.

    Raises:
        UnreadableInput: the file does not exist, or has fewer lines.
        UsageError: the path is a folder, or is not in a work tree.
    """
    lines = blame_one_file(path, environment=environment)
    found = next((blamed for blamed in lines if blamed.line == line), None)
    if found is None:
        raise UnreadableInput(
            f"the file has {len(lines)} lines, so it has no line {line}",
            where=path,
            hint="Count lines from 1.",
        )
    origin = build_line_origin(found)
    if found.blame is not None:
        origin |= _describe_conversation(connection, found.blame.claim)
    return origin


def build_line_origin(line: BlamedLine) -> dict[str, Any]:
    """Return the writer of a line and the evidence, without its conversation."""
    is_committed = bool(line.commit.strip("0"))
    origin: dict[str, Any] = {
        "line": line.line,
        "text": line.text,
        "writer": line.type,
        "commit": line.commit if is_committed else None,
    }
    if line.blame is None:
        return origin
    claim = line.blame.claim
    origin |= {"model": claim.model if line.type != "human" else "", "evidence": claim.evidence}
    if line.type == "mixed":
        origin["changed_by"] = line.blame.changed_by or "unknown"
    if claim.time is not None:
        origin["time"] = format_timestamp(claim.time * 1000)
    if claim.doubt:
        origin["doubt"] = claim.doubt
    return origin


def _describe_conversation(connection: sqlite3.Connection, claim: LineClaim) -> dict[str, Any]:
    """Return the conversation behind a claim, the place of the call, and the prompt before it.

    The prompt comes from the index, because secrets are left out there.
    """
    call = find_call(connection, claim.session, claim.call_id)
    conversations = find_conversations(connection, claim.session) if claim.session else []
    known = conversations[0] if conversations else {}
    described: dict[str, Any] = {
        "conversation": {
            "session": claim.session,
            "agent": known.get("agent", ""),
            "title": known.get("title", ""),
            "path": call["source_path"] if call else known.get("source_path", ""),
            "place": call["place"] if call else "",
        }
    }
    prompt = find_prompt_before(connection, call["record"], call["n"]) if call else None
    if prompt is not None:
        described["prompt"] = prompt
    return described
