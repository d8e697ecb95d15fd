"""The end of a transaction reaches all its partitions, on any leader, with retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.coordinators.marker_writer import MarkerWriter
from barnabas.coordinators.markers import LocalMarkers
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.state import TransactionState
from barnabas.env.clock import SystemClock
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import decode
from barnabas.wire.headers import read_request_prefix
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from barnabas.wire.metadata_records import RemoveTopicRecord
from tests.unit import simulated
from tests.unit.api.neighbours import HERE, NOBODY, THERE, Neighbours, partition
from tests.unit.coordinators.transaction.desk import SHARD
from tests.unit.metadata.made import uuid
from tests.unit.network.hostile_peer import Visitor, answer, serving
from tests.waiting import until_async

Respond = Callable[[WriteTxnMarkersRequest], WriteTxnMarkersResponse]
# Many times the pause between two tries, on the simulated loop.
LONG_SECONDS = 5


def leading(respond: Respond) -> Callable[[Visitor], Awaitable[None]]:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet({ApiKey.WRITE_TXN_MARKERS: (1, 2)})
        while True:
            frame = await visitor.frame()
            asked = read_request_prefix(frame)
            request, _ = decode(WriteTxnMarkersRequest, asked.api_version, frame, asked.position + 1)
            visitor.writer.write(answer(asked.correlation_id, respond(request), asked.api_version))

    return visit


def saying(*codes: int) -> tuple[Respond, list[Any]]:
    """Answers in order, the last one for ever; and the received requests."""
    left, seen = list(codes), []

    def respond(request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        seen.append(request)
        code = left.pop(0) if len(left) > 1 else left[0]
        return WriteTxnMarkersResponse(
            markers=[
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=[
                        WritableTxnMarkerTopicResult(
                            name=topic.name,
                            partitions=[
                                WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in marker.topics
                    ],
                )
                for marker in request.markers
            ]
        )

    return respond, seen


class Ending:
    """Decided transactions, and a writer of their markers."""

    def __init__(self, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.desk = neighbours.desk
        self.writer = MarkerWriter(
            HERE,
            self.desk.coordinator,
            LocalMarkers(neighbours.broker.replicas, neighbours.broker.metadata, neighbours.broker.groups, SystemClock()),
            neighbours.others,
            lambda: neighbours.image,
            asyncio.get_running_loop(),
        )

    def decide(self, identity: str, *topics: str, committed: bool = True) -> None:
        producer = self.desk.init(identity)
        assert isinstance(producer, ProducerIdentity)
        assert self.desk.add(identity, producer, [TopicPartition(topic, 0) for topic in topics]) == ErrorCode.NONE
        self.desk.end(identity, producer, committed=committed)

    def perform(self) -> None:
        effects, self.desk.effects = self.desk.effects, []
        for each in effects:
            self.writer.perform(SHARD, each)

    def state(self, identity: str) -> TransactionState:
        return self.desk.machine.transactions[identity].state

    async def until(self, identity: str, state: TransactionState) -> None:
        await until_async(lambda: self.state(identity) is state, f"{identity} is {state.name}", seen=lambda: self.state(identity))


def run(respond: Respond, scenario: Callable[[Ending], Awaitable[None]], *, led_by: dict[str, int]) -> None:
    async def main() -> None:
        async with serving(leading(respond)) as port:
            ending = Ending(Neighbours(port, led_by=led_by))
            try:
                await scenario(ending)
            finally:
                ending.writer.stop()
                ending.neighbours.peers.close()

    simulated.run(main())


@pytest.mark.parametrize("committed", [True, False])
def test_markers_of_partitions_led_elsewhere_go_to_their_leader(*, committed: bool) -> None:
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a", "b", committed=committed)
        ending.perform()
        done = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
        await ending.until("T", done)
        (request,) = seen
        (marker,) = request.markers
        assert sorted((topic.name, topic.partition_indexes) for topic in marker.topics) == [("a", [0]), ("b", [0])]
        assert marker.transaction_result is committed
        assert (marker.producer_id, marker.coordinator_epoch, marker.transaction_version) == (1000, ending.desk.epoch, 2)

    run(respond, scenario, led_by={"a": THERE, "b": THERE})


def test_the_ends_of_many_transactions_go_in_one_request() -> None:
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        for identity in ("T", "U", "V"):
            ending.decide(identity, "a")
        ending.perform()
        for identity in ("T", "U", "V"):
            await ending.until(identity, TransactionState.COMPLETE_COMMIT)
        assert [len(request.markers) for request in seen] == [3]

    run(respond, scenario, led_by={"a": THERE})


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        31_000,
    ],
)
def test_a_marker_is_retried_after_an_error_of_the_leader(code: int) -> None:
    respond, seen = saying(code, code, ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await ending.until("T", TransactionState.COMPLETE_COMMIT)
        assert len(seen) == 3

    run(respond, scenario, led_by={"a": THERE})


def test_a_marker_is_retried_when_the_answer_lacks_its_partition() -> None:
    respond, seen = saying(ErrorCode.NONE)
    incomplete = [WriteTxnMarkersResponse(markers=[])]

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await ending.until("T", TransactionState.COMPLETE_COMMIT)

    run(lambda request: incomplete.pop() if incomplete else respond(request), scenario, led_by={"a": THERE})
    assert len(seen) == 1


def test_the_writer_follows_a_partition_to_its_new_leader() -> None:
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await asyncio.sleep(LONG_SECONDS)
        assert not seen
        assert ending.state("T") is TransactionState.PREPARE_COMMIT
        ending.neighbours.changed(partition(0, THERE, leader_epoch=1, partition_epoch=1))
        await ending.until("T", TransactionState.COMPLETE_COMMIT)
        assert len(seen) == 1

    run(respond, scenario, led_by={"a": NOBODY})


def test_a_topic_that_handlers_do_not_know_yet_gets_its_marker() -> None:
    """A shard may be loaded, and find a transaction to end, while the image with its topics is
    still being published.
    """
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        newest = ending.neighbours.image
        ending.neighbours.changed(RemoveTopicRecord(topic_id=uuid(0)))
        ending.writer.image = lambda: newest
        ending.perform()
        await ending.until("T", TransactionState.COMPLETE_COMMIT)
        assert len(seen) == 1

    run(respond, scenario, led_by={"a": THERE})


def test_a_topic_that_is_deleted_needs_no_marker() -> None:
    respond, seen = saying(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await until_async(lambda: seen, "the leader is asked")
        ending.neighbours.changed(RemoveTopicRecord(topic_id=uuid(0)))
        await ending.until("T", TransactionState.COMPLETE_COMMIT)

    run(respond, scenario, led_by={"a": THERE})


@pytest.mark.parametrize("code", [ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_fenced_coordinator_gives_up(code: ErrorCode) -> None:
    respond, seen = saying(code)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await asyncio.sleep(LONG_SECONDS)
        assert len(seen) == 1
        assert ending.state("T") is TransactionState.PREPARE_COMMIT

    run(respond, scenario, led_by={"a": THERE})


def test_a_former_coordinator_stops_trying() -> None:
    respond, seen = saying(ErrorCode.NOT_ENOUGH_REPLICAS)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await until_async(lambda: seen, "the leader is asked")
        ending.desk.runtime.unload(SHARD)
        await asyncio.sleep(LONG_SECONDS)
        tried = len(seen)
        await asyncio.sleep(LONG_SECONDS)
        assert len(seen) == tried

    run(respond, scenario, led_by={"a": THERE})


def test_a_completion_that_the_shard_refuses_is_retried() -> None:
    """Until then the producer's next transaction cannot begin."""
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.desk.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
        ending.perform()
        await until_async(lambda: seen, "the leader is asked")
        await asyncio.sleep(LONG_SECONDS)
        assert ending.state("T") is TransactionState.PREPARE_COMMIT
        ending.desk.refusal = ErrorCode.NONE
        await ending.until("T", TransactionState.COMPLETE_COMMIT)

    run(respond, scenario, led_by={"a": THERE})


def test_a_leader_here_without_a_replica_is_tried_until_it_has_one() -> None:
    respond, seen = saying(ErrorCode.NONE)

    async def scenario(ending: Ending) -> None:
        ending.decide("T", "a")
        ending.perform()
        await asyncio.sleep(LONG_SECONDS)
        assert ending.state("T") is TransactionState.PREPARE_COMMIT
        ending.neighbours.changed(partition(0, THERE, leader_epoch=1, partition_epoch=1))
        await ending.until("T", TransactionState.COMPLETE_COMMIT)
        assert len(seen) == 1

    run(respond, scenario, led_by={"a": HERE})
