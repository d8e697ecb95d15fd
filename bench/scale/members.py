"""Groups of many members: the server's CPU until all are stable, and for a second of heartbeats."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import uvloop

from bench.classic_member import ClassicMember
from bench.consumer_member import ConsumerMember
from bench.members import Crowd, Member
from bench.requests import await_group_coordinator
from bench.systems import Server, System
from bench.topics import new_topic

PROTOCOLS: dict[str, type[Member]] = {"classic": ClassicMember, "consumer": ConsumerMember}
PARTITIONS_EACH = 2
STEADY_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class MembersCost:
    form_seconds: float
    form_cpu_seconds: float
    steady_cpu: float
    """CPU seconds for each second in which the members only send heartbeats."""


def measure_members(system: System, *, protocol: str, members: int) -> MembersCost:
    partitions = PARTITIONS_EACH * members
    with system.fresh_server({"group.max.size": "100000", "group.consumer.max.size": "100000"}) as server:
        server.await_port()
        with new_topic(server, partitions) as topic:
            group = f"{protocol}-of-{members}"
            await_group_coordinator(server, group)
            crowd = Crowd(port=server.port, group=group, topic=topic, partitions=partitions)
            return uvloop.run(_measure(server, crowd, PROTOCOLS[protocol], members))


async def _measure(server: Server, crowd: Crowd, member: type[Member], members: int) -> MembersCost:
    try:
        before = server.cpu_seconds()
        seconds = await crowd.form([member(crowd, number, members) for number in range(members)])
        formed = server.cpu_seconds()
        await asyncio.sleep(STEADY_SECONDS)
        return MembersCost(seconds, formed - before, (server.cpu_seconds() - formed) / STEADY_SECONDS)
    finally:
        await crowd.disperse()
