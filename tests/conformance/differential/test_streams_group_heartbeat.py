"""StreamsGroupHeartbeat (KIP-1071): every heartbeat gets the same answer, and so do requests of
other APIs about such groups.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.wire.messages.streams_group_heartbeat import KeyValue, TaskOffset, TopicInfo
from tests.conformance.differential.config_requests import SET, set_group
from tests.conformance.differential.group_requests import commit, fetch, heartbeat, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.streams_requests import beats, joins, shown
from tests.conformance.differential.transaction_requests import add_offsets, commit_offsets, init
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("coordinators")

FOUR, TWO = "streamed-four", "streamed-two"
STATELESS = topology(subtopology("0", FOUR))


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    pair.create(FOUR, 4)
    pair.create(TWO, 2)


def await_topics(scene: Scene, *names: str) -> None:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False)
    scene.until(asked, lambda answer: all(topic.error_code == ErrorCode.NONE for topic in answer.topics))


def set_for(scene: Scene, group: str, name: str, value: str) -> None:
    set_group(scene.pair, group, (name, SET, value))


def assigned(answer: Any) -> dict[str, list[int]]:
    return {each.subtopology_id: each.partitions for each in answer.active_tasks}


WRONG: dict[str, dict[str, Any]] = {
    "no group": {"group": ""},
    "no member": {"member": ""},
    "a blank member": {"member": " "},
    "an instance": {"instance_id": "one"},
    "an empty instance": {"instance_id": ""},
    "no rack": {"rack_id": ""},
    "epoch below all": {"epoch": -3},
    "static leave": {"epoch": -2},
    "no timeout": {"rebalance_timeout_ms": -1},
    "no topology": {"topology": None},
    "tasks already": {"active": {"0": [0]}},
    "standby tasks already": {"standby": {"0": [0]}},
    "warm-up tasks": {"warmup": {"0": [0]}},
    "no lists of tasks": {"active": None},
    "offsets of tasks": {"task_offsets": [TaskOffset(subtopology_id="0", partition=0, offset=1)]},
    "no offsets of tasks": {"task_offsets": []},
    "end offsets of tasks": {"task_end_offsets": [TaskOffset(subtopology_id="0", partition=0, offset=1)]},
    "a leave of nobody": {"epoch": -1, "topology": None, "active": None},
    "an epoch": {"epoch": 1, "topology": None},
    "an epoch and a topology": {"epoch": 1},
    "a leave with a topology": {"epoch": -1},
    "a pattern": {"topology": topology(subtopology("0", FOUR, patterns=["a.*"]))},
    "an internal topic": {"topology": topology(subtopology("0", "__consumer_offsets"))},
    "an illegal topic": {"topology": topology(subtopology("0", "not a topic"))},
    "an illegal changelog": {"topology": topology(subtopology("0", FOUR, changelogs=[internal("?")]))},
    "a changelog with a count": {"topology": topology(subtopology("0", FOUR, changelogs=[internal("log", 3)]))},
    "no source": {"topology": topology(subtopology("0"))},
    "a loop": {"topology": topology(subtopology("0", repartitions=[internal("loop")], sinks=["loop"]))},
    "a repartition topic that nothing writes": {"topology": topology(subtopology("0", FOUR, repartitions=[internal("unwritten")]))},
}


@pytest.mark.parametrize("what", WRONG)
def test_streams_group_heartbeat_with_a_wrong_field_is_refused_alike(scene: Scene, what: str) -> None:
    options = dict(WRONG[what])
    given: dict[str, Any] = {
        "active": {},
        "rebalance_timeout_ms": 60_000,
        "process_id": "p",
        "topology": STATELESS,
        "endpoint_epoch": -1,
        **options,
    }
    group, member, epoch = (given.pop(name, default) for name, default in (("group", "wrongly-streamed"), ("member", "m"), ("epoch", 0)))
    answer = scene.same(beat(group, member, epoch, **given), 0)
    assert answer.error_code != ErrorCode.NONE
    shown(scene, "wrongly-streamed")


def test_streams_group_heartbeat_of_one_member_from_join_to_leave(scene: Scene) -> None:
    group = "streams-alone"
    answer = joins(scene, group, "a", STATELESS)
    assert answer.member_epoch == 2
    assert assigned(answer) == {"0": [0, 1, 2, 3]}
    shown(scene, group)
    beats(scene, group, "a", 2, active={"0": [0, 1, 2, 3]})
    beats(scene, group, "a", 2)
    beats(scene, group, "a", 2, active={"0": [4]}, expect=ErrorCode.INVALID_REQUEST)
    beats(scene, group, "a", 2, active={"1": [0]}, expect=ErrorCode.INVALID_REQUEST)
    beats(scene, group, "a", 3, expect=ErrorCode.FENCED_MEMBER_EPOCH)
    beats(scene, group, "a", 1, expect=ErrorCode.FENCED_MEMBER_EPOCH)
    beats(scene, group, "b", 2, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    joins(scene, group, "a", STATELESS)  # It rejoins.
    scene.same(ListGroupsRequest(states_filter=["Stable"], types_filter=["streams"]), 5)
    scene.same(DescribeGroupsRequest(groups=[group]), 6)
    scene.same(DeleteGroupsRequest(groups_names=[group]), 2)
    beats(scene, group, "a", -1)
    shown(scene, group)
    scene.same(ListGroupsRequest(states_filter=["Empty"], types_filter=["streams"]), 5)
    beats(scene, group, "a", -1, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    beats(scene, group, "a", 2, expect=ErrorCode.UNKNOWN_MEMBER_ID)
    scene.same(DeleteGroupsRequest(groups_names=[group]), 2)
    shown(scene, group)
    beats(scene, group, "a", 2, expect=ErrorCode.GROUP_ID_NOT_FOUND)


def test_streams_group_heartbeat_moves_tasks_when_members_come_and_go(scene: Scene) -> None:
    group = "streams-moving"
    first = joins(scene, group, "a", STATELESS)
    joins(scene, group, "b", STATELESS)
    # Its tasks shrink, and it must report that it has revoked them.
    kept = beats(scene, group, "a", first.member_epoch, active=assigned(first))
    assert len(assigned(kept)["0"]) == 2
    shown(scene, group)
    beats(scene, group, "a", first.member_epoch, active=assigned(first))
    beats(scene, group, "b", 3, active={})
    beats(scene, group, "a", first.member_epoch, active=assigned(kept))
    moved = beats(scene, group, "b", 3, active={})
    assert len(assigned(moved)["0"]) == 2
    shown(scene, group)
    beats(scene, group, "b", 3, active=assigned(moved))
    beats(scene, group, "a", -1)
    everything = beats(scene, group, "b", 3, active=assigned(moved))
    assert assigned(everything) == {"0": [0, 1, 2, 3]}
    shown(scene, group)


def test_streams_group_heartbeat_accepts_the_previous_epoch_after_a_lost_response(scene: Scene) -> None:
    group = "streams-lost"
    joins(scene, group, "a", STATELESS)
    beats(scene, group, "a", 2, active={"0": [0, 1, 2, 3]}, rebalance_timeout_ms=50_000)
    beats(scene, group, "a", 2, active={"0": [0, 1, 2, 3]})
    beats(scene, group, "a", 2, expect=ErrorCode.FENCED_MEMBER_EPOCH)
    beats(scene, group, "a", 3, active={"0": [0, 1, 2, 3]})
    shown(scene, group)


def test_streams_group_heartbeat_creates_internal_topics_and_then_assigns(scene: Scene) -> None:
    group = "streams-stateful"
    changelog = internal("stateful-store-changelog", cleanup_policy="compact", replicas=1)
    again = internal("stateful-again-repartition", cleanup_policy="delete")
    sent = topology(
        subtopology("0", FOUR, sinks=["stateful-again-repartition"]),
        subtopology("1", repartitions=[again], changelogs=[changelog], copartitioned=[([], [0])]),
    )

    def unordered(answer: Any) -> Any:
        for status in answer.status or ():
            names = status.status_detail.rpartition(": ")
            status.status_detail = f"{names[0]}: {', '.join(sorted(names[2].split(', ')))}"
        return answer

    answer = scene.same(joining(group, "a", sent), 0, by="a", through=unordered)
    assert [status.status_code for status in answer.status] == [3]
    await_topics(scene, "stateful-store-changelog", "stateful-again-repartition")

    def follows() -> bool:
        answers = [scene.pair.ask(peer, beat(group, "a", epochs[peer.name], active={}), 0) for peer in scene.pair.peers]
        for peer, each in zip(scene.pair.peers, answers, strict=True):
            epochs[peer.name] = each.member_epoch
        return all(not each.status for each in answers)

    epochs = {peer.name: answer.member_epoch for peer in scene.pair.peers}
    until(follows, "both see the new topics")
    joins(scene, group, "a", sent)
    shown(scene, group)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("stateful-store-changelog", "stateful-again-repartition")])
    scene.same(asked, 12)


def test_streams_group_heartbeat_reports_missing_source_topics(scene: Scene) -> None:
    answer = joins(scene, "streams-missing", "a", topology(subtopology("0", "streamed-nowhere", FOUR), subtopology("1", "absent")))
    assert [status.status_code for status in answer.status] == [1]
    shown(scene, "streams-missing")
    scene.same(ListGroupsRequest(states_filter=[], types_filter=["streams"]), 5)
    many = topology(subtopology("0", *(f"absent-{number}" for number in range(5))))
    joins(scene, "streams-missing-many", "a", many)


def test_streams_group_heartbeat_reports_topics_that_cannot_be_joined(scene: Scene) -> None:
    joined = topology(subtopology("0", FOUR, TWO, copartitioned=[([0, 1], [])]))
    answer = joins(scene, "streams-uneven", "a", joined)
    assert [status.status_code for status in answer.status] == [2]
    fixed = topology(
        subtopology("0", TWO, sinks=["uneven-repartition"]),
        subtopology("1", FOUR, repartitions=[internal("uneven-repartition", 3)], copartitioned=[([0], [0])]),
    )
    answer = joins(scene, "streams-uneven-fixed", "a", fixed)
    assert [status.status_code for status in answer.status] == [2]
    existing = topology(subtopology("0", FOUR, changelogs=[internal(TWO)]))
    answer = joins(scene, "streams-uneven-existing", "a", existing)
    assert [status.status_code for status in answer.status] == [2]
    shown(scene, "streams-uneven", "streams-uneven-fixed", "streams-uneven-existing")


def test_streams_group_heartbeat_with_another_topology_is_refused_alike(scene: Scene) -> None:
    group = "streams-changed"
    first = topology(subtopology("0", FOUR), epoch=3)
    joins(scene, group, "a", first)
    joins(scene, group, "b", topology(subtopology("0", TWO), epoch=3), expect=ErrorCode.INVALID_REQUEST)
    joins(scene, group, "b", topology(subtopology("0", FOUR), epoch=4), expect=ErrorCode.INVALID_REQUEST)
    stale = joins(scene, group, "b", topology(subtopology("0", TWO), epoch=2))
    assert [status.status_code for status in stale.status] == [0]
    shown(scene, group)


def test_streams_group_heartbeat_changes_the_topology_of_an_empty_group_where_kafka_refuses(scene: Scene) -> None:
    """A difference by intention: with Kafka the group has to be deleted first."""
    group = "streams-redeployed"
    joins(scene, group, "a", STATELESS)
    beats(scene, group, "a", -1)
    changed = joining(group, "a", topology(subtopology("0", TWO)))
    kafka, barnabas = (scene.pair.ask(peer, changed, 0) for peer in scene.pair.peers)
    assert (kafka.error_code, barnabas.error_code) == (ErrorCode.INVALID_REQUEST, ErrorCode.NONE)
    assert assigned(barnabas) == {"0": [0, 1]}


def test_streams_group_heartbeat_asks_the_whole_application_to_shut_down(scene: Scene) -> None:
    group = "streams-down"
    joins(scene, group, "a", STATELESS)
    joins(scene, group, "b", STATELESS)
    answer = beats(scene, group, "a", 2, shutdown_application=True)
    assert 4 in [status.status_code for status in answer.status]
    beats(scene, group, "b", 3)
    beats(scene, group, "b", 3, shutdown_application=True)
    beats(scene, group, "a", -1, shutdown_application=True)
    beats(scene, group, "b", 3)
    beats(scene, group, "b", -1)
    joins(scene, group, "a", STATELESS)


def test_streams_group_heartbeat_tells_members_the_endpoints_of_others(scene: Scene) -> None:
    group = "streams-asked"
    both = topology(subtopology("0", FOUR), subtopology("1", TWO))
    first = joins(scene, group, "a", both, endpoint=("a.example", 8080), tags={"zone": "x", "cluster": "y"})
    beats(scene, group, "a", 2, active=assigned(first), endpoint_epoch=-1)
    beats(scene, group, "a", 2, active=assigned(first), endpoint_epoch=first.endpoint_information_epoch)
    joins(scene, group, "b", both, endpoint=("b.example", 0))
    shown(scene, group)
    kept = beats(scene, group, "a", 2, active=assigned(first), endpoint_epoch=5)
    beats(scene, group, "a", 2, active=assigned(kept), endpoint_epoch=5)
    beats(scene, group, "b", 3, active={}, endpoint_epoch=5)


def test_streams_group_heartbeat_with_standby_replicas_waits_for_processes(scene: Scene) -> None:
    group = "streams-standby"
    set_for(scene, group, "streams.num.standby.replicas", "1")
    stateful = topology(subtopology("0", TWO, changelogs=[internal("standby-store-changelog")]))
    scene.same(joining(group, "a", stateful), 0, by="a")
    await_topics(scene, "standby-store-changelog")

    def ready() -> bool:
        answers = [scene.pair.ask(peer, joining(group, "a", stateful), 0) for peer in scene.pair.peers]
        return all(not each.status for each in answers)

    until(ready, "both see the new topic")
    first = joins(scene, group, "a", stateful)
    assert first.standby_tasks == []
    epoch = first.member_epoch
    joins(scene, group, "b", stateful)
    kept = beats(scene, group, "a", epoch, active={"0": [0, 1]})
    shown(scene, group)
    beats(scene, group, "a", epoch, active=assigned(kept))
    shown(scene, group)
    beats(scene, group, "b", epoch + 1, active={}, standby={})
    beats(scene, group, "a", epoch + 1, active=assigned(kept))
    shown(scene, group)
    set_for(scene, group, "streams.num.standby.replicas", "3")
    set_for(scene, group, "streams.session.timeout.ms", "1000")


def test_streams_group_heartbeat_delays_the_first_assignment(scene: Scene) -> None:
    group = "streams-delayed"
    set_for(scene, group, "streams.initial.rebalance.delay.ms", "600000")
    answer = joins(scene, group, "a", STATELESS)
    assert [status.status_code for status in answer.status] == [5]
    assert answer.member_epoch == 1
    beats(scene, group, "a", 1, active={})
    joins(scene, group, "b", STATELESS)
    shown(scene, group)


def test_streams_group_heartbeat_delays_an_assignment_within_the_interval(scene: Scene) -> None:
    group = "streams-interval"
    joins(scene, group, "a", STATELESS)
    set_for(scene, group, "streams.assignment.interval.ms", "15000")
    answer = joins(scene, group, "b", STATELESS)
    assert [status.status_code for status in answer.status] == [5]
    shown(scene, group)
    set_for(scene, group, "streams.assignment.interval.ms", "15001")


def test_streams_group_heartbeat_follows_topics_that_grow(scene: Scene) -> None:
    scene.pair.create("streamed-growing", 1)
    group, sent = "streams-growing", topology(subtopology("0", "streamed-growing"))
    joins(scene, group, "a", sent)
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="streamed-growing", count=3, assignments=None)], timeout_ms=60_000, validate_only=False
    )
    scene.same(grown, 3)

    def has_all() -> bool:
        answers = [scene.pair.ask(peer, joining(group, "a", sent), 0) for peer in scene.pair.peers]
        return all(assigned(each) == {"0": [0, 1, 2]} for each in answers)

    until(has_all, "both assign the new partitions")
    joins(scene, group, "a", sent)
    shown(scene, group)


def test_streams_group_heartbeat_and_other_protocols_exclude_each_other(scene: Scene) -> None:
    group = "streams-mixed"
    joins(scene, group, "a", STATELESS)
    scene.same(join(group), 9)
    scene.same(sync(group, 1, "a"), 5)
    scene.same(heartbeat(group, 1, "a"), 4)
    scene.same(leave(5, group, ("a", None)), 5)
    beats(scene, group, "a", -1)
    scene.same(join(group), 9, learns={"classic": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)

    def streams_group_is_gone() -> bool:
        request = StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
        answers = [scene.pair.ask(peer, request, 0) for peer in scene.pair.peers]
        return all(each.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND for each in answers)

    # Kafka responds to the join before the end of the streams group is committed, and describes
    # committed groups.
    until(streams_group_is_gone, "both have a classic group")
    shown(scene, group)
    # An empty classic group becomes a streams group.
    joins(scene, group, "a", STATELESS)
    shown(scene, group)


def test_streams_group_heartbeat_finds_offsets_of_a_group_without_members(scene: Scene) -> None:
    group = "streams-from-offsets"
    scene.same(lambda the: commit(the, 9, group, FOUR, (0, 7)), 9)
    joins(scene, group, "a", STATELESS)
    scene.same(lambda the: fetch(the, 9, group, None), 9)
    shown(scene, group)


def test_streams_group_heartbeat_sets_the_epoch_that_commits_need(scene: Scene) -> None:
    group = "streams-commits"
    joins(scene, group, "a", STATELESS)

    def commits(version: int, *offsets: tuple[int, int], topic: str = FOUR, **options: Any) -> None:
        scene.same(lambda the: commit(the, version, group, topic, *offsets, **options), version)

    commits(9, (0, 1), member="a", epoch=2)
    commits(9, (0, 1), member="a", epoch=3)
    commits(9, (0, 1), member="a", epoch=1)
    commits(9, (0, 1), member="b", epoch=2)
    commits(9, (0, 1))
    commits(8, (0, 1), member="a", epoch=2)
    commits(10, (1, 5), member="a", epoch=2)
    joins(scene, group, "b", STATELESS)
    beats(scene, group, "a", 2, active={"0": [0, 1, 2, 3]}, rebalance_timeout_ms=50_000)
    kept = beats(scene, group, "a", 2, active={"0": [0, 1]})
    assert kept.member_epoch >= 3
    commits(9, (0, 2), (1, 2), member="a", epoch=2)
    commits(9, (0, 2), (3, 2), member="a", epoch=2)
    commits(9, (0, 2), member="a", epoch=1)
    commits(9, (0, 2), topic=TWO, member="a", epoch=2)
    for member, epoch in ((None, -1), ("a", kept.member_epoch), ("a", 2), ("b", 1), ("nobody", 2)):
        scene.same(lambda the, member=member, epoch=epoch: fetch(the, 9, group, [(FOUR, [0])], member=member, epoch=epoch), 9)
    deletion = OffsetDeleteRequest(
        group_id=group,
        topics=[OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]) for name in (FOUR, TWO)],
    )
    scene.same(deletion, 0)
    beats(scene, group, "a", -1)
    beats(scene, group, "b", -1)
    commits(9, (0, 1), member="a", epoch=2)
    commits(9, (0, 9))
    scene.same(deletion, 0)


def test_streams_group_heartbeat_sets_the_epoch_that_transactional_commits_need(scene: Scene) -> None:
    group, transaction = "streams-transactions", "streams-transaction"
    joins(scene, group, "a", STATELESS)
    scene.same(init(transaction), learns={"producer": "producer_id"}, expect=ErrorCode.NONE)

    def commits(the: Known, member: str, epoch: int) -> Any:
        return commit_offsets(transaction, the["producer"], 0, group, FOUR, (0, 5), generation=epoch, member=member)

    scene.same(lambda the: add_offsets(transaction, the["producer"], 0, group))
    for member, epoch in (("a", 2), ("a", 3), ("a", 1), ("b", 2), ("", -1)):
        scene.same(lambda the, member=member, epoch=epoch: commits(the, member, epoch))


def test_streams_group_heartbeat_of_a_topic_with_unknown_settings(scene: Scene) -> None:
    """The reason why an internal topic cannot be created comes with a later heartbeat."""
    odd = TopicInfo(name="odd-changelog", partitions=0, replication_factor=0, topic_configs=[KeyValue(key="nonsense", value="1")])
    sent = topology(subtopology("0", TWO, changelogs=[odd]))
    answers: list[Any] = []

    def failed() -> bool:
        answers[:] = [scene.pair.ask(peer, joining("streams-odd", "a", sent), 0) for peer in scene.pair.peers]
        return all("Creation failed" in each.status[0].status_detail for each in answers)

    until(failed, "both tell why", seen=answers.copy)
    assert answers[0].status[0].status_detail.startswith("Internal topics are missing: odd-changelog; Creation failed: odd-changelog (")
    assert answers[1].status[0].status_detail.startswith("Internal topics are missing: odd-changelog; Creation failed: odd-changelog (")
