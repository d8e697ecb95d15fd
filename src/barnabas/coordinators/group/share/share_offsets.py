"""The offsets of share groups, and the deletion of groups, as far as the group coordinator decides.

The offsets themselves are in the share coordinator. Each request takes two operations with a
request to the share coordinator in between: the first checks the group and writes down what is
going to happen, the second what has happened.

| request                  | first operation | then                     | second operation      |
|--------------------------|-----------------|--------------------------|-----------------------|
| AlterShareGroupOffsets   | initializing    | initialize with offsets  | initialized           |
| DeleteShareGroupOffsets  | deleting        | delete                   | forgotten             |
| DeleteGroups             | deleting        | delete                   | the group's tombstone |
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.group.share.initialization import Initialization
from barnabas.coordinators.group.share.share_change import ShareChange
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.topic_states import TopicPartitions
from barnabas.coordinators.outcome import Outcome
from barnabas.metadata.topics import TopicImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest


@dataclass(frozen=True, slots=True)
class Deletion:
    """The state to delete, and the topics that have none."""

    partitions: tuple[IdPartition, ...]
    without_state: frozenset[Uuid] = frozenset()


_NOT_EMPTY = Refusal(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")


class ShareOffsets:
    def __init__(self, shard: GroupShard, initialization: Initialization) -> None:
        self._shard = shard
        self._initialization = initialization

    def begin_altering(self, request: AlterShareGroupOffsetsRequest, now_ms: int) -> Outcome[InitializeStates | Refusal]:
        """Creates the group if it does not exist. The topics and partitions exist."""
        group = self._shard.groups.get(request.group_id) or ShareGroup(request.group_id)
        if not isinstance(group, ShareGroup):
            return Outcome(_not_shared(request.group_id))
        if group.members:
            return Outcome(_NOT_EMPTY)
        topics = self._shard.image().topics.by_name
        known = [(topics[topic.topic_name], topic) for topic in request.topics if topic.topic_name in topics]
        offsets = {
            (topic.topic_id, each.partition_index): each.start_offset
            for topic, asked in known
            for each in asked.partitions
            if each.partition_index in topic.partitions
        }
        states = {
            topic.topic_id: TopicPartitions(topic.name, frozenset(number for topic_id, number in offsets if topic_id == topic.topic_id))
            for topic, _ in known
        }
        change = ShareChange(group)
        if states:
            change.take_states(change.states.begin(states))
        return Outcome(
            self._initialization.request(group.group_id, group.epoch, offsets, now_ms),
            change.records,
            if_refused=lambda _: self._initialization.forget(group.group_id),
        )

    def begin_deleting(self, group_id: str, topic_ids: AbstractSet[Uuid]) -> Outcome[Deletion | Refusal]:
        """Deletes the offsets of whole topics. The topics exist."""
        group = self._shard.groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return Outcome(_not_found(group_id) if group is None else _not_shared(group_id))
        if group.members:
            return Outcome(_NOT_EMPTY)
        topics, states = self._shard.image().topics.by_id, group.states
        with_state = topic_ids & (states.initialized.keys() | states.deleting.keys())
        found = {topic_id: topics[topic_id] for topic_id in with_state if topic_id in topics}
        change, deletion = _deleting(group, found, topic_ids - found.keys())
        return Outcome(deletion, change.records)

    def begin_deleting_group(self, group_id: str) -> Outcome[Deletion | ErrorCode]:
        """Nothing to delete for groups of other kinds and for groups that do not exist."""
        group = self._shard.groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return Outcome(Deletion(()))
        if group.members:
            return Outcome(ErrorCode.NON_EMPTY_GROUP)
        topics, states = self._shard.image().topics.by_id, group.states
        with_state = states.initialized.keys() | states.initializing.keys() | states.deleting.keys()
        change, deletion = _deleting(group, {topic_id: topics[topic_id] for topic_id in with_state if topic_id in topics}, frozenset())
        return Outcome(deletion, change.records)

    def deleted(self, group_id: str, topic_ids: AbstractSet[Uuid]) -> Outcome[None]:
        """The share coordinator has deleted the state of these topics."""
        group = self._shard.groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return Outcome(None)
        change = ShareChange(group)
        change.take_states(change.states.deleted(topic_ids))
        return Outcome(None, change.records)


def _deleting(group: ShareGroup, found: dict[Uuid, TopicImage], missing: AbstractSet[Uuid]) -> tuple[ShareChange, Deletion]:
    change = ShareChange(group)
    change.take_states(change.states.begin_deleting({topic_id: topic.name for topic_id, topic in found.items()}))
    # All partitions of the topic: an earlier deletion may have failed for some of them. To delete
    # state that does not exist is no error.
    partitions = tuple((topic_id, number) for topic_id, topic in sorted(found.items()) for number in sorted(topic.partitions))
    return change, Deletion(partitions, frozenset(missing))


def _not_shared(group_id: str) -> Refusal:
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")


def _not_found(group_id: str) -> Refusal:
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
