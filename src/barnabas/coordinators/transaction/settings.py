"""The settings of the transaction coordinator."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    timeout_ms_max: int = 900_000
    """The longest timeout that a producer may request."""
    id_expiration_ms: int = 604_800_000
    """A transactional id expires after this time without use."""
    abort_scan_ms: int = 10_000
    """The interval of the scan for timed-out transactions."""
    expiry_scan_ms: int = 3_600_000
    """The interval of the scan for expired transactional ids."""
    two_phase_commit: bool = False
    """Whether producers may keep transactions open without a timeout (KIP-939)."""
