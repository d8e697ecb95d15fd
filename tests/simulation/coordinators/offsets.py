"""Committed offsets: a reader gets the offsets of the committed part of the log, and none that
could still be lost.

The log below its high watermark never changes, so a coordinator that only returns its contents
cannot go back by itself: only a commit can lower an offset. :class:`Reference` follows the log in
its own, simple way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.record import decode_record
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.records.record import open_batch
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD
from tests.simulation.coordinators.producers import GROUP
from tests.simulation.coordinators.world import Ask, Script, World

COMMIT_VERSION = 9  # the last one that names topics
FETCH_VERSION = 9

Key = tuple[str, int]  # group and partition of the data


class Reference:
    """The offsets in the log after each of its batches."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._end = 0
        self._position = 0
        # By key: the latest commit, and its position in the log, since a later commit beats an
        # earlier one that ends later.
        self._committed: dict[Key, tuple[int, int]] = {}
        self._pending: dict[int, dict[Key, tuple[int, int]]] = {}
        self._history: list[tuple[int, dict[Key, int], frozenset[Key]]] = [(0, {}, frozenset())]
        self.commits: set[tuple[Key, int]] = set()

    def at(self, end_offset: int) -> tuple[dict[Key, int], frozenset[Key]]:
        """Offsets, and those that a pending transaction may change, as of ``end_offset``, which
        must be committed.
        """
        self._follow()
        assert end_offset <= self._end, "a response contains an offset that is not committed"
        _, offsets, pending = next(each for each in reversed(self._history) if each[0] <= end_offset)
        return offsets, pending

    def has(self, key: Key, offset: int) -> bool:
        self._follow()
        return (key, offset) in self.commits

    def _follow(self) -> None:
        partition = self._world.node.partitions[GROUPS_SHARD]
        if self._end == partition.high_watermark:
            return
        for header, batch in partition.log.batches(self._end, partition.high_watermark):
            if header.control:
                ended = read_end_transaction(batch)
                assert ended is not None
                for key, pending in self._pending.pop(header.producer_id, {}).items():
                    if ended[0] is ControlType.COMMIT:
                        self._committed[key] = max(pending, self._committed.get(key, pending))
            else:
                self._take(batch, header.producer_id if header.transactional else None)
            self._end = header.last_offset + 1
            offsets = {key: offset for key, (_, offset) in self._committed.items()}
            self._history.append((self._end, offsets, frozenset().union(*self._pending.values())))

    def _take(self, batch: memoryview, producer_id: int | None) -> None:
        into = self._committed if producer_id is None else self._pending.setdefault(producer_id, {})
        for record in open_batch(batch):
            assert record.key is not None
            decoded = decode_record(GROUP_RECORD_TYPES, record.key, record.value)
            if decoded is None or not isinstance(decoded.key, OffsetCommitKey):
                continue
            assert decoded.value is not None, "no offset is deleted here"
            self._position += 1
            key = decoded.key.group, decoded.key.partition
            into[key] = self._position, decoded.value.offset
            self.commits.add((key, decoded.value.offset))


class OffsetWitness:
    def __init__(self, world: World, reference: Reference) -> None:
        self._world = world
        self._reference = reference
        self.fetches = 0
        world.witnesses.append(self.see)

    def see(self, request: Any, answer: Promise[Any]) -> None:
        match request:
            case OffsetFetchRequest():
                # The response reflects the log as it is now, however late it is delivered.
                end_offset = self._world.node.partitions[GROUPS_SHARD].log.log_end_offset
                answer.then(lambda response: self._check_fetch(response, end_offset, stable=request.require_stable))
            case OffsetCommitRequest():
                answer.then(lambda response: self._check_commit(request, response))
            case TxnOffsetCommitRequest():
                answer.then(lambda response: self._check_commit(request, response))

    def _check_fetch(self, response: OffsetFetchResponse, end_offset: int, *, stable: bool) -> None:
        (group,) = response.groups
        if group.error_code:
            return
        self.fetches += 1
        expected, pending = self._reference.at(end_offset)
        for reported in group.topics[0].partitions:
            key = group.group_id, reported.partition_index
            if reported.error_code:
                assert reported.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
                assert stable
                assert key in pending, f"{key} is reported as pending, and is not"
                continue
            assert not stable or key not in pending, f"{key} is pending, and not reported as such"
            assert reported.committed_offset == expected.get(key, -1), (
                f"{key}: reported {reported.committed_offset}, in the log {expected.get(key)}"
            )

    def _check_commit(self, request: Any, response: Any) -> None:
        for topic, answered in zip(request.topics, response.topics, strict=True):
            for partition, reported in zip(topic.partitions, answered.partitions, strict=True):
                if not reported.error_code:
                    key = request.group_id, partition.partition_index
                    assert self._reference.has(key, partition.committed_offset), f"{key}: an acknowledged commit is not committed"


def commit_request(group: str, index: int, offset: int, *, member_id: str = "", epoch: int = -1) -> Ask:
    partition = OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name=DATA, partitions=[partition])]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=epoch, member_id=member_id, topics=topics)
    return Ask(request, COMMIT_VERSION)


def fetch_request(group: str, *, require_stable: bool) -> Ask:
    asked = OffsetFetchRequestGroup(
        group_id=group,
        member_id=None,
        member_epoch=-1,
        topics=[OffsetFetchRequestTopics(name=DATA, partition_indexes=list(range(DATA_PARTITIONS)))],
    )
    return Ask(OffsetFetchRequest(groups=[asked], require_stable=require_stable), FETCH_VERSION)


def reader(world: World, groups: list[str]) -> Callable[[], Script]:
    """Asks for the offsets of groups, and now and then commits for one that has no members, beside
    the transactions.
    """

    def script() -> Script:
        offset = 1_000_000
        while True:
            if world.chance.random() < 0.3:
                offset += 1
                yield commit_request(GROUP, world.chance.randrange(DATA_PARTITIONS), offset)
            else:
                yield fetch_request(world.chance.choice(groups), require_stable=world.chance.random() < 0.5)

    return script
