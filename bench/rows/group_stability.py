"""The time until a group of many members is stable, and until it is again when one has died."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import uvloop

from bench.classic_member import ClassicMember
from bench.consumer_member import ConsumerMember
from bench.measurement import Better, Effort, Figure, Goal, Measure, server_cpu
from bench.members import HEARTBEAT_INTERVAL_MS, SENTINEL_INTERVAL_MS, SESSION_TIMEOUT_MS, Crowd, Member
from bench.requests import await_group_coordinator
from bench.streams_member import StreamsMember
from bench.systems import Server, System
from bench.topics import new_topic

MEMBERS = 50
# Two for each member; and with one member less there are still enough for all.
PARTITIONS = 100
_numbers = itertools.count(1)


class Formed(NamedTuple):
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class GroupStability:
    protocol: str
    member: type[Member]
    family = "groups"
    about = (
        f"{MEMBERS} members, which are raw sockets on one event loop, join an empty group at once. It is stable when all are of one "
        f"generation (or epoch) and own all of {PARTITIONS} partitions (or tasks), each once. Then one that is not the leader dies "
        "right after a heartbeat: its connection closes, and it sends nothing more. Sessions last "
        f"{SESSION_TIMEOUT_MS / 1000:g} s, heartbeats come every {HEARTBEAT_INTERVAL_MS} ms, and no rebalance or assignment is delayed "
        "on purpose. Both servers wait for the session to end, so the time after that is shown too; a shorter one is a shorter whole, "
        "so only it has a goal. The members' own waiting is left out: when one member learns of a rebalance, the others send their "
        f"next heartbeat at once, and around the end of the session one asks every {SENTINEL_INTERVAL_MS} ms. Only a consumer group or "
        "a streams group that forms waits for its heartbeats. The CPU is that of the members' connections and of "
        "one group which forms."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        name = f"{self.protocol} group of {MEMBERS}"
        return (
            Figure(f"{name}, until stable", "ms", Better.LOWER, Goal(1.0)),
            server_cpu(f"{name}, until stable", "ms"),
            Figure(f"{name}, one died, until stable", "ms", Better.LOWER),
            Figure(f"{name}, one died, after its session", "ms", Better.LOWER, Goal(1.0)),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        server = system.server()
        with new_topic(server, PARTITIONS) as topic:

            def new_crowd() -> Crowd:
                group = f"{self.protocol}-{next(_numbers)}"
                await_group_coordinator(server, group)
                return Crowd(port=server.port, group=group, topic=topic, partitions=PARTITIONS)

            def measure() -> tuple[float, ...]:
                formed = [uvloop.run(self._form(new_crowd(), server)) for _ in range(effort.group_formations)]
                recovered = uvloop.run(self._recover(new_crowd()))
                return (
                    statistics.median(each.seconds for each in formed) * 1000,
                    statistics.median(each.cpu_seconds for each in formed) * 1000,
                    recovered * 1000,
                    recovered * 1000 - SESSION_TIMEOUT_MS,
                )

            yield measure

    async def _form(self, crowd: Crowd, server: Server) -> Formed:
        try:
            before = server.cpu_seconds()
            seconds = await crowd.form(self._members(crowd))
            return Formed(seconds, server.cpu_seconds() - before)
        finally:
            await crowd.disperse()

    async def _recover(self, crowd: Crowd) -> float:
        try:
            await crowd.form(self._members(crowd))
            return await crowd.recover_from_death()
        finally:
            await crowd.disperse()

    def _members(self, crowd: Crowd) -> list[Member]:
        return [self.member(crowd, number, MEMBERS) for number in range(MEMBERS)]


ROWS = (
    GroupStability("classic", ClassicMember),
    GroupStability("consumer", ConsumerMember),
    GroupStability("streams", StreamsMember),
)
