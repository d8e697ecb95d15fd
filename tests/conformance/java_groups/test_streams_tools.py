"""Kafka's own tools on streams groups of a Barnabas node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.differential.raw_client import RawClient
from tests.conformance.java_groups.test_tools import GROUPS, topic_of
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology
from tests.waiting import until

STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


def member(client: RawClient, group: str, topic: str) -> Any:
    """A member with all tasks, of a group with one changelog, which has committed offsets."""
    changelog = internal(f"{group}-store-changelog", cleanup_policy="compact")
    sent = topology(subtopology("0", topic, changelogs=[changelog]))
    answers: list[Any] = []

    def ready() -> bool:
        # The first question for a coordinator creates the topic that groups are stored in.
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 6)
        answers[:] = [client.ask(joining(group, "m", sent, endpoint=("app.example", 8080)), 0)]
        assert answers[0].error_code in (ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), answers
        return answers[0].error_code == ErrorCode.NONE and bool(answers[0].active_tasks)

    until(ready, "the member has tasks", seen=answers.copy)
    return answers[0]


def test_kafka_streams_groups(tools: Tools, bootstrap: str, tmp_path: Path) -> None:
    topic = topic_of(bootstrap, "tool-streams", 2, 20)
    group = "tool-streams-group"
    with RawClient(bootstrap, client_id="me") as client:
        joined = member(client, group, topic)
        committed = [OffsetCommitRequestPartition(partition_index=number, committed_offset=2, committed_metadata="") for number in (0, 1)]
        commit = OffsetCommitRequest(
            group_id=group,
            member_id="m",
            generation_id_or_member_epoch=joined.member_epoch,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=committed)],
        )
        assert [each.error_code for each in client.ask(commit, 9).topics[0].partitions] == [0, 0]

        def run(*arguments: str | Path) -> str:
            return tools.run(STREAMS_GROUPS, "--bootstrap-server", bootstrap, *arguments)

        def rows(text: str) -> list[list[str]]:
            return [line.split() for line in text.splitlines() if line.startswith(group)]

        assert group in run("--list").split()
        assert rows(run("--list", "--state", "Stable")) == [[group, "Stable"]]
        assert group in tools.run(GROUPS, "--bootstrap-server", bootstrap, "--list", "--streams")
        (state,) = rows(run("--describe", "--group", group, "--state", "--verbose"))
        assert state[-4:] == ["Stable", str(joined.member_epoch), str(joined.member_epoch), "1"]
        (shown,) = rows(run("--describe", "--group", group, "--members", "--verbose"))
        assert "m" in shown
        assert "0:[0,1];" in "".join(shown)
        assert [line[3:] for line in rows(run("--describe", "--group", group, "--offsets", "--verbose"))] == 2 * [["2", "-", "10", "8"]]
        refused = tools.try_run(STREAMS_GROUPS, "--bootstrap-server", bootstrap, "--delete", "--group", group)
        assert "NON_EMPTY" in (refused.out + refused.err).upper().replace("GROUPNOTEMPTY", "NON_EMPTY").replace("NOT EMPTY", "NON_EMPTY")
        assert client.ask(beat(group, "m", -1), 0).error_code == ErrorCode.NONE

        def offsets() -> dict[int, int]:
            """The tool shows none while a group has no members."""
            asked = OffsetFetchRequestGroup(group_id=group, member_id=None, member_epoch=-1, topics=None)
            (found,) = client.ask(OffsetFetchRequest(groups=[asked], require_stable=False), 9).groups
            return {each.partition_index: each.committed_offset for each in found.topics[0].partitions}

        run("--reset-offsets", "--group", group, "--input-topic", topic, "--to-latest", "--execute")
        assert offsets() == {0: 10, 1: 10}
        run("--reset-offsets", "--group", group, "--all-input-topics", "--shift-by", "-3", "--execute")
        assert offsets() == {0: 7, 1: 7}
        run("--delete-offsets", "--group", group, "--input-topic", f"{topic}:0")
        assert offsets() == {1: 7}
        run("--delete", "--group", group, "--delete-all-internal-topics")
        assert group not in run("--list").split()
