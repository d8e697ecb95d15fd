"""Committed offsets of many groups: what they cost to write, to keep, and to load after a restart.

One connection commits; each request has the offsets of one group for all partitions of a topic. The
server is then killed and started again on its data, and has loaded its groups when the coordinator
answers for each of them.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from bench.measurement import MeasurementFailed
from bench.requests import ask, await_group_coordinator
from bench.systems import Server, System
from bench.topics import new_topic

# The last version with names of topics instead of ids.
_OFFSET_COMMIT_VERSION = 9
_ANSWER_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class OffsetsCost:
    offsets: int
    commit_cpu_us: float
    """For each offset."""
    bytes_each: float
    """Growth of the resident set for each offset."""
    load_seconds: float
    """From the start of the process until all groups are served."""
    load_cpu_seconds: float


def measure_offsets(system: System, *, groups: int, partitions: int) -> OffsetsCost:
    names = [f"group-{number:06}" for number in range(groups)]
    with system.fresh_server() as server:
        server.await_port()
        with new_topic(server, partitions) as topic:
            await_group_coordinator(server, names[0])
            _commit_all(server, names[:1], topic, partitions)
            cpu, resident = server.cpu_seconds(), server.resident_bytes()
            _commit_all(server, names, topic, partitions)
            commit_cpu, grown = server.cpu_seconds() - cpu, server.resident_bytes() - resident
            server.restart()
            for name in names:
                await_group_coordinator(server, name)
            offsets = groups * partitions
            return OffsetsCost(
                offsets=offsets,
                commit_cpu_us=1e6 * commit_cpu / offsets,
                bytes_each=grown / offsets,
                load_seconds=time.perf_counter() - server.started_at,
                load_cpu_seconds=server.cpu_seconds(),
            )


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
