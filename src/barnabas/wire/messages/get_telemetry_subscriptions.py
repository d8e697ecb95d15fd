"""GetTelemetrySubscriptions: the metrics that a client should push (KIP-714)."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bool, Int8, Int16, Int32, String, Uuid


@request(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    client_instance_id: Uuid = field()


@response(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    client_instance_id: Uuid = field()
    subscription_id: Int32 = field()
    accepted_compression_types: list[Int8] = field()
    push_interval_ms: Int32 = field()
    telemetry_max_bytes: Int32 = field()
    delta_temporality: Bool = field()
    requested_metrics: list[String] = field()
