"""The lag of groups: timestamps in batches, and partitions whose leader is another broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.node.group_lag import FETCHES_MAX, GROUP_CHARACTERS_MAX, GroupLag, timestamp_in
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import Record
from barnabas.telemetry.catalogue import GROUP_LAG_RECORDS, GROUP_LAG_SECONDS, GROUP_LAG_UNKNOWN
from barnabas.telemetry.metrics import Metrics, Reading
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.unit import simulated

NOW_MS = 1_000_000
LEADER = 2


def batch(*timestamps: int, codec: Codec = Codec.NONE) -> bytes:
    return bytes(build_batch([Record(offset, timestamp, None, b"x") for offset, timestamp in enumerate(timestamps)], codec=codec))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize(("offset", "timestamp"), [(-5, 100), (0, 100), (1, 250), (2, 200), (3, None)])
def test_the_timestamp_is_that_of_the_first_record_at_or_above_the_offset(codec: Codec, offset: int, timestamp: int | None) -> None:
    assert timestamp_in(batch(100, 250, 200, codec=codec), offset) == timestamp


def test_a_marker_has_no_record() -> None:
    marker = build_end_transaction(ControlType.COMMIT, coordinator_epoch=0, producer_id=1, producer_epoch=0, timestamp=5)
    assert timestamp_in(bytes(marker), 0) is None


class Cluster:
    """Partitions of topic t that another broker leads, and the offsets that groups committed."""

    def __init__(self, ends: dict[int, int], committed: dict[str, dict[int, int]]) -> None:
        self.ends, self.committed, self.answers = ends, committed, True
        self.fetches: list[int] = []
        self.metrics = Metrics()
        topic = SimpleNamespace(topic_id=b"t" * 16)
        topics = SimpleNamespace(partition=lambda each: each.partition in ends or None, by_name={"t": topic})
        machine = SimpleNamespace(offsets=SimpleNamespace(committed=self._committed))
        context: Any = SimpleNamespace(
            metrics=self.metrics, node_id=1, clock=SimpleNamespace(wall_ms=lambda: NOW_MS), log=None, executor=None
        )
        broker: Any = SimpleNamespace(
            metadata=SimpleNamespace(image=SimpleNamespace(topics=topics)),
            groups=SimpleNamespace(runtime=SimpleNamespace(machines=lambda: [machine])),
            replicas=SimpleNamespace(get=lambda *_: None),
            others=SimpleNamespace(leader_of=lambda _: LEADER, send=self._send),
        )
        self.lag = GroupLag(context, broker)

    def _committed(self) -> Any:
        for group, offsets in self.committed.items():
            yield group, {TopicPartition("t", index): SimpleNamespace(offset=offset) for index, offset in offsets.items()}

    def _send(self, broker_id: int, request: Any, *, purpose: str) -> Promise[Any]:
        assert (broker_id, purpose) == (LEADER, "group-lag")
        if not self.answers:
            return Promise.kept(ErrorCode.NETWORK_EXCEPTION)
        if isinstance(request, ListOffsetsRequest):
            found = [
                ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=0, offset=self.ends[each.partition_index])
                for each in request.topics[0].partitions
            ]
            return Promise.kept(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=found)]))
        assert isinstance(request, FetchRequest)
        asked = request.topics[0].partitions[0]
        self.fetches.append(asked.partition)
        records = memoryview(batch(*[NOW_MS - 1000 * (10 - each) for each in range(10)]))
        data = PartitionData(partition_index=asked.partition, error_code=0, high_watermark=10, aborted_transactions=None, records=records)
        return Promise.kept(FetchResponse(throttle_time_ms=0, responses=[FetchableTopicResponse(partitions=[data])]))

    def measure(self) -> None:
        simulated.run(self.lag.measure())

    def read(self, metric: Any) -> list[Reading]:
        return dict(self.metrics.values())[metric]


def test_a_leader_elsewhere_is_asked_for_its_end_and_for_one_batch() -> None:
    cluster = Cluster({0: 10, 1: 10}, {"g": {0: 4, 1: 10}})
    cluster.measure()
    assert cluster.read(GROUP_LAG_RECORDS) == [(("g", "t", "0"), 6), (("g", "t", "1"), 0)]
    assert cluster.read(GROUP_LAG_SECONDS) == [(("g", "t", "0"), 6.0), (("g", "t", "1"), 0.0)]
    assert cluster.fetches == [0]


def test_a_group_that_is_stuck_is_looked_up_once() -> None:
    cluster = Cluster({0: 10}, {"g": {0: 4}})
    cluster.measure()
    cluster.measure()
    assert cluster.fetches == [0]
    cluster.committed["g"][0] = 5
    cluster.measure()
    assert cluster.fetches == [0, 0]
    assert cluster.read(GROUP_LAG_SECONDS) == [(("g", "t", "0"), 5.0)]


def test_partitions_of_a_leader_that_does_not_answer_are_counted_as_unknown() -> None:
    cluster = Cluster({0: 10, 1: 10}, {"g": {0: 4, 1: 4}})
    cluster.answers = False
    cluster.measure()
    assert cluster.read(GROUP_LAG_RECORDS) == []
    assert cluster.read(GROUP_LAG_UNKNOWN) == [((), 2)]


def test_a_round_fetches_a_bounded_number_of_batches_and_later_rounds_the_rest() -> None:
    many = FETCHES_MAX + 7
    cluster = Cluster(dict.fromkeys(range(many), 10), {"g": dict.fromkeys(range(many), 4)})
    cluster.measure()
    assert len(cluster.read(GROUP_LAG_RECORDS)) == many
    assert len(cluster.read(GROUP_LAG_SECONDS)) == FETCHES_MAX
    cluster.measure()
    assert len(cluster.read(GROUP_LAG_SECONDS)) == many


def test_groups_with_names_that_would_fill_the_page_are_only_counted() -> None:
    cluster = Cluster({0: 10}, {"g" * (GROUP_CHARACTERS_MAX + 1): {0: 4}, "g" * GROUP_CHARACTERS_MAX: {0: 4}})
    cluster.measure()
    assert len(cluster.read(GROUP_LAG_RECORDS)) == 1
    assert cluster.read(GROUP_LAG_UNKNOWN) == [((), 1)]


def test_offsets_of_topics_that_are_gone_have_no_lag() -> None:
    cluster = Cluster({0: 10}, {"g": {0: 4, 7: 4}})
    cluster.measure()
    assert [labels for labels, _ in cluster.read(GROUP_LAG_RECORDS)] == [("g", "t", "0")]
    assert cluster.read(GROUP_LAG_UNKNOWN) == [((), 0)]
