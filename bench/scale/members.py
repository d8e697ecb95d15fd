"""Groups of many members: the server's CPU until all are stable, and for a second of heartbeats."""

from __future__ import annotations

import asyncio
from functools import partial

import uvloop

from bench.classic_member import ClassicMember
from bench.consumer_member import ConsumerMember
from bench.members import Crowd, Member
from bench.requests import await_group_coordinator
from bench.scale.scale_row import ScaleFigure, ScaleRow
from bench.systems import Server, System
from bench.topics import new_topic

PROTOCOLS: dict[str, type[Member]] = {"classic": ClassicMember, "consumer": ConsumerMember}
PARTITIONS_EACH = 2
STEADY_SECONDS = 3.0
# Sizes without a limit, and Kafka's own defaults: a thousand members that each wait for a new
# assignment of all partitions would lose a session of six seconds.
SETTINGS = {
    "group.max.size": "100000",
    "group.consumer.max.size": "100000",
    "group.consumer.session.timeout.ms": "45000",
    "group.consumer.assignment.interval.ms": "1000",
}


def measure_members(protocol: str, system: System, members: int) -> tuple[float, ...]:
    partitions = PARTITIONS_EACH * members
    with system.fresh_server(SETTINGS) as server:
        server.await_port()
        with new_topic(server, partitions) as topic:
            group = f"{protocol}-of-{members}"
            await_group_coordinator(server, group)
            crowd = Crowd(port=server.port, group=group, topic=topic, partitions=partitions)
            return uvloop.run(_measure(server, crowd, PROTOCOLS[protocol], members))


async def _measure(server: Server, crowd: Crowd, member: type[Member], members: int) -> tuple[float, ...]:
    try:
        before = server.cpu_seconds()
        seconds = await crowd.form([member(crowd, number, members) for number in range(members)])
        formed = server.cpu_seconds()
        await asyncio.sleep(STEADY_SECONDS)
        return formed - before, 100 * (server.cpu_seconds() - formed) / STEADY_SECONDS, seconds
    finally:
        await crowd.disperse()


def _row(protocol: str) -> ScaleRow:
    return ScaleRow(
        name=f"{protocol} members",
        counted="members",
        about=f"One group of the {protocol} protocol, and a topic with two partitions for each member. "
        "All members join at once, and each sends ten heartbeats a second. "
        "Groups of the consumer protocol compute an assignment once a second at most, which is Kafka's default.",
        sizes={"barnabas": (100, 300, 1000), "kafka": (100, 300, 1000)},
        figures=(
            ScaleFigure("until stable", "s", each="ms"),
            ScaleFigure("heartbeats", "% of a core", each="us/s"),
            ScaleFigure("until stable", "s of wall clock"),
        ),
        measure=partial(measure_members, protocol),
    )


CLASSIC_MEMBERS = _row("classic")
CONSUMER_MEMBERS = _row("consumer")
