"""The methods of a test cluster for topics, records and groups. None of them is affected by faults
of the test, except by brokers that cannot be reached."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.model.key_partition import partition_of
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing.client.helper_client import PAUSE_SECONDS, Deadline, HelperClient, KafkaRefused
from barnabas.testing.client.messages import ConsumedRecord, Message, Position, Producible, as_bytes, as_headers, as_messages
from barnabas.testing.client.topic_reader import TopicReader
from barnabas.testing.properties import ConfigValue, config_text
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TIMEOUT_SECONDS = 30.0
# The newest versions in which topics go by name.
_PRODUCE_BY_NAME, _OFFSET_FETCH_BY_NAME = 12, 9
_LATEST = -1
_DEFAULT = -1


class ClusterHelpers:
    """``timeout`` is in seconds everywhere. A wait that takes longer raises ``TimeoutError`` with a
    sentence that says how far it came; a refusal of the cluster raises ``KafkaRefused``."""

    def __init__(self, client: HelperClient) -> None:
        self.client = client
        self._topic_numbers = itertools.count(1)

    # -- topics -------------------------------------------------------------------------------

    def unique_topic(self, prefix: str = "topic") -> str:
        """A name that no other call gives, in any test process. The topic is not created."""
        return f"{prefix}-{next(self._topic_numbers)}-{secrets.token_hex(4)}"

    def create_topic(
        self,
        name: str | None = None,
        *,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, ConfigValue] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> str:
        """Returns the name, which is a unique one if none is given. All brokers know the topic and
        its leaders when this returns. The defaults of the numbers are those of the brokers."""
        name = self.unique_topic() if name is None else name
        deadline = Deadline(timeout)
        wanted = CreatableTopic(
            name=name,
            num_partitions=_DEFAULT if partitions is None else partitions,
            replication_factor=_DEFAULT if replication_factor is None else replication_factor,
            assignments=[],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in config_text(config or {}).items()],
        )
        response = self.client.retry(
            lambda: self.client.ask_any(CreateTopicsRequest(topics=[wanted], timeout_ms=int(timeout * 1000)), deadline),
            lambda response: [each.error_code for each in response.topics],
            deadline,
        )
        _refuse(response.topics, f"Topic {name} cannot be created")
        self._await_leaders(name, deadline)
        return name

    def create_topics(
        self,
        *names: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, ConfigValue] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> list[str]:
        """Several topics that are alike."""
        return [
            self.create_topic(name, partitions=partitions, replication_factor=replication_factor, config=config, timeout=timeout)
            for name in names
        ]

    def delete_topic(self, name: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        deadline = Deadline(timeout)
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=ZERO_UUID)], timeout_ms=int(timeout * 1000))
        response = self.client.retry(
            lambda: self.client.ask_any(request, deadline), lambda response: [each.error_code for each in response.responses], deadline
        )
        _refuse(response.responses, f"Topic {name} cannot be deleted")

    def topics(self, *, internal: bool = False, timeout: float = TIMEOUT_SECONDS) -> list[str]:
        """The names of all topics, without those of Kafka itself unless ``internal`` is True."""
        found = self.client.metadata(None, Deadline(timeout)).topics
        return sorted(each.name for each in found if each.name is not None and (internal or not each.is_internal))

    def end_offsets(self, topic: str, *, timeout: float = TIMEOUT_SECONDS) -> dict[int, int]:
        """By partition: the offset that the next record gets."""
        deadline = Deadline(timeout)

        def attempt() -> list[Any]:
            answers = []
            for address, partitions in _by_leader(self._leaders(topic, deadline)).items():
                named = ListOffsetsTopic(
                    name=topic, partitions=[ListOffsetsPartition(partition_index=each, timestamp=_LATEST) for each in partitions]
                )
                response = self.client.ask(address, ListOffsetsRequest(replica_id=-1, topics=[named]), deadline)
                answers += response.topics[0].partitions
            return answers

        answers = self.client.retry(attempt, _codes, deadline)
        _refuse(answers, f"The offsets of topic {topic} cannot be read")
        return {each.partition_index: each.offset for each in sorted(answers, key=lambda each: each.partition_index)}

    def await_in_sync(self, topic: str, *, timeout: float = TIMEOUT_SECONDS) -> None:
        """Wait until all replicas of a topic are in sync: any broker may then stop, and nothing is
        lost."""
        deadline = Deadline(timeout)
        while True:
            found = self.client.metadata([topic], deadline).topics
            _refuse(found, f"Topic {topic} cannot be found")
            behind = {
                each.partition_index: each.isr_nodes for each in found[0].partitions if set(each.isr_nodes) != set(each.replica_nodes)
            }
            if not behind:
                return
            if deadline.over:
                raise TimeoutError(f"Topic {topic} has only these replicas in sync after {timeout:g} seconds: {behind}.")
            time.sleep(PAUSE_SECONDS)

    # -- records ------------------------------------------------------------------------------

    def produce(
        self, topic: str, records: Producible | Iterable[Producible], *, partition: int | None = None, timeout: float = TIMEOUT_SECONDS
    ) -> list[Position]:
        """Append records, and return the place of each. A record is a value, a :class:`Message`, or
        a tuple ``(key, value, headers, partition, timestamp)`` of which the end may be left out.
        The broker creates the topic if its settings allow that."""
        deadline = Deadline(timeout)
        if topic not in self.topics(internal=True, timeout=timeout):
            self.create_topic(topic, timeout=timeout)
        messages = as_messages(records)
        count = len(self._leaders(topic, deadline))
        chosen = [_partition(message, partition, index, count) for index, message in enumerate(messages)]
        placed: dict[int, Position] = {}
        for each in sorted(set(chosen)):
            indexes = [index for index, its in enumerate(chosen) if its == each]
            base = self._append(topic, each, [messages[index] for index in indexes], deadline)
            placed |= {index: Position(each, base + number) for number, index in enumerate(indexes)}
        return [placed[index] for index in range(len(messages))]

    def consume(
        self, topic: str, count: int | None = None, *, timeout: float = TIMEOUT_SECONDS, committed: bool = True
    ) -> list[ConsumedRecord]:
        """The records of a topic from its start, ordered by timestamp, partition and offset.

        With ``count`` this waits for that many and returns the first ones that arrive; without it
        returns those that the topic has now. ``committed=False`` includes records of open and of
        aborted transactions.
        """
        if count is not None:
            return self.await_records(topic, count, timeout=timeout, committed=committed)[:count]
        deadline = Deadline(timeout)
        reader = TopicReader(self.client, topic, committed=committed)
        while reader.read(self._leaders(topic, deadline), deadline, wait=False):
            pass
        return _ordered(reader.records)

    def await_records(
        self,
        topic: str,
        until: int | Callable[[list[ConsumedRecord]], object],
        *,
        timeout: float = TIMEOUT_SECONDS,
        committed: bool = True,
    ) -> list[ConsumedRecord]:
        """All records of a topic from its start, as soon as there are ``until`` of them, or as soon
        as ``until(records)`` is true. A topic that does not exist yet is empty."""
        deadline = Deadline(timeout)
        reader = TopicReader(self.client, topic, committed=committed)
        enough = (lambda records: len(records) >= until) if isinstance(until, int) else until
        while not enough(records := _ordered(reader.records)):
            if deadline.over:
                wanted = f"{until} records" if isinstance(until, int) else "the records of the condition"
                last = f"; the last one is {records[-1]}" if records else ""
                raise TimeoutError(f"Topic {topic} did not have {wanted} within {timeout:g} seconds, but {len(records)}{last}.")
            try:
                reader.read(self._leaders(topic, deadline), deadline, wait=True)
            except (KafkaRefused, OSError):
                # The topic is not there yet, or its leader is moving.
                time.sleep(PAUSE_SECONDS)
        return records

    # -- groups -------------------------------------------------------------------------------

    def group_offsets(self, group: str, topic: str, *, timeout: float = TIMEOUT_SECONDS) -> dict[int, int]:
        """The offsets that a group has committed, by partition; without those it has not."""
        deadline = Deadline(timeout)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        response = self.client.retry(
            lambda: self.client.ask_coordinator(group, request, deadline, version_max=_OFFSET_FETCH_BY_NAME),
            lambda response: _codes(response.groups),
            deadline,
        )
        _refuse(response.groups, f"The offsets of group {group} cannot be read")
        return {
            each.partition_index: each.committed_offset
            for found in response.groups[0].topics
            if found.name == topic
            for each in found.partitions
            if each.committed_offset >= 0
        }

    def await_group(self, group: str, *, members: int = 1, timeout: float = TIMEOUT_SECONDS) -> None:
        """Wait until a group is stable with that many members, whichever protocol it uses. With
        ``members=0`` wait until it is empty."""
        deadline = Deadline(timeout)
        wanted = ("stable" if members else "empty"), members
        while (seen := self._group_state(group, deadline)) != wanted:
            if deadline.over:
                state, found = seen
                raise TimeoutError(f"Group {group} is {state} with {found} members after {timeout:g} seconds, and not with {members}.")
            time.sleep(PAUSE_SECONDS)

    def await_committed(self, group: str, topic: str, *, timeout: float = TIMEOUT_SECONDS) -> dict[int, int]:
        """Wait until a group has committed the end of every partition that has records. Returns the
        offsets."""
        deadline = Deadline(timeout)
        while True:
            ends, committed = self.end_offsets(topic, timeout=timeout), self.group_offsets(group, topic, timeout=timeout)
            if all(committed.get(partition, 0) >= end for partition, end in ends.items()):
                return committed
            if deadline.over:
                raise TimeoutError(f"Group {group} has committed {committed} of {ends} in topic {topic} after {timeout:g} seconds.")
            time.sleep(PAUSE_SECONDS)

    def _group_state(self, group: str, deadline: Deadline) -> tuple[str, int]:
        """A group of the consumer protocol is unknown to DescribeGroups."""
        for request in (
            ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False),
            DescribeGroupsRequest(groups=[group]),
        ):
            try:
                (found,) = self.client.ask_coordinator(group, request, deadline).groups
            except (OSError, KafkaRefused):
                # The coordinator is moving; the caller asks again.
                continue
            if found.error_code == ErrorCode.NONE and found.group_state.lower() != "dead":
                return found.group_state.lower(), len(found.members)
        return "unknown", 0

    # -- leaders ------------------------------------------------------------------------------

    def _leaders(self, topic: str, deadline: Deadline, address: str | None = None) -> dict[int, str]:
        """The address of each partition's leader. Raises ``KafkaRefused`` for an unknown topic; a
        partition without a leader has none here."""
        response = self.client.metadata([topic], deadline, address)
        _refuse(response.topics, f"Topic {topic} cannot be found")
        brokers = {each.node_id: f"{each.host}:{each.port}" for each in response.brokers}
        return {
            each.partition_index: brokers[each.leader_id]
            for each in sorted(response.topics[0].partitions, key=lambda each: each.partition_index)
            if each.leader_id in brokers
        }

    def _await_leaders(self, topic: str, deadline: Deadline) -> None:
        for address in self.client.addresses():
            while True:
                (found,) = self.client.metadata([topic], deadline, address).topics
                if found.error_code == ErrorCode.NONE and all(each.leader_id >= 0 for each in found.partitions):
                    break
                if deadline.over:
                    raise TimeoutError(f"Topic {topic} has no leaders after {deadline.seconds:g} seconds.")
                time.sleep(PAUSE_SECONDS)

    def _append(self, topic: str, partition: int, messages: list[Message], deadline: Deadline) -> int:
        """One batch; returns its base offset."""
        now_ms = time.time_ns() // 1_000_000
        records = [
            Record(
                offset,
                now_ms if each.timestamp is None else each.timestamp,
                as_bytes(each.key),
                as_bytes(each.value),
                as_headers(each.headers),
            )
            for offset, each in enumerate(messages)
        ]
        data = PartitionProduceData(index=partition, records=build_batch(records))
        request = ProduceRequest(
            acks=-1, timeout_ms=int(deadline.seconds * 1000), topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )

        def attempt() -> Any:
            leaders = self._leaders(topic, deadline)
            if partition not in leaders:
                raise KafkaRefused(f"Topic {topic} has no leader for partition {partition}", ErrorCode.LEADER_NOT_AVAILABLE)
            return self.client.ask(leaders[partition], request, deadline, version_max=_PRODUCE_BY_NAME)

        response = self.client.retry(attempt, lambda response: _codes(response.responses[0].partition_responses), deadline)
        (answer,) = response.responses[0].partition_responses
        _refuse([answer], f"Topic {topic} cannot be written")
        base: int = answer.base_offset
        return base


def _partition(message: Message, given: int | None, index: int, count: int) -> int:
    if message.partition is not None:
        return message.partition
    if given is not None:
        return given
    key = as_bytes(message.key)
    return index % count if key is None else partition_of(key, count)


def _by_leader(leaders: Mapping[int, str]) -> dict[str, list[int]]:
    return {address: [each for each in leaders if leaders[each] == address] for address in sorted(set(leaders.values()))}


def _ordered(records: list[ConsumedRecord]) -> list[ConsumedRecord]:
    return sorted(records, key=lambda each: (each.timestamp, each.partition, each.offset))


def _codes(answers: Iterable[Any]) -> list[int]:
    return [each.error_code for each in answers]


def _refuse(answers: Iterable[Any], doing: str) -> None:
    for each in answers:
        if each.error_code:
            raise KafkaRefused(doing, each.error_code, getattr(each, "error_message", None))
