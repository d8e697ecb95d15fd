"""The settings of one share group, as they apply to its share partitions on this broker."""

from __future__ import annotations

from barnabas.model.dataclass import dataclass

# The growth of the retry backoff ends here, so that a record never stays hidden for longer than its
# producer may expect: three times the longest lock that Kafka's defaults allow.
RETRY_BACKOFF_MS_MAX = 180_000
# Isolation starts with the second failed delivery at the earliest: the first failure says little.
_ISOLATED_FROM_MIN = 2


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    lock_duration_ms: int = 30_000
    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    renew_enabled: bool = True
    read_committed: bool = False
    auto_offset_reset: str = "latest"
    # 0 makes a released record available at once.
    retry_backoff_ms: int = 0
    # Where a record goes that is rejected, or delivered too often; nowhere if empty.
    dead_letter_topic: str = ""
    # Whether its dead letter has its key, value and headers.
    dead_letters_copy: bool = False

    @property
    def dead_letters(self) -> bool:
        return bool(self.dead_letter_topic)

    @property
    def isolated_from(self) -> int:
        """The delivery count from which on a batch is delivered alone and in halves."""
        return max(_ISOLATED_FROM_MIN, -(-self.delivery_count_limit // 2))

    def hidden_ms(self, delivery_count: int) -> int:
        """How long a record stays hidden after its ``delivery_count``-th delivery was released."""
        if not self.retry_backoff_ms:
            return 0
        return min(self.retry_backoff_ms << max(0, delivery_count - 1), max(RETRY_BACKOFF_MS_MAX, self.retry_backoff_ms))
