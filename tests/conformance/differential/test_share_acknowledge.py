"""ShareAcknowledge: types, ranges, sessions, and what other members get afterwards."""

from __future__ import annotations

from itertools import count

import pytest

from barnabas.model.errors import ErrorCode
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.produced import batch_at, produce
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.share_requests import (
    ACCEPT,
    GAP,
    LONG_MS,
    MEMBER,
    OTHER,
    REJECT,
    RELEASE,
    RENEW,
    Ack,
    configure_group,
    initialize,
    share_acknowledge,
    share_fetch,
)

TOPIC = "acknowledged"
# Offsets 0-4, 5-9, 10-14, 15-19.
BATCHES = [batch_at(*range(5))] * 4
_numbers = count()


@pytest.fixture(scope="module", autouse=True)
def topic(pair: Pair, coordinators: None) -> None:
    pair.create(TOPIC, 2)
    produce(pair, TOPIC, BATCHES)


@pytest.fixture
def group(pair: Pair, scene: Scene) -> str:
    """A group whose member holds offsets 0 to 9 of partition 0."""
    group = configure_group(pair, f"acknowledging group {next(_numbers)}")
    initialize(scene, group, TOPIC, range(2))
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, records=10, wait_ms=LONG_MS), by=MEMBER)
    return group


def left_over(scene: Scene, group: str) -> None:
    """Another member gets the records that are available, old and new."""
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS, member=OTHER), by=OTHER)


@pytest.mark.parametrize(
    "acks",
    [
        [(0, 9, ACCEPT)],
        [(0, 9, RELEASE)],
        [(0, 9, REJECT)],
        [(0, 9, GAP)],
        [(0, 4, ACCEPT)],
        [(5, 9, RELEASE)],
        [(2, 7, RELEASE)],
        [(0, 0, ACCEPT), (1, 1, RELEASE), (2, 9, REJECT)],
        [(0, 9, [1, 2, 3, 0, 1, 1, 2, 2, 3, 1])],
        [(0, 3, [1, 1, 1, 1]), (7, 9, [2, 2, 1])],
    ],
)
def test_share_acknowledge_of_ranges(scene: Scene, group: str, acks: list[Ack]) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {0: acks}), by=MEMBER)
    left_over(scene, group)


@pytest.mark.parametrize(
    "acks",
    [
        [(9, 0, ACCEPT)],
        [(5, 9, ACCEPT), (0, 4, ACCEPT)],
        [(0, 4, ACCEPT), (4, 9, ACCEPT)],
        [(0, 9, [])],
        [(0, 9, [1, 2])],
        [(0, 9, 5)],
        [(0, 9, -1)],
        [(0, 9, RENEW)],
        [(0, 10, ACCEPT)],
        [(0, 4, ACCEPT), (8, 12, ACCEPT)],
        [(10, 12, ACCEPT)],
        [(100, 120, ACCEPT)],
        [(-5, -1, ACCEPT)],
        [(-5, 3, ACCEPT)],
        [],
    ],
)
def test_share_acknowledge_of_bad_ranges(scene: Scene, group: str, acks: list[Ack]) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {0: acks}), by=MEMBER)
    scene.same(lambda the: share_acknowledge(the, group, 2, TOPIC, {0: [(0, 9, ACCEPT)]}), by=MEMBER)


def test_share_acknowledge_twice(scene: Scene, group: str) -> None:
    for epoch, acks in enumerate([[(5, 9, ACCEPT)], [(5, 9, ACCEPT)], [(7, 7, RELEASE)], [(0, 9, ACCEPT)], [(0, 4, ACCEPT)]], 1):
        scene.same(lambda the, epoch=epoch, acks=acks: share_acknowledge(the, group, epoch, TOPIC, {0: acks}), by=MEMBER)


def test_share_acknowledge_of_another_members_records(scene: Scene, group: str) -> None:
    left_over(scene, group)
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {0: [(0, 9, ACCEPT)]}, member=OTHER), by=OTHER)
    scene.same(lambda the: share_acknowledge(the, group, 2, TOPIC, {0: [(0, 12, ACCEPT)]}, member=OTHER), by=OTHER)
    scene.same(lambda the: share_acknowledge(the, group, 3, TOPIC, {0: [(10, 19, ACCEPT)]}, member=OTHER), by=OTHER)


def test_share_acknowledge_of_partitions_that_were_not_fetched(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {1: [(0, 0, ACCEPT)], 7: [(0, 0, ACCEPT)]}), by=MEMBER)


def test_share_acknowledge_counts_as_a_request_of_the_session(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 0), by=MEMBER, expect=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    scene.same(lambda the: share_acknowledge(the, group, 2), by=MEMBER, expect=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    scene.same(lambda the: share_acknowledge(the, group, 1), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 1), by=MEMBER, expect=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    scene.same(lambda the: share_acknowledge(the, group, 1, member="unknown"), by=OTHER, expect=ErrorCode.SHARE_SESSION_NOT_FOUND)
    scene.same(lambda the: share_acknowledge(the, group, 1, member=""), by=OTHER, expect=ErrorCode.INVALID_REQUEST)


def test_share_acknowledge_that_ends_the_session_releases_the_rest(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_acknowledge(the, group, -1, TOPIC, {0: [(0, 2, ACCEPT)]}), by=MEMBER)
    scene.same(lambda the: share_acknowledge(the, group, -1), by=MEMBER, expect=ErrorCode.SHARE_SESSION_NOT_FOUND)


def test_share_acknowledge_that_renews(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {0: [(0, 9, RENEW)]}, renews=True), by=MEMBER)
    scene.same(lambda the: share_acknowledge(the, group, 2, TOPIC, {0: [(0, 4, [4, 1, 4, 1, 4])]}, renews=True), by=MEMBER)
    scene.same(lambda the: share_acknowledge(the, group, 3, TOPIC, {0: [(0, 4, RENEW)]}, renews=True), by=MEMBER)


def test_share_acknowledge_of_version_1(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_acknowledge(the, group, 1, TOPIC, {0: [(0, 4, RENEW)]}), 1, by=MEMBER)
    scene.same(lambda the: share_acknowledge(the, group, 2, TOPIC, {0: [(0, 4, ACCEPT)]}), 1, by=MEMBER)
