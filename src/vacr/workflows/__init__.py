"""The work of each verb on files: record many sessions, sign, register, verify."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.workflows.pools import DaskCluster as DaskCluster
    from vacr.workflows.pools import NoProcesses as NoProcesses
    from vacr.workflows.pools import start_local_pool as start_local_pool
    from vacr.workflows.record import RecordingOptions as RecordingOptions
    from vacr.workflows.record import RecordingOutcome as RecordingOutcome
    from vacr.workflows.record import RecordingTask as RecordingTask
    from vacr.workflows.record import record_place as record_place
    from vacr.workflows.record_many import RecordingRun as RecordingRun
    from vacr.workflows.record_many import assign_output_folders as assign_output_folders
    from vacr.workflows.record_many import count_cores as count_cores
    from vacr.workflows.record_many import plan_file_task as plan_file_task
    from vacr.workflows.record_many import plan_file_tasks as plan_file_tasks
    from vacr.workflows.record_many import plan_folder_tasks as plan_folder_tasks
    from vacr.workflows.run_journal import RunJournal as RunJournal
    from vacr.workflows.sealed_source import build_sealed_source_path as build_sealed_source_path
    from vacr.workflows.sealed_source import unseal_source as unseal_source
    from vacr.workflows.sign import LARGE_FILE_SIZE as LARGE_FILE_SIZE
    from vacr.workflows.sign import SignableFile as SignableFile
    from vacr.workflows.sign import read_signable_file as read_signable_file
    from vacr.workflows.statement_files import RECORD_SUFFIXES as RECORD_SUFFIXES
    from vacr.workflows.statement_files import STATEMENT_SUFFIX as STATEMENT_SUFFIX
    from vacr.workflows.statement_files import StatementPair as StatementPair
    from vacr.workflows.statement_files import find_statement_pairs as find_statement_pairs

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "pools": (
            "DaskCluster",
            "NoProcesses",
            "start_local_pool",
        ),
        "record": (
            "RecordingOptions",
            "RecordingOutcome",
            "RecordingTask",
            "record_place",
        ),
        "record_many": (
            "RecordingRun",
            "assign_output_folders",
            "count_cores",
            "plan_file_task",
            "plan_file_tasks",
            "plan_folder_tasks",
        ),
        "run_journal": ("RunJournal",),
        "sealed_source": (
            "build_sealed_source_path",
            "unseal_source",
        ),
        "sign": (
            "LARGE_FILE_SIZE",
            "SignableFile",
            "read_signable_file",
        ),
        "statement_files": (
            "RECORD_SUFFIXES",
            "STATEMENT_SUFFIX",
            "StatementPair",
            "find_statement_pairs",
        ),
    },
)
