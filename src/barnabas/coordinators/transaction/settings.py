"""What the transaction coordinator is configured with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    timeout_ms_max: int = 900_000
    """The longest timeout a producer may ask for."""
    id_expiration_ms: int = 604_800_000
    """A transactional id that nobody used for so long is forgotten."""
    abort_scan_ms: int = 10_000
    """How often transactions that ran out of time are looked for."""
    expiry_scan_ms: int = 3_600_000
    """How often expired transactional ids are looked for."""
    two_phase_commit: bool = False
    """Whether producers may keep transactions open without a timeout (KIP-939)."""
