"""The APIs that controllers serve on their own listeners: to each other, to brokers, and to clients
that connect directly (KIP-919).
"""

from __future__ import annotations

from types import MappingProxyType

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_apis import (
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    begin_quorum_epoch,
    broker_heartbeat,
    broker_registration,
    controller_registration,
    end_quorum_epoch,
    envelope,
    fetch_snapshot,
    metadata_fetch,
    update_raft_voter,
    vote,
)
from barnabas.api.handler import Handlers, guarded, served
from barnabas.wire.apis import ApiKey

# The handlers of brokers serve these APIs here too: a controller submits to itself, or refuses if
# it is not active.
_ADMINISTRATION = (
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    # Kafka's controllers announce these two and never answer them.
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
)
_ADMINISTERED = {key: BROKER_HANDLERS[key] for key in _ADMINISTRATION}

CONTROLLER_HANDLERS: Handlers = MappingProxyType(
    {
        **_ADMINISTERED,
        ApiKey.SASL_HANDSHAKE: BROKER_HANDLERS[ApiKey.SASL_HANDSHAKE],
        ApiKey.SASL_AUTHENTICATE: BROKER_HANDLERS[ApiKey.SASL_AUTHENTICATE],
        **served(
            {
                ApiKey.FETCH: metadata_fetch,
                ApiKey.VOTE: vote,
                ApiKey.BEGIN_QUORUM_EPOCH: begin_quorum_epoch,
                ApiKey.END_QUORUM_EPOCH: end_quorum_epoch,
                ApiKey.ALTER_PARTITION: alter_partition,
                ApiKey.FETCH_SNAPSHOT: fetch_snapshot,
                ApiKey.BROKER_REGISTRATION: broker_registration,
                ApiKey.BROKER_HEARTBEAT: broker_heartbeat,
                ApiKey.ALLOCATE_PRODUCER_IDS: allocate_producer_ids,
                ApiKey.CONTROLLER_REGISTRATION: controller_registration,
                ApiKey.ASSIGN_REPLICAS_TO_DIRS: assign_replicas_to_dirs,
                ApiKey.UPDATE_RAFT_VOTER: update_raft_voter,
            }
        ),
        ApiKey.ENVELOPE: guarded(envelope.unwrapping(_ADMINISTERED), envelope.NEEDS),
    }
)
