"""GetTelemetrySubscriptions (key 71): the metrics that a client instance should push (KIP-714).

Behaviour:
- a client without an id, which is all zeros, gets a random one and keeps it;
- THROTTLING_QUOTA_EXCEEDED for a client that asks again before its push interval is over, unless
  the subscriptions have changed, or its last push was refused because of them;
- the metrics are prefixes of names; ``*`` means all of them, and an empty list none.

Version notes: 0 is the only version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.api.telemetry_labels import labels_of
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.network.caller import Caller
from barnabas.records.compression import Codec
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse

NEEDS = NOTHING

# The best first, as Kafka lists them. Uncompressed metrics are accepted too, and not listed.
_ACCEPTED = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)


def handle(broker: Broker, caller: Caller, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    client_metrics = broker.client_metrics
    given = Uuid(request.client_instance_id)
    instance_id = client_metrics.new_instance_id() if given == ZERO_UUID else given
    requested = client_metrics.ask(labels_of(caller, instance_id), caller.connection)
    if isinstance(requested, ErrorCode):
        refused: GetTelemetrySubscriptionsResponse = error_response(request, requested, version=caller.version)
        return refused
    return GetTelemetrySubscriptionsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        client_instance_id=instance_id,
        subscription_id=requested.subscription_id,
        accepted_compression_types=list(_ACCEPTED),
        push_interval_ms=requested.interval_ms,
        telemetry_max_bytes=client_metrics.push_bytes_max,
        delta_temporality=True,
        requested_metrics=list(requested.metrics),
    )
