"""Native sessions → records: everything vacr knows about each agent.

`registry` finds the agent that wrote a source; each agent has a folder of its own.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.agents.agent import NO_CACHE_WRITES as NO_CACHE_WRITES
    from vacr.agents.agent import Agent as Agent
    from vacr.agents.agent import AgentSettingsFile as AgentSettingsFile
    from vacr.agents.agent import CacheWrites as CacheWrites
    from vacr.agents.agent import CallReports as CallReports
    from vacr.agents.agent import EncryptedStore as EncryptedStore
    from vacr.agents.agent import HookLayout as HookLayout
    from vacr.agents.agent import HookSettings as HookSettings
    from vacr.agents.agent import McpSettings as McpSettings
    from vacr.agents.agent import Retention as Retention
    from vacr.agents.agent import SessionStore as SessionStore
    from vacr.agents.agent import ShellBehaviour as ShellBehaviour
    from vacr.agents.agent import Source as Source
    from vacr.agents.agent import SourcePart as SourcePart
    from vacr.agents.agent import pause_garbage_collector as pause_garbage_collector
    from vacr.agents.documents import DatabaseQuery as DatabaseQuery
    from vacr.agents.documents import FileLister as FileLister
    from vacr.agents.documents import ListedSession as ListedSession
    from vacr.agents.documents import RepairedValue as RepairedValue
    from vacr.agents.documents import SessionDatabase as SessionDatabase
    from vacr.agents.documents import SessionFolder as SessionFolder
    from vacr.agents.documents import encode_session_rows as encode_session_rows
    from vacr.agents.documents import is_export_head as is_export_head
    from vacr.agents.documents import is_multiline_json as is_multiline_json
    from vacr.agents.documents import parse_json_documents as parse_json_documents
    from vacr.agents.documents import parse_json_text as parse_json_text
    from vacr.agents.file_tools import FileReport as FileReport
    from vacr.agents.file_tools import RunShell as RunShell
    from vacr.agents.file_tools import ShellOutput as ShellOutput
    from vacr.agents.file_tools import ShellResult as ShellResult
    from vacr.agents.file_tools import get_patch_text as get_patch_text
    from vacr.agents.file_tools import is_absolute_path as is_absolute_path
    from vacr.agents.file_tools import is_unknown_file_tool as is_unknown_file_tool
    from vacr.agents.file_tools import parse_patch_actions as parse_patch_actions
    from vacr.agents.file_tools import parse_requested_edits as parse_requested_edits
    from vacr.agents.labels import DENIED as DENIED
    from vacr.agents.labels import FAILED_STATUSES as FAILED_STATUSES
    from vacr.agents.labels import FAILURE as FAILURE
    from vacr.agents.labels import HOOK as HOOK
    from vacr.agents.labels import HOST as HOST
    from vacr.agents.labels import HUMAN as HUMAN
    from vacr.agents.labels import INFERRED as INFERRED
    from vacr.agents.labels import INTERRUPTED as INTERRUPTED
    from vacr.agents.labels import NO_RESULT as NO_RESULT
    from vacr.agents.labels import PARENT_AGENT as PARENT_AGENT
    from vacr.agents.labels import RUNNING as RUNNING
    from vacr.agents.labels import STATED as STATED
    from vacr.agents.labels import SUCCESS as SUCCESS
    from vacr.agents.labels import TIMED_OUT as TIMED_OUT
    from vacr.agents.labels import UNKNOWN_OUTCOME as UNKNOWN_OUTCOME
    from vacr.agents.labels import UNKNOWN_SPEAKER as UNKNOWN_SPEAKER
    from vacr.agents.labels import CallResult as CallResult
    from vacr.agents.labels import Outcome as Outcome
    from vacr.agents.labels import Speaker as Speaker
    from vacr.agents.labels import get_writable_marks as get_writable_marks
    from vacr.agents.labels import infer_speaker as infer_speaker
    from vacr.agents.labels import label_speakers as label_speakers
    from vacr.agents.labels import parse_stated_outcome as parse_stated_outcome
    from vacr.agents.labels import parse_status_word as parse_status_word
    from vacr.agents.lift import UNKNOWN as UNKNOWN
    from vacr.agents.lift import Lift as Lift
    from vacr.agents.lift import Move as Move
    from vacr.agents.lift import Reading as Reading
    from vacr.agents.lift import SessionBuilder as SessionBuilder
    from vacr.agents.lift import SourceNotice as SourceNotice
    from vacr.agents.lift import add_remaining_members as add_remaining_members
    from vacr.agents.lift import drop_nulls as drop_nulls
    from vacr.agents.lift import get_native_members as get_native_members
    from vacr.agents.lift import is_count as is_count
    from vacr.agents.likely_formats import describe_likely_table as describe_likely_table
    from vacr.agents.record_validation import has_separate_calls as has_separate_calls
    from vacr.agents.record_validation import validate_record as validate_record
    from vacr.agents.registry import AGENT_ENTRY_POINT_GROUP as AGENT_ENTRY_POINT_GROUP
    from vacr.agents.registry import find_agent as find_agent
    from vacr.agents.registry import find_missing_agent as find_missing_agent
    from vacr.agents.registry import find_record_agent as find_record_agent
    from vacr.agents.registry import find_required_agent as find_required_agent
    from vacr.agents.registry import find_tool_effect as find_tool_effect
    from vacr.agents.registry import is_written_by as is_written_by
    from vacr.agents.registry import load_agents as load_agents
    from vacr.agents.registry import recognise_agent as recognise_agent
    from vacr.agents.session_tables import SessionTables as SessionTables
    from vacr.agents.session_tables import add_session_rows as add_session_rows
    from vacr.agents.tool_calls import CALL_DONE as CALL_DONE
    from vacr.agents.tool_calls import CALL_FAILED as CALL_FAILED
    from vacr.agents.tool_calls import CALL_PENDING as CALL_PENDING
    from vacr.agents.tool_calls import CALL_UNREPORTED as CALL_UNREPORTED
    from vacr.agents.tool_calls import COMMAND_ARGUMENTS as COMMAND_ARGUMENTS
    from vacr.agents.tool_calls import CONTENT_ARGUMENTS as CONTENT_ARGUMENTS
    from vacr.agents.tool_calls import NEW_TEXT_ARGUMENTS as NEW_TEXT_ARGUMENTS
    from vacr.agents.tool_calls import OLD_TEXT_ARGUMENTS as OLD_TEXT_ARGUMENTS
    from vacr.agents.tool_calls import PATCH_ARGUMENTS as PATCH_ARGUMENTS
    from vacr.agents.tool_calls import PATH_ARGUMENTS as PATH_ARGUMENTS
    from vacr.agents.tool_calls import SessionStep as SessionStep
    from vacr.agents.tool_calls import ShownEntry as ShownEntry
    from vacr.agents.tool_calls import ToolCall as ToolCall
    from vacr.agents.tool_calls import ToolEffect as ToolEffect
    from vacr.agents.tool_calls import dict_or_empty as dict_or_empty
    from vacr.agents.tool_calls import extract_command as extract_command
    from vacr.agents.tool_calls import extract_result_text as extract_result_text
    from vacr.agents.tool_calls import get_count as get_count
    from vacr.agents.tool_calls import get_text_argument as get_text_argument

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "agent": (
            "Agent",
            "CacheWrites",
            "CallReports",
            "EncryptedStore",
            "HookLayout",
            "HookSettings",
            "McpSettings",
            "Retention",
            "NO_CACHE_WRITES",
            "SessionStore",
            "AgentSettingsFile",
            "ShellBehaviour",
            "Source",
            "SourcePart",
            "pause_garbage_collector",
        ),
        "documents": (
            "DatabaseQuery",
            "FileLister",
            "ListedSession",
            "RepairedValue",
            "SessionDatabase",
            "SessionFolder",
            "encode_session_rows",
            "is_export_head",
            "is_multiline_json",
            "parse_json_documents",
            "parse_json_text",
        ),
        "file_tools": (
            "FileReport",
            "RunShell",
            "ShellOutput",
            "ShellResult",
            "get_patch_text",
            "is_absolute_path",
            "is_unknown_file_tool",
            "parse_patch_actions",
            "parse_requested_edits",
        ),
        "labels": (
            "CallResult",
            "DENIED",
            "FAILED_STATUSES",
            "FAILURE",
            "HOOK",
            "HOST",
            "HUMAN",
            "INFERRED",
            "INTERRUPTED",
            "NO_RESULT",
            "Outcome",
            "PARENT_AGENT",
            "RUNNING",
            "STATED",
            "SUCCESS",
            "Speaker",
            "TIMED_OUT",
            "UNKNOWN_OUTCOME",
            "UNKNOWN_SPEAKER",
            "get_writable_marks",
            "infer_speaker",
            "label_speakers",
            "parse_stated_outcome",
            "parse_status_word",
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
            "get_native_members",
            "is_count",
        ),
        "likely_formats": ("describe_likely_table",),
        "record_validation": ("has_separate_calls", "validate_record"),
        "registry": (
            "AGENT_ENTRY_POINT_GROUP",
            "find_agent",
            "find_missing_agent",
            "find_record_agent",
            "find_required_agent",
            "find_tool_effect",
            "is_written_by",
            "load_agents",
            "recognise_agent",
        ),
        "session_tables": ("SessionTables", "add_session_rows"),
        "tool_calls": (
            "CALL_DONE",
            "CALL_FAILED",
            "CALL_PENDING",
            "CALL_UNREPORTED",
            "COMMAND_ARGUMENTS",
            "CONTENT_ARGUMENTS",
            "NEW_TEXT_ARGUMENTS",
            "OLD_TEXT_ARGUMENTS",
            "PATCH_ARGUMENTS",
            "PATH_ARGUMENTS",
            "SessionStep",
            "ShownEntry",
            "ToolCall",
            "ToolEffect",
            "dict_or_empty",
            "extract_command",
            "extract_result_text",
            "get_count",
            "get_text_argument",
        ),
    },
)
