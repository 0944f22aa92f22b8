"""The client of a transparency service: register, read tiles, collect proofs, keep an outbox."""

from __future__ import annotations

from vacr.lazy import export_lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vacr.registration.client import RegistrationClient as RegistrationClient
    from vacr.registration.client import register as register
    from vacr.registration.http_client import RETRY_LATER_HINT as RETRY_LATER_HINT
    from vacr.registration.http_client import HttpClient as HttpClient
    from vacr.registration.http_client import HttpResponse as HttpResponse
    from vacr.registration.http_client import RetryBudget as RetryBudget
    from vacr.registration.http_client import ServiceAccess as ServiceAccess
    from vacr.registration.outbox import OUTBOX_VARIABLE as OUTBOX_VARIABLE
    from vacr.registration.outbox import STATE_FAILED as STATE_FAILED
    from vacr.registration.outbox import STATE_PENDING as STATE_PENDING
    from vacr.registration.outbox import STATE_REGISTERED as STATE_REGISTERED
    from vacr.registration.outbox import STATE_UNCHANGED as STATE_UNCHANGED
    from vacr.registration.outbox import STATE_UNWITNESSED as STATE_UNWITNESSED
    from vacr.registration.outbox import STATE_WITNESSED as STATE_WITNESSED
    from vacr.registration.outbox import Outbox as Outbox
    from vacr.registration.outbox import OutboxItem as OutboxItem
    from vacr.registration.outbox import Registrar as Registrar
    from vacr.registration.outbox import RegistrationOutcome as RegistrationOutcome
    from vacr.registration.outbox import compute_entry_digest as compute_entry_digest
    from vacr.registration.outbox import find_outbox_folder as find_outbox_folder
    from vacr.registration.tile_reader import TiledLog as TiledLog
    from vacr.registration.witnessing import NotWitnessedYet as NotWitnessedYet
    from vacr.registration.witnessing import ProofCollector as ProofCollector

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "client": (
            "RegistrationClient",
            "register",
        ),
        "http_client": (
            "HttpClient",
            "HttpResponse",
            "RETRY_LATER_HINT",
            "RetryBudget",
            "ServiceAccess",
        ),
        "outbox": (
            "OUTBOX_VARIABLE",
            "Outbox",
            "OutboxItem",
            "Registrar",
            "RegistrationOutcome",
            "STATE_FAILED",
            "STATE_PENDING",
            "STATE_REGISTERED",
            "STATE_UNCHANGED",
            "STATE_UNWITNESSED",
            "STATE_WITNESSED",
            "compute_entry_digest",
            "find_outbox_folder",
        ),
        "tile_reader": ("TiledLog",),
        "witnessing": (
            "NotWitnessedYet",
            "ProofCollector",
        ),
    },
)
