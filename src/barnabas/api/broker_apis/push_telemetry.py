"""PushTelemetry (key 72): the metrics of a client instance, as OTLP (KIP-714).

Behaviour: a push is judged in this order:
- INVALID_REQUEST without an id, or after the push that the client called its last;
- THROTTLING_QUOTA_EXCEEDED before the push interval is over, except for the last push, and when
  too many pushes wait to be read;
- UNKNOWN_SUBSCRIPTION_ID when the subscriptions have changed: the client asks for the new ones;
- UNSUPPORTED_COMPRESSION_TYPE for a codec that does not exist;
- TELEMETRY_TOO_LARGE for more than ``telemetry.max.bytes``, and for metrics that become too large
  when they are decompressed;
- INVALID_RECORD for bytes that cannot be decompressed or are not OTLP: the client ends its pushes.

Version notes: 0 is the only version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.api.telemetry_labels import labels_of
from barnabas.client_metrics.core.client_instances import Pushed
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

NEEDS = NOTHING


def handle(broker: Broker, caller: Caller, request: PushTelemetryRequest) -> PushTelemetryResponse | Promise[PushTelemetryResponse]:
    labels = labels_of(caller, Uuid(request.client_instance_id))
    # A copy: the frame's buffer is used again before the thread reads the metrics.
    data = bytes(request.metrics)
    pushed = Pushed(request.subscription_id, request.terminating, request.compression_type, len(data))
    outcome = broker.client_metrics.push(labels, caller.connection, pushed, data)
    return outcome.map(_response) if isinstance(outcome, Promise) else _response(outcome)


def _response(error: ErrorCode) -> PushTelemetryResponse:
    return PushTelemetryResponse(throttle_time_ms=0, error_code=error)
