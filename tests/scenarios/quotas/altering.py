"""Sets quotas of a broker over the wire, and waits until the broker has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from tests.scenarios.client import Client

Entity: TypeAlias = Mapping[str, str | None]
ANONYMOUS: Entity = {"user": "ANONYMOUS"}


def altering(entity: Entity, values: Mapping[str, float | None], *, validate_only: bool = False) -> AlterClientQuotasRequest:
    """A value of None removes the quota."""
    return AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
            )
        ],
        validate_only=validate_only,
    )


def set_quota(client: Client, entity: Entity, **values: float | None) -> None:
    """The response comes after this node has published the change, so it applies at once."""
    (entry,) = client.ask(altering(entity, values)).entries
    assert entry.error_code == ErrorCode.NONE, entry.error_message
