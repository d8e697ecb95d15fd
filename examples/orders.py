"""The demo: a broker, events from several producers, the broker killed in the middle, and every event counted once.

Run it with ``make demo``. It needs nothing but Barnabas: the broker is a child process on a free port, the clients are librdkafka.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from rich.console import Console
from rich.table import Table

from barnabas.testing import EmbeddedBroker

TOPIC = "orders"
PARTITIONS = 6
PRODUCERS = 3
ORDERS_EACH = 20_000
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
                producer.produce(TOPIC, key=f"shop-{shop}", value=json.dumps(order), on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.05)
        producer.poll(0)
        if number % 500 == 0:
            time.sleep(0.01)
    producer.flush()


def count_orders(bootstrap: str) -> tuple[Counter[str], Counter[str], int]:
    """Read everything from the beginning: orders and cents by product, and how many came more than once or out of order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "demo", "enable.auto.commit": False, "log_level": 0})
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    ends = {index: consumer.get_watermark_offsets(TopicPartition(TOPIC, index))[1] for index in range(PARTITIONS)}
    orders: Counter[str] = Counter()
    cents: Counter[str] = Counter()
    expected: Counter[int] = Counter()
    misplaced = 0
    while any(ends.values()):
        for message in consumer.consume(5000, timeout=1.0):
            index, offset = message.partition(), message.offset()
            assert index is not None
            assert offset is not None
            order: dict[str, Any] = json.loads(message.value() or b"")
            misplaced += order["number"] != expected[order["shop"]]
            expected[order["shop"]] = order["number"] + 1
            orders[order["product"]] += 1
            cents[order["product"]] += order["cents"]
            if offset + 1 >= ends[index]:
                ends[index] = 0
    consumer.close()
    return orders, cents, misplaced


def main() -> None:
    began = time.perf_counter()
    with EmbeddedBroker(process=True) as broker:
        console.print(f"[bold]broker[/] ready at {broker.bootstrap} in {(time.perf_counter() - began) * 1000:.0f} ms")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        console.print(f"[bold]topic[/] {TOPIC} with {PARTITIONS} partitions")

        acknowledged = [0] * PRODUCERS
        shops = [threading.Thread(target=send_orders, args=(broker.bootstrap, shop, acknowledged)) for shop in range(PRODUCERS)]
        for shop in shops:
            shop.start()
        while sum(acknowledged) < PRODUCERS * ORDERS_EACH // 3:
            time.sleep(0.01)
        broker.kill()
        console.print(f"[bold red]kill -9[/] after {sum(acknowledged):,} acknowledged orders, while {PRODUCERS} producers are sending")
        restarted = time.perf_counter()
        broker.start()
        console.print(f"[bold]broker[/] back in {(time.perf_counter() - restarted) * 1000:.0f} ms, producers go on")
        for shop in shops:
            shop.join()
        console.print(f"[bold]sent[/] {sum(acknowledged):,} orders, all acknowledged")

        orders, cents, misplaced = count_orders(broker.bootstrap)
        table = Table("product", "orders", "revenue", title="orders, read back from the beginning")
        for product, count in orders.most_common():
            table.add_row(product, f"{count:,}", f"{cents[product] / 100:,.2f}")
        console.print(table)
        if sum(orders.values()) != PRODUCERS * ORDERS_EACH or misplaced:
            raise SystemExit(f"expected {PRODUCERS * ORDERS_EACH} orders in order, got {sum(orders.values())}, {misplaced} misplaced")
        console.print(f"[bold green]every order once and in order[/], {time.perf_counter() - began:.1f} s in all")


if __name__ == "__main__":
    main()
