"""What a case of the table is made of.

Both sides have the topics OPEN and HIDDEN, the group GROUP with committed offsets, and the
transactional id TXN. ABSENT exists nowhere. A request names all of them where it can, so that one
answer shows an allowed, a denied and a missing resource side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.declare import declaration_of
from tests.conformance.authorization.sides import Side

OPEN, HIDDEN, ABSENT = "open", "hidden", "absent"
TOPICS = (OPEN, HIDDEN, ABSENT)
GROUP, HIDDEN_GROUP, ABSENT_GROUP = "group", "hidden-group", "absent-group"
GROUPS = (GROUP, HIDDEN_GROUP, ABSENT_GROUP)
TXN, HIDDEN_TXN, ABSENT_TXN = "txn", "hidden-txn", "absent-txn"
OWNER = "owner"  # of a delegation token
TXNS = (TXN, HIDDEN_TXN, ABSENT_TXN)

Question: TypeAlias = Callable[[Side, int], Any]
"""Makes the request for a side and a version: the ids of topics differ."""


@dataclass(frozen=True)
class Case:
    """``needs`` are rules as in :mod:`.rules`, without a name: they are given for OPEN and ABSENT,
    GROUP and ABSENT_GROUP, or TXN and ABSENT_TXN. ``others`` are further sets of rules, complete.
    """

    name: str
    message: type[Any]
    ask: Question
    needs: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], ...] = ()
    versions: tuple[int, ...] = ()
    listener: str = "broker"
    differ: Mapping[str, str] = field(default_factory=dict)
    open: Callable[[Any], Any] = lambda answer: answer
    """Makes the answer comparable, where it contains another one."""

    @property
    def key(self) -> ApiKey:
        return ApiKey(declaration_of(self.message).key or 0)

    def asked_versions(self) -> tuple[int, ...]:
        """The oldest and the newest, unless the case names others."""
        offered = stable_versions(self.key)
        return self.versions or tuple(dict.fromkeys((offered.lowest, offered.highest)))


_NAMES = {"topic": (OPEN, ABSENT), "group": (GROUP, ABSENT_GROUP), "txn": (TXN, ABSENT_TXN), "cluster": ("kafka-cluster",)}


def complete(need: str) -> list[str]:
    """``READ topic`` for every resource that it is given for; a rule with a name as it is."""
    words = need.removeprefix("DENY ").split(" ")
    return [f"{need} {name}" for name in _NAMES[words[1]]] if len(words) == 2 else [need]


def by_name_or_id(side: Side, version: int, first_with_ids: int, topic: str, field: str = "name") -> dict[str, Any]:
    return {"topic_id": side.topic_id(topic)} if version >= first_with_ids else {field: topic}
