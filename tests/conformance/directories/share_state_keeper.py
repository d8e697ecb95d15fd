"""Delivery states of share partitions, kept by a client as leaders of partitions do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, cast

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential import share_states
from tests.conformance.differential.comparison import plain
from tests.conformance.differential.raw_client import RawClient
from tests.waiting import until

STATE_PARTITIONS = 3
DOOMED = "doomed"
GROUPS = [f"group {number}" for number in range(8)]
WAITING = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class Keeper:
    """A client of the broker that holds the directory; it writes as leaders of partitions do."""

    def __init__(self, bootstrap: str) -> None:
        self._client = RawClient(bootstrap)

    def close(self) -> None:
        self._client.close()

    def topic_id(self, topic: str) -> Uuid:
        (found,) = self._client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False), 12).topics
        return Uuid(found.topic_id)

    def ask(self, asked: share_states.Ask) -> Any:
        """The answer of a coordinator that is loaded, for one topic."""
        answers: list[Any] = []

        def loaded() -> bool:
            request = asked(cast(Any, self))
            answers[:] = [self._client.ask(request, 1 if type(request).__name__.startswith(("Write", "ReadShareGroupStateSummary")) else 0)]
            return not any(each.error_code in WAITING for each in answers[0].results[0].partitions)

        until(loaded, "the share coordinator answers", seen=lambda: answers)
        return answers[0]

    def done(self, asked: share_states.Ask) -> None:
        answer = self.ask(asked)
        assert not any(each.error_code for each in answer.results[0].partitions), answer

    def found(self) -> None:
        # Metadata names only brokers that are not fenced, and Kafka opens its port before.
        until(lambda: self._client.ask(MetadataRequest(topics=[]), 12).brokers, "the broker is unfenced")
        topics = [
            CreatableTopic(name=name, num_partitions=share_states.PARTITIONS, replication_factor=1, assignments=[], configs=[])
            for name in (share_states.TOPIC, DOOMED)
        ]
        assert not any(each.error_code for each in self._client.ask(CreateTopicsRequest(topics=topics), 7).topics)
        key = "anybody:AAAAAAAAAAAAAAAAAAAAAQ:0"
        until(
            lambda: not self._client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]), 6).coordinators[0].error_code,
            "there is a share coordinator",
        )
        for group in GROUPS:
            self.done(share_states.initialize(group, 0, 1, 2))
            self.done(share_states.initialize(group, 0, topic=DOOMED))

    def write(self, seed: int) -> None:
        chance = Random(seed)
        for _ in range(40):
            first = chance.randrange(100)
            batches = [(first + 10 * index, first + 10 * index + chance.randrange(10), chance.choice([0, 2, 4]), 1) for index in range(3)]
            group, partition, start_offset, count = (
                chance.choice(GROUPS),
                chance.randrange(2),
                chance.choice([-1, first]),
                chance.randrange(9),
            )
            self.done(share_states.write(group, batches, partition, start_offset=start_offset, count=count, leader_epoch=-1))
        # No leader of these has read the whole state yet, see below.
        self.done(share_states.read(chance.choice(GROUPS[4:]), 1, leader_epoch=100 + seed))
        self.done(share_states.delete(GROUPS[seed], 2))

    def everything(self) -> list[Any]:
        """The states and their epochs, as leaders and tools see them."""
        states = [plain(self.ask(share_states.read(group, 0, 1, 2, leader_epoch=1000)), 0) for group in GROUPS[:4]]
        return states + [plain(self.ask(share_states.summary(group, 0, 1, 2)), 1) for group in GROUPS]

    def delete_topic(self) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=DOOMED, topic_id=Uuid(bytes(16)))], timeout_ms=30_000)
        assert not any(each.error_code for each in self._client.ask(request, 6).responses)

    def log_starts(self) -> list[int]:
        partitions = [ListOffsetsPartition(partition_index=index, timestamp=-2) for index in range(STATE_PARTITIONS)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="__share_group_state", partitions=partitions)])
        return [each.offset for each in self._client.ask(request, 8).topics[0].partitions]


@contextmanager
def keeping(bootstrap: str) -> Iterator[Keeper]:
    keeper = Keeper(bootstrap)
    try:
        yield keeper
    finally:
        keeper.close()
