"""A node gets thousands of partitions at once on a machine without a free core, and continues to
serve.

It is its own controller, so work that blocks the loop or the disk also delays its own heartbeats.
It must never fence itself, which the metadata log would show. After kill -9 it finds everything
again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

import pytest

from barnabas.env.real_disk import RealDisk
from barnabas.metadata.cluster import FENCE
from barnabas.model.errors import ErrorCode
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.storage.log_settings import LogSettings
from barnabas.testing import EmbeddedBroker, node_child, node_thread
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.metadata_records import BrokerRegistrationChangeRecord, FenceBrokerRecord
from tests.cluster.starvation import busy_neighbours
from tests.scenarios.client import Client
from tests.waiting import LONG_PATIENCE_SECONDS, until

WATCH_SECONDS = 0.25


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for runner in (node_child, node_thread):
        monkeypatch.setattr(runner, "START_SECONDS_MAX", LONG_PATIENCE_SECONDS)
        monkeypatch.setattr(runner, "STOP_SECONDS_MAX", LONG_PATIENCE_SECONDS)


def create(
    bootstrap: str, names: Sequence[str], partitions: int, *, timeout_ms: int = int(LONG_PATIENCE_SECONDS * 1000)
) -> set[tuple[int, str | None]]:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]) for name in names]
    with Client(bootstrap, timeout=LONG_PATIENCE_SECONDS) as client:
        answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms))
    return {(topic.error_code, topic.error_message) for topic in answer.topics}


def partitions_of(bootstrap: str) -> dict[str, int]:
    """By topic, how many of its partitions have a leader."""
    with Client(bootstrap, timeout=LONG_PATIENCE_SECONDS) as client:
        answer = client.ask(MetadataRequest(topics=None))
    return {topic.name: sum(each.leader_id == 1 for each in topic.partitions) for topic in answer.topics}


def fenced(directory: Path) -> int:
    """How often the node, which is stopped now, fenced itself."""
    log = MetadataLog(RealDisk(), str(directory), LogSettings(), clean=False, now_ms=0)
    records = [record for batch in log.batches(log.start_offset, log.end_offset) for record in batch.records]
    log.abandon()
    return sum(
        isinstance(each, FenceBrokerRecord) or (isinstance(each, BrokerRegistrationChangeRecord) and each.fenced == FENCE)
        for each in records
    )


class Onlooker:
    """Asks all the time which brokers are in the cluster."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.seen: list[int] = []

    def _look(self) -> None:
        with Client(self._bootstrap, timeout=LONG_PATIENCE_SECONDS) as client:
            while not self._over.wait(WATCH_SECONDS):
                self.seen.append(len(client.ask(MetadataRequest(topics=[])).brokers))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def check(directory: Path, batches: Sequence[Sequence[str]], partitions: int, *, clean_stop_too: bool = False) -> None:
    """Each of ``batches`` is one request, and all are sent at once."""
    expected = {name: partitions for names in batches for name in names}
    first, last = batches[0][0], batches[-1][-1]
    with busy_neighbours():
        broker = EmbeddedBroker(process=True, data_dir=directory).start()
        try:
            with Onlooker(broker.bootstrap) as onlooker, ThreadPoolExecutor(len(batches)) as clients:
                answers = list(clients.map(lambda names: create(broker.bootstrap, names, partitions), batches))
            assert answers == [{(ErrorCode.NONE, None)}] * len(batches)
            assert set(onlooker.seen) == {1}, "the broker was gone for a while"
            assert partitions_of(broker.bootstrap) == expected
            with Client(broker.bootstrap, timeout=LONG_PATIENCE_SECONDS) as client:
                for name in (first, last):
                    client.produce(name, [b"before"], partition=partitions - 1)
            broker.kill()
            assert fenced(directory) == 0
            broker.start()
            # A topic has a leader only once the restarted node has published its own return.
            until(
                lambda: partitions_of(broker.bootstrap) == expected, "every partition has a leader again", seconds_max=LONG_PATIENCE_SECONDS
            )
            with Client(broker.bootstrap, timeout=LONG_PATIENCE_SECONDS) as client:
                for name in (first, last):
                    client.produce(name, [b"after"], partition=partitions - 1)
                    assert client.values(name, partitions - 1) == [b"before", b"after"]
            if clean_stop_too:
                broker.stop()
                assert fenced(directory) == 1, "a clean stop fences once, and nothing else does"
                broker.start()
                until(
                    lambda: partitions_of(broker.bootstrap) == expected,
                    "every partition has a leader again",
                    seconds_max=LONG_PATIENCE_SECONDS,
                )
        finally:
            broker.close()


def test_two_topics_of_a_thousand_partitions_are_created_at_once_and_the_node_never_fences_itself(tmp_path: Path) -> None:
    check(tmp_path, [[f"t{number}"] for number in range(2)], 1000)


@pytest.mark.soak
def test_twenty_topics_of_a_thousand_partitions_are_created_at_once_and_the_node_never_fences_itself(tmp_path: Path) -> None:
    check(tmp_path, [[f"t{number}"] for number in range(20)], 1000, clean_stop_too=True)


@pytest.mark.soak
def test_twenty_thousand_topics_are_created_and_found_again(tmp_path: Path) -> None:
    check(tmp_path, [[f"t{batch}.{number}" for number in range(500)] for batch in range(40)], 1, clean_stop_too=True)


def test_a_creation_that_takes_longer_than_its_client_waits_is_answered_in_time_and_happens_all_the_same(tmp_path: Path) -> None:
    with EmbeddedBroker(process=True, data_dir=tmp_path) as broker:
        answers = create(broker.bootstrap, ["late"], 500, timeout_ms=1)
        assert {code for code, _ in answers} == {ErrorCode.REQUEST_TIMED_OUT}
        until(lambda: partitions_of(broker.bootstrap) == {"late": 500}, "the topic is created", seconds_max=LONG_PATIENCE_SECONDS)
