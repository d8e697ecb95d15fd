"""The streams groups of a shard: the effects of heartbeats, timeouts and topic changes.

A heartbeat is the whole protocol. It always takes the same steps, most of which find nothing to do:

    admit      find the member of the heartbeat and check its epoch
    enrol      apply its metadata and, of the first member, the topology
    configure  find the tasks and the missing internal topics
    follow     the group epoch rises if any of these changed
    aim        compute a target for a new epoch, after a delay and at most once in an interval
    approach   move the member one step closer to its target

The answer names the internal topics that are missing; the broker with the client's connection
creates them. Sessions and revocations have deadlines; a member that misses one is removed, and the
group epoch rises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.streams.admission import admit, check_request, check_tasks, reported_tasks, unknown_member
from barnabas.coordinators.group.streams.configured_topology import ConfiguredTopology
from barnabas.coordinators.group.streams.deadlines import Deadlines
from barnabas.coordinators.group.streams.description import describe_group, not_described
from barnabas.coordinators.group.streams.group_change import GroupChange
from barnabas.coordinators.group.streams.heartbeat_response import accepted, left, refused
from barnabas.coordinators.group.streams.member import (
    JOIN_EPOCH,
    NO_REBALANCE_TIMEOUT,
    MemberMetadata,
    MemberState,
    StreamsMember,
    UserEndpoint,
)
from barnabas.coordinators.group.streams.rebalancing import STANDBY_REPLICAS, accept_topology, aim, follow_topics, may_aim
from barnabas.coordinators.group.streams.reconciliation import reconcile
from barnabas.coordinators.group.streams.replays import Replays
from barnabas.coordinators.group.streams.statuses import Condition, StatusCode
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.tasks import NO_TARGET, Tasks
from barnabas.coordinators.group.streams.topology import InternalTopic
from barnabas.coordinators.group.streams.topology_forms import topology_of
from barnabas.coordinators.outcome import Outcome
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_describe import DescribedGroup
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    response: StreamsGroupHeartbeatResponse
    missing: Mapping[str, InternalTopic] = field(default_factory=dict)
    """Internal topics to create on behalf of the client."""


class StreamsGroups:
    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self._deadlines = Deadlines(shard, self._fence, self._first_target)
        self.replays = Replays(shard.groups, self._deadlines).by_key

    def loaded(self, now_ms: int) -> None:
        for group in self._shard.groups.values():
            if isinstance(group, StreamsGroup):
                for member in group.members.values():
                    self._deadlines.expect_heartbeat(group.group_id, member, now_ms)
                    if member.ownership.state is MemberState.UNREVOKED_TASKS:
                        self._deadlines.expect_revocation(group.group_id, member, now_ms)

    # -- requests ----------------------------------------------------------------------------------

    def heartbeat(
        self, request: StreamsGroupHeartbeatRequest, *, client_id: str, client_host: str, now_ms: int
    ) -> Outcome[HeartbeatAnswer]:
        refusal = check_request(request)
        if refusal is not None:
            return Outcome(HeartbeatAnswer(refused(refusal)))
        answered = self._leave(request) if request.member_epoch < 0 else self._stay(request, client_id, client_host, now_ms)
        return Outcome(HeartbeatAnswer(refused(answered))) if isinstance(answered, Refusal) else answered

    def describe(self, group_id: str) -> Outcome[DescribedGroup]:
        """GROUP_ID_NOT_FOUND for a group that does not exist or uses another protocol."""
        group = self._group(group_id, f"Group {group_id} not found.")
        if isinstance(group, Refusal):
            return Outcome(not_described(group_id, group.code, group.message))
        return Outcome(describe_group(group))

    # -- joining and staying -----------------------------------------------------------------------

    def _stay(
        self, request: StreamsGroupHeartbeatRequest, client_id: str, client_host: str, now_ms: int
    ) -> Outcome[HeartbeatAnswer] | Refusal:
        joins = request.member_epoch == JOIN_EPOCH
        change = self._change_for_joining(request) if joins else self._change(request.group_id)
        if isinstance(change, Refusal):
            return change
        group, reported = change.group, reported_tasks(request)
        known = change.member(request.member_id)
        if known is None and not joins:
            return unknown_member(request.group_id, request.member_id)
        before = admit(known or StreamsMember(request.member_id), request.member_epoch, reported)
        if isinstance(before, Refusal):
            return before
        sent = _sent_by(request, before.metadata, client_id=client_id, client_host=client_host)
        if request.topology is not None:
            problem = accept_topology(change, topology_of(request.topology))
            if problem is not None:
                return Refusal(ErrorCode.INVALID_REQUEST, problem)
        conditions = _stale_topology(change, sent)
        changed = change.enrol(request.member_id, sent)
        configured = follow_topics(change, self._shard.image(), self._assignment_configs(request.group_id), changed=changed)
        if isinstance(configured, Refusal):
            return configured
        if configured.ready and reported is not None:
            refusal = check_tasks(reported, configured.subtopologies)
            if refusal is not None:
                return refusal
        conditions += self._aim(change, configured, now_ms)
        member = self._approach(change, request.member_id, reported, now_ms)
        if isinstance(member, Refusal):
            return member
        self._deadlines.expect_heartbeat(request.group_id, member, now_ms)
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = request.member_id
        sends_tasks = joins or member.ownership.assigned != before.ownership.assigned
        if sends_tasks and sent.user_endpoint is not None:
            group.endpoint_epoch += 1
        if configured.problem is not None:
            conditions.append(configured.problem)
        response = accepted(
            change,
            member,
            [*conditions, *_shutdown(group)],
            heartbeat_interval_ms=self._shard.settings.streams.heartbeat_interval_ms.of(self._shard.settings_of(request.group_id)),
            sends_tasks=sends_tasks,
            known_endpoint_epoch=request.endpoint_information_epoch,
            is_new=self._shard.groups.get(request.group_id) is not group,
            topics=self._shard.image().topics.by_name,
        )
        return Outcome(HeartbeatAnswer(response, configured.missing), change.records)

    def _aim(self, change: GroupChange, configured: ConfiguredTopology, now_ms: int) -> list[Condition]:
        """A new target, or the reason why it has to wait."""
        own, settings = self._shard.settings_of(change.group_id), self._shard.settings.streams
        if not change.group.members:
            delay_ms = settings.initial_rebalance_delay_ms.of(own)
            self._deadlines.delay_first_target(change.group_id, delay_ms, now_ms)
        if self._deadlines.first_target_delayed(change.group_id):
            return [Condition(StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay.")]
        if change.target_epoch >= change.epoch:
            return []
        if not may_aim(change.group, settings.assignment_interval_ms.of(own), now_ms):
            return [Condition(StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval.")]
        aim(change, configured, now_ms)
        return []

    def _approach(self, change: GroupChange, member_id: str, reported: Tasks | None, now_ms: int) -> StreamsMember | Refusal:
        """One step of the member towards its target. While the first target is delayed, a member
        has none.
        """
        member = change.member(member_id)
        assert member is not None, "the heartbeat has enrolled its member"
        if member.ownership.reconciled_to(change.target_epoch):
            return member
        delayed = self._deadlines.first_target_delayed(change.group_id)
        ownership = reconcile(
            member.ownership,
            target_epoch=change.target_epoch,
            target=NO_TARGET if delayed else change.targets.get(member_id, NO_TARGET),
            reported=reported,
            process_id=member.process_id,
            holders=change.group,
        )
        if ownership is None:
            message = "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin."
            return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)
        if ownership != member.ownership:
            member = change.own(member_id, ownership)
            self._deadlines.revoked(change.group_id, member_id)
            if ownership.state is MemberState.UNREVOKED_TASKS:
                self._deadlines.expect_revocation(change.group_id, member, now_ms)
        return member

    # -- leaving and deadlines ---------------------------------------------------------------------

    def _leave(self, request: StreamsGroupHeartbeatRequest) -> Outcome[HeartbeatAnswer] | Refusal:
        group = self._group(request.group_id, f"Group {request.group_id} not found.")
        if isinstance(group, Refusal):
            return group
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = request.member_id
        if request.member_id not in group.members:
            return unknown_member(request.group_id, request.member_id)
        change = GroupChange(group)
        change.remove(request.member_id)
        return Outcome(HeartbeatAnswer(left(request.member_id, request.member_epoch)), change.records)

    def _fence(self, group: StreamsGroup, member_id: str, now_ms: int) -> Outcome[Any]:
        member, change = group.members[member_id], GroupChange(group)
        change.remove(member_id)
        # If the log refuses the removal, the member stays; try again after another session timeout.
        return Outcome(None, change.records, if_refused=lambda _: self._deadlines.expect_heartbeat(group.group_id, member, now_ms))

    def _first_target(self, group: StreamsGroup, now_ms: int) -> Outcome[Any]:
        """If the log refuses the target, the next heartbeat computes it."""
        interval_ms = self._shard.settings.streams.assignment_interval_ms.of(self._shard.settings_of(group.group_id))
        if group.configured is None or group.epoch <= group.target_epoch or not may_aim(group, interval_ms, now_ms):
            return Outcome(None)
        change = GroupChange(group)
        aim(change, group.configured, now_ms)
        return Outcome(None, change.records)

    # -- groups ------------------------------------------------------------------------------------

    def _group(self, group_id: str, not_found: str) -> StreamsGroup | Refusal:
        group = self._shard.groups.get(group_id)
        if isinstance(group, StreamsGroup):
            return group
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, not_found) if group is None else _not_a_streams_group(group_id)

    def _change(self, group_id: str) -> GroupChange | Refusal:
        group = self._group(group_id, f"Streams group {group_id} not found.")
        return group if isinstance(group, Refusal) else GroupChange(group)

    def _change_for_joining(self, request: StreamsGroupHeartbeatRequest) -> GroupChange | Refusal:
        """A join finds a group, creates one, or replaces an empty classic group."""
        group, size_max = self._shard.groups.get(request.group_id), self._shard.settings.streams.size_max
        if isinstance(group, StreamsGroup):
            if len(group.members) >= size_max and request.member_id not in group.members:
                message = f"The streams group has reached its maximum capacity of {size_max} members."
                return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message)
            return GroupChange(group)
        if group is None:
            return GroupChange(StreamsGroup(request.group_id))
        if isinstance(group, ClassicGroup) and group.empty_since_ms is not None:
            return GroupChange(StreamsGroup(request.group_id), group.tombstones())
        return _not_a_streams_group(request.group_id)

    def _assignment_configs(self, group_id: str) -> dict[str, str]:
        standbys = self._shard.settings.streams.standby_replicas.of(self._shard.settings_of(group_id))
        return {STANDBY_REPLICAS: str(standbys)}


def _not_a_streams_group(group_id: str) -> Refusal:
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")


def _stale_topology(change: GroupChange, sent: MemberMetadata) -> list[Condition]:
    stored = change.group.topology
    if stored is None or sent.topology_epoch >= stored.epoch:
        return []
    detail = f"The member's topology epoch {sent.topology_epoch} is behind the group's topology epoch {stored.epoch}."
    return [Condition(StatusCode.STALE_TOPOLOGY, detail)]


def _shutdown(group: StreamsGroup) -> list[Condition]:
    if group.shutdown_member_id is None:
        return []
    detail = (
        f"Streams group member {group.shutdown_member_id} encountered a fatal error and requested a shutdown for the entire application."
    )
    return [Condition(StatusCode.SHUTDOWN_APPLICATION, detail)]


def _sent_by(request: StreamsGroupHeartbeatRequest, before: MemberMetadata, *, client_id: str, client_host: str) -> MemberMetadata:
    """A field that the heartbeat leaves out keeps its value. Most heartbeats leave out all."""
    endpoint, tags, timeout_ms = request.user_endpoint, request.client_tags, request.rebalance_timeout_ms
    if (
        request.topology is None
        and request.process_id is None
        and timeout_ms == NO_REBALANCE_TIMEOUT
        and request.rack_id is None
        and endpoint is None
        and tags is None
        and before.client_id == client_id
        and before.client_host == client_host
    ):
        return before
    return replace(
        before,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == NO_REBALANCE_TIMEOUT else timeout_ms,
        topology_epoch=before.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=before.process_id if request.process_id is None else request.process_id,
        user_endpoint=before.user_endpoint if endpoint is None else UserEndpoint(endpoint.host, endpoint.port),
        client_tags=before.client_tags if tags is None else tuple(sorted({tag.key: tag.value for tag in tags}.items())),
    )
