"""Offsets of share groups: altered, described with their lag, and deleted."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from tests.conformance.differential.group_requests import commit
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.produced import batch_at, produce
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_groups import (
    FOUR,
    TWO,
    alter,
    beats,
    create_topics,
    delete_offsets,
    joins,
    offsets_request,
    offsets_shown,
    shown,
)
from tests.conformance.differential.share_requests import (
    ACCEPT,
    LONG_MS,
    MEMBER,
    RELEASE,
    Ack,
    configure_group,
    initialize,
    share_acknowledge,
    share_fetch,
)

pytestmark = pytest.mark.usefixtures("coordinators")


@pytest.fixture(scope="module", autouse=True)
def topics(pair: Pair, coordinators: None) -> None:
    create_topics(pair)


def test_describe_share_group_offsets_shows_no_offsets_of_groups_without_state(scene: Scene) -> None:
    for topics in (None, {}, {FOUR: [0, 3]}, {"nowhere": [0, 1]}, {FOUR: [9], TWO: [0]}):
        offsets_shown(scene, {"no-state": topics})
    offsets_shown(scene, {"no-state": None, "no-state-2": {TWO: [1]}})
    joins(scene, "no-start", "a", TWO)
    offsets_shown(scene, {"no-start": None})
    offsets_shown(scene, {"no-start": {TWO: [0, 1, 2], FOUR: [0], "nowhere": [0]}})


def test_alter_share_group_offsets_creates_a_group_with_state(scene: Scene) -> None:
    group = "altered"
    scene.same(alter(group, shared_four={0: 0, 1: 5, 7: 1}, nowhere={0: 1}), expect=ErrorCode.NONE)
    shown(scene, group)
    scene.soon_same(offsets_request({group: None}))
    offsets_shown(scene, {group: {FOUR: [0, 1, 2], "nowhere": [0]}})
    scene.same(alter(group, shared_four={0: 2}), expect=ErrorCode.NONE)
    scene.soon_same(offsets_request({group: None}))
    beats(scene, group, "a", 0, FOUR, expect=ErrorCode.NONE)
    scene.same(alter(group, shared_four={0: 1}), expect=ErrorCode.NON_EMPTY_GROUP)
    scene.same(delete_offsets(group, FOUR), expect=ErrorCode.NON_EMPTY_GROUP)
    beats(scene, group, "a", -1, expect=ErrorCode.NONE)


def test_describe_share_group_offsets_counts_the_lag(scene: Scene) -> None:
    topic, group = scene.pair.create("lagging", 1), "lagging"
    produce(scene.pair, topic, [batch_at(1, 2, 3, 4, 5)])
    for offset in (0, 3, 5, 9):
        scene.same(alter(group, lagging={0: offset}), expect=ErrorCode.NONE)
        scene.soon_same(offsets_request({group: None}))
        offsets_shown(scene, {group: {topic: [0]}})


def test_describe_share_group_offsets_follows_acknowledgements(scene: Scene) -> None:
    """The start offset is the one that the leader wrote with the last acknowledgement: the records
    of that acknowledgement are in the count of completely delivered records only."""
    topic, group = scene.pair.create("acknowledged-lag", 1), "acknowledged-lag"
    produce(scene.pair, topic, [batch_at(*range(10))])
    configure_group(scene.pair, group)
    initialize(scene, group, topic, [0])
    scene.same(lambda the: share_fetch(the, group, 0, topic, wait_ms=LONG_MS), by=MEMBER)
    first: list[Ack] = [(0, 3, ACCEPT), (4, 9, RELEASE)]
    scene.same(lambda the: share_acknowledge(the, group, 1, topic, {0: first}), by=MEMBER)
    offsets_shown(scene, {group: {topic: [0]}})
    scene.same(lambda the: share_fetch(the, group, 2, topic, wait_ms=LONG_MS), by=MEMBER)
    offsets_shown(scene, {group: {topic: [0]}})
    second: list[Ack] = [(6, 7, ACCEPT)]
    scene.same(lambda the: share_acknowledge(the, group, 3, topic, {0: second}), by=MEMBER)
    offsets_shown(scene, {group: {topic: [0]}})


def test_delete_share_group_offsets_forgets_whole_topics(scene: Scene) -> None:
    group = "forgotten"
    scene.same(delete_offsets(group, FOUR), expect=ErrorCode.GROUP_ID_NOT_FOUND)
    scene.same(alter(group, shared_four={0: 1}, shared_two={0: 2, 1: 3}), expect=ErrorCode.NONE)
    scene.soon_same(offsets_request({group: None}))
    scene.same(delete_offsets(group, TWO, "nowhere"), expect=ErrorCode.NONE)
    offsets_shown(scene, {group: None})
    scene.same(delete_offsets(group, TWO), expect=ErrorCode.NONE)
    scene.same(delete_offsets(group), expect=ErrorCode.NONE)
    offsets_shown(scene, {group: {TWO: [0, 1], FOUR: [0]}})
    scene.same(DeleteGroupsRequest(groups_names=[group]))
    offsets_shown(scene, {group: {FOUR: [0]}})
    shown(scene, group)


def test_alter_share_group_offsets_refuses_groups_without_a_name_and_of_other_kinds(scene: Scene) -> None:
    scene.same(alter("", shared_two={0: 1}))
    scene.same(delete_offsets("", TWO))
    scene.same(lambda the: commit(the, 9, "consumed", TWO, (0, 1)), 9)
    scene.same(alter("consumed", shared_two={0: 1}), expect=ErrorCode.GROUP_ID_NOT_FOUND)
    scene.same(delete_offsets("consumed", TWO), expect=ErrorCode.GROUP_ID_NOT_FOUND)
    offsets_shown(scene, {"consumed": None})
    scene.same(alter("nothing-to-alter"))
    shown(scene, "nothing-to-alter")
