"""Records for people: rows, summaries, terminal text and the HTML page."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.viewer.archive_texts import SearchText as SearchText
    from vacr.viewer.archive_texts import list_search_texts as list_search_texts
    from vacr.viewer.content import ContentPart as ContentPart
    from vacr.viewer.content import ImagePart as ImagePart
    from vacr.viewer.content import OtherPart as OtherPart
    from vacr.viewer.content import TextPart as TextPart
    from vacr.viewer.content import format_json as format_json
    from vacr.viewer.content import join_texts as join_texts
    from vacr.viewer.content import list_content_parts as list_content_parts
    from vacr.viewer.content import make_visible as make_visible
    from vacr.viewer.content import make_visible_line as make_visible_line
    from vacr.viewer.costs import Cost as Cost
    from vacr.viewer.costs import PriceTable as PriceTable
    from vacr.viewer.costs import count_cost as count_cost
    from vacr.viewer.costs import format_cost as format_cost
    from vacr.viewer.costs import is_inherited as is_inherited
    from vacr.viewer.costs import list_cost_facts as list_cost_facts
    from vacr.viewer.costs import list_cost_marks as list_cost_marks
    from vacr.viewer.costs import load_price_table as load_price_table
    from vacr.viewer.costs import parse_price_table as parse_price_table
    from vacr.viewer.diffs import FileDiff as FileDiff
    from vacr.viewer.diffs import format_changes as format_changes
    from vacr.viewer.diffs import format_line_counts as format_line_counts
    from vacr.viewer.page import Page as Page
    from vacr.viewer.page import PageParty as PageParty
    from vacr.viewer.page import PageRecord as PageRecord
    from vacr.viewer.page import PageTrust as PageTrust
    from vacr.viewer.page import render_app_page as render_app_page
    from vacr.viewer.page import render_site_index as render_site_index
    from vacr.viewer.picture import draw_summary as draw_summary
    from vacr.viewer.picture import withhold_secret_entries as withhold_secret_entries
    from vacr.viewer.rows import ASSISTANT_ROW as ASSISTANT_ROW
    from vacr.viewer.rows import EVENT_ROW as EVENT_ROW
    from vacr.viewer.rows import PROMPTS as PROMPTS
    from vacr.viewer.rows import REASONING_ROW as REASONING_ROW
    from vacr.viewer.rows import ROW_KINDS as ROW_KINDS
    from vacr.viewer.rows import TOOL_ROW as TOOL_ROW
    from vacr.viewer.rows import USER_ROW as USER_ROW
    from vacr.viewer.rows import Row as Row
    from vacr.viewer.rows import RowFilter as RowFilter
    from vacr.viewer.rows import build_rows as build_rows
    from vacr.viewer.rows import is_silent_start as is_silent_start
    from vacr.viewer.rows import list_row_bodies as list_row_bodies
    from vacr.viewer.story import Story as Story
    from vacr.viewer.story import tell_story as tell_story
    from vacr.viewer.terminal import DETAIL_LEVELS as DETAIL_LEVELS
    from vacr.viewer.terminal import NORMAL_DETAIL as NORMAL_DETAIL
    from vacr.viewer.terminal import RowFormatter as RowFormatter
    from vacr.viewer.terminal import TerminalLine as TerminalLine
    from vacr.viewer.terminal import format_recorded_time as format_recorded_time
    from vacr.viewer.totals import BY_AGENT as BY_AGENT
    from vacr.viewer.totals import BY_DAY as BY_DAY
    from vacr.viewer.totals import BY_MODEL as BY_MODEL
    from vacr.viewer.totals import COUNTED_TOKENS as COUNTED_TOKENS
    from vacr.viewer.totals import GROUPINGS as GROUPINGS
    from vacr.viewer.totals import VERDICT_FAILED as VERDICT_FAILED
    from vacr.viewer.totals import VERDICT_SIGNED as VERDICT_SIGNED
    from vacr.viewer.totals import VERDICT_UNSIGNED as VERDICT_UNSIGNED
    from vacr.viewer.totals import VERDICT_VERIFIED as VERDICT_VERIFIED
    from vacr.viewer.totals import SessionGroups as SessionGroups
    from vacr.viewer.totals import Totals as Totals
    from vacr.viewer.totals import add_usage as add_usage
    from vacr.viewer.totals import build_index_card as build_index_card
    from vacr.viewer.totals import count_passing_rows as count_passing_rows
    from vacr.viewer.totals import count_totals as count_totals
    from vacr.viewer.totals import format_record_title as format_record_title
    from vacr.viewer.totals import get_session_key as get_session_key
    from vacr.viewer.totals import get_working_folder as get_working_folder
    from vacr.viewer.totals import resolve_changed_path as resolve_changed_path
    from vacr.viewer.totals import sum_tokens as sum_tokens

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "archive_texts": ("SearchText", "list_search_texts"),
        "content": (
            "ContentPart",
            "ImagePart",
            "OtherPart",
            "TextPart",
            "format_json",
            "join_texts",
            "list_content_parts",
            "make_visible",
            "make_visible_line",
        ),
        "costs": (
            "Cost",
            "PriceTable",
            "format_cost",
            "list_cost_facts",
            "list_cost_marks",
            "load_price_table",
            "parse_price_table",
            "count_cost",
            "is_inherited",
        ),
        "diffs": ("FileDiff", "format_changes", "format_line_counts"),
        "page": (
            "Page",
            "PageParty",
            "PageRecord",
            "PageTrust",
            "render_app_page",
            "render_site_index",
        ),
        "picture": ("draw_summary", "withhold_secret_entries"),
        "rows": (
            "ASSISTANT_ROW",
            "EVENT_ROW",
            "PROMPTS",
            "REASONING_ROW",
            "ROW_KINDS",
            "Row",
            "RowFilter",
            "TOOL_ROW",
            "USER_ROW",
            "build_rows",
            "is_silent_start",
            "list_row_bodies",
        ),
        "terminal": (
            "DETAIL_LEVELS",
            "NORMAL_DETAIL",
            "RowFormatter",
            "TerminalLine",
            "format_recorded_time",
        ),
        "story": ("Story", "tell_story"),
        "totals": (
            "BY_AGENT",
            "BY_DAY",
            "BY_MODEL",
            "COUNTED_TOKENS",
            "GROUPINGS",
            "SessionGroups",
            "Totals",
            "VERDICT_FAILED",
            "VERDICT_SIGNED",
            "VERDICT_UNSIGNED",
            "VERDICT_VERIFIED",
            "add_usage",
            "build_index_card",
            "count_passing_rows",
            "count_totals",
            "format_record_title",
            "get_session_key",
            "get_working_folder",
            "sum_tokens",
            "resolve_changed_path",
        ),
    },
)
