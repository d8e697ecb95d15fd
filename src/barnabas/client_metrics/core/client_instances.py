"""All client instances that a broker knows, and the answers to their requests.

An instance is known from its first request until it is silent for three intervals, until the
connection of that request ends, or until :data:`INSTANCES_MAX` others were heard later. Forgetting
one does no harm: its next request makes it known again, as on another broker.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable

from barnabas.client_metrics.core.client_instance import ClientInstance
from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.subscription import Requested, Subscription, requested_of
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC_ID, ZERO_UUID, Uuid

# Kafka's number; more clients than one broker has connections for.
INSTANCES_MAX = 16_384
# An instance is forgotten after three silent intervals, but not before this time.
SILENT_MS_MIN = 60_000
SILENT_INTERVALS_MAX = 3
CODECS = range(5)


@dataclass(frozen=True, slots=True)
class Pushed:
    """The parts of a push that decide whether it is accepted."""

    subscription_id: int
    terminating: bool
    codec: int
    size_bytes: int


class ClientInstances:
    def __init__(self, *, push_bytes_max: int, instances_max: int = INSTANCES_MAX) -> None:
        self._push_bytes_max = push_bytes_max
        self._instances_max = instances_max
        self._subscriptions: tuple[Subscription, ...] = ()
        self._version = 0
        # Those heard last are at the end.
        self._known: OrderedDict[Uuid, ClientInstance] = OrderedDict()
        self._of_connection: dict[Hashable, Uuid] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, instance_id: Uuid) -> bool:
        return instance_id in self._known

    def replace_subscriptions(self, subscriptions: Iterable[Subscription]) -> None:
        """Every instance is matched again at its next request, and may ask at once."""
        self._subscriptions = tuple(subscriptions)
        self._version += 1

    def ask(self, labels: ClientLabels, connection: Hashable, now_ms: int) -> Requested | ErrorCode:
        instance = self._heard(labels, connection, now_ms)
        if not instance.may_ask(now_ms):
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        instance.last_error = ErrorCode.NONE
        return instance.requested

    def push(self, labels: ClientLabels, connection: Hashable, pushed: Pushed, now_ms: int) -> ClientInstance | ErrorCode:
        """The instance, if its push is accepted."""
        if labels.instance_id in (ZERO_UUID, METADATA_TOPIC_ID):
            return ErrorCode.INVALID_REQUEST
        instance = self._heard(labels, connection, now_ms)
        instance.last_error = self._judged(instance, pushed, now_ms)
        # Also after a refusal: the client does not send its last push twice.
        instance.terminating = pushed.terminating
        return instance if instance.last_error is ErrorCode.NONE else instance.last_error

    def _judged(self, instance: ClientInstance, pushed: Pushed, now_ms: int) -> ErrorCode:
        if instance.terminating:
            return ErrorCode.INVALID_REQUEST
        if not instance.may_push(now_ms) and not pushed.terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if pushed.subscription_id != instance.requested.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if pushed.codec not in CODECS:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if pushed.size_bytes > self._push_bytes_max:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE

    def _heard(self, labels: ClientLabels, connection: Hashable, now_ms: int) -> ClientInstance:
        instance = self._known.get(labels.instance_id)
        if instance is None or instance.version < self._version:
            # The labels of the first request stay: a client may change its port, and must not
            # change its subscriptions by that.
            kept = labels if instance is None else instance.labels
            instance = ClientInstance(kept, requested_of(kept, self._subscriptions), self._version)
            self._known[labels.instance_id] = instance
            self._of_connection[connection] = labels.instance_id
        self._known.move_to_end(labels.instance_id)
        instance.expires_ms = now_ms + silent_ms_max(instance.requested.interval_ms)
        while len(self._known) > self._instances_max:
            self._known.popitem(last=False)
        return instance

    def disconnected(self, connection: Hashable) -> None:
        instance_id = self._of_connection.pop(connection, None)
        if instance_id is not None:
            self._known.pop(instance_id, None)

    def expire(self, now_ms: int) -> None:
        for instance_id in [each for each, instance in self._known.items() if instance.expires_ms <= now_ms]:
            del self._known[instance_id]


def silent_ms_max(interval_ms: int) -> int:
    return max(SILENT_MS_MIN, SILENT_INTERVALS_MAX * interval_ms)
