"""Files on this machine: read, write atomically, lock; the state folder; SQLite snapshots."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.files.index_database import IndexTakenOver as IndexTakenOver
    from vacr.files.index_database import check_index_part as check_index_part
    from vacr.files.index_database import delete_index_database as delete_index_database
    from vacr.files.index_database import find_index_file as find_index_file
    from vacr.files.index_database import find_making as find_making
    from vacr.files.index_database import open_index_database as open_index_database
    from vacr.files.inputs import CONFIG_VARIABLE as CONFIG_VARIABLE
    from vacr.files.inputs import STATE_VARIABLE as STATE_VARIABLE
    from vacr.files.inputs import STDIN as STDIN
    from vacr.files.inputs import ServiceAddress as ServiceAddress
    from vacr.files.inputs import describe_file_error as describe_file_error
    from vacr.files.inputs import find_config_folder as find_config_folder
    from vacr.files.inputs import find_home_folder as find_home_folder
    from vacr.files.inputs import find_state_folder as find_state_folder
    from vacr.files.inputs import format_path as format_path
    from vacr.files.inputs import is_absolute as is_absolute
    from vacr.files.inputs import is_file as is_file
    from vacr.files.inputs import is_folder as is_folder
    from vacr.files.inputs import join_path as join_path
    from vacr.files.inputs import make_absolute as make_absolute
    from vacr.files.inputs import make_folder_error as make_folder_error
    from vacr.files.inputs import make_state_folder_error as make_state_folder_error
    from vacr.files.inputs import parse_service_address as parse_service_address
    from vacr.files.inputs import path_exists as path_exists
    from vacr.files.inputs import read_bytes as read_bytes
    from vacr.files.inputs import resolve_links as resolve_links
    from vacr.files.inputs import walk_files as walk_files
    from vacr.files.responses import CheckedResponse as CheckedResponse
    from vacr.files.sqlite import SqliteSnapshots as SqliteSnapshots
    from vacr.files.writing import OutputFile as OutputFile
    from vacr.files.writing import check_not_input as check_not_input
    from vacr.files.writing import discard_unfinished_files as discard_unfinished_files
    from vacr.files.writing import has_same_bytes as has_same_bytes
    from vacr.files.writing import hash_pieces as hash_pieces
    from vacr.files.writing import hold_file_lock as hold_file_lock
    from vacr.files.writing import make_durable_folder as make_durable_folder
    from vacr.files.writing import make_folder_tree as make_folder_tree
    from vacr.files.writing import remove_leftover_files as remove_leftover_files
    from vacr.files.writing import rewrite_and_sync as rewrite_and_sync
    from vacr.files.writing import sync_folder as sync_folder
    from vacr.files.writing import sync_folder_and_parents as sync_folder_and_parents
    from vacr.files.writing import write_durable_file as write_durable_file
    from vacr.files.writing import write_file_atomically as write_file_atomically
    from vacr.files.writing import write_files_atomically as write_files_atomically

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "index_database": (
            "IndexTakenOver",
            "check_index_part",
            "delete_index_database",
            "find_index_file",
            "find_making",
            "open_index_database",
        ),
        "inputs": (
            "CONFIG_VARIABLE",
            "STATE_VARIABLE",
            "STDIN",
            "ServiceAddress",
            "describe_file_error",
            "find_config_folder",
            "find_home_folder",
            "find_state_folder",
            "format_path",
            "is_absolute",
            "is_file",
            "is_folder",
            "join_path",
            "make_absolute",
            "make_folder_error",
            "make_state_folder_error",
            "parse_service_address",
            "path_exists",
            "read_bytes",
            "resolve_links",
            "walk_files",
        ),
        "responses": ("CheckedResponse",),
        "sqlite": ("SqliteSnapshots",),
        "writing": (
            "OutputFile",
            "check_not_input",
            "discard_unfinished_files",
            "has_same_bytes",
            "hash_pieces",
            "hold_file_lock",
            "make_durable_folder",
            "make_folder_tree",
            "remove_leftover_files",
            "rewrite_and_sync",
            "sync_folder",
            "sync_folder_and_parents",
            "write_durable_file",
            "write_file_atomically",
            "write_files_atomically",
        ),
    },
)
