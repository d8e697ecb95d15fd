"""The APIs that controllers serve on their own listeners: to each other, to brokers, and to clients
that connect directly (KIP-919).
"""

from __future__ import annotations

from barnabas.api.broker_apis import BROKER_HANDLERS
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
# The APIs that only controllers serve, each with the module of its name.
_BETWEEN_NODES = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.ALTER_PARTITION,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.UPDATE_RAFT_VOTER,
    ApiKey.ENVELOPE,
)

ADMINISTERED = BROKER_HANDLERS.only(_ADMINISTRATION)
CONTROLLER_HANDLERS = BROKER_HANDLERS.only((*_ADMINISTRATION, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)).plus(
    {
        # A fetch from a controller is a fetch of metadata.
        ApiKey.FETCH: "barnabas.api.controller_apis.metadata_fetch",
        **{key: f"barnabas.api.controller_apis.{key.name.lower()}" for key in _BETWEEN_NODES},
    }
)
