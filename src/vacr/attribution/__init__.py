"""Record → file attribution: the lines that an agent wrote, by file.

Attribution is a pure function of records and an optional base, so that anybody can repeat it. The
replay, the line diff and the table of tools have versions, and every attribution names them.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.attribution.attribute import ConversationLinks as ConversationLinks
    from vacr.attribution.attribute import attribute_records as attribute_records
    from vacr.attribution.attribute import build_contributor as build_contributor
    from vacr.attribution.attribute import count_unknown_tools as count_unknown_tools
    from vacr.attribution.attribute import find_session_root as find_session_root
    from vacr.attribution.attribute import list_applied_changes as list_applied_changes
    from vacr.attribution.attribute import list_changed_files as list_changed_files
    from vacr.attribution.attribute import replay_records as replay_records
    from vacr.attribution.attribute import store_file_actions as store_file_actions
    from vacr.attribution.base_files import BaseFiles as BaseFiles
    from vacr.attribution.base_files import find_base_root as find_base_root
    from vacr.attribution.check import ATTRIBUTION_DIFFERS as ATTRIBUTION_DIFFERS
    from vacr.attribution.check import ATTRIBUTION_HOLDS as ATTRIBUTION_HOLDS
    from vacr.attribution.check import ATTRIBUTION_NEEDS_AGENT as ATTRIBUTION_NEEDS_AGENT
    from vacr.attribution.check import JointRecords as JointRecords
    from vacr.attribution.check import compare_attribution as compare_attribution
    from vacr.attribution.check import is_jointly_attributed as is_jointly_attributed
    from vacr.attribution.check import list_unattributed_variants as list_unattributed_variants
    from vacr.attribution.file_state import DOUBT_UNSEEN as DOUBT_UNSEEN
    from vacr.attribution.file_state import EVIDENCE_CONTENT_ONLY as EVIDENCE_CONTENT_ONLY
    from vacr.attribution.file_state import EVIDENCE_EXTERNAL as EVIDENCE_EXTERNAL
    from vacr.attribution.file_state import FileState as FileState
    from vacr.attribution.file_state import TrackedFile as TrackedFile
    from vacr.attribution.reconcile import LineRun as LineRun
    from vacr.attribution.reconcile import list_line_runs as list_line_runs
    from vacr.attribution.reconcile import unattribute_reverted_lines as unattribute_reverted_lines
    from vacr.attribution.replay import Replay as Replay
    from vacr.attribution.replay import is_left_running as is_left_running
    from vacr.attribution.session_steps import find_entry_prompts as find_entry_prompts
    from vacr.attribution.session_steps import find_entry_times as find_entry_times
    from vacr.attribution.session_steps import list_shown_revisions as list_shown_revisions
    from vacr.attribution.session_steps import locate_session_steps as locate_session_steps

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "attribute": (
            "ConversationLinks",
            "attribute_records",
            "build_contributor",
            "count_unknown_tools",
            "find_session_root",
            "list_applied_changes",
            "list_changed_files",
            "replay_records",
            "store_file_actions",
        ),
        "base_files": (
            "BaseFiles",
            "find_base_root",
        ),
        "check": (
            "ATTRIBUTION_DIFFERS",
            "ATTRIBUTION_HOLDS",
            "ATTRIBUTION_NEEDS_AGENT",
            "JointRecords",
            "compare_attribution",
            "is_jointly_attributed",
            "list_unattributed_variants",
        ),
        "file_state": (
            "DOUBT_UNSEEN",
            "EVIDENCE_CONTENT_ONLY",
            "EVIDENCE_EXTERNAL",
            "FileState",
            "TrackedFile",
        ),
        "reconcile": (
            "LineRun",
            "list_line_runs",
            "unattribute_reverted_lines",
        ),
        "replay": (
            "Replay",
            "is_left_running",
        ),
        "session_steps": (
            "find_entry_prompts",
            "find_entry_times",
            "list_shown_revisions",
            "locate_session_steps",
        ),
    },
)
