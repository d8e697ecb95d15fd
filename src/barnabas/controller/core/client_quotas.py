"""AlterClientQuotas: set and remove quotas of users, client ids and addresses.

An entity is a user, a client id, both together, or an address; a null name is the default entity of
its type. The rules and the error messages are those of Kafka's ``ClientQuotaControlManager``, with
one difference: Kafka also takes the name of a host where an address is expected, and asks the
resolver for it. Here only addresses are valid, because a decision of the controller must not depend
on what a resolver answers at that moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import TypeAlias

from barnabas.config.declare import DOUBLE, INT, INT_MAX, LONG_MAX, ConfigKey
from barnabas.config.quota_keys import CLIENT_QUOTA_KEYS, IP_QUOTA_KEYS
from barnabas.controller.core.outcome import Outcome
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.security.quotas.quota_table import CLIENT_ID, IP, USER
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    ResponseEntityData,
    ResponseEntryData,
)
from barnabas.wire.metadata_records import ClientQuotaRecord
from barnabas.wire.metadata_records.client_quota import EntityData

# A quota that clients compute, such as half of another one, may miss a whole number by this much.
_FRACTION_MAX = 1e-6

# Name by type, in the order of the request.
_Named: TypeAlias = dict[str, str | None]
# A new value by key; None removes the quota.
_Wanted: TypeAlias = dict[str, float | None]


def alter_client_quotas(image: MetadataImage, request: AlterClientQuotasRequest) -> Outcome:
    """Each entity has an outcome of its own; the changes of all valid ones take effect together.

    For an entity that the request names twice, the first change takes effect and the result is an
    error, as in Kafka.
    """
    records: list[ClientQuotaRecord] = []
    outcomes: dict[tuple[tuple[str, str | None], ...], tuple[_Named, KafkaError | None]] = {}
    for entry in request.entries:
        entity: _Named = {part.entity_type: part.entity_name for part in entry.entity}
        identity = tuple(sorted(entity.items(), key=lambda part: part[0]))
        wanted = _wanted(entry.ops)
        error: KafkaError | None = None
        if wanted is None or identity in outcomes:
            error = KafkaError(ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity {_shown(entity)}")
        else:
            try:
                records.extend(_changes(image, entity, wanted))
            except KafkaError as refused:
                error = refused
        outcomes[identity] = (entity, error)
    results = [_result(entity, error) for entity, error in outcomes.values()]
    return Outcome(AlterClientQuotasResponse(throttle_time_ms=0, entries=results), [] if request.validate_only else records)


def _wanted(ops: Sequence[OpData]) -> _Wanted | None:
    """None if a key occurs twice, which Kafka treats like an entity that occurs twice."""
    wanted: _Wanted = {op.key: None if op.remove else op.value for op in ops}
    return wanted if len(wanted) == len(ops) else None


def _changes(image: MetadataImage, entity: _Named, wanted: _Wanted) -> list[ClientQuotaRecord]:
    """The records of one entity. Raises ``KafkaError`` if any part of the change is invalid."""
    _check_names(entity)
    keys = _keys_of(entity)
    current = image.quotas.by_entity.get(frozenset(entity.items()), {})
    return list(_records(entity, keys, wanted, current))


def _records(entity: _Named, keys: Mapping[str, ConfigKey], wanted: _Wanted, current: Mapping[str, float]) -> Iterator[ClientQuotaRecord]:
    for key, value in wanted.items():
        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        if value is None:
            if key in current:
                yield ClientQuotaRecord(entity=parts, key=key, value=0.0, remove=True)
            continue
        _check_value(keys, key, value)
        if current.get(key) != value:
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


def _check_names(entity: _Named) -> None:
    if not entity:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Empty {kind} not supported")


def _keys_of(entity: _Named) -> Mapping[str, ConfigKey]:
    """The quotas that this kind of entity may have."""
    if IP not in entity:
        return CLIENT_QUOTA_KEYS
    if len(entity) > 1:
        # Kafka's message, which does not fit the case.
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    address = entity[IP]
    if address is not None and not _is_address(address):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{address} is not a valid IP or resolvable host.")
    return IP_QUOTA_KEYS


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(keys: Mapping[str, ConfigKey], key: str, value: float) -> None:
    declared = keys.get(key)
    if declared is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
    if value <= 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Quota {key} must be greater than 0")
    if declared.type is DOUBLE:
        return
    highest, name = (INT_MAX, "an INT") if declared.type is INT else (LONG_MAX, "a LONG")
    if value > highest:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Proposed value for {key} is too large for {name}.")
    if abs(math.fmod(value, 1.0)) > _FRACTION_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key} cannot be a fractional value.")


def _shown(entity: _Named) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity.items())
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _result(entity: _Named, error: KafkaError | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[ResponseEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
    )
