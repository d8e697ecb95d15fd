"""FindCoordinator, OffsetCommit, OffsetFetch, OffsetDelete and TxnOffsetCommit, as far as they need no members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.conformance.differential.pair import Pair, Peer
from tests.waiting import until

GROUPS, TRANSACTIONS, SHARE_STATE = 0, 1, 2
UNKNOWN_ID = Uuid(b"nobody has it...")
SINGLE_GROUP_VERSIONS = range(1, 8)
GROUPS_VERSIONS = range(8, 11)


@pytest.fixture(scope="module")
def read(pair: Pair) -> str:
    """A topic of two partitions, and coordinators that are there: both sides make them when first asked."""
    pair.create("read", 2)
    for peer in pair.peers:
        for kind in (GROUPS, TRANSACTIONS):
            _await(peer, FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]), 6, lambda answer: answer.coordinators[0].error_code)
        _await(peer, committed("warm up", ("read", 0, 1))(peer, 9), 9, lambda answer: answer.topics[0].partitions[0].error_code)
    return "read"


def _await(peer: Peer, request: Any, version: int, error: Callable[[Any], int]) -> None:
    def code() -> ErrorCode:
        return ErrorCode(error(peer.broker.ask(request, version)))

    until(lambda: code() == ErrorCode.NONE, f"{peer.name} answers without an error", seen=code)


def committed(group: str, *offsets: tuple[Any, ...], **request: Any) -> Callable[[Peer, int], OffsetCommitRequest]:
    """``(topic, partition, offset, metadata)``."""

    def question(peer: Peer, version: int) -> OffsetCommitRequest:
        return OffsetCommitRequest(
            group_id=group,
            member_id=request.get("member_id", ""),
            generation_id_or_member_epoch=request.get("generation", -1),
            retention_time_ms=request.get("retention_time_ms", -1) if version < 5 else -1,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=_id(peer, topic),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_leader_epoch=3,
                            committed_metadata=metadata[0] if metadata else "",
                        )
                    ],
                )
                for topic, partition, offset, *metadata in offsets
            ],
        )

    return question


def _id(peer: Peer, topic: str) -> Uuid:
    return UNKNOWN_ID if topic == "missing" else peer.topic_id(topic)


def fetched(
    group: str, topics: Sequence[tuple[str, list[int]]] | None, *, require_stable: bool = False
) -> Callable[[Peer, int], OffsetFetchRequest]:
    def question(peer: Peer, version: int) -> OffsetFetchRequest:
        if version in GROUPS_VERSIONS or version == 0:
            named = None
            if topics is not None:
                named = [OffsetFetchRequestTopics(name=name, topic_id=_id(peer, name), partition_indexes=each) for name, each in topics]
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=named)], require_stable=require_stable)
        listed = None
        if topics is not None:
            listed = [OffsetFetchRequestTopic(name=name, partition_indexes=each) for name, each in topics]
        return OffsetFetchRequest(group_id=group, topics=listed, require_stable=require_stable and version >= 7)

    return question


def deleted(group: str, *partitions: tuple[str, int]) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
        for topic, index in partitions
    ]
    return OffsetDeleteRequest(group_id=group, topics=topics)


# -- coordinators -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GROUPS, TRANSACTIONS, SHARE_STATE, 9, -1])
def test_any_id_has_a_coordinator_of_the_kinds_there_are(pair: Pair, read: str, kind: int) -> None:
    for key in ("g", "", "a group of its own", "\u00e9\U0001f600"):
        if kind != SHARE_STATE:
            pair.same(FindCoordinatorRequest(key_type=kind, key=key), range(1, 4))
            pair.same(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key, "g"]), range(4, 7))
    if kind == SHARE_STATE:
        pair.same(FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]), range(4, 6))


def test_nobody_and_everybody_are_looked_for(pair: Pair, read: str) -> None:
    pair.same(FindCoordinatorRequest(key="g"), [0])
    pair.same(FindCoordinatorRequest(coordinator_keys=[]), range(4, 7))
    pair.same(FindCoordinatorRequest(coordinator_keys=["g", "g", "h"]), range(4, 7))


# -- commits and reads --------------------------------------------------------------------------------------------------------


def test_what_was_committed_is_read_in_every_version(pair: Pair, read: str) -> None:
    pair.same(committed("plain", (read, 0, 12, "m"), (read, 1, 2**62)))
    pair.same(fetched("plain", [(read, [0, 1])]))
    pair.same(fetched("plain", None), range(2, 11))


def test_some_partitions_do_not_exist(pair: Pair, read: str) -> None:
    pair.same(committed("some", (read, 0, 1), (read, 7, 1), ("missing", 0, 1), (read, 1, 1)))
    pair.same(committed("some", ("missing", 0, 1), ("missing", 1, 1), generation=4, member_id="m"))
    pair.same(committed("some"))
    pair.same(fetched("some", [(read, [0, 7, 1]), ("missing", [0, 2])]))
    pair.same(fetched("some", []))


@pytest.mark.parametrize("group", ["", "nobody", "\u00e9" * 100])
def test_groups_that_nobody_made(pair: Pair, read: str, group: str) -> None:
    pair.same(fetched(group, [(read, [0])]))
    pair.same(fetched(group, None), range(2, 11))
    pair.same(deleted(group, (read, 0)))
    pair.same(committed(group, (read, 0, 1), generation=3, member_id="m"))
    pair.same(committed(group, (read, 0, 1), member_id="m"))
    pair.same(fetched(group, None), range(2, 11))


def test_metadata_has_a_limit(pair: Pair, read: str) -> None:
    for metadata in (None, "", "x" * 4096, "x" * 4097, "\u00e9" * 4096, "\U0001f600" * 2048, "\U0001f600" * 2049):
        pair.same(committed("talks", (read, 0, 1, metadata), (read, 1, 2)))
        pair.same(fetched("talks", [(read, [0, 1])]))


def test_offsets_may_be_anything(pair: Pair, read: str) -> None:
    for offset in (0, -1, -5, 2**63 - 1):
        pair.same(committed("odd", (read, 0, offset)))
        pair.same(fetched("odd", [(read, [0])]))


def test_a_time_to_keep_offsets(pair: Pair, read: str) -> None:
    pair.same(committed("keeps", (read, 0, 1), retention_time_ms=60_000), range(2, 5))
    pair.same(committed("keeps", (read, 1, 1), retention_time_ms=-7), range(2, 5))
    pair.same(fetched("keeps", None), range(2, 11))


def test_several_groups_are_read_at_once(pair: Pair, read: str) -> None:
    def question(peer: Peer, version: int) -> OffsetFetchRequest:
        topics = [OffsetFetchRequestTopics(name=read, topic_id=peer.topic_id(read), partition_indexes=[0])]
        return OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id="several", topics=topics),
                OffsetFetchRequestGroup(group_id="nobody at all", topics=None),
                OffsetFetchRequestGroup(group_id="several", topics=None),
                OffsetFetchRequestGroup(group_id="several", topics=[], member_id="m", member_epoch=5),
            ]
        )

    pair.same(committed("several", (read, 0, 5)), [9])
    pair.same(question, GROUPS_VERSIONS)
    pair.same(OffsetFetchRequest(groups=[]), GROUPS_VERSIONS)


# -- deletions ----------------------------------------------------------------------------------------------------------------


def test_offsets_are_deleted(pair: Pair, read: str) -> None:
    pair.same(committed("gone", (read, 0, 1), (read, 1, 2)), [9])
    pair.same(deleted("gone", (read, 1), (read, 7), ("missing", 0)))
    pair.same(fetched("gone", None), [9])
    pair.same(deleted("gone", (read, 1), (read, 0)))
    pair.same(fetched("gone", [(read, [0, 1])]), [9])
    pair.same(deleted("gone"))
    pair.same(deleted("not there", ("missing", 0)))


# -- transactions -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["", "in a transaction"])
def test_producers_that_nobody_knows_cannot_commit(pair: Pair, read: str, group: str) -> None:
    def question(peer: Peer, version: int) -> TxnOffsetCommitRequest:
        return TxnOffsetCommitRequest(
            transactional_id="nobody's",
            group_id=group,
            producer_id=4_000_000,
            producer_epoch=0,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=name,
                    partitions=[
                        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
                        for index in (0, 7)
                    ],
                )
                for name in (read, "missing")
            ],
        )

    pair.same(question)
