"""Many groups of one member each, half of them of the classic and half of the consumer protocol.

The members join one after the other over one connection, each subscribes to one topic of one
partition, and each then sends one heartbeat.
"""

from __future__ import annotations

import socket
import uuid

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from bench.members import refused
from bench.requests import ask, await_group_coordinator
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import System
from bench.topics import new_topic

# Longer than the measurement of all groups, so that no member is taken for dead.
SESSION_TIMEOUT_MS = 1_800_000
SETTINGS = {
    "group.max.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.max.session.timeout.ms": str(SESSION_TIMEOUT_MS),
}
ANSWER_SECONDS_MAX = 60.0
_JOIN_VERSION, _SYNC_VERSION, _HEARTBEAT_VERSION, _CONSUMER_VERSION = 9, 5, 4, 1
_WARM_UP_GROUPS = 10
_JOINING = 0


def measure_groups(system: System, groups: int) -> tuple[float, ...]:
    with system.fresh_server(SETTINGS) as server:
        server.await_port()
        with new_topic(server, 1) as topic:
            await_group_coordinator(server, "warm-up")
            with socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX) as connection:
                for number in range(_WARM_UP_GROUPS):
                    _join(connection, f"warm-up-{number}", topic, classic=bool(number % 2))
                cpu, resident = server.cpu_seconds(), server.resident_bytes()
                members = [_join(connection, f"group-{number}", topic, classic=bool(number % 2)) for number in range(groups)]
                formed, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
                cpu = server.cpu_seconds()
                for request, version in members:
                    _check(ask(connection, request, version).error_code)
                return formed, memory / 1e6, server.cpu_seconds() - cpu


_Heartbeat = tuple[HeartbeatRequest | ConsumerGroupHeartbeatRequest, int]


def _join(connection: socket.socket, group: str, topic: str, *, classic: bool) -> _Heartbeat:
    """The next heartbeat of the member, and its version."""
    return _join_classic(connection, group) if classic else _join_consumer(connection, group, topic)


def _join_classic(connection: socket.socket, group: str) -> _Heartbeat:
    member_id = ""
    for wanted in (ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.NONE):
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        joined = ask(connection, request, _JOIN_VERSION)
        _check(joined.error_code, wanted)
        member_id = joined.member_id
    assignments = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"")]
    synced = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=assignments,
    )
    _check(ask(connection, synced, _SYNC_VERSION).error_code)
    return HeartbeatRequest(group_id=group, generation_id=joined.generation_id, member_id=member_id), _HEARTBEAT_VERSION


def _join_consumer(connection: socket.socket, group: str, topic: str) -> _Heartbeat:
    member_id = str(uuid.uuid4())
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=_JOINING,
        rebalance_timeout_ms=SESSION_TIMEOUT_MS,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    joined = ask(connection, request, _CONSUMER_VERSION)
    _check(joined.error_code)
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=joined.member_epoch), _CONSUMER_VERSION


def _check(error_code: int, wanted: ErrorCode = ErrorCode.NONE) -> None:
    if error_code != wanted:
        raise refused("a request of a member", error_code)


GROUPS = ScaleRow(
    name="groups",
    counted="groups",
    about=__doc__ or "",
    sizes={"barnabas": (100, 1000, 5000), "kafka": (100, 1000, 5000)},
    figures=(
        ScaleFigure("formed", "s", each="ms"),
        ScaleFigure("memory", "MB", each="KB"),
        ScaleFigure("a heartbeat of each", "s", each="us"),
    ),
    measure=measure_groups,
)
