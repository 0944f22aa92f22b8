"""Native sessions → records: everything vacr knows about each agent.

`registry` finds the agent that wrote a source; each agent has a folder of its own.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.agents.agent import (
        Agent as Agent,
        CallReports as CallReports,
        SessionStore as SessionStore,
        ShellBehaviour as ShellBehaviour,
        Source as Source,
        SourcePart as SourcePart,
        pause_garbage_collector as pause_garbage_collector,
    )
    from vacr.agents.documents import (
        DatabaseQuery as DatabaseQuery,
        ListedSession as ListedSession,
        SessionDatabase as SessionDatabase,
        encode_session_rows as encode_session_rows,
        is_multiline_json as is_multiline_json,
        parse_json_documents as parse_json_documents,
    )
    from vacr.agents.file_tools import (
        FileReport as FileReport,
        RunShell as RunShell,
        ShellOutput as ShellOutput,
        ShellResult as ShellResult,
        is_absolute_path as is_absolute_path,
        is_unknown_file_tool as is_unknown_file_tool,
        parse_patch_actions as parse_patch_actions,
        parse_requested_edits as parse_requested_edits,
    )
    from vacr.agents.lift import (
        Lift as Lift,
        Move as Move,
        Reading as Reading,
        SessionBuilder as SessionBuilder,
        SourceNotice as SourceNotice,
        UNKNOWN as UNKNOWN,
        add_remaining_members as add_remaining_members,
        drop_nulls as drop_nulls,
        get_writable_marks as get_writable_marks,
        is_count as is_count,
    )
    from vacr.agents.registry import (
        Reader as Reader,
        find_agent as find_agent,
        find_reader as find_reader,
        find_record_agent as find_record_agent,
        find_tool_effect as find_tool_effect,
        load_agents as load_agents,
        load_readers as load_readers,
        recognise_agent as recognise_agent,
    )
    from vacr.agents.tool_calls import (
        CALL_DONE as CALL_DONE,
        CALL_FAILED as CALL_FAILED,
        CALL_PENDING as CALL_PENDING,
        CALL_UNREPORTED as CALL_UNREPORTED,
        COMMAND_ARGUMENTS as COMMAND_ARGUMENTS,
        CONTENT_ARGUMENTS as CONTENT_ARGUMENTS,
        PATCH_ARGUMENTS as PATCH_ARGUMENTS,
        PATH_ARGUMENTS as PATH_ARGUMENTS,
        SessionStep as SessionStep,
        ShownEntry as ShownEntry,
        ToolCall as ToolCall,
        ToolEffect as ToolEffect,
        extract_command as extract_command,
        extract_result_text as extract_result_text,
        get_text_argument as get_text_argument,
    )

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "agent": (
            "Agent",
            "CallReports",
            "SessionStore",
            "ShellBehaviour",
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
        "file_tools": (
            "FileReport",
            "RunShell",
            "ShellOutput",
            "ShellResult",
            "is_absolute_path",
            "is_unknown_file_tool",
            "parse_patch_actions",
            "parse_requested_edits",
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
            "find_agent",
            "find_reader",
            "find_record_agent",
            "find_tool_effect",
            "load_agents",
            "load_readers",
            "recognise_agent",
        ),
        "tool_calls": (
            "CALL_DONE",
            "CALL_FAILED",
            "CALL_PENDING",
            "CALL_UNREPORTED",
            "COMMAND_ARGUMENTS",
            "CONTENT_ARGUMENTS",
            "PATCH_ARGUMENTS",
            "PATH_ARGUMENTS",
            "SessionStep",
            "ShownEntry",
            "ToolCall",
            "ToolEffect",
            "extract_command",
            "extract_result_text",
            "get_text_argument",
        ),
    },
)
