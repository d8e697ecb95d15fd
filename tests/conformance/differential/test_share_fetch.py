"""ShareFetch: sessions, deliveries, limits, and acknowledgements that ride along."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.compression import Codec
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
    share_fetch,
)

TOPIC = "fetched-by-share-groups"
# Offsets 0-2, 3, 4-13, 14.
BATCHES = [batch_at(1000, 1001, 1002), batch_at(5000, value=bytes(2000)), batch_at(*range(10), codec=Codec.GZIP), batch_at(7)]
# A request that renews locks asks for nothing else.
NOTHING: Any = {"records": 0, "min_bytes": 0, "max_bytes": 0}
# Kafka answers a fetch before it releases the partition's lock, so the next fetch may find it
# locked. With a wait of zero that fetch would return nothing, although there are records.
NEXT_MS = 1000
_numbers = count()


@pytest.fixture(scope="module", autouse=True)
def topic(pair: Pair, coordinators: None) -> None:
    pair.create(TOPIC, 3)
    for partition in (0, 1):
        produce(pair, TOPIC, BATCHES, partition)


@pytest.fixture
def group(pair: Pair, scene: Scene) -> str:
    group = configure_group(pair, f"share group {next(_numbers)}")
    initialize(scene, group, TOPIC, range(3))
    return group


def opened(scene: Scene, group: str, *, records: int = 500, member: str = MEMBER, mode: int = 0) -> None:
    """The first fetch of a member, which gets records of partition 0."""
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS, records=records, member=member, mode=mode), by=member)


def test_share_fetch_delivers_batches_and_says_which_records_are_acquired(scene: Scene, group: str) -> None:
    answer = scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS))
    (partition,) = answer.responses[0].partitions
    assert [(each.first_offset, each.last_offset, each.delivery_count) for each in partition.acquired_records] == [(0, 14, 1)]


@pytest.mark.parametrize("records", [1, 3, 4, 5, 14, 15])
@pytest.mark.parametrize("mode", [0, 1], ids=["batch optimized", "record limit"])
def test_share_fetch_up_to_a_number_of_records(scene: Scene, group: str, records: int, mode: int) -> None:
    opened(scene, group, records=records, mode=mode)
    for epoch in (1, 2):
        scene.same(lambda the, epoch=epoch: share_fetch(the, group, epoch, wait_ms=NEXT_MS, records=records, mode=mode), by=MEMBER)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_share_fetch_in_parts_of_a_batch_size(scene: Scene, group: str, size: int) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS, batch_size=size))


def test_share_fetch_up_to_a_number_of_bytes_delivers_at_least_a_batch(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS, max_bytes=1))
    scene.same(lambda the: share_fetch(the, group, 1, wait_ms=NEXT_MS, max_bytes=1))


def test_share_fetch_of_two_members_gives_a_record_to_one(scene: Scene, group: str) -> None:
    opened(scene, group, records=3)
    opened(scene, group, records=3, member=OTHER)
    scene.same(lambda the: share_fetch(the, group, 1, wait_ms=NEXT_MS, records=100), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 1, wait_ms=NEXT_MS, records=100, member=OTHER), by=OTHER)


def test_share_fetch_without_records_is_answered_after_its_wait(scene: Scene, group: str) -> None:
    answer = scene.same(lambda the: share_fetch(the, group, 0, TOPIC, (2,), wait_ms=2000))
    assert len(answer.responses) == 1
    assert scene.same(lambda the: share_fetch(the, group, 1)).responses == []


# -- acknowledgements that ride along --------------------------------------------------------------


def acknowledges(scene: Scene, group: str, epoch: int, *ranges: Ack) -> None:
    """A fetch of nothing, so that both sides have written the new state when it is answered."""
    scene.same(lambda the: share_fetch(the, group, epoch, TOPIC, acks={0: ranges}, max_bytes=0), by=MEMBER)


@pytest.mark.parametrize("kind", [GAP, ACCEPT, RELEASE, REJECT])
def test_share_fetch_with_acknowledgements(scene: Scene, group: str, kind: int) -> None:
    opened(scene, group)
    acknowledges(scene, group, 1, (0, 3, kind))
    acknowledges(scene, group, 2, (0, 3, kind))
    acknowledges(scene, group, 3, (4, 13, [ACCEPT, RELEASE] * 5))
    scene.same(lambda the: share_fetch(the, group, 4, wait_ms=500), by=MEMBER)


def test_share_fetch_delivers_a_released_record_until_the_limit(scene: Scene, group: str) -> None:
    opened(scene, group)
    acknowledges(scene, group, 1, (0, 14, RELEASE))
    for epoch in range(2, 80, 2):
        answer = scene.same(lambda the, epoch=epoch: share_fetch(the, group, epoch, wait_ms=NEXT_MS), by=MEMBER)
        if not answer.responses:
            break
        (partition,) = answer.responses[0].partitions
        acknowledges(scene, group, epoch + 1, *((each.first_offset, each.last_offset, RELEASE) for each in partition.acquired_records))
    else:
        raise AssertionError("records are delivered without end")


def test_share_fetch_with_bad_acknowledgements(scene: Scene, group: str) -> None:
    opened(scene, group)
    bad = [
        [(3, 2, ACCEPT)],
        [(4, 13, ACCEPT), (0, 3, ACCEPT)],
        [(0, 3, [])],
        [(0, 3, [1, 1])],
        [(0, 3, 5)],
        [(0, 3, -1)],
        [(0, 3, RENEW)],
        [(0, 15, ACCEPT)],
        [(15, 20, ACCEPT)],
    ]
    for epoch, acks in enumerate(bad, 1):
        scene.same(lambda the, epoch=epoch, acks=acks: share_fetch(the, group, epoch, TOPIC, acks={0: acks}), by=MEMBER)


def test_share_fetch_with_acknowledgements_of_another_members_records(scene: Scene, group: str) -> None:
    opened(scene, group)
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, member=OTHER), by=OTHER)
    scene.same(lambda the: share_fetch(the, group, 1, TOPIC, acks={0: [(0, 14, ACCEPT)]}, member=OTHER), by=OTHER)
    scene.same(
        lambda the: share_fetch(the, group, 2, TOPIC, acks={1: [(0, 14, ACCEPT)]}, member=OTHER, partitions=(1,), max_bytes=0), by=OTHER
    )


# -- sessions --------------------------------------------------------------------------------------


def test_share_fetch_counts_the_requests_of_a_session(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_fetch(the, group, 1), expect=ErrorCode.SHARE_SESSION_NOT_FOUND)
    scene.same(lambda the: share_fetch(the, group, -1), expect=ErrorCode.SHARE_SESSION_NOT_FOUND)
    opened(scene, group)
    scene.same(lambda the: share_fetch(the, group, 2), by=MEMBER, expect=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    scene.same(lambda the: share_fetch(the, group, 1), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 1), by=MEMBER, expect=ErrorCode.INVALID_SHARE_SESSION_EPOCH)


def test_share_fetch_that_opens_a_session_acknowledges_nothing(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, acks={0: [(0, 0, ACCEPT)]}), expect=ErrorCode.INVALID_REQUEST)


def test_share_fetch_that_ends_a_session_releases_its_records(scene: Scene, group: str) -> None:
    opened(scene, group)
    scene.same(lambda the: share_fetch(the, group, -1, TOPIC, acks={0: [(0, 2, ACCEPT)]}), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 1), by=MEMBER, expect=ErrorCode.SHARE_SESSION_NOT_FOUND)
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS, member=OTHER), by=OTHER)


def test_share_fetch_of_partitions_that_come_and_go(scene: Scene, group: str) -> None:
    opened(scene, group, records=3)
    scene.same(lambda the: share_fetch(the, group, 1, TOPIC, (1, 2), forget=(0,), wait_ms=LONG_MS), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 2, wait_ms=NEXT_MS), by=MEMBER)


def test_share_fetch_of_partitions_that_do_not_exist(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, (7,)))
    scene.same(lambda the: share_fetch(the, group, 1))


@pytest.mark.parametrize("member", [None, "", "x" * 37])
def test_share_fetch_of_a_member_without_a_proper_id(scene: Scene, group: str, member: str | None) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, member=member), expect=ErrorCode.INVALID_REQUEST)


def test_share_fetch_of_nothing(scene: Scene, group: str) -> None:
    opened(scene, group, records=1)
    scene.same(lambda the: share_fetch(the, group, 1, records=0), by=MEMBER)
    scene.same(lambda the: share_fetch(the, group, 2, max_bytes=0), by=MEMBER)


# -- renewing --------------------------------------------------------------------------------------


def test_share_fetch_that_renews_locks_fetches_nothing(scene: Scene, group: str) -> None:
    opened(scene, group, records=3)
    scene.same(
        lambda the: share_fetch(the, group, 1, TOPIC, acks={0: [(0, 2, RENEW)]}, renews=True, records=0, min_bytes=0, max_bytes=0),
        by=MEMBER,
    )
    scene.same(
        lambda the: share_fetch(the, group, 2, TOPIC, acks={0: [(0, 2, [1, 4, 4])]}, renews=True, records=0, min_bytes=0, max_bytes=0),
        by=MEMBER,
    )
    scene.same(
        lambda the: share_fetch(the, group, 3, TOPIC, acks={0: [(0, 2, RENEW)]}, renews=True), by=MEMBER, expect=ErrorCode.INVALID_REQUEST
    )


def test_share_fetch_that_renews_locks_of_a_group_without_renewals(scene: Scene, pair: Pair) -> None:
    group = configure_group(pair, "share group without renewals", {"share.renew.acknowledge.enable": "false"})
    initialize(scene, group, TOPIC, [0])
    opened(scene, group, records=3)
    scene.same(
        lambda the: share_fetch(the, group, 1, TOPIC, acks={0: [(0, 2, RENEW)]}, renews=True, records=0, min_bytes=0, max_bytes=0),
        by=MEMBER,
    )


def test_share_fetch_of_version_1(scene: Scene, group: str) -> None:
    scene.same(lambda the: share_fetch(the, group, 0, TOPIC, wait_ms=LONG_MS), 1)
    scene.same(lambda the: share_fetch(the, group, 1, TOPIC, acks={0: [(0, 3, RENEW)]}), 1)
    scene.same(lambda the: share_fetch(the, group, 2, TOPIC, acks={0: [(0, 3, ACCEPT)]}, max_bytes=0), 1)
