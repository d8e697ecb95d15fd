"""Requests of members of share groups, and groups that begin at the first record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.wire.messages import share_acknowledge as acknowledge_messages, share_fetch as fetch_messages
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData as InitializePartition,
)
from tests.conformance.differential.config_requests import SET, set_group
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Known, Scene

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
MEMBER, OTHER = "member", "another member"
PLENTY = 2**20
# The type of a coordinator.
SHARE = 2
# The session, and the first delivery, take a while in a new cluster.
LONG_MS = 20_000

# First offset, last offset, and one type or one for each offset.
Ack = tuple[int, int, int | Sequence[int]]


def share_fetch(
    the: Known,
    group: str,
    epoch: int,
    topic: str | None = None,
    partitions: Sequence[int] = (0,),
    *,
    member: str | None = MEMBER,
    acks: Mapping[int, Sequence[Ack]] | None = None,
    forget: Sequence[int] = (),
    records: int = 500,
    wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = PLENTY,
    batch_size: int = 500,
    mode: int = 0,
    renews: bool = False,
) -> fetch_messages.ShareFetchRequest:
    topics = []
    if topic is not None:
        topics.append(
            fetch_messages.FetchTopic(
                topic_id=the.topic_id(topic),
                partitions=[
                    fetch_messages.FetchPartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            fetch_messages.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=_types(kinds))
                            for first, last, kinds in (acks or {}).get(index, ())
                        ],
                    )
                    for index in partitions
                ],
            )
        )
    forgotten = []
    if forget:
        assert topic is not None
        forgotten.append(fetch_messages.ForgottenTopic(topic_id=the.topic_id(topic), partitions=list(forget)))
    return fetch_messages.ShareFetchRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        max_records=records,
        batch_size=batch_size,
        share_acquire_mode=mode,
        is_renew_ack=renews,
        topics=topics,
        forgotten_topics_data=forgotten,
    )


def share_acknowledge(
    the: Known,
    group: str,
    epoch: int,
    topic: str | None = None,
    acks: Mapping[int, Sequence[Ack]] | None = None,
    *,
    member: str | None = MEMBER,
    renews: bool = False,
) -> acknowledge_messages.ShareAcknowledgeRequest:
    topics = []
    if topic is not None:
        topics.append(
            acknowledge_messages.AcknowledgeTopic(
                topic_id=the.topic_id(topic),
                partitions=[
                    acknowledge_messages.AcknowledgePartition(
                        partition_index=index,
                        acknowledgement_batches=[
                            acknowledge_messages.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=_types(kinds))
                            for first, last, kinds in batches
                        ],
                    )
                    for index, batches in (acks or {}).items()
                ],
            )
        )
    return acknowledge_messages.ShareAcknowledgeRequest(
        group_id=group, member_id=member, share_session_epoch=epoch, is_renew_ack=renews, topics=topics
    )


def _types(kinds: int | Sequence[int]) -> list[int]:
    return [kinds] if isinstance(kinds, int) else list(kinds)


def configure_group(pair: Pair, group: str, settings: Mapping[str, str] | None = None) -> str:
    """A group that begins at the first record."""
    values = {"share.auto.offset.reset": "earliest", **(settings or {})}
    set_group(pair, group, *((name, SET, value) for name, value in values.items()))
    return group


def initialize(scene: Scene, group: str, topic: str, partitions: Sequence[int]) -> None:
    """Give the share partitions an empty state, as the coordinator of the group does before it
    assigns them."""

    def initialized(the: Known) -> InitializeShareGroupStateRequest:
        state = [InitializePartition(partition=index, state_epoch=1, start_offset=-1) for index in partitions]
        return InitializeShareGroupStateRequest(
            group_id=group, topics=[InitializeStateData(topic_id=the.topic_id(topic), partitions=state)]
        )

    scene.until(
        lambda the: FindCoordinatorRequest(
            key_type=SHARE, coordinator_keys=[SharePartitionKey(group, the.topic_id(topic), index).coordinator_key for index in partitions]
        ),
        lambda answer: not any(each.error_code for each in answer.coordinators),
    )
    scene.until(initialized, lambda answer: not any(each.error_code for one in answer.results for each in one.partitions))
