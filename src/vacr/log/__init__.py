"""The transparency service: storage, sequencer, HTTP service, witness and monitor."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.log.admission import AllowedTokens as AllowedTokens
    from vacr.log.admission import RateLimiter as RateLimiter
    from vacr.log.admission import RegistrationPolicy as RegistrationPolicy
    from vacr.log.cosigning import WitnessAddress as WitnessAddress
    from vacr.log.folder import LogFolder as LogFolder
    from vacr.log.folder import create_log as create_log
    from vacr.log.folder import open_database_log as open_database_log
    from vacr.log.folder import open_log_folder as open_log_folder
    from vacr.log.folder import rotate_log_keys as rotate_log_keys
    from vacr.log.fork import ForkGuard as ForkGuard
    from vacr.log.fork import LogForked as LogForked
    from vacr.log.fork import find_fork as find_fork
    from vacr.log.fsck import run_fsck as run_fsck
    from vacr.log.http_server import ServiceStop as ServiceStop
    from vacr.log.http_server import TlsFiles as TlsFiles
    from vacr.log.http_server import serve_application as serve_application
    from vacr.log.keyring import read_log_descriptions as read_log_descriptions
    from vacr.log.ledger import MAX_WAITING_ENTRIES as MAX_WAITING_ENTRIES
    from vacr.log.ledger import Ledger as Ledger
    from vacr.log.ledger import build_consistency_receipt as build_consistency_receipt
    from vacr.log.ledger import build_inclusion_receipt as build_inclusion_receipt
    from vacr.log.monitor import OUTCOME_FIRST as OUTCOME_FIRST
    from vacr.log.monitor import OUTCOME_GROWN as OUTCOME_GROWN
    from vacr.log.monitor import OUTCOME_SAME as OUTCOME_SAME
    from vacr.log.monitor import KnownLog as KnownLog
    from vacr.log.monitor import LogMisbehaved as LogMisbehaved
    from vacr.log.monitor import MonitorResult as MonitorResult
    from vacr.log.monitor import inspect_log as inspect_log
    from vacr.log.monitor import load_monitor_state as load_monitor_state
    from vacr.log.monitor import lock_monitor_state as lock_monitor_state
    from vacr.log.monitor import save_monitor_state as save_monitor_state
    from vacr.log.monitor import write_log_evidence as write_log_evidence
    from vacr.log.publishing import Publisher as Publisher
    from vacr.log.publishing import ReaderPool as ReaderPool
    from vacr.log.registration import RegistrationEndpoint as RegistrationEndpoint
    from vacr.log.registration import ServiceMetrics as ServiceMetrics
    from vacr.log.service import LogService as LogService
    from vacr.log.storage import LogReader as LogReader
    from vacr.log.witness import Witness as Witness
    from vacr.log.witness import create_witness_application as create_witness_application
    from vacr.log.witness import open_witness_folder as open_witness_folder

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "admission": (
            "AllowedTokens",
            "RateLimiter",
            "RegistrationPolicy",
        ),
        "cosigning": ("WitnessAddress",),
        "folder": (
            "LogFolder",
            "create_log",
            "open_database_log",
            "open_log_folder",
            "rotate_log_keys",
        ),
        "fork": (
            "ForkGuard",
            "LogForked",
            "find_fork",
        ),
        "fsck": ("run_fsck",),
        "http_server": (
            "ServiceStop",
            "TlsFiles",
            "serve_application",
        ),
        "keyring": ("read_log_descriptions",),
        "ledger": (
            "Ledger",
            "MAX_WAITING_ENTRIES",
            "build_consistency_receipt",
            "build_inclusion_receipt",
        ),
        "monitor": (
            "KnownLog",
            "LogMisbehaved",
            "MonitorResult",
            "OUTCOME_FIRST",
            "OUTCOME_GROWN",
            "OUTCOME_SAME",
            "inspect_log",
            "load_monitor_state",
            "lock_monitor_state",
            "save_monitor_state",
            "write_log_evidence",
        ),
        "publishing": (
            "Publisher",
            "ReaderPool",
        ),
        "registration": (
            "RegistrationEndpoint",
            "ServiceMetrics",
        ),
        "service": ("LogService",),
        "storage": ("LogReader",),
        "witness": (
            "Witness",
            "create_witness_application",
            "open_witness_folder",
        ),
    },
)
