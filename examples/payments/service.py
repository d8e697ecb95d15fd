"""Reads orders, charges them, writes payments: exactly one payment for each order.

Payments and the offsets of their orders are committed in one transaction. When it cannot be
committed, it is aborted and its orders are read again, so ``charge`` may be called twice for an
order. It gets the order's id as an idempotency key, as payment providers ask for.

An order that cannot be read, and one that the provider declines, goes to a topic for people to look
at. Any other error of the provider ends the service: orders must not be lost because the provider
is down.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from examples.payments.order import InvalidOrder, Order, Payment

ORDERS, PAYMENTS, REJECTED = "orders", "payments", "orders-rejected"
GROUP = "payments"
# Small, so that little is repeated after an abort; large enough that commits do not dominate.
ORDERS_PER_TRANSACTION = 100
POLL_SECONDS = 0.1
# Longer than a broker needs to be replaced as leader.
TRANSACTION_SECONDS_MAX = 60.0


class Declined(Exception):
    """The provider refuses the charge for good."""


# Charges an amount; returns a receipt. The same order charged twice is charged once.
Charge = Callable[[Order], str]


class PaymentService:
    def __init__(self, bootstrap: str, charge: Charge, *, name: str = "payments-1", client: dict[str, Any] | None = None) -> None:
        """``name`` is the transactional id. A service that starts with the name of another one
        fences it, so that a service that hangs cannot commit after its successor has begun."""
        common = {"bootstrap.servers": bootstrap, **(client or {})}
        self._charge = charge
        self._producer = Producer({**common, "transactional.id": name})
        self._consumer = Consumer(
            {**common, "group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False, "isolation.level": "read_committed"}
        )
        self.transactions_aborted = 0

    def run(self, stop: threading.Event) -> None:
        """Serve until ``stop`` is set. Raises ``KafkaException`` when the service cannot go on, for
        example because its successor has fenced it."""
        self._producer.init_transactions(TRANSACTION_SECONDS_MAX)
        self._consumer.subscribe([ORDERS])
        try:
            while not stop.is_set():
                records = [each for each in self._consumer.consume(ORDERS_PER_TRANSACTION, POLL_SECONDS) if _is_record(each)]
                if records:
                    self._handle(records)
        finally:
            self._consumer.close()

    def _handle(self, records: list[Message]) -> None:
        self._producer.begin_transaction()
        try:
            for record in records:
                self._produce_outcome(record)
            metadata = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(_offsets_after(records), metadata, TRANSACTION_SECONDS_MAX)
            self._commit()
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
            self._abort(records)

    def _produce_outcome(self, record: Message) -> None:
        try:
            order = Order.from_json(record.value())
            payment = Payment(order.order_id, order.cents, self._charge(order))
        except (InvalidOrder, Declined) as reason:
            self._producer.produce(REJECTED, record.value(), key=record.key(), headers={"reason": str(reason)})
        else:
            self._producer.produce(PAYMENTS, payment.to_json(), key=order.order_id)

    def _commit(self) -> None:
        while True:
            try:
                self._producer.commit_transaction(TRANSACTION_SECONDS_MAX)
                return
            except KafkaException as failure:
                # The outcome is unknown; committing again finds it out.
                if not failure.args[0].retriable():
                    raise

    def _abort(self, records: list[Message]) -> None:
        """Begin again where the transaction began."""
        self._producer.abort_transaction(TRANSACTION_SECONDS_MAX)
        self.transactions_aborted += 1
        for partition in _offsets_before(records):
            self._consumer.seek(partition)


def _is_record(message: Message) -> bool:
    """Errors of the consumer pass by themselves, except for fatal ones."""
    error: KafkaError | None = message.error()
    if error is not None and error.fatal():
        raise KafkaException(error)
    return error is None


def _offsets_after(records: list[Message]) -> list[TopicPartition]:
    last = dict(map(_place, records))
    return [TopicPartition(ORDERS, partition, offset + 1) for partition, offset in last.items()]


def _offsets_before(records: list[Message]) -> list[TopicPartition]:
    first = dict(map(_place, reversed(records)))
    return [TopicPartition(ORDERS, partition, offset) for partition, offset in first.items()]


def _place(record: Message) -> tuple[int, int]:
    partition, offset = record.partition(), record.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset
