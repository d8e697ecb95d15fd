"""The APIs this node serves, one file each. This table is what ApiVersions answers.

A handler is ``handle(broker, context, request)`` and returns a response, a promise of one, or None where the protocol wants no answer. It
translates, authorises, calls and answers; it holds no state and calls no other handler.
"""

from __future__ import annotations

from types import MappingProxyType

from barnabas.api.broker_apis import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    describe_topic_partitions,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
    produce,
    update_features,
)
from barnabas.api.handler import Handlers
from barnabas.wire.apis import ApiKey

BROKER_HANDLERS: Handlers = MappingProxyType(
    {
        ApiKey.PRODUCE: produce.handle,
        ApiKey.FETCH: fetch.handle,
        ApiKey.LIST_OFFSETS: list_offsets.handle,
        ApiKey.METADATA: metadata.handle,
        ApiKey.API_VERSIONS: api_versions.handle,
        ApiKey.CREATE_TOPICS: create_topics.handle,
        ApiKey.DELETE_TOPICS: delete_topics.handle,
        ApiKey.DELETE_RECORDS: delete_records.handle,
        ApiKey.INIT_PRODUCER_ID: init_producer_id.handle,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
        ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
        ApiKey.ALTER_CONFIGS: alter_configs.handle,
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.handle,
        ApiKey.CREATE_PARTITIONS: create_partitions.handle,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
        ApiKey.DESCRIBE_QUORUM: describe_quorum.handle,
        ApiKey.UPDATE_FEATURES: update_features.handle,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
        ApiKey.LIST_CONFIG_RESOURCES: list_config_resources.handle,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
    }
)

# What clients that speak to controllers directly (KIP-919) find there. The same handlers: the way to the controller is then short.
CONTROLLER_HANDLERS: Handlers = MappingProxyType(
    {
        key: BROKER_HANDLERS[key]
        for key in (
            ApiKey.API_VERSIONS,
            ApiKey.CREATE_TOPICS,
            ApiKey.DELETE_TOPICS,
            ApiKey.DESCRIBE_CONFIGS,
            ApiKey.ALTER_CONFIGS,
            ApiKey.CREATE_PARTITIONS,
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            ApiKey.DESCRIBE_QUORUM,
            ApiKey.UPDATE_FEATURES,
            ApiKey.DESCRIBE_CLUSTER,
        )
    }
)
