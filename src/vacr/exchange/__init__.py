"""Records in the formats of other tools."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.exchange.atif import ATIF_VERSIONS as ATIF_VERSIONS
    from vacr.exchange.export import ExportedDocument as ExportedDocument
    from vacr.exchange.export import ExportRequest as ExportRequest
    from vacr.exchange.export import format_losses as format_losses
    from vacr.exchange.formats import EXCHANGE_FORMATS as EXCHANGE_FORMATS
    from vacr.exchange.formats import ExchangeFormat as ExchangeFormat
    from vacr.exchange.formats import detect_format as detect_format
    from vacr.exchange.transcript import format_table_cell as format_table_cell

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "atif": ("ATIF_VERSIONS",),
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
        "transcript": ("format_table_cell",),
    },
)
