"""A record as bytes: JSON, CBOR, identity, versions, and validation against its schema."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.record.canonical_json import BYTE_ORDER_MARK as BYTE_ORDER_MARK
    from vacr.record.canonical_json import MAX_JSON_PROBLEMS as MAX_JSON_PROBLEMS
    from vacr.record.canonical_json import JsonProblem as JsonProblem
    from vacr.record.canonical_json import JsonScanResult as JsonScanResult
    from vacr.record.canonical_json import decode_json as decode_json
    from vacr.record.canonical_json import encode_canonical_json as encode_canonical_json
    from vacr.record.canonical_json import encode_decoded_json as encode_decoded_json
    from vacr.record.canonical_json import has_every_member as has_every_member
    from vacr.record.canonical_json import is_exact_json as is_exact_json
    from vacr.record.canonical_json import is_same_apart_from_escapes as is_same_apart_from_escapes
    from vacr.record.canonical_json import scan_json as scan_json
    from vacr.record.cbor import CborScanner as CborScanner
    from vacr.record.cbor import decode_cbor as decode_cbor
    from vacr.record.cbor import decode_shortest_cbor as decode_shortest_cbor
    from vacr.record.cbor import encode_byte_string as encode_byte_string
    from vacr.record.cbor import encode_byte_string_head as encode_byte_string_head
    from vacr.record.cbor import encode_deterministic_cbor as encode_deterministic_cbor
    from vacr.record.cbor import format_diagnostic as format_diagnostic
    from vacr.record.conversion import FORMAT_VERSIONS as FORMAT_VERSIONS
    from vacr.record.conversion import FormatVersion as FormatVersion
    from vacr.record.conversion import RecordModification as RecordModification
    from vacr.record.conversion import convert as convert
    from vacr.record.conversion import convert_to_original_version as convert_to_original_version
    from vacr.record.conversion import find_record_modification as find_record_modification
    from vacr.record.conversion import is_record_modified as is_record_modified
    from vacr.record.conversion import list_lost_members as list_lost_members
    from vacr.record.encoding import RecordEncoding as RecordEncoding
    from vacr.record.encoding import assign_record_id as assign_record_id
    from vacr.record.encoding import compute_record_id as compute_record_id
    from vacr.record.encoding import decode as decode
    from vacr.record.encoding import detect_and_decode as detect_and_decode
    from vacr.record.encoding import encode as encode
    from vacr.record.encoding import encode_with_id as encode_with_id
    from vacr.record.encoding import get_keeping_agent as get_keeping_agent
    from vacr.record.encoding import get_vacr_metadata as get_vacr_metadata
    from vacr.record.encoding import is_made_by_vacr as is_made_by_vacr
    from vacr.record.encoding import list_secret_places as list_secret_places
    from vacr.record.json_text import MAX_DEPTH as MAX_DEPTH
    from vacr.record.json_text import canonicalize_number as canonicalize_number
    from vacr.record.json_text import count_opening_brackets as count_opening_brackets
    from vacr.record.json_text import encode_native_json as encode_native_json
    from vacr.record.json_text import encode_shallow_json as encode_shallow_json
    from vacr.record.json_text import encode_sorted_json as encode_sorted_json
    from vacr.record.json_text import is_deeper_than as is_deeper_than
    from vacr.record.json_text import measure_depth as measure_depth
    from vacr.record.json_text import parse_json_number as parse_json_number
    from vacr.record.json_text import parse_spelled_float as parse_spelled_float
    from vacr.record.message_content import BLOCK_VIEWS as BLOCK_VIEWS
    from vacr.record.message_content import PROMPTING_SPEAKERS as PROMPTING_SPEAKERS
    from vacr.record.message_content import UNTYPED_PART_VIEWS as UNTYPED_PART_VIEWS
    from vacr.record.message_content import NameCounts as NameCounts
    from vacr.record.message_content import build_child_entries as build_child_entries
    from vacr.record.message_content import find_session_title as find_session_title
    from vacr.record.message_content import find_side_chain as find_side_chain
    from vacr.record.message_content import flatten_to_line as flatten_to_line
    from vacr.record.message_content import get_prompt_text as get_prompt_text
    from vacr.record.message_content import has_labels as has_labels
    from vacr.record.message_content import is_failed_answer as is_failed_answer
    from vacr.record.message_content import is_host_message as is_host_message
    from vacr.record.message_content import list_message_texts as list_message_texts
    from vacr.record.message_content import shorten_title as shorten_title
    from vacr.record.message_content import walk_entries as walk_entries
    from vacr.record.timestamps import are_sortable_timestamps as are_sortable_timestamps
    from vacr.record.timestamps import find_time_span as find_time_span
    from vacr.record.timestamps import format_timestamp as format_timestamp
    from vacr.record.timestamps import get_epoch_milliseconds as get_epoch_milliseconds
    from vacr.record.timestamps import is_timestamp as is_timestamp
    from vacr.record.validation import MAX_SEMANTIC_FINDINGS as MAX_SEMANTIC_FINDINGS
    from vacr.record.validation import ValidationReport as ValidationReport
    from vacr.record.validation import choose_rule as choose_rule
    from vacr.record.validation import is_record_schema as is_record_schema
    from vacr.record.validation import load_record_schema as load_record_schema
    from vacr.record.validation import parse_major_version as parse_major_version
    from vacr.record.validation import read_schema_text as read_schema_text
    from vacr.record.validation import report_schema_errors as report_schema_errors
    from vacr.record.validation import shorten_value as shorten_value
    from vacr.record.validation import validate as validate

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "canonical_json": (
            "BYTE_ORDER_MARK",
            "JsonProblem",
            "JsonScanResult",
            "MAX_JSON_PROBLEMS",
            "decode_json",
            "encode_canonical_json",
            "encode_decoded_json",
            "has_every_member",
            "is_exact_json",
            "is_same_apart_from_escapes",
            "scan_json",
        ),
        "cbor": (
            "CborScanner",
            "decode_cbor",
            "decode_shortest_cbor",
            "encode_byte_string",
            "encode_byte_string_head",
            "encode_deterministic_cbor",
            "format_diagnostic",
        ),
        "conversion": (
            "FORMAT_VERSIONS",
            "FormatVersion",
            "RecordModification",
            "convert",
            "convert_to_original_version",
            "find_record_modification",
            "is_record_modified",
            "list_lost_members",
        ),
        "encoding": (
            "RecordEncoding",
            "assign_record_id",
            "compute_record_id",
            "decode",
            "detect_and_decode",
            "encode",
            "encode_with_id",
            "get_keeping_agent",
            "get_vacr_metadata",
            "list_secret_places",
            "is_made_by_vacr",
        ),
        "json_text": (
            "canonicalize_number",
            "MAX_DEPTH",
            "count_opening_brackets",
            "encode_native_json",
            "encode_shallow_json",
            "encode_sorted_json",
            "is_deeper_than",
            "measure_depth",
            "parse_json_number",
            "parse_spelled_float",
        ),
        "message_content": (
            "BLOCK_VIEWS",
            "NameCounts",
            "UNTYPED_PART_VIEWS",
            "build_child_entries",
            "PROMPTING_SPEAKERS",
            "find_session_title",
            "find_side_chain",
            "flatten_to_line",
            "get_prompt_text",
            "has_labels",
            "is_failed_answer",
            "is_host_message",
            "list_message_texts",
            "shorten_title",
            "walk_entries",
        ),
        "timestamps": (
            "are_sortable_timestamps",
            "find_time_span",
            "format_timestamp",
            "get_epoch_milliseconds",
            "is_timestamp",
        ),
        "validation": (
            "MAX_SEMANTIC_FINDINGS",
            "ValidationReport",
            "choose_rule",
            "is_record_schema",
            "load_record_schema",
            "parse_major_version",
            "read_schema_text",
            "report_schema_errors",
            "shorten_value",
            "validate",
        ),
    },
)
