"""Sessions recorded as they happen: hooks, a watcher, and a hash-chained journal."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.capture.acp_relay import relay_agent as relay_agent
    from vacr.capture.acp_relay import run_unrecorded as run_unrecorded
    from vacr.capture.acp_transcript import create_transcript as create_transcript
    from vacr.capture.chains import BrokenJournal as BrokenJournal
    from vacr.capture.chains import ChainHead as ChainHead
    from vacr.capture.chains import JournalCoverage as JournalCoverage
    from vacr.capture.chains import read_checkpoints as read_checkpoints
    from vacr.capture.endangered import EndangeredSession as EndangeredSession
    from vacr.capture.endangered import find_write_time as find_write_time
    from vacr.capture.endangered import list_endangered_sessions as list_endangered_sessions
    from vacr.capture.hook import ERROR_LOG_FILE as ERROR_LOG_FILE
    from vacr.capture.installers import HOOKS_INSTALLED as HOOKS_INSTALLED
    from vacr.capture.installers import HOOKS_NOT_INSTALLED as HOOKS_NOT_INSTALLED
    from vacr.capture.installers import LOCAL_SCOPE as LOCAL_SCOPE
    from vacr.capture.installers import PROJECT_SCOPE as PROJECT_SCOPE
    from vacr.capture.installers import USER_SCOPE as USER_SCOPE
    from vacr.capture.installers import AgentHooks as AgentHooks
    from vacr.capture.installers import AgentSettings as AgentSettings
    from vacr.capture.installers import SettingsChange as SettingsChange
    from vacr.capture.installers import find_hook_status as find_hook_status
    from vacr.capture.installers import load_agent_hooks as load_agent_hooks
    from vacr.capture.installers import plan_hook_install as plan_hook_install
    from vacr.capture.installers import plan_hook_uninstall as plan_hook_uninstall
    from vacr.capture.journal import Journal as Journal
    from vacr.capture.journal import RetentionLimits as RetentionLimits
    from vacr.capture.journal_checks import JournalReport as JournalReport
    from vacr.capture.journal_checks import check_journal as check_journal
    from vacr.capture.journal_checks import check_sealed_record as check_sealed_record
    from vacr.capture.journal_checks import find_missing_checkpoints as find_missing_checkpoints
    from vacr.capture.mcp_settings import SERVER_EXTRA as SERVER_EXTRA
    from vacr.capture.mcp_settings import AgentServers as AgentServers
    from vacr.capture.mcp_settings import can_server_start as can_server_start
    from vacr.capture.mcp_settings import find_server_status as find_server_status
    from vacr.capture.mcp_settings import load_agent_servers as load_agent_servers
    from vacr.capture.mcp_settings import plan_server_install as plan_server_install
    from vacr.capture.mcp_settings import plan_server_uninstall as plan_server_uninstall
    from vacr.capture.session_capture import FollowedSession as FollowedSession
    from vacr.capture.session_capture import WatchSettings as WatchSettings
    from vacr.capture.session_sources import list_agent_roots as list_agent_roots
    from vacr.capture.session_sources import read_current_parts as read_current_parts
    from vacr.capture.settled_entries import count_record_entries as count_record_entries
    from vacr.capture.spool import SPOOL_FOLDER as SPOOL_FOLDER
    from vacr.capture.spool import list_spools as list_spools
    from vacr.capture.watcher import CheckpointAnchoring as CheckpointAnchoring
    from vacr.capture.watcher import FileChanges as FileChanges
    from vacr.capture.watcher import SealedRecord as SealedRecord
    from vacr.capture.watcher import SealFunction as SealFunction
    from vacr.capture.watcher import SealingQueue as SealingQueue
    from vacr.capture.watcher import SessionCopy as SessionCopy
    from vacr.capture.watcher import Watcher as Watcher

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "acp_relay": ("relay_agent", "run_unrecorded"),
        "acp_transcript": ("create_transcript",),
        "chains": ("BrokenJournal", "ChainHead", "JournalCoverage", "read_checkpoints"),
        "endangered": ("EndangeredSession", "find_write_time", "list_endangered_sessions"),
        "hook": ("ERROR_LOG_FILE",),
        "installers": (
            "HOOKS_INSTALLED",
            "HOOKS_NOT_INSTALLED",
            "LOCAL_SCOPE",
            "PROJECT_SCOPE",
            "USER_SCOPE",
            "AgentHooks",
            "AgentSettings",
            "SettingsChange",
            "find_hook_status",
            "load_agent_hooks",
            "plan_hook_install",
            "plan_hook_uninstall",
        ),
        "journal": ("Journal", "RetentionLimits"),
        "journal_checks": (
            "JournalReport",
            "check_journal",
            "check_sealed_record",
            "find_missing_checkpoints",
        ),
        "mcp_settings": (
            "SERVER_EXTRA",
            "AgentServers",
            "can_server_start",
            "find_server_status",
            "load_agent_servers",
            "plan_server_install",
            "plan_server_uninstall",
        ),
        "session_capture": ("FollowedSession", "WatchSettings"),
        "session_sources": ("list_agent_roots", "read_current_parts"),
        "settled_entries": ("count_record_entries",),
        "spool": ("SPOOL_FOLDER", "list_spools"),
        "watcher": (
            "CheckpointAnchoring",
            "FileChanges",
            "SealFunction",
            "SealedRecord",
            "SealingQueue",
            "SessionCopy",
            "Watcher",
        ),
    },
)
