"""Every API, asked by users with too little, enough and denied permissions: Kafka and Barnabas give
the same answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.conformance.authorization import (
    cluster_cases,
    controller_cases,
    group_cases,
    share_cases,
    share_group_cases,
    share_state_cases,
    streams_cases,
    token_and_quota_cases,
    topic_cases,
    transaction_cases,
)
from tests.conformance.authorization.case import HIDDEN, OPEN, Case, complete
from tests.conformance.authorization.rules import Rules, Users, variants
from tests.conformance.authorization.scenery import prepare
from tests.conformance.authorization.sides import Side, both_sides
from tests.conformance.differential.comparison import described, deviations, plain
from tests.conformance.differential.raw_client import Closed
from tests.waiting import until

CASES = (
    topic_cases.CASES
    + group_cases.CASES
    + share_cases.CASES
    + share_group_cases.CASES
    + streams_cases.CASES
    + transaction_cases.CASES
    + share_state_cases.CASES
    + cluster_cases.CASES
    + token_and_quota_cases.CASES
    + controller_cases.CASES
)


def rules_of(case: Case) -> dict[str, Rules]:
    """Sets of rules by name, for one case."""
    return {name: frozenset(each for rule in rules for each in complete(rule)) for name, rules in variants(case.needs, case.others).items()}


# Asked at the broker only.
_AT_BROKERS = {
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.ALTER_CLIENT_QUOTAS,
    # Kafka's controllers announce these and never answer them.
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
}
QUESTIONS = {f"{case.name}: {name}": (case, rules) for case in CASES for name, rules in rules_of(case).items()}
USERS = Users()
for _, _rules in QUESTIONS.values():
    USERS.having(_rules)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    with both_sides(tmp_path_factory.mktemp("authorization"), list(USERS)) as sides:
        for each in sides:
            prepare(each, USERS)
        yield sides


@pytest.mark.parametrize(("case", "rules"), QUESTIONS.values(), ids=QUESTIONS)
def test_kafka_and_barnabas_answer_alike(sides: tuple[Side, Side], case: Case, rules: Rules) -> None:
    user = USERS.having(rules)
    found = []
    for version in case.asked_versions():
        kafka, barnabas = (
            side.named(case.open(plain(side.client(user, case.listener).ask(case.ask(side, version), version), version))) for side in sides
        )
        differences = deviations(case.key.api_name, kafka, barnabas, case.differ)
        found += [(version, each) for each in differences]
    assert not found, f"{described(found)}\nrules of the user: {sorted(rules)}"


def test_both_close_the_connection_of_a_producer_that_wants_no_response_and_may_not_write(sides: tuple[Side, Side]) -> None:
    user = USERS.having(())
    for side in sides:
        request = topic_cases.produce(HIDDEN, acks=0)(side, 12)
        assert isinstance(side.client(user).ask(request, 12), Closed), side.name


def test_both_leave_topics_that_a_member_may_not_describe_out_of_what_its_expression_matches(sides: tuple[Side, Side]) -> None:
    user = USERS.having(QUESTIONS["ConsumerGroupHeartbeat with an expression: needed"][1])
    request = ConsumerGroupHeartbeatRequest(
        group_id="fresh-expression",
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_regex="(open|hidden|absent)",
        topic_partitions=[],
    )
    for side in sides:

        def assigned(side: Side = side) -> set[Uuid]:
            """Kafka looks for the topics in the background."""
            response = side.client(user).ask(request, 1)
            assert response.error_code == ErrorCode.NONE, response
            return {each.topic_id for each in response.assignment.topic_partitions}

        assert until(assigned, f"{side.name} assigns partitions") == {side.topic_id(OPEN)}, side.name


def test_every_api_has_a_case() -> None:
    asked = {(case.key, case.listener) for case in CASES}
    login = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
    assert {key for key, listener in asked if listener == "broker"} == set(BROKER_HANDLERS) - login
    assert {key for key, listener in asked if listener == "controller"} == set(CONTROLLER_HANDLERS) - login - _AT_BROKERS
