"""The labels of a client that asks for subscriptions or pushes metrics."""

from __future__ import annotations

from barnabas.client_metrics.core.client_labels import ClientLabels, label_text
from barnabas.model.ids import Uuid
from barnabas.network.caller import Caller

# Kafka's word for a client that did not name its software in ApiVersions.
_UNKNOWN = "unknown"


def labels_of(caller: Caller, instance_id: Uuid) -> ClientLabels:
    name, version = caller.connection.client_software
    return ClientLabels(
        instance_id=instance_id,
        client_id=label_text(caller.client_id or ""),
        software_name=label_text(name or _UNKNOWN),
        software_version=label_text(version or _UNKNOWN),
        source_address=caller.address,
        source_port=caller.connection.peer_address[1],
        principal=label_text(str(caller.principal)),
    )
