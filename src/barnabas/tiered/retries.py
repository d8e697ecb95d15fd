"""The wait before a retry: longer each time, and random, so that partitions do not all retry at
once."""

from __future__ import annotations

from barnabas.config.settings import BrokerSettings
from barnabas.env.entropy import Entropy
from barnabas.model.dataclass import dataclass

_PARTS = 1_000_000
_DOUBLINGS_MAX = 16


@dataclass(frozen=True, slots=True)
class RetryWaits:
    """From ``remote.log.manager.task.retry.*``."""

    first_ms: int
    longest_ms: int
    jitter: float

    @classmethod
    def of(cls, settings: BrokerSettings) -> RetryWaits:
        return cls(
            settings.integer("remote.log.manager.task.retry.backoff.ms"),
            settings.integer("remote.log.manager.task.retry.backoff.max.ms"),
            settings.number("remote.log.manager.task.retry.jitter"),
        )

    def wait_ms(self, failures: int, entropy: Entropy) -> int:
        """The wait after this many failures in a row, one or more."""
        wait_ms = min(self.longest_ms, self.first_ms << min(failures - 1, _DOUBLINGS_MAX))
        variation = (entropy.below(2 * _PARTS + 1) / _PARTS - 1) * self.jitter
        return max(1, round(wait_ms * (1 + variation)))
