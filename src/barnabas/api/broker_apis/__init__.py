"""The APIs that a broker serves, one module for each.

Nouns: a *handler* is ``handle(broker, caller, request)``. It returns a response, a promise of one,
or None where the protocol expects no response. :data:`BROKER_HANDLERS` maps API keys to handlers.

To read first: :mod:`.api_versions`, which announces this table to clients; :mod:`.metadata` and
:mod:`.find_coordinator`, with which clients find brokers; :mod:`.fetch` and
:mod:`~barnabas.api.produce.handler`, the hot path. The others stand alone: open the module with the
name of the API. Each begins with *Behaviour* and *Version notes*.

Invariants:

- ApiVersions answers with exactly the keys of this table, so an API is served if and only if it
  stands here;
- a handler translates, authorises, calls and answers. It holds no state and calls no other handler;
- an outcome for one topic, partition or group is a value in the response, never an exception.

Not here: decoding and encoding (:mod:`barnabas.api.dispatch`); decisions about groups, transactions
and metadata, which the coordinators and the controller make; the APIs that controllers serve to
each other (:mod:`barnabas.api.controller_apis`).
"""

from __future__ import annotations

from types import MappingProxyType

from barnabas.api.broker_apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)
from barnabas.api.controller_apis import add_raft_voter, remove_raft_voter
from barnabas.api.handler import Handlers
from barnabas.api.produce.handler import handle as handle_produce
from barnabas.wire.apis import ApiKey

BROKER_HANDLERS: Handlers = MappingProxyType(
    {
        ApiKey.PRODUCE: handle_produce,
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
        ApiKey.FIND_COORDINATOR: find_coordinator.handle,
        ApiKey.JOIN_GROUP: join_group.handle,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials.handle,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials.handle,
        ApiKey.SASL_HANDSHAKE: sasl_handshake.handle,
        ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
        ApiKey.SYNC_GROUP: sync_group.handle,
        ApiKey.HEARTBEAT: heartbeat.handle,
        ApiKey.LEAVE_GROUP: leave_group.handle,
        ApiKey.OFFSET_COMMIT: offset_commit.handle,
        ApiKey.OFFSET_FETCH: offset_fetch.handle,
        ApiKey.OFFSET_DELETE: offset_delete.handle,
        ApiKey.DESCRIBE_GROUPS: describe_groups.handle,
        ApiKey.LIST_GROUPS: list_groups.handle,
        ApiKey.DELETE_GROUPS: delete_groups.handle,
        ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat.handle,
        ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe.handle,
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn.handle,
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn.handle,
        ApiKey.END_TXN: end_txn.handle,
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit.handle,
        ApiKey.WRITE_TXN_MARKERS: write_txn_markers.handle,
        ApiKey.DESCRIBE_PRODUCERS: describe_producers.handle,
        ApiKey.LIST_TRANSACTIONS: list_transactions.handle,
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions.handle,
        ApiKey.ELECT_LEADERS: elect_leaders.handle,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments.handle,
        ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs.handle,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments.handle,
        ApiKey.UNREGISTER_BROKER: unregister_broker.handle,
        ApiKey.ADD_RAFT_VOTER: add_raft_voter.handle,
        ApiKey.REMOVE_RAFT_VOTER: remove_raft_voter.handle,
    }
)
