"""Requests of groups that have offsets and no members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.conformance.differential.pair import Peer
from tests.waiting import until

GROUPS, TRANSACTIONS, SHARE_STATE = 0, 1, 2
UNKNOWN_ID = Uuid(b"nobody has it...")
GROUPS_VERSIONS = range(8, 11)


def await_success(peer: Peer, request: Any, version: int, error: Callable[[Any], int]) -> None:
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
                    topic_id=topic_id(peer, topic),
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


def topic_id(peer: Peer, topic: str) -> Uuid:
    return UNKNOWN_ID if topic == "missing" else peer.topic_id(topic)


def fetched(
    group: str, topics: Sequence[tuple[str, list[int]]] | None, *, require_stable: bool = False
) -> Callable[[Peer, int], OffsetFetchRequest]:
    def question(peer: Peer, version: int) -> OffsetFetchRequest:
        if version in GROUPS_VERSIONS or version == 0:
            named = None
            if topics is not None:
                named = [
                    OffsetFetchRequestTopics(name=name, topic_id=topic_id(peer, name), partition_indexes=each) for name, each in topics
                ]
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
