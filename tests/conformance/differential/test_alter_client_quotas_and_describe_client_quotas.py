"""AlterClientQuotas and DescribeClientQuotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.conformance.differential.pair import Pair

BOTH = range(2)
EXACT, DEFAULT, ANY = 0, 1, 2

Entity = Mapping[str, str | None]


def altered(*entries: tuple[Entity, Mapping[str, float | None]], validate_only: bool = False) -> AlterClientQuotasRequest:
    """A value of None removes the quota."""
    return AlterClientQuotasRequest(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
            )
            for entity, values in entries
        ],
        validate_only=validate_only,
    )


def described(*components: tuple[str, int, str | None], strict: bool = False) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=[ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components], strict=strict
    )


EVERYTHING = described()


@pytest.fixture(scope="module")
def quotas(pair: Pair) -> Iterator[None]:
    """Removed in the end, since the pair is shared and its clients are limited like any others."""
    pair.same(
        altered(
            ({"user": "alice"}, {"producer_byte_rate": 1024.0, "request_percentage": 12.5}),
            ({"user": None}, {"consumer_byte_rate": 2048.0}),
            ({"user": "alice", "client-id": "shop"}, {"producer_byte_rate": 512.0}),
            ({"user": "alice", "client-id": None}, {"controller_mutation_rate": 0.5}),
            ({"user": None, "client-id": "shop"}, {"producer_byte_rate": 1.0}),
            ({"user": None, "client-id": None}, {"producer_byte_rate": 2.0}),
            ({"client-id": "shop"}, {"consumer_byte_rate": 3.0}),
            ({"client-id": None}, {"consumer_byte_rate": 4.0}),
            ({"ip": "10.1.2.3"}, {"connection_creation_rate": 5.0}),
            ({"ip": None}, {"connection_creation_rate": 6.0}),
        ),
        [1],
    )
    pair.soon_same(EVERYTHING, BOTH)
    yield
    for peer in pair.peers:
        found = pair.ask(peer, EVERYTHING, 1).entries
        pair.ask(
            peer,
            altered(
                *(
                    ({part.entity_type: part.entity_name for part in each.entity}, {value.key: None for value in each.values})
                    for each in found
                )
            ),
            1,
        )


@pytest.mark.usefixtures("quotas")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "components",
    [
        [],
        [("user", EXACT, "alice")],
        [("user", EXACT, "nobody")],
        [("user", EXACT, "")],
        [("user", DEFAULT, None)],
        [("user", ANY, None)],
        [("client-id", EXACT, "shop")],
        [("client-id", DEFAULT, None)],
        [("client-id", ANY, None)],
        [("user", EXACT, "alice"), ("client-id", EXACT, "shop")],
        [("user", EXACT, "alice"), ("client-id", ANY, None)],
        [("user", DEFAULT, None), ("client-id", ANY, None)],
        [("user", ANY, None), ("client-id", ANY, None)],
        [("ip", EXACT, "10.1.2.3")],
        [("ip", DEFAULT, None)],
        [("ip", ANY, None)],
        [("ip", ANY, None), ("user", ANY, None)],
        [("ip", ANY, None), ("client-id", EXACT, "x")],
        [("user", ANY, None), ("user", EXACT, "alice")],
        [("", ANY, None)],
        [("group", ANY, None)],
        [("user", EXACT, None)],
        [("user", DEFAULT, "alice")],
        [("user", ANY, "alice")],
        [("user", 3, None)],
        [("user", -1, "alice")],
    ],
)
def test_describe_client_quotas_matches_entities_with_a_filter(
    pair: Pair, components: list[tuple[str, int, str | None]], strict: bool
) -> None:
    pair.same(described(*components, strict=strict), BOTH)


CHANGES: list[list[tuple[Entity, Mapping[str, float | None]]]] = [
    [],
    [({}, {"producer_byte_rate": 1.0})],
    [({"user": "bob"}, {})],
    [({"user": ""}, {"producer_byte_rate": 1.0})],
    [({"client-id": ""}, {"producer_byte_rate": 1.0})],
    [({"ip": ""}, {"connection_creation_rate": 1.0})],
    [({"group": "g"}, {"producer_byte_rate": 1.0})],
    [({"user": "bob", "group": "g"}, {"producer_byte_rate": 1.0})],
    [({"user": "bob", "ip": "10.0.0.1"}, {"producer_byte_rate": 1.0})],
    [({"client-id": "bob", "ip": "10.0.0.1"}, {"connection_creation_rate": 1.0})],
    [({"ip": "10.0.0.300"}, {"connection_creation_rate": 1.0})],
    [({"ip": "no host!"}, {"connection_creation_rate": 1.0})],
    [({"ip": "::1"}, {"connection_creation_rate": 1.0})],
    [({"ip": "10.0.0.1"}, {"producer_byte_rate": 1.0})],
    [({"user": "bob"}, {"connection_creation_rate": 1.0})],
    [({"user": "bob"}, {"bytes": 1.0})],
    [({"user": "bob"}, {"": 1.0})],
    [({"user": "bob"}, {"SCRAM-SHA-256": 1.0})],
    [({"user": "bob"}, {"producer_byte_rate": 0.0})],
    [({"user": "bob"}, {"producer_byte_rate": -1.0})],
    [({"user": "bob"}, {"producer_byte_rate": 1.5})],
    [({"user": "bob"}, {"producer_byte_rate": 1.0000001})],
    [({"user": "bob"}, {"producer_byte_rate": 1e19})],
    [({"user": "bob"}, {"producer_byte_rate": float("nan")})],
    [({"user": "bob"}, {"producer_byte_rate": float("inf")})],
    [({"user": "bob"}, {"request_percentage": float("nan")})],
    [({"user": "bob"}, {"request_percentage": float("inf")})],
    [({"user": "bob"}, {"request_percentage": 0.0})],
    [({"user": "bob"}, {"request_percentage": 0.25})],
    [({"user": "bob"}, {"controller_mutation_rate": 0.25})],
    [({"ip": "10.0.0.1"}, {"connection_creation_rate": 1.5})],
    [({"ip": "10.0.0.1"}, {"connection_creation_rate": 0.0})],
    [({"ip": "10.0.0.1"}, {"connection_creation_rate": 3e9})],
    [({"user": "bob"}, {"producer_byte_rate": None})],
    [({"user": "bob"}, {"nothing": None})],
    [({"user": "bob"}, {"producer_byte_rate": 1.0, "nothing": 1.0})],
    [({"user": "bob"}, {"producer_byte_rate": 1.0}), ({"user": "eve"}, {"nothing": 1.0})],
    [({"user": "bob"}, {"producer_byte_rate": 1.0}), ({"user": "bob"}, {"producer_byte_rate": 2.0})],
    [({"user": "bob"}, {"producer_byte_rate": None}), ({"user": "bob"}, {"consumer_byte_rate": 2.0})],
    [({"user": "a b/ü%"}, {"producer_byte_rate": 1.0})],
]


@pytest.mark.usefixtures("quotas")
@pytest.mark.parametrize("changes", CHANGES)
def test_alter_client_quotas_sets_and_refuses(pair: Pair, changes: list[tuple[Entity, Mapping[str, float | None]]]) -> None:
    pair.same(altered(*changes, validate_only=True), BOTH)
    pair.same(EVERYTHING, BOTH)
    pair.same(altered(*changes), BOTH)
    pair.soon_same(EVERYTHING, BOTH)


@pytest.mark.usefixtures("quotas")
def test_alter_client_quotas_removes(pair: Pair) -> None:
    pair.same(altered(({"client-id": "brief"}, {"producer_byte_rate": 1.0, "consumer_byte_rate": 2.0})), [1])
    pair.same(altered(({"client-id": "brief"}, {"producer_byte_rate": None, "request_percentage": None})), [1])
    pair.soon_same(described(("client-id", EXACT, "brief")), BOTH)
    pair.same(altered(({"client-id": "brief"}, {"consumer_byte_rate": None})), [1])
    pair.soon_same(described(("client-id", EXACT, "brief")), BOTH)


@pytest.mark.usefixtures("quotas")
def test_alter_client_quotas_refuses_a_key_that_occurs_twice(pair: Pair) -> None:
    twice = altered(({"user": "twice"}, {"producer_byte_rate": 1.0}))
    twice.entries[0].ops.append(OpData(key="producer_byte_rate", value=2.0, remove=False))
    pair.same(twice, BOTH)
    pair.soon_same(EVERYTHING, BOTH)


@pytest.mark.usefixtures("quotas")
def test_alter_client_quotas_takes_the_last_name_of_a_type(pair: Pair) -> None:
    twice = altered(({"user": "first"}, {"producer_byte_rate": 1.0}))
    twice.entries[0].entity.append(EntityData(entity_type="user", entity_name="last"))
    pair.same(twice, BOTH)
    pair.soon_same(EVERYTHING, BOTH)
