"""Requests of members of share groups."""

from __future__ import annotations

from barnabas.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from barnabas.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from tests.conformance.authorization.case import GROUP, HIDDEN, OPEN, Case
from tests.conformance.authorization.sides import Side

MEMBER = "sharing-member"


def fetch(side: Side, version: int) -> ShareFetchRequest:
    """A new session that fetches no records, so that the answer does not wait for the state of the
    share partitions. Kafka fails on a topic that does not exist: it looks for rules of its name."""
    return ShareFetchRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=0,
        max_records=0,
        batch_size=1,
        topics=[
            FetchTopic(topic_id=side.topic_id(each), partitions=[FetchPartition(partition_index=0, acknowledgement_batches=[])])
            for each in (OPEN, HIDDEN)
        ],
        forgotten_topics_data=[],
    )


CASES = [
    Case("ShareFetch", ShareFetchRequest, fetch, ("READ group", "READ topic"), (("READ group group", "DESCRIBE topic open"),)),
    Case(
        "ShareAcknowledge",
        ShareAcknowledgeRequest,
        lambda side, version: ShareAcknowledgeRequest(group_id=GROUP, member_id="unknown", share_session_epoch=1, topics=[]),
        ("READ group",),
        (("DESCRIBE group group",),),
    ),
]
