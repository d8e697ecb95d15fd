"""Streams groups for a directory that Apache Kafka and Barnabas use in turn: written, described,
and continued by the program that takes over the directory.
"""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tests.conformance.differential.comparison import plain
from tests.conformance.directories.test_coordinators import TOPIC, Traveller, ordered
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology

CHANGELOG = "travels-changelog"
SENT = topology(subtopology("0", TOPIC, changelogs=[internal(CHANGELOG, cleanup_policy="compact")]), subtopology("1", TOPIC))
Tasks = dict[str, list[int]]


def shown(traveller: Traveller) -> Any:
    listed = plain(traveller.ask(ListGroupsRequest(types_filter=["streams"]), 5), 5)["groups"]
    names = sorted(each["group_id"] for each in listed)
    described = plain(traveller.ask(StreamsGroupDescribeRequest(group_ids=names, include_authorized_operations=False), 0), 0)["groups"]
    # The partition counts that a coordinator decided are not in the log. Each finds them again at
    # the next heartbeat.
    for group in described:
        for each in group["topology"]["subtopologies"]:
            for topic in each["state_changelog_topics"]:
                topic["partitions"] = None
    return ordered(listed), ordered(described)


def write(traveller: Traveller, round_: str) -> None:
    """A stable group with two members, one that waits for tasks, and an empty one."""
    for name in ("stable", "moving", "empty"):
        group = f"{round_} {name}"

        def ready(answer: Any) -> bool:
            return answer.error_code == ErrorCode.NONE and not answer.status

        first = traveller.patiently(joining(group, "a", SENT, endpoint=("a.example", 80), tags={"zone": "x"}), 0, ready)
        if name == "empty":
            traveller.done(beat(group, "a", -1), 0)
            continue
        traveller.done(joining(group, "b", SENT), 0)
        kept = traveller.done(beat(group, "a", first.member_epoch, active=tasks(first)), 0)
        if name == "stable":
            epoch = traveller.done(beat(group, "a", kept.member_epoch, active=tasks(kept)), 0).member_epoch
            given = traveller.done(beat(group, "b", epoch, active={}), 0)
            traveller.done(beat(group, "b", epoch, active=tasks(given)), 0)


def tasks(answer: Any) -> Tasks:
    return {each.subtopology_id: each.partitions for each in answer.active_tasks}


def go_on(traveller: Traveller, round_: str) -> None:
    """Heartbeats of the members: the epoch of the group stays, and tasks that were revoked move."""
    (stable, moving) = (described(traveller, f"{round_} {name}") for name in ("stable", "moving"))
    for member in stable.members:
        reported = {each.subtopology_id: each.partitions for each in member.assignment.active_tasks}
        answer = traveller.done(beat(stable.group_id, member.member_id, member.member_epoch, active=reported), 0)
        assert (answer.member_epoch, answer.active_tasks, answer.status) == (member.member_epoch, None, [])
    assert described(traveller, stable.group_id).group_epoch == stable.group_epoch
    members = {each.member_id: each for each in moving.members}
    if moving.group_state != "Stable":
        reported = {each.subtopology_id: each.partitions for each in members["a"].assignment.active_tasks}
        traveller.done(beat(moving.group_id, "a", members["a"].member_epoch, active=reported), 0)
        given = traveller.done(beat(moving.group_id, "b", members["b"].member_epoch, active={}), 0)
        assert sum(map(len, tasks(given).values())) == 4
        assert described(traveller, moving.group_id).group_state == "Stable"


def described(traveller: Traveller, group: str) -> Any:
    (found,) = traveller.ask(StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False), 0).groups
    assert found.error_code == ErrorCode.NONE, found
    return found
