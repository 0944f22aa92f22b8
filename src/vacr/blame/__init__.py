"""Commits and files of a git repository, joined to the records of the agents that wrote them."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.blame.additions import FileAdditions as FileAdditions
    from vacr.blame.additions import list_commit_additions as list_commit_additions
    from vacr.blame.carry import CarriedFile as CarriedFile
    from vacr.blame.carry import carry_claims as carry_claims
    from vacr.blame.claim_index import ClaimIndex as ClaimIndex
    from vacr.blame.claim_index import IndexedRecord as IndexedRecord
    from vacr.blame.claim_index import IndexedRecords as IndexedRecords
    from vacr.blame.claim_index import IndexedSource as IndexedSource
    from vacr.blame.claim_index import RecordHandle as RecordHandle
    from vacr.blame.claim_index import SourceStamp as SourceStamp
    from vacr.blame.claims import LineClaim as LineClaim
    from vacr.blame.file_blame import AddedLines as AddedLines
    from vacr.blame.file_blame import BlamedLine as BlamedLine
    from vacr.blame.file_blame import BlameRecords as BlameRecords
    from vacr.blame.file_blame import blame_commit as blame_commit
    from vacr.blame.file_blame import blame_file as blame_file
    from vacr.blame.git import Repository as Repository
    from vacr.blame.git import RepositoryFile as RepositoryFile
    from vacr.blame.git import find_git_base as find_git_base
    from vacr.blame.git import find_repository_file as find_repository_file
    from vacr.blame.git import find_work_tree_names as find_work_tree_names
    from vacr.blame.git import find_work_trees as find_work_trees
    from vacr.blame.git import load_git_base as load_git_base
    from vacr.blame.git_blame import BLAME_INCREMENTAL as BLAME_INCREMENTAL
    from vacr.blame.git_blame import BLAME_LINE_PORCELAIN as BLAME_LINE_PORCELAIN
    from vacr.blame.git_blame import BLAME_PORCELAIN as BLAME_PORCELAIN
    from vacr.blame.git_blame import BlameSelection as BlameSelection
    from vacr.blame.git_blame import add_blame_headers as add_blame_headers
    from vacr.blame.git_blame import add_incremental_headers as add_incremental_headers
    from vacr.blame.git_blame import read_commit_authors as read_commit_authors
    from vacr.blame.git_blame import run_porcelain_blame as run_porcelain_blame
    from vacr.blame.history import Commit as Commit
    from vacr.blame.history import UnreadableFile as UnreadableFile
    from vacr.blame.history import blame_commits as blame_commits
    from vacr.blame.history import find_missing_objects as find_missing_objects
    from vacr.blame.history import list_range_commits as list_range_commits
    from vacr.blame.join import LineBlame as LineBlame
    from vacr.blame.locality import name_repository as name_repository
    from vacr.blame.notes_ref import DEFAULT_NOTES_REF as DEFAULT_NOTES_REF
    from vacr.blame.notes_ref import FetchedNotes as FetchedNotes
    from vacr.blame.notes_ref import NotesRef as NotesRef
    from vacr.blame.rebuild import COMMIT_ABSENT as COMMIT_ABSENT
    from vacr.blame.rebuild import COMMIT_DIFFERENT as COMMIT_DIFFERENT
    from vacr.blame.rebuild import COMMIT_EQUAL as COMMIT_EQUAL
    from vacr.blame.rebuild import COMMIT_UNCHANGED as COMMIT_UNCHANGED
    from vacr.blame.rebuild import CommitFiles as CommitFiles
    from vacr.blame.rebuild import FormattedText as FormattedText
    from vacr.blame.rebuild import ReadProjectFile as ReadProjectFile
    from vacr.blame.rebuild import RebuiltFile as RebuiltFile
    from vacr.blame.rebuild import rebuild_files as rebuild_files
    from vacr.blame.survival import count_survivors as count_survivors

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "claim_index": (
            "ClaimIndex",
            "IndexedRecord",
            "IndexedRecords",
            "IndexedSource",
            "RecordHandle",
            "SourceStamp",
        ),
        "additions": (
            "FileAdditions",
            "list_commit_additions",
        ),
        "carry": (
            "CarriedFile",
            "carry_claims",
        ),
        "claims": ("LineClaim",),
        "file_blame": (
            "AddedLines",
            "BlameRecords",
            "BlamedLine",
            "blame_commit",
            "blame_file",
        ),
        "git": (
            "Repository",
            "RepositoryFile",
            "find_git_base",
            "find_repository_file",
            "find_work_tree_names",
            "find_work_trees",
            "load_git_base",
        ),
        "git_blame": (
            "BLAME_INCREMENTAL",
            "BLAME_LINE_PORCELAIN",
            "BLAME_PORCELAIN",
            "BlameSelection",
            "add_blame_headers",
            "add_incremental_headers",
            "read_commit_authors",
            "run_porcelain_blame",
        ),
        "history": (
            "Commit",
            "UnreadableFile",
            "blame_commits",
            "find_missing_objects",
            "list_range_commits",
        ),
        "join": ("LineBlame",),
        "locality": ("name_repository",),
        "notes_ref": (
            "DEFAULT_NOTES_REF",
            "FetchedNotes",
            "NotesRef",
        ),
        "rebuild": (
            "COMMIT_ABSENT",
            "COMMIT_DIFFERENT",
            "COMMIT_EQUAL",
            "COMMIT_UNCHANGED",
            "CommitFiles",
            "FormattedText",
            "ReadProjectFile",
            "RebuiltFile",
            "rebuild_files",
        ),
        "survival": ("count_survivors",),
    },
)
