"""The steps by which a streams group follows its members and topics: a configured topology, a new
group epoch and a new target.

Each step works on a :class:`GroupChange`. What it learns about topics stays with the group, and is
computed again if the group epoch that came of it could not be written.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.assignment_interval import may_assign
from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.configured_topology import ConfiguredTopology, configure
from barnabas.coordinators.group.streams.group_change import GroupChange
from barnabas.coordinators.group.streams.sticky_assignor import TaskMember, assign_sticky
from barnabas.coordinators.group.streams.sticky_changes import changed_tasks
from barnabas.coordinators.group.streams.streams_group import MetadataSeen, StreamsGroup
from barnabas.coordinators.group.streams.tasks import NO_TARGET, TaskGroup, Tasks
from barnabas.coordinators.group.streams.topology import Topology
from barnabas.metadata.metadata_image import MetadataImage

STANDBY_REPLICAS = "num.standby.replicas"
_NOT_VALIDATED = -1


def follow_topics(change: GroupChange, image: MetadataImage, configs: Mapping[str, str], *, changed: bool) -> ConfiguredTopology | Refusal:
    """Configure the topology, and raise the group epoch if the members ``changed``, or if the
    topology, its topics or the settings of the assignment did.
    """
    group, topology, topics = change.group, change.topology, image.topics
    assert topology is not None, "a group with members has a topology"
    seen, configured = group.metadata_seen, group.configured
    digest = group.metadata_hash
    current = configured is not None and configured.topology is topology and seen is not None
    if not (current and seen is not None and seen.topics is topics and seen.epoch == group.epoch):
        racks = {each.broker_id: each.rack for each in image.cluster.brokers.values() if each.rack is not None}
        digest = metadata_hash(topology.required_topics, topics, racks)
        if not current or digest != group.metadata_hash:
            found = configure(topology, topics)
            if isinstance(found, Refusal):
                return found
            configured = found
    assert configured is not None
    validated = topology.epoch if configured.ready else _NOT_VALIDATED
    if changed or digest != group.metadata_hash or validated != group.validated_topology_epoch or configs != group.assignment_configs:
        change.bump(digest, validated, configs)
    group.configured = configured
    if seen is None or seen.topics is not topics or seen.epoch != change.epoch:
        group.metadata_seen = MetadataSeen(topics, change.epoch)
    return configured


def may_aim(group: StreamsGroup, interval_ms: int, now_ms: int) -> bool:
    return may_assign(group.target_timestamp_ms, interval_ms, now_ms)


def aim(change: GroupChange, configured: ConfiguredTopology, now_ms: int) -> None:
    """Compute a target for the group epoch. Without all topics there are no tasks."""
    if configured.ready:
        changed = _changed_targets(change, configured)
    else:
        changed = {member_id: NO_TARGET for member_id in change.members if change.targets.get(member_id) != NO_TARGET}
    change.aim(changed, now_ms)


def _changed_targets(change: GroupChange, configured: ConfiguredTopology) -> dict[str, Tasks]:
    """The targets that differ from the previous ones."""
    before, members = change.targets, change.members
    groups = tuple(TaskGroup(each.subtopology_id, each.task_count, each.stateful) for each in configured.subtopologies.values())
    standbys = int(change.assignment_configs.get(STANDBY_REPLICAS, "0"))
    if not standbys:
        changed = changed_tasks({member_id: each.metadata.process_id for member_id, each in members.items()}, before, groups)
        if changed is not None:
            return changed
    row = [TaskMember(member_id, each.process_id, before.get(member_id, NO_TARGET)) for member_id, each in members.items()]
    targets = assign_sticky(row, groups, standbys=standbys)
    return {member_id: target for member_id, target in targets.items() if before.get(member_id) != target}


def accept_topology(change: GroupChange, sent: Topology) -> str | None:
    """Store the topology of a member that joins, if the group is empty. A sentence if the members
    have another one. A member with an older epoch follows the group's topology.
    """
    stored = change.topology
    if stored is None or (not change.group.members and stored != sent):
        change.store(sent)
        return None
    return "Topology updates are not supported yet." if sent.epoch >= stored.epoch and sent != stored else None
