"""``barnabas streams-groups`` beside a broker and members that this test plays."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.cli.narrow_terminal import COLUMNS, on_terminal
from tests.cli.running import Cli
from tests.scenarios.client import Client
from tests.streams_heartbeats import beat, internal, joining, subtopology, topology
from tests.waiting import until

GROUP = "word-counts"
CHANGELOG = "word-counts-store-changelog"
SENT = topology(subtopology("0", "lines", changelogs=[internal(CHANGELOG, cleanup_policy="compact")]))


class Member:
    """A member with all tasks, which has committed an offset."""

    def __init__(self, client: Client) -> None:
        self._client = client
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
        answers: list[Any] = []

        def assigned() -> bool:
            answers[:] = [client.ask(joining(GROUP, "m", SENT, process_id="p", endpoint=("app", 80)))]
            return answers[0].error_code == ErrorCode.NONE and bool(answers[0].active_tasks)

        until(assigned, "the member has its tasks", seen=answers.copy)
        self.epoch = answers[0].member_epoch

    def commit(self, topic: str, offset: int) -> None:
        partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")]
        request = OffsetCommitRequest(
            group_id=GROUP,
            member_id="m",
            generation_id_or_member_epoch=self.epoch,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        assert self._client.ask(request, 9).topics[0].partitions[0].error_code == ErrorCode.NONE

    def leave(self) -> None:
        assert self._client.ask(beat(GROUP, "m", -1)).error_code == ErrorCode.NONE


@pytest.fixture
def lines(cli: Cli) -> None:
    cli("topics", "create", "lines", "--partitions", 2).worked()
    cli("topics", "create", "other").worked()
    cli("produce", "lines", "--partition", 0, stdin=b"a\nb\nc\n").worked()


def test_a_streams_group_is_listed_and_described(cli: Cli, kafka: EmbeddedBroker, lines: None) -> None:
    assert cli("streams-groups", "list").text == ""
    with Client(kafka.bootstrap) as client:
        member = Member(client)
        member.commit("lines", 1)
        assert cli("streams-groups", "list").rows == [[GROUP, "Stable", "1"]]
        assert cli("streams-groups", "list", "--state", "empty", "--json").json == []
        shown = cli("streams-groups", "describe", GROUP, "--state", "--members", "--topology", "--offsets", "--json").json
        assert (shown["state"], shown["member_count"], shown["topology_epoch"]) == ("Stable", 1, 0)
        (found,) = shown["members"]
        assert (found["member_id"], found["process_id"], found["endpoint"], found["active"]) == ("m", "p", "app:80", {"0": [0, 1]})
        assert {(each["role"], each["topic"], each["partitions"]) for each in shown["topology"]} == {
            ("source", "lines", None),
            ("changelog", CHANGELOG, 2),
        }
        first, second = shown["offsets"]
        assert (first["topic"], first["partition"], first["offset"], first["lag"], first["member_id"]) == ("lines", 0, 1, 2, "m")
        assert (second["partition"], second["offset"], second["lag"]) == (1, None, None)
        for option in ("--state", "--members", "--topology", "--offsets"):
            table = on_terminal(cli, "streams-groups", "describe", GROUP, option)
            assert max(map(len, table)) <= COLUMNS, table
            assert len(table) > 1
        member.leave()
    assert cli("streams-groups", "describe", GROUP, "--members").text == f"Group {GROUP} has no members.\n"


def test_offsets_of_a_streams_group_are_reset_and_deleted(cli: Cli, kafka: EmbeddedBroker, lines: None) -> None:
    def offsets() -> dict[tuple[str, int], int]:
        rows = cli("streams-groups", "describe", GROUP, "--json").json["offsets"]
        return {(each["topic"], each["partition"]): each["offset"] for each in rows if each["offset"] is not None}

    with Client(kafka.bootstrap) as client:
        member = Member(client)
        member.commit("lines", 3)
        member.commit("other", 0)
        reset = ("streams-groups", "reset-offsets", GROUP, "--topic", "lines:0", "--to-earliest", "--execute")
        assert cli(*reset).complaint == f"Offsets can only be reset while a group has no members, but group {GROUP} has 1."
        refused = cli("streams-groups", "delete-offsets", GROUP, "--topic", "lines").complaint
        assert refused == f"Members of group {GROUP} are subscribed to topic lines, so its offsets stay."
        assert cli("streams-groups", "delete-offsets", GROUP, "--topic", "other").worked()
        member.leave()
    cli(*reset).worked()
    assert offsets() == {("lines", 0): 0}
    cli("streams-groups", "delete-offsets", GROUP, "--topic", "lines").worked()
    assert offsets() == {}


def test_a_streams_group_is_deleted_with_its_internal_topics(cli: Cli, kafka: EmbeddedBroker, lines: None) -> None:
    with Client(kafka.bootstrap) as client:
        member = Member(client)
        assert cli("streams-groups", "delete", GROUP).complaint == f"Group {GROUP} has members, so it cannot be deleted."
        member.leave()
    deleted = cli("streams-groups", "delete", GROUP, "--internal-topics").text
    assert deleted == f"Deleted group {GROUP}.\nDeleted topic {CHANGELOG}.\n"
    assert cli("streams-groups", "describe", GROUP).complaint == f"There is no streams group {GROUP}."


def test_commands_for_streams_groups_leave_other_groups_alone(cli: Cli, lines: None) -> None:
    cli("groups", "reset-offsets", "plain", "--topic", "lines", "--to-earliest", "--execute").worked()
    for words in (
        ("describe", "plain"),
        ("delete", "plain"),
        ("delete-offsets", "plain", "--topic", "lines"),
        ("reset-offsets", "plain", "--topic", "lines", "--to-latest", "--execute"),
    ):
        assert cli("streams-groups", *words).complaint == "There is no streams group plain."
    assert cli("streams-groups", "list", "--json").json == []
