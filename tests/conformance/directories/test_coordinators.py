"""Groups, offsets and transactions in a directory that Apache Kafka and Barnabas use in turn.

The program that takes over the directory reports the same about all groups and transactional ids as
the previous one did, serves their members and producers, and ends the transactions that were open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import read_header
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from peers.apache_kafka import apache_kafka, free_port, why_missing
from tests.conformance.differential.comparison import plain
from tests.conformance.differential.group_requests import heartbeat, join, leave, sync
from tests.conformance.differential.raw_client import RawClient
from tests.conformance.differential.transaction_requests import commit_offsets, end, init, produce, read
from tests.conformance.directories.test_journeys import KILL, SETTINGS, STOP, barnabas
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

TOPIC = "travels"
SESSION_MS = 300_000
# Ids whose hashes have both signs: the partition that stores an id is part of the format.
NAMES = ("a", "b", "offsets-0", "offsets-1", "with / signs and ümlauts")

# What Kafka logs about its own start and about a busy machine, whatever the directory holds.
USUAL_COMPLAINTS = (
    # After a kill a broker finds itself the leader, is fenced, and leads again: it begins to read,
    # stops, and begins again.
    "no longer the leader",
    "Timed out heartbeat",
    # A controller may register before it knows that it has been elected, and then tries again.
    "Unexpected error handling request RequestHeader(apiKey=CONTROLLER_REGISTRATION",
    "NotControllerException: The active controller appears to be node",
)


@contextmanager
def kafka(data: Path, port: int, ending: str, *, format_storage: bool = False) -> Iterator[str]:
    """A Kafka broker that must log no complaint."""
    with apache_kafka(data, extra=SETTINGS, format_storage=format_storage, port=port) as (bootstrap, process):
        yield bootstrap
        log = Path(os.readlink(f"/proc/{process.pid}/fd/1"))
        # Not the lines of a stack, which name methods such as completeExceptionally.
        lines = [line for line in log.read_text().splitlines() if not line.startswith("\tat ")]
        complaints = [line for line in lines if re.search(r"\bERROR\b|\bFATAL\b|Exception", line)]
        assert [line for line in complaints if not any(each in line for each in USUAL_COMPLAINTS)] == []
        if ending == KILL:
            process.kill()
            process.wait()


class Traveller:
    """A client of the broker that holds the directory."""

    def __init__(self, bootstrap: str) -> None:
        self._client = RawClient(bootstrap, client_id="traveller")

    def close(self) -> None:
        self._client.close()

    def ask(self, request: Any, version: int) -> Any:
        return self._client.ask(request, version)

    def patiently(self, request: Any, version: int, holds: Callable[[Any], bool]) -> Any:
        """A broker that has just started does not lead its partitions yet, and reads its
        coordinators' logs first."""
        answers: list[Any] = []

        def answered() -> bool:
            answers[:] = [self.ask(request, version)]
            return holds(answers[0])

        until(answered, "the broker answers as wanted", seen=lambda: answers)
        return answers[0]

    def done(self, request: Any, version: int) -> Any:
        retry = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS)
        answer = self.patiently(request, version, lambda answer: answer.error_code not in retry)
        assert answer.error_code == ErrorCode.NONE, answer
        return answer

    def await_coordinators(self) -> None:
        for key_type in (0, 1):
            asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["anybody"])
            self.patiently(asked, 5, lambda answer: answer.coordinators[0].error_code == ErrorCode.NONE)
        loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        groups = DescribeGroupsRequest(groups=[f"group {number}" for number in range(400)])
        self.patiently(groups, 5, lambda answer: all(each.error_code not in loading for each in answer.groups))
        ids = DescribeTransactionsRequest(transactional_ids=[f"id {number}" for number in range(400)])
        self.patiently(ids, 0, lambda answer: all(each.error_code not in loading for each in answer.transaction_states))
        asked_offsets = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(4)]
        offsets = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=TOPIC, partitions=asked_offsets)])
        self.patiently(offsets, 8, lambda answer: all(each.error_code == 0 for each in answer.topics[0].partitions))

    # -- the state of a broker ----------------------------------------------------------------

    def everything(self) -> dict[str, Any]:
        listed = plain(self.ask(ListGroupsRequest(), 5), 5)["groups"]
        names = sorted(each["group_id"] for each in listed)
        transactions = plain(self.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[]), 1), 1)["transaction_states"]
        ids = sorted(each["transactional_id"] for each in transactions)
        offsets = {}
        for name in names:
            for stable in (False, True):
                asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)], require_stable=stable)
                offsets[name, stable] = ordered(plain(self.ask(asked, 9), 9)["groups"])
        described = self.ask(DescribeTransactionsRequest(transactional_ids=ids), 0)
        consumer = ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
        producers = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[0, 1, 2, 3])])
        return {
            "groups": ordered(listed),
            "offsets": offsets,
            "classic": ordered(plain(self.ask(DescribeGroupsRequest(groups=names), 5), 5)["groups"]),
            "consumer": without(ordered(plain(self.ask(consumer, 1), 1)["groups"]), "error_message"),
            "transactions": ordered(plain(described, 0)["transaction_states"]),
            "producers": ordered(plain(self.ask(producers, 0), 0)["topics"]),
            "committed": {index: self.committed(index) for index in range(4)},
        }

    def committed(self, partition: int) -> tuple[int, int, list[tuple[int, str]]]:
        """The last stable offset, the high watermark, and the ends of transactions that are in the
        log."""
        ends: list[tuple[int, str]] = []
        offset = 0
        while True:
            asked = read(TOPIC, partition, offset=offset)
            answer = self.patiently(asked, 12, lambda answer: answer.responses[0].partitions[0].error_code == ErrorCode.NONE)
            (data,) = answer.responses[0].partitions
            if offset >= data.last_stable_offset:
                return data.last_stable_offset, data.high_watermark, ends
            records = memoryview(data.records)
            while records:
                header = read_header(records)
                ended = read_end_transaction(records[: header.size_bytes]) if header.control else None
                if ended is not None:
                    ends.append((header.producer_id, "commit" if ended[0] is ControlType.COMMIT else "abort"))
                offset = header.last_offset + 1
                records = records[header.size_bytes :]

    # -- writing ------------------------------------------------------------------------------

    def found(self) -> None:
        # Metadata names only brokers that are not fenced, and Kafka opens its port before.
        until(lambda: self.ask(MetadataRequest(topics=[]), 12).brokers, "the broker is unfenced")
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=4,
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name="retention.ms", value="-1")],
        )
        self.ask(CreateTopicsRequest(topics=[topic]), 7)

    def topic_id(self) -> Any:
        return self.ask(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]), 12).topics[0].topic_id

    def commit(self, group: str, offset: int, *, member: str = "", epoch: int = -1) -> None:
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset + index, committed_leader_epoch=0, committed_metadata="m"
            )
            for index in range(3)
        ]
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)
        request = OffsetCommitRequest(group_id=group, member_id=member, generation_id_or_member_epoch=epoch, topics=[topic])
        answer = self.ask(request, 9)
        assert all(each.error_code == 0 for each in answer.topics[0].partitions), answer

    def write(self, round_: str) -> dict[str, tuple[int, int]]:
        """Writes groups of every kind, and transactions; returns the identities of the transactions
        that are left open."""
        for number, name in enumerate(NAMES):
            self.commit(f"{round_} simple {name}", number)
        self._classic_group(f"{round_} stable", leaves=False)
        self._classic_group(f"{round_} empty", leaves=True)
        self._consumer_group(f"{round_} new")
        opened = {}
        for number, name in enumerate(("committed", "aborted", "to commit", "to abort", "to fence", *NAMES)):
            transactional_id = f"{round_} {name}"
            given = self.done(init(transactional_id, timeout_ms=SESSION_MS), 5)
            identity = given.producer_id, given.producer_epoch
            self._produce(transactional_id, identity, number % 4)
            group = f"{round_} simple {NAMES[0]}" if name == "committed" else f"{round_} in {name}"
            self._commit_offsets(transactional_id, identity, group, number)
            if name in ("committed", "aborted"):
                self.done(end(transactional_id, *identity, commit=name == "committed"), 5)
            elif name.startswith("to "):
                opened[name] = identity
            else:
                self.done(end(transactional_id, *identity, commit=True), 5)
            if not name.startswith("to "):
                self._at_rest(transactional_id)
        return opened

    def _produce(self, transactional_id: str, identity: tuple[int, int], partition: int) -> None:
        (answer,) = self.ask(produce(transactional_id, *identity, TOPIC, partition), 12).responses[0].partition_responses
        assert answer.error_code == 0, answer

    def _commit_offsets(self, transactional_id: str, identity: tuple[int, int], group: str, offset: int) -> None:
        answer = self.ask(commit_offsets(transactional_id, *identity, group, TOPIC, (0, 100 + offset)), 5)
        assert answer.topics[0].partitions[0].error_code == 0, answer

    def _at_rest(self, transactional_id: str) -> None:
        asked = DescribeTransactionsRequest(transactional_ids=[transactional_id])
        self.patiently(
            asked, 0, lambda answer: answer.transaction_states[0].transaction_state in ("Empty", "CompleteCommit", "CompleteAbort")
        )

    def _classic_group(self, group: str, *, leaves: bool) -> None:
        member = self.done(join(group, instance="one", session_ms=SESSION_MS), 9).member_id
        self.done(sync(group, 1, member, (member, b"all of it"), instance="one"), 5)
        self.commit(group, 50, member=member, epoch=1)
        if leaves:
            self.done(leave(5, group, (member, "one")), 5)

    def _consumer_group(self, group: str) -> None:
        joined = self.done(
            beat(group, "m", 0, instance_id="one", rebalance_timeout_ms=SESSION_MS, subscribed_topic_names=[TOPIC], topic_partitions=[]), 1
        )
        owned = [TopicPartitions(topic_id=self.topic_id(), partitions=[0, 1, 2, 3])]
        self.done(beat(group, "m", joined.member_epoch, instance_id="one", topic_partitions=owned), 1)
        self.done(beat(group, "n", 0, rebalance_timeout_ms=SESSION_MS, subscribed_topic_names=[TOPIC], topic_partitions=[]), 1)
        self.commit(group, 70, member="m", epoch=joined.member_epoch)
        # This member will return.
        self.done(beat(group, "m", -2, instance_id="one"), 1)

    # -- continuing members and producers -----------------------------------------------------

    def go_on(self, round_: str, opened: dict[str, tuple[int, int]]) -> None:
        """Continues with the members of the groups of a round, and its open transactions, at the
        current broker."""
        (stable,) = self.ask(DescribeGroupsRequest(groups=[f"{round_} stable"]), 5).groups
        (member,) = stable.members
        self.done(heartbeat(f"{round_} stable", 1, member.member_id, instance="one"), 4)
        again = self.done(join(f"{round_} stable", instance="one", session_ms=SESSION_MS), 9)
        assert (again.generation_id, again.member_id == member.member_id) == (1, False)
        assert self.done(sync(f"{round_} stable", 1, again.member_id, instance="one"), 5).assignment == b"all of it"
        group = f"{round_} new"
        (new,) = self.ask(ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False), 1).groups
        epochs = {each.member_id: each.member_epoch for each in new.members}
        assert epochs["m"] == -2
        back = self.done(
            beat(group, "m2", 0, instance_id="one", rebalance_timeout_ms=SESSION_MS, subscribed_topic_names=[TOPIC], topic_partitions=[]), 1
        )
        assert sum(len(topic.partitions) for topic in back.assignment.topic_partitions) in (2, 4)
        self.done(beat(group, "n", epochs["n"]), 1)
        # Neither a return nor a change of the program causes a new assignment: both hash the
        # metadata of topics in the same way.
        (then,) = self.ask(ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False), 1).groups
        assert then.group_epoch == new.group_epoch

        for name, identity in opened.items():
            transactional_id = f"{round_} {name}"
            if name == "to fence":
                fencing = self.done(init(transactional_id), 5)
                assert (fencing.producer_id, fencing.producer_epoch > identity[1]) == (identity[0], True)
                refused = self.ask(end(transactional_id, *identity, commit=True), 5)
                assert refused.error_code == ErrorCode.PRODUCER_FENCED
            else:
                self.done(end(transactional_id, *identity, commit=name == "to commit"), 5)
            self._at_rest(transactional_id)
        producers = {identity[0] for identity in opened.values()}
        ended = {each for index in range(4) for each in self.committed(index)[2] if each[0] in producers}
        assert ended == {(identity[0], "commit" if name == "to commit" else "abort") for name, identity in opened.items()}
        for name in opened:
            asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=f"{round_} in {name}", topics=None)], require_stable=True)
            topics = self.ask(asked, 9).groups[0].topics
            assert [each.committed_offset for topic in topics for each in topic.partitions] == ([102] if name == "to commit" else [])


def beat(group: str, member: str, epoch: int, **options: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **options)


def ordered(value: Any) -> Any:
    """Sorts all lists, because no order here has a meaning."""
    if isinstance(value, dict):
        return {key: ordered(each) for key, each in value.items()}
    return sorted((ordered(each) for each in value), key=repr) if isinstance(value, list) else value


def without(value: Any, field: str) -> Any:
    return [{key: each for key, each in item.items() if key != field} for item in value]


@contextmanager
def travelling(bootstrap: str) -> Iterator[Traveller]:
    traveller = Traveller(bootstrap)
    try:
        traveller.await_coordinators()
        yield traveller
    finally:
        traveller.close()


def same_as(before: dict[str, Any], traveller: Traveller) -> None:
    now = traveller.everything()
    for what in before:
        assert now[what] == before[what], what


def test_groups_and_transactions_survive_kafka_to_barnabas_and_back(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with kafka(data, port, KILL, format_storage=True) as bootstrap:
        first = Traveller(bootstrap)
        first.found()
        first.close()
        with travelling(bootstrap) as traveller:
            left_open = traveller.write("kafka's")
            before = traveller.everything()

    with barnabas(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        same_as(before, traveller)
        traveller.go_on("kafka's", left_open)
        left_open = traveller.write("ours")
        before = traveller.everything()

    with kafka(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        same_as(before, traveller)
        traveller.go_on("ours", left_open)
        left_open = traveller.write("kafka's second")
        before = traveller.everything()

    with barnabas(data, port, KILL) as bootstrap, travelling(bootstrap) as traveller:
        same_as(before, traveller)
        traveller.go_on("kafka's second", left_open)
        left_open = traveller.write("our second")
        before = traveller.everything()

    with kafka(data, port, STOP) as bootstrap, travelling(bootstrap) as traveller:
        same_as(before, traveller)
        traveller.go_on("our second", left_open)
