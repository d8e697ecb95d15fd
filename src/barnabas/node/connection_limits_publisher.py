"""Sets the limits of listeners when the configuration changes. Open connections stay open."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.network.listener import Listener
from barnabas.node.connection_limits import connection_limits


class ConnectionLimitsPublisher:
    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = listeners

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            limits = connection_limits(effective.broker, effective.settings.explicit)
            for listener in self._listeners:
                listener.change_limits(limits)
