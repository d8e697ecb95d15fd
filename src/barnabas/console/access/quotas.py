"""Quotas of users, client ids and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.security.quotas.entities import CLIENT_ID, IP, USER, Entity, Part
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse, EntityData, EntryData, OpData
from barnabas.wire.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

_ORDER: Final = (USER, CLIENT_ID, IP)


@dataclass(frozen=True, slots=True)
class Quota:
    entity: Entity
    limits: dict[str, float]


async def list_quotas(client: ClusterClient) -> list[Quota]:
    response: DescribeClientQuotasResponse = await client.ask_any(DescribeClientQuotasRequest(components=[], strict=False))
    refuse_error(response.error_code, response.error_message, "Cannot list the quotas")
    found = [
        Quota(
            tuple(sorted((Part(part.entity_type, part.entity_name) for part in each.entity), key=_position)),
            {value.key: value.value for value in each.values},
        )
        for each in response.entries or []
    ]
    return sorted(found, key=lambda quota: [(_position(part), part.name is None, part.name or "") for part in quota.entity])


async def alter_quota(client: ClusterClient, entity: Entity, values: Mapping[str, float | None]) -> None:
    """None removes a limit."""
    ops = [OpData(key=name, value=value or 0.0, remove=value is None) for name, value in values.items()]
    parts = [EntityData(entity_type=part.type, entity_name=part.name) for part in entity]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=parts, ops=ops)], validate_only=False)
    response: AlterClientQuotasResponse = await client.ask_any(request, is_change=True)
    for each in response.entries:
        refuse_error(each.error_code, each.error_message, "Cannot change the quota")


def _position(part: Part) -> int:
    return _ORDER.index(part.type) if part.type in _ORDER else len(_ORDER)
