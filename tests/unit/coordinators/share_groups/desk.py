"""A group coordinator with one shard, its log in memory, a share coordinator in memory, and a small
language: commands in, transcript out. The commands about topics, time and the log are those of
:mod:`tests.unit.coordinators.consumer.desk`; members use ShareGroupHeartbeat.

    A joins a,b                 with epoch 0
    A beats                     with the last epoch it received. Also: at 3 | reading a,b
    A leaves
    the share coordinator is late | answers | refuses 1 NOT_COORDINATOR | accepts
    offsets of a become 5,7     AlterShareGroupOffsets, partition by partition
    offsets of a are deleted    DeleteShareGroupOffsets
    show                        the group's state, its epochs and the states of its topics
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share import records
from barnabas.coordinators.group.share.settings import ShareGroupSettings
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.topic_states import TopicStates
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.coordinators.share_group_states import Codes, DeletedOffsets, ShareGroupStates
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.share_group_describe import DescribedGroup
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.unit.controller.core.deciding import Dice
from tests.unit.coordinators.consumer.desk import Desk
from tests.unit.coordinators.share_groups.persister import PersisterInMemory

SHARD = 0
GROUP = "g"
Answered = ShareGroupHeartbeatResponse | ErrorCode | str | None


class _DeskClock:
    def __init__(self, desk: ShareDesk) -> None:
        self._desk = desk

    def wall_ms(self) -> int:
        return self._desk.now_ms

    def monotonic_ms(self) -> int:
        return self._desk.now_ms


class ShareDesk(Desk):
    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.persister = PersisterInMemory()
        super().__init__(settings or GroupSettings(share=without_assignment_interval()))

    def reload(self) -> None:
        if self._epoch:
            self.runtime.unload(SHARD)
        self._epoch += 1

        def make(partition: int) -> GroupMachine:
            return GroupMachine(GroupShard(partition, self.settings, Dice(), lambda: self.image, lambda _: self.own_settings))

        self.runtime = CoordinatorRuntime(
            make, GROUP_RECORD_TYPES, self, on_effect=lambda shard, effect: self.states.perform(shard, effect), on_deadline=lambda _: None
        )
        self.coordinator = Coordinator("__consumer_offsets", self.runtime, _DeskClock(self), lambda: 1)
        self.states = ShareGroupStates(self.coordinator, self.persister)
        self.runtime.begin_loading(SHARD, self._epoch)
        for batch in self.batches:
            self.runtime.replay_batch(SHARD, self._epoch, batch)
        self.runtime.finish_loading(SHARD, self._epoch, len(self.batches), self.now_ms)

    @property
    def share_group(self) -> ShareGroup:
        group = self.machine.shard.groups[GROUP]
        assert isinstance(group, ShareGroup)
        return group

    def beat_share(self, member_id: str, epoch: int, topics: Iterable[str] | None = None) -> ShareGroupHeartbeatResponse | ErrorCode:
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=epoch, subscribed_topic_names=None if topics is None else list(topics)
        )

        def operation(machine: GroupMachine) -> Outcome[ShareGroupHeartbeatResponse]:
            return machine.share.heartbeat(request, client_id="client", client_host="/host", now_ms=self.now_ms)

        answer = self.runtime.run(SHARD, self.now_ms, operation)
        assert answer.done
        response = answer.value
        if not isinstance(response, ErrorCode) and response.error_code == ErrorCode.NONE:
            self.epochs[member_id] = response.member_epoch
        return response

    def describe(self) -> DescribedGroup:
        described = self.runtime.run(SHARD, self.now_ms, lambda machine: machine.share.describe(GROUP)).value
        assert not isinstance(described, ErrorCode)
        return described

    def begin_altering(self, topic: str, offsets: Iterable[int]) -> Promise[Codes | Refusal | ErrorCode]:
        asked = [AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=each) for index, each in enumerate(offsets)]
        request = AlterShareGroupOffsetsRequest(
            group_id=GROUP, topics=[AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=asked)]
        )
        return self.states.alter(request)

    def alter(self, topic: str, offsets: Iterable[int]) -> Codes | Refusal | ErrorCode:
        answer = self.begin_altering(topic, offsets)
        assert answer.done
        return answer.value

    # -- the language ------------------------------------------------------------------------------

    def perform(self, command: str) -> None:
        self.lines.append(f"> {command}")
        where = len(self.lines)
        answer = self._answer_share(command.split())
        if answer is not None:
            self.lines.insert(where, f"  {answer if isinstance(answer, str) else self._answered_share(answer)}")

    def _answer_share(self, words: list[str]) -> Answered:
        match words:
            case ["the", "share", "coordinator", *what]:
                self._instruct(what)
                return None
            case ["offsets", "of", topic, "become", offsets]:
                altered = self.alter(topic, map(int, offsets.split(",")))
                return _codes(altered.values()) if isinstance(altered, dict) else _refusal(altered)
            case ["offsets", "of", topic, "are", "deleted"]:
                topic_id = self.image.topics.by_name[topic].topic_id
                deleted = self.states.delete_offsets(GROUP, {topic_id}).value
                if not isinstance(deleted, DeletedOffsets):
                    return _refusal(deleted)
                return "no offsets" if topic_id in deleted.without_state else deleted.codes[topic_id].name
            case ["show"]:
                group = self.share_group
                return f"{group.state_name} group {group.epoch} target {group.target_epoch}; {self._shown_states(group.states)}"
            case [member_id, "joins", topics]:
                return self.beat_share(member_id, 0, topics.split(","))
            case [member_id, "beats", *how]:
                said = dict(zip(how[::2], how[1::2], strict=True))
                reading = said["reading"].split(",") if "reading" in said else None
                return self.beat_share(member_id, int(said.get("at", self.epochs.get(member_id, 0))), reading)
            case [member_id, "leaves"]:
                return self.beat_share(member_id, -1)
            case _:
                answer = self._answer(words)
                assert answer is None, f"no such command: {words}"
                return None

    def _instruct(self, what: list[str]) -> None:
        match what:
            case ["is", "late"]:
                self.persister.late = True
            case ["answers"]:
                self.persister.late = False
                self.persister.answer_late_requests()
            case ["refuses", partition, code]:
                self.persister.refusals[int(partition)] = ErrorCode[code]
            case ["accepts"]:
                self.persister.refusals.clear()
            case _:
                raise AssertionError(f"no such command: {what}")

    def _answered_share(self, answer: ShareGroupHeartbeatResponse | ErrorCode) -> str:
        if isinstance(answer, ErrorCode):
            return answer.name
        if answer.error_code != ErrorCode.NONE:
            return ErrorCode(answer.error_code).name
        if answer.assignment is None:
            return f"epoch {answer.member_epoch}"
        return (
            f"epoch {answer.member_epoch} {self._names((t.topic_id, p) for t in answer.assignment.topic_partitions for p in t.partitions)}"
        )

    def _shown_states(self, states: TopicStates) -> str:
        initializing = self._names((topic_id, number) for topic_id, topic in states.initializing.items() for number in topic.partitions)
        initialized = self._names(states.initialized_partitions())
        return f"initializing {initializing} initialized {initialized} deleting {','.join(sorted(states.deleting.values())) or '-'}"

    def _shown(self, record: CoordinatorRecord) -> str:
        key: Any = record.key
        value: Any = record.value
        match type(key).__name__, value:
            case "ShareGroupMemberMetadataKey", None:
                return f"{key.member_id} is gone"
            case "ShareGroupMemberMetadataKey", _:
                return f"{key.member_id} reads {','.join(records.subscription_from(value).topics)}"
            case "ShareGroupMetadataKey", None:
                return "group is gone"
            case "ShareGroupMetadataKey", _:
                return f"group {value.epoch}"
            case "ShareGroupTargetAssignmentMetadataKey", None:
                return "target is gone"
            case "ShareGroupTargetAssignmentMetadataKey", _:
                return f"target {value.assignment_epoch}"
            case "ShareGroupTargetAssignmentMemberKey", None:
                return f"{key.member_id} has no target"
            case "ShareGroupTargetAssignmentMemberKey", _:
                return f"{key.member_id} targets {self._names(records.target_from(value))}"
            case "ShareGroupCurrentMemberAssignmentKey", None:
                return f"{key.member_id} has no partitions"
            case "ShareGroupCurrentMemberAssignmentKey", _:
                assigned = records.assignment_from(value)
                return f"{key.member_id} at {assigned.epoch} has {self._names(assigned.partitions)}"
            case "ShareGroupStatePartitionMetadataKey", None:
                return "states are gone"
            case "ShareGroupStatePartitionMetadataKey", _:
                return self._shown_states(records.topic_states_from(value))
        return super()._shown(record)


def without_assignment_interval(size_max: int = 200) -> ShareGroupSettings:
    default = ShareGroupSettings()
    return ShareGroupSettings(
        default.session_timeout_ms,
        default.heartbeat_interval_ms,
        type(default.assignment_interval_ms)("share.assignment.interval.ms", 0, 0, 15_000),
        size_max=size_max,
    )


def _codes(codes: Iterable[ErrorCode]) -> str:
    return ",".join(code.name for code in codes)


def _refusal(refusal: Refusal | ErrorCode) -> str:
    return refusal.code.name if isinstance(refusal, Refusal) else refusal.name


def holds(transcript: str, settings: GroupSettings | None = None) -> None:
    """The commands of the transcript give the same transcript when they run at a new desk."""
    expected = [line[4:].rstrip() for line in transcript.strip("\n").splitlines()]
    while expected and not expected[-1]:
        expected.pop()
    desk = ShareDesk(settings)
    for line in expected:
        if line.startswith("> "):
            desk.perform(line[2:])
    assert "\n".join(desk.lines) == "\n".join(expected)
