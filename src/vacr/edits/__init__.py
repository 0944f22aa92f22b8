"""Changes to files: file actions, patch languages, line diffs and numbered listings."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.edits.actions import AppliedPatch as AppliedPatch
    from vacr.edits.actions import ChangeNotice as ChangeNotice
    from vacr.edits.actions import Edit as Edit
    from vacr.edits.actions import FileAction as FileAction
    from vacr.edits.actions import FileDeletion as FileDeletion
    from vacr.edits.actions import FileMove as FileMove
    from vacr.edits.actions import FileRewrite as FileRewrite
    from vacr.edits.actions import FileWrite as FileWrite
    from vacr.edits.actions import GitStateChange as GitStateChange
    from vacr.edits.actions import MissingFile as MissingFile
    from vacr.edits.actions import ObservedDiff as ObservedDiff
    from vacr.edits.actions import ObservedFile as ObservedFile
    from vacr.edits.actions import ObservedLines as ObservedLines
    from vacr.edits.actions import PossibleChange as PossibleChange
    from vacr.edits.actions import Replacement as Replacement
    from vacr.edits.actions import Revert as Revert
    from vacr.edits.actions import Stash as Stash
    from vacr.edits.actions import UnplacedEdit as UnplacedEdit
    from vacr.edits.actions import Unstash as Unstash
    from vacr.edits.lines import ARROW_LINE_NUMBER as ARROW_LINE_NUMBER
    from vacr.edits.lines import DIFF_ALGORITHM as DIFF_ALGORITHM
    from vacr.edits.lines import DIFF_VERSION as DIFF_VERSION
    from vacr.edits.lines import MIN_CUT_LINE_LENGTH as MIN_CUT_LINE_LENGTH
    from vacr.edits.lines import NO_ORIGIN as NO_ORIGIN
    from vacr.edits.lines import decode_file_text as decode_file_text
    from vacr.edits.lines import drop_byte_order_mark as drop_byte_order_mark
    from vacr.edits.lines import encode_file_text as encode_file_text
    from vacr.edits.lines import find_line_origins as find_line_origins
    from vacr.edits.lines import find_local_origins as find_local_origins
    from vacr.edits.lines import gather_uncut_lines as gather_uncut_lines
    from vacr.edits.lines import merge_changes as merge_changes
    from vacr.edits.lines import normalize_line_ends as normalize_line_ends
    from vacr.edits.lines import parse_listing as parse_listing
    from vacr.edits.lines import parse_numbered_lines as parse_numbered_lines
    from vacr.edits.lines import render_as_host as render_as_host
    from vacr.edits.lines import split_keeping_ends as split_keeping_ends
    from vacr.edits.lines import strip_line_end as strip_line_end
    from vacr.edits.patch import FilePatch as FilePatch
    from vacr.edits.patch import Hunk as Hunk
    from vacr.edits.patch import PatchHunk as PatchHunk
    from vacr.edits.patch import drop_last_line_end as drop_last_line_end
    from vacr.edits.patch import find_patch_lines as find_patch_lines
    from vacr.edits.patch import list_hunk_variants as list_hunk_variants
    from vacr.edits.patch import parse_apply_patch as parse_apply_patch
    from vacr.edits.patch import parse_diff_hunks as parse_diff_hunks
    from vacr.edits.patch import parse_new_blobs as parse_new_blobs
    from vacr.edits.patch import parse_unified_diff as parse_unified_diff
    from vacr.edits.paths import is_inside_git_folder as is_inside_git_folder
    from vacr.edits.paths import make_absolute_path as make_absolute_path
    from vacr.edits.paths import make_path_key as make_path_key
    from vacr.edits.paths import make_relative_path as make_relative_path

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "actions": (
            "AppliedPatch",
            "ChangeNotice",
            "Edit",
            "FileAction",
            "FileDeletion",
            "FileMove",
            "FileRewrite",
            "FileWrite",
            "GitStateChange",
            "ObservedDiff",
            "MissingFile",
            "ObservedFile",
            "ObservedLines",
            "PossibleChange",
            "Replacement",
            "Revert",
            "Stash",
            "UnplacedEdit",
            "Unstash",
        ),
        "lines": (
            "ARROW_LINE_NUMBER",
            "DIFF_ALGORITHM",
            "DIFF_VERSION",
            "MIN_CUT_LINE_LENGTH",
            "NO_ORIGIN",
            "decode_file_text",
            "drop_byte_order_mark",
            "encode_file_text",
            "find_line_origins",
            "find_local_origins",
            "gather_uncut_lines",
            "merge_changes",
            "normalize_line_ends",
            "parse_listing",
            "parse_numbered_lines",
            "render_as_host",
            "split_keeping_ends",
            "strip_line_end",
        ),
        "patch": (
            "FilePatch",
            "Hunk",
            "PatchHunk",
            "drop_last_line_end",
            "find_patch_lines",
            "list_hunk_variants",
            "parse_apply_patch",
            "parse_diff_hunks",
            "parse_new_blobs",
            "parse_unified_diff",
        ),
        "paths": (
            "is_inside_git_folder",
            "make_absolute_path",
            "make_path_key",
            "make_relative_path",
        ),
    },
)
