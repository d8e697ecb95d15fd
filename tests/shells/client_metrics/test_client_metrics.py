"""The door for handlers: pushes are opened on a thread, and too many of them are put off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.client_metrics.client_metrics import PUSHES_WAITING_MAX, ClientMetrics
from barnabas.client_metrics.core.client_instances import Pushed
from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.subscription import Requested
from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.model.promise import Promise
from barnabas.records.compression import Codec, compress
from barnabas.telemetry.metrics import Metrics
from tests.otlp import gauge, metrics_data
from tests.unit.client_metrics.core.made import client, subscription
from tests.waiting import until_async

PUSH = metrics_data(gauge("org.apache.kafka.g", 7.0)).SerializeToString()


class Connection:
    def __init__(self) -> None:
        self.callbacks: list[Callable[[], object]] = []

    def if_lost(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)

    def lose(self) -> None:
        for callback in self.callbacks:
            callback()


class Door:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.door = ClientMetrics(SystemClock(), SystemEntropy(), self.metrics, node_id=NodeId(1), push_bytes_max=1_000_000)
        self.door.replace_subscriptions([subscription()])
        self.connection = Connection()

    def push(self, labels: ClientLabels, data: bytes = PUSH, codec: Codec = Codec.NONE) -> ErrorCode | Promise[ErrorCode]:
        requested = self.door.ask(labels, self.connection)
        assert isinstance(requested, Requested)
        return self.door.push(labels, self.connection, Pushed(requested.subscription_id, False, codec, len(data)), data)

    def shown(self) -> dict[str, float]:
        return {family.name: value for read in self.metrics.families for family in read() for _, value in family.samples}

    def gauges(self) -> dict[str, float]:
        return {metric.name: readings[0][1] for metric, readings in self.metrics.values() if readings}


def test_a_push_is_on_the_page_when_it_is_answered() -> None:
    async def scenario() -> None:
        made = Door()
        answer = made.push(client(), compress(Codec.ZSTD, PUSH), Codec.ZSTD)
        assert isinstance(answer, Promise)
        await until_async(lambda: answer.done, "the push is opened")
        assert answer.value is ErrorCode.NONE
        assert made.shown() == {"org_apache_kafka_g": 7.0}
        assert made.gauges()["barnabas_client_metrics_series"] == 1
        made.door.stop()

    asyncio.run(scenario())


def test_a_client_whose_push_cannot_be_read_gets_invalid_record_and_the_next_client_is_served() -> None:
    async def scenario() -> None:
        made = Door()
        answers = [made.push(client(100), b"\x00"), made.push(client(101))]
        await until_async(lambda: all(isinstance(each, Promise) and each.done for each in answers), "both are answered")
        assert [each.value for each in answers if isinstance(each, Promise)] == [ErrorCode.INVALID_RECORD, ErrorCode.NONE]
        made.door.stop()

    asyncio.run(scenario())


def test_pushes_beyond_those_that_may_wait_are_throttled() -> None:
    async def scenario() -> None:
        made = Door()
        answers = [made.push(client(100 + number)) for number in range(PUSHES_WAITING_MAX + 1)]
        assert answers[-1] is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        await until_async(lambda: all(isinstance(each, ErrorCode) or each.done for each in answers), "the others are answered")
        assert isinstance(made.push(client(1000)), Promise)
        made.door.stop()

    asyncio.run(scenario())


def test_a_lost_connection_forgets_its_client_and_its_series_stay_for_the_last_scrape() -> None:
    async def scenario() -> None:
        made = Door()
        answer = made.push(client())
        assert isinstance(answer, Promise)
        await until_async(lambda: answer.done, "the push is opened")
        assert len(made.connection.callbacks) == 1, "once for both requests"
        made.connection.lose()
        assert made.gauges()["barnabas_client_metrics_instances"] == 0
        assert made.shown() == {"org_apache_kafka_g": 7.0}
        made.door.stop()

    asyncio.run(scenario())
