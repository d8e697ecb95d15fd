"""Produce: malformed batches, wrong addresses, and idempotent producers."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.conformance.differential.pair import Pair, Peer
from tests.conformance.differential.produced import batch_at, producing
from tests.conformance.differential.raw_client import Closed, RawClient
from tests.unit.records.refusals import CASES, Case

BY_NAME = range(3, 13)
HOUR_MS = 3_600_000

# Tests below try the cases with a clock of their own, with the real clock.
TIMELESS = [
    case
    for case in CASES
    if case.code is not ErrorCode.INVALID_TIMESTAMP and not any(word in case.name for word in ("old", "ahead", "a transaction"))
]


@pytest.mark.parametrize("case", TIMELESS, ids=str)
def test_produce_accepts_and_refuses_the_same_batches(pair: Pair, case: Case) -> None:
    name = f"batch-{CASES.index(case)}"
    pair.create(name, configs={key: str(value) for key, value in case.config.items()})
    differ = {}
    if case.why:
        differ = {f"responses[].partition_responses[]{field}": case.why for field in ("", ".error_code", ".error_message")}
    if "LogAppendTime" in case.config.values():
        differ["responses[].partition_responses[].log_append_time_ms"] = "the clocks are read one after the other"
    if case.code is ErrorCode.INVALID_RECORD and not case.records:
        differ["responses[].partition_responses[].record_errors"] = "we name the record that cannot be read; Kafka names none"
    for _, barnabas in pair.same(producing(name, bytes(case.batch)), [12], differ=differ):
        assert barnabas.responses[0].partition_responses[0].error_code == case.code
    recompressed = "compression.type" in case.config and case.code is ErrorCode.NONE
    if not case.why and not recompressed and "LogAppendTime" not in case.config.values():
        pair.same(fetching(name), [12])


def fetching(topic: str) -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=10**6)
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[asked])])


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name.lower())
def test_produce_takes_every_codec_in_every_version(pair: Pair, codec: Codec) -> None:
    name = pair.create(f"codec-{codec}")
    pair.same(producing(name, batch_at(1000, 2000, codec=codec)), BY_NAME)
    pair.same(fetching(name), [12])


NOW = int(time.time() * 1000)
TIMED: dict[str, tuple[dict[str, str], list[int]]] = {
    "now": ({}, [NOW]),
    "an hour ahead, nearly": ({}, [NOW + HOUR_MS - 60_000]),
    "two hours ahead": ({}, [NOW + 2 * HOUR_MS]),
    "one of three too far ahead": ({}, [NOW, NOW + 2 * HOUR_MS, NOW]),
    "old, where that matters": ({"message.timestamp.before.max.ms": str(HOUR_MS)}, [NOW, NOW - 2 * HOUR_MS]),
    "both": ({"message.timestamp.before.max.ms": str(HOUR_MS)}, [NOW + 2 * HOUR_MS, NOW - 2 * HOUR_MS]),
    "never": ({}, [-1]),
    "below never": ({}, [-2]),
    "append time": ({"message.timestamp.type": "LogAppendTime"}, [NOW + 2 * HOUR_MS]),
}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4], ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("kind", TIMED)
def test_produce_judges_timestamps(pair: Pair, kind: str, codec: Codec) -> None:
    configs, timestamps = TIMED[kind]
    name = pair.create(f"clock-{list(TIMED).index(kind)}-{codec}", configs=configs)
    clocks = {"responses[].partition_responses[].log_append_time_ms": "the clocks are read one after the other"}
    for kafka, barnabas in pair.same(producing(name, batch_at(*timestamps, codec=codec)), BY_NAME, differ=clocks):
        theirs, ours = (answer.responses[0].partition_responses[0].log_append_time_ms for answer in (kafka, barnabas))
        assert (theirs == -1) == (ours == -1)


def test_produce_refuses_missing_topics_and_partitions(pair: Pair) -> None:
    name = pair.create("addressed", 2)
    for topic, partition in ((name, 2), (name, -1), ("never-was", 0), ("a b", 0), ("", 0)):
        pair.same(producing(topic, batch_at(1), partition), BY_NAME)
    for acks in (2, -2, 100):
        pair.same(producing(name, batch_at(1), acks=acks), BY_NAME)
        pair.same(producing("never-was", batch_at(1), acks=acks), BY_NAME)
    # Kafka never answers a request whose records are null.
    ours = pair.barnabas.broker.ask(producing(name, None), 12)
    assert ours.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD
    pair.same(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[]))
    nothing = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=name, partition_data=[])])
    pair.same(nothing, BY_NAME, differ={"responses": "Kafka leaves out topics without partitions"})


def test_produce_judges_partitions_one_by_one(pair: Pair) -> None:
    name = pair.create("one-by-one", 3)
    good, bad = batch_at(1, 2), batch_at(1)[:-1]
    data = [PartitionProduceData(index=index, records=records) for index, records in ((2, good), (0, bad), (7, good), (1, good))]
    topics = [TopicProduceData(name=name, partition_data=data), TopicProduceData(name="never-was", partition_data=data[:1])]
    pair.same(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), BY_NAME)


def test_produce_to_a_repeated_partition(pair: Pair) -> None:
    name = pair.create("named-twice-in-one")
    data = [PartitionProduceData(index=0, records=batch_at(1)), PartitionProduceData(index=0, records=batch_at(2, 3))]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=name, partition_data=data)])
    why = "Kafka keeps the last batch and forgets the others, though it answers with success; we append them all"
    ((kafka, barnabas),) = pair.same(request, [12], differ={"responses[].partition_responses": why})
    assert [each.base_offset for each in kafka.responses[0].partition_responses] == [0]
    assert [each.base_offset for each in barnabas.responses[0].partition_responses] == [0, 1]
    assert [peer.broker.ask(latest(name), 11).topics[0].partitions[0].offset for peer in pair.peers] == [2, 3]


def latest(topic: str) -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])


def test_produce_finds_topics_by_id(pair: Pair) -> None:
    pair.create("produced-by-id")

    def by_id(topic_id: Callable[[Peer], Uuid]) -> Callable[[Peer, int], ProduceRequest]:
        def made(peer: Peer, version: int) -> ProduceRequest:
            data = [PartitionProduceData(index=index, records=batch_at(1)) for index in (0, 1)]
            return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(topic_id=topic_id(peer), partition_data=data)])

        return made

    pair.same(by_id(lambda peer: peer.topic_id("produced-by-id")), [13])
    pair.same(by_id(lambda peer: Uuid(bytes(15) + b"\7")), [13])
    pair.same(by_id(lambda peer: ZERO_UUID), [13])


# -- without acknowledgement ------------------------------------------------------------------


@pytest.mark.parametrize("version", BY_NAME)
def test_produce_without_acks_is_not_answered(pair: Pair, version: int) -> None:
    name = pair.create(f"unacknowledged-{version}")
    for peer in pair.peers:
        with RawClient(peer.broker.address) as client:
            send(client, producing(name, batch_at(1), acks=0), version)
            # The next answer belongs to the next request, so the first one got none.
            assert client.ask(producing(name, batch_at(2), acks=1), version).responses[0].partition_responses[0].base_offset == 1


def test_produce_without_acks_that_fails_ends_the_connection(pair: Pair) -> None:
    name = pair.create("unacknowledged-wrong")
    for batch, topic in ((batch_at(1)[:-1], name), (batch_at(1), "never-was")):
        for peer in pair.peers:
            with RawClient(peer.broker.address) as client:
                send(client, producing(topic, batch, acks=0), 12)
                assert client.receive() == Closed(), peer.name


def send(client: RawClient, request: ProduceRequest, version: int) -> None:
    from barnabas.wire.apis import ApiKey
    from barnabas.wire.compiler import encode

    client.send(client.frame(ApiKey.PRODUCE, version, encode(request, version), flexible=version >= 9))


# -- idempotent producers ---------------------------------------------------------------------


class Idempotent:
    """One producer on each side; each has the id that its broker assigned."""

    def __init__(self, pair: Pair, topic: str) -> None:
        self.pair, self.topic = pair, topic
        self.ids = {peer.name: self._id(peer) for peer in pair.peers}

    @staticmethod
    def _id(peer: Peer) -> int:
        while True:
            answer = peer.broker.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 5)
            if answer.error_code == ErrorCode.NONE:
                return int(answer.producer_id)

    def same(self, sequence: int, count: int = 1, *, epoch: int = 0, versions: list[int] | None = None, timestamp: int = 5) -> ErrorCode:
        def made(peer: Peer, version: int) -> ProduceRequest:
            records = [Record(offset, timestamp, None, b"v") for offset in range(count)]
            batch = build_batch(records, producer_id=self.ids[peer.name], producer_epoch=epoch, base_sequence=sequence)
            return producing(self.topic, bytes(batch))

        once = {"responses[].partition_responses[].log_append_time_ms": "Kafka answers a repeated batch with its own time for append time"}
        ((_, barnabas),) = self.pair.same(made, versions or [12], differ=once)
        return ErrorCode(barnabas.responses[0].partition_responses[0].error_code)


def test_produce_checks_sequences(pair: Pair) -> None:
    producer = Idempotent(pair, pair.create("sequences"))
    for sequence in range(8):
        assert producer.same(sequence) is ErrorCode.NONE
    # The broker remembers the last five batches and repeats their answers; older and future
    # sequences are refused.
    for sequence in (7, 6, 5, 4, 3):
        assert producer.same(sequence) is ErrorCode.NONE
    for sequence in (2, 1, 0, 9, 100, 2**31 - 1):
        assert producer.same(sequence) is not ErrorCode.NONE
    assert producer.same(8) is ErrorCode.NONE
    assert producer.same(8, timestamp=99) is ErrorCode.NONE


def test_produce_checks_sequences_of_batches(pair: Pair) -> None:
    producer = Idempotent(pair, pair.create("sequences-of-batches"))
    for sequence, count in ((0, 3), (3, 2), (0, 3), (3, 2), (3, 1), (4, 1), (0, 2), (5, 1), (0, 5), (7, 1)):
        producer.same(sequence, count)


def test_produce_of_an_unknown_producer_takes_any_first_sequence(pair: Pair) -> None:
    for first in (1, 5, 1000, 2**31 - 1):
        Idempotent(pair, pair.create(f"first-{first}")).same(first)


def test_produce_takes_sequences_that_wrap_around(pair: Pair) -> None:
    producer = Idempotent(pair, pair.create("wrapping"))
    assert producer.same(0) is ErrorCode.NONE
    lone = Idempotent(pair, pair.create("wrapping-too"))
    lone.same(2**31 - 3, 2)
    lone.same(2**31 - 1, 2)
    lone.same(1, 1)


def test_produce_checks_epochs_of_producers(pair: Pair) -> None:
    producer = Idempotent(pair, pair.create("epochs"))
    for epoch, sequence in ((0, 0), (0, 1), (1, 2), (1, 0), (0, 2), (0, 0), (1, 1), (3, 0), (2, 1), (3, 1), (4, 5)):
        producer.same(sequence, epoch=epoch)


def test_produce_of_idempotent_producers_in_every_version(pair: Pair) -> None:
    producer = Idempotent(pair, pair.create("producer-versions"))
    for sequence, version in enumerate(BY_NAME):
        assert producer.same(sequence, versions=[version]) is ErrorCode.NONE
        producer.same(sequence + 5, versions=[version])


def test_produce_of_a_transactional_batch_needs_a_transaction(pair: Pair) -> None:
    name = pair.create("transactional")
    batch = bytes(build_batch([Record(0, 5, None, b"v")], producer_id=77, producer_epoch=0, base_sequence=0, transactional=True))
    request = producing(name, batch)
    no_coordinator = "transactions are still to come"
    for _, barnabas in pair.same(request, [12], differ={"responses[].partition_responses[]": no_coordinator}):
        assert barnabas.responses[0].partition_responses[0].error_code != ErrorCode.NONE
