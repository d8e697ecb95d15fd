"""When clients may ask and push, and when they are forgotten."""

from __future__ import annotations

import pytest

from barnabas.client_metrics.core.client_instances import SILENT_MS_MIN, ClientInstances, Pushed
from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.subscription import Requested
from barnabas.model.errors import ErrorCode
from tests.unit.client_metrics.core.made import INTERVAL_MS, client, instance_id, subscription

THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED
BYTES_MAX = 1000


class Broker:
    """The instances, and a clock."""

    def __init__(self, instances_max: int = 100) -> None:
        self.instances = ClientInstances(push_bytes_max=BYTES_MAX, instances_max=instances_max)
        self.instances.replace_subscriptions([subscription()])
        self.now_ms = 1_000_000
        self.ids: dict[ClientLabels, int] = {}

    def ask(self, labels: ClientLabels, connection: str = "connection") -> ErrorCode:
        found = self.instances.ask(labels, connection, self.now_ms)
        if isinstance(found, Requested):
            self.ids[labels] = found.subscription_id
            return ErrorCode.NONE
        return found

    def push(
        self, labels: ClientLabels, *, wrong_by: int = 0, last: bool = False, codec: int = 4, size_bytes: int = 10, connection: str = "c"
    ) -> ErrorCode:
        pushed = Pushed(self.ids.get(labels, 0) + wrong_by, last, codec, size_bytes)
        found = self.instances.push(labels, connection, pushed, self.now_ms)
        return found if isinstance(found, ErrorCode) else ErrorCode.NONE


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_a_client_that_asks_again_within_its_interval_is_throttled(broker: Broker) -> None:
    assert broker.ask(client()) == ErrorCode.NONE
    broker.now_ms += INTERVAL_MS - 1
    assert broker.ask(client()) == THROTTLED
    broker.now_ms += 1
    assert broker.ask(client()) == ErrorCode.NONE


def test_the_first_push_after_asking_may_come_at_any_time_and_the_next_after_an_interval(broker: Broker) -> None:
    broker.ask(client())
    assert broker.push(client()) == ErrorCode.NONE
    broker.now_ms += INTERVAL_MS - 1
    assert broker.push(client()) == THROTTLED
    broker.now_ms += 1
    assert broker.push(client()) == ErrorCode.NONE


def test_a_push_delays_the_next_question(broker: Broker) -> None:
    broker.ask(client())
    broker.now_ms += INTERVAL_MS
    broker.push(client())
    assert broker.ask(client()) == THROTTLED


def test_a_refusal_because_of_the_subscription_lets_the_client_ask_at_once(broker: Broker) -> None:
    refusals = ((1, 4, ErrorCode.UNKNOWN_SUBSCRIPTION_ID), (0, 7, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE))
    for number, (wrong_by, codec, error) in enumerate(refusals, 100):
        labels = client(number)
        broker.ask(labels)
        assert broker.push(labels, wrong_by=wrong_by, codec=codec) == error
        assert broker.ask(labels) == ErrorCode.NONE


def test_a_refusal_because_of_the_size_does_not(broker: Broker) -> None:
    broker.ask(client())
    assert broker.push(client(), size_bytes=BYTES_MAX + 1) == ErrorCode.TELEMETRY_TOO_LARGE
    assert broker.ask(client()) == THROTTLED


def test_new_subscriptions_let_every_client_ask_at_once_and_refuse_old_ids(broker: Broker) -> None:
    broker.ask(client())
    broker.instances.replace_subscriptions([subscription(metrics="a")])
    assert broker.push(client()) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert broker.ask(client()) == ErrorCode.NONE
    assert broker.push(client()) == THROTTLED, "the refused push was in time"


def test_the_last_push_may_be_early_and_ends_the_pushes(broker: Broker) -> None:
    broker.ask(client())
    broker.push(client())
    assert broker.push(client(), last=True) == ErrorCode.NONE
    assert broker.push(client(), last=True) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("number", [0, 1], ids=["zero", "reserved"])
def test_a_push_without_an_id_makes_no_instance(broker: Broker, number: int) -> None:
    assert broker.push(client(number)) == ErrorCode.INVALID_REQUEST
    assert len(broker.instances) == 0


def test_a_silent_instance_is_forgotten_after_three_intervals_or_a_minute(broker: Broker) -> None:
    broker.ask(client(100))
    broker.instances.replace_subscriptions([subscription(interval_ms=60_000)])
    broker.ask(client(101))
    broker.instances.expire(broker.now_ms + SILENT_MS_MIN - 1)
    assert len(broker.instances) == 2
    broker.instances.expire(broker.now_ms + SILENT_MS_MIN)
    assert instance_id(100) not in broker.instances
    broker.instances.expire(broker.now_ms + 180_000)
    assert len(broker.instances) == 0


def test_an_instance_is_forgotten_with_the_connection_of_its_first_request(broker: Broker) -> None:
    broker.ask(client(), "first")
    broker.push(client(), connection="second")
    broker.instances.disconnected("second")
    assert len(broker.instances) == 1
    broker.instances.disconnected("first")
    assert len(broker.instances) == 0
    broker.instances.disconnected("never seen")


def test_of_too_many_instances_those_heard_last_stay() -> None:
    broker = Broker(instances_max=3)
    for number in (100, 101, 102, 100, 103):
        broker.ask(client(number))
    assert [number for number in range(100, 104) if instance_id(number) in broker.instances] == [100, 102, 103]


def test_the_labels_of_the_first_request_decide_which_subscriptions_match(broker: Broker) -> None:
    broker.instances.replace_subscriptions([subscription(match="client_source_port=40100")])
    broker.ask(client(100))
    before = broker.ids[client(100)]
    broker.instances.replace_subscriptions([subscription(match="client_source_port=40100")])
    moved = ClientLabels(instance_id(100), "a-client", "x", "y", "10.0.0.1", 50_000)
    assert broker.ask(moved) == ErrorCode.NONE
    assert broker.ids[moved] == before
