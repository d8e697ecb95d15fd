"""PushTelemetry: a client's metrics, as OTLP."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bool, Bytes, Int8, Int16, Int32, Uuid


@request(key=72, versions="0", flexible="0+")
class PushTelemetryRequest:
    client_instance_id: Uuid = field()
    subscription_id: Int32 = field()
    terminating: Bool = field()
    compression_type: Int8 = field()
    metrics: Bytes = field()


@response(key=72, versions="0", flexible="0+")
class PushTelemetryResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
