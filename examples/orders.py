"""Orders from several shops become receipts, exactly once, while a broker is killed.

Three brokers run as three processes, with three replicas of every partition. The killed broker
leads partitions and is also the active controller: the others elect a new controller and new
leaders, and all clients continue meanwhile. Shops are idempotent producers. Tills are members of
one consumer group; each writes its receipts and its group's position in one transaction, so a
receipt exists exactly once no matter which process dies. Run it with ``python
examples/orders.py``. It needs nothing but Barnabas: the brokers are child processes on free ports,
the clients are librdkafka.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from rich.console import Console
from rich.table import Table

from barnabas.devcluster.development_cluster import DevelopmentCluster

ORDERS, RECEIPTS = "orders", "receipts"
BROKERS = 3
REPLICAS = 3
MIN_ISR = "2"  # An order is acknowledged when two brokers have it, so one of them may die.
PARTITIONS = 6
SHOPS = 3
TILLS = 2
ORDERS_EACH = 20_000
# Slow enough that shops are still at work when the cluster has recovered from its loss.
ORDERS_PER_RUSH = 100
SECONDS_BETWEEN_RUSHES = 0.08
ORDERS_AT_ONCE = 1000
TRANSACTION_SECONDS_MAX = 30.0
PRODUCTS = ("espresso", "flat white", "cold brew", "croissant", "cardamom bun")

console = Console()


def send_orders(bootstrap: str, shop: int, acknowledged: list[int]) -> None:
    """One shop: an idempotent producer that keeps going while a broker is away."""
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
        if number % ORDERS_PER_RUSH == 0:
            time.sleep(SECONDS_BETWEEN_RUSHES)
    producer.flush()


def ring_up(bootstrap: str, till: int, closing: threading.Event) -> None:
    """One till: from orders to receipts, exactly once. After a failed transaction it reads the same
    orders again."""
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
    """Aborts the transaction if possible; otherwise a new producer with the same id fences the old
    one."""
    try:
        if failure.args[0].txn_requires_abort():
            producer.abort_transaction(TRANSACTION_SECONDS_MAX)
            return producer
    except KafkaException:
        pass
    return _transactional_producer(bootstrap, till)


def _go_back(consumer: Consumer) -> None:
    """Seeks to the committed offsets of the group."""
    while True:
        try:
            for partition in consumer.committed(consumer.assignment(), timeout=5.0):
                consumer.seek(TopicPartition(partition.topic, partition.partition, max(partition.offset, 0)))
            return
        except KafkaException:
            time.sleep(0.1)


def count_receipts(bootstrap: str) -> tuple[Counter[str], Counter[str], int, Counter[int]]:
    """Reads the committed receipts from the beginning.

    Returns orders and cents by product, the number of receipts that came twice or out of order,
    and the receipts by till.
    """
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
    """The number of orders that the tills have committed together."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "tills", "log_level": 0})
    committed = consumer.committed([TopicPartition(ORDERS, index) for index in range(PARTITIONS)], timeout=10.0)
    consumer.close()
    return sum(max(partition.offset, 0) for partition in committed)


def acting_controller(bootstrap: str) -> int:
    """The broker that is the active controller as well; losing it costs the most."""
    quorum = subprocess.run(
        [sys.executable, "-m", "barnabas", "quorum", "describe", "--json", "--bootstrap", bootstrap], capture_output=True, check=True
    )
    leader: int = json.loads(quorum.stdout)["leader"]
    return leader


def leaders(admin: AdminClient) -> Counter[int]:
    """The number of partitions that each broker leads; -1 stands for those without a leader."""
    topics = admin.list_topics(timeout=10.0).topics
    return Counter(partition.leader for name in (ORDERS, RECEIPTS) for partition in topics[name].partitions.values())


def await_leaders(admin: AdminClient, *, without: int) -> None:
    while True:
        try:
            if not {without, -1} & set(leaders(admin)):
                return
        except KafkaException:
            pass  # The request went to the broker that is gone.
        time.sleep(0.1)


def await_progress(acknowledged: list[int]) -> None:
    """Waits until every shop that is not done has another order acknowledged."""
    before = list(acknowledged)
    while any(now == then < ORDERS_EACH for now, then in zip(acknowledged, before, strict=True)):
        time.sleep(0.01)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="barnabas-demo-") as directory:
        cluster = DevelopmentCluster(BROKERS, data_dir=Path(directory), on_line=lambda _: None)
        try:
            demonstrate(cluster)
        finally:
            cluster.kill()


def demonstrate(cluster: DevelopmentCluster) -> None:
    began = time.perf_counter()
    cluster.start()
    bootstrap = cluster.bootstrap
    console.print(f"[bold]cluster[/] of {BROKERS} brokers ready at {bootstrap} in {(time.perf_counter() - began) * 1000:.0f} ms")
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [NewTopic(name, PARTITIONS, REPLICAS, config={"min.insync.replicas": MIN_ISR}) for name in (ORDERS, RECEIPTS)]
    for made in admin.create_topics(topics).values():
        made.result()
    console.print(f"[bold]topics[/] {ORDERS} and {RECEIPTS} with {PARTITIONS} partitions each, {REPLICAS} replicas of every one")

    victim = acting_controller(bootstrap)

    acknowledged, closing = [0] * SHOPS, threading.Event()
    shops = [threading.Thread(target=send_orders, args=(bootstrap, shop, acknowledged)) for shop in range(SHOPS)]
    tills = [threading.Thread(target=ring_up, args=(bootstrap, till, closing)) for till in range(TILLS)]
    for thread in (*shops, *tills):
        thread.start()
    while sum(acknowledged) < SHOPS * ORDERS_EACH // 4:
        time.sleep(0.01)
    led = leaders(admin)[victim]
    cluster.kill_node(victim)
    killed = time.perf_counter()
    console.print(
        f"[bold red]kill -9[/] of broker {victim}, the active controller and leader of {led} partitions, after {sum(acknowledged):,} "
        f"acknowledged orders, while {SHOPS} shops and {TILLS} tills are at work"
    )
    await_leaders(admin, without=victim)
    shares = ", ".join(f"{count} partitions by broker {broker}" for broker, count in sorted(leaders(admin).items()))
    console.print(
        f"[bold]failover[/] in {time.perf_counter() - killed:.1f} s: broker "
        f"{acting_controller(bootstrap)} is the controller, and led are {shares}"
    )
    await_progress(acknowledged)
    console.print(
        f"[bold]working[/] on two brokers, {sum(acknowledged):,} orders acknowledged {time.perf_counter() - killed:.1f} s after the kill"
    )
    cluster.start_node(victim)
    restarted = time.perf_counter()
    cluster.await_node(victim)
    console.print(f"[bold]broker {victim}[/] back in {(time.perf_counter() - restarted) * 1000:.0f} ms, and catches up")
    for thread in shops:
        thread.join()
    console.print(f"[bold]sent[/] {sum(acknowledged):,} orders, all acknowledged")
    while rung_up(bootstrap) < SHOPS * ORDERS_EACH:
        time.sleep(0.2)
    closing.set()
    for thread in tills:
        thread.join()

    orders, cents, misplaced, by_till = count_receipts(bootstrap)
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
