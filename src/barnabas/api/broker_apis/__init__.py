"""The APIs that a broker serves, one module for each.

Nouns: a *handler* is ``handle(broker, caller, request)`` of a module. It returns a response, a
promise of one, or None where the protocol expects no response. :data:`BROKER_HANDLERS` maps API
keys to handlers.

To read first: :mod:`.api_versions`, which announces this table to clients; :mod:`.metadata` and
:mod:`.find_coordinator`, with which clients find brokers; :mod:`.fetch` and
:mod:`~barnabas.api.produce.handler`, the hot path. The others stand alone: open the module with the
name of the API. Each begins with *Behaviour* and *Version notes*.

Invariants:

- a module declares in ``NEEDS`` what its callers must be allowed (:mod:`barnabas.api.needs`);
- ApiVersions answers with the keys of this table, so an API is served if and only if it stands
  here. :data:`WITH_RECEIVER` are served always, and announced only by a broker that has a place for
  the metrics of clients;
- a handler translates, authorises, calls and answers. It holds no state and calls no other handler;
- an outcome for one topic, partition or group is a value in the response, never an exception.

Not here: decoding and encoding (:mod:`barnabas.api.dispatch`); decisions about groups, transactions
and metadata, which the coordinators and the controller make; the APIs that controllers serve to
each other (:mod:`barnabas.api.controller_apis`).
"""

from __future__ import annotations

from barnabas.api.broker_apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    expire_delegation_token,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    initialize_share_group_state,
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
    push_telemetry,
    read_share_group_state,
    read_share_group_state_summary,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_share_group_state,
    write_txn_markers,
)
from barnabas.api.controller_apis import add_raft_voter, remove_raft_voter
from barnabas.api.handler import Handlers, served
from barnabas.api.produce import handler as produce
from barnabas.wire.apis import ApiKey

BROKER_HANDLERS: Handlers = served(
    {
        ApiKey.PRODUCE: produce,
        ApiKey.FETCH: fetch,
        ApiKey.LIST_OFFSETS: list_offsets,
        ApiKey.METADATA: metadata,
        ApiKey.API_VERSIONS: api_versions,
        ApiKey.CREATE_TOPICS: create_topics,
        ApiKey.DELETE_TOPICS: delete_topics,
        ApiKey.DELETE_RECORDS: delete_records,
        ApiKey.INIT_PRODUCER_ID: init_producer_id,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
        ApiKey.DESCRIBE_CONFIGS: describe_configs,
        ApiKey.ALTER_CONFIGS: alter_configs,
        ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs,
        ApiKey.CREATE_PARTITIONS: create_partitions,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
        ApiKey.DESCRIBE_QUORUM: describe_quorum,
        ApiKey.UPDATE_FEATURES: update_features,
        ApiKey.DESCRIBE_CLUSTER: describe_cluster,
        ApiKey.LIST_CONFIG_RESOURCES: list_config_resources,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
        ApiKey.FIND_COORDINATOR: find_coordinator,
        ApiKey.JOIN_GROUP: join_group,
        ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas,
        ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
        ApiKey.DESCRIBE_ACLS: describe_acls,
        ApiKey.CREATE_ACLS: create_acls,
        ApiKey.DELETE_ACLS: delete_acls,
        ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
        ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
        ApiKey.DESCRIBE_DELEGATION_TOKEN: describe_delegation_token,
        ApiKey.SASL_HANDSHAKE: sasl_handshake,
        ApiKey.SASL_AUTHENTICATE: sasl_authenticate,
        ApiKey.SYNC_GROUP: sync_group,
        ApiKey.HEARTBEAT: heartbeat,
        ApiKey.LEAVE_GROUP: leave_group,
        ApiKey.OFFSET_COMMIT: offset_commit,
        ApiKey.OFFSET_FETCH: offset_fetch,
        ApiKey.OFFSET_DELETE: offset_delete,
        ApiKey.DESCRIBE_GROUPS: describe_groups,
        ApiKey.LIST_GROUPS: list_groups,
        ApiKey.DELETE_GROUPS: delete_groups,
        ApiKey.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
        ApiKey.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
        ApiKey.SHARE_GROUP_HEARTBEAT: share_group_heartbeat,
        ApiKey.SHARE_GROUP_DESCRIBE: share_group_describe,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: describe_share_group_offsets,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: alter_share_group_offsets,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: delete_share_group_offsets,
        ApiKey.STREAMS_GROUP_HEARTBEAT: streams_group_heartbeat,
        ApiKey.STREAMS_GROUP_DESCRIBE: streams_group_describe,
        ApiKey.SHARE_FETCH: share_fetch,
        ApiKey.SHARE_ACKNOWLEDGE: share_acknowledge,
        ApiKey.ADD_PARTITIONS_TO_TXN: add_partitions_to_txn,
        ApiKey.ADD_OFFSETS_TO_TXN: add_offsets_to_txn,
        ApiKey.END_TXN: end_txn,
        ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit,
        ApiKey.WRITE_TXN_MARKERS: write_txn_markers,
        ApiKey.DESCRIBE_PRODUCERS: describe_producers,
        ApiKey.LIST_TRANSACTIONS: list_transactions,
        ApiKey.DESCRIBE_TRANSACTIONS: describe_transactions,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: initialize_share_group_state,
        ApiKey.READ_SHARE_GROUP_STATE: read_share_group_state,
        ApiKey.WRITE_SHARE_GROUP_STATE: write_share_group_state,
        ApiKey.DELETE_SHARE_GROUP_STATE: delete_share_group_state,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: read_share_group_state_summary,
        ApiKey.ELECT_LEADERS: elect_leaders,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
        ApiKey.ALTER_REPLICA_LOG_DIRS: alter_replica_log_dirs,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
        ApiKey.UNREGISTER_BROKER: unregister_broker,
        ApiKey.ADD_RAFT_VOTER: add_raft_voter,
        ApiKey.REMOVE_RAFT_VOTER: remove_raft_voter,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: get_telemetry_subscriptions,
        ApiKey.PUSH_TELEMETRY: push_telemetry,
    }
)

WITH_RECEIVER = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
