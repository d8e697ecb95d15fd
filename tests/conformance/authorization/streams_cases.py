"""Requests about streams groups."""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology
from tests.conformance.authorization.case import ABSENT, GROUP, HIDDEN, OPEN, Case, Question
from tests.conformance.authorization.sides import Side
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology

STREAMS = "streams"


def prepare_streams(side: Side) -> None:
    """A group whose topology has both topics, and which no member keeps alive."""
    request = joining(STREAMS, "member", topology(subtopology("0", OPEN, HIDDEN)))
    side.until(request, 0, lambda answer: answer.error_code == ErrorCode.NONE)
    assert side.admin.ask(beat(STREAMS, "member", -1), 0).error_code == ErrorCode.NONE


def joins(sent: Topology) -> Question:
    return lambda side, version: joining(side.fresh(), "member", sent)


def with_a_changelog(side: Side, version: int) -> StreamsGroupHeartbeatRequest:
    """Its name is as new as the group's, because an allowed request creates the topic."""
    name = side.fresh()
    return joining(name, "member", topology(subtopology("0", OPEN, changelogs=[internal(f"{name}-changelog")])))


CASES = [
    Case(
        "StreamsGroupHeartbeat",
        StreamsGroupHeartbeatRequest,
        joins(topology(subtopology("0", OPEN, ABSENT))),
        ("READ group fresh*", "DESCRIBE topic"),
        (("READ group fresh*", "DESCRIBE topic open"), ("READ group fresh*", "READ topic *")),
    ),
    Case(
        "StreamsGroupHeartbeat that needs a new topic",
        StreamsGroupHeartbeatRequest,
        with_a_changelog,
        ("READ group fresh*", "DESCRIBE topic *"),
        (
            ("READ group fresh*", "DESCRIBE topic *", "CREATE cluster"),
            ("READ group fresh*", "DESCRIBE topic *", "CREATE topic fresh*"),
            ("READ group fresh*", "DESCRIBE topic *", "CREATE topic open"),
        ),
    ),
    Case(
        "StreamsGroupDescribe",
        StreamsGroupDescribeRequest,
        lambda side, version: StreamsGroupDescribeRequest(group_ids=[STREAMS, GROUP, "absent-group"], include_authorized_operations=True),
        (),
        (
            ("DESCRIBE group *",),
            ("DESCRIBE group streams", "DESCRIBE topic open"),
            ("READ group *", "READ topic open", "READ topic hidden"),
            ("DESCRIBE group *", "DESCRIBE topic *", "DENY DESCRIBE topic hidden"),
        ),
    ),
]
