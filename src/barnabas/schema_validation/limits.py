"""The settings of schema validation that may change while a broker runs."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.config.keys import Value
from barnabas.config.schema_validation import ACCEPT, CACHE_MS, MISSING_MS, TIMEOUT_MS, WAITING_BYTES_MAX, WHEN_UNREACHABLE
from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    timeout_ms: int
    fresh_ms: int
    missing_ms: int
    waiting_bytes_max: int
    accept_unknown: bool
    """Whether a batch passes while no registry can tell."""

    @classmethod
    def from_settings(cls, values: Mapping[str, Value]) -> Limits:
        """``values`` are the effective settings of a broker."""
        return cls(
            timeout_ms=_integer(values, TIMEOUT_MS),
            fresh_ms=_integer(values, CACHE_MS),
            missing_ms=_integer(values, MISSING_MS),
            waiting_bytes_max=_integer(values, WAITING_BYTES_MAX),
            accept_unknown=values[WHEN_UNREACHABLE] == ACCEPT,
        )


def _integer(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), name
    return value
