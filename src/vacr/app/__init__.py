"""Programs around the workflows: the local app, servers for agents and editors, GitHub actions.

`action.yml` audits a pull request, and `seal/action.yml` seals sessions. They are part of the
package, so that the audited repository is never on Python's path. Everything here calls workflows,
not the command line.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.app.health import FINDING_GRADES as FINDING_GRADES
    from vacr.app.health import NOTE as NOTE
    from vacr.app.health import OK as OK
    from vacr.app.health import PROBLEM as PROBLEM
    from vacr.app.health import WARNING as WARNING
    from vacr.app.health import HealthFinding as HealthFinding
    from vacr.app.health import check_agents as check_agents
    from vacr.app.health import check_folders as check_folders
    from vacr.app.health import check_index as check_index
    from vacr.app.health import check_keys as check_keys
    from vacr.app.health import check_parts as check_parts
    from vacr.app.health import check_sessions as check_sessions
    from vacr.app.health import check_trust as check_trust
    from vacr.app.health import check_waiting as check_waiting
    from vacr.app.local_app import LocalApp as LocalApp
    from vacr.app.lsp_server import FileNotes as FileNotes
    from vacr.app.lsp_server import LineNotes as LineNotes
    from vacr.app.lsp_server import build_lsp_server as build_lsp_server
    from vacr.app.lsp_server import serve_lsp as serve_lsp
    from vacr.app.mcp_server import HistoryTools as HistoryTools
    from vacr.app.mcp_server import build_mcp_server as build_mcp_server
    from vacr.app.mcp_server import serve_mcp as serve_mcp
    from vacr.app.session_keeping import KeepReport as KeepReport
    from vacr.app.session_keeping import SessionKeeper as SessionKeeper
    from vacr.app.session_keeping import drop_kept_sessions as drop_kept_sessions
    from vacr.app.session_keeping import keep_sessions as keep_sessions
    from vacr.app.session_keeping import list_unkept_sessions as list_unkept_sessions

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "health": (
            "FINDING_GRADES",
            "NOTE",
            "OK",
            "PROBLEM",
            "WARNING",
            "HealthFinding",
            "check_agents",
            "check_folders",
            "check_index",
            "check_keys",
            "check_parts",
            "check_sessions",
            "check_trust",
            "check_waiting",
        ),
        "local_app": ("LocalApp",),
        "lsp_server": ("FileNotes", "LineNotes", "build_lsp_server", "serve_lsp"),
        "mcp_server": ("HistoryTools", "build_mcp_server", "serve_mcp"),
        "session_keeping": (
            "KeepReport",
            "SessionKeeper",
            "keep_sessions",
            "drop_kept_sessions",
            "list_unkept_sessions",
        ),
    },
)
