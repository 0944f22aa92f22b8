"""The work of each verb on files, without a command line.

A workflow takes plain values, reads and writes files, and reports progress and remarks through
callbacks. The command line, the watcher, the local app and the GitHub actions call workflows.
"""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.workflows.attribute import CONTRIBUTOR_TYPES as CONTRIBUTOR_TYPES
    from vacr.workflows.attribute import EVIDENCE_NOTED as EVIDENCE_NOTED
    from vacr.workflows.attribute import build_commit_document as build_commit_document
    from vacr.workflows.attribute import build_line_counts as build_line_counts
    from vacr.workflows.attribute import build_line_document as build_line_document
    from vacr.workflows.attribute import build_line_headers as build_line_headers
    from vacr.workflows.attribute import count_attributed_lines as count_attributed_lines
    from vacr.workflows.attribute import count_lines_by_model as count_lines_by_model
    from vacr.workflows.attribute import find_attribution_failure as find_attribution_failure
    from vacr.workflows.attribute import format_attribution_summary as format_attribution_summary
    from vacr.workflows.attribute import format_line_counts as format_line_counts
    from vacr.workflows.attribute import format_line_ranges as format_line_ranges
    from vacr.workflows.attribute import report_attribution_gaps as report_attribution_gaps
    from vacr.workflows.attribute import report_unknown_tools as report_unknown_tools
    from vacr.workflows.attribute import shorten_prompt as shorten_prompt
    from vacr.workflows.blame_records import BlameInputs as BlameInputs
    from vacr.workflows.blame_records import get_blame_records as get_blame_records
    from vacr.workflows.blame_records import read_blame_records as read_blame_records
    from vacr.workflows.blame_records import read_named_inputs as read_named_inputs
    from vacr.workflows.blame_records import read_project_inputs as read_project_inputs
    from vacr.workflows.blame_records import read_project_records as read_project_records
    from vacr.workflows.commit_notes import NOTE_EMPTY as NOTE_EMPTY
    from vacr.workflows.commit_notes import NOTE_REFUSED as NOTE_REFUSED
    from vacr.workflows.commit_notes import NOTE_UNCHANGED as NOTE_UNCHANGED
    from vacr.workflows.commit_notes import NOTE_WRITTEN as NOTE_WRITTEN
    from vacr.workflows.commit_notes import MergedNotes as MergedNotes
    from vacr.workflows.commit_notes import NoteResult as NoteResult
    from vacr.workflows.commit_notes import ReadNote as ReadNote
    from vacr.workflows.commit_notes import add_noted_blame as add_noted_blame
    from vacr.workflows.commit_notes import build_note_document as build_note_document
    from vacr.workflows.commit_notes import list_note_commits as list_note_commits
    from vacr.workflows.commit_notes import merge_fetched_notes as merge_fetched_notes
    from vacr.workflows.commit_notes import read_commit_notes as read_commit_notes
    from vacr.workflows.commit_notes import write_commit_notes as write_commit_notes
    from vacr.workflows.conversation_answers import answer_conversation as answer_conversation
    from vacr.workflows.conversation_answers import answer_search as answer_search
    from vacr.workflows.conversation_answers import answer_touches as answer_touches
    from vacr.workflows.conversation_answers import answer_usage as answer_usage
    from vacr.workflows.conversation_answers import answer_verification as answer_verification
    from vacr.workflows.conversations import load_conversation_data as load_conversation_data
    from vacr.workflows.evidence import MAX_EVIDENCE_BYTES as MAX_EVIDENCE_BYTES
    from vacr.workflows.evidence import EvidenceOptions as EvidenceOptions
    from vacr.workflows.evidence import choose_output_form as choose_output_form
    from vacr.workflows.evidence import parse_nonce as parse_nonce
    from vacr.workflows.evidence import read_evidence as read_evidence
    from vacr.workflows.evidence import read_journal_head as read_journal_head
    from vacr.workflows.evidence import read_record_file as read_record_file
    from vacr.workflows.formatters import FormatterRunner as FormatterRunner
    from vacr.workflows.index_refresh import RefreshReport as RefreshReport
    from vacr.workflows.index_refresh import refresh_search_index as refresh_search_index
    from vacr.workflows.inputs import MODIFIED_RECORD_HINT as MODIFIED_RECORD_HINT
    from vacr.workflows.inputs import InputRecord as InputRecord
    from vacr.workflows.inputs import check_input_name as check_input_name
    from vacr.workflows.inputs import drop_duplicate_recordings as drop_duplicate_recordings
    from vacr.workflows.inputs import make_modified_error as make_modified_error
    from vacr.workflows.inputs import name_failed_input as name_failed_input
    from vacr.workflows.inputs import read_input_records as read_input_records
    from vacr.workflows.inputs import read_json_or_cbor as read_json_or_cbor
    from vacr.workflows.inputs import scan_input_records as scan_input_records
    from vacr.workflows.kept_sessions import is_session_recorded as is_session_recorded
    from vacr.workflows.kept_sessions import keep_session as keep_session
    from vacr.workflows.line_origins import blame_one_file as blame_one_file
    from vacr.workflows.line_origins import build_line_origin as build_line_origin
    from vacr.workflows.line_origins import find_line_origin as find_line_origin
    from vacr.workflows.line_statistics import LINE_GROUPINGS as LINE_GROUPINGS
    from vacr.workflows.line_statistics import SURVIVAL_DAYS as SURVIVAL_DAYS
    from vacr.workflows.line_statistics import LineCounts as LineCounts
    from vacr.workflows.line_statistics import LineStatistics as LineStatistics
    from vacr.workflows.line_statistics import (
        build_statistics_document as build_statistics_document,
    )
    from vacr.workflows.line_statistics import build_statistics_page as build_statistics_page
    from vacr.workflows.line_statistics import collect_line_statistics as collect_line_statistics
    from vacr.workflows.line_statistics import format_group_names as format_group_names
    from vacr.workflows.line_statistics import sort_line_groups as sort_line_groups
    from vacr.workflows.moments import parse_moment as parse_moment
    from vacr.workflows.note_rewrite import list_unnoted_commits as list_unnoted_commits
    from vacr.workflows.note_rewrite import parse_rewritten_commits as parse_rewritten_commits
    from vacr.workflows.note_rewrite import rewrite_similar_notes as rewrite_similar_notes
    from vacr.workflows.note_rewrite import rewrite_stated_notes as rewrite_stated_notes
    from vacr.workflows.output_files import check_single_output as check_single_output
    from vacr.workflows.output_files import format_count as format_count
    from vacr.workflows.output_files import format_size as format_size
    from vacr.workflows.output_files import is_output_folder as is_output_folder
    from vacr.workflows.output_files import reserve_unused_name as reserve_unused_name
    from vacr.workflows.output_files import write_output_file as write_output_file
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
    from vacr.workflows.register import OutboxRun as OutboxRun
    from vacr.workflows.register import RegistrationTarget as RegistrationTarget
    from vacr.workflows.register import ServiceSettings as ServiceSettings
    from vacr.workflows.register import build_registration_document as build_registration_document
    from vacr.workflows.register import combine_exit_codes as combine_exit_codes
    from vacr.workflows.register import refresh_pair as refresh_pair
    from vacr.workflows.register import register_pair as register_pair
    from vacr.workflows.replay import ReplayBase as ReplayBase
    from vacr.workflows.replay import build_replay_document as build_replay_document
    from vacr.workflows.replay import load_replay_base as load_replay_base
    from vacr.workflows.replay import read_replay_inputs as read_replay_inputs
    from vacr.workflows.run_journal import RunJournal as RunJournal
    from vacr.workflows.seal import PlannedSession as PlannedSession
    from vacr.workflows.seal import SealedSession as SealedSession
    from vacr.workflows.seal import Sealer as Sealer
    from vacr.workflows.seal import SealResult as SealResult
    from vacr.workflows.seal import build_failure_documents as build_failure_documents
    from vacr.workflows.seal import plan_sealing as plan_sealing
    from vacr.workflows.seal import seal_sessions as seal_sessions
    from vacr.workflows.sealed_source import build_sealed_source_path as build_sealed_source_path
    from vacr.workflows.sealed_source import get_source_manifest as get_source_manifest
    from vacr.workflows.sealed_source import is_sealed_source as is_sealed_source
    from vacr.workflows.sealed_source import unseal_source as unseal_source
    from vacr.workflows.session_names import LATEST as LATEST
    from vacr.workflows.session_names import complete_agent_name as complete_agent_name
    from vacr.workflows.session_names import find_named_session as find_named_session
    from vacr.workflows.session_names import find_restorable_records as find_restorable_records
    from vacr.workflows.session_names import find_session_at as find_session_at
    from vacr.workflows.session_names import find_session_id as find_session_id
    from vacr.workflows.session_names import (
        find_unsealed_session_error as find_unsealed_session_error,
    )
    from vacr.workflows.session_names import is_agent_name as is_agent_name
    from vacr.workflows.session_names import join_relayed_sessions as join_relayed_sessions
    from vacr.workflows.session_names import (
        remember_chosen_sessions as remember_chosen_sessions,
    )
    from vacr.workflows.session_names import shorten_session_ids as shorten_session_ids
    from vacr.workflows.settings_files import PROJECT_SETTINGS as PROJECT_SETTINGS
    from vacr.workflows.settings_files import SETTINGS_NAME as SETTINGS_NAME
    from vacr.workflows.settings_files import Setting as Setting
    from vacr.workflows.settings_files import SettingsFile as SettingsFile
    from vacr.workflows.settings_files import describe_ignored_settings as describe_ignored_settings
    from vacr.workflows.settings_files import find_own_settings as find_own_settings
    from vacr.workflows.settings_files import find_project_settings as find_project_settings
    from vacr.workflows.settings_files import parse_project_settings as parse_project_settings
    from vacr.workflows.settings_files import parse_settings as parse_settings
    from vacr.workflows.settings_files import read_settings_files as read_settings_files
    from vacr.workflows.setup import SetupPlan as SetupPlan
    from vacr.workflows.setup import check_settings_absent as check_settings_absent
    from vacr.workflows.setup import find_own_name as find_own_name
    from vacr.workflows.setup import format_settings as format_settings
    from vacr.workflows.sign import LARGE_FILE_SIZE as LARGE_FILE_SIZE
    from vacr.workflows.sign import VERIFIER_KEY_NAME as VERIFIER_KEY_NAME
    from vacr.workflows.sign import SignableFile as SignableFile
    from vacr.workflows.sign import SigningSettings as SigningSettings
    from vacr.workflows.sign import ensure_machine_key as ensure_machine_key
    from vacr.workflows.sign import find_public_key_file as find_public_key_file
    from vacr.workflows.sign import get_machine_key_paths as get_machine_key_paths
    from vacr.workflows.sign import load_named_signer as load_named_signer
    from vacr.workflows.sign import read_signable_file as read_signable_file
    from vacr.workflows.statement_files import RECORD_SUFFIXES as RECORD_SUFFIXES
    from vacr.workflows.statement_files import STATEMENT_SUFFIX as STATEMENT_SUFFIX
    from vacr.workflows.statement_files import StatementPair as StatementPair
    from vacr.workflows.statement_files import find_statement_pairs as find_statement_pairs
    from vacr.workflows.trust_places import COUNTED_STATES as COUNTED_STATES
    from vacr.workflows.trust_places import PROJECT_STORE as PROJECT_STORE
    from vacr.workflows.trust_places import STORE_APPROVED as STORE_APPROVED
    from vacr.workflows.trust_places import STORE_CHANGED as STORE_CHANGED
    from vacr.workflows.trust_places import STORE_NAMED as STORE_NAMED
    from vacr.workflows.trust_places import STORE_OWN as STORE_OWN
    from vacr.workflows.trust_places import STORE_REFUSED as STORE_REFUSED
    from vacr.workflows.trust_places import STORE_UNAPPROVED as STORE_UNAPPROVED
    from vacr.workflows.trust_places import TrustStoreFile as TrustStoreFile
    from vacr.workflows.trust_places import abbreviate_home as abbreviate_home
    from vacr.workflows.trust_places import add_trusted_party as add_trusted_party
    from vacr.workflows.trust_places import approve_store as approve_store
    from vacr.workflows.trust_places import check_inside_project as check_inside_project
    from vacr.workflows.trust_places import choose_trust_stores as choose_trust_stores
    from vacr.workflows.trust_places import find_default_stores as find_default_stores
    from vacr.workflows.trust_places import find_own_store as find_own_store
    from vacr.workflows.trust_places import find_project_folder as find_project_folder
    from vacr.workflows.trust_places import find_project_store as find_project_store
    from vacr.workflows.trust_places import is_project_store as is_project_store
    from vacr.workflows.trust_places import load_trust_stores as load_trust_stores
    from vacr.workflows.trust_places import read_project_file as read_project_file
    from vacr.workflows.trust_places import remember_approval as remember_approval
    from vacr.workflows.trust_places import remove_trusted_party as remove_trusted_party
    from vacr.workflows.trust_places import renew_approval as renew_approval
    from vacr.workflows.validate import SIGNED_RECORD_RULE as SIGNED_RECORD_RULE
    from vacr.workflows.validate import FileVerdict as FileVerdict
    from vacr.workflows.validate import check_rule_exists as check_rule_exists
    from vacr.workflows.validate import load_schema as load_schema
    from vacr.workflows.validate import load_schema_text as load_schema_text
    from vacr.workflows.validate import validate_path as validate_path
    from vacr.workflows.verify import EXIT_NOT_VERIFIED as EXIT_NOT_VERIFIED
    from vacr.workflows.verify import VerificationOptions as VerificationOptions
    from vacr.workflows.verify import build_verdict_rows as build_verdict_rows
    from vacr.workflows.verify import describe_signer as describe_signer
    from vacr.workflows.verify import find_proven_time as find_proven_time
    from vacr.workflows.verify import format_signer_cell as format_signer_cell
    from vacr.workflows.verify import format_time_cell as format_time_cell
    from vacr.workflows.verify import format_verdict_totals as format_verdict_totals
    from vacr.workflows.verify import judge_statements as judge_statements
    from vacr.workflows.verify import load_verification_policy as load_verification_policy
    from vacr.workflows.view import PageRun as PageRun
    from vacr.workflows.view import WrittenPage as WrittenPage
    from vacr.workflows.view import find_sealed_page_record as find_sealed_page_record
    from vacr.workflows.view import load_app_page as load_app_page
    from vacr.workflows.watch import SealedCopy as SealedCopy
    from vacr.workflows.watch import make_copy_sealer as make_copy_sealer
    from vacr.workflows.watch import make_pending_registration as make_pending_registration

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "attribute": (
            "CONTRIBUTOR_TYPES",
            "EVIDENCE_NOTED",
            "build_commit_document",
            "build_line_counts",
            "build_line_document",
            "build_line_headers",
            "count_attributed_lines",
            "count_lines_by_model",
            "find_attribution_failure",
            "format_attribution_summary",
            "format_line_counts",
            "format_line_ranges",
            "report_attribution_gaps",
            "report_unknown_tools",
            "shorten_prompt",
        ),
        "blame_records": (
            "BlameInputs",
            "get_blame_records",
            "read_blame_records",
            "read_named_inputs",
            "read_project_inputs",
            "read_project_records",
        ),
        "commit_notes": (
            "MergedNotes",
            "NOTE_EMPTY",
            "NOTE_REFUSED",
            "NOTE_UNCHANGED",
            "NOTE_WRITTEN",
            "NoteResult",
            "ReadNote",
            "add_noted_blame",
            "build_note_document",
            "list_note_commits",
            "merge_fetched_notes",
            "read_commit_notes",
            "write_commit_notes",
        ),
        "conversation_answers": (
            "answer_conversation",
            "answer_search",
            "answer_touches",
            "answer_usage",
            "answer_verification",
        ),
        "evidence": (
            "EvidenceOptions",
            "MAX_EVIDENCE_BYTES",
            "choose_output_form",
            "parse_nonce",
            "read_evidence",
            "read_journal_head",
            "read_record_file",
        ),
        "formatters": ("FormatterRunner",),
        "inputs": (
            "InputRecord",
            "MODIFIED_RECORD_HINT",
            "check_input_name",
            "drop_duplicate_recordings",
            "make_modified_error",
            "name_failed_input",
            "read_json_or_cbor",
            "read_input_records",
            "scan_input_records",
        ),
        "line_origins": (
            "blame_one_file",
            "build_line_origin",
            "find_line_origin",
        ),
        "line_statistics": (
            "LINE_GROUPINGS",
            "LineCounts",
            "LineStatistics",
            "SURVIVAL_DAYS",
            "build_statistics_document",
            "build_statistics_page",
            "collect_line_statistics",
            "format_group_names",
            "sort_line_groups",
        ),
        "conversations": ("load_conversation_data",),
        "moments": ("parse_moment",),
        "note_rewrite": (
            "list_unnoted_commits",
            "parse_rewritten_commits",
            "rewrite_similar_notes",
            "rewrite_stated_notes",
        ),
        "output_files": (
            "check_single_output",
            "format_count",
            "format_size",
            "is_output_folder",
            "reserve_unused_name",
            "write_output_file",
        ),
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
        "register": (
            "OutboxRun",
            "RegistrationTarget",
            "ServiceSettings",
            "build_registration_document",
            "combine_exit_codes",
            "refresh_pair",
            "register_pair",
        ),
        "replay": (
            "ReplayBase",
            "build_replay_document",
            "load_replay_base",
            "read_replay_inputs",
        ),
        "run_journal": ("RunJournal",),
        "index_refresh": (
            "RefreshReport",
            "refresh_search_index",
        ),
        "kept_sessions": (
            "is_session_recorded",
            "keep_session",
        ),
        "seal": (
            "PlannedSession",
            "SealResult",
            "SealedSession",
            "Sealer",
            "build_failure_documents",
            "plan_sealing",
            "seal_sessions",
        ),
        "sealed_source": (
            "build_sealed_source_path",
            "get_source_manifest",
            "is_sealed_source",
            "unseal_source",
        ),
        "session_names": (
            "LATEST",
            "complete_agent_name",
            "is_agent_name",
            "find_named_session",
            "find_restorable_records",
            "find_session_at",
            "find_session_id",
            "find_unsealed_session_error",
            "join_relayed_sessions",
            "remember_chosen_sessions",
            "shorten_session_ids",
        ),
        "settings_files": (
            "PROJECT_SETTINGS",
            "SETTINGS_NAME",
            "Setting",
            "SettingsFile",
            "describe_ignored_settings",
            "find_own_settings",
            "find_project_settings",
            "parse_project_settings",
            "parse_settings",
            "read_settings_files",
        ),
        "setup": (
            "SetupPlan",
            "check_settings_absent",
            "find_own_name",
            "format_settings",
        ),
        "sign": (
            "LARGE_FILE_SIZE",
            "SignableFile",
            "SigningSettings",
            "VERIFIER_KEY_NAME",
            "ensure_machine_key",
            "find_public_key_file",
            "get_machine_key_paths",
            "load_named_signer",
            "read_signable_file",
        ),
        "statement_files": (
            "RECORD_SUFFIXES",
            "STATEMENT_SUFFIX",
            "StatementPair",
            "find_statement_pairs",
        ),
        "trust_places": (
            "COUNTED_STATES",
            "PROJECT_STORE",
            "STORE_APPROVED",
            "STORE_CHANGED",
            "STORE_NAMED",
            "STORE_OWN",
            "STORE_REFUSED",
            "STORE_UNAPPROVED",
            "TrustStoreFile",
            "abbreviate_home",
            "add_trusted_party",
            "approve_store",
            "check_inside_project",
            "choose_trust_stores",
            "find_default_stores",
            "find_own_store",
            "find_project_folder",
            "find_project_store",
            "is_project_store",
            "load_trust_stores",
            "read_project_file",
            "remember_approval",
            "remove_trusted_party",
            "renew_approval",
        ),
        "validate": (
            "FileVerdict",
            "SIGNED_RECORD_RULE",
            "check_rule_exists",
            "load_schema",
            "load_schema_text",
            "validate_path",
        ),
        "verify": (
            "EXIT_NOT_VERIFIED",
            "VerificationOptions",
            "build_verdict_rows",
            "describe_signer",
            "find_proven_time",
            "format_signer_cell",
            "format_time_cell",
            "format_verdict_totals",
            "judge_statements",
            "load_verification_policy",
        ),
        "view": (
            "PageRun",
            "WrittenPage",
            "find_sealed_page_record",
            "load_app_page",
        ),
        "watch": (
            "SealedCopy",
            "make_copy_sealer",
            "make_pending_registration",
        ),
    },
)
