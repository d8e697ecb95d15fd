"""One client instance: when it may ask for its subscriptions, and when it may push.

=================  ==================================================================
may ask            a push interval after its last request that was not too early, or
                   right after UNKNOWN_SUBSCRIPTION_ID or UNSUPPORTED_COMPRESSION_TYPE,
                   which ask the client to do so
may push           once after it asked, at any time: clients spread their first push
                   between half an interval and one and a half; then a push interval
                   after the last push
may push early     if the push is its last one
may not push       after its last push
=================  ==================================================================

A refused request leaves the times as they are, so a client that asks too often is not delayed
further.
"""

from __future__ import annotations

from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.subscription import Requested
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

# Before any time that a clock can show.
_NEVER_MS = -(1 << 62)

_ASKING_ANSWERS_THESE = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


@dataclass(slots=True)
class ClientInstance:
    labels: ClientLabels
    requested: Requested
    # The version of the subscriptions that ``requested`` was made from.
    version: int
    asked_ms: int = _NEVER_MS
    pushed_ms: int = _NEVER_MS
    terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE
    expires_ms: int = 0

    def may_ask(self, now_ms: int) -> bool:
        if now_ms - max(self.asked_ms, self.pushed_ms) >= self.requested.interval_ms:
            self.asked_ms = now_ms
            return True
        return self.last_error in _ASKING_ANSWERS_THESE

    def may_push(self, now_ms: int) -> bool:
        allowed = self.asked_ms > self.pushed_ms or now_ms - self.pushed_ms >= self.requested.interval_ms
        if allowed:
            self.pushed_ms = now_ms
        return allowed
