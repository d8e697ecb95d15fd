"""DescribeClientQuotas (key 48): the quotas of the entities that match a filter.

Behaviour:
- each component of the filter names a type of entity, and matches one name, the default entity, or
  any entity of the type. An entity must match all components;
- ``strict`` leaves out entities that have further types, so a strict filter on users does not match
  a quota of a user and a client id. A strict filter without components matches nothing;
- a response without an error has an empty message and not null, as in Kafka;
- INVALID_REQUEST for a filter that contradicts itself, UNSUPPORTED_VERSION for an unknown type. The
  response then has no list of entries.

Version notes: 1 is flexible, and otherwise equal to 0.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.metadata.quota_filter import read_filter
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

NEEDS = on_cluster(Operation.DESCRIBE_CONFIGS)


def handle(broker: Broker, caller: Caller, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        wanted = read_filter(request)
    except KafkaError as refused:
        return DescribeClientQuotasResponse(throttle_time_ms=0, error_code=refused.code, error_message=refused.message, entries=None)
    return DescribeClientQuotasResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message="",
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in sorted(entity, key=lambda part: part[0])],
                values=[ValueData(key=key, value=value) for key, value in sorted(values.items())],
            )
            for entity, values in broker.metadata.image.quotas.by_entity.items()
            if wanted.matches(entity)
        ],
    )
