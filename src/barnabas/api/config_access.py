"""What a caller needs to see or change the settings of a resource, and the error if it may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from barnabas.api.broker import Broker
from barnabas.api.needs import (
    ALTER_CLUSTER_CONFIGS,
    ALTER_GROUP_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_GROUP_CONFIGS,
    DESCRIBE_TOPIC_CONFIGS,
    Need,
)
from barnabas.metadata.configs import ResourceType
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import CLUSTER_NAME

TO_DESCRIBE: Final = (DESCRIBE_TOPIC_CONFIGS, DESCRIBE_GROUP_CONFIGS, DESCRIBE_CLUSTER_CONFIGS)
TO_ALTER: Final = (ALTER_TOPIC_CONFIGS, ALTER_GROUP_CONFIGS, ALTER_CLUSTER_CONFIGS)
MESSAGES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
}


def why_denied(broker: Broker, caller: Caller, needs: tuple[Need, Need, Need], kind: int, name: str) -> ErrorCode:
    """``needs`` are those on topics, on groups and on the cluster, which has the settings of
    everything else."""
    on_topic, on_group, on_cluster = needs
    match kind:
        case ResourceType.TOPIC:
            need, resource, denied = on_topic, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED
        case ResourceType.GROUP:
            need, resource, denied = on_group, name, ErrorCode.GROUP_AUTHORIZATION_FAILED
        case _:
            need, resource, denied = on_cluster, CLUSTER_NAME, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ErrorCode.NONE if broker.access.may(caller, need, resource) else denied
