"""One node for all groups, in a process of its own; topics, groups and members created for a
test.
"""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from tests.conformance.clients.conftest import OLD_WAY
from tests.conformance.groups.members import QUIET, SESSION_MS, Member
from tests.waiting import PATIENCE_SECONDS

# Kafka's waits, shortened: they bound how long a test about a crash must last. Such a test shortens
# sessions itself.
QUICK = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(OLD_WAY))
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Collects the sockets that kafka-python forgot here, and not in the next test, which would
    fail with a warning."""
    if "restart" in nodeid:
        gc.collect()


@pytest.fixture(scope="package")
def node() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(process=True, config=QUICK) as running:
        yield running
        # Nothing that the members did made the node log a complaint.
        assert running.complaints == ""


@pytest.fixture(scope="package")
def bootstrap(node: EmbeddedBroker) -> str:
    return node.bootstrap


@pytest.fixture(scope="package")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


_numbers = count()


@pytest.fixture
def group() -> str:
    return f"group-{next(_numbers)}"


MakeTopic = Callable[..., str]


@pytest.fixture
def make_topic(admin: AdminClient) -> MakeTopic:
    """``make_topic(partitions)`` creates a topic with a name of its own."""

    def make(partitions: int = 1, *, prefix: str = "topic") -> str:
        return create(admin, f"{prefix}-{next(_numbers)}", partitions)

    return make


def create(admin: AdminClient, name: str, partitions: int = 1) -> str:
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_SECONDS)
    return name


def configure_group(bootstrap: str, group: str, settings: dict[str, str]) -> None:
    """Settings of a group of the new protocol; a classic member sends its own."""
    # The import is here, because the first import of kafka-python warns.
    from kafka import KafkaAdminClient
    from kafka.admin import ConfigResource, ConfigResourceType

    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, group, configs=settings)])
    admin.close()


@cache
def _producer(bootstrap: str) -> Producer:
    """One producer for all tests, because a librdkafka producer needs half a second until it
    sends."""
    return Producer({**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 0, "reconnect.backoff.max.ms": 200})


def fill(bootstrap: str, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    producer = _producer(bootstrap)
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(PATIENCE_SECONDS) == 0, "not everything was delivered"


def numbered(first: int, behind: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, behind)]


Join = Callable[..., Any]


@pytest.fixture
def join(bootstrap: str) -> Iterator[Join]:
    """``join(kind, group, topics, ...)`` starts a member, which leaves at the end of the test at
    the latest."""
    members: list[Member] = []

    def make(kind: type[Member], group: str, topics: Sequence[str] | str, **options: Any) -> Member:
        members.append(kind(bootstrap, group, topics, **options))
        return members[-1]

    yield make
    for member in members:
        member._leaving.set()
    for member in members:
        member.leave()


class MemberProcess:
    """A member that can be killed."""

    def __init__(self, kind: type[Member], bootstrap: str, group: str, topic: str, **options: Any) -> None:
        module = "tests.conformance.groups.member_process"
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", module, kind.client, bootstrap, group, topic, json.dumps(options)],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.partitions: set[int] = set()
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE_SECONDS)
        self._listening.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.partitions = set(json.loads(line))


@pytest.fixture
def join_apart(bootstrap: str) -> Iterator[Callable[..., MemberProcess]]:
    """Like ``join``, in a process of its own."""
    processes: list[MemberProcess] = []

    def make(kind: type[Member], group: str, topic: str, **options: Any) -> MemberProcess:
        processes.append(MemberProcess(kind, bootstrap, group, topic, **options))
        return processes[-1]

    yield make
    for process in processes:
        if process._process.poll() is None:
            process.kill()
