"""The demo: orders from several shops, rung up by tills into receipts, the broker killed in the middle, and every order counted once.

Shops are idempotent producers. Tills are members of one consumer group; each writes its receipts and its group's position in one
transaction, so a receipt exists exactly once whatever dies in between. Run it with ``make demo``. It needs nothing but Barnabas: the
broker is a child process on a free port, the clients are librdkafka.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from rich.console import Console
from rich.table import Table

from barnabas.testing import EmbeddedBroker

ORDERS, RECEIPTS = "orders", "receipts"
PARTITIONS = 6
SHOPS = 3
TILLS = 2
ORDERS_EACH = 20_000
ORDERS_AT_ONCE = 1000
TRANSACTION_SECONDS_MAX = 30.0
PRODUCTS = ("espresso", "flat white", "cold brew", "croissant", "cardamom bun")

console = Console()


def send_orders(bootstrap: str, shop: int, acknowledged: list[int]) -> None:
    """One shop: an idempotent producer that keeps going while the broker is away."""
    chance = random.Random(shop)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0, "retry.backoff.ms": 50}
    )

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is None:
            acknowledged[shop] += 1

    for number in range(ORDERS_EACH):
        order = {"shop": shop, "number": number, "product": chance.choice(PRODUCTS), "cents": chance.randrange(250, 900)}
        while True:
            try:
                producer.produce(ORDERS, json.dumps(order), f"shop-{shop}", shop * PARTITIONS // SHOPS, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.05)
        producer.poll(0)
        if number % 500 == 0:
            time.sleep(0.01)
    producer.flush()


def ring_up(bootstrap: str, till: int, closing: threading.Event) -> None:
    """One till: from orders to receipts, exactly once. What a transaction that failed had read is read again."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tills",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            "log_level": 0,
        }
    )
    consumer.subscribe([ORDERS])
    producer = _transactional_producer(bootstrap, till)
    while not closing.is_set():
        orders = [message for message in consumer.consume(ORDERS_AT_ONCE, timeout=0.2) if message.error() is None]
        if not orders:
            continue
        try:
            producer.begin_transaction()
            for message in orders:
                order: dict[str, Any] = json.loads(message.value() or b"")
                producer.produce(RECEIPTS, key=message.key(), value=json.dumps({**order, "till": till}))
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata())
            producer.commit_transaction(TRANSACTION_SECONDS_MAX)
        except KafkaException as failure:
            producer = _after(failure, producer, bootstrap, till)
            _go_back(consumer)
    consumer.close()


def _transactional_producer(bootstrap: str, till: int) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"till-{till}", "log_level": 0})
    while True:
        try:
            producer.init_transactions(TRANSACTION_SECONDS_MAX)
            return producer
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise


def _after(failure: KafkaException, producer: Producer, bootstrap: str, till: int) -> Producer:
    """Abort what can be aborted; whatever else went wrong, a new producer of the same name fences the old one."""
    try:
        if failure.args[0].txn_requires_abort():
            producer.abort_transaction(TRANSACTION_SECONDS_MAX)
            return producer
    except KafkaException:
        pass
    return _transactional_producer(bootstrap, till)


def _go_back(consumer: Consumer) -> None:
    """To what the group has committed."""
    while True:
        try:
            for partition in consumer.committed(consumer.assignment(), timeout=5.0):
                consumer.seek(TopicPartition(partition.topic, partition.partition, max(partition.offset, 0)))
            return
        except KafkaException:
            time.sleep(0.1)


def count_receipts(bootstrap: str) -> tuple[Counter[str], Counter[str], int, Counter[int]]:
    """Read what is committed from the beginning: orders and cents by product, how many came twice or out of order, and by which till."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "accountant",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(RECEIPTS, index, 0) for index in range(PARTITIONS)])
    orders: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    expected: Counter[int] = Counter()
    tills: Counter[int] = Counter()
    misplaced = 0
    ended: set[int | None] = set()
    while len(ended) < PARTITIONS:
        for message in consumer.consume(5000, timeout=1.0):
            if message.error() is not None:
                ended.add(message.partition())
                continue
            receipt: dict[str, Any] = json.loads(message.value() or b"")
            misplaced += receipt["number"] != expected[receipt["shop"]]
            expected[receipt["shop"]] = receipt["number"] + 1
            orders[receipt["product"]] += 1
            cents[receipt["product"]] += receipt["cents"]
            tills[receipt["till"]] += 1
    consumer.close()
    return orders, cents, misplaced, tills


def rung_up(bootstrap: str) -> int:
    """How far the tills are together."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "tills", "log_level": 0})
    committed = consumer.committed([TopicPartition(ORDERS, index) for index in range(PARTITIONS)], timeout=10.0)
    consumer.close()
    return sum(max(partition.offset, 0) for partition in committed)


def main() -> None:
    began = time.perf_counter()
    with EmbeddedBroker(process=True) as broker:
        console.print(f"[bold]broker[/] ready at {broker.bootstrap} in {(time.perf_counter() - began) * 1000:.0f} ms")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (ORDERS, RECEIPTS)]).values():
            made.result()
        console.print(f"[bold]topics[/] {ORDERS} and {RECEIPTS} with {PARTITIONS} partitions each")

        acknowledged, closing = [0] * SHOPS, threading.Event()
        shops = [threading.Thread(target=send_orders, args=(broker.bootstrap, shop, acknowledged)) for shop in range(SHOPS)]
        tills = [threading.Thread(target=ring_up, args=(broker.bootstrap, till, closing)) for till in range(TILLS)]
        for thread in (*shops, *tills):
            thread.start()
        while sum(acknowledged) < SHOPS * ORDERS_EACH // 3:
            time.sleep(0.01)
        broker.kill()
        console.print(
            f"[bold red]kill -9[/] after {sum(acknowledged):,} acknowledged orders, while {SHOPS} shops and {TILLS} tills are at work"
        )
        restarted = time.perf_counter()
        broker.start()
        console.print(f"[bold]broker[/] back in {(time.perf_counter() - restarted) * 1000:.0f} ms, everybody goes on")
        for thread in shops:
            thread.join()
        console.print(f"[bold]sent[/] {sum(acknowledged):,} orders, all acknowledged")
        while rung_up(broker.bootstrap) < SHOPS * ORDERS_EACH:
            time.sleep(0.2)
        closing.set()
        for thread in tills:
            thread.join()

        orders, cents, misplaced, by_till = count_receipts(broker.bootstrap)
        table = Table("product", "orders", "revenue", title="receipts, read committed from the beginning")
        for product, count in orders.most_common():
            table.add_row(product, f"{count:,}", f"{cents[product] / 100:,.2f}")
        console.print(table)
        console.print("[bold]rung up[/] " + ", ".join(f"{count:,} by till {till}" for till, count in sorted(by_till.items())))
        if sum(orders.values()) != SHOPS * ORDERS_EACH or misplaced:
            raise SystemExit(f"expected {SHOPS * ORDERS_EACH} receipts in order, got {sum(orders.values())}, {misplaced} misplaced")
        console.print(f"[bold green]every order once and in order[/], {time.perf_counter() - began:.1f} s in all")


if __name__ == "__main__":
    main()
