"""The requests for quotas, which librdkafka does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.cli.cluster.admin_request import error_words
from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.security.quotas.entities import CLIENT_ID, IP, USER, Entity, Part
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse, EntityData, EntryData, OpData
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest, DescribeClientQuotasResponse

_ORDER = (USER, CLIENT_ID, IP)


class Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    ANY = 2  # every name, the default included


class Quota(NamedTuple):
    entity: Entity
    values: dict[str, float]


def describe_quotas(brokers: Brokers, parts: Sequence[tuple[str, Match, str | None]], *, strict: bool) -> list[Quota]:
    """``strict`` leaves out entities with parts that are not asked for."""
    request = DescribeClientQuotasRequest(
        components=[ComponentData(entity_type=kind, match_type=match, match=name) for kind, match, name in parts], strict=strict
    )
    response: DescribeClientQuotasResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    _refuse(response.error_code, response.error_message, "Cannot list the quotas")
    found = [
        Quota(
            tuple(sorted((Part(part.entity_type, part.entity_name) for part in each.entity), key=_position)),
            {value.key: value.value for value in each.values},
        )
        for each in response.entries or []
    ]
    return sorted(found, key=lambda quota: [(_position(part), part.name is None, part.name or "") for part in quota.entity])


def alter_quotas(brokers: Brokers, entity: Entity, values: Mapping[str, float | None], *, validate_only: bool = False) -> None:
    """A value of None removes the limit."""
    ops = [OpData(key=name, value=value or 0.0, remove=value is None) for name, value in values.items()]
    parts = [EntityData(entity_type=part.type, entity_name=part.name) for part in entity]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=parts, ops=ops)], validate_only=validate_only)
    response: AlterClientQuotasResponse = brokers.ask_controller(
        request, codes=lambda response: [each.error_code for each in response.entries]
    )
    for each in response.entries:
        _refuse(each.error_code, each.error_message, "Cannot alter the quotas")


def _position(part: Part) -> int:
    return _ORDER.index(part.type) if part.type in _ORDER else len(_ORDER)


def _refuse(code: int, message: str | None, doing: str) -> None:
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise Refused(f"{doing}: {error_words(code)}.")
    refuse_error(code, message, doing)
