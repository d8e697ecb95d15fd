"""Whether this cluster serves the consumer group protocol of KIP-848.

An operator may have excluded it from the settings, or may not have raised ``group.version`` yet.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.metadata.features import GROUP_VERSION

_PROTOCOL = "consumer"
_GROUP_VERSION_MIN = 1


def consumer_protocol_is_served(broker: Broker) -> bool:
    allowed = _PROTOCOL in broker.settings.strings("group.coordinator.rebalance.protocols")
    return allowed and broker.metadata.image.features.level(GROUP_VERSION) >= _GROUP_VERSION_MIN
