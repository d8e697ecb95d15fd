"""One payment for each order, whatever happens to Kafka."""

from __future__ import annotations

import json

import pytest

from barnabas.testing import EmbeddedBroker, EmbeddedCluster
from examples.payments.service import ORDERS, PAYMENTS, REJECTED
from examples.payments.tests.running_service import RunningService, create_topics, paid, place_orders


def test_an_order_becomes_a_payment_with_its_receipt(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    place_orders(kafka, 7)
    with RunningService(kafka):
        (payment,) = kafka.consume(PAYMENTS, 1)
    assert payment.key == b"order-7"
    assert json.loads(payment.value or b"") == {"order_id": "order-7", "cents": 107, "receipt": "receipt-order-7"}


def test_orders_that_cannot_be_paid_are_put_aside_with_the_reason(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    kafka.produce(ORDERS, [b"nonsense", ("d", b'{"order_id": "declined-1", "cents": 5}'), ("z", b'{"order_id": "free", "cents": 0}')])
    place_orders(kafka, 1)
    with RunningService(kafka):
        rejected = kafka.consume(REJECTED, 3)
        assert paid(kafka, 1) == ["order-1"]
    reasons = sorted(dict(each.headers)["reason"] or b"" for each in rejected)
    assert [reason.split(b":")[0] for reason in reasons] == [b"0 cents cannot be charged", b"not an order", b"the card has expired"]


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("Produce", "NOT_ENOUGH_REPLICAS"),
        ("Produce", "REQUEST_TIMED_OUT"),
        ("InitProducerId", "COORDINATOR_NOT_AVAILABLE"),
        ("EndTxn", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("TxnOffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("Fetch", "NOT_LEADER_OR_FOLLOWER"),
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
    ],
)
def test_errors_that_pass_do_not_show(kafka: EmbeddedBroker, api: str, error: str) -> None:
    create_topics(kafka)
    place_orders(kafka, 1, 2, 3)
    fault = kafka.fail(api, error, times=2)
    with RunningService(kafka) as running:
        assert paid(kafka, 3) == ["order-1", "order-2", "order-3"]
    assert fault.used == 2
    assert running.service.transactions_aborted == 0


def test_an_aborted_transaction_is_repeated_and_no_order_is_paid_twice(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    place_orders(kafka, 1, 2)
    fault = kafka.fail("TxnOffsetCommit", "GROUP_AUTHORIZATION_FAILED")
    with RunningService(kafka) as running:
        assert paid(kafka, 2) == ["order-1", "order-2"]
    assert fault.used == 1
    assert running.service.transactions_aborted == 1
    # The provider saw some orders twice, with the same idempotency key.
    assert max(running.provider.charges.values()) == 2


@pytest.mark.parametrize("api", ["Produce", "TxnOffsetCommit", "EndTxn"])
def test_a_lost_answer_leads_to_no_second_payment(kafka: EmbeddedBroker, api: str) -> None:
    create_topics(kafka)
    fault = kafka.disconnect(api, handled=True)
    with RunningService(kafka):
        place_orders(kafka, 1, 2)
        fault.await_used(timeout=120)
        place_orders(kafka, 3)
        assert paid(kafka, 3) == ["order-1", "order-2", "order-3"]


def test_the_service_goes_on_after_the_broker_was_away(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    with RunningService(kafka):
        place_orders(kafka, 1)
        assert paid(kafka, 1) == ["order-1"]
        kafka.restart()
        with kafka.cut():
            pass
        place_orders(kafka, 2)
        assert paid(kafka, 2) == ["order-1", "order-2"]


def test_a_slow_broker_delays_payments_and_loses_none(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    with RunningService(kafka), kafka.slow(0.1, ["Produce", "EndTxn", "TxnOffsetCommit"]):
        place_orders(kafka, 1, 2, 3)
        assert paid(kafka, 3) == ["order-1", "order-2", "order-3"]


def test_a_successor_fences_a_service_that_hangs(kafka: EmbeddedBroker) -> None:
    create_topics(kafka)
    with RunningService(kafka) as old:
        place_orders(kafka, 1)
        assert paid(kafka, 1) == ["order-1"]
        kafka.fail("Produce", "INVALID_PRODUCER_EPOCH", times=None)
        place_orders(kafka, 2)
        assert "fenced" in str(old.await_failure()).lower() or "epoch" in str(old.failure).lower()
    kafka.heal()
    with RunningService(kafka):
        assert paid(kafka, 2) == ["order-1", "order-2"]


def test_orders_are_paid_while_a_broker_of_three_is_down(kafka_cluster: EmbeddedCluster) -> None:
    create_topics(kafka_cluster)
    for number, broker in enumerate(kafka_cluster.brokers):
        kafka_cluster.stop(broker)
        place_orders(kafka_cluster, number)
        # A new service each time: librdkafka does not look for the group's coordinator again when
        # that broker leaves between two transactions, and waits for its timeout.
        with RunningService(kafka_cluster):
            assert paid(kafka_cluster, number + 1) == [f"order-{each}" for each in range(number + 1)]
        kafka_cluster.start(broker)
