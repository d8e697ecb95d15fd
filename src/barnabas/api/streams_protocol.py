"""Whether this cluster serves streams groups (KIP-1071).

An operator may have excluded them from the settings, or may not have raised ``streams.version``.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.metadata.features import STREAMS_VERSION

_PROTOCOL = "streams"
_STREAMS_VERSION_MIN = 1


def streams_protocol_is_served(broker: Broker) -> bool:
    allowed = _PROTOCOL in broker.settings.strings("group.coordinator.rebalance.protocols")
    return allowed and broker.metadata.image.features.level(STREAMS_VERSION) >= _STREAMS_VERSION_MIN
