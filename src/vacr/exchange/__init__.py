"""Records in the formats of other tools."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.exchange.atif import ATIF_VERSIONS as ATIF_VERSIONS
    from vacr.exchange.commit_note import ClaimedLines as ClaimedLines
    from vacr.exchange.commit_note import NotedClaim as NotedClaim
    from vacr.exchange.commit_note import NotedLines as NotedLines
    from vacr.exchange.commit_note import build_commit_note as build_commit_note
    from vacr.exchange.commit_note import is_note_of_vacr as is_note_of_vacr
    from vacr.exchange.commit_note import make_noted_claim as make_noted_claim
    from vacr.exchange.commit_note import merge_notes as merge_notes
    from vacr.exchange.commit_note import read_noted_lines as read_noted_lines
    from vacr.exchange.export import ExportedDocument as ExportedDocument
    from vacr.exchange.export import ExportRequest as ExportRequest
    from vacr.exchange.export import format_losses as format_losses
    from vacr.exchange.formats import EXCHANGE_FORMATS as EXCHANGE_FORMATS
    from vacr.exchange.formats import ExchangeFormat as ExchangeFormat
    from vacr.exchange.formats import detect_format as detect_format
    from vacr.exchange.git_ai import GitAiNote as GitAiNote
    from vacr.exchange.git_ai import format_note as format_note
    from vacr.exchange.git_ai import parse_note as parse_note
    from vacr.exchange.transcript import format_table_cell as format_table_cell

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "atif": ("ATIF_VERSIONS",),
        "commit_note": (
            "ClaimedLines",
            "NotedClaim",
            "NotedLines",
            "build_commit_note",
            "is_note_of_vacr",
            "make_noted_claim",
            "merge_notes",
            "read_noted_lines",
        ),
        "export": (
            "ExportRequest",
            "ExportedDocument",
            "format_losses",
        ),
        "formats": (
            "EXCHANGE_FORMATS",
            "ExchangeFormat",
            "detect_format",
        ),
        "git_ai": (
            "GitAiNote",
            "format_note",
            "parse_note",
        ),
        "transcript": ("format_table_cell",),
    },
)
