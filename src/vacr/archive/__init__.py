"""The index over all conversations: rows, full-text search and SQL."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.archive.index_totals import INDEX_GROUPINGS as INDEX_GROUPINGS
    from vacr.archive.index_totals import TotalsQuery as TotalsQuery
    from vacr.archive.index_totals import add_up_groups as add_up_groups
    from vacr.archive.index_totals import count_sessions as count_sessions
    from vacr.archive.index_totals import sum_totals as sum_totals
    from vacr.archive.listing import ConversationList as ConversationList
    from vacr.archive.listing import ConversationQuery as ConversationQuery
    from vacr.archive.listing import SourceQuery as SourceQuery
    from vacr.archive.listing import count_facets as count_facets
    from vacr.archive.listing import find_current_titles as find_current_titles
    from vacr.archive.listing import find_record as find_record
    from vacr.archive.listing import find_source as find_source
    from vacr.archive.listing import find_version as find_version
    from vacr.archive.listing import list_conversations as list_conversations
    from vacr.archive.listing import list_daily_usage as list_daily_usage
    from vacr.archive.listing import list_sources as list_sources
    from vacr.archive.lookups import USAGE_GROUPS as USAGE_GROUPS
    from vacr.archive.lookups import find_call as find_call
    from vacr.archive.lookups import find_conversations as find_conversations
    from vacr.archive.lookups import find_entry_number as find_entry_number
    from vacr.archive.lookups import find_prompt_before as find_prompt_before
    from vacr.archive.lookups import list_entries as list_entries
    from vacr.archive.lookups import list_file_touches as list_file_touches
    from vacr.archive.lookups import sum_usage as sum_usage
    from vacr.archive.parquet import write_answer as write_answer
    from vacr.archive.parquet import write_tables as write_tables
    from vacr.archive.record_rows import RecordRows as RecordRows
    from vacr.archive.record_rows import build_record_rows as build_record_rows
    from vacr.archive.search_index import TABLES as TABLES
    from vacr.archive.search_index import VIEW_COLUMNS as VIEW_COLUMNS
    from vacr.archive.search_index import LostIndex as LostIndex
    from vacr.archive.search_index import SearchIndex as SearchIndex
    from vacr.archive.search_index import SourceVersion as SourceVersion
    from vacr.archive.searching import ContextEntry as ContextEntry
    from vacr.archive.searching import SearchHit as SearchHit
    from vacr.archive.searching import SearchQuery as SearchQuery
    from vacr.archive.searching import SearchResult as SearchResult
    from vacr.archive.searching import SqlResult as SqlResult
    from vacr.archive.searching import list_context as list_context
    from vacr.archive.searching import run_select as run_select
    from vacr.archive.searching import search_entries as search_entries
    from vacr.archive.searching import split_snippet as split_snippet

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "listing": (
            "ConversationList",
            "ConversationQuery",
            "count_facets",
            "find_record",
            "find_current_titles",
            "find_source",
            "find_version",
            "list_conversations",
            "list_daily_usage",
            "SourceQuery",
            "list_sources",
        ),
        "lookups": (
            "USAGE_GROUPS",
            "find_call",
            "find_conversations",
            "find_entry_number",
            "find_prompt_before",
            "list_entries",
            "list_file_touches",
            "sum_usage",
        ),
        "parquet": ("write_answer", "write_tables"),
        "record_rows": (
            "RecordRows",
            "build_record_rows",
        ),
        "search_index": (
            "TABLES",
            "VIEW_COLUMNS",
            "LostIndex",
            "SearchIndex",
            "SourceVersion",
        ),
        "searching": (
            "ContextEntry",
            "SearchHit",
            "SearchQuery",
            "SearchResult",
            "SqlResult",
            "list_context",
            "run_select",
            "search_entries",
            "split_snippet",
        ),
        "index_totals": (
            "INDEX_GROUPINGS",
            "TotalsQuery",
            "add_up_groups",
            "count_sessions",
            "sum_totals",
        ),
    },
)
