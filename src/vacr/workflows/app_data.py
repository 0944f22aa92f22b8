"""The page of the local app, and the data of one conversation.

The app asks for a conversation when somebody opens it. The answer contains the same data as a page
of `vacr view`: the bytes of the records and statements, and the names and keys that the user
trusts. So the browser can verify them itself.

    >>> from vacr.workflows import load_app_page
    >>> b"connect-src 'self'" in load_app_page()
    True
"""

from __future__ import annotations

import base64
import sqlite3
from typing import Any

from vacr.archive import find_source
from vacr.errors import UnreadableInput, VacrError
from vacr.viewer import render_app_page
from vacr.workflows.verify import VerificationOptions, load_verification_policy
from vacr.workflows.view import build_page_trust, load_page_template, read_conversations


def load_app_page() -> bytes:
    """Return the HTML of the local app.

    Raises:
        UnreadableInput: the template is missing from the package.
    """
    return render_app_page(load_page_template())


def load_conversation_data(connection: sqlite3.Connection, record: int) -> dict[str, Any] | None:
    """Return the description, records and statements of a conversation; None if it is unknown.

    `record` is its number in the index. Records are gzip in base64.

    Raises:
        VacrError: the session cannot be read, or is gone.
    """
    source = find_source(connection, record)
    if source is None:
        return None
    path, session = source
    options = VerificationOptions()
    trust = build_page_trust(load_verification_policy(options), options)
    for conversation in read_conversations(path, options, session):
        if isinstance(conversation, VacrError):
            raise conversation
        page = conversation.page(trust, None)
        return {
            "island": page.describe(),
            "records": [_encode(shown.compress()) for shown in page.records],
            "statements": [
                None if shown.statement is None else _encode(shown.statement)
                for shown in page.records
            ],
        }
    raise UnreadableInput("the session is empty", where=path)


def _encode(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode()
