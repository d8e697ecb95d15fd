"""Metrics that clients push to brokers (KIP-714): which of them, how often, and where they go.

Nouns: a *subscription* is a resource of type client-metrics in the metadata; it names metrics, an
interval and the clients that it is for. A *client instance* is one producer, consumer or admin
client, known by a random id. It *asks* for its subscriptions (GetTelemetrySubscriptions) and
*pushes* its metrics (PushTelemetry) as OTLP, the protobuf format of OpenTelemetry. A *series* is
one metric of one client instance with its labels.

Read :mod:`.core` first, which makes the decisions. The shells: :mod:`.client_metrics` is the door
for handlers, :mod:`.reading` opens a push on a thread, :mod:`.forwarder` sends pushes on to a
collector (:mod:`barnabas.telemetry.otlp_post`).

Invariants:

- a push occupies the event loop only for its bookkeeping: a thread decompresses and decodes it;
- bytes of clients never become names, labels or lines of the metrics page unchecked;
- instances, series, waiting pushes and forwarded bytes have named limits, and what exceeds them is
  dropped and counted;
- a broker without a receiver (a metrics page or a collector) does not announce the two APIs, as in
  Kafka (``docs/decisions/0015``).

Not here: the settings of subscriptions (:mod:`barnabas.config.client_metrics_keys`), their records
(:mod:`barnabas.metadata.configs`), and the page itself (:mod:`barnabas.telemetry.prometheus`).
"""
