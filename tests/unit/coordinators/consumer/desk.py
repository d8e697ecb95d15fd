"""A group coordinator with one shard, its log in memory, and a small language: commands in,
transcript out.

    topic a 4                   create a topic with four partitions, or grow it to four
    delete a
    hide a                      members may not describe it; or: reveal a
    A joins a,b                 ConsumerGroupHeartbeat with epoch 0.
                                Also: matching a.* | as i | with range | timeout 5000
    A beats                     with the last epoch it received.
                                Also: at 3 | owning a0,a1 | reading a,b
    A leaves                    for good; or: A leaves for a while
    wait 1000                   milliseconds pass
    reload                      another broker takes over and has only the log
    refuse NOT_ENOUGH_REPLICAS  the log's answer to appends; NONE ends it
    show                        the group's state and epochs

The transcript has every command as ``> command``, and below it the response and the ``log``. The
group is ``g``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord, decode_record
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.records.record import open_batch
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from barnabas.wire.metadata_records import PartitionRecord, RemoveTopicRecord, TopicRecord
from tests.unit.controller.core.deciding import Dice
from tests.unit.metadata.made import after

START_MS = 1_700_000_000_000
SHARD = 0
GROUP = "g"
REBALANCE_TIMEOUT_MS = 30_000


class Desk:
    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings(consumer_assignment_interval_ms=0)
        self.now_ms = START_MS
        self.image = MetadataImage()
        self.hidden: frozenset[str] = frozenset()
        self._rules_version = 0
        self.own_settings: dict[str, str] = {}
        self.batches: list[bytearray] = []
        self.refusal = ErrorCode.NONE
        self.epochs: dict[str, int] = {}  # As the members know it.
        self.lines: list[str] = []
        self._epoch = 0
        self._metadata_offset = 0
        self._topics_made = 0
        self.reload()

    # -- the log the coordinator works with --------------------------------------------------------

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        if self.refusal:
            return self.refusal
        self.batches.append(batch)
        for record in open_batch(batch):
            assert record.key is not None
            decoded = decode_record(GROUP_RECORD_TYPES, record.key, record.value)
            assert decoded is not None
            self.lines.append(f"  log {self._shown(decoded)}")
        return len(self.batches)

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        return Promise.kept(ErrorCode.NONE)

    # -- the world ---------------------------------------------------------------------------------

    def reload(self) -> None:
        self._epoch += 1

        def make(partition: int) -> GroupMachine:
            shard = GroupShard(partition, self.settings, Dice(), lambda: self.image, lambda _: self.own_settings)
            return GroupMachine(shard)

        self.runtime: CoordinatorRuntime[GroupMachine] = CoordinatorRuntime(
            make, GROUP_RECORD_TYPES, self, on_effect=lambda *_: None, on_deadline=lambda _: None
        )
        self.runtime.begin_loading(SHARD, self._epoch)
        for batch in self.batches:
            self.runtime.replay_batch(SHARD, self._epoch, batch)
        self.runtime.finish_loading(SHARD, self._epoch, len(self.batches), self.now_ms)

    def topic(self, name: str, partitions: int) -> None:
        known = self.image.topics.by_name.get(name)
        if known is None:
            self._topics_made += 1
            topic_id, first = Uuid(name.encode().ljust(15, b"-") + bytes([self._topics_made])), 0
        else:
            topic_id, first = known.topic_id, len(known.partitions)
        made = [] if known is not None else [TopicRecord(name=name, topic_id=topic_id)]
        added = [
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                removing_replicas=[],
                adding_replicas=[],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[],
            )
            for index in range(first, partitions)
        ]
        self._publish([*made, *added])

    def delete(self, name: str) -> None:
        self._publish([RemoveTopicRecord(topic_id=self.image.topics.by_name[name].topic_id)])

    def _publish(self, changes: Iterable[TopicRecord | PartitionRecord | RemoveTopicRecord]) -> None:
        self._metadata_offset += 1
        self.image = after(changes, self.image, Provenance(self._metadata_offset, 1, self.now_ms))

    def wait(self, duration_ms: int) -> None:
        until_ms = self.now_ms + duration_ms
        while (deadline_ms := self.runtime.next_deadline_ms) is not None and deadline_ms <= until_ms:
            self.now_ms = deadline_ms
            self.runtime.tick(deadline_ms)
        self.now_ms = until_ms

    @property
    def machine(self) -> GroupMachine:
        (machine,) = self.runtime.machines()
        return machine

    @property
    def group(self) -> ConsumerGroup:
        group = self.machine.shard.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    # -- the members -------------------------------------------------------------------------------

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ConsumerGroupHeartbeatResponse | ErrorCode:
        def operation(machine: GroupMachine) -> Outcome[ConsumerGroupHeartbeatResponse]:
            return machine.consumer.heartbeat(
                request, version=version, client_id="client", client_host="/host", visible=visible, now_ms=self.now_ms
            )

        visible = VisibleTopics(self.image.topics.by_name.keys() - self.hidden, self._rules_version)

        answer = self.runtime.run(SHARD, self.now_ms, operation)
        assert answer.done
        response = answer.value
        if not isinstance(response, ErrorCode) and response.error_code == ErrorCode.NONE and response.member_id is not None:
            self.epochs[response.member_id] = response.member_epoch
        return response

    def join(
        self,
        member_id: str,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
        timeout_ms: int = REBALANCE_TIMEOUT_MS,
        version: int = 1,
    ) -> ConsumerGroupHeartbeatResponse | ErrorCode:
        return self.heartbeat(
            ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=member_id,
                member_epoch=0,
                instance_id=instance_id,
                rebalance_timeout_ms=timeout_ms,
                subscribed_topic_names=None if topics is None else list(topics),
                subscribed_topic_regex=pattern,
                server_assignor=assignor,
                topic_partitions=[],
            ),
            version,
        )

    def beat(
        self,
        member_id: str,
        *,
        epoch: int | None = None,
        owned: Iterable[IdPartition] | None = None,
        topics: Iterable[str] | None = None,
        pattern: str | None = None,
        instance_id: str | None = None,
        timeout_ms: int = -1,
    ) -> ConsumerGroupHeartbeatResponse | ErrorCode:
        """Without a timeout it is not a full request."""
        owned_topics = None
        if owned is not None:
            owned_topics = [TopicPartitions(topic_id=topic_id, partitions=each) for topic_id, each in by_topic(owned).items()]
        return self.heartbeat(
            ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=member_id,
                member_epoch=self.epochs.get(member_id, 0) if epoch is None else epoch,
                instance_id=instance_id,
                rebalance_timeout_ms=timeout_ms,
                subscribed_topic_names=None if topics is None else list(topics),
                subscribed_topic_regex=pattern,
                topic_partitions=owned_topics,
            )
        )

    # -- the language ------------------------------------------------------------------------------

    def perform(self, command: str) -> None:
        self.lines.append(f"> {command}")
        where = len(self.lines)
        answer = self._answer(command.split())
        if answer is not None:
            self.lines.insert(where, f"  {answer if isinstance(answer, str) else self._answered(answer)}")

    def _answer(self, words: list[str]) -> ConsumerGroupHeartbeatResponse | ErrorCode | str | None:
        match words:
            case ["topic", name, partitions]:
                self.topic(name, int(partitions))
            case ["delete", name]:
                self.delete(name)
            case ["hide", name]:
                self.hidden |= {name}
                self._rules_version += 1
            case ["reveal", name]:
                self.hidden -= {name}
                self._rules_version += 1
            case ["wait", duration_ms]:
                self.wait(int(duration_ms))
            case ["reload"]:
                self.reload()
            case ["refuse", code]:
                self.refusal = ErrorCode[code]
            case ["show"]:
                return f"{self.group.state_name} group {self.group.epoch} target {self.group.target_epoch}"
            case [member_id, "joins", *how]:
                return self._perform_join(member_id, how)
            case [member_id, "beats", *how]:
                said = _pairs(how)
                return self.beat(
                    member_id,
                    epoch=int(said["at"]) if "at" in said else None,
                    owned=self.partitions(said["owning"]) if "owning" in said else None,
                    topics=_list(said["reading"]) if "reading" in said else None,
                    instance_id=said.get("as"),
                )
            case [member_id, "leaves", "for", "a", "while", "as", instance_id]:
                return self.beat(member_id, epoch=-2, instance_id=instance_id)
            case [member_id, "leaves", *how]:
                return self.beat(member_id, epoch=-1, instance_id=_pairs(how).get("as"))
            case _:
                raise AssertionError(f"no such command: {words}")
        return None

    def _perform_join(self, member_id: str, how: list[str]) -> ConsumerGroupHeartbeatResponse | ErrorCode:
        topics = _list(how.pop(0)) if len(how) % 2 else None
        said = _pairs(how)
        return self.join(
            member_id,
            topics,
            pattern=said.get("matching"),
            instance_id=said.get("as"),
            assignor=said.get("with"),
            timeout_ms=int(said.get("timeout", REBALANCE_TIMEOUT_MS)),
        )

    def partitions(self, text: str) -> list[IdPartition]:
        """``a0,b12``; ``-`` for none."""
        return [(self.image.topics.by_name[each[0]].topic_id, int(each[1:])) for each in _list(text)]

    def _names(self, partitions: Iterable[IdPartition]) -> str:
        return ",".join(f"{chr(topic_id[0])}{partition}" for topic_id, partition in sorted(partitions)) or "-"

    def _answered(self, response: ConsumerGroupHeartbeatResponse | ErrorCode) -> str:
        if isinstance(response, ErrorCode):
            return response.name
        if response.error_code:
            return ErrorCode(response.error_code).name
        if response.assignment is None:
            return f"epoch {response.member_epoch}"
        given = [(topic.topic_id, partition) for topic in response.assignment.topic_partitions for partition in topic.partitions]
        return f"epoch {response.member_epoch} {self._names(given)}"

    def _shown(self, record: CoordinatorRecord) -> str:
        """Descriptions of records, by the name of the key's class."""
        key: Any = record.key
        value: Any = record.value
        match type(key).__name__, value:
            case "ConsumerGroupMemberMetadataKey", None:
                return f"{key.member_id} is gone"
            case "ConsumerGroupMemberMetadataKey", _:
                asked = records.subscription_from(value)
                pattern = f" matching {asked.pattern}" if asked.pattern else ""
                return f"{key.member_id} reads {','.join(asked.topics) or '-'}{pattern}"
            case "ConsumerGroupMetadataKey", None:
                return "group is gone"
            case "ConsumerGroupMetadataKey", _:
                return f"group {value.epoch}"
            case "ConsumerGroupTargetAssignmentMetadataKey", None:
                return "target is gone"
            case "ConsumerGroupTargetAssignmentMetadataKey", _:
                return f"target {value.assignment_epoch}"
            case "ConsumerGroupTargetAssignmentMemberKey", None:
                return f"{key.member_id} shall own nothing"
            case "ConsumerGroupTargetAssignmentMemberKey", _:
                return f"{key.member_id} shall own {self._names(records.target_from(value))}"
            case "ConsumerGroupCurrentMemberAssignmentKey", None:
                return f"{key.member_id} owns nothing"
            case "ConsumerGroupCurrentMemberAssignmentKey", _:
                owned = records.ownership_from(value)
                revoking = f" revoking {self._names(owned.revoking)}" if owned.revoking else ""
                return f"{key.member_id} at {owned.epoch} {owned.state.name} owns {self._names(owned.assigned)}{revoking}"
            case "ConsumerGroupRegularExpressionKey", None:
                return f"{key.regular_expression} is gone"
            case "ConsumerGroupRegularExpressionKey", _:
                return f"{key.regular_expression} is {','.join(value.topics) or '-'}"
            case "GroupMetadataKey", None:
                return "classic group is gone"
            case name, _:
                return name
        raise AssertionError(record)


def holds(transcript: str, settings: GroupSettings | None = None) -> None:
    """The commands of the transcript give the same transcript when they run at a new desk."""
    expected = [line[4:].rstrip() for line in transcript.strip("\n").splitlines()]
    while expected and not expected[-1]:
        expected.pop()
    desk = Desk(settings)
    for line in expected:
        if line.startswith("> "):
            desk.perform(line[2:])
    assert "\n".join(desk.lines) == "\n".join(expected)


def _list(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=True))
