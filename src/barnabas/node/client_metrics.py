"""Clients' metrics in a node: made from its settings, and kept up to date with the metadata."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.api.broker_apis import BROKER_HANDLERS, WITH_RECEIVER
from barnabas.client_metrics.client_metrics import ClientMetrics
from barnabas.client_metrics.core.subscription import Subscription, parse_subscription
from barnabas.config.http_endpoint import header_pairs
from barnabas.config.keys import ConfigError
from barnabas.config.settings import BrokerSettings
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.node_context import NodeContext
from barnabas.telemetry.logs import EventLog
from barnabas.wire.apis import ApiKey

ENDPOINT = "barnabas.client.metrics.otlp.endpoint"
HEADERS = "barnabas.client.metrics.otlp.headers"


def announced(settings: BrokerSettings) -> frozenset[ApiKey]:
    """The APIs that ApiVersions names to clients.

    Clients push metrics to every broker that says it takes them. Without a page or a collector
    they would be thrown away, so such a broker does not ask for them; Kafka does the same without
    an exporter.
    """
    receives = bool(settings.text("barnabas.prometheus.listener") or settings.text(ENDPOINT))
    return frozenset(BROKER_HANDLERS) if receives else frozenset(BROKER_HANDLERS) - WITH_RECEIVER


def make_client_metrics(context: NodeContext) -> ClientMetrics:
    settings = context.settings
    url = settings.text(ENDPOINT)
    forwarder = None
    if url:
        # Only a node with a collector loads an HTTP client.
        from barnabas.client_metrics.forwarder import Forwarder
        from barnabas.telemetry.otlp_post import Endpoint

        endpoint = Endpoint(url, header_pairs(settings.text_or_none(HEADERS)) or {})
        forwarder = Forwarder(endpoint.post, context.metrics, context.log)
    return ClientMetrics(
        context.clock,
        context.entropy,
        context.metrics,
        node_id=context.node_id,
        push_bytes_max=settings.integer("telemetry.max.bytes"),
        forwarder=forwarder,
    )


class ClientMetricsPublisher:
    """Follows the subscriptions in the metadata."""

    def __init__(self, client_metrics: ClientMetrics, log: EventLog) -> None:
        self._client_metrics = client_metrics
        self._log = log

    async def publish(self, delta: MetadataDelta, image: MetadataImage, _: EffectiveConfigs) -> None:
        if any(resource.type == ResourceType.CLIENT_METRICS for resource in delta.configs.changed):
            self._client_metrics.replace_subscriptions(self._subscriptions(image))

    def _subscriptions(self, image: MetadataImage) -> Iterator[Subscription]:
        for resource, values in image.configs.by_resource.items():
            if resource.type == ResourceType.CLIENT_METRICS:
                try:
                    yield parse_subscription(resource.name, values)
                except ConfigError as error:
                    self._log.warning("client metrics subscription has no effect", name=resource.name, reason=str(error))
