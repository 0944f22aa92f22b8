"""Sessions on this machine: files, folders and databases, opened without disturbing them."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.discovery.kept_records import KEPT_SUFFIX as KEPT_SUFFIX
    from vacr.discovery.kept_records import find_kept_folder as find_kept_folder
    from vacr.discovery.kept_records import is_kept_record as is_kept_record
    from vacr.discovery.kept_records import list_kept_family as list_kept_family
    from vacr.discovery.kept_records import list_kept_records as list_kept_records
    from vacr.discovery.kept_records import split_kept_name as split_kept_name
    from vacr.discovery.opening import MapFile as MapFile
    from vacr.discovery.opening import OpenedSession as OpenedSession
    from vacr.discovery.opening import is_in_agent_store as is_in_agent_store
    from vacr.discovery.opening import is_inside_session_folder as is_inside_session_folder
    from vacr.discovery.opening import list_attached_files as list_attached_files
    from vacr.discovery.opening import make_attached_name as make_attached_name
    from vacr.discovery.opening import read_sessions as read_sessions
    from vacr.discovery.places import NAME_JOINT as NAME_JOINT
    from vacr.discovery.places import NameJoints as NameJoints
    from vacr.discovery.places import SessionPlace as SessionPlace
    from vacr.discovery.places import derive_record_name as derive_record_name
    from vacr.discovery.places import find_places as find_places
    from vacr.discovery.places import fingerprint_place as fingerprint_place
    from vacr.discovery.places import make_record_name as make_record_name
    from vacr.discovery.places import strip_native_suffix as strip_native_suffix
    from vacr.discovery.places import walk_places as walk_places
    from vacr.discovery.session_stores import SQLITE_SIDE_SUFFIXES as SQLITE_SIDE_SUFFIXES
    from vacr.discovery.session_stores import DatabaseFile as DatabaseFile
    from vacr.discovery.session_stores import find_folder_store as find_folder_store
    from vacr.discovery.session_stores import is_database as is_database
    from vacr.discovery.sessions import SessionSummary as SessionSummary
    from vacr.discovery.sessions import find_project_folder as find_project_folder
    from vacr.discovery.sessions import list_kept_sessions as list_kept_sessions
    from vacr.discovery.sessions import list_sessions as list_sessions
    from vacr.discovery.sessions import list_store_roots as list_store_roots
    from vacr.discovery.sessions import make_part_name as make_part_name
    from vacr.discovery.sessions import read_folder_session_summary as read_folder_session_summary
    from vacr.discovery.sessions import read_session_summary as read_session_summary
    from vacr.discovery.stored_places import StoredPlace as StoredPlace
    from vacr.discovery.stored_places import list_stored_places as list_stored_places

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "kept_records": (
            "KEPT_SUFFIX",
            "find_kept_folder",
            "is_kept_record",
            "list_kept_family",
            "list_kept_records",
            "split_kept_name",
        ),
        "opening": (
            "MapFile",
            "OpenedSession",
            "is_in_agent_store",
            "is_inside_session_folder",
            "list_attached_files",
            "make_attached_name",
            "read_sessions",
        ),
        "places": (
            "NAME_JOINT",
            "NameJoints",
            "SessionPlace",
            "derive_record_name",
            "find_places",
            "fingerprint_place",
            "make_record_name",
            "strip_native_suffix",
            "walk_places",
        ),
        "session_stores": (
            "DatabaseFile",
            "SQLITE_SIDE_SUFFIXES",
            "find_folder_store",
            "is_database",
        ),
        "sessions": (
            "SessionSummary",
            "find_project_folder",
            "list_kept_sessions",
            "list_sessions",
            "list_store_roots",
            "make_part_name",
            "read_folder_session_summary",
            "read_session_summary",
        ),
        "stored_places": (
            "StoredPlace",
            "list_stored_places",
        ),
    },
)
