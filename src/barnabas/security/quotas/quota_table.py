"""Finds the quota of a user and a client id, in Kafka's order.

The most special entity that has a value for a key decides, and its kind also decides which clients
share: a quota of a user is shared by all its client ids, a quota of the default user is one for
each user.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

# A set of (type, name); the name None stands for the default entity.
Entity: TypeAlias = frozenset[tuple[str, str | None]]


class Limit(NamedTuple):
    """A quota, and the clients that share it: an empty part means that all values of it do."""

    value: float
    user: str
    client_id: str


class QuotaTable:
    def __init__(self, by_entity: Mapping[Entity, Mapping[str, float]]) -> None:
        # Old controllers accept a quota that is not a number, and it limits nothing.
        self._by_entity = {
            entity: {key: value for key, value in values.items() if not math.isnan(value)} for entity, values in by_entity.items()
        }
        self._keys = frozenset(key for values in self._by_entity.values() for key in values)

    def has(self, key: str) -> bool:
        """Whether any entity has a value for this key."""
        return key in self._keys

    def limit(self, key: str, user: str, client_id: str) -> Limit | None:
        """None if nothing limits this client."""
        if key not in self._keys:
            return None
        for entity, shared_user, shared_client in _candidates(user, client_id):
            value = self._by_entity.get(entity, {}).get(key)
            if value is not None:
                return Limit(value, shared_user, shared_client)
        return None


def _candidates(user: str, client_id: str) -> list[tuple[Entity, str, str]]:
    return [
        (frozenset({(USER, user), (CLIENT_ID, client_id)}), user, client_id),
        (frozenset({(USER, user), (CLIENT_ID, None)}), user, client_id),
        (frozenset({(USER, user)}), user, ""),
        (frozenset({(USER, None), (CLIENT_ID, client_id)}), user, client_id),
        (frozenset({(USER, None), (CLIENT_ID, None)}), user, client_id),
        (frozenset({(USER, None)}), user, ""),
        (frozenset({(CLIENT_ID, client_id)}), "", client_id),
        (frozenset({(CLIENT_ID, None)}), "", client_id),
    ]
