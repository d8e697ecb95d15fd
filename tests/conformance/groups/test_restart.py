"""The node stops or is killed and comes back: commits are there, and members continue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker
from tests.conformance.groups.conftest import QUICK, create, fill, numbered
from tests.conformance.groups.members import (
    ALL_MEMBERS,
    QUIET,
    LibrdkafkaMember,
    Member,
    NewProtocolMember,
    describe,
    let_go,
    share_out,
)
from tests.conformance.groups.test_commits import committed, consumer_of
from tests.waiting import until

ENDINGS = pytest.mark.parametrize("ending", ["stop", "kill"])


@pytest.fixture
def mortal() -> Iterator[EmbeddedBroker]:
    """A node for this test alone."""
    with EmbeddedBroker(process=True, config=QUICK) as running:
        yield running
        assert running.complaints == ""


def restart(node: EmbeddedBroker, ending: str) -> None:
    getattr(node, ending)()
    node.start()


def new_topic(node: EmbeddedBroker, name: str, partitions: int) -> str:
    return create(AdminClient({**QUIET, "bootstrap.servers": node.bootstrap}), name, partitions)


@ENDINGS
def test_commits_survive_a_restart(mortal: EmbeddedBroker, ending: str) -> None:
    topic = new_topic(mortal, "t", 1)
    groups = [f"group-{number}" for number in range(8)]
    expected: dict[str, tuple[int, str | None]] = dict.fromkeys(groups, (-1001, None))
    consumers = {group: consumer_of(mortal.bootstrap, group, reconnect_backoff_max_ms=200) for group in groups}
    for round_number in (1, 2):
        for number, (group, consumer) in enumerate(consumers.items()):
            expected[group] = (100 * round_number + number, f"note {round_number}")
            offset, note = expected[group]
            consumer.commit(offsets=[TopicPartition(topic, 0, offset, metadata=note)], asynchronous=False)
        restart(mortal, ending)
        assert {group: committed(mortal.bootstrap, group, topic) for group in groups} == expected
    for consumer in consumers.values():
        consumer.close()


@ENDINGS
def test_members_continue_after_a_restart(mortal: EmbeddedBroker, ending: str) -> None:
    """Two members of each client; each pair has a group and a topic of its own."""
    teams: list[list[Member]] = []
    try:
        for number, kind in enumerate(ALL_MEMBERS):
            topic = new_topic(mortal, f"topic-{number}", 2)
            settings: dict[str, int] = {"auto_commit_interval_ms": 100}
            if issubclass(kind, LibrdkafkaMember):
                settings = {"auto.commit.interval.ms": 100, "reconnect.backoff.max.ms": 200}
            teams.append([kind(mortal.bootstrap, f"group-{number}", [topic], settings=settings) for _ in range(2)])
        for first in (0, 10):
            for number, team in enumerate(teams):
                share_out(team, 2)
                for partition in range(2):
                    fill(mortal.bootstrap, f"topic-{number}", numbered(first, first + 10), partition)
            for team in teams:
                until(
                    lambda team=team, first=first: sum(len(member.values) for member in team) >= 2 * first + 20,  # type: ignore[misc]
                    "the team reads what was sent",
                    seen=lambda team=team: [(member.client, member.events, member.received) for member in team],  # type: ignore[misc]
                )
            if first == 0:
                restart(mortal, ending)
        for number, team in enumerate(teams):
            # No record was missed; at most uncommitted records were read again.
            for partition in range(2):
                until(
                    partial(_all_read, team, partition),
                    "the partition is read to its end",
                    seen=lambda team=team: [member.received for member in team],  # type: ignore[misc]
                )
                until(
                    lambda n=number, p=partition: committed(mortal.bootstrap, f"group-{n}", f"topic-{n}", p)[0] == 20,  # type: ignore[misc]
                    "the offset is committed",
                )
    finally:
        gone = let_go([member for team in teams for member in team])
    for number, kind in enumerate(ALL_MEMBERS):
        described = partial(describe, mortal.bootstrap, f"group-{number}")
        assert described().type is (ConsumerGroupType.CONSUMER if kind is NewProtocolMember else ConsumerGroupType.CLASSIC)
        if all(gone[2 * number : 2 * number + 2]):
            until(lambda described=described: described().state is ConsumerGroupState.EMPTY, "the group is empty", seen=described)  # type: ignore[misc]


def _all_read(team: list[Member], partition: int) -> bool:
    return {each.offset for member in team for each in member.received if each.partition[1] == partition} == set(range(20))
