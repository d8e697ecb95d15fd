"""Pictures of the console for the README and the documentation: ``make screenshots``.

A broker with some topics, records and groups runs in this process, and Debian's Chromium draws the
pages. Names, keys and values are always the same; times and sizes differ from run to run.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from playwright.sync_api import sync_playwright

from barnabas.console.process import console_server, listen
from barnabas.console.services import Services
from barnabas.console.settings import ClusterSettings, ConsoleSettings
from barnabas.telemetry.logs import EventLog
from barnabas.testing import EmbeddedCluster

FOLDER: Final = Path(__file__).parents[1] / "docs" / "assets" / "console"
# A line for each picture: its name and the address of its page.
PAGES: Final = {
    "clusters": "/clusters",
    "topics": "/clusters/shop/topics",
    "records": "/clusters/shop/topics/orders/records?begin=oldest&filter=.amount+%3E+100&size=8",
    "groups": "/clusters/shop/groups",
    "record": "/clusters/shop/topics/orders/records/0/0",
}
_TOPICS: Final = {"orders": 3, "payments": 6, "customers": 1, "shipments": 3, "clicks": 12, "audit.events": 1}


def main() -> None:
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        sys.exit("Chromium is missing: make chromium installs it when root runs it.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with EmbeddedCluster(brokers=3) as shop, EmbeddedCluster(brokers=1) as staging:
        _fill(shop)
        staging.create_topic("orders")
        clusters = (
            ClusterSettings("shop", shop.bootstrap, production=True, colour="red"),
            ClusterSettings("staging", staging.bootstrap, colour="green"),
        )
        with _console(clusters) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_context(base_url=url, viewport={"width": 1200, "height": 750}).new_page()
            for name, address in PAGES.items():
                page.goto(address)
                page.screenshot(path=FOLDER / f"{name}.png")
            browser.close()


def _fill(cluster: EmbeddedCluster) -> None:
    chance = random.Random(7)
    for name, partitions in _TOPICS.items():
        cluster.create_topic(name, partitions=partitions)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "partitioner": "murmur2_random"})
    for number in range(300):
        customer = f"customer-{chance.randrange(40)}"
        order = {"order": 1000 + number, "customer": customer, "amount": round(chance.uniform(5, 250), 2), "currency": "EUR"}
        producer.produce("orders", json.dumps(order), customer, headers=[("source", b"shop"), ("trace", f"{number:08x}".encode())])
        producer.produce("payments", json.dumps({"order": 1000 + number, "state": "paid"}), str(1000 + number))
        producer.produce("clicks", f"GET /products/{chance.randrange(90)}", customer)
    producer.flush()
    for group, share in (("billing", 1.0), ("warehouse", 0.7), ("reports", 0.2)):
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
        ends = [consumer.get_watermark_offsets(TopicPartition("orders", each))[1] for each in range(3)]
        consumer.commit(offsets=[TopicPartition("orders", each, int(end * share)) for each, end in enumerate(ends)], asynchronous=False)
        consumer.close()


@contextmanager
def _console(clusters: tuple[ClusterSettings, ...]) -> Iterator[str]:
    listening = listen("127.0.0.1", 0)
    services = Services(ConsoleSettings(clusters, port=listening.getsockname()[1]), EventLog("FATAL"))
    server = console_server(services)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        services.close()
        listening.close()


if __name__ == "__main__":
    main()
