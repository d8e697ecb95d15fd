"""ConsumerGroupHeartbeat (KIP-848): every heartbeat gets the same answer, and so do requests of
older APIs about such groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from tests.conformance.differential.group_requests import commit, fetch, heartbeat, join, leave, sync
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene
from tests.conformance.differential.transaction_requests import add_offsets, commit_offsets, init

pytestmark = pytest.mark.usefixtures("coordinators")


FOUR, TWO = "consumed-four", "consumed-two"
MINUTE_MS = 60_000


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    pair.create(FOUR, 4)
    pair.create(TWO, 2)


def beat(
    the: Known,
    group: str,
    member: str,
    epoch: int,
    *,
    topics: Sequence[str] | None = None,
    owned: Sequence[tuple[str, Sequence[int]]] | None = None,
    timeout_ms: int = -1,
    pattern: str | None = None,
    **options: Any,
) -> ConsumerGroupHeartbeatRequest:
    partitions = None
    if owned is not None:
        partitions = [TopicPartitions(topic_id=the.topic_id(topic), partitions=list(indexes)) for topic, indexes in owned]
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=timeout_ms,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=pattern,
        topic_partitions=partitions,
        **options,
    )


# Kafka's new groups begin with epoch 2, ours with 1. Scripts that are about epochs begin when both
# are at this one.
START_EPOCH = 3


def at_start_epoch(scene: Scene, group: str) -> str:
    """An empty group that had a member, with the same epoch on both sides."""
    first, second = (beat_once(group, 0, topics=["nowhere"], owned=[], timeout_ms=MINUTE_MS), beat_once(group, 1, topics=["elsewhere"]))
    assert [scene.pair.ask(peer, first, 1).member_epoch for peer in scene.pair.peers] == [2, 1]
    assert scene.pair.ask(scene.pair.barnabas, second, 1).member_epoch == 2
    scene.same(beat_once(group, -1), 1, expect=ErrorCode.NONE)
    return group


def beat_once(group: str, epoch: int, **options: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="midwife",
        member_epoch=epoch,
        rebalance_timeout_ms=options.get("timeout_ms", -1),
        subscribed_topic_names=options.get("topics"),
        topic_partitions=options.get("owned"),
    )


def beats(
    scene: Scene,
    group: str,
    member: str,
    epoch: int,
    *,
    version: int = 1,
    expect: int | None = None,
    since: int = START_EPOCH,
    differ: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """``epoch`` is counted from ``since``."""

    def made(the: Known) -> ConsumerGroupHeartbeatRequest:
        for topic in (FOUR, TWO):
            the.topic_id(topic)
        return beat(the, group, member, epoch if epoch <= 0 else epoch + since, **options)

    return scene.same(made, version, by=member or "nobody", expect=expect, differ=differ)


def joins(scene: Scene, group: str, member: str, *topics: str, expect: int | None = ErrorCode.NONE, **options: Any) -> Any:
    given: dict[str, Any] = {"topics": list(topics), "owned": [], "timeout_ms": MINUTE_MS, **options}
    return beats(scene, group, member, 0, expect=expect, **given)


def shown(scene: Scene, *groups: str, differ: Mapping[str, str] | None = None) -> None:
    for version in (0, 1):
        scene.same(ConsumerGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False), version, differ=differ)


WRONG: dict[str, dict[str, Any]] = {
    "no group": {"group": ""},
    "no member": {"member": ""},
    "no member and an epoch": {"member": "", "epoch": 1},
    "no member and leaves": {"member": "", "epoch": -1},
    "no instance": {"instance_id": ""},
    "no rack": {"rack_id": ""},
    "epoch below all": {"epoch": -3},
    "static leave of a dynamic member": {"epoch": -2},
    "no timeout": {"timeout_ms": -1},
    "timeout zero": {"timeout_ms": 0},
    "timeout below nothing": {"timeout_ms": -2},
    "no subscription": {"topics": None},
    "a topic without a name": {"topics": [""]},
    "owns already": {"owned": [(FOUR, [0])]},
    "says nothing of what it owns": {"owned": None},
    "an assignor that is none": {"server_assignor": "nonsense"},
    "an assignor without a name": {"server_assignor": ""},
    "a leave": {"epoch": -1},
    "a static leave": {"epoch": -2, "instance_id": "one"},
    "an epoch": {"epoch": 1},
    "an epoch of a static member": {"epoch": 1, "instance_id": "one"},
    "a pattern that is none": {"topics": None, "pattern": "("},
    "an empty pattern beside topics": {"pattern": ""},
}


@pytest.mark.parametrize("what", WRONG)
def test_consumer_group_heartbeat_refuses_wrong_requests(scene: Scene, what: str) -> None:
    for version in (0, 1):
        given: dict[str, Any] = {"topics": [FOUR], "owned": [], "timeout_ms": MINUTE_MS, **WRONG[what]}
        if version == 0 and "pattern" in given:
            continue
        group = given.pop("group", f"refused-{list(WRONG).index(what)}-{version}")
        if group:
            shown(scene, group)
            at_start_epoch(scene, group)
        member, epoch = given.pop("member", "a"), given.pop("epoch", 0)
        if version == 0 and not member and not epoch:
            continue  # The coordinator generates an id.
        beats(scene, group, member, epoch, version=version, **given)
        if group:
            shown(scene, group)
            joins(scene, group, "there", FOUR, expect=None)
            beats(scene, group, member, epoch, version=version, **given)


def test_consumer_group_heartbeat_version_0_gives_out_member_ids(scene: Scene) -> None:
    at_start_epoch(scene, "made-up")
    scene.learn("four", lambda the: the.topic_id(FOUR))
    scene.same(
        lambda the: beat(the, "made-up", "", 0, topics=[FOUR], owned=[], timeout_ms=MINUTE_MS),
        0,
        learns={"m": "member_id"},
        expect=ErrorCode.NONE,
    )
    shown(scene, "made-up")
    scene.same(lambda the: beat(the, "made-up", the["m"], -1), 0, expect=ErrorCode.NONE)


def test_consumer_group_heartbeat_forms_a_group_that_reconciles_and_ends(scene: Scene) -> None:
    """The test uses ``range``, which has one result: of several equally good assignments
    ``uniform`` chooses by the topics' random ids."""
    assignor = "range"
    group = at_start_epoch(scene, "reconciles")
    shown(scene, group)
    joins(scene, group, "a", FOUR, server_assignor=assignor, rack_id="r")
    shown(scene, group)
    beats(scene, group, "a", 1, expect=ErrorCode.NONE)
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])], expect=ErrorCode.NONE)
    shown(scene, group)
    joins(scene, group, "b", FOUR, TWO, server_assignor=assignor)
    shown(scene, group)
    beats(scene, group, "b", 2)
    # The first member must revoke a part, keeps it for a while, and then gives it up.
    for _ in range(2):
        beats(scene, group, "a", 1)
        beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])])
    shown(scene, group)
    beats(scene, group, "b", 2, owned=[])
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1])])
    shown(scene, group)
    beats(scene, group, "b", 2, owned=[])
    shown(scene, group)
    beats(scene, group, "b", 2, owned=[(FOUR, [2, 3]), (TWO, [0, 1])])
    beats(scene, group, "a", 2, owned=[(FOUR, [0, 1])])
    shown(scene, group)
    # Subscriptions change.
    beats(scene, group, "b", 2, topics=[TWO])
    shown(scene, group)
    beats(scene, group, "b", 2, owned=[(TWO, [0, 1])])
    shown(scene, group)
    beats(scene, group, "a", 2)
    beats(scene, group, "a", 3, owned=[(FOUR, [0, 1, 2, 3])])
    beats(scene, group, "a", 3, topics=[FOUR, "consumed-later"])
    shown(scene, group)
    # A member joins again with its id. Kafka keeps the fields that it leaves out; we take a join as
    # complete.
    joins(scene, group, "a", FOUR, rack_id="r", server_assignor=assignor)
    shown(scene, group)
    beats(scene, group, "b", -1)
    beats(scene, group, "b", -1)
    shown(scene, group)
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    beats(scene, group, "a", -1)
    shown(scene, group)
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    shown(scene, group)


@pytest.mark.parametrize("assignor", ["uniform", "range", None])
def test_consumer_group_heartbeat_shares_partitions_among_three_members(scene: Scene, assignor: str | None) -> None:
    group = at_start_epoch(scene, f"three-{assignor}")
    for member in ("a", "b", "c"):
        joins(scene, group, member, FOUR, server_assignor=assignor)
        shown(scene, group)
    for member in ("a", "b", "c"):
        beats(scene, group, member, -1)
        shown(scene, group)


def test_consumer_group_heartbeat_refuses_epochs_of_other_members(scene: Scene) -> None:
    group = at_start_epoch(scene, "epochs")
    joins(scene, group, "a", FOUR)
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])])
    joins(scene, group, "b", FOUR)
    for epoch in (2, 3, 7, 1):
        beats(scene, group, "a", epoch)
        beats(scene, group, "a", epoch, owned=[(FOUR, [0, 1])])
        shown(scene, group)
    for epoch in (1, 0, 2, 3):
        beats(scene, group, "a", epoch, owned=[(FOUR, [0, 1])] if epoch else [])
        beats(scene, group, "a", epoch, owned=[(FOUR, [0, 1, 2, 3])] if epoch else [])
    for epoch in (1, 2):
        beats(scene, group, "stranger", epoch)
        beats(scene, group, "a", epoch, instance_id="one")
        beats(scene, "epochs-of-nobody", "a", epoch)
    beats(scene, group, "stranger", -1)
    beats(scene, "epochs-of-nobody", "a", -1)
    shown(scene, group)


def test_consumer_group_heartbeat_keeps_the_partitions_of_a_static_member(scene: Scene) -> None:
    group = at_start_epoch(scene, "static-848")
    joins(scene, group, "a", FOUR, instance_id="one")
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])], instance_id="one")
    joins(scene, group, "b", FOUR, instance_id="two")
    shown(scene, group)
    joins(scene, group, "twin", FOUR, instance_id="one", expect=ErrorCode.UNRELEASED_INSTANCE_ID)
    for instance in ("two", "three", "one"):
        beats(scene, group, "a", 1, instance_id=instance)
    beats(scene, group, "a", 1)
    beats(scene, group, "twin", 1, instance_id="one")
    beats(scene, group, "twin", -2, instance_id="one")
    beats(scene, group, "twin", -1, instance_id="one")
    beats(scene, group, "a", -2, instance_id="one", expect=ErrorCode.NONE)
    shown(scene, group)
    beats(scene, group, "a", 1, instance_id="one")
    beats(scene, group, "a", -2, instance_id="one")
    joins(scene, group, "a2", FOUR, instance_id="one")
    shown(scene, group)
    beats(scene, group, "a", 1, instance_id="one")
    beats(scene, group, "a2", -2, instance_id="one")
    joins(scene, group, "a3", TWO, instance_id="one")
    shown(scene, group)
    beats(scene, group, "b", -1, instance_id="two")
    beats(scene, group, "a3", -1, instance_id="one")
    shown(scene, group)


@pytest.mark.parametrize("version", [3, 5])
def test_consumer_group_heartbeat_members_are_removed_by_leave_group(scene: Scene, version: int) -> None:
    """As an administrator does, by member id or by the id of the instance."""
    group = at_start_epoch(scene, f"removed-848-{version}")
    joins(scene, group, "a", FOUR)
    joins(scene, group, "b", FOUR, instance_id="one")
    joins(scene, group, "c", FOUR, instance_id="two")
    for members in ([("stranger", None), ("a", None), ("a", None)], [("", "one")], [("b", "two")], [("c", "two")]):
        scene.same(lambda _, members=members: leave(version, group, *members), version)
        shown(scene, group)
    beats(scene, group, "a", 1, expect=ErrorCode.UNKNOWN_MEMBER_ID)


def test_consumer_group_heartbeat_subscribes_to_patterns(scene: Scene) -> None:
    group = at_start_epoch(scene, "patterns")
    asked = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    later = dict.fromkeys(("member_epoch", "assignment.topic_partitions"), "Kafka looks for the topics in the background")
    beats(scene, group, "a", 0, pattern="consumed-(four|two)", owned=[], timeout_ms=MINUTE_MS, expect=ErrorCode.NONE, differ=later)
    scene.until(
        lambda the: beat(the, group, "a", START_EPOCH), lambda answer: answer.error_code or answer.member_epoch == START_EPOCH + 1, 1
    )
    scene.until(asked, lambda answer: answer.groups[0].assignment_epoch == START_EPOCH + 1)
    shown(scene, group)
    beats(scene, group, "a", 2, pattern="", topics=[TWO])
    shown(scene, group)
    for wrong in ("(", "[z-a]", "a{5,2}", "\\", "(?=x)", "(a)\\1"):
        beats(scene, group, "b", 0, pattern=wrong, owned=[], timeout_ms=MINUTE_MS)
    shown(scene, group)


def test_consumer_group_heartbeat_takes_members_without_topics(scene: Scene) -> None:
    group = at_start_epoch(scene, "reads-nothing")
    joins(scene, group, "a", differ={"member_epoch": "nobody's assignment changes by it, and Kafka's epoch stays"})
    beats(scene, group, "a", -1, expect=ErrorCode.NONE)


def test_consumer_group_heartbeat_notices_new_topics_and_partitions(scene: Scene) -> None:
    group, later = at_start_epoch(scene, "growing"), "consumed-growing"
    joins(scene, group, "a", later)
    shown(scene, group)
    scene.pair.create(later, 1)

    def told(the: Known) -> ConsumerGroupHeartbeatRequest:
        return beat(the, group, "a", START_EPOCH + 1, topics=[later], owned=[], timeout_ms=MINUTE_MS)

    scene.until(told, lambda answer: bool(answer.error_code or answer.assignment.topic_partitions), 1)
    scene.learn("topic", lambda the: the.topic_id(later))
    shown(scene, group)
    growth = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=later, count=3, assignments=None)], timeout_ms=5000, validate_only=False
    )
    scene.same(growth, 3)

    def grown(the: Known) -> ConsumerGroupHeartbeatRequest:
        return beat(the, group, "a", START_EPOCH + 2, topics=[later], owned=[(later, [0])], timeout_ms=MINUTE_MS)

    scene.until(grown, lambda answer: answer.error_code or len(answer.assignment.topic_partitions[0].partitions) == 3, 1)
    shown(scene, group)


@pytest.mark.parametrize("version", range(2, 11))
def test_consumer_group_heartbeat_epochs_decide_who_commits_and_fetches(scene: Scene, version: int) -> None:
    group = at_start_epoch(scene, f"commits-848-{version}")
    joins(scene, group, "a", FOUR)
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])])
    joins(scene, group, "b", FOUR)
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1, 2, 3])])
    beats(scene, group, "a", 1, owned=[(FOUR, [0, 1])])
    for member in ("a", "b", "stranger", ""):
        for epoch in (-2, -1, 0, 1, 2, 3):
            for partition in (0, 2):
                scene.same(
                    lambda the, who=member, epoch=epoch, index=partition: commit(
                        the, version, group, FOUR, (index, 10 + epoch), member=who, epoch=epoch if epoch <= 0 else epoch + START_EPOCH
                    ),
                    version,
                )
    if version >= 7:
        scene.same(lambda the: commit(the, version, group, FOUR, (0, 1), member="a", epoch=START_EPOCH + 2, instance="one"), version)
    reading = max(version, 9)
    for asking in (None, "", "a", "stranger"):
        for epoch in (-2, -1, 0, 1, 2, 3):
            if asking is None and epoch >= 0:
                continue  # Kafka fails at an epoch without a member.
            scene.same(
                lambda the, who=asking, epoch=epoch: fetch(
                    the, reading, group, [(FOUR, [0, 1, 2, 3])], member=who, epoch=epoch if epoch <= 0 else epoch + START_EPOCH
                ),
                reading,
            )
    scene.same(lambda the: fetch(the, version, group, [(FOUR, [0])]), version)


def test_consumer_group_heartbeat_epochs_decide_who_commits_in_transactions(scene: Scene) -> None:
    group = at_start_epoch(scene, "transactions-848")
    joins(scene, group, "a", FOUR)
    joins(scene, group, "b", FOUR)
    scene.same(init(group), learns={"p": "producer_id"}, expect=ErrorCode.NONE)
    scene.same(lambda the: add_offsets(group, the["p"], 0, group), 3)
    for version in (2, 3, 4, 5):
        for member in ("a", "b", "stranger", ""):
            for generation in (-1, 0, 1, 2, 3):
                if version < 3 and (member or generation != -1):
                    continue
                scene.same(
                    lambda the, who=member, generation=generation: commit_offsets(
                        group,
                        the["p"],
                        0,
                        group,
                        FOUR,
                        (0, 1),
                        member=who,
                        generation=generation if generation <= 0 else generation + START_EPOCH,
                    ),
                    version,
                )


def test_consumer_group_heartbeat_groups_are_shown_by_older_apis(scene: Scene) -> None:
    group = at_start_epoch(scene, "older-848")
    joins(scene, group, "a", FOUR)
    for version in range(7):
        scene.same(DescribeGroupsRequest(groups=[group]), version)

    def this(answer: Any) -> Any:
        answer.groups = [each for each in answer.groups if each.group_id == group]
        return answer

    for state in ("before", "after"):
        for version in range(6):
            scene.same(ListGroupsRequest(), version, through=this)
        for states in (["Stable"], ["Empty"], ["Reconciling"], ["Assigning"], ["assigning"]):
            scene.same(ListGroupsRequest(states_filter=states), 5, through=this)
        for kinds in (["consumer"], ["Consumer"], ["classic"]):
            scene.same(ListGroupsRequest(types_filter=kinds), 5, through=this)
        if state == "before":
            scene.same(lambda the: heartbeat(group, START_EPOCH + 1, "a"))
            scene.same(lambda the: heartbeat(group, 1, "stranger"))
            scene.same(lambda the: sync(group, START_EPOCH + 1, "a"))
            scene.same(lambda the: leave(5, group, ("stranger", None)))
            scene.same(lambda the: commit(the, 9, group, FOUR, (0, 1), member="a", epoch=START_EPOCH + 1), 9)
            scene.same(lambda the: commit(the, 9, group, TWO, (0, 1), member="a", epoch=START_EPOCH + 1), 9)
            asked = [
                OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]) for name in (FOUR, TWO)
            ]
            scene.same(OffsetDeleteRequest(group_id=group, topics=asked))
            scene.same(join(group, protocol_type="connect"))
            scene.same(join(group, protocols=[("nonsense", subscription(FOUR))]), learns={"guest": "member_id"})
            scene.same(DeleteGroupsRequest(groups_names=[group]))
            beats(scene, group, "a", -1)
    scene.same(lambda the: fetch(the, 9, group, None), 9)
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    scene.same(lambda the: fetch(the, 9, group, None), 9)
    shown(scene, group, "never-848", "", group)


def subscription(*topics: str) -> bytes:
    """The subscription of a consumer in version 1 of the embedded protocol: its topics, no user
    data, no owned partitions."""
    names = b"".join(len(name).to_bytes(2, "big") + name.encode() for name in topics)
    return b"\0\1" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff" + b"\0\0\0\0"


def test_consumer_group_heartbeat_converts_a_classic_group(scene: Scene) -> None:
    """A member of the new protocol joins a group of classic members and leaves again (online
    upgrade and downgrade)."""
    group = "migrates"
    protocols = [("range", subscription(FOUR))]
    scene.same(join(group, protocols=protocols), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
    scene.same(lambda the: join(group, the["a"], protocols=protocols), by="a", expect=ErrorCode.NONE)
    scene.same(lambda the: sync(group, 1, the["a"], (the["a"], assignment(4))), by="a", expect=ErrorCode.NONE)
    shown(scene, group)
    joins(scene, group, "b", FOUR)
    shown(scene, group)
    scene.same(DescribeGroupsRequest(groups=[group]))
    scene.same(lambda the: heartbeat(group, 1, the["a"]), by="a")
    scene.same(lambda the: join(group, the["a"], protocols=protocols), by="a")
    scene.same(lambda the: heartbeat(group, 2, the["a"]), by="a")
    scene.same(lambda the: sync(group, 2, the["a"]), by="a")
    shown(scene, group)
    beats(scene, group, "b", 2, owned=[], since=0)
    shown(scene, group)
    beats(scene, group, "b", -1)
    shown(scene, group)
    scene.same(DescribeGroupsRequest(groups=[group]))
    scene.same(lambda the: heartbeat(group, 2, the["a"]), by="a")
    scene.same(lambda the: leave(5, group, (the["a"], None)))
    scene.same(DescribeGroupsRequest(groups=[group]))


def assignment(partitions: int) -> bytes:
    """All partitions of the topic, in version 1 of the embedded protocol."""
    numbers = b"".join(index.to_bytes(4, "big") for index in range(partitions))
    name = FOUR.encode()
    return b"\0\1\0\0\0\1" + len(name).to_bytes(2, "big") + name + partitions.to_bytes(4, "big") + numbers + b"\xff\xff\xff\xff"


def test_consumer_group_heartbeat_converts_an_empty_group_of_the_other_kind(scene: Scene) -> None:
    group = "was-classic"
    scene.same(join(group), by="a", learns={"a": "member_id"}, expect=ErrorCode.MEMBER_ID_REQUIRED)
    scene.same(lambda the: join(group, the["a"]), by="a", expect=ErrorCode.NONE)
    scene.same(lambda the: sync(group, 1, the["a"], (the["a"], b"")), by="a", expect=ErrorCode.NONE)
    scene.same(lambda the: commit(the, 9, group, FOUR, (0, 5), member=the["a"], epoch=1), 9)
    scene.same(lambda the: leave(5, group, (the["a"], None)))
    why = "Kafka's new groups begin with epoch 2, ours with 1"
    joins(scene, group, "b", FOUR, differ={"member_epoch": why})
    epochs = {f"groups[].{name}": why for name in ("group_epoch", "assignment_epoch", "members[].member_epoch")}
    shown(scene, group, differ=epochs)
    scene.same(lambda the: fetch(the, 9, group, None), 9)
    beats(scene, group, "b", -1)
    scene.same(join(group), by="a", learns={"a": "member_id"})
    scene.same(lambda the: join(group, the["a"]), by="a")
    scene.same(DescribeGroupsRequest(groups=[group]))
    shown(scene, group)
    scene.same(lambda the: fetch(the, 9, group, None), 9)


def test_consumer_group_heartbeat_ignores_unknown_topic_ids(scene: Scene) -> None:
    group = at_start_epoch(scene, "ids-848")
    joins(scene, group, "a", FOUR)
    for topic_id in (ZERO_UUID, Uuid(b"nobody knows it.")):
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="a",
            member_epoch=START_EPOCH + 1,
            topic_partitions=[TopicPartitions(topic_id=topic_id, partitions=[0])],
        )
        scene.same(request, 1)
        shown(scene, group)
