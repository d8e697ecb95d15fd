"""Committed offsets of many groups: what they cost to write, to keep, and to load after a restart.

One connection commits; each request has the offsets of one group for all 1,000 partitions of a
topic. The server is then killed and started again on its data, and has loaded its groups when the
coordinator answers for each of them; the CPU of an empty node's start is subtracted.
"""

from __future__ import annotations

import socket

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from bench.measurement import MeasurementFailed
from bench.requests import ask, await_group_coordinator
from bench.scale.partitions import await_served, create_topics
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import Server, System

# The last version with names of topics instead of ids.
_OFFSET_COMMIT_VERSION = 9
_ANSWER_SECONDS_MAX = 60.0
PARTITIONS = 1000
TOPIC = "of-offsets"


def measure_offsets(system: System, offsets: int) -> tuple[float, ...]:
    names = [f"group-{number:06}" for number in range(offsets // PARTITIONS)]
    with system.fresh_server() as server:
        server.await_port()
        empty = server.cpu_seconds()
        # The topic is not deleted afterwards: the coordinator would first remove all offsets.
        create_topics(server, [TOPIC], partitions=PARTITIONS)
        await_served(server, TOPIC, partitions=PARTITIONS)
        await_group_coordinator(server, names[0])
        _commit_all(server, names[:1], TOPIC, PARTITIONS)
        cpu, resident = server.cpu_seconds(), server.resident_bytes()
        _commit_all(server, names, TOPIC, PARTITIONS)
        committed, memory = server.cpu_seconds() - cpu, server.resident_bytes() - resident
        server.restart()
        for name in names:
            await_group_coordinator(server, name)
        return committed, memory / 1e6, server.cpu_seconds() - empty


def _commit_all(server: Server, groups: list[str], topic: str, partitions: int) -> None:
    asked = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=index, committed_leader_epoch=-1, committed_metadata="")
        for index in range(partitions)
    ]
    with socket.create_connection(("127.0.0.1", server.port), timeout=_ANSWER_SECONDS_MAX) as connection:
        for group in groups:
            request = OffsetCommitRequest(group_id=group, member_id="", topics=[OffsetCommitRequestTopic(name=topic, partitions=asked)])
            answer = ask(connection, request, _OFFSET_COMMIT_VERSION)
            codes = {each.error_code for committed in answer.topics for each in committed.partitions}
            if codes != {ErrorCode.NONE}:
                raise MeasurementFailed(f"the commits of {group} were answered with {sorted(codes)}")


OFFSETS = ScaleRow(
    name="offsets",
    counted="committed offsets",
    about=__doc__ or "",
    sizes={"barnabas": (10_000, 100_000, 1_000_000), "kafka": (10_000, 100_000, 1_000_000)},
    figures=(
        ScaleFigure("committed", "s", each="us"),
        ScaleFigure("memory", "MB", each="bytes"),
        ScaleFigure("loaded after kill -9", "s", each="us"),
    ),
    measure=measure_offsets,
)
