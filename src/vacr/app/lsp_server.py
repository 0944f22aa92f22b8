"""The language server: an editor shows the agent, the prompt and the evidence of a line.

An editor starts `vacr lsp` and talks to it over standard input and output, by the Language Server
Protocol. It shows hovers, code lenses above blocks of lines, and inlay hints at their ends. Lines
that no record proves have none.

    >>> from vacr.app import LineNotes
    >>> from vacr.blame import BlamedLine, LineBlame, LineClaim
    >>> claim = LineClaim("ai", "acme/m-1", "session-1", "", "e", "c", "Sum up", "replayed")
    >>> lines = [
    ...     BlamedLine("0", "a.py", 1, "import os", None, 1),
    ...     BlamedLine("0", "a.py", 2, "total = 0", LineBlame("ai", claim, "content"), 2),
    ...     BlamedLine("0", "a.py", 3, "count = 0", LineBlame("ai", claim, "content"), 3),
    ... ]
    >>> notes = LineNotes(lines, {"session-1": "some-agent"})
    >>> notes.list_blocks()
    [(2, 3)]
    >>> notes.describe_shortly(2)
    'some-agent · m-1 · Sum up · replayed'
    >>> print(notes.describe(3))
    Written by some-agent (acme/m-1)
    Prompt: Sum up
    Evidence: replayed
    Conversation: session-1, shown by: vacr show session-1

All text is plain: a prompt cannot add links or pictures to the editor.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vacr.app.fresh_index import FreshIndex
from vacr.archive import find_conversations
from vacr.blame import BlamedLine, LineBlame
from vacr.errors import UsageError, VacrError
from vacr.version import __version__
from vacr.viewer import make_visible_line
from vacr.workflows import blame_one_file, build_line_origin, shorten_prompt

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_MAX_HOVER_PROMPT = 500
_MAX_SHORT_PROMPT = 60
_MAX_REMEMBERED = 32
_INDEX_WAIT_SECONDS = 1.0


class LineNotes:
    """The notes of an editor about the lines of a file."""

    def __init__(self, lines: Sequence[BlamedLine], agents: Mapping[str, str]) -> None:
        """Take the lines with their writers, and the agent of each session."""
        self._lines = {line.line: line for line in lines if line.blame is not None}
        self._agents = agents

    def list_blocks(self) -> list[tuple[int, int]]:
        """Return the first and last line of each block that one call wrote, counted from 1."""
        blocks: list[tuple[int, int]] = []
        last_key: object = None
        for number, line in sorted(self._lines.items()):
            key = _get_block_key(line.blame)
            if blocks and blocks[-1][1] == number - 1 and key == last_key:
                blocks[-1] = blocks[-1][0], number
            else:
                blocks.append((number, number))
            last_key = key
        return blocks

    def describe_shortly(self, number: int) -> str:
        """Return one line about a line's writer; empty if it is unknown."""
        line = self._lines.get(number)
        if line is None or line.blame is None:
            return ""
        claim = line.blame.claim
        if line.type == "human":
            return f"a person · {claim.evidence}"
        model = claim.model.rpartition("/")[2]
        changed = f"changed by {line.blame.changed_by or 'unknown'}" if line.type == "mixed" else ""
        prompt = shorten_prompt(claim, _MAX_SHORT_PROMPT)
        parts = (self._agents.get(claim.session, ""), model, changed, prompt, claim.evidence)
        return make_visible_line(" · ".join(filter(None, parts)))

    def describe(self, number: int) -> str:
        """Return all about a line's writer, as plain text; empty if it is unknown."""
        line = self._lines.get(number)
        if line is None or line.blame is None:
            return ""
        claim, origin = line.blame.claim, build_line_origin(line)
        agent = self._agents.get(claim.session) or "an agent"
        texts = ["Written by a person"]
        if line.type != "human":
            texts = [f"Written by {agent} ({claim.model or 'unknown model'})"]
        if line.type == "mixed":
            texts.append(f"Changed by {origin['changed_by']}")
        if prompt := shorten_prompt(claim, _MAX_HOVER_PROMPT):
            texts.append(f"Prompt: {prompt}")
        doubt = f", uncertain ({claim.doubt})" if claim.doubt and claim.time is not None else ""
        when = f", {origin['time']}" if "time" in origin else ""
        texts.append(f"Evidence: {claim.evidence}{doubt}{when}")
        if claim.session:
            texts.append(f"Conversation: {claim.session}, shown by: vacr show {claim.session}")
        return "\n".join(map(make_visible_line, texts))


def _get_block_key(blame: LineBlame | None) -> object:
    """Return a value that is the same for lines of one call and one kind of writer."""
    if blame is None:
        return None
    return blame.type, blame.changed_by, blame.claim.session, blame.claim.source


class FileNotes:
    """Reads notes about files, and remembers them until a file or its buffer changes."""

    def __init__(self, state: Path, environment: Mapping[str, str] = os.environ) -> None:
        """Take vacr's state folder, and the environment that says where agents keep sessions."""
        self.environment = environment
        self.index = FreshIndex(state, environment, _INDEX_WAIT_SECONDS)
        self._known: dict[str, tuple[object, LineNotes]] = {}
        self._lock = threading.Lock()

    def read(self, path: str, text: str | None = None) -> LineNotes:
        """Return the notes about a file, with the text of an unsaved buffer if there is one.

        A file that cannot be blamed, for example outside of a repository, has no notes.
        """
        contents = None if text is None else text.encode("utf-8", "surrogateescape")
        with suppress(OSError):
            if contents == Path(path).read_bytes():
                contents = None
        key = contents, _stamp_file(path)
        with self._lock:
            known = self._known.get(path)
            if known is not None and known[0] == key:
                return known[1]
            try:
                lines = blame_one_file(path, contents, environment=self.environment)
            except VacrError:
                lines = []
            notes = LineNotes(lines, self._find_agents(lines))
            if len(self._known) >= _MAX_REMEMBERED:
                self._known.clear()
            if not self.index.remark:  # Otherwise, the names of agents may be missing.
                self._known[path] = key, notes
            return notes

    def forget(self, path: str) -> None:
        """Forget the notes about a file, because sessions may have changed."""
        self._known.pop(path, None)

    def _find_agents(self, lines: Sequence[BlamedLine]) -> dict[str, str]:
        """Return the agent of each session that wrote a line; unknown sessions are left out."""
        sessions = {line.blame.claim.session for line in lines if line.blame is not None} - {""}
        agents: dict[str, str] = {}
        if not sessions:
            return agents
        with suppress(VacrError, sqlite3.Error), self.index.open() as connection:
            for session in sessions:
                for found in find_conversations(connection, session)[:1]:
                    agents[session] = str(found["agent"])
        return agents


def _stamp_file(path: str) -> object:
    """Return a value that changes with a file on disk; None if it does not exist."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


# --- the protocol ---


def serve_lsp(state: Path, *, environment: Mapping[str, str] = os.environ) -> None:
    """Answer an editor on standard input and output until it ends the server.

    Raises:
        UsageError: the packages of the extra `lsp` are missing.
    """
    notes = FileNotes(state, environment)
    server = build_lsp_server(notes)
    notes.index.start()
    try:
        server.start_io()
    finally:
        notes.index.stop()


def build_lsp_server(notes: FileNotes) -> LanguageServer:
    """Return the language server.

    Raises:
        UsageError: the packages of the extra `lsp` are missing.
    """
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
        from pygls.uris import to_fs_path
    except ImportError as error:
        raise UsageError(
            "the language server needs the packages of vacr[lsp], which are not installed",
            hint="pip install 'vacr[lsp]'",
        ) from error
    server = LanguageServer("vacr", __version__)

    def read_notes(uri: str) -> LineNotes:
        """Return the notes about a document of the editor."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        if not path:
            return LineNotes([], {})
        document = server.workspace.text_documents.get(uri)
        return notes.read(path, document.source if document is not None else None)

    def make_range(first: int, last: int) -> types.Range:
        """Return the range of some lines, counted from 1."""
        return types.Range(types.Position(first - 1, 0), types.Position(last - 1, 0))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def hover(params: types.HoverParams) -> types.Hover | None:
        """Return the note about the line under the cursor, or None if there is none."""
        number = params.position.line + 1
        text = read_notes(params.text_document.uri).describe(number)
        if not text:
            return None
        content = types.MarkupContent(types.MarkupKind.PlainText, text)
        return types.Hover(content, make_range(number, number))

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    @server.thread()
    def list_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        """Return a lens above each block of lines that one call wrote."""
        own = read_notes(params.text_document.uri)
        return [
            types.CodeLens(make_range(first, first), types.Command(own.describe_shortly(first), ""))
            for first, _ in own.list_blocks()
        ]

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    @server.thread()
    def list_hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        """Return a hint at the end of the first line of each block in a range."""
        uri = params.text_document.uri
        own = read_notes(uri)
        ends = _measure_lines(server.workspace.get_text_document(uri).lines)
        return [
            types.InlayHint(
                types.Position(first - 1, ends[first - 1]),
                own.describe_shortly(first),
                padding_left=True,
                tooltip=own.describe(first),
            )
            for first, _ in own.list_blocks()
            if params.range.start.line <= first - 1 <= params.range.end.line and first <= len(ends)
        ]

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def forget_notes(params: types.DidSaveTextDocumentParams) -> None:
        """Read a saved file again: its sessions have probably changed, too."""
        notes.forget(str(to_fs_path(params.text_document.uri) or ""))

    _ = hover, list_lenses, list_hints, forget_notes
    return server


def _measure_lines(lines: Sequence[str]) -> list[int]:
    """Return the length of each line without its end, in UTF-16 units as the protocol counts."""
    return [len(line.rstrip("\r\n").encode("utf-16-le", "surrogatepass")) // 2 for line in lines]
