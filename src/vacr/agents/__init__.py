"""Native sessions → records: everything vacr knows about each agent.

`registry` finds the agent that wrote a source; each agent has a folder of its own.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.agents.agent import SessionStore as SessionStore
    from vacr.agents.agent import Source as Source
    from vacr.agents.agent import SourcePart as SourcePart
    from vacr.agents.agent import pause_garbage_collector as pause_garbage_collector
    from vacr.agents.documents import DatabaseQuery as DatabaseQuery
    from vacr.agents.documents import ListedSession as ListedSession
    from vacr.agents.documents import SessionDatabase as SessionDatabase
    from vacr.agents.documents import encode_session_rows as encode_session_rows
    from vacr.agents.documents import is_multiline_json as is_multiline_json
    from vacr.agents.documents import parse_json_documents as parse_json_documents
    from vacr.agents.lift import UNKNOWN as UNKNOWN
    from vacr.agents.lift import Lift as Lift
    from vacr.agents.lift import Move as Move
    from vacr.agents.lift import Reading as Reading
    from vacr.agents.lift import SessionBuilder as SessionBuilder
    from vacr.agents.lift import SourceNotice as SourceNotice
    from vacr.agents.lift import add_remaining_members as add_remaining_members
    from vacr.agents.lift import drop_nulls as drop_nulls
    from vacr.agents.lift import get_writable_marks as get_writable_marks
    from vacr.agents.lift import is_count as is_count
    from vacr.agents.registry import Reader as Reader
    from vacr.agents.registry import find_reader as find_reader
    from vacr.agents.registry import load_readers as load_readers

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "agent": (
            "SessionStore",
            "Source",
            "SourcePart",
            "pause_garbage_collector",
        ),
        "documents": (
            "DatabaseQuery",
            "ListedSession",
            "SessionDatabase",
            "encode_session_rows",
            "is_multiline_json",
            "parse_json_documents",
        ),
        "lift": (
            "Lift",
            "Move",
            "Reading",
            "SessionBuilder",
            "SourceNotice",
            "UNKNOWN",
            "add_remaining_members",
            "drop_nulls",
            "get_writable_marks",
            "is_count",
        ),
        "registry": (
            "Reader",
            "find_reader",
            "load_readers",
        ),
    },
)
