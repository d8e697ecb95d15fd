"""The quota of one request that creates or deletes partitions (KIP-599).

A strict quota refuses the topics for which the client has no tokens left, and a permissive one
serves clients of older versions, which do not know the error: it accepts everything and makes the
client wait afterwards. Either way a topic passes while the bucket is not in debt, however many
partitions it has.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.security.quotas.token_bucket import TokenBucket

_EXCEEDED = "The throttling quota has been exceeded."


class MutationQuota:
    """Belongs to one request; the bucket is shared by all requests of its clients."""

    __slots__ = ("_bucket", "_now_ms", "_strict", "throttle_ms")

    def __init__(self, bucket: TokenBucket, *, strict: bool, now_ms: int) -> None:
        self._bucket = bucket
        self._strict = strict
        self._now_ms = now_ms
        self.throttle_ms = 0

    def take(self, partitions: int) -> None:
        """Pay for one topic of the request. Raises ``KafkaError`` if a strict quota is used up."""
        if self._strict:
            self.throttle_ms = max(self.throttle_ms, self._bucket.delay_ms(self._now_ms))
            if self.throttle_ms > 0:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, _EXCEEDED)
            self._bucket.take(partitions, self._now_ms)
            return
        self._bucket.take(partitions, self._now_ms)
        self.throttle_ms = self._bucket.delay_ms(self._now_ms)
