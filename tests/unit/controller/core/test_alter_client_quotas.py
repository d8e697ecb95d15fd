"""AlterClientQuotas, decided by the controller; what Kafka decides is in the differential tests."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.unit.controller.core.deciding import NOW_MS, Office
from tests.unit.metadata.made import registered

Entity = Mapping[str, str | None]


def altering(*entries: tuple[Entity, Mapping[str, float | None]], validate_only: bool = False) -> AlterClientQuotasRequest:
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


def codes(office: Office, request: AlterClientQuotasRequest) -> list[int]:
    return [entry.error_code for entry in office.ask(request).entries]


ALICE: Entity = {"user": "alice"}
KEY = frozenset({("user", "alice")})


def test_quotas_are_set_changed_and_removed() -> None:
    office = Office()
    assert codes(office, altering((ALICE, {"producer_byte_rate": 10.0, "request_percentage": 0.5}))) == [0]
    assert office.image.quotas.by_entity == {KEY: {"producer_byte_rate": 10.0, "request_percentage": 0.5}}
    assert codes(office, altering((ALICE, {"producer_byte_rate": 20.0, "request_percentage": None}))) == [0]
    assert office.image.quotas.by_entity == {KEY: {"producer_byte_rate": 20.0}}
    assert codes(office, altering((ALICE, {"producer_byte_rate": None}))) == [0]
    assert office.image.quotas.by_entity == {}


def test_a_change_that_changes_nothing_writes_nothing() -> None:
    office = Office()
    office.ask(altering((ALICE, {"producer_byte_rate": 10.0})))
    assert not office.decide(altering((ALICE, {"producer_byte_rate": 10.0, "consumer_byte_rate": None}))).records


def test_a_request_that_only_validates_writes_nothing() -> None:
    assert not Office().decide(altering((ALICE, {"producer_byte_rate": 10.0}), validate_only=True)).records


def test_an_entity_with_one_invalid_value_is_not_changed_and_the_others_are() -> None:
    office = Office()
    asked = altering((ALICE, {"producer_byte_rate": 10.0, "nothing": 1.0}), ({"client-id": None}, {"producer_byte_rate": 1.0}))
    assert codes(office, asked) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert office.image.quotas.by_entity == {frozenset({("client-id", None)}): {"producer_byte_rate": 1.0}}


@pytest.mark.parametrize(
    ("entity", "values"),
    [
        ({}, {"producer_byte_rate": 1.0}),
        ({"user": ""}, {"producer_byte_rate": 1.0}),
        ({"group": "g"}, {"producer_byte_rate": 1.0}),
        ({"user": "alice", "ip": "10.0.0.1"}, {"producer_byte_rate": 1.0}),
        ({"ip": "some.host"}, {"connection_creation_rate": 1.0}),
        ({"ip": "10.0.0.1"}, {"producer_byte_rate": 1.0}),
        (ALICE, {"connection_creation_rate": 1.0}),
        (ALICE, {"producer_byte_rate": 0.0}),
        (ALICE, {"producer_byte_rate": 0.5}),
        (ALICE, {"producer_byte_rate": 1e19}),
        ({"ip": None}, {"connection_creation_rate": 3e9}),
    ],
)
def test_an_invalid_entity_or_value_is_refused(entity: Entity, values: Mapping[str, float | None]) -> None:
    office = Office()
    assert codes(office, altering((entity, values))) == [ErrorCode.INVALID_REQUEST]
    assert office.image.quotas.by_entity == {}


def test_topics_over_the_mutation_quota_are_refused_and_the_others_are_created() -> None:
    office = Office([registered(1)])
    quotas = ClientQuotas()
    quotas.replace({KEY: {"controller_mutation_rate": 1.0}})
    mutations = quotas.mutation_quota("alice", "", strict=True, now_ms=NOW_MS)
    topics = [
        CreatableTopic(name=name, num_partitions=12, replication_factor=1, assignments=[], configs=[]) for name in ("first", "second")
    ]
    outcome = office.controller.step(
        CreateTopicsRequest(topics=topics), next_offset=office.next_offset, now_ms=NOW_MS, wall_ms=0, mutations=mutations
    )
    assert [topic.error_code for topic in outcome.response.topics] == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert list(office.image.topics.by_name) == ["first"]
