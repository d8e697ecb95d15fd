"""Clients of a simulated cluster: an admin, idempotent producers with acks=all, and consumers that
read everything.

They behave like a good client library: they retry retriable errors, look for the new leader when
the old one does not lead, and never give up. They report the responses to the checker.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import read_header
from barnabas.records.batches import check_crc, walk
from barnabas.records.record import Record
from barnabas.simulation.cluster_process import BROKER_PORT
from barnabas.simulation.frames import FramePeers
from barnabas.simulation.history import Written
from barnabas.simulation.host import Host
from barnabas.simulation.violations import Violation
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

if TYPE_CHECKING:
    from barnabas.simulation.cluster_world import ClusterWorld

TOPIC = "orders"
ACKS_ALL = -1
REQUEST_MS = 4000
PRODUCE_MS = 2000
RETRY_SECONDS = 0.1
PACE_SECONDS = 0.15
RECORDS_MAX = 3
FETCH_WAIT_MS = 400
FETCH_BYTES = 1_000_000

# A later attempt may succeed, at the same node or at another.
RETRIABLE = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    }
)


class Client:
    def __init__(self, world: ClusterWorld, host: Host, chance: Random) -> None:
        self.world = world
        self.host = host
        self.chance = chance
        self._peers = FramePeers(world.network, host, host.name)
        self._leaders: dict[TopicPartition, int] = {}
        self._topic_ids: dict[str, Uuid] = {}

    async def ask(self, node: int, request: Any, *, timeout_ms: int = REQUEST_MS, version_max: int | None = None) -> Any:
        return await awaited(self._peers.at(f"n{node}", BROKER_PORT).send(request, timeout_ms=timeout_ms, version_max=version_max))

    async def pause(self, seconds: float = RETRY_SECONDS) -> None:
        await asyncio.sleep(self.chance.random() * 2 * seconds)

    def any_node(self) -> int:
        return self.chance.randint(1, len(self.world.hosts))

    async def refresh_metadata(self, topic: str) -> None:
        """Ask any node for the leaders."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic, topic_id=ZERO_UUID)], allow_auto_topic_creation=False)
        answer = await self.ask(self.any_node(), request)
        if isinstance(answer, ErrorCode):
            return
        for each in answer.topics:
            if each.error_code == ErrorCode.NONE:
                self._topic_ids[topic] = each.topic_id
                for partition in each.partitions:
                    self._leaders[TopicPartition(topic, partition.partition_index)] = partition.leader_id

    async def leader_of(self, partition: TopicPartition) -> tuple[int, Uuid]:
        while self._leaders.get(partition, -1) < 0:
            await self.refresh_metadata(partition.topic)
            if self._leaders.get(partition, -1) < 0:
                await self.pause()
        return self._leaders[partition], self._topic_ids[partition.topic]

    async def failed(self, partition: TopicPartition, code: ErrorCode, what: str) -> None:
        if code not in RETRIABLE:
            raise Violation(f"{self.host.name} gets {code.name} for {what} of {partition}")
        self._leaders.pop(partition, None)
        await self.pause()


class Producer(Client):
    async def run(self) -> None:
        producer_id, producer_epoch = await self._init_producer_id()
        sequences: dict[TopicPartition, int] = {}
        number = 0
        while not self.world.may_stop(self.host.name):
            await self.pause(PACE_SECONDS)
            partition = self.chance.choice(self.world.partitions)
            count = self.chance.randint(1, RECORDS_MAX)
            records = [
                Record(index, self.world.scheduler.now_ms, None, f"{self.host.name} {number + index}".encode()) for index in range(count)
            ]
            number += count
            sequence = sequences.get(partition, 0)
            batch = build_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=sequence)
            offset = await self._deliver(partition, batch)
            sequences[partition] = sequence + count
            self.world.acknowledged(self.host.name, partition, offset, read_header(batch).crc)

    async def _init_producer_id(self) -> tuple[int, int]:
        while True:
            answer = await self.ask(self.any_node(), InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
            if not isinstance(answer, ErrorCode) and answer.error_code == ErrorCode.NONE:
                return answer.producer_id, answer.producer_epoch
            code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.error_code)
            if code not in RETRIABLE:
                raise Violation(f"{self.host.name} gets {code.name} when it asks for a producer id")
            await self.pause()

    async def _deliver(self, partition: TopicPartition, batch: bytearray) -> int:
        """The offset of the batch, once it is acknowledged, after any number of attempts."""
        while True:
            leader, topic_id = await self.leader_of(partition)
            data = TopicProduceData(
                topic_id=topic_id, partition_data=[PartitionProduceData(index=partition.partition, records=memoryview(bytes(batch)))]
            )
            answer = await self.ask(leader, ProduceRequest(acks=ACKS_ALL, timeout_ms=PRODUCE_MS, topic_data=[data]))
            if isinstance(answer, ErrorCode):
                await self.failed(partition, answer, "a batch")
                continue
            (reported,) = answer.responses[0].partition_responses
            if reported.error_code == ErrorCode.NONE:
                offset: int = reported.base_offset
                return offset
            await self.failed(partition, ErrorCode(reported.error_code), "a batch")


class Consumer(Client):
    async def run(self, partition: TopicPartition) -> None:
        offset = 0
        while True:
            leader, topic_id = await self.leader_of(partition)
            wanted = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
            request = FetchRequest(
                max_wait_ms=FETCH_WAIT_MS,
                min_bytes=1,
                max_bytes=FETCH_BYTES,
                topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
            )
            answer = await self.ask(leader, request)
            if isinstance(answer, ErrorCode) or answer.error_code != ErrorCode.NONE:
                code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.error_code)
                await self.failed(partition, code, f"a fetch from {offset}")
                continue
            (reported,) = answer.responses[0].partitions
            if reported.error_code != ErrorCode.NONE:
                await self.failed(partition, ErrorCode(reported.error_code), f"a fetch from {offset}")
                continue
            view = memoryview(reported.records or b"")
            for position, header in walk(view):
                if position + header.size_bytes > len(view):
                    break
                check_crc(view[position : position + header.size_bytes], header)
                batch = Written(header.base_offset, header.last_offset + 1, header.leader_epoch, header.crc)
                if batch.end_offset > offset:
                    self.world.read(self.host.name, partition, batch)
                    offset = batch.end_offset
            await self.pause(0.05)


class Admin(Client):
    """Creates the topic that all clients use, and then creates and deletes others."""

    async def make(self, name: str, partitions: int) -> ErrorCode:
        replicas = min(3, len(self.world.hosts))
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            assignments=[],
            configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")],
        )
        answer = await self.ask(self.any_node(), CreateTopicsRequest(topics=[topic], timeout_ms=3000))
        return answer if isinstance(answer, ErrorCode) else ErrorCode(answer.topics[0].error_code)

    async def create_topic(self, name: str, partitions: int) -> None:
        while True:
            code = await self.make(name, partitions)
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            if code not in RETRIABLE:
                raise Violation(f"{self.host.name} gets {code.name} when it creates topic {name}")
            await self.pause()

    async def delete_topic(self, name: str) -> None:
        while True:
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=ZERO_UUID)], timeout_ms=3000)
            answer = await self.ask(self.any_node(), request)
            code = answer if isinstance(answer, ErrorCode) else ErrorCode(answer.responses[0].error_code)
            # An earlier attempt may have succeeded although its response was lost or late.
            if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                return
            if code not in RETRIABLE:
                raise Violation(f"{self.host.name} gets {code.name} when it deletes topic {name}")
            await self.pause()

    async def run(self) -> None:
        number = 0
        while not self.world.may_stop(self.host.name):
            number += 1
            name = f"{self.host.name}-{number}"
            self.world.wanted_topics.pop(name, None)
            await self.create_topic(name, self.chance.randint(1, 3))
            self.world.wanted_topics[name] = True
            await self.pause()
            if self.chance.random() < 0.5:
                self.world.wanted_topics.pop(name)
                await self.delete_topic(name)
                self.world.wanted_topics[name] = False
            self.world.progressed(self.host.name)
            await self.pause(PACE_SECONDS)
