"""The local app: one page over all conversations of all agents on this machine.

A server on loopback answers a browser on the same machine. Other users of the machine, and other
pages in the same browser, must not read the conversations. So every answer with data needs a secret
token, in the header `Authorization`. The page gets it from the fragment of its address, which is
never sent over the network; the browser gets that address from a file that only its user can read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.app import LocalApp
    >>> with tempfile.TemporaryDirectory() as folder, LocalApp(Path(folder), port=0) as app:
    ...     app.is_allowed(f"127.0.0.1:{app.port}", None, f"Bearer {app.token}")
    ...     app.is_allowed(f"127.0.0.1:{app.port}", None, "Bearer guess")
    ...     app.is_allowed("evil.example", None, f"Bearer {app.token}")
    True
    False
    False

A thread keeps the index up to date while the app runs, and the page asks for changes.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, quote, urlsplit

from vacr.app.session_keeping import SessionKeeper
from vacr.archive import (
    ConversationQuery,
    SearchIndex,
    SearchQuery,
    count_facets,
    find_record,
    find_version,
    list_conversations,
    list_daily_usage,
    search_entries,
    split_snippet,
)
from vacr.errors import VacrError
from vacr.files import make_folder_tree
from vacr.version import __version__
from vacr.viewer import make_visible
from vacr.workflows import (
    load_app_page,
    load_conversation_data,
    refresh_search_index,
)

_HOST = "127.0.0.1"
_LOCAL_NAMES = ("127.0.0.1", "localhost")
_REFRESH_SECONDS = 3.0
_MAX_LIMIT = 500
_HITS_OF_CONVERSATION = 3
_MAX_DIGITS = 18
_SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass
class _IndexState:
    """How far the index is, for the page."""

    version: int = 0
    """Grows with each change of the index."""
    done: int = 0
    total: int = 0
    """Bytes read, and to read, while the index is brought up to date."""
    is_ready: bool = False
    """Whether the first refresh is over."""
    skipped: int = 0
    """Sessions that cannot be read."""
    problem: str = ""
    """Why the index cannot be used, or empty."""


class LocalApp:
    """The server of the app, and the thread that follows the sessions."""

    def __init__(
        self,
        state: Path,
        *,
        port: int = 0,
        environment: Mapping[str, str] = os.environ,
        paths: Sequence[str] = (),
    ) -> None:
        """Listen on loopback; `state` is vacr's state folder, and port 0 any free port.

        With `paths`, the app shows the records and sessions there, not those of this machine; the
        index in `state` must be theirs.

        Raises:
            OSError: the port is in use.
        """
        self.state = state
        self.environment = environment
        self.paths = paths
        self.token = secrets.token_urlsafe(32)
        self.progress = _IndexState()
        self.keeper = SessionKeeper(state, environment)
        self._ended = threading.Event()
        self._page = load_app_page()
        self._server = _AppServer((_HOST, port), _AppHandler)
        self._server.app = self
        self._follower = threading.Thread(target=self._follow_sessions, daemon=True)

    @property
    def port(self) -> int:
        """Return the port that the server listens at."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        """Start to follow the sessions."""
        self._follower.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop following the sessions, and close the server."""
        self._ended.set()
        self._server.server_close()
        self.keeper.end()
        self._follower.join()

    def serve_forever(self) -> None:
        """Answer requests until `stop` is called, or an exception such as Ctrl-C ends it."""
        self._server.serve_forever()

    def stop(self) -> None:
        """End `serve_forever` from another thread."""
        self._server.shutdown()

    def make_address(self, session: str = "") -> str:
        """Return the address of the app with its token, or of one conversation in it."""
        place = f"&session={quote(session, safe='', errors='replace')}" if session else ""
        return f"http://{_HOST}:{self.port}/#token={self.token}{place}"

    def write_redirect_file(self, session: str = "") -> Path:
        """Write a page that leads the browser to the app, readable by its owner only.

        The address has the token in it, and other users can read the arguments of a process.
        """
        folder = self.state / "app"
        make_folder_tree(folder, 0o700)
        folder.chmod(0o700)
        path = folder / f"open-{self.port}.html"
        with suppress(FileNotFoundError):
            path.unlink()
        text = (
            "<!doctype html><meta charset=utf-8><title>vacr</title>"
            f'<meta http-equiv="refresh" content="0; url={self.make_address(session)}">'
        )
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def is_allowed(self, host: str | None, origin: str | None, authorization: str | None) -> bool:
        """Return whether a request for data names this server and has the token."""
        expected = f"Bearer {self.token}".encode()
        given = (authorization or "").encode("utf-8", "replace")
        return self.is_own_site(host, origin) and secrets.compare_digest(given, expected)

    def is_own_site(self, host: str | None, origin: str | None) -> bool:
        """Return whether the headers `Host` and `Origin` name this server; no origin is fine."""
        names = {f"{name}:{self.port}" for name in _LOCAL_NAMES}
        return host in names and (origin is None or origin in {f"http://{name}" for name in names})

    def read_page(self) -> bytes:
        """Return the page of the app, which has no data in it."""
        return self._page

    # --- the index ---

    def _follow_sessions(self) -> None:
        """Bring the index up to date again and again, until the app ends."""
        while not self._ended.is_set():
            started = time.monotonic()
            try:
                self._refresh()
                if not self.paths:
                    self.keeper.find_sessions_if_due()
                self.progress.problem = ""
            except VacrError as error:
                self.progress.problem = _describe_error(error)
            except Exception as error:  # noqa: BLE001 - the page must say why nothing new appears
                self.progress.problem = f"vacr failed: {type(error).__name__}"
            self.progress.is_ready = True
            spent = time.monotonic() - started
            # A refresh of many sessions takes its time: it must not keep the machine busy.
            self._ended.wait(max(_REFRESH_SECONDS, 10 * spent))

    def _refresh(self) -> None:
        """Bring the index up to date once; the page sees the conversations as they are added."""
        with closing(SearchIndex.open(self.state)) as index:
            report = refresh_search_index(
                index,
                self.paths,
                only_paths=bool(self.paths),
                environment=self.environment,
                progress=self._note_progress,
            )
        if report.added or report.removed:
            self.progress.version += 1
        self.progress.skipped = len(report.failed)

    def _note_progress(self, done: int, total: int) -> None:
        """Note how far a refresh is; end it if the app ends."""
        if self._ended.is_set():
            raise VacrError("the app ends")
        self.progress.done, self.progress.total = done, total
        self.progress.version += 1

    # --- answers ---

    def answer(self, path: str, query: Mapping[str, str]) -> Any:
        """Return the answer to a request for data; None for an unknown path or conversation.

        Raises:
            VacrError: the request is wrong, or the data cannot be read.
        """
        if path == "/api/state":
            state = asdict(self.progress) | {"keeping": self.keeper.describe()}
            return state | {"producer": f"vacr {__version__}"}
        routes: dict[str, Callable[[sqlite3.Connection, Mapping[str, str]], Any]] = {
            "/api/conversations": _answer_conversations,
            "/api/overview": _answer_overview,
            "/api/search": _answer_search,
            "/api/conversation": _answer_conversation,
            "/api/version": _answer_version,
        }
        if path not in routes:
            return None
        with closing(SearchIndex.open(self.state)) as index, index.reading():
            return routes[path](index.connection, query)

    def act(self, path: str) -> Any:
        """Run an action, and return the new state; return None if the path names no action."""
        if path != "/api/keep":
            return None
        self.keeper.start()
        return self.keeper.describe()


def _describe_error(error: VacrError) -> str:
    """Return an error and its next step for the page."""
    return make_visible(f"{error}. {error.hint}" if error.hint else str(error))


def _answer_conversations(connection: sqlite3.Connection, query: Mapping[str, str]) -> Any:
    """Return conversations, and the sums over all that the query selects."""
    listed = list_conversations(connection, _build_query(query))
    return {
        "conversations": [_make_row_visible(row) for row in listed.rows],
        "count": listed.count,
        "totals": listed.totals,
    }


def _answer_overview(connection: sqlite3.Connection, query: Mapping[str, str]) -> Any:
    """Return the values to filter by, and the usage of each day by the selected conversations.

    The page asks for them when it shows the list: they take longer than the list.
    """
    return {
        "facets": count_facets(connection),
        "days": list_daily_usage(connection, _build_query(query)),
    }


def _build_query(query: Mapping[str, str]) -> ConversationQuery:
    """Return the selection of conversations in a request."""
    return ConversationQuery(
        agent=query.get("agent", ""),
        repo=query.get("repo", ""),
        project=query.get("project", ""),
        model=query.get("model", ""),
        since_ms=_parse_number(query, "since"),
        until_ms=_parse_number(query, "until"),
        outcome=query.get("outcome", ""),
        offset=_parse_number(query, "offset") or 0,
        limit=min(_parse_number(query, "limit") or 100, _MAX_LIMIT),
    )


def _answer_search(connection: sqlite3.Connection, query: Mapping[str, str]) -> Any:
    """Return the newest hits of a search, and the first of each conversation.

    Each snippet is a list of texts, of which the found words are marked. `limit` is the number of
    conversations.
    """
    words = query.get("q", "")
    is_phrase = len(words) > 1 and words.startswith('"') and words.endswith('"')
    search = SearchQuery(
        tuple(words.strip('"').split()) if not is_phrase else (words.strip('"'),),
        is_phrase=is_phrase,
        agent=query.get("agent", ""),
        repo=query.get("repo", ""),
        project=query.get("project", ""),
        model=query.get("model", ""),
        since_ms=_parse_number(query, "since"),
        until_ms=_parse_number(query, "until"),
        only_errors=query.get("outcome") == "failed",
        without_failures=query.get("outcome") == "clean",
        limit=min(_parse_number(query, "limit") or 50, _MAX_LIMIT) * _HITS_OF_CONVERSATION,
        limit_per_record=_HITS_OF_CONVERSATION,
    )
    result = search_entries(connection, search)
    hits = [
        {
            **asdict(hit),
            "title": make_visible(hit.title),
            "count": result.counts[hit.record],
            "snippet": [
                {"text": make_visible(text), "isWord": is_word}
                for text, is_word in split_snippet(hit.snippet)
            ],
        }
        for hit in result.hits
    ]
    return {"hits": hits, "count": result.count, "conversations": result.record_count}


def _answer_conversation(connection: sqlite3.Connection, query: Mapping[str, str]) -> Any:
    """Return the data of a conversation's page, by its number or by the id of its session."""
    number = _parse_number(query, "record")
    if number is None:
        number = find_record(connection, query.get("session", ""))
    return None if number is None else load_conversation_data(connection, number)


def _answer_version(connection: sqlite3.Connection, query: Mapping[str, str]) -> Any:
    """Return the version of a conversation, so that the page can tell that it goes on."""
    version, end = find_version(connection, query.get("session", ""))
    return {"version": version, "end_ms": end} if version else None


def _make_row_visible(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a conversation with control characters shown as escapes."""
    return {
        name: make_visible(value) if isinstance(value, str) else value
        for name, value in row.items()
    }


def _parse_number(query: Mapping[str, str], name: str) -> int | None:
    """Return a whole number of a request; None if it is missing or not one."""
    text = query.get(name, "")
    return (
        int(text) if text.isascii() and text.isdigit() and len(text) < len(str(1 << 62)) else None
    )


# --- HTTP ---


class _AppServer(ThreadingHTTPServer):
    """A web server that knows its app."""

    daemon_threads = True
    app: LocalApp

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: a browser may close a connection at any time."""


class _AppHandler(BaseHTTPRequestHandler):
    """Answers the requests of the browser."""

    server: _AppServer
    server_version, sys_version = "vacr", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Send the page, or data as JSON; 403 without the token, 404 for unknown data."""
        app = self.server.app
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        target = urlsplit(self.path)
        if not target.path.startswith("/api/"):
            # The page shows what its path names, so every path leads to it.
            if not app.is_own_site(host, origin):
                self._send(HTTPStatus.FORBIDDEN, b"not allowed", "text/plain")
                return
            self._send(HTTPStatus.OK, app.read_page(), "text/html; charset=utf-8")
            return
        if not app.is_allowed(host, origin, self.headers.get("Authorization")):
            self._send(HTTPStatus.FORBIDDEN, b"not allowed", "text/plain")
            return
        query = {name: values[-1] for name, values in parse_qs(target.query).items()}
        self._answer(lambda: app.answer(target.path, query), "there is no such conversation")

    def do_POST(self) -> None:
        """Run an action, and send the new state as JSON; 403 without the token.

        Actions take no body, so the connection ends before a body could pass for a request.
        """
        self.close_connection = True
        app = self.server.app
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if not app.is_allowed(host, origin, self.headers.get("Authorization")):
            self._send(HTTPStatus.FORBIDDEN, b"not allowed", "text/plain")
            return
        self._answer(lambda: app.act(urlsplit(self.path).path), "there is no such action")

    def _answer(self, answer_request: Callable[[], Any], missing: str) -> None:
        """Send the answer to a request as JSON, or its error; `missing` is the error for None."""
        try:
            answer = answer_request()
        except VacrError as error:
            status, answer = HTTPStatus.BAD_REQUEST, {"error": _describe_error(error)}
        except Exception as error:  # noqa: BLE001 - without an answer, the page stops
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            answer = {"error": f"vacr failed: {type(error).__name__}"}
        else:
            status = HTTPStatus.OK if answer is not None else HTTPStatus.NOT_FOUND
            answer = {"error": missing} if answer is None else answer
        self._send(status, json.dumps(answer).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        """Send an answer with the headers that keep other sites out."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in _SECURITY_HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError, TimeoutError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print no requests: they show which conversations a person reads."""
